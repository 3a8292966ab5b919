"""An exit rule's accuracy, risk and cost, from its readouts applied by hand and images followed one by one."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import binom

from codednet.decoding import THRESHOLDS
from codednet.measure import multiply_adds


@pytest.fixture(scope="module")
def traced(subject):
    """Images, labels, logits and energies of each split, in one plain pass."""
    found = {}
    for split in ("tune-risk", "test"):
        batches = list(subject.loader(split))
        images, labels = (torch.cat([getattr(one, name) for one in batches]) for name in ("images", "labels"))
        with torch.no_grad():
            found[split] = (images, labels, *subject.model.trace(images))
    return found


def read(decoder, energies) -> np.ndarray:
    """Posteriors (looks, images, classes) of a decoder's document: a softmax of all amplitudes so far."""
    seen, found = [], []
    for block, readout in zip(decoder["blocks"], decoder["readouts"], strict=True):
        seen.append(np.sqrt(energies[block].double().numpy()))
        scores = np.concatenate(seen, axis=1) @ np.array(readout["weight"]).T + np.array(readout["bias"])
        found.append(softmax(scores, axis=1))
    return np.stack(found)


def leave(posteriors: np.ndarray, logits, threshold: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Look at which each image leaves, and what is said of it."""
    exits, said = [], []
    for image, whole in enumerate(logits.argmax(1).tolist()):
        sure = [] if threshold is None else np.flatnonzero(posteriors[:, image].max(1) >= threshold)
        exits.append(int(sure[0]) if len(sure) else len(posteriors))
        said.append(int(posteriors[sure[0], image].argmax()) if len(sure) else whole)
    return np.array(exits), np.array(said)


def assert_curve(points, posteriors: np.ndarray, labels, logits, costs: list[float], full: float) -> None:
    confidence, full_right = posteriors.max(2), (logits.argmax(1) == labels).numpy()
    judged = [one for one in points if one.threshold is None or np.abs(confidence - one.threshold).min() > 1e-6]
    assert len(judged) > 0.8 * len(points)  # at the others rounding decides
    for point in judged:
        exits, said = leave(posteriors, logits, point.threshold)
        right = said == labels.numpy()
        assert point.accuracy == pytest.approx(right.mean(), abs=1e-12)
        assert point.risk == pytest.approx((full_right & ~right).mean(), abs=1e-12)
        shares = np.bincount(exits, minlength=len(costs)) / len(exits)
        assert point.shares == pytest.approx(tuple(shares), abs=1e-12)
        spent = full if point.threshold is None else float(shares @ costs)
        assert (point.multiply_adds, point.cost) == pytest.approx((spent, spent / full), rel=1e-9)


@torch.no_grad()
def spent_until(model, image, last: str) -> int:
    """Multiply-adds until the energies of a block are known."""

    def run() -> None:
        for step in model.walk(image):
            if step.energies is not None and step.name == last:
                return

    return multiply_adds(run)


@torch.no_grad()
def exit_costs(model, image, blocks: list[int]) -> tuple[list[float], float]:
    """Of leaving at each look, and last of going through; and of the network without any look."""
    model(image)
    full = multiply_adds(lambda: model(image))
    # A look reads the amplitudes of ten branches of each block so far, for ten classes.
    looking = np.cumsum([100 * (look + 1) for look in range(len(blocks))]).tolist()
    until = [spent_until(model, image, model.coded_blocks[block]) for block in blocks]
    return [float(a + b) for a, b in zip(until, looking, strict=True)] + [float(full + looking[-1])], float(full)


def test_exits_have_the_accuracy_risk_and_cost_of_images_followed_one_by_one(record, subject, traced):
    found = record("exits")
    images, labels, logits, energies = traced["test"]
    decoder, choice = found.rule["decoder"], found.choice
    posteriors = read(decoder, energies)
    costs, full = exit_costs(subject.model, images[:1], decoder["blocks"])
    assert found.multiply_adds == full
    assert_curve((found.chosen, *found.curve), posteriors, labels, logits, costs, full)
    assert found.chosen.threshold == choice.threshold
    exits, said = leave(posteriors, logits, choice.threshold)
    for look, (one, cost) in enumerate(zip((*found.looks, found.through), costs, strict=True)):
        here = exits == look
        assert (one.images, one.cost) == (here.sum(), pytest.approx(cost / full))
        assert one.share == pytest.approx(here.mean(), abs=1e-12)
        if here.any():
            assert one.accuracy == pytest.approx((said == labels.numpy())[here].mean(), abs=1e-12)
            assert one.full_accuracy == pytest.approx((logits.argmax(1) == labels).numpy()[here].mean(), abs=1e-12)
    assert [one.block for one in found.looks] == [subject.model.coded_blocks[block] for block in decoder["blocks"]]


def test_the_threshold_is_the_loosest_before_the_risk_images_first_break_the_promise(record, traced):
    found = record("exits")
    _, labels, logits, energies = traced["tune-risk"]
    posteriors, right = read(found.rule["decoder"], energies), (logits.argmax(1) == labels).numpy()

    def bad(threshold: float) -> int:
        return int((right & (leave(posteriors, logits, threshold)[1] != labels.numpy())).sum())

    def passes(threshold: float) -> bool:
        return binom.cdf(bad(threshold), len(labels), 0.3) <= 0.5

    choice, tested = found.choice, list(THRESHOLDS)
    assert choice.threshold is not None
    assert (choice.images, choice.epsilon, choice.delta) == (len(labels), 0.3, 0.5)
    assert (choice.bad, choice.p_value) == (bad(choice.threshold), binom.cdf(choice.bad, len(labels), 0.3))
    place = tested.index(choice.threshold)
    assert all(passes(threshold) for threshold in tested[: place + 1])
    assert place + 1 == len(tested) or not passes(tested[place + 1])
    assert choice.tested == min(place + 2, len(tested))
