"""A network by its name."""

from collections.abc import Sequence
from typing import Any

from codednet.models.network import CodedResNeXt
from codednet.models.preprocessing import preprocessing
from codednet.models.variants import make_config


def create_model(
    name: str,
    num_classes: int | None = None,
    in_chans: int = 3,
    class_names: Sequence[str] | None = None,
    **options: Any,
) -> CodedResNeXt:
    """Coded network, or its plain twin by the name without "coded_", with fresh weights.

    Without num_classes there are as many classes as class_names, or as the variant is made for. Options are the
    fields of `codednet.models.Options`: shortcut, active, codes, drop_branch, drop_rate, drop_path_rate,
    global_pool, normalise.
    """
    config = make_config(name, num_classes, in_chans, class_names, **options)
    model = CodedResNeXt(config)
    model.pretrained_cfg = preprocessing(config)
    return model
