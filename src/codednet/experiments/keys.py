"""Keys of results: everything that a record depends on, so that a stale one is never shown."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from codednet.data import Data
from codednet.experiments.documents import to_document
from codednet.experiments.experiment import Experiment
from codednet.experiments.subject import Subject
from codednet.paths.strangers import find_strangers
from codednet.runs.environment import processor
from codednet.runs.folder import RunFolder

# Where the data lies and how it is read do not change what it is.
_NO_MATTER = ("root", "workers", "download", "max_unreadable")


def key_of(experiment: Experiment[Any, Any], subject: Subject, options: Any) -> dict[str, Any]:
    """The key of a record: network, data, options, version, and what else the experiment uses of the subject."""
    used = experiment.needs | experiment.uses
    key: dict[str, Any] = {
        "experiment": experiment.name,
        "version": experiment.version,
        "options": to_document(options),
        "network": subject.folder.weights_digest(),
        "data": data_digest(subject.data),
    }
    if "baseline" in used:
        key["baseline"] = None if subject.baseline is None else subject.baseline.weights_digest()
    if "against" in used:
        key["against"] = [stranger_digest(subject, one.name) for one in subject.against]
    if "sweep" in used:
        key["sweep"] = None if subject.sweep is None else sweep_digest(subject.sweep)
    if experiment.timed:
        key["machine"] = {
            "processor": processor(),
            "threads": torch.get_num_threads(),
            "device": str(subject.device),
            "torch": torch.__version__,
        }
    return key


def data_digest(data: Data) -> str:
    """Digest of a data set: its config, classes, splits, and the name and label of every image."""
    config = {name: value for name, value in asdict(data.config).items() if name not in _NO_MATTER}
    found = hashlib.sha256(json.dumps([config, data.classes], sort_keys=True).encode())
    for name, indices in sorted(data.splits.items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(indices, dtype=np.int64).tobytes())
    found.update(np.ascontiguousarray(data.source.labels, dtype=np.int64).tobytes())
    _update(found, (data.source.name(index) for index in range(len(data.source.labels))))
    return found.hexdigest()


def stranger_digest(subject: Subject, name: str) -> str:
    """Digest of images of no class: what they are called, and the names of all of them."""
    one = subject.stranger(name)
    source, indices = find_strangers(one.name, one.root, subject.data.config, subject.model.in_chans)
    found = hashlib.sha256(name.encode())
    _update(found, (source.name(index) for index in indices.tolist()))
    return found.hexdigest()


def sweep_digest(sweep: Path) -> str:
    """Digest of all finished runs in a folder."""
    found = hashlib.sha256()
    for folder in runs_in(sweep):
        found.update(f"{folder.path.name}={folder.weights_digest()};".encode())
    return found.hexdigest()


def runs_in(sweep: Path) -> list[RunFolder]:
    """The finished runs in a sweep's folder, by name."""
    folders = [RunFolder(path) for path in sorted(sweep.iterdir()) if path.is_dir()] if sweep.is_dir() else []
    return [folder for folder in folders if folder.is_finished]


def _update(digest: Any, names: Iterable[str]) -> None:
    for name in names:
        digest.update(f"{name}\n".encode(errors="surrogateescape"))
