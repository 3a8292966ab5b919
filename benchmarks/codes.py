"""The table of designed codes: what `design_code` reaches beside the proven bound and the paper's algorithm 1.

    uv run python benchmarks/codes.py [--seeds 0 1 2] [--rows 6] [--paper-seconds 10]

Run by hand on an idle machine; times are wall-clock seconds on one core. Columns: distance and load spread reached for
each seed, the largest distance that the Johnson bound leaves possible, and the distance that algorithm 1 of the paper
(as printed: all words of the weight in sorted order, greedily kept, then subsets tried) reaches in its time, in sorted
and in random order. A dash means that it found no code within the time or cannot list the words at all.
"""

import argparse
import os
import sys
import time
from itertools import islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "codes"))

import numpy as np
from rich.console import Console
from rich.table import Table
from table import REACHED

from codednet.codes import bits, delsarte_bound, design_code, distance_bound


def algorithm_1(classes, branches, active, distance, seconds, rng=None):
    """Algorithm 1 as printed, for one distance: a code of the right size within the time, or None.

    Words are visited in the order of the integers they spell, or at random; of the kept ones, subsets are drawn and
    the one with the evenest columns is taken.
    """
    started = time.monotonic()
    if rng is None:
        visits = ascending_words(branches, active)
    else:
        visits = iter(lambda: tuple(rng.permutation(branches)[:active]), None)
    kept = np.zeros((0, -(-branches // 64)), dtype=np.uint64)
    while time.monotonic() - started < seconds:
        batch = list(islice(visits, 256))
        if not batch:
            break
        words = np.zeros((len(batch), branches), dtype=np.uint8)
        np.put_along_axis(words, np.array(batch), 1, axis=1)
        for word in bits.pack(words):
            if not len(kept) or bits.distance(kept, word).min() >= distance:
                kept = np.concatenate([kept, word[None]])
    if len(kept) < classes:
        return None
    table, best, best_spread = bits.unpack(kept, branches), None, np.inf
    draw = rng or np.random.default_rng(0)
    while (best_spread > 0 and time.monotonic() - started < seconds) or best is None:
        chosen = table[draw.permutation(len(table))[:classes]]
        spread = int(np.ptp(chosen.sum(axis=0, dtype=int)))
        if spread < best_spread:
            best, best_spread = chosen, spread
    return best_spread


def ascending_words(branches, active):
    """Supports of all words, in ascending order of the integers that they spell."""
    word = (1 << active) - 1
    while word < 1 << branches:
        yield tuple(i for i in range(branches) if word >> i & 1)
        lowest = word & -word  # the next larger integer with as many ones
        ripple = word + lowest
        word = ripple | ((word ^ ripple) >> 2) // lowest


def paper(classes, branches, active, seconds, rng=None):
    """The largest distance at which algorithm 1 finds a code, and its spread, as text."""
    found = "-"
    for distance in range(2, distance_bound(classes, branches, active) + 1, 2):
        spread = algorithm_1(classes, branches, active, distance, seconds, rng)
        if spread is None:
            break
        found = f"{distance}, {spread}"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=len(REACHED))
    parser.add_argument("--paper-seconds", type=float, default=10.0, help="for each distance and order")
    options = parser.parse_args()
    table = Table(title="distance, load spread")
    for column in ("K, N, w", "to reach", *(f"seed {s}" for s in options.seeds), "bound", "LP hint", "seconds"):
        table.add_column(column, justify="right")
    table.add_column("paper, sorted", justify="right")
    table.add_column("paper, random", justify="right")
    total = 0.0
    for classes, branches, active, distance, spread in REACHED[: options.rows]:
        cells, times = [], []
        for seed in options.seeds:
            started = time.perf_counter()
            code = design_code(classes, branches, active, seed=seed)
            times.append(time.perf_counter() - started)
            met = code.min_distance >= distance and code.spread <= spread
            cells.append(f"{code.min_distance}, {code.spread}" + ("" if met else " MISSED"))
        total += sum(times) / len(times)
        bound = distance_bound(classes, branches, active)
        hint = bound
        while hint > 2 and delsarte_bound(branches, hint, active) < classes - 1e-6:
            hint -= 2
        table.add_row(
            f"{classes}, {branches}, {active}",
            f"{distance}, {spread}",
            *cells,
            str(bound),
            str(hint) if hint < bound else "",
            f"{min(times):.1f} to {max(times):.1f}",
            paper(classes, branches, active, options.paper_seconds),
            paper(classes, branches, active, options.paper_seconds, np.random.default_rng(0)),
        )
        print(f"{classes}, {branches}, {active}: {cells} {max(times):.1f} s", file=sys.stderr, flush=True)
    Console(width=140).print(table)
    print(f"one seed of all rows: {total:.0f} s")


if __name__ == "__main__":
    main()
