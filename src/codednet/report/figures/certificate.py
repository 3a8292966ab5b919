"""The transparency certificate."""

from typing import Any

from codednet.report.figures import Story
from codednet.report.drawing import Verdict

SHOWS = (
    "Transparent means: the information of a class travels along its own path. Each check below can fail, and the "
    "same checks with shuffled words, which name the wrong paths, must fail: they are the control."
)


def verdict_of(record: Any) -> Verdict:
    """The certificate in a sentence."""
    return Verdict(passed=record.passed, title="x", text="")


STORY = Story(shows=SHOWS)
