"""An extracted network in a folder: which classes are meant, where it goes, and whose codes cut a plain network."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from codednet.codes import Code
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt, save
from codednet.models.config import NetworkConfig
from codednet.paths.classes import class_indices, label_of, typed_classes
from codednet.paths.extract import extract
from codednet.runs.folder import RunFolder, load_any

LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """A network that was cut out and written."""

    folder: Path
    name: str
    """What its classes are called together, as a file may be."""
    classes: tuple[int, ...]
    """Its classes' indices in the whole network, in the order of its logits."""
    whole: CodedResNeXt
    part: CodedResNeXt
    run: RunFolder | None
    """The run that the whole network is of."""


def extract_folder(
    model: str,
    classes: Sequence[str],
    output: str | None = None,
    codes_from: str | None = None,
    device: torch.device | str = "cpu",
) -> Extracted:
    """Cut classes, as typed, out of a run's, a folder's or the hub's network, and save what is cut.

    It goes to `output`, or to extracted/CLASSES in the run's folder, or here; a folder that holds something is refused.
    """
    whole = load_any(model).to(device).to(memory_format=torch.channels_last)
    chosen = class_indices(whole.config, typed_classes(whole.config, classes))
    run = RunFolder(Path(model))
    is_run = run.config_file.is_file()
    name = folder_name(whole.config, chosen)
    folder = Path(output) if output else (run.path if is_run else Path()) / "extracted" / name
    check_free(folder)
    if codes_from is None and not whole.codes:
        raise CodednetError(
            f"no block of {whole.config.architecture} is coded, so every class uses all of it: "
            "for a control, name a coded run with --codes-from."
        )
    part = extract(whole, chosen, None if codes_from is None else codes_for(whole, load_any(codes_from)))
    save(part, folder)
    return Extracted(
        folder=folder,
        name=name,
        classes=tuple(chosen),
        whole=whole,
        part=part,
        run=run if is_run else None,
    )


def folder_name(config: NetworkConfig, classes: Sequence[int]) -> str:
    """A folder's name that says which classes are in it, such as cat+dog; of many, their number and a digest."""
    labels = [re.sub(r"[^\w.-]+", "-", label_of(config, index)).strip("-.") or str(index) for index in classes]
    name = "+".join(labels)
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(" ".join(map(str, classes)).encode()).hexdigest()
    return f"{len(labels)}-classes-{digest[:8]}"


def check_free(folder: Path) -> None:
    """Refuse a folder that holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CodednetError(f"'{folder}' exists and is no empty folder: give another one with -o.")


def codes_for(plain: CodedResNeXt, coded: CodedResNeXt) -> dict[str, Code]:
    """The codes of a coded network by block, to cut a plain network of the same classes along them."""
    if not coded.codes:
        raise CodednetError(f"codes come from a coded network; no block of {coded.config.architecture} is coded.")
    ours, theirs = plain.config.class_names, coded.config.class_names
    if plain.num_classes != coded.num_classes or (ours and theirs and ours != theirs):
        raise CodednetError(
            "both networks must have the same classes in the same order: "
            f"the plain one has {_named(plain.config)}, the coded one {_named(coded.config)}."
        )
    return dict(zip(coded.coded_blocks, coded.codes, strict=True))


def _named(config: NetworkConfig) -> str:
    names = config.class_names or ()
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{config.num_classes} ({shown})" if names else str(config.num_classes)
