"""Ratios come from calls run in turn; a ratio that its rounds disagree on is refused."""

import time

import pytest

from codednet.errors import CodednetError
from codednet.measure import Comparison, compare, measure_latency


def test_a_call_twice_as_long_has_a_ratio_near_two() -> None:
    (result,) = compare(lambda: time.sleep(0.01), {"twice": lambda: time.sleep(0.02)}, rounds=9, limit=0.5)
    assert result.name == "twice"
    assert result.ratio == pytest.approx(2, rel=0.25)
    assert result.seconds > result.baseline_seconds


def test_calls_are_interleaved_and_change_places() -> None:
    seen: list[str] = []
    compare(
        lambda: seen.append("a"), {"b": lambda: seen.append("b"), "c": lambda: seen.append("c")}, rounds=4, warmup=0
    )
    assert "".join(seen) == "abccbaabccba"


def test_unsteady_rounds_are_refused_with_a_sentence() -> None:
    waits = iter([0.0, 0.02] * 20)
    (result,) = compare(lambda: time.sleep(0.01), {"unsteady": lambda: time.sleep(next(waits))}, rounds=12, warmup=0)
    assert not result.is_steady
    assert "over the limit of 5%" in str(result)


def test_a_steady_ratio_prints_as_a_number() -> None:
    result = Comparison(name="x", seconds=1.04, baseline_seconds=1, ratio=1.04, spread=0.01)
    assert result.is_steady
    assert str(result) == "1.040"


def test_too_few_rounds_or_calls_are_refused() -> None:
    with pytest.raises(CodednetError, match="at least 4 rounds for its quartiles, got 3"):
        compare(lambda: None, {"b": lambda: None}, rounds=3)
    with pytest.raises(CodednetError, match="at least one call next to the baseline"):
        compare(lambda: None, {})


def test_one_call_in_twenty_takes_longer_than_p95() -> None:
    waits = iter([0.0] * 2 + [0.002, 0.002, 0.002, 0.03] * 10)
    result = measure_latency(lambda: time.sleep(next(waits)), rounds=40, warmup=2)
    assert 0.002 <= result.seconds < 0.03 <= result.p95
    with pytest.raises(CodednetError, match="at least 20 rounds, got 19"):
        measure_latency(lambda: None, rounds=19)
