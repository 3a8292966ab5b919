"""Images of none of the classes: how well scores of the code tell them from one's own, beside those of the logits."""

from dataclasses import dataclass

from torch import Tensor

from codednet.decoding.channel import fit_channel
from codednet.decoding.strangers import FROM_CODE, FROM_LOGITS, Separation, separations, stranger_scores
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.subject import Subject
from codednet.runs.collect import Collected

SPLIT = "test"


@dataclass(frozen=True, kw_only=True)
class StrangerSet:
    """Images of one other data set, against one's own."""

    against: str
    images: int
    unreadable: int
    scores: tuple[Separation, ...]
    """Of each score; the code's first, then those of the logits."""
    best_of_code: str
    """The code's score of the largest AUROC."""
    best_of_logits: str
    """The logits' score of the largest AUROC."""
    code_wins: bool
    """Whether the code's best has the larger AUROC of the two."""

    def score(self, name: str) -> Separation:
        """The score of this name."""
        return next(one for one in self.scores if one.score == name)

    def sentence(self) -> str:
        """What came of it, said plainly."""
        code, logits = self.score(self.best_of_code), self.score(self.best_of_logits)
        wins = "the code wins" if self.code_wins else "the code does not win"
        return (
            f"Against {self.against} {wins}: AUROC {code.auroc:.3f} by {code.score} from the code, "
            f"{logits.auroc:.3f} by {logits.score} from the logits (FPR95 {code.fpr95:.3f} and {logits.fpr95:.3f})."
        )


@dataclass(frozen=True, kw_only=True)
class StrangersRecord:
    """Every score against every data set."""

    fitted_on: str
    """Split of the channel, whose likelihood is one of the scores: tune-fit, or train where there is none."""
    split: str
    """Of one's own images."""
    images: int
    sets: tuple[StrangerSet, ...]


def measure(subject: Subject, options: NoOptions) -> StrangersRecord:
    """Every score on the test split, and on each set of images of no class."""
    model = subject.model
    fitted_on = "tune-fit" if subject.data.config.has_tune else "train"
    fit = subject.collected(fitted_on)
    channel = fit_channel(fit.energies, model.codes, fit.labels)

    def scores(found: Collected) -> dict[str, Tensor]:
        return stranger_scores(found.logits, found.energies, model.codes, channel)

    own = subject.collected(SPLIT)
    own_scores = scores(own)
    sets = []
    for one in subject.against:
        found = subject.collected(f"against:{one.name}")
        sets.append(_judged(one.name, found, separations(own_scores, scores(found))))
    return StrangersRecord(fitted_on=fitted_on, split=SPLIT, images=len(own.labels), sets=tuple(sets))


def _judged(name: str, found: Collected, scores: tuple[Separation, ...]) -> StrangerSet:
    best = {
        names: max((one for one in scores if one.score in names), key=lambda one: one.auroc)
        for names in (FROM_CODE, FROM_LOGITS)
    }
    return StrangerSet(
        against=name,
        images=len(found.labels),
        unreadable=len(found.unreadable),
        scores=scores,
        best_of_code=best[FROM_CODE].score,
        best_of_logits=best[FROM_LOGITS].score,
        code_wins=best[FROM_CODE].auroc > best[FROM_LOGITS].auroc,
    )


def tables(record: StrangersRecord) -> tuple[Table, ...]:
    """A row for each score against each data set."""
    table = Table(
        name="",
        title=f"Telling images of no class from {record.images:,} images of {record.split}",
        columns=("against", "images", "score", "read from", "AUROC", "FPR95"),
        rows=tuple(
            (one.against, one.images, s.score, "code" if s.score in FROM_CODE else "logits", s.auroc, s.fpr95)
            for one in record.sets
            for s in one.scores
        ),
    )
    return (table,)


EXPERIMENT = Experiment(
    name="strangers",
    title="Images of none of the classes",
    version=1,
    record=StrangersRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded", "against"}),
)
