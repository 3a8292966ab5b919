"""Images that belong to none of a network's classes, as the network sees its own: of its size and channels."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from codednet.data.config import NAMES, DataConfig
from codednet.data.evaluation import evaluation_transform
from codednet.data.folders import FolderSource
from codednet.data.loaders import EvalLoader, choose_workers
from codednet.data.one_by_one import ImageBatches
from codednet.data.opening import open_data
from codednet.data.order import Indices
from codednet.data.source import ArraySource, Source
from codednet.errors import CodednetError, nearest_name
from codednet.models import CodedResNeXt
from codednet.models.preprocessing import preprocessing
from codednet.runs.prediction import find_images

FOLDERS = ("imagefolder", "webdataset")
# The bundled images are some of the whole set's.
_KIN = ({"fashion-mini", "fashion-mnist"},)


def stranger_loader(
    against: str, root: str | None, own: DataConfig, model: CodedResNeXt, batch: int = 128
) -> EvalLoader:
    """Batches of the test images of another data set, or of all images below a folder.

    `root` is that data set's folder, and `own` the network's data, which is no stranger to it. Images are resized,
    cropped, made grey or coloured and normalised as the network's own are in an evaluation.
    """
    source, indices = find_strangers(against, root, own, model.in_chans)
    cfg = preprocessing(model.config, model.pretrained_cfg)
    size = (cfg.get("test_input_size") or cfg["input_size"])[-1]
    reader = ImageBatches(source, model.in_chans, size, evaluation_transform(cfg, model.in_chans))
    in_memory = isinstance(source, ArraySource)
    workers = 0 if in_memory else choose_workers() if own.workers is None else own.workers
    return EvalLoader(reader, indices, batch=batch, workers=workers, max_unreadable=own.max_unreadable)


def find_strangers(against: str, root: str | None, own: DataConfig, in_chans: int) -> tuple[Source, Indices]:
    """The images, and the places of those that count."""
    _refuse_own(against, root, own)
    if against not in NAMES:
        return _folder(against, root)
    if against in FOLDERS and root is None:
        raise CodednetError(
            f"{against} needs the folder of its data: give it with --against-root. "
            "A folder of images may also be named itself, as in --against photos."
        )
    data = open_data(DataConfig(name=against, root=root, download=own.download, tune=0), in_chans)
    return data.source, data.indices("test")


def with_roots(names: Sequence[str], root: str | None) -> list[tuple[str, str | None]]:
    """Each name with the folder of its data set, which folders of images, named themselves, do not have."""
    if twice := [name for index, name in enumerate(names) if name in names[:index]]:
        raise CodednetError(f"images of no class are named once; {twice[0]!r} came twice.")
    if root is not None and not set(names) & set(NAMES):
        given = ", ".join(map(repr, names)) or "none"
        raise CodednetError(
            f"--against-root is the folder of data sets by name ({', '.join(NAMES)}), and --against names {given}."
        )
    return [(name, root if name in NAMES else None) for name in names]


def _folder(against: str, root: str | None) -> tuple[Source, Indices]:
    if not Path(against).is_dir():
        raise CodednetError(
            f"no data set or folder is called {against!r}: {nearest_name(against, NAMES)} Or name a folder of images."
        )
    if root is not None:
        raise CodednetError(f"--against-root is the folder of a data set by name, and {against!r} is a folder itself.")
    paths = np.array([os.fsencode(path) for path in find_images([against])])
    return FolderSource(Path(), paths, np.zeros(len(paths), np.int64), ("stranger",)), np.arange(len(paths))


def _refuse_own(against: str, root: str | None, own: DataConfig) -> None:
    """Refuse the data that the network was trained on, under any name."""
    where = root if against in FOLDERS else None if against in NAMES else against
    same = against == own.name and against not in FOLDERS
    if own.name in FOLDERS and own.root is not None and where is not None:
        same = Path(where).resolve().is_relative_to(Path(own.root).resolve())
    if same or any({against, own.name} <= kin for kin in _KIN):
        raise CodednetError(
            f"{against!r} holds images of the network's own classes: name another data set to be told apart from them."
        )
