"""Recipes: short YAML files that say what to train, shipped with the package or a user's own."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from codednet.errors import CodednetError, nearest_name
from codednet.runs.config import RunConfig
from codednet.runs.document import from_document, merged, parse_yaml


def recipe_names() -> list[str]:
    """Names of the recipes that ship with the package."""
    files = (resources.files("codednet.training") / "recipes").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_recipe(name: str) -> RunConfig:
    """Config of a shipped recipe, by its name, or of a user's own YAML file, by its path."""
    return recipe_with(name, {})


def recipe_with(name: str, changes: Mapping[str, Any]) -> RunConfig:
    """Config of a recipe with changes over it, nested as the config is."""
    if name in recipe_names():
        text = (resources.files("codednet.training") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
        where = f"recipe {name}"
    elif Path(name).suffix in (".yaml", ".yml"):
        where = f"'{name}'"
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise CodednetError(f"no recipe can be read from {where}: {error.strerror}.") from None
    else:
        hint = nearest_name(name, recipe_names())
        raise CodednetError(f"no recipe is called {name!r}: {hint} A recipe of your own is a path that ends in .yaml.")
    document = merged(parse_yaml(text, where), changes)
    return from_document(RunConfig, {"recipe": name, **document}, where)


def nested(changes: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Changes by dotted keys as a nested mapping.

    >>> nested([("coding.mu", 2), ("data.root", "x"), ("coding.exponent", 2)])
    {'coding': {'mu': 2, 'exponent': 2}, 'data': {'root': 'x'}}
    """
    result: dict[str, Any] = {}
    for key, value in changes:
        *owners, name = key.split(".")
        place = result
        for owner in owners:
            place = place.setdefault(owner, {})
        place[name] = value
    return result
