"""`codednet demo`: the codes of the paper's three networks, designed and certified on the spot."""

import json
import time
from dataclasses import asdict, dataclass

from codednet.cli.design import Certificate, certify
from codednet.codes.design import design_code

# Classes, branches, active, and the minimum distance that the paper reports.
PAPER_CODES = {
    "CIFAR-10, stage 2": (10, 10, 5, 4),
    "CIFAR-10, stage 3": (10, 10, 3, 4),
    "CIFAR-100, stage 2": (100, 20, 8, 8),
    "CIFAR-100, stage 3": (100, 20, 4, 4),
    "ImageNet, stage 3": (1000, 32, 16, 10),
    "ImageNet, stage 4": (1000, 32, 8, 6),
}


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """Design the six codes of the paper's networks and print how far their words are apart, beside the paper's."""

    seed: int = 0
    """The same seed gives the same codes."""
    json: bool = False
    """Print one JSON object."""


def run(config: DemoConfig) -> int:
    """Design every code of the paper and print a table; exit status 0."""
    from rich.console import Console
    from rich.progress import track

    made: dict[str, Certificate] = {}
    names = track(PAPER_CODES, description="designing the paper's codes", console=Console(stderr=True), transient=True)
    for name in names:
        started = time.perf_counter()
        classes, branches, active, _ = PAPER_CODES[name]
        code = design_code(classes, branches, active, seed=config.seed)
        made[name] = certify(code, time.perf_counter() - started)
    if config.json:
        print(json.dumps({name: {**asdict(c), "paper": PAPER_CODES[name][3]} for name, c in made.items()}))
    else:
        Console().print(_table(made))
    return 0


def _table(made: dict[str, Certificate]) -> "object":
    from rich.table import Table

    table = Table(title="Which branches may work for which class: the paper's six codes")
    table.add_column("block of", no_wrap=True)
    for column in ("classes", "active", "distance", "paper's", "bound", "loads", "s"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, c in made.items():
        table.add_row(
            name,
            str(c.classes),
            f"{c.active}/{c.branches}",
            f"[bold]{c.min_distance}[/bold]",
            str(PAPER_CODES[name][3]),
            str(c.distance_bound),
            f"{c.loads[0]} to {c.loads[1]}" if c.spread else f"all {c.loads[0]}",
            f"{c.seconds:.1f}",
        )
    return table
