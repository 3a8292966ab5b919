"""Words as text: one word of 0s and 1s a line, `spare` behind a word kept for later, `#` before a remark."""

import numpy as np
from numpy.typing import NDArray

from codednet.errors import CodednetError

_MARK = "spare"


def format_words(words: NDArray[np.uint8], spare: NDArray[np.uint8]) -> str:
    """The text of a code, ending in a newline."""
    lines = ["".join(map(str, word)) for word in words.tolist()]
    lines += ["".join(map(str, word)) + f" {_MARK}" for word in spare.tolist()]
    return "\n".join(lines) + "\n"


def parse_words(text: str, name: str) -> tuple[list[list[int]], list[list[int]]]:
    """Words and spare words of a text; refusals name the line and column, both counted from 1."""
    words: list[list[int]] = []
    spare: list[list[int]] = []
    seen: dict[str, int] = {}
    first = 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.split("#", 1)[0].rstrip()
        digits, _, mark = line.strip().partition(" ")
        if not digits:
            continue
        indent = len(line) - len(line.lstrip())
        for column, character in enumerate(digits, start=indent + 1):
            if character not in "01":
                raise CodednetError(f"{name}, line {number}, column {column}: {character!r} is neither 0 nor 1.")
        if mark.strip() not in ("", _MARK):
            column = line.index(mark.strip()) + 1
            raise CodednetError(
                f"{name}, line {number}, column {column}: only '{_MARK}' may follow a word, got {mark.strip()!r}."
            )
        first = first or number
        _check_line(digits, seen, (name, number, indent), first)
        seen[digits] = number
        (spare if mark else words).append([int(d) for d in digits])
    if not words:
        raise CodednetError(f"{name}: no word found; write one word of 0s and 1s a line.")
    return words, spare


def _check_line(digits: str, seen: dict[str, int], place: tuple[str, int, int], first: int) -> None:
    name, number, indent = place
    if digits in seen:
        raise CodednetError(f"{name}, line {number}, column {indent + 1}: the word of line {seen[digits]} again.")
    model = next(iter(seen), digits)
    if len(digits) != len(model):
        column = indent + min(len(digits), len(model)) + 1
        raise CodednetError(
            f"{name}, line {number}, column {column}: a word of length {len(digits)}; line {first} has {len(model)}."
        )
    ones, wanted = digits.count("1"), model.count("1")
    if ones != wanted or ones == 0:
        raise CodednetError(
            f"{name}, line {number}, column {indent + 1}: a word with {ones} ones"
            + (f"; line {first} has {wanted}." if ones else ": a class needs at least one active branch.")
        )
