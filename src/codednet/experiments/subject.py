"""What experiments are about: a run, what it is compared with, and one pass over each split for all of them."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from codednet.data import Data, EvalLoader
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.paths.baseline import load_twin, open_run_data
from codednet.paths.families import Sampling
from codednet.paths.places import codes_for
from codednet.paths.scoring import Scores, score
from codednet.paths.strangers import stranger_loader
from codednet.runs.collect import Collected, collect, pick_device
from codednet.runs.folder import RunFolder

T = TypeVar("T")
USUAL = Sampling()


@dataclass(frozen=True, kw_only=True)
class Against:
    """Images of no class: a data set by name or a folder of images, and the data set's folder."""

    name: str
    root: str | None = None


class Subject:
    """A run opened once. What several experiments read of it is evaluated once, and kept while they run."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        baseline: RunFolder | None = None,
        sweep: Path | None = None,
        against: Sequence[Against] = (),
        root: str | None = None,
        batch: int = 128,
        device: torch.device | str = "auto",
    ) -> None:
        self.folder = folder
        self.baseline = baseline
        self.sweep = sweep
        self.against = tuple(against)
        self.root = root
        self.batch = batch
        self.device = pick_device(device) if isinstance(device, str) else device
        self._kept: dict[Hashable, Any] = {}

    @property
    def model(self) -> CodedResNeXt:
        """The run's network, in evaluation mode."""
        return self._loaded[1]

    @property
    def digest(self) -> str:
        """Digest of the network that was loaded, which is the folder's as long as nobody writes another."""
        return self._loaded[0]

    @cached_property
    def _loaded(self) -> tuple[str, CodedResNeXt]:
        # The digest first: what is measured on weights written in between then has a key that is never asked for.
        return _digest(self.folder), self.folder.load_model()

    @cached_property
    def data(self) -> Data:
        """The data that it was trained on."""
        return self._open(self.folder, self.model)

    @cached_property
    def twin_digest(self) -> str:
        """Digest of the baseline's network, read once, so that all keys of this subject speak of the same."""
        return _digest(self._baseline())

    @cached_property
    def twin(self) -> CodedResNeXt:
        """The baseline's network, of the same classes and splits."""
        return load_twin(self.folder, self.model, self._baseline())

    @cached_property
    def twin_data(self) -> Data:
        """The same data, as the baseline was trained on it."""
        return self._open(self._baseline(), self.twin)

    def names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the labels."""
        return self.data.classes

    def loader(self, split: str) -> EvalLoader:
        """Batches of a split, or of `against:NAME`."""
        if split.startswith("against:"):
            one = self.stranger(split.removeprefix("against:"))
            return stranger_loader(one.name, one.root, self.data.config, self.model, self.batch)
        return self.data.eval_loader(split, self.batch)

    def stranger(self, name: str) -> Against:
        """Where images of no class are found, by the name that they were given with."""
        found = next((one for one in self.against if one.name == name), None)
        if found is None:
            raise CodednetError(f"no images of no class are called {name!r}: name them with --against.")
        return found

    def collected(self, split: str) -> Collected:
        """What the network says of a split, or of `against:NAME`; labels of the latter mean nothing."""
        return self.once(("collected", split), lambda: collect(self.model, self.loader(split), self.device))

    def twin_collected(self, split: str) -> Collected:
        """What the plain twin says of it, image for image."""

        def same() -> Collected:
            theirs = collect(self.twin, self.twin_loader(split), self.device)
            # Where an image can be read for one of them alone, rows are of other images.
            if not torch.equal(theirs.indices, self.collected(split).indices):
                raise self._other_images(split)
            return theirs

        return self.once(("twin collected", split), same)

    def scores(self, split: str, sampling: Sampling = USUAL) -> Scores:
        """What every class's extracted network, and the whole one, say of a split or of `against:NAME`."""
        return self.once(("scores", split, sampling), lambda: self.scores_of(self.model, split, sampling))

    def scores_of(self, network: CodedResNeXt, split: str, sampling: Sampling = USUAL) -> Scores:
        """The same of another network that sees the run's images as its own does."""
        return score(network, self.loader(split), self.device, wanted=self._wanted(split, sampling))

    def twin_scores(self, split: str, sampling: Sampling = USUAL) -> Scores:
        """The same of the plain twin, cut along the run's words."""

        def made() -> Scores:
            codes, wanted = codes_for(self.twin, self.model), self._wanted(split, sampling)
            return score(self.twin, self.twin_loader(split), self.device, codes, wanted)

        return self.once(("twin scores", split, sampling), made)

    def _wanted(self, split: str, sampling: Sampling) -> NDArray[np.bool_]:
        """Scores that will be read, by what could be read of the images."""
        found, classes = self.collected(split).labels.numpy(), self.model.num_classes
        if split.startswith("against:"):
            return sampling.wanted_strangers(len(found), self.collected("test").labels.numpy(), classes)
        return sampling.wanted(found, classes)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made the first time that it is asked for under this name."""
        if what not in self._kept:
            self._kept[what] = make()
        found: T = self._kept[what]
        return found

    def twin_loader(self, split: str) -> EvalLoader:
        """Batches as the twin is to see them: its own run may resize or normalise in another way."""
        if split.startswith("against:"):
            one = self.stranger(split.removeprefix("against:"))
            return stranger_loader(one.name, one.root, self.data.config, self.twin, self.batch)
        same = np.array_equal(self.twin_data.indices(split), self.data.indices(split))
        if not same or not np.array_equal(self.twin_data.labels(split), self.data.labels(split)):
            raise self._other_images(split)
        return self.twin_data.eval_loader(split, self.batch)

    def _open(self, folder: RunFolder, model: CodedResNeXt) -> Data:
        data, names = open_run_data(folder, model, self.root), model.config.class_names
        if len(data.classes) != model.num_classes or (names and names != data.classes):
            raise CodednetError(
                f"the data must have the classes that '{folder.path}' was trained on: {_listed(names, model)}. "
                f"It has {len(data.classes)} ({', '.join(data.classes[:3])}, ...). "
                "Name the folder of the data that is meant with --root."
            )
        return data

    def _other_images(self, split: str) -> CodednetError:
        return CodednetError(
            f"both runs must see the same images, and those of '{self._baseline().path}' in {split} are others. "
            "Name the folder of the data that is meant with --root."
        )

    def _baseline(self) -> RunFolder:
        if self.baseline is None:
            raise CodednetError(f"'{self.folder.path}' was given no run of the plain twin: name one with --baseline.")
        return self.baseline


def _digest(folder: RunFolder) -> str:
    """Digest of a run's network; empty where there is none, which loading it says."""
    return folder.weights_digest() if (folder.model / "model.safetensors").is_file() else ""


def _listed(names: Sequence[str] | None, model: CodedResNeXt) -> str:
    return f"{model.num_classes} ({', '.join(names[:3])}, ...)" if names else str(model.num_classes)
