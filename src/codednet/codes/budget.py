"""Work and time that a search may take: work decides what is searched, the clock only cuts it short."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Budget:
    """A deadline, and where to tell how far a long search is.

    Searches count their own work, so that a result does not depend on the machine; they ask `spent` between pieces of
    work of some ten milliseconds and stop with what they have.
    """

    seconds: float
    tell: Callable[[str], None] | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.started

    @property
    def spent(self) -> bool:
        """Whether the time is over."""
        return self.elapsed >= self.seconds

    def say(self, message: str) -> None:
        """Tell whoever listens what is being tried."""
        if self.tell is not None:
            self.tell(message)
