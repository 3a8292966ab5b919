"""An exit rule's accuracy, risk and cost, from its readouts applied by hand and images followed one by one."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import binom

from codednet.decoding import THRESHOLDS
from codednet.experiments import Subject, find
from codednet.measure import multiply_adds

EXITS = find("exits")
RISK, DELTA = 0.1, 0.5


@pytest.fixture(scope="module")
def found(hard):
    return EXITS.measure(hard, EXITS.options(risk=RISK, delta=DELTA, rounds=0))


class Followed:
    """Images of a split, each followed to where it leaves by the readouts that are kept: a softmax of amplitudes."""

    @torch.no_grad()
    def __init__(self, hard: Subject, split: str, decoder) -> None:
        batches = list(hard.loader(split))
        self.image = batches[0].images[:1]
        self.labels = torch.cat([one.labels for one in batches]).numpy()
        logits, energies = hard.model.trace(torch.cat([one.images for one in batches]))
        self.whole = logits.argmax(1).numpy()
        seen, looks = [], []
        for block, readout in zip(decoder["blocks"], decoder["readouts"], strict=True):
            seen.append(np.sqrt(energies[block].double().numpy()))
            looks.append(softmax(np.concatenate(seen, 1) @ np.array(readout["weight"]).T + readout["bias"], axis=1))
        self.posteriors = np.stack(looks)

    def leave(self, threshold: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Look at which each image leaves, and whether what is said of it is right."""
        exits, said = [], []
        for image, whole in enumerate(self.whole):
            sure = [] if threshold is None else np.flatnonzero(self.posteriors[:, image].max(1) >= threshold)
            exits.append(int(sure[0]) if len(sure) else len(self.posteriors))
            said.append(int(self.posteriors[sure[0], image].argmax()) if len(sure) else whole)
        return np.array(exits), np.array(said) == self.labels

    def is_plain(self, threshold: float | None) -> bool:
        """Whether rounding decides on no image."""
        return threshold is None or np.abs(self.posteriors.max(2) - threshold).min() > 1e-6


@torch.no_grad()
def exit_costs(model, image, blocks: list[int]) -> tuple[np.ndarray, float]:
    """Multiply-adds of leaving at each look, and last of going through; and of the network without any look."""

    def until(last: str) -> None:
        next(step for step in model.walk(image) if step.energies is not None and step.name == last)

    model(image)
    full = multiply_adds(lambda: model(image))
    before = [multiply_adds(lambda block=block: until(model.coded_blocks[block])) for block in blocks] + [full]
    # A look reads the amplitudes of ten branches of each block so far, for ten classes; going through takes no other.
    looking = np.cumsum([*(100 * (look + 1) for look in range(len(blocks))), 0])
    return np.array(before, dtype=float) + looking, float(full)


def test_exits_have_the_accuracy_risk_and_cost_of_images_followed_one_by_one(found, hard):
    decoder = found.rule["decoder"]
    test = Followed(hard, "test", decoder)
    full_right = test.whole == test.labels
    costs, full = exit_costs(hard.model, test.image, decoder["blocks"])
    points = [one for one in (found.chosen, *found.curve) if test.is_plain(one.threshold)]
    assert len(points) > 0.8 * len(found.curve)
    assert any(0 < point.shares[0] < 1 and point.risk > 0 for point in points)
    for point in points:
        exits, right = test.leave(point.threshold)
        shares = np.bincount(exits, minlength=len(costs)) / len(exits)
        spent = full if point.threshold is None else float(shares @ costs)
        assert point.accuracy == pytest.approx(right.mean(), abs=1e-12)
        assert point.risk == pytest.approx((full_right & ~right).mean(), abs=1e-12)
        assert point.shares == pytest.approx(tuple(shares), abs=1e-12)
        assert (point.multiply_adds, point.cost) == pytest.approx((spent, spent / full), rel=1e-9)
    assert found.multiply_adds == full
    assert found.chosen.threshold == found.choice.threshold
    exits, right = test.leave(found.choice.threshold)
    for look, (one, cost) in enumerate(zip((*found.looks, found.through), costs, strict=True)):
        here = exits == look
        assert (one.images, one.share, one.cost) == pytest.approx((here.sum(), here.mean(), cost / full))
        if here.any():
            assert (one.accuracy, one.full_accuracy) == pytest.approx((right[here].mean(), full_right[here].mean()))
    assert [one.block for one in found.looks] == [hard.model.coded_blocks[block] for block in decoder["blocks"]]


def test_the_threshold_is_the_loosest_before_the_risk_images_first_break_the_promise(found, hard):
    risk, choice, tested = Followed(hard, "tune-risk", found.rule["decoder"]), found.choice, list(THRESHOLDS)

    def bad(threshold: float) -> int:
        return int(((risk.whole == risk.labels) & ~risk.leave(threshold)[1]).sum())

    def passes(threshold: float) -> bool:
        return binom.cdf(bad(threshold), len(risk.labels), RISK) <= DELTA

    assert (choice.images, choice.epsilon, choice.delta) == (len(risk.labels), RISK, DELTA)
    assert (choice.bad, choice.p_value) == (bad(choice.threshold), binom.cdf(choice.bad, choice.images, RISK))
    place = tested.index(choice.threshold)
    assert all(passes(threshold) for threshold in tested[: place + 1])
    assert not any(passes(threshold) for threshold in tested[place + 1 : place + 2])
    assert choice.tested == min(place + 2, len(tested))
