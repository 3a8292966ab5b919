"""One readout of classes from branch amplitudes: softmax regression that leans on the words of the code."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from codednet.errors import CodednetError

Array = NDArray[np.float64]
# Penalties of a class's own weights, as a number of images; which one is chosen by cross-validation.
PENALTIES = (60.0, 20.0, 6.0, 2.0)
FOLDS = 5
# Largest entry of the gradient at the end. What is only compared, fitted again and again, may end sooner.
CONVERGED, COMPARED = 1e-6, 1e-4


class Readout(NamedTuple):
    """Scores of classes, `amplitudes @ weight.T + bias`; their softmax is the posterior."""

    weight: Array
    """(classes, columns)."""
    bias: Array
    """(classes,)."""

    def log_posterior(self, amplitudes: Array) -> Array:
        """Log-probability of every class."""
        return np.asarray(log_softmax(amplitudes @ self.weight.T + self.bias, axis=1))


class _Solution(NamedTuple):
    """A readout, and the point at which its problem was solved: where the search of a problem like it may begin."""

    readout: Readout
    point: Array


def fit_readout(
    amplitudes: Array,
    words: Array,
    blocks: NDArray[np.int64],
    targets: Array,
    penalty: float,
    tolerance: float = CONVERGED,
) -> Readout:
    """The readout of largest penalised likelihood.

    A weight is (strength of the block) times (word's entry), plus one of its own whose square costs: with few images
    the code alone is left, with many every branch counts for every class as much as it tells. `words` is (classes,
    columns), `blocks` names the block of each column, and `targets` has a probability of every class for each image.
    The problem is convex, and solved until no entry of the gradient is above `tolerance`.
    """
    return _solve(amplitudes, words, blocks, targets, penalty, tolerance).readout


def _solve(
    amplitudes: Array,
    words: Array,
    blocks: NDArray[np.int64],
    targets: Array,
    penalty: float,
    tolerance: float,
    start: Array | None = None,
) -> _Solution:
    images, columns = amplitudes.shape
    classes = len(words)
    mean, spread = amplitudes.mean(0), amplitudes.std(0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    x = (amplitudes - mean) / spread
    strengths = int(blocks.max()) + 1
    owner = np.eye(strengths)[blocks]  # columns x strengths
    # Strengths are all but free; without any cost, perfectly separated images would drive them without end.
    cost = np.concatenate([np.full(strengths, 1e-3), np.full(classes * (columns + 1), penalty)]) / images

    def weights(p: Array) -> tuple[Array, Array]:
        own = p[strengths : strengths + classes * columns].reshape(classes, columns)
        return words * (owner @ p[:strengths]) + own, p[strengths + classes * columns :]

    def loss(p: Array) -> tuple[float, Array]:
        weight, bias = weights(p)
        scores = x @ weight.T + bias
        scores -= scores.max(axis=1, keepdims=True)
        likely = np.exp(scores)
        sums = likely.sum(axis=1, keepdims=True)
        # Targets sum to 1, so the logarithm of each sum counts once.
        value = (np.log(sums).sum() - np.vdot(targets, scores)) / images + (cost * p**2).sum() / 2
        likely /= sums
        likely -= targets
        likely /= images
        slope = likely.T @ x
        gradient = np.concatenate([owner.T @ (slope * words).sum(0), slope.ravel(), likely.sum(0)])
        return float(value), gradient + cost * p

    if start is None:
        start = np.concatenate([np.ones(strengths), np.zeros(classes * (columns + 1))])
    solved = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10000, "gtol": tolerance, "ftol": 1e-14},
    )
    weight, bias = weights(solved.x)
    return _Solution(Readout(weight / spread, bias - (weight / spread) @ mean), solved.x)


def targets_of(labels: NDArray[np.int64], answers: Array | None, classes: int) -> Array:
    """Probabilities to fit a readout to: the labels, or the mean of these and of the network's own answers.

    The network has seen the image to its end, and of few images its doubts say more than their labels.
    """
    hard = np.eye(classes)[labels]
    return hard if answers is None else (hard + answers) / 2


def folds_of(labels: NDArray[np.int64], folds: int = FOLDS) -> NDArray[np.int64]:
    """Number of the fold of each image; every class is spread evenly."""
    places = np.empty(len(labels), np.int64)
    places[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % folds
    return places


class Crossed(NamedTuple):
    """What is said of every image by a readout that was fitted without it."""

    log_posteriors: Array
    """(images, classes)."""
    points: tuple[Array, ...]
    """Of each fold, where its problem was solved."""


def crossed(
    amplitudes: Array,
    words: Array,
    blocks: NDArray[np.int64],
    labels: NDArray[np.int64],
    targets: Array,
    penalty: float,
    starts: Sequence[Array] | None = None,
) -> Crossed:
    """Cross-validation; every fold has images of every label.

    `starts` are the points of another penalty: of the same folds, so that nothing is learnt of the images left out.
    """
    fold = folds_of(labels)
    found = np.empty((len(labels), len(words)))
    points = []
    for number in range(fold.max() + 1):
        out = fold == number
        start = None if starts is None else starts[number]
        readout, point = _solve(amplitudes[~out], words, blocks, targets[~out], penalty, COMPARED, start)
        found[out] = readout.log_posterior(amplitudes[out])
        points.append(point)
    return Crossed(found, tuple(points))


def choose_penalty(
    amplitudes: Array, words: Array, blocks: NDArray[np.int64], labels: NDArray[np.int64], targets: Array
) -> float:
    """The penalty under which the labels of images left out are likeliest."""
    rows, best, chosen, starts = np.arange(len(labels)), np.inf, PENALTIES[0], None
    for penalty in PENALTIES:
        found, starts = crossed(amplitudes, words, blocks, labels, targets, penalty, starts)
        loss = -found[rows, labels].mean()
        if loss > best:  # from the strictest on, it falls and then rises; the looser, the longer a fit takes
            break
        best, chosen = loss, penalty
    return chosen


def check_fittable(labels: NDArray[np.int64], classes: int) -> None:
    """Refuse to fit what has fewer than two images of some class."""
    counts = np.bincount(labels, minlength=classes)
    if counts.min() < 2:
        raise CodednetError(
            f"the joint decoder needs 2 images or more of every class to be fitted on; class {int(counts.argmin())} "
            f"has {int(counts.min())}. Keep more images for tuning with tune or tune_per_class."
        )
