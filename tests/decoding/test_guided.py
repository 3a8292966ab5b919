"""Guided inference keeps what its candidates need, and counts what that costs."""

import pytest
import torch

import codednet
from codednet.data.batch import Batch
from codednet.decoding import GuidedStage, candidates_of, fit_joint, guided_curve, network_multiply_adds
from codednet.errors import CodednetError
from codednet.measure import multiply_adds


@pytest.fixture(scope="module")
def decoder(model, fit):
    return fit_joint(fit.energies, model.codes, fit.labels, blocks=[0, 1])


@pytest.fixture
def batches(pool) -> list[Batch]:
    labels = torch.arange(len(pool)) % 10
    return [Batch(pool[:100], labels[:100], labels[:100]), Batch(pool[100:], labels[100:], labels[100:])]


def test_accuracy_is_that_of_a_trace_without_the_other_branches(model, decoder, batches) -> None:
    (point,) = guided_curve(model, decoder, batches, masses=[0.8])
    right, kept_branches, candidates = [], [], []
    for batch in batches:
        for image, label in zip(batch.images, batch.labels, strict=True):
            with torch.no_grad():
                trace = model.trace(image[None])
                posterior = decoder.log_posteriors(trace.energies)[-1, 0].exp()
                order = posterior.argsort(descending=True)
                some = next(order[:k] for k in range(1, 11) if k == 10 or posterior[order[:k]].sum() >= 0.8)
                keep = [None, None, *(torch.tensor(code.words)[some].amax(0) for code in model.codes[2:])]
                right.append(int(model.trace(image[None], keep=keep).logits.argmax()) == label)
            candidates.append(len(some))
            kept_branches.append(sum(float(mask.sum()) for mask in keep[2:]) / 20)
    assert point.accuracy == pytest.approx(sum(right) / len(right))
    assert point.candidates == pytest.approx(sum(candidates) / len(right))
    assert point.branches == pytest.approx(sum(kept_branches) / len(right))
    assert point.candidates < 9


def test_with_all_the_mass_it_is_the_whole_network(model, decoder, batches) -> None:
    (point,) = guided_curve(model, decoder, batches, masses=[1.0])
    with torch.no_grad():
        right = torch.cat([model(batch.images).argmax(1) == batch.labels for batch in batches])
    assert point.accuracy == pytest.approx(float(right.double().mean()))
    assert (point.candidates, point.branches, point.cost) == (10, 1, 1)
    assert point.multiply_adds == network_multiply_adds(model, batches[0].images[:1])


def test_less_mass_costs_less(model, decoder, batches) -> None:
    points = guided_curve(model, decoder, batches, masses=[0.5, 0.9, 0.999, 1.0])
    costs = [point.multiply_adds for point in points]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


@pytest.mark.parametrize("name", ["coded_resnext20_10x4d", "coded_resnext20_10x6d"])
def test_the_stage_costs_what_a_network_cut_to_its_branches_is_counted_to_cost(name) -> None:
    model = codednet.create_model(name).eval()
    small = codednet.extract(model, [0, 3])
    image = torch.zeros(1, 3, 16, 16)
    stage = GuidedStage(model)
    branches = [torch.tensor([float((code.words[[0, 3]].max(0)).sum())]) for code in model.codes[stage.first :]]
    start = next(step.input for step in small.walk(image) if step.name == stage.blocks[0])
    blocks = [block for name, block in small.named_blocks() if name in stage.blocks]

    @torch.no_grad()
    def run() -> None:
        x = start
        for block in blocks:
            x = block(x)

    run()
    assert float(stage.multiply_adds(branches, (start.shape[2], start.shape[3]))) == multiply_adds(run)


def test_candidates_are_the_fewest_likeliest_classes_of_that_mass() -> None:
    posterior = torch.tensor([[0.5, 0.3, 0.2], [0.05, 0.05, 0.9], [0.4, 0.35, 0.25]])
    assert candidates_of(posterior, 0.75).tolist() == [[True, True, False], [False, False, True], [True, True, False]]
    assert candidates_of(posterior, 0.0).sum(1).tolist() == [1, 1, 1]


def test_guidance_that_comes_too_late_or_from_nowhere_is_refused(model, fit, batches) -> None:
    late = fit_joint(fit.energies, model.codes, fit.labels)
    message = r"whose first block is layer3\.0; the decoder reads layer3\.1\. Fit it on blocks=\[0, 1\]\."
    with pytest.raises(CodednetError, match=message):
        guided_curve(model, late, batches)
    plain = codednet.create_model("resnext20_10x4d")
    with pytest.raises(CodednetError, match="has coded blocks in no stage"):
        GuidedStage(plain)
    early = fit_joint(fit.energies, model.codes, fit.labels, blocks=[0, 1])
    with pytest.raises(CodednetError, match="there are no images to evaluate"):
        guided_curve(model, early, [])
