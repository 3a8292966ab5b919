"""`codednet design`: a code and its certificate."""

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from codednet.codes.code import Code
from codednet.codes.design import design_code
from codednet.errors import CodednetError


@dataclass(frozen=True, kw_only=True)
class DesignConfig:
    """Design a code, the branches that may work for each class, and certify it; or check one in a file.

    Best minimum distance first, then the evenest loads, then the fewest closest pairs.
    """

    classes: int | None = None
    """Number of words, one a class."""
    branches: int | None = None
    """Length of a word: the number of branches of a block."""
    active: int | None = None
    """Ones in a word: the branches that work for a class."""
    min_distance: int | None = None
    """Ask for exactly this minimum distance, or be told the bound that forbids it."""
    spare: int = 0
    """Words more than classes, kept for classes added later."""
    seed: int = 0
    """The same seed gives the same code."""
    seconds: float = 60
    """Time limit on the whole; the best code found by then is the answer."""
    output: Path | None = None
    """Write the code here as text, one word a line (also -o)."""
    plot: Path | None = None
    """Draw the table and the distances of its pairs here; the ending says the format: svg, png, pdf."""
    check: Path | None = None
    """Certify the code in this file; nothing is designed."""
    json: bool = False
    """Print one JSON object."""

    SHORT: ClassVar[dict[str, str]] = {"-o": "--output"}


@dataclass(frozen=True)
class Certificate:
    """What a code is, and how far it is from what the bounds allow."""

    classes: int
    branches: int
    active: int
    rate: float
    min_distance: int
    distance_bound: int
    is_optimal: bool
    spread: int
    loads: tuple[int, int]
    pairs_at_min: int
    spare: int
    seconds: float


def certify(code: Code, seconds: float) -> Certificate:
    """The certificate of a code that took so long to make."""
    return Certificate(
        code.num_classes,
        code.num_branches,
        code.active,
        round(code.rate, 6),
        code.min_distance,
        code.distance_bound,
        code.is_optimal,
        code.spread,
        (int(code.loads.min()), int(code.loads.max())),
        code.pairs_at_min,
        len(code.spare),
        round(seconds, 3),
    )


def run(config: DesignConfig) -> int:
    """Design or check, then write, draw and print what was asked for; exit status 0."""
    for path in (config.output, config.plot):
        if path is not None and not path.parent.is_dir():
            raise CodednetError(f"there is no folder '{path.parent}' to write '{path.name}' into: make it first.")
    started = time.perf_counter()
    code = Code.load(config.check) if config.check is not None else _design(config)
    certificate = certify(code, time.perf_counter() - started)
    if config.output is not None:
        code.save(config.output)
    if config.plot is not None:
        from codednet.report.code_figure import draw_code

        draw_code(code).savefig(config.plot)
    print(json.dumps(asdict(certificate)) if config.json else as_text(certificate))
    return 0


def as_text(certificate: Certificate) -> str:
    """The certificate for people, a line a fact."""
    facts = asdict(certificate)
    facts["loads"] = f"{certificate.loads[0]} to {certificate.loads[1]} classes a branch"
    gap = f"no: the bound leaves {certificate.distance_bound} open"
    facts["is_optimal"] = "yes, no code keeps a larger distance" if certificate.is_optimal else gap
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in facts.items())


def _design(config: DesignConfig) -> Code:
    missing = [f"--{name}" for name in ("classes", "branches", "active") if getattr(config, name) is None]
    if missing:
        raise CodednetError(f"a design needs --classes, --branches and --active; missing: {', '.join(missing)}.")
    assert config.classes is not None
    assert config.branches is not None
    assert config.active is not None
    numbers = (config.classes, config.branches, config.active, config.min_distance, config.spare, config.seed)
    if not sys.stderr.isatty():
        return design_code(*numbers, seconds=config.seconds)
    from rich.console import Console

    with Console(stderr=True).status("designing") as status:
        return design_code(*numbers, seconds=config.seconds, progress=lambda text: status.update(text))
