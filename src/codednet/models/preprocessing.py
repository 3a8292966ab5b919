"""Preprocessing in timm's pretrained_cfg form: what an image must go through before the network."""

from collections.abc import Mapping
from typing import Any

from codednet.models.config import NetworkConfig
from codednet.models.variants import Variant, find_variant


def variant_preprocessing(variant: Variant) -> dict[str, Any]:
    """Preprocessing of a variant, for the images that it is made for."""
    mean, std = variant.statistics
    size = variant.image_size
    reduction = (4 if variant.stem == "7x7" else 1) * 2 ** (len(variant.stages) - 1)
    return {
        "num_classes": variant.num_classes,
        "input_size": (3, size, size),
        "pool_size": (-(-size // reduction),) * 2,
        "crop_pct": variant.crop,
        "interpolation": "bicubic",
        "mean": mean,
        "std": std,
        "first_conv": "conv1",
        "classifier": "fc",
        "license": "apache-2.0",
    }


def preprocessing(config: NetworkConfig, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Preprocessing of this network: as given, or its variant's, with its own classes and channels.

    Statistics of another number of channels are replaced by their mean, once a channel.
    """
    cfg = dict(given or variant_preprocessing(find_variant(config.architecture)))
    cfg |= {"architecture": config.architecture, "num_classes": config.num_classes}
    cfg["input_size"] = (config.in_chans, *cfg["input_size"][1:])
    for name in ("mean", "std"):
        values = cfg[name]
        cfg[name] = tuple(values) if len(values) == config.in_chans else (sum(values) / len(values),) * config.in_chans
    if config.class_names is None:
        cfg.pop("label_names", None)
    else:
        cfg["label_names"] = config.class_names
    return cfg
