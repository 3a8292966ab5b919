import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from codednet.experiments import NAMES, find
from codednet.experiments.documents import from_document, to_document

# An experiment that needs a sweep has tests of its own.
MEASURED = [name for name in NAMES if name != "ablations"]


@dataclass(frozen=True, kw_only=True)
class Part:
    number: int | float
    share: float | None


@dataclass(frozen=True, kw_only=True)
class Whole:
    parts: tuple[Part, ...]
    counts: dict[int, int]
    table: list[list[int]]
    pair: tuple[str, float]
    named: Mapping[str, Part]
    flag: bool
    loss: float


WHOLE = Whole(
    parts=(Part(number=1, share=None), Part(number=0.5, share=0.25)),
    counts={4: 3, 10: 1},
    table=[[1, 2], [3]],
    pair=("a", 1.5),
    named={"own": Part(number=2, share=1.0)},
    flag=True,
    loss=0.1,
)


def through_json(value):
    return json.loads(json.dumps(to_document(value), allow_nan=False))


@pytest.mark.parametrize("name", MEASURED)
def test_record_survives_json(name, record):
    found = record(name)
    assert from_document(find(name).record, through_json(found)) == found


def test_every_kind_of_field_survives_json_with_its_type():
    found = from_document(Whole, through_json(WHOLE))
    assert found == WHOLE
    assert isinstance(found.parts[0].number, int)
    assert isinstance(found.counts, dict)
    assert isinstance(found.parts, tuple)


def test_what_is_no_number_is_null_in_json_and_no_number_again():
    document = through_json(Part(number=1, share=math.inf))
    assert document == {"number": 1, "share": None}
    assert math.isnan(from_document(Whole, through_json(WHOLE) | {"loss": None}).loss)


@pytest.mark.parametrize("name", MEASURED)
def test_record_with_an_unknown_field_is_refused(name, results):
    document = results(name).document["record"]
    with pytest.raises(ValueError, match="is no"):
        from_document(find(name).record, document | {"surplus": 1})


@pytest.mark.parametrize("name", MEASURED)
def test_record_without_any_one_field_is_refused(name, results):
    document = results(name).document["record"]
    for field in document:
        with pytest.raises(KeyError, match=field):
            from_document(find(name).record, {key: value for key, value in document.items() if key != field})


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [{"number": 1}]},
        {"parts": [{"number": 1, "share": None, "more": 0}]},
        {"parts": [{"number": "1", "share": None}]},
        {"parts": [{"number": True, "share": None}]},
        {"parts": {"number": 1, "share": None}},
        {"counts": {"four": 3}},
        {"table": [[1.5]]},
        {"pair": ["a"]},
        {"pair": ["a", 1.0, 2.0]},
        {"named": []},
        {"flag": 1},
        {"loss": "0.1"},
    ],
    ids=repr,
)
def test_values_of_another_kind_are_refused(change):
    with pytest.raises((ValueError, KeyError)):
        from_document(Whole, through_json(WHOLE) | change)
