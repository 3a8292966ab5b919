"""config.json: what is written of a network so that it can be built again, its code words included."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from codednet.codes import Code
from codednet.errors import CodednetError, nearest_name
from codednet.models.config import BlockConfig, NetworkConfig


def to_document(config: NetworkConfig) -> dict[str, Any]:
    """Config as JSON values; words are strings of 0s and 1s."""
    document = {field.name: _plain(getattr(config, field.name)) for field in fields(config)}
    document["stages"] = [[_plain(asdict(block)) for block in stage] for stage in config.stages]
    document["codes"] = [{"words": _strings(code.words), "spare": _strings(code.spare)} for code in config.codes]
    return document


def from_document(document: Mapping[str, Any]) -> NetworkConfig:
    """Config that `to_document` wrote; what does not belong is refused by name."""
    values = _known(document, NetworkConfig)
    try:
        values["stages"] = tuple(tuple(_block(block) for block in stage) for stage in values["stages"])
        values["codes"] = tuple(Code(_table(code["words"]), _table(code["spare"])) for code in values["codes"])
        names = values.get("class_names")
        values["class_names"] = None if names is None else tuple(names)
        return NetworkConfig(**values)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CodednetError):
            raise
        raise CodednetError(f"the network's config is incomplete or of the wrong form: {error}.") from None


def words_digest(config: NetworkConfig) -> str:
    """Fingerprint of which block obeys which words; the same exactly when all of them are."""
    digest = hashlib.sha256()
    for name, block in config.coded_blocks():
        digest.update(f"{name} {block.num_branches} {block.active}\n".encode())
        if config.codes:
            assert block.code is not None
            digest.update("\n".join(_strings(config.codes[block.code].words)).encode() + b"\n")
    return digest.hexdigest()


def _block(document: Mapping[str, Any]) -> BlockConfig:
    values = _known(document, BlockConfig)
    kept = values.get("kept")
    return BlockConfig(**values | {"kept": None if kept is None else tuple(kept)})


def _known(document: Mapping[str, Any], form: type) -> dict[str, Any]:
    names = [field.name for field in fields(form)]
    for name in document:
        if name not in names:
            raise CodednetError(f"a network's config has no '{name}': {nearest_name(name, names)}")
    return dict(document)


def _strings(words: np.ndarray) -> list[str]:
    return ["".join(map(str, word)) for word in words.tolist()]


def _table(strings: list[str]) -> list[list[int]]:
    return [[int(digit) for digit in word] for word in strings]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value
