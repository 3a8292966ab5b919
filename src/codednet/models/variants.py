"""The networks of the paper and their smaller kin, as tables; and the config of one, with a user's options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from codednet.errors import CodednetError, nearest_name
from codednet.models.codes import as_code, assign, by_block, codes_by_block
from codednet.models.config import BlockConfig, NetworkConfig, capacity

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
CIFAR100 = ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


@dataclass(frozen=True, kw_only=True)
class StageTable:
    """One line of the paper's table 1: [out_channels, width, active/num_branches] x blocks."""

    out_channels: int
    width: int
    active: int
    blocks: int


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One column of the paper's table 1, and the images it is for."""

    num_branches: int
    stages: tuple[StageTable, ...]
    num_classes: int
    image_size: int
    statistics: tuple[tuple[float, ...], tuple[float, ...]]
    """Mean and standard deviation of the images' channels."""
    stem_channels: int = 64
    stem: Literal["3x3", "7x7"] = "3x3"
    crop: float = 1.0
    """Share of the resized image that the centre crop of a test keeps."""


def _table(*rows: tuple[int, int, int, int]) -> tuple[StageTable, ...]:
    return tuple(StageTable(out_channels=c, width=d, active=a, blocks=n) for c, d, a, n in rows)


VARIANTS: dict[str, Variant] = {
    "coded_resnext29_10x11d": Variant(
        num_branches=10,
        stages=_table((256, 11, 10, 3), (512, 22, 5, 3), (1024, 44, 3, 3)),
        num_classes=10,
        image_size=32,
        statistics=CIFAR10,
    ),
    "coded_resnext29_20x6d": Variant(
        num_branches=20,
        stages=_table((256, 6, 20, 3), (512, 12, 8, 3), (1024, 24, 4, 3)),
        num_classes=100,
        image_size=32,
        statistics=CIFAR100,
    ),
    "coded_resnext50_32x4d": Variant(
        num_branches=32,
        stages=_table((256, 4, 32, 3), (512, 8, 32, 4), (1024, 16, 16, 6), (2048, 32, 8, 3)),
        num_classes=1000,
        image_size=224,
        statistics=IMAGENET,
        stem="7x7",
        crop=0.875,
    ),
    "coded_resnext20_10x6d": Variant(
        num_branches=10,
        stages=_table((128, 6, 10, 2), (256, 12, 5, 2), (512, 24, 3, 2)),
        num_classes=10,
        image_size=32,
        statistics=CIFAR10,
    ),
    "coded_resnext20_10x4d": Variant(
        num_branches=10,
        stages=_table((64, 4, 10, 2), (128, 8, 5, 2), (256, 16, 3, 2)),
        num_classes=10,
        image_size=28,
        statistics=HALF,
        stem_channels=32,
    ),
}
TWINS: dict[str, str] = {name.removeprefix("coded_"): name for name in VARIANTS}
"""Plain twins by name: the coded network with all rates 1."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may ask of a variant beyond its classes."""

    shortcut: str = "projection"
    """Where shapes change: a projection, as in the paper, or free of parameters."""
    active: Sequence[int] | Mapping[str, int] | None = None
    """Active branches by stage or by block; None is the variant's."""
    codes: Any = None
    """Codes, or 0/1 tables, by stage, by block or by coded block; None looks each up by its numbers."""
    normalise: bool = True
    """Energy normalisation; off only as an ablation."""
    drop_branch: float = 0.1
    """Probability that a branch of a coded block is dropped while training."""
    drop_rate: float = 0.0
    """Dropout before the classifier while training."""
    drop_path_rate: float = 0.0
    """Stochastic depth while training."""
    global_pool: str = "avg"
    """Pooling before the classifier, by timm's names."""


def find_variant(name: str) -> Variant:
    """Variant of that name, coded or plain."""
    known = TWINS.get(name, name)
    if known not in VARIANTS:
        raise CodednetError(f"no model is called {name!r}: {nearest_name(name, [*VARIANTS, *TWINS])}")
    return VARIANTS[known]


def make_config(
    name: str,
    num_classes: int | None = None,
    in_chans: int = 3,
    class_names: Sequence[str] | None = None,
    **options: Any,
) -> NetworkConfig:
    """Config of a variant or plain twin, its codes chosen; options are the fields of `Options`."""
    variant = find_variant(name)
    chosen = _options(options)
    if num_classes is None:
        num_classes = variant.num_classes if class_names is None else len(class_names)
    stages, codes = _coded_stages(name, variant, chosen, num_classes)
    return NetworkConfig(
        architecture=name,
        stages=stages,
        codes=codes,
        num_classes=num_classes,
        class_names=None if class_names is None else tuple(class_names),
        in_chans=in_chans,
        stem_channels=variant.stem_channels,
        stem=variant.stem,
        classifier_bias=variant.stem == "7x7",
        shortcut=chosen.shortcut,
        normalise=chosen.normalise,
        drop_branch=chosen.drop_branch,
        drop_rate=chosen.drop_rate,
        drop_path_rate=chosen.drop_path_rate,
        global_pool=chosen.global_pool,
    )


def refuse_too_many(stages: Sequence[Sequence[BlockConfig]], num_classes: int) -> None:
    """Refuse more classes than the blocks have words for, naming a variant that has enough."""
    most = capacity(stages)
    if most is None or num_classes <= most:
        return
    coded = [block for stage in stages for block in stage if block.is_coded]
    tight = next(block for block in coded if capacity([[block]]) == most)
    fits = [name for name, variant in VARIANTS.items() if (capacity(_plain_stages(variant)) or 0) >= num_classes]
    advice = f"use {fits[0]}" if fits else "give `active` nearer to half of the branches"
    raise CodednetError(
        f"{num_classes} classes need as many words, but only {most} words of length {tight.num_branches} have "
        f"{tight.active} ones: {advice}, or at most {most} classes."
    )


def _coded_stages(name: str, variant: Variant, options: Options, num_classes: int) -> tuple[Any, Any]:
    stages = _plain_stages(variant)
    blocks = [block for stage in stages for block in stage]
    lengths = [len(stage) for stage in stages]
    if name in TWINS:
        if options.active is not None or options.codes is not None:
            raise CodednetError(f"{name} is the plain twin, without codes: use {TWINS[name]} to give active or codes.")
        plain = (tuple(replace(block, active=block.num_branches) for block in stage) for stage in stages)
        return tuple(plain), ()
    active = [block.active for block in blocks]
    if options.active is not None:
        given = by_block(options.active, lengths, "active")
        active = [old if new is None else int(new) for old, new in zip(active, given, strict=True)]
    codes: list[Any] = [None] * len(blocks)
    if options.codes is not None:
        codes = codes_by_block(options.codes, active, [block.num_branches for block in blocks], lengths)
        codes = [None if code is None else as_code(code) for code in codes]
    if options.active is None:
        active = [old if code is None else code.active for old, code in zip(active, codes, strict=True)]
    rest = iter([replace(block, active=count) for block, count in zip(blocks, active, strict=True)])
    stages = tuple(tuple(next(rest) for _ in range(length)) for length in lengths)
    refuse_too_many(stages, num_classes)
    return assign(stages, codes, num_classes)


def _plain_stages(variant: Variant) -> tuple[tuple[BlockConfig, ...], ...]:
    return tuple(
        tuple(
            BlockConfig(
                out_channels=row.out_channels,
                width=row.width,
                num_branches=variant.num_branches,
                active=row.active,
                stride=2 if depth > 0 and index == 0 else 1,
            )
            for index in range(row.blocks)
        )
        for depth, row in enumerate(variant.stages)
    )


def _options(given: Mapping[str, Any]) -> Options:
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            raise CodednetError(f"create_model has no option {name!r}: {nearest_name(name, known)}")
    return Options(**given)
