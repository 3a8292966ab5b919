"""The coded networks in timm's registry: importing this registers them, and changes no other name."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

import torch
from timm.models import build_model_with_cfg, generate_default_cfgs, register_model
from torch import nn

from codednet.models.document import from_document
from codednet.models.network import CodedResNeXt
from codednet.models.preprocessing import variant_preprocessing
from codednet.models.variants import VARIANTS, make_config

__all__: list[str] = []

default_cfgs = generate_default_cfgs({name: variant_preprocessing(variant) for name, variant in VARIANTS.items()})


def _build(
    name: str,
    num_classes: int,
    in_chans: int,
    network: Mapping[str, Any] | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> CodedResNeXt:
    if network is None:
        model = CodedResNeXt(make_config(name, num_classes, in_chans, **options))
    else:
        config = from_document(network)
        given = {field.name: options[field.name] for field in fields(config) if field.name in options}
        model = CodedResNeXt(replace(config, in_chans=in_chans, **given))
        if num_classes != config.num_classes:
            model.reset_classifier(num_classes)
    return model.to(device=device, dtype=dtype)


def _create(name: str, pretrained: bool = False, **options: Any) -> nn.Module:
    # The getter runs the network's own forward_intermediates, where blocks of one code share their dropped branches.
    features = {"out_indices": tuple(range(len(VARIANTS[name].stages) + 1)), "feature_cls": "getter"}
    return build_model_with_cfg(partial(_build, name), name, pretrained, feature_cfg=features, **options)


@register_model
def coded_resnext29_10x11d(pretrained: bool = False, **options: Any) -> nn.Module:
    """Coded ResNeXt-29 (10x11d), the paper's for CIFAR-10; 4.64 million parameters."""
    return _create("coded_resnext29_10x11d", pretrained, **options)


@register_model
def coded_resnext29_20x6d(pretrained: bool = False, **options: Any) -> nn.Module:
    """Coded ResNeXt-29 (20x6d), the paper's for CIFAR-100; 4.75 million parameters."""
    return _create("coded_resnext29_20x6d", pretrained, **options)


@register_model
def coded_resnext50_32x4d(pretrained: bool = False, **options: Any) -> nn.Module:
    """Coded ResNeXt-50 (32x4d), the paper's for ImageNet; 25.03 million parameters."""
    return _create("coded_resnext50_32x4d", pretrained, **options)


@register_model
def coded_resnext20_10x6d(pretrained: bool = False, **options: Any) -> nn.Module:
    """Coded ResNeXt-20 (10x6d), for CIFAR-10 on a CPU; 0.89 million parameters."""
    return _create("coded_resnext20_10x6d", pretrained, **options)


@register_model
def coded_resnext20_10x4d(pretrained: bool = False, **options: Any) -> nn.Module:
    """Coded ResNeXt-20 (10x4d), for 28x28 images in minutes; 0.30 million parameters."""
    return _create("coded_resnext20_10x4d", pretrained, **options)
