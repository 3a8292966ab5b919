"""Heavy independent sets of a conflict graph, by tabu search."""

import numpy as np
from numpy.typing import NDArray

from codednet.codes.budget import Budget


def heavy_independent_set(
    clash: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    target: int,
    steps: int,
    rng: np.random.Generator,
    budget: Budget,
) -> NDArray[np.int64]:
    """Vertices without an edge between them, of total size `target` or as much as the steps found."""
    count = len(sizes)
    inside = np.zeros(count, dtype=bool)
    pressure = np.zeros(count, dtype=np.int64)  # size of the chosen vertices that a vertex would push out
    free_again = np.zeros(count, dtype=np.int64)
    weighted = clash.astype(np.int64) * sizes[:, None]
    jitter = rng.random(count) * 0.5
    total = best_total = 0
    best = inside.copy()
    for step in range(steps):
        if total >= target or (step % 64 == 0 and budget.spent):
            break
        gain = sizes - pressure + jitter
        gain[inside | (free_again > step)] = -np.inf
        if total + sizes.max() > best_total:  # a tabu vertex may come back when it makes a new best
            hopeful = ~inside & (total + sizes - pressure > best_total)
            gain[hopeful] = (sizes - pressure + jitter)[hopeful]
        vertex = int(gain.argmax())
        if gain[vertex] == -np.inf:
            continue
        out = np.flatnonzero(inside & clash[vertex])
        pressure += weighted[vertex]
        inside[vertex] = True
        if len(out):
            pressure -= weighted[out].sum(axis=0)
            inside[out] = False
            free_again[out] = step + 3 + rng.integers(1, 8 + len(out), size=len(out))
        total += int(sizes[vertex] - sizes[out].sum())
        jitter[vertex] = rng.random() * 0.5
        if total > best_total:
            best_total, best = total, inside.copy()
    return np.flatnonzero(best if best_total > total else inside)
