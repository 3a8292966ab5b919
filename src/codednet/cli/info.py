"""`codednet info`: blocks and their rates, codes, parameters, multiply-adds and class paths of a network."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from codednet.models.info import ModelInfo

LISTED = 12


@dataclass(frozen=True, kw_only=True)
class InfoConfig:
    """Say what a network is made of: blocks, codes, parameters, multiply-adds and class paths."""

    model: str
    """A variant such as coded_resnext29_10x11d, its plain twin, a saved folder, or the hub's user/repo."""
    image_size: int | None = None
    """Pixels a side of the images that multiply-adds are counted for; by default those it is made for."""
    json: bool = False
    """Print one JSON object."""


def run(config: InfoConfig) -> int:
    """Print what the model is; exit status 0."""
    from codednet.models.info import describe

    info = describe(config.model, config.image_size)
    if config.json:
        print(json.dumps(dataclasses.asdict(info)))
    else:
        _print(info, Console())
    return 0


def _print(info: "ModelInfo", console: Console) -> None:
    classes = "no classifier" if info.classes == 0 else f"{info.classes} class{'es' if info.classes > 1 else ''}"
    console.print(
        f"[bold]{escape(info.model)}[/bold]: {classes}, {_short(info.parameters)} parameters, "
        f"{_short(info.multiply_adds)} multiply-adds at {info.image_size}x{info.image_size}",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_blocks_table(info))
    if info.codes:
        console.print(_codes_table(info))
    if info.class_paths:
        console.print(_paths_table(info))
    else:
        console.print("No class paths: no block is coded, so every class uses all of the network.")


def _blocks_table(info: "ModelInfo") -> Table:
    table = _table("Blocks", ["part", "channels", "width", "active/branches", "present", "parameters"], left=1)
    stages = dict(info.parameters_by_stage)
    table.add_row("stem", "", "", "", "", f"{stages.pop('stem'):,}", end_section=True)
    for stage, total in stages.items():
        blocks = [block for block in info.blocks if block.name.startswith(f"{stage}.")]
        for block in blocks:
            coded = block.active < block.branches
            rate = f"{block.active}/{block.branches}"
            table.add_row(
                block.name,
                str(block.out_channels),
                str(block.width),
                f"[bold]{rate}[/bold]" if coded else rate,
                "all" if block.present == block.branches else str(block.present),
                f"{block.parameters:,}",
            )
        table.add_row(
            f"[bold]{stage}[/bold]" if blocks else stage, "", "", "", "", f"[bold]{total:,}[/bold]", end_section=True
        )
    return table


def _codes_table(info: "ModelInfo") -> Table:
    heads = ["blocks", "words", "length", "active", "distance", "at most", "spread"]
    table = _table("Codes", heads, left=1)
    for code in info.codes:
        numbers = code.classes, code.branches, code.active, code.min_distance, code.distance_bound, code.spread
        table.add_row(_span(code.blocks), *map(str, numbers))
    return table


def _paths_table(info: "ModelInfo") -> Table:
    heads = ["class", "parameters", "share", "multiply-adds", "share"]
    table = _table("Networks of one class alone", heads, left=1)
    sizes: dict[tuple[int, int], list[str]] = {}
    for path in info.class_paths:
        sizes.setdefault((path.parameters, path.multiply_adds), []).append(path.label)
    for (parameters, multiply_adds), labels in sizes.items():
        table.add_row(
            escape(_labels(labels, len(info.class_paths))),  # names of classes may hold brackets
            f"{parameters:,}",
            f"{parameters / info.parameters:.1%}",
            _short(multiply_adds),
            f"{multiply_adds / info.multiply_adds:.1%}",
        )
    return table


def _labels(labels: Sequence[str], classes: int) -> str:
    if len(labels) == classes > 1:
        return f"each of the {classes}"
    shown = ", ".join(labels[:LISTED])
    return shown if len(labels) <= LISTED else f"{shown} and {len(labels) - LISTED} more"


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _table(title: str, heads: Iterable[str], left: int) -> Table:
    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index < left else "right")
    return table


def _short(count: int) -> str:
    return f"{count / 1e9:,.3f} G" if count >= 1e9 else f"{count / 1e6:,.3f} M"
