"""The plain twin of a run, as a baseline: a network without codes, trained and measured on the same images."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from codednet.data import Data, open_data
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.paths.places import codes_for
from codednet.paths.scoring import Scores
from codednet.runs.folder import RunFolder

# What two runs must have in common for their splits to be the same.
_SPLIT_FIELDS = ("name", "tune", "tune_per_class", "test_share", "split_seed")


def load_twin(folder: RunFolder, model: CodedResNeXt, baseline: RunFolder) -> CodedResNeXt:
    """The baseline's network, if it is a plain one of the same classes that was trained on the same split."""
    twin = baseline.load_model()
    if twin.codes:
        raise CodednetError(
            f"the baseline must be a plain network, as --model.coded=false trains; that of '{baseline.path}' is coded."
        )
    codes_for(twin, model)
    ours, theirs = folder.config().data, baseline.config().data
    for field in _SPLIT_FIELDS:
        here, there = getattr(ours, field), getattr(theirs, field)
        if here != there:
            raise CodednetError(
                f"both runs must have the same splits of the same data: data.{field} is {here!r} in '{folder.path}' "
                f"and {there!r} in '{baseline.path}'."
            )
    return twin


def open_run_data(folder: RunFolder, model: CodedResNeXt, root: str | None = None) -> Data:
    """The data that a run was trained on; `root` is its folder, where that is another now."""
    config = folder.config().data
    return open_data(config if root is None else replace(config, root=root), model.in_chans)


def check_same_images(baseline: RunFolder, ours: Mapping[str, Scores], theirs: Mapping[str, Scores]) -> None:
    """Refuse tables whose rows are of other images."""
    for split, one in theirs.items():
        other = ours[split]
        if not np.array_equal(one.indices, other.indices) or not np.array_equal(one.labels, other.labels):
            raise CodednetError(
                f"both runs must see the same images, and those of '{baseline.path}' to {split} on are others. "
                "Name the folder of the data that is meant with --root."
            )
