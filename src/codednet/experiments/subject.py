"""What experiments are about: a run, what it is compared with, and one pass over each split for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from codednet.data import Data, EvalLoader
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.paths.baseline import load_twin, open_run_data
from codednet.paths.places import codes_for
from codednet.paths.scoring import Scores, score
from codednet.paths.strangers import stranger_loader
from codednet.runs.collect import Collected, collect, pick_device
from codednet.runs.folder import RunFolder


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
        self._collected: dict[tuple[str, str], Collected] = {}
        self._scores: dict[tuple[str, str], Scores] = {}

    @cached_property
    def model(self) -> CodedResNeXt:
        """The run's network, in evaluation mode."""
        return self.folder.load_model()

    @cached_property
    def data(self) -> Data:
        """The data that it was trained on."""
        return open_run_data(self.folder, self.model, self.root)

    @cached_property
    def twin(self) -> CodedResNeXt:
        """The baseline's network, of the same classes and splits."""
        return load_twin(self.folder, self.model, self._baseline())

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
        return next(one for one in self.against if one.name == name)

    def collected(self, split: str) -> Collected:
        """What the network says of a split, or of `against:NAME`; labels of the latter mean nothing."""
        return self._collect("run", self.model, split)

    def twin_collected(self, split: str) -> Collected:
        """What the plain twin says of it."""
        return self._collect("twin", self.twin, split)

    def scores(self, split: str) -> Scores:
        """What every class's extracted network, and the whole one, say of a split or of `against:NAME`."""
        if ("run", split) not in self._scores:
            self._scores["run", split] = score(self.model, {split: self.loader(split)}, self.device)[split]
        return self._scores["run", split]

    def twin_scores(self, split: str) -> Scores:
        """The same of the plain twin, cut along the run's words."""
        if ("twin", split) not in self._scores:
            codes = codes_for(self.twin, self.model)
            found = score(self.twin, {split: self._twin_loader(split)}, self.device, codes)
            self._scores["twin", split] = found[split]
        return self._scores["twin", split]

    def _collect(self, whose: str, model: CodedResNeXt, split: str) -> Collected:
        if (whose, split) not in self._collected:
            loader = self.loader(split) if whose == "run" else self._twin_loader(split)
            self._collected[whose, split] = collect(model, loader, self.device)
        return self._collected[whose, split]

    def _twin_loader(self, split: str) -> EvalLoader:
        """As the twin is to see the images, which its own run may resize or normalise in another way."""
        if split.startswith("against:"):
            one = self.stranger(split.removeprefix("against:"))
            return stranger_loader(one.name, one.root, self.data.config, self.twin, self.batch)
        return open_run_data(self._baseline(), self.twin, self.root).eval_loader(split, self.batch)

    def _baseline(self) -> RunFolder:
        if self.baseline is None:
            raise CodednetError(f"'{self.folder.path}' was given no run of the plain twin: name one with --baseline.")
        return self.baseline
