"""Permutation groups on the branches: good codes are unions of few orbits of such groups."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from codednet.codes.fields import field, prime_power

Permutations = NDArray[np.integer]  # (elements, branches): element g sends branch i to [g, i]

_LARGEST = 16_384  # elements of a group that is worth writing out
_ENTRIES = 1 << 21  # elements times branches of such a group


@dataclass(frozen=True)
class Group:
    """All elements of a permutation group, and subgroups that move every branch and load blocks of branches alike."""

    name: str
    elements: Permutations
    free: tuple[Permutations, ...]  # semiregular subgroups, largest first, the trivial one last
    transitive: bool

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.elements)


def groups(branches: int) -> list[Group]:
    """The families tried on that many branches: affine over fields on equal blocks, cyclic, and projective."""
    found: dict[bytes, Group] = {}
    mixed = np.random.default_rng(0).integers(1 << 40, size=branches)
    for family in (_cyclic, _affine, _projective):
        for group in family(branches):
            elements = group.elements.astype(np.int16)
            name = np.sort(elements @ mixed)  # the same for the same set of permutations
            found.setdefault(name.tobytes(), replace(group, elements=elements))
    return list(found.values())


def _compose(outer: Permutations, inner: Permutations) -> Permutations:
    """Every outer element after every inner one."""
    return outer[:, inner].reshape(-1, inner.shape[1])


def _largest(branches: int) -> int:
    return min(_LARGEST, _ENTRIES // branches)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _cyclic(n: int) -> Iterator[Group]:
    """X -> a x + b modulo n, a in a cyclic group of units."""
    columns = np.arange(n)
    shifts = {d: (columns[None] + (n // d) * np.arange(d)[:, None]) % n for d in _divisors(n)}
    free = tuple(shifts[d] for d in sorted(shifts, reverse=True))
    seen: set[frozenset[int]] = set()
    for unit in range(1, n):
        if np.gcd(unit, n) != 1:
            continue
        units = [1]
        while (following := units[-1] * unit % n) != 1:
            units.append(following)
        if frozenset(units) in seen or n * len(units) > _largest(n):
            continue
        seen.add(frozenset(units))
        scaled = columns[None] * np.array(units)[:, None] % n
        yield Group(f"Z{n}:{len(units)}", _compose(shifts[n], scaled), free, True)


def _affine(n: int) -> Iterator[Group]:
    """X -> a x^(p^f) + b over the field of q elements, acting alike on n / q blocks, which may be shifted too."""
    for q in _divisors(n):
        shape = prime_power(q)
        if shape is None or q < 3:
            continue
        p, k = shape
        f = field(q)
        chain = [f.add[np.arange(p**j)] for j in range(k, -1, -1)]  # translations by subspaces, largest first
        frobenius = _frobenius(q, p)
        for shift in {1, n // q}:
            for t in _divisors(q - 1):
                scale = f.mul[f.powers[:: (q - 1) // t]]
                for power in sorted({1, k}):
                    if q * t * power * shift > _largest(n):
                        continue
                    inner = _compose(scale, frobenius[:power] if power > 1 else frobenius[:1])
                    local = _compose(chain[0], inner)
                    elements = _on_blocks(local, n, q, shift)
                    free = [_on_blocks(sub, n, q, s) for sub in chain for s in {1, shift}]
                    free.sort(key=len, reverse=True)
                    name = f"F{q}:{t}" + (f".{power}" if power > 1 else "") + f" on {n // q}" + ("~" * (shift > 1))
                    yield Group(name, elements, tuple(free), shift == n // q)


def _frobenius(q: int, p: int) -> Permutations:
    f = field(q)
    powers = [np.arange(q)]
    while True:
        following = powers[-1].copy()
        base = following
        for _ in range(p - 1):
            following = f.mul[following, base]
        if np.array_equal(following, powers[0]):
            return np.array(powers)
        powers.append(following)


def _on_blocks(local: Permutations, n: int, q: int, shift: int) -> Permutations:
    """Permutations of q points acting alike on every block of n branches, with `shift` cyclic shifts of the blocks."""
    blocks = n // q
    block, point = np.arange(n) // q, np.arange(n) % q
    moved = (block[None] + (blocks // shift) * np.arange(shift)[:, None]) % blocks
    return (moved[:, None] * q + local[None][:, :, point]).reshape(-1, n)


def _projective(n: int) -> Iterator[Group]:
    """PSL(2, q) on the projective line of q + 1 = n points; infinity is the last branch."""
    q = n - 1
    if q < 3 or prime_power(q) is None or q * (q * q - 1) > 2 * _largest(n):
        return
    f = field(q)
    squares = np.unique(f.mul[np.arange(1, q), np.arange(1, q)])
    inverse = np.zeros(q, dtype=np.int64)
    inverse[f.powers] = np.roll(f.powers[::-1], 1)
    finite = [(u, v) for v in squares for u in range(q)]
    keep = np.array([[*f.add[u, f.mul[v]], q] for u, v in finite])  # x -> v x + u
    minus = f.mul[np.flatnonzero(f.add[1] == 0)[0]]
    flips = []
    for u, v in finite:  # x -> u - v / (x + s)
        image = np.append(f.add[u, f.mul[minus[v], inverse]], u)
        image[0] = q
        flips.append(image)
    shift = np.array([[*f.add[s], q] for s in range(q)])
    elements = np.concatenate([keep, np.array(flips)[:, shift].reshape(-1, n)])
    yield Group(f"PSL(2,{q})", elements, _free_cycles(elements), True)


def _free_cycles(elements: Permutations) -> tuple[Permutations, ...]:
    """The powers of an element whose cycles are all of one length, as long as possible, and their subgroups."""
    best = np.arange(elements.shape[1])[None]
    for element in elements[:: max(1, len(elements) // 512)]:
        powers = [np.arange(len(element))]
        while not np.array_equal(following := element[powers[-1]], powers[0]):
            powers.append(following)
        free = all((power != powers[0]).all() for power in powers[1:])
        if free and len(powers) > len(best):
            best = np.array(powers)
    return tuple(best[:: len(best) // d] for d in sorted(_divisors(len(best)), reverse=True))
