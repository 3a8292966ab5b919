"""What was fitted for a run's network, kept beside it: results/decoding.json, valid for these weights alone."""

from dataclasses import dataclass
from typing import Any

from codednet.decoding.calibration import Calibration
from codednet.decoding.exits import ExitRule
from codednet.errors import CodednetError
from codednet.runs.folder import RunFolder

NAME = "decoding"


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What predictions use, as far as it was fitted for the run's present weights."""

    calibration: Calibration | None = None
    exits: ExitRule | None = None
    stale: bool = False
    """Whether something was fitted for other weights, and is left out."""


def keep(folder: RunFolder, section: str, document: dict[str, Any]) -> None:
    """Keep a section, "calibration" or "exits", beside what else was fitted for the same weights."""
    weights = folder.weights_digest()
    stored = _stored(folder)
    if stored is None or stored.get("weights") != weights:
        stored = {"weights": weights}
    folder.write_json(NAME, stored | {section: document})


def read_fitted(folder: RunFolder) -> Fitted:
    """What was fitted for a run's network; nothing for a folder that is no run, or has other weights by now."""
    if not folder.config_file.is_file():
        return Fitted()
    stored = _stored(folder)
    if stored is None:
        return Fitted()
    if stored.get("weights") != folder.weights_digest():
        return Fitted(stale=True)
    try:
        return Fitted(
            calibration=Calibration.from_document(stored["calibration"]) if "calibration" in stored else None,
            exits=ExitRule.from_document(stored["exits"]) if "exits" in stored else None,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder, error) from None


def _stored(folder: RunFolder) -> dict[str, Any] | None:
    try:
        stored = folder.read_json(NAME)
        if stored is not None and not isinstance(stored, dict):
            raise TypeError(f"it holds a {type(stored).__name__}")
    except (TypeError, ValueError) as error:
        raise _unreadable(folder, error) from None
    return stored


def _unreadable(folder: RunFolder, error: Exception) -> CodednetError:
    return CodednetError(
        f"'{folder.results / NAME}.json' cannot be read ({type(error).__name__}: {error}): remove it, and run "
        "`codednet calibrate` and `codednet exits` again."
    )
