"""Command-line arguments for a dataclass of options, by jsonargparse, spelled as users of other tools expect.

On top of jsonargparse: required fields are positional, `--an-option` is `--an_option`, a flag needs no value, a list
takes the words that follow it, a field of a nested dataclass is `--owner.field`, and an unknown option names the
nearest known one.
"""

import dataclasses
import json
import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import jsonargparse

from codednet.errors import CodednetError, nearest_name

T = TypeVar("T")

jsonargparse.set_parsing_settings(docstring_parse_attribute_docstrings=True)


class _Parser(jsonargparse.ArgumentParser):
    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        raise CodednetError(_plain(message, [name for action in self._actions for name in action.option_strings]))


def parse(options: type[T], arguments: Sequence[str], program: str) -> T | None:
    """The options that the arguments spell, or None after `--help` was printed; CodednetError on wrong input.

    A class may name short forms, `SHORT: ClassVar = {"-o": "--output"}`; optional fields that are positional,
    `PLACES: ClassVar = ("recipe",)`; and a static method `defaults(places)` that gives other defaults by dotted name,
    once the words without an option's name are known.
    """
    required = [f.name for f in _fields(options) if _has_no_default(f)]
    positional = [*required, *getattr(options, "PLACES", ())]
    parser = _Parser(prog=program, description=(options.__doc__ or "").strip(), allow_abbrev=False)
    parser.add_class_arguments(options, as_group=False)
    asks_help = "-h" in arguments or "--help" in arguments
    spelled, places = _spelled(options, [word for word in arguments if word not in ("-h", "--help")])
    if (defaults := getattr(options, "defaults", None)) is not None:
        parser.set_defaults(defaults(places))
    if asks_help:
        print(_as_users_spell(parser.format_help(), positional), end="")
        return None
    if len(places) < len(required) and not any(f"--{required[len(places)]}" in word for word in spelled):
        missing = required[len(places)].upper()
        raise CodednetError(f"{missing} is missing: {program} {' '.join(required).upper()} ...")
    spelled += _placed(options, positional, places)
    return _built(options, parser.parse_args(spelled))


def _built(form: type[T], found: Any) -> T:
    """The dataclass, and those nested in it, from what the parser found."""
    types = typing.get_type_hints(form)
    values = {f.name: found[f.name] for f in _fields(form)}
    return form(
        **{
            name: _built(types[name], value) if dataclasses.is_dataclass(types[name]) else value
            for name, value in values.items()
        }
    )


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fields(options: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(options)


def _types(options: type, prefix: str = "") -> dict[str, Any]:
    """Types of all fields by dotted name."""
    types: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(options).items():
        types |= (
            _types(kind, f"{prefix}{name}.")
            if dataclasses.is_dataclass(kind) and isinstance(kind, type)
            else {f"{prefix}{name}": kind}
        )
    return types


def _spelled(options: type, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options among the arguments, as jsonargparse spells them, and the words that name no option."""
    short: Mapping[str, str] = getattr(options, "SHORT", {})
    types = _types(options)
    words = list(arguments)
    spelled: list[str] = []
    places: list[str] = []
    lists: dict[str, list[str]] = {}
    while words:
        word = words.pop(0)
        if word == "--":
            return spelled, places + words
        name, equals, value = short.get(word, word).partition("=")
        if not name.startswith("-"):
            places.append(word)
            continue
        field = name[2:].replace("-", "_")
        name = f"--{field}" if field in types else name
        kind = types.get(field)
        if equals:
            spelled += [f"{name}={value}"]
        elif kind is bool:
            spelled += [f"{name}={words.pop(0) if words and words[0] in ('true', 'false') else 'true'}"]
        elif _is_list(kind):
            items = lists.setdefault(name, [])
            while words and not words[0].startswith("--") and words[0] not in short:
                items.append(words.pop(0))
            spelled += [f"{name}={_listed(items, kind)}"]  # of an option given twice, the last holds all
        elif words:
            spelled += [f"{name}={words.pop(0)}"]
        else:
            spelled += [name]
    return spelled, places


def _placed(options: type, positional: Sequence[str], places: Sequence[str]) -> list[str]:
    """Words without an option's name, given to the positional fields in order; a list takes all that are left."""
    types = typing.get_type_hints(options)
    left, spelled = list(places), []
    for name in positional:
        if left and _is_list(types[name]):
            spelled += [f"--{name}={_listed(left, types[name])}"]
            left = []
        elif left:
            spelled += [f"--{name}={left.pop(0)}"]
    if left:
        raise CodednetError(f"unexpected argument {left[0]!r}: options start with --.")
    return spelled


def _listed(items: Sequence[str], kind: Any) -> str:
    """A list as jsonargparse reads it; numbers are numbers, but in a list of text."""
    text = any(str in typing.get_args(member) for member in _lists(kind))
    return json.dumps([item if text or not re.fullmatch(r"-?\d+", item) else int(item) for item in items])


def _is_list(kind: Any) -> bool:
    return bool(_lists(kind))


def _lists(kind: Any) -> list[Any]:
    members = typing.get_args(kind) if typing.get_origin(kind) not in (list, tuple) else (kind,)
    return [member for member in members if typing.get_origin(member) in (list, tuple)]


def _as_users_spell(text: str, positional: Sequence[str]) -> str:
    """Help with dashes in options, flags without values, and required fields by their place."""
    for name in positional:
        text = text.replace(f"--{name} {name.upper()}", name.upper())
    text = re.sub(r", --[\w.]+\+ \[ITEM,\.\.\.\]", "", text).replace("[ITEM,...]", "A [B ...]")
    text = re.sub(r" \{true,false\}", "", text)
    text = re.sub(r"(?<=\s)--[a-z_.]+|(?<=\[)--[a-z_.]+", lambda option: option[0].replace("_", "-"), text)
    return text.replace(" (type: bool, default: False)", "")


def _plain(message: str, known: Sequence[str]) -> str:
    """Jsonargparse's message in one line, with the nearest option to an unknown one."""
    text = re.sub(r"\s+", " ", message).strip()
    unknown = re.search(r"[Uu]nrecognized arguments?: (\S+)", text)
    if unknown and unknown[1].startswith("-"):
        names = [name.replace("_", "-") for name in known if name and name != "--print_shtab"]
        name = unknown[1].split("=")[0].replace("_", "-")
        return f"unknown argument {name}: {nearest_name(name, names)}"
    wrong = re.search(r'[Kk]ey "([\w.]+)"', text)
    given = re.search(r"(?:Given value|Got value): (.*)$", text)
    choices = re.search(r"Expected a typing\.Literal\[([^\]]+)\]", text)
    if wrong and given and choices:
        return f"--{wrong[1].replace('_', '-')} must be one of {choices[1]}, got {given[1].strip()!r}."
    kinds = [kind for kind in re.findall(r"Expected a <class '(\w+)'>", text) if kind != "NoneType"]
    if wrong and given and kinds:
        kind = {"int": "a whole number", "float": "a number", "bool": "true or false"}.get(kinds[0], f"a {kinds[0]}")
        return f"--{wrong[1].replace('_', '-')} must be {kind}, got {given[1].strip()!r}."
    return text


def check_threads(threads: int) -> None:
    """Refuse a number of threads that cannot be."""
    if threads < 0:
        raise CodednetError(f"threads must be 1 or more, or 0 for torch's own choice; got {threads}.")
