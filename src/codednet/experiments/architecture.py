"""The network stage by stage (table 1 of the paper): shape, parameters, multiply-adds, and one class's share."""

from dataclasses import dataclass
from itertools import groupby

from codednet.experiments.experiment import Cell, Experiment, NoOptions, Table
from codednet.experiments.subject import Subject
from codednet.models import CodedResNeXt
from codednet.models.block import Bottleneck
from codednet.models.info import BlockInfo, ModelInfo, PathInfo, describe


@dataclass(frozen=True, kw_only=True)
class StageRow:
    """Blocks of one stage that have the same shape: [out_channels, width, active/branches] x blocks."""

    stage: str
    out_channels: int
    width: int
    active: int
    branches: int
    blocks: int
    parameters: int


@dataclass(frozen=True, kw_only=True)
class ClassPath:
    """The network of one class alone, cut out along its path; those of all classes are of the same size."""

    parameters: int
    parameters_share: float
    multiply_adds: int
    multiply_adds_share: float
    share_shortcuts_cut: float
    """Parameters as a share of the whole, were the 1x1 shortcuts cut in proportion with the branches.

    Shortcuts belong to no branch, so they stay whole; but the shares that the paper states come out only so.
    """


@dataclass(frozen=True, kw_only=True)
class ArchitectureRecord:
    """What the network is made of."""

    model: str
    classes: int
    in_chans: int
    image_size: int
    """Height and width that multiply-adds are counted for."""
    stem: str
    """Convolution that the images meet first, and its channels."""
    shortcut: str
    stages: tuple[StageRow, ...]
    parameters_by_stage: dict[str, int]
    """Of the stem, each stage and the classifier."""
    parameters: int
    multiply_adds: int
    """Of one image, multiplications and additions counted as one."""
    class_path: ClassPath | None
    """None where no block is coded: then every class uses all of the network."""


def measure(subject: Subject, options: NoOptions) -> ArchitectureRecord:
    """What is counted on the network's modules; no image is needed."""
    model, info = subject.model, describe(str(subject.folder.model))
    return ArchitectureRecord(
        model=info.model,
        classes=info.classes,
        in_chans=model.in_chans,
        image_size=info.image_size,
        stem=f"{model.config.stem}, {model.config.stem_channels}",
        shortcut=model.config.shortcut,
        stages=stage_rows(info),
        parameters_by_stage=info.parameters_by_stage,
        parameters=info.parameters,
        multiply_adds=info.multiply_adds,
        class_path=_class_path(model, info.class_paths[0]) if info.class_paths else None,
    )


def stage_rows(info: ModelInfo) -> tuple[StageRow, ...]:
    """Neighbouring blocks of the same stage and shape as one row."""

    def shape(block: BlockInfo) -> tuple[str, int, int, int, int]:
        return block.name.split(".")[0], block.out_channels, block.width, block.active, block.branches

    rows = []
    for (stage, *_), group in groupby(info.blocks, key=shape):
        blocks = list(group)
        rows.append(
            StageRow(
                stage=stage,
                out_channels=blocks[0].out_channels,
                width=blocks[0].width,
                active=blocks[0].active,
                branches=blocks[0].branches,
                blocks=len(blocks),
                parameters=sum(block.parameters for block in blocks),
            )
        )
    return tuple(rows)


def _class_path(model: CodedResNeXt, path: PathInfo) -> ClassPath:
    blocks = [block for _, block in model.named_blocks()]
    inactive = sum(_shortcut(block) * (1 - block.config.active / block.config.num_branches) for block in blocks)
    whole = sum(parameter.numel() for parameter in model.parameters())
    return ClassPath(
        parameters=path.parameters,
        parameters_share=path.parameters_share,
        multiply_adds=path.multiply_adds,
        multiply_adds_share=path.multiply_adds_share,
        share_shortcuts_cut=(path.parameters - inactive) / whole,
    )


def _shortcut(block: Bottleneck) -> int:
    return sum(parameter.numel() for name, parameter in block.named_parameters() if name.startswith("downsample"))


def tables(record: ArchitectureRecord) -> tuple[Table, ...]:
    """A row a stage, stem and classifier among them; and the network of one class beside the whole."""
    parts: dict[str, list[StageRow]] = {name: [] for name in record.parameters_by_stage}
    for row in record.stages:
        parts[row.stage].append(row)
    rows: list[tuple[Cell, ...]] = []
    for name, stages in parts.items():
        rows += [
            (name, one.out_channels, one.width, f"{one.active}/{one.branches}", one.blocks, one.parameters)
            for one in stages
        ]
        if not stages:
            rows.append((name, None, None, None, None, record.parameters_by_stage[name]))
    shapes = Table(
        name="",
        title=f"{record.model}, for {record.classes} classes",
        columns=("part", "channels", "width", "active/branches", "blocks", "parameters"),
        rows=(*rows, ("all", None, None, None, sum(one.blocks for one in record.stages), record.parameters)),
    )
    path = record.class_path
    if path is None:
        return (shapes,)
    sizes = Table(
        name="path",
        title=f"The network of one class alone; multiply-adds of an image of {record.image_size} x {record.image_size}",
        columns=("network", "parameters", "share of parameters", "multiply-adds", "share of multiply-adds"),
        rows=(
            ("whole", record.parameters, 1.0, record.multiply_adds, 1.0),
            ("one class", path.parameters, path.parameters_share, path.multiply_adds, path.multiply_adds_share),
        ),
    )
    return shapes, sizes


EXPERIMENT = Experiment(
    name="architecture",
    title="Architecture",
    version=1,
    record=ArchitectureRecord,
    measure=measure,
    tables=tables,
)
