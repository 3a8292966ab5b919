"""Which code each block of a network obeys: given by stage or by block, or looked up by its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from codednet.codes import Code, find_code
from codednet.errors import CodednetError, nearest_name
from codednet.models.config import BlockConfig, NetworkConfig, check_code, regroup

T = TypeVar("T")


def by_block(given: Sequence[T] | Mapping[str, T], lengths: Sequence[int], what: str) -> list[T | None]:
    """One value a block, from values by stage or by block: in order of depth, or by names such as "layer2.0".

    A block's own name goes before its stage's; a block that nothing names gets None.
    """
    stages = [f"layer{index}" for index in range(1, len(lengths) + 1)]
    owners = [stage for stage, length in zip(stages, lengths, strict=True) for _ in range(length)]
    names = [f"{stage}.{index}" for stage, length in zip(stages, lengths, strict=True) for index in range(length)]
    if isinstance(given, Mapping):
        for name in given:
            if name not in (*stages, *names):
                raise CodednetError(f"{what} names '{name}', which is no stage or block: {nearest_name(name, names)}")
        return [given.get(name, given.get(owner)) for name, owner in zip(names, owners, strict=True)]
    if isinstance(given, Sequence) and len(given) == len(names):
        return list(given)
    if isinstance(given, Sequence) and len(given) == len(stages):
        return [given[stages.index(owner)] for owner in owners]
    came = f"{len(given)} values" if isinstance(given, Sequence) else type(given).__name__
    raise CodednetError(
        f"{what} must be given for each of the {len(stages)} stages or each of the {len(names)} blocks, "
        f"in order of depth or by name; got {came}."
    )


def codes_by_block(given: Any, active: Sequence[int], branches: Sequence[int], lengths: Sequence[int]) -> list[Any]:
    """One code or None a block. A sequence may also be as long as there are coded blocks, as `model.codes` is."""
    coded = [block for block in range(len(active)) if active[block] < branches[block]]
    if not isinstance(given, Sequence) or len(given) != len(coded) or any(code is None for code in given):
        return by_block(given, lengths, "codes")
    values: list[Any] = [None] * len(active)
    for block, code in zip(coded, given, strict=True):
        values[block] = code
    if len(given) == len(lengths) and not _same(values, by_block(given, lengths, "codes"), coded):
        raise CodednetError(
            f"{len(given)} codes may mean the {len(lengths)} stages or the {len(coded)} coded blocks: "
            f"name them, as in codes={{'layer2': code}}."
        )
    return values


def as_code(value: Any) -> Code:
    """Code from one or from a 0/1 table (classes, branches)."""
    return value if isinstance(value, Code) else Code(np.asarray(value))


def assign(stages: Sequence[Sequence[BlockConfig]], given: Sequence[Code | None], num_classes: int) -> tuple[Any, Any]:
    """Stages whose coded blocks point to a code, and the codes: the given ones, else those of the right numbers.

    Blocks of the same numbers share one code unless different ones were given. No classes, no codes: the blocks of
    the same numbers still belong together, since they drop the same branches.
    """
    classes = num_classes or next((code.num_classes for code in given if code is not None), 0)
    codes: list[Code | None] = []
    blocks = [block for stage in stages for block in stage]
    wanted: dict[tuple[int, int], int] = {}
    place: list[int | None] = [None] * len(blocks)
    for index, (block, code) in enumerate(zip(blocks, given, strict=True)):
        if block.is_coded and code is not None:
            check_code(code, f"block {index + 1}", block, classes)
            if code not in codes:
                codes.append(code)
            place[index] = codes.index(code)
            wanted.setdefault((block.num_branches, block.active), codes.index(code))
    for index, block in enumerate(blocks):
        if block.is_coded and place[index] is None:
            numbers = block.num_branches, block.active
            if numbers not in wanted:
                wanted[numbers] = len(codes)
                codes.append(find_code(classes, *numbers) if classes else None)
            place[index] = wanted[numbers]
    placed = [replace(block, code=code) for block, code in zip(blocks, place, strict=True)]
    return regroup(placed, stages), tuple(code for code in codes if code is not None)


def recoded(config: NetworkConfig, num_classes: int) -> tuple[Code, ...]:
    """Codes of the same blocks for another number of classes; as they were when only the classifier goes."""
    same = {code.num_classes for code in config.codes} == {num_classes}
    if num_classes == 0 or same or not any(config.coded_blocks()):
        return config.codes
    if config.is_cut:
        raise CodednetError(
            f"a network cut to some classes keeps their words, so it cannot be given {num_classes} other classes: "
            "reset the classifier of the full network, then cut."
        )
    numbers: dict[int, tuple[int, int]] = {}
    for _, block in config.coded_blocks():
        assert block.code is not None
        numbers[block.code] = block.num_branches, block.active
    return tuple(find_code(num_classes, *numbers[index]) for index in sorted(numbers))


def _same(left: Sequence[Any], right: Sequence[Any], blocks: Sequence[int]) -> bool:
    return all(as_code(left[block]) == as_code(right[block]) for block in blocks)
