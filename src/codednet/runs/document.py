"""Configs as YAML: written in full, read back with unknown keys and wrong kinds refused by name."""

import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, TypeVar

import yaml

from codednet.errors import CodednetError, nearest_name

T = TypeVar("T")


def to_yaml(config: Any) -> str:
    """The config as YAML, every field in it."""
    return yaml.safe_dump(_plain(asdict(config)), sort_keys=False, allow_unicode=True)


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """The mapping that a YAML text holds."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CodednetError(f"{where} is no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(document, dict):
        raise CodednetError(f"{where} must hold keys and values; got {type(document).__name__}.")
    return document


def from_document(form: type[T], document: Mapping[str, Any], where: str, prefix: str = "") -> T:
    """Config of this form from a mapping that may leave out fields; messages name keys as in `data.root`."""
    known = {field.name for field in fields(form)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(form)
    values = {}
    for key, value in document.items():
        name = f"{prefix}{key}"
        if key not in known:
            raise CodednetError(f"{where} has an unknown key {name!r}: {nearest_name(str(key), sorted(known))}")
        if is_dataclass(hints[key]):
            if not isinstance(value, Mapping):
                raise CodednetError(f"{name} in {where} must hold keys and values; got {value!r}.")
            values[key] = from_document(hints[key], value, where, f"{name}.")
        else:
            values[key] = _fitting(hints[key], value, name, where)
    return form(**values)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Document with the changes over it, level by level."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def _fitting(hint: Any, value: Any, name: str, where: str) -> Any:
    """The value as the field wants it; lists become tuples, whole numbers floats."""
    members = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    for member in members:
        if member is type(None) and value is None:
            return None
        if typing.get_origin(member) is typing.Literal and value in typing.get_args(member):
            return value
        if typing.get_origin(member) is tuple and isinstance(value, list | tuple):
            inner = typing.get_args(member)[0]
            return tuple(_fitting(inner, entry, name, where) for entry in value)
        if member is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if member is float and isinstance(value, str) and (number := _number(value)) is not None:
            return number  # YAML takes 5e-4, without a point, for text
        if isinstance(member, type) and isinstance(value, member) and not (member is int and isinstance(value, bool)):
            return value
    raise CodednetError(f"{name} in {where} must be {_spoken(members)}; got {value!r}.")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _spoken(members: tuple[Any, ...]) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}
    spoken = []
    for member in members:
        if typing.get_origin(member) is typing.Literal:
            spoken += [repr(choice) for choice in typing.get_args(member)]
        else:
            spoken.append("a list" if typing.get_origin(member) is tuple else names.get(member, str(member)))
    return " or ".join(spoken)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value
