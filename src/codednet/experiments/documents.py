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
    """The record of this form that the JSON values describe; ValueError, KeyError or TypeError if they do not.

    A number that became null is NaN again.
    """
    return cast(T, _read(form, document))


def _read(hint: Any, value: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is typing.Literal:
        return _checked(value, value in inner, hint)
    if origin in (typing.Union, types.UnionType):
        return _read_one_of(inner, value)
    if is_dataclass(hint) and isinstance(hint, type):
        names = {field.name for field in fields(hint)}
        entries = _checked(value, isinstance(value, Mapping) and value.keys() <= names, hint)
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: _read(hints[field.name], entries[field.name]) for field in fields(hint)})
    if origin in (tuple, list, Sequence):
        return _read_entries(hint, _checked(value, isinstance(value, list | tuple), hint))
    if origin in (dict, Mapping):
        entries = _checked(value, isinstance(value, Mapping), hint)
        return {_key(inner[0], key): _read(inner[1], entry) for key, entry in entries.items()}
    return _read_scalar(hint, value)


def _read_scalar(hint: Any, value: Any) -> Any:
    if isinstance(value, bool):
        return _checked(value, hint is bool, hint)
    if hint is float:
        return math.nan if value is None else float(_checked(value, isinstance(value, int | float), hint))
    return _checked(value, isinstance(value, hint), hint)


def _read_entries(hint: Any, values: Sequence[Any]) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is not tuple:
        return [_read(inner[0], value) for value in values]
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_read(inner[0], value) for value in values)
    return tuple(_read(kind, value) for kind, value in zip(inner, values, strict=True))


def _read_one_of(kinds: Sequence[Any], value: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    # Where both are possible, 1 is a whole number.
    for kind in sorted(kinds, key=lambda kind: kind is float):
        if kind is type(None):
            continue
        try:
            return _read(kind, value)
        except (ValueError, KeyError, TypeError):
            continue
    raise ValueError(f"{value!r} is none of {kinds}")


def _checked(value: Any, fits: bool, hint: Any) -> Any:
    if not fits:
        raise ValueError(f"{value!r} is no {hint}")
    return value


def _key(kind: Any, key: str) -> Any:
    return kind(key) if kind in (int, float) else key
