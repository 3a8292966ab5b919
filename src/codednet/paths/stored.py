"""Thresholds that a run keeps for later commands, and the weights that they belong to."""

from dataclasses import asdict, dataclass

from codednet.errors import CodednetError
from codednet.runs.document import from_document
from codednet.runs.folder import RunFolder

NAME = "thresholds"


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """One threshold a class for the logit of the class's extracted network; yes is from the threshold on."""

    weights: str
    """Digest of the network that they were fitted to."""
    fit_on: str
    """Split that they were fitted on."""
    precision: float | None
    """Precision that was asked for; the largest F1 was where neither is."""
    recall: float | None
    """Recall that was asked for."""
    negatives: str | int
    seed: int
    classes: tuple[str, ...]
    """Names, or indices where classes have no names, in the order of the logits."""
    thresholds: tuple[float, ...]
    """Of each class."""


def write_thresholds(folder: RunFolder, thresholds: Thresholds) -> None:
    """Keep them in results/thresholds.json."""
    folder.write_json(NAME, asdict(thresholds))


def read_thresholds(folder: RunFolder) -> Thresholds | None:
    """The thresholds that the run keeps; None if there are none. Those of other weights are refused."""
    advice = f"fit them again with `codednet detectors {folder.path}`."
    where = f"'{folder.results / NAME}.json'"
    try:
        document = folder.read_json(NAME)
        if document is None:
            return None
        found = from_document(Thresholds, document, where)
    except (ValueError, TypeError, AttributeError) as error:
        raise CodednetError(f"{where} holds no thresholds ({error}): {advice}") from None
    if found.weights != folder.weights_digest():
        raise CodednetError(f"the thresholds of '{folder.path}' were fitted to other weights than it has now: {advice}")
    return found
