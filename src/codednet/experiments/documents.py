"""Records as JSON values and back: frozen dataclasses of numbers, text, tuples, mappings and other records."""

import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


def to_document(value: Any) -> Any:
    """The record as JSON values; what is no number becomes null, since JSON has no word for it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_document(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_document(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [to_document(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_document(form: type[T], document: Any) -> T:
    """The record of this form that the JSON values describe; ValueError, KeyError or TypeError if they do not."""
    return cast(T, _read(form, document))


def _read(hint: Any, value: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or origin is typing.Literal:
        return value
    if origin in (typing.Union, types.UnionType):
        return _read_one_of(inner, value)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: _read(hints[field.name], value[field.name]) for field in fields(hint)})
    if origin is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_read(inner[0], entry) for entry in value)
        return tuple(_read(kind, entry) for kind, entry in zip(inner, value, strict=True))
    if origin in (list, Sequence):
        return [_read(inner[0], entry) for entry in value]
    if origin in (dict, Mapping):
        return {_key(inner[0], key): _read(inner[1], entry) for key, entry in value.items()}
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint):
        raise ValueError(f"{value!r} is no {hint}")
    return value


def _read_one_of(kinds: Sequence[Any], value: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(kind, value)
        except (ValueError, KeyError, TypeError):
            continue
    raise ValueError(f"{value!r} is none of {kinds}")


def _key(kind: Any, key: str) -> Any:
    return int(key) if kind is int else key
