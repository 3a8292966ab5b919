"""Keys of results: everything that a record depends on, so that a stale one is never shown."""

import hashlib
from pathlib import Path
from typing import Any

import torch

from codednet.errors import CodednetError
from codednet.experiments import find
from codednet.experiments.digests import data_digest, source_digest
from codednet.experiments.documents import to_document
from codednet.experiments.experiment import Experiment
from codednet.experiments.subject import Subject
from codednet.paths.strangers import find_strangers
from codednet.runs.environment import processor
from codednet.runs.folder import RunFolder


def key_of(experiment: Experiment[Any, Any], subject: Subject, options: Any) -> dict[str, Any]:
    """The key of a record: network, data, options, version, and what else the experiment uses of the subject."""
    used = experiment.needs | experiment.uses
    key: dict[str, Any] = {
        "experiment": experiment.name,
        "version": experiment.version,
        "options": to_document(options),
        "network": subject.digest,
        "coding": to_document(subject.folder.config().coding),
        "data": subject.once("data digest", lambda: data_digest(subject.data)),
    }
    if experiment.builds_on:
        key["builds_on"] = {name: find(name).version for name in experiment.builds_on}
    if "baseline" in used:
        key["baseline"] = None if subject.baseline is None else _baseline(subject)
    if "against" in used:
        key["against"] = [_stranger_digest(subject, one.name) for one in subject.against]
    if "sweep" in used:
        sweep = subject.sweep
        key["sweep"] = None if sweep is None else subject.once("sweep digest", lambda: sweep_digest(sweep))
    if experiment.timed:
        key["machine"] = {
            "processor": processor(),
            "threads": torch.get_num_threads(),
            "device": _named(subject.device),
            "torch": torch.__version__,
        }
    return key


def stranger_digest(subject: Subject, name: str) -> str:
    """Digest of images of no class: what they are called, and what they are."""
    one = subject.stranger(name)
    source, indices = find_strangers(one.name, one.root, subject.data.config, subject.model.in_chans)
    return hashlib.sha256(f"{name}\n{source_digest(source, indices)}".encode()).hexdigest()


def sweep_digest(sweep: Path) -> str:
    """Digest of all finished runs in a folder, their names, configs and networks; and of the names of those begun."""
    found = hashlib.sha256()
    for folder in runs_in(sweep):
        config = hashlib.sha256(folder.config_file.read_bytes()).hexdigest()
        found.update(f"{folder.path.name}={config},{folder.weights_digest()};".encode())
    found.update("".join(f"{name}?" for name in unfinished_in(sweep)).encode())
    return found.hexdigest()


def runs_in(sweep: Path) -> list[RunFolder]:
    """The finished runs in a sweep's folder, by name."""
    folders = [RunFolder(path) for path in sorted(sweep.iterdir()) if path.is_dir()] if sweep.is_dir() else []
    finished = [folder for folder in folders if folder.is_finished]
    if not finished:
        raise CodednetError(f"'{sweep}' holds no finished training: `codednet sweep RECIPE -o {sweep}` makes some.")
    return finished


def unfinished_in(sweep: Path) -> tuple[str, ...]:
    """Names of the trainings in a sweep's folder that have not come to their end."""
    folders = [RunFolder(path) for path in sorted(sweep.iterdir()) if path.is_dir()]
    return tuple(one.path.name for one in folders if one.config_file.is_file() and not one.is_finished)


def _baseline(subject: Subject) -> dict[str, str]:
    if not subject.model.codes:  # a plain run has no twin, whatever it is given
        return {"network": subject.twin_digest}
    data = subject.once("twin data digest", lambda: data_digest(subject.twin_data))
    return {"network": subject.twin_digest, "data": data}


def _named(device: torch.device) -> str:
    return f"{device}: {torch.cuda.get_device_name(device)}" if device.type == "cuda" else str(device)


def _stranger_digest(subject: Subject, name: str) -> str:
    return subject.once(("stranger digest", name), lambda: stranger_digest(subject, name))
