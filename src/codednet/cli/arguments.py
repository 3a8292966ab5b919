"""Command-line arguments for a dataclass of options, by jsonargparse, spelled as users of other tools expect.

On top of jsonargparse: required fields are positional, `--an-option` is `--an_option`, a flag needs no value, a list
takes the words that follow it, and an unknown option names the nearest known one.
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

    A class may name short forms: `SHORT: ClassVar = {"-o": "--output"}`.
    """
    parser = _Parser(prog=program, description=(options.__doc__ or "").strip())
    parser.add_class_arguments(options, as_group=False, as_positional=True)
    spelled = _spelled(options, arguments)
    if "-h" in spelled or "--help" in spelled:
        print(_as_users_spell(parser.format_help()), end="")
        return None
    found = parser.parse_args(spelled)
    return options(**{f.name: found[f.name] for f in dataclasses.fields(options)})  # type: ignore[arg-type]


def _spelled(options: type, arguments: Sequence[str]) -> list[str]:
    """The arguments as jsonargparse spells them."""
    short: Mapping[str, str] = getattr(options, "SHORT", {})
    types = typing.get_type_hints(options)
    words = list(arguments)
    spelled: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return spelled + words
        name, equals, value = short.get(word, word).partition("=")
        if not name.startswith("--"):
            spelled.append(word)
            continue
        field = name[2:].replace("-", "_")
        name = f"--{field}" if field in types else name
        kind = types.get(field)
        if equals:
            spelled += [f"{name}={value}"]
        elif kind is bool:
            spelled += [f"{name}=true"]
        elif _is_list(kind):
            items = []
            while words and not words[0].startswith("--"):
                items.append(words.pop(0))
            spelled += [f"{name}={json.dumps(items)}"]
        else:
            spelled += [name]
    return spelled


def _is_list(kind: Any) -> bool:
    members = typing.get_args(kind) if typing.get_origin(kind) not in (list, tuple) else (kind,)
    return any(typing.get_origin(member) in (list, tuple) for member in members)


def _as_users_spell(text: str) -> str:
    """Help with dashes in options and flags without values."""
    text = re.sub(r" \{true,false\}", "", text)
    text = re.sub(r"(?<=\s)--[a-z_.]+|(?<=\[)--[a-z_.]+", lambda option: option[0].replace("_", "-"), text)
    return text.replace(" (type: bool, default: False)", "")


def _plain(message: str, known: Sequence[str]) -> str:
    """Jsonargparse's message in one line, with the nearest option to an unknown one."""
    text = re.sub(r"\s+", " ", message).strip()
    unknown = re.search(r"[Uu]nrecognized arguments?: (\S+)", text)
    if unknown and unknown[1].startswith("-"):
        names = [name.replace("_", "-") for name in known if name and name != "--print_shtab"]
        return f"unknown argument {unknown[1]}: {nearest_name(unknown[1].split('=')[0], names)}"
    if unknown:
        return f"unexpected argument {unknown[1]!r}: options start with --."
    wrong = re.search(r'[Kk]ey "([\w.]+)"', text)
    given = re.search(r"(?:Given value|Got value): (.*)$", text)
    kinds = [kind for kind in re.findall(r"Expected a <class '(\w+)'>", text) if kind != "NoneType"]
    if wrong and given and kinds:
        kind = {"int": "a whole number", "float": "a number", "bool": "true or false"}.get(kinds[0], f"a {kinds[0]}")
        return f"--{wrong[1].replace('_', '-')} must be {kind}, got {given[1].strip()!r}."
    return text
