"""`codednet extract`: the smaller network of some classes, and what it costs beside the whole one."""

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from codednet.cli.arguments import check_threads
from codednet.errors import CodednetError

if TYPE_CHECKING:
    from torch import Tensor

    from codednet.measure import Comparison
    from codednet.paths import CostComparison
    from codednet.paths.places import Extracted


@dataclass(frozen=True, kw_only=True)
class ExtractConfig:
    """Cut the network of some classes out of a trained one, with no training, and measure it beside the whole one."""

    SHORT: ClassVar = {"-o": "--output"}

    model: str
    """A run folder, a saved network, or the hub's user/repo."""
    classes: list[str] = field(default_factory=list)
    """Classes to keep, by name or index, in the order that their logits are to have."""
    output: str | None = None
    """Folder to write; extracted/CLASSES in the run's folder, or here, when left out."""
    codes_from: str | None = None
    """A coded run or network whose words say what a plain MODEL keeps of its classes: a control."""
    rounds: int | None = None
    """How often each pass is timed, 20 or more; as often as fits into seconds when left out, 0 is not at all."""
    threads: int = 0
    """Threads of torch; 0 leaves its own choice."""
    device: str = "auto"
    """What it is measured on: auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object."""


def run(config: ExtractConfig) -> int:
    """Write the folder, and print what is in it and what it costs; exit status 0."""
    import torch

    from codednet.measure.latency import LEAST_ROUNDS
    from codednet.paths.cost import BATCHES, compare_costs
    from codednet.paths.places import extract_folder
    from codednet.runs.collect import pick_device

    if not config.classes:
        raise CodednetError(
            f"--classes must name the classes to keep, as in `codednet extract {config.model} --classes cat dog`."
        )
    if config.rounds is not None and config.rounds < LEAST_ROUNDS and config.rounds != 0:
        raise CodednetError(f"rounds must be {LEAST_ROUNDS} or more, or 0 for none; got {config.rounds}.")
    check_threads(config.threads)
    if config.threads:
        torch.set_num_threads(config.threads)
    device = pick_device(config.device)
    found = extract_folder(config.model, config.classes, config.output, config.codes_from, device)
    if not config.json:
        _print_blocks(found, config.model)
    image = _image(found).to(device)
    costs = compare_costs(
        found.whole, found.part, image, batches=() if config.rounds == 0 else BATCHES, rounds=config.rounds
    )
    machine = {"device": str(device), "threads": torch.get_num_threads(), "image_size": list(image.shape[2:])}
    document = {"model": config.model, **_described(found), **machine, **_costs(costs)}
    if found.run is not None:
        found.run.write_json(f"extract-{found.name}", document)
    if config.json:
        print(json.dumps(document))
    else:
        _print_costs(costs, machine)
    return 0


def _image(found: "Extracted") -> "Tensor":
    """Noise of the size that the network is made for."""
    import torch

    cfg = found.whole.pretrained_cfg
    size = cfg.get("test_input_size") or cfg["input_size"]
    return torch.randn(1, *size, generator=torch.Generator().manual_seed(0))


def _described(found: "Extracted") -> dict[str, Any]:
    from codednet.paths.classes import label_of

    blocks = {name: block.config for name, block in found.part.named_blocks()}
    return {
        "folder": str(found.folder),
        "classes": [label_of(found.whole.config, index) for index in found.classes],
        "indices": list(found.classes),
        "blocks": {
            name: {"kept": list(block.branches), "branches": block.num_branches} for name, block in blocks.items()
        },
    }


def _costs(costs: "CostComparison") -> dict[str, Any]:
    ratios = {str(batch): _ratio(comparison) for batch, comparison in costs.latency_ratios.items()}
    return {"whole": asdict(costs.whole), "part": asdict(costs.part), "latency_ratios": ratios}


def _ratio(comparison: "Comparison") -> dict[str, Any]:
    steady = comparison.is_steady
    return {
        "ratio": comparison.ratio if steady else None,
        "spread": comparison.spread,
        "note": "" if steady else str(comparison),
    }


def _print_blocks(found: "Extracted", model: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    described = _described(found)
    console = Console()
    said = f": {', '.join(described['classes'])}, cut out of {model}"
    console.print(Text.assemble((str(found.folder), "bold"), said), soft_wrap=True)
    table = Table(title="Branches kept", title_justify="left")
    table.add_column("block")
    table.add_column("kept", justify="right")
    table.add_column("which")
    for name, block in described["blocks"].items():
        kept = block["kept"]
        which = "all" if len(kept) == block["branches"] else " ".join(map(str, kept))
        table.add_row(name, f"{len(kept)} of {block['branches']}", which)
    console.print(table)


def _print_costs(costs: "CostComparison", machine: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    whole, part = costs.whole, costs.part
    table = Table(title="Cost", title_justify="left")
    table.add_column("")
    for head in ("whole network", "this one", "share"):
        table.add_column(head, justify="right")
    table.add_row(
        "parameters", f"{whole.parameters:,}", f"{part.parameters:,}", f"{part.parameters / whole.parameters:.1%}"
    )
    products = [f"{cost.multiply_adds / 1e6:,.1f} M" for cost in (whole, part)]
    table.add_row("multiply-adds", *products, f"{part.multiply_adds / whole.multiply_adds:.1%}")
    table.add_row(
        "weights in the file",
        *(f"{cost.bytes / 1e6:,.2f} MB" for cost in (whole, part)),
        f"{part.bytes / whole.bytes:.1%}",
    )
    notes = []
    for batch, comparison in costs.latency_ratios.items():
        one, other = whole.latencies[batch], part.latencies[batch]
        images = f"{batch} image" + ("s" if batch > 1 else "")
        table.add_row(
            f"{images}, median",
            _ms(one.seconds),
            _ms(other.seconds),
            f"{comparison.ratio:.1%}" if comparison.is_steady else "unsteady",
        )
        table.add_row(f"{images}, 95th percentile", _ms(one.p95), _ms(other.p95), "")
        if not comparison.is_steady:
            notes.append(f"{images}: {comparison}")
    console = Console()
    console.print(table)
    if costs.latency_ratios:
        threads = f"{machine['threads']} thread" + ("s" if machine["threads"] > 1 else "")
        height, width = machine["image_size"]
        console.print(
            f"Times are of {height}x{width} images on {machine['device']} ({threads}), both networks in turn.",
            highlight=False,
        )
    for note in notes:
        console.print(note, highlight=False, soft_wrap=True)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms"
