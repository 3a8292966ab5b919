"""The config of a network cut to some classes: which branches stay, block by block."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from codednet.codes import Code
from codednet.errors import CodednetError
from codednet.models.codes import as_code, codes_by_block
from codednet.models.config import BlockConfig, NetworkConfig
from codednet.models.variants import find_variant


def cut_config(config: NetworkConfig, classes: Sequence[int], codes: Any = None) -> NetworkConfig:
    """Config of the network of these classes alone; `codes` say which branches a plain network keeps for them."""
    if any(config.coded_blocks()):
        if codes is not None:
            raise CodednetError(f"{config.architecture} obeys codes of its own: codes are given for plain networks.")
        return config.narrowed(classes)
    if codes is None:
        raise CodednetError(
            f"no block of {config.architecture} is coded, so every class uses all of it: "
            "for a control, give the codes of a coded network, as in extract(plain, classes, codes=model.codes)."
        )
    blocks = [
        block if code is None else _cut_block(name, block, code, classes, config.num_classes)
        for (name, block), code in zip(config.blocks(), _codes_of_plain(config, codes), strict=True)
    ]
    return config.narrowed(classes).with_blocks(blocks)


def _codes_of_plain(config: NetworkConfig, codes: Any) -> list[Code | None]:
    """A code or None for each block, where the blocks that the coded twin codes are those that `codes` may be for."""
    active = [row.active for row in find_variant(config.architecture).stages for _ in range(row.blocks)]
    lengths = [len(stage) for stage in config.stages]
    branches = [block.num_branches for _, block in config.blocks()]
    return [None if code is None else as_code(code) for code in codes_by_block(codes, active, branches, lengths)]


def _cut_block(name: str, block: BlockConfig, code: Code, classes: Sequence[int], num_classes: int) -> BlockConfig:
    if code.num_branches != block.num_branches or code.num_classes != num_classes:
        raise CodednetError(
            f"the code of {name} must have a word of length {block.num_branches} for each of the {num_classes} "
            f"classes; it has {code.num_classes} words of length {code.num_branches}."
        )
    used = code.words[list(classes)].max(axis=0)
    kept = tuple(branch for branch in range(block.num_branches) if used[branch])
    gone = sorted(set(kept) - set(block.branches))
    if gone:
        raise CodednetError(f"{name} has been cut already and lacks branches {gone}, which these classes' words use.")
    return replace(block, kept=kept)
