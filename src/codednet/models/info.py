"""What there is to say of a network without running it on data: blocks, codes, sizes and class paths."""

from dataclasses import dataclass
from pathlib import Path

from codednet.errors import CodednetError
from codednet.models.config import NetworkConfig
from codednet.models.network import CodedResNeXt
from codednet.models.preprocessing import preprocessing
from codednet.models.saving import load
from codednet.models.sizes import Size, class_path_sizes, network_size, parameters_by_stage
from codednet.models.variants import TWINS, VARIANTS, find_variant, make_config


@dataclass(frozen=True, kw_only=True)
class BlockInfo:
    """One block."""

    name: str
    out_channels: int
    width: int
    active: int
    branches: int
    present: int
    """Branches that exist; fewer than `branches` in a network that was cut."""
    parameters: int


@dataclass(frozen=True, kw_only=True)
class CodeInfo:
    """One code, and the blocks that obey it."""

    blocks: tuple[str, ...]
    classes: int
    branches: int
    active: int
    min_distance: int
    distance_bound: int
    """Largest smallest distance that the bounds leave possible."""
    spread: int
    """Largest less smallest number of classes that a branch works for."""


@dataclass(frozen=True, kw_only=True)
class PathInfo:
    """The network of one class alone."""

    label: str
    parameters: int
    parameters_share: float
    multiply_adds: int
    multiply_adds_share: float


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """All that `codednet info` says."""

    model: str
    classes: int
    image_size: int
    parameters: int
    multiply_adds: int
    """Of one image, multiplications and additions counted as one."""
    parameters_by_stage: dict[str, int]
    blocks: tuple[BlockInfo, ...]
    codes: tuple[CodeInfo, ...]
    class_paths: tuple[PathInfo, ...]
    """Empty where no block is coded: then every class uses all of the network."""


def describe(name: str, image_size: int | None = None) -> ModelInfo:
    """Facts of a variant, a plain twin, a saved folder or a "user/repo" of the hub; images as it is made for."""
    config, size = _find(name)
    size = size if image_size is None else image_size
    if size < 1:
        raise CodednetError(f"an image is 1 or more pixels wide; got image_size={size}.")
    model = CodedResNeXt(config)
    full = network_size(config, size)
    return ModelInfo(
        model=config.architecture,
        classes=config.num_classes,
        image_size=size,
        parameters=full.parameters,
        multiply_adds=full.multiply_adds,
        parameters_by_stage=parameters_by_stage(model),
        blocks=_blocks(model),
        codes=_codes(config),
        class_paths=_paths(config, full, size) if config.codes else (),
    )


def _find(name: str) -> tuple[NetworkConfig, int]:
    if name in VARIANTS or name in TWINS or not (Path(name).is_dir() or "/" in name):
        return make_config(name), find_variant(name).image_size
    model = load(name)
    return model.config, preprocessing(model.config, model.pretrained_cfg)["input_size"][-1]


def _blocks(model: CodedResNeXt) -> tuple[BlockInfo, ...]:
    return tuple(
        BlockInfo(
            name=name,
            out_channels=block.config.out_channels,
            width=block.config.width,
            active=block.config.active,
            branches=block.config.num_branches,
            present=len(block.config.branches),
            parameters=sum(parameter.numel() for parameter in block.parameters()),
        )
        for name, block in model.named_blocks()
    )


def _codes(config: NetworkConfig) -> tuple[CodeInfo, ...]:
    return tuple(
        CodeInfo(
            blocks=tuple(name for name, block in config.coded_blocks() if block.code == index),
            classes=code.num_classes,
            branches=code.num_branches,
            active=code.active,
            min_distance=code.min_distance,
            distance_bound=code.distance_bound,
            spread=code.spread,
        )
        for index, code in enumerate(config.codes)
    )


def _paths(config: NetworkConfig, full: Size, image_size: int) -> tuple[PathInfo, ...]:
    labels = config.class_names or [str(label) for label in range(config.num_classes)]
    return tuple(
        PathInfo(
            label=label,
            parameters=size.parameters,
            parameters_share=size.parameters / full.parameters,
            multiply_adds=size.multiply_adds,
            multiply_adds_share=size.multiply_adds / full.multiply_adds,
        )
        for label, size in zip(labels, class_path_sizes(config, image_size), strict=True)
    )
