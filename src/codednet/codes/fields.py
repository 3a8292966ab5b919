"""Finite fields of prime-power size: elements 0..q-1, addition and multiplication as tables."""

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]


class Field(NamedTuple):
    """Addition table, multiplication table, a generator's powers, and the characteristic."""

    add: Table
    mul: Table
    powers: Table  # powers[j] is the j-th power of a generator of the q - 1 nonzero elements
    characteristic: int


def prime_power(q: int) -> tuple[int, int] | None:
    """(p, k) with q = p^k and p prime, or None.

    >>> prime_power(32), prime_power(12)
    ((2, 5), None)
    """
    p = next((c for c in range(2, int(q**0.5) + 1) if q % c == 0), q)
    k, rest = 0, q
    while p > 1 and rest % p == 0:
        rest, k = rest // p, k + 1
    return (p, k) if rest == 1 and k else None


@lru_cache(maxsize=64)
def field(q: int) -> Field:
    """The field of q elements; an element's base-p digits are its coefficients, lowest first."""
    shape = prime_power(q)
    assert shape is not None
    p, k = shape
    digits = np.stack([np.arange(q) // p**j % p for j in range(k)], axis=1)
    weights = p ** np.arange(k)
    add = ((digits[:, None] + digits[None]) % p) @ weights
    if k == 1:
        powers = _powers_of_prime_field(p)
    else:
        powers = next(found for tail in product(range(p), repeat=k) if (found := _powers_of_x(tail, p, k)) is not None)
    log = np.zeros(q, dtype=np.int64)
    log[powers] = np.arange(q - 1)
    mul = powers[(log[:, None] + log[None]) % (q - 1)]
    mul[0, :] = mul[:, 0] = 0
    return Field(add, mul, powers, p)


def _powers_of_prime_field(p: int) -> Table:
    for generator in range(1, p):
        powers = np.array([pow(generator, j, p) for j in range(p - 1)], dtype=np.int64)
        if len(set(powers.tolist())) == p - 1:
            return powers
    raise AssertionError(f"{p} is no prime")


def _powers_of_x(tail: tuple[int, ...], p: int, k: int) -> Table | None:
    """Powers of x modulo x^k = tail, or None unless they run through every nonzero element."""
    element = (1, *(0,) * (k - 1))
    powers: list[int] = []
    for _ in range(p**k - 1):
        value = sum(c * p**j for j, c in enumerate(element))
        if value == 0 or (value == 1 and powers):
            return None
        powers.append(value)
        top = element[-1]
        element = tuple((low + top * t) % p for low, t in zip((0, *element[:-1]), tail, strict=True))
    return np.array(powers, dtype=np.int64) if sum(c * p**j for j, c in enumerate(element)) == 1 else None
