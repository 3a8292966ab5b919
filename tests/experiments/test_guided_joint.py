"""The joint decoder by depth, and guided inference, from traces and branches masked image by image."""

import numpy as np
import pytest
import torch

from codednet.decoding import fit_joint
from codednet.experiments import find
from codednet.measure import multiply_adds

GUIDED, JOINT = find("guided"), find("joint")


@pytest.fixture(scope="module")
def traced(hard):
    """Images, labels, logits and energies of the images to fit on and of those to test on."""
    found = {}
    for split in ("tune-fit", "test"):
        batches = list(hard.loader(split))
        images, labels = (torch.cat([getattr(one, name) for one in batches]) for name in ("images", "labels"))
        with torch.no_grad():
            found[split] = (images, labels, *hard.model.trace(images))
    return found


def test_the_joint_decoder_is_compared_at_each_depth_with_the_best_single_one_so_far(hard, traced):
    found, model = JOINT.measure(hard, JOINT.options()), hard.model
    (_, fit_labels, fit_logits, fit_energies), (_, labels, logits, energies) = traced["tune-fit"], traced["test"]
    posteriors = fit_joint(fit_energies, model.codes, fit_labels, logits=fit_logits).log_posteriors(energies)
    joint = (posteriors.argmax(2) == labels).numpy()
    nearest = [
        torch.cdist(rows.double(), torch.tensor(code.words).double()).argmin(1)
        for rows, code in zip(energies, model.codes, strict=True)
    ]
    single = np.stack([(one == labels).numpy() for one in nearest])
    assert (found.fitted_on, found.fit_images, found.images) == ("tune-fit", len(fit_labels), 160)
    assert [one.block for one in found.depths] == model.coded_blocks
    draw = np.random.default_rng(4)
    for depth, one in enumerate(found.depths):
        best = int(single[: depth + 1].mean(1).argmax())
        assert one.joint == pytest.approx(joint[depth].mean(), abs=1e-12)
        assert one.single == pytest.approx(single[depth].mean(), abs=1e-12)
        assert (one.best_block, one.best_single) == (model.coded_blocks[best], pytest.approx(single[best].mean()))
        gains = joint[depth].astype(int) - single[best]
        drawn = gains[draw.integers(0, 160, (10_000, 160))].mean(1)
        assert one.difference.mean == pytest.approx(gains.mean(), abs=1e-12)
        ends = tuple(np.quantile(drawn, [0.025, 0.975]))
        assert (one.difference.low, one.difference.high) == pytest.approx(ends, abs=1 / 160 + 1e-9)
    assert found.accuracy == pytest.approx(float((logits.argmax(1) == labels).double().mean()), abs=1e-12)


def candidates(posterior: np.ndarray, mass: float) -> list[int]:
    """The likeliest classes until they hold the mass; all of them for a mass of one."""
    order = np.argsort(-posterior, kind="stable").tolist()
    held, chosen = 0.0, []
    for label in order:
        if chosen and held >= mass and mass < 1:
            break
        chosen.append(label)
        held += float(posterior[label])
    return chosen


@torch.no_grad()
def stage_cost(model, image, kept: dict[str, np.ndarray]) -> np.ndarray:
    """Multiply-adds of each image that branches of the last stage cost: their weights, and their energies."""
    total = np.zeros(len(next(iter(kept.values()))))
    for step in model.walk(image):
        if step.name in kept:
            block, before, after = step.block, step.input[0, 0].numel(), step.hidden[0, 0].numel()
            weights = before * block.conv1.weight.numel()
            weights += after * (block.conv2.weight.numel() + block.conv3.weight.numel())
            branch = weights / block.config.num_branches + after * block.config.width**2
            total += branch * kept[step.name]
    return total


def test_guided_inference_is_a_pass_masked_to_the_union_of_its_candidates_words(hard, traced):
    found, model = GUIDED.measure(hard, GUIDED.options()), hard.model
    (_, fit_labels, fit_logits, fit_energies), (images, labels, logits, energies) = traced["tune-fit"], traced["test"]
    assert (found.read, found.stage) == (("layer2.0", "layer2.1"), ("layer3.0", "layer3.1"))
    decoder = fit_joint(fit_energies, model.codes, fit_labels, [0, 1], fit_logits)
    posterior = decoder.log_posteriors(energies)[-1].exp().numpy()
    with torch.no_grad():
        model(images[:1])
        full = multiply_adds(lambda: model(images[:1]))
    (everything,) = stage_cost(model, images[:1], {name: np.array([10]) for name in found.stage})
    for point in found.guided:
        chosen = [candidates(row, point.mass) for row in posterior]
        unions = [np.stack([code.words[some].max(0) for some in chosen]) for code in model.codes[2:]]
        with torch.no_grad():
            right = model.trace(images, keep=[None, None, *map(torch.tensor, unions)]).logits.argmax(1) == labels
        assert point.accuracy == pytest.approx(float(right.double().mean()), abs=1e-12)
        assert point.candidates == pytest.approx(np.mean([len(one) for one in chosen]), abs=1e-9)
        counts = {name: union.sum(1).astype(float) for name, union in zip(found.stage, unions, strict=True)}
        assert point.branches == pytest.approx(np.mean(list(counts.values())) / 10, abs=1e-9)
        spent = full - everything + stage_cost(model, images[:1], counts).mean()
        assert point.multiply_adds == pytest.approx(float(spent), rel=1e-9)
        assert point.cost == pytest.approx(float(spent) / full, rel=1e-9)
    assert (found.guided[-1].mass, found.guided[-1].accuracy, found.guided[-1].cost) == (1.0, found.accuracy, 1.0)
    assert len({point.cost for point in found.guided}) > 2
    confidence, named = (one.numpy() for one in decoder.log_posteriors(energies).exp().max(2))
    for point in found.exits:  # beside it, by the same posterior
        answers, limit = logits.argmax(1).numpy(), 2.0 if point.threshold is None else point.threshold
        for look in (1, 0):  # the first look has the last word
            answers = np.where(confidence[look] >= limit, named[look], answers)
        assert point.accuracy == pytest.approx((answers == labels.numpy()).mean(), abs=1e-12)
