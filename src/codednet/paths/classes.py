"""Classes as a user gives them, by name or index, as the indices of a network's logits."""

import difflib
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

from codednet.errors import CodednetError, nearest_name
from codednet.models.config import NetworkConfig

# Names that a sentence lists; of more, the first and the last stand for all.
LISTED = 20

Classes: TypeAlias = str | SupportsIndex | Iterable[str | SupportsIndex]
"""One class or several, by name or index; a row of indices may be an array or a tensor."""


def as_list(classes: Classes) -> list[Any]:
    """The classes one by one; a single one need not stand in a list."""
    values: Any = classes.tolist() if hasattr(classes, "tolist") else classes
    return [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)


def class_indices(config: NetworkConfig, classes: Classes) -> list[int]:
    """Index of every class asked for, in the order asked.

    A class asked for twice, also once by name and once by index, is refused, and so is asking for none.
    """
    if not config.num_classes:
        raise CodednetError("the network has no classifier, hence no classes: reset_classifier gives it some.")
    asked = as_list(classes)
    if not asked:
        raise CodednetError(f"at least one of the network's {config.num_classes} classes must be asked for; got none.")
    indices = [_index(config, one) for one in asked]
    for position, index in enumerate(indices):
        if index in indices[:position]:
            raise CodednetError(f"class {label_of(config, index)!r} is asked for twice: give every class once.")
    return indices


def typed_classes(config: NetworkConfig, words: Iterable[str]) -> list[str | int]:
    """Classes as typed on a command line: a word of digits is an index, unless a class is called so."""
    names = config.class_names or ()
    return [int(word) if word not in names and re.fullmatch(r"\d+", word) else word for word in words]


def label_of(config: NetworkConfig, index: int) -> str:
    """What a class is called: its name, or its index where the network has no names."""
    return str(index) if config.class_names is None else config.class_names[index]


def _index(config: NetworkConfig, one: Any) -> int:
    if isinstance(one, str):
        return _index_of_name(config, one)
    try:
        index = operator.index(one)
    except TypeError:
        raise CodednetError(f"a class is asked for by its name or its index; got {type(one).__name__}.") from None
    if isinstance(one, bool) or not 0 <= index < config.num_classes:
        raise CodednetError(f"classes have indices from 0 to {config.num_classes - 1}; got {one}.")
    return index


def _index_of_name(config: NetworkConfig, name: str) -> int:
    if config.class_names is None:
        raise CodednetError(
            f"the network's classes have no names, so {name!r} is none of them: "
            f"ask by index, from 0 to {config.num_classes - 1}."
        )
    found = [index for index, known in enumerate(config.class_names) if known == name]
    if not found:
        raise CodednetError(f"no class is called {name!r}; {_nearest(name, config.class_names)}")
    if len(found) > 1:
        raise CodednetError(f"classes {found} are all called {name!r}: ask by index.")
    return found[0]


def _nearest(name: str, known: Sequence[str]) -> str:
    """The known name closest to this one, capitals aside; or those that there are, if they are few."""
    close = difflib.get_close_matches(name.lower(), [one.lower() for one in known], n=1)
    if close:
        return f"did you mean {next(one for one in known if one.lower() == close[0])!r}?"
    if len(known) <= LISTED:
        return nearest_name(name, known)
    return f"there are {len(known):,}, from {known[0]!r} to {known[-1]!r}: ask by index, from 0 to {len(known) - 1}."
