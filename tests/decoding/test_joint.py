"""The joint decoder is the regularised softmax regression that it says it is, and nothing is counted twice."""

import json

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from codednet.decoding import JointDecoder, JointFit, fit_joint
from codednet.decoding.fitting import COMPARED, CONVERGED, PENALTIES, choose_penalty, crossed, fit_readout, folds_of
from codednet.errors import CodednetError


def table(images: int = 200, columns: int = 6, classes: int = 4) -> tuple[np.ndarray, ...]:
    """Amplitudes, words, blocks and labels of two blocks whose branches follow the words."""
    draw = np.random.default_rng(3)
    words = draw.integers(0, 2, (classes, columns)).astype(float)
    labels = np.arange(images) % classes
    amplitudes = np.abs(words[labels] + 0.8 * draw.standard_normal((images, columns)))
    return amplitudes, words, np.repeat([0, 1], columns // 2), labels


@pytest.mark.parametrize("penalty", [0.5, 6.0])
def test_without_words_it_is_scikit_learns_logistic_regression(penalty) -> None:
    amplitudes, words, blocks, labels = table()
    readout = fit_readout(amplitudes, 0 * words, blocks, np.eye(4)[labels], penalty)
    # scikit-learn leaves its intercept free; a column of ones gives one that costs, as here.
    scaled = (amplitudes - amplitudes.mean(0)) / amplitudes.std(0)
    x = np.c_[scaled, np.ones(len(labels))]
    oracle = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=5000).fit(x, labels)
    np.testing.assert_allclose(readout.log_posterior(amplitudes), oracle.predict_log_proba(x), atol=1e-4)


def test_with_words_it_is_the_minimum_of_the_objective_written_naively() -> None:
    amplitudes, words, blocks, labels = table()
    readout = fit_readout(amplitudes, words, blocks, np.eye(4)[labels], 6.0)
    x = torch.tensor((amplitudes - amplitudes.mean(0)) / amplitudes.std(0))
    strengths = torch.ones(2, dtype=torch.float64, requires_grad=True)
    own, bias = (torch.zeros(*shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 6), (4,)))
    optimizer = torch.optim.LBFGS(
        [strengths, own, bias],
        max_iter=1000,
        tolerance_grad=1e-10,
        tolerance_change=1e-14,
        line_search_fn="strong_wolfe",
    )

    def scores() -> Tensor:
        return x @ (torch.tensor(words) * strengths[torch.tensor(blocks)] + own).T + bias

    def closure() -> Tensor:
        optimizer.zero_grad()
        costs = 6 * (own.square().sum() + bias.square().sum()) + 1e-3 * strengths.square().sum()
        loss = torch.nn.functional.cross_entropy(scores(), torch.tensor(labels)) + costs / 2 / len(labels)
        loss.backward()
        return loss

    optimizer.step(closure)
    expected = scores().log_softmax(1).detach().numpy()
    np.testing.assert_allclose(readout.log_posterior(amplitudes), expected, atol=1e-3)


def test_a_branch_that_never_changes_says_nothing_and_breaks_nothing() -> None:
    amplitudes, words, blocks, labels = table()
    amplitudes[:, 2] = 0.25
    found = fit_readout(amplitudes, words, blocks, np.eye(4)[labels], 6.0).log_posterior(amplitudes)
    without = [0, 1, 3, 4, 5]
    rest = fit_readout(amplitudes[:, without], words[:, without], blocks[without], np.eye(4)[labels], 6.0)
    np.testing.assert_allclose(found, rest.log_posterior(amplitudes[:, without]), atol=1e-3)


def test_images_left_out_are_judged_by_a_fit_that_never_saw_them() -> None:
    amplitudes, words, blocks, labels = table()
    targets = np.eye(4)[labels]
    found = crossed(amplitudes, words, blocks, labels, targets, 6.0).log_posteriors
    fold = folds_of(labels)
    for label in range(4):
        assert np.bincount(fold[labels == label]).tolist() == [10] * 5
    for number in range(5):
        out = fold == number
        rest = amplitudes[~out], words, blocks, targets[~out], 6.0
        alone = [fit_readout(*rest, tolerance) for tolerance in (COMPARED, CONVERGED)]
        np.testing.assert_array_equal(found[out], alone[0].log_posterior(amplitudes[out]))
        np.testing.assert_allclose(found[out], alone[1].log_posterior(amplitudes[out]), atol=0.02)


def test_the_penalty_is_the_one_under_which_images_left_out_are_likeliest() -> None:
    amplitudes, words, blocks, labels = table()
    given = amplitudes, words, blocks, labels, np.eye(4)[labels]
    losses = [-crossed(*given, p).log_posteriors[np.arange(200), labels].mean() for p in PENALTIES]
    assert choose_penalty(*given) == PENALTIES[int(np.argmin(losses))]


def test_the_network_s_own_answers_count_as_much_as_the_labels(model, fit) -> None:
    taught = fit_joint(fit.energies, model.codes, fit.labels, logits=fit.logits)
    x = np.concatenate([e.double().sqrt().numpy() for e in fit.energies], axis=1)
    words = np.concatenate([code.words for code in model.codes], axis=1).astype(float)
    targets = (np.eye(10)[fit.labels] + fit.logits.double().softmax(1).numpy()) / 2
    penalty = JointFit(fit.energies, model.codes, fit.labels, fit.logits).penalty
    expected = fit_readout(x, words, np.repeat(range(4), 10), targets, penalty)
    np.testing.assert_allclose(taught.readouts[-1].weight, expected.weight, atol=1e-8)
    assert (
        np.abs(taught.readouts[-1].weight - fit_joint(fit.energies, model.codes, fit.labels).readouts[-1].weight).max()
        > 0.01
    )


def test_looks_have_a_posterior_each_by_the_readout_of_all_amplitudes_so_far(model, fit, seen) -> None:
    decoder = fit_joint(fit.energies, model.codes, fit.labels)
    others = seen(60, 4)
    found = decoder.log_posteriors(others.energies)
    assert found.shape == (4, 60, 10)
    for look in range(4):
        amplitudes = np.concatenate([e.double().sqrt().numpy() for e in others.energies[: look + 1]], axis=1)
        readout = decoder.readouts[look]
        expected = log_softmax(amplitudes @ readout.weight.T + readout.bias, axis=1)
        np.testing.assert_allclose(found[look].numpy(), expected, atol=1e-4)


def test_deeper_looks_know_more_than_any_single_block(model, fit, seen) -> None:
    others = seen(1000, 3)
    posteriors = fit_joint(fit.energies, model.codes, fit.labels).log_posteriors(others.energies)
    joint = (posteriors.argmax(2) == others.labels).double().mean(1)
    single = (
        (
            torch.stack(
                [
                    (e @ torch.tensor(c.words).float().T).argmax(1)
                    for e, c in zip(others.energies, model.codes, strict=True)
                ]
            )
            == others.labels
        )
        .double()
        .mean(1)
    )
    assert (joint >= single.cummax(0).values).all()


def test_one_fit_serves_decoders_of_any_blocks(model, fit) -> None:
    joint = JointFit(fit.energies, model.codes, fit.labels)
    assert joint.decoder([0, 2]).readouts[0] is joint.decoder().readouts[0]
    held_out = joint.held_out([0, 2])
    assert held_out.shape == (2, 400, 10)
    # What is judged without an image says less of it than what was fitted on it.
    fitted = joint.decoder([0, 2]).log_posteriors(fit.energies)
    picked = fit.labels[None, :, None].expand(2, -1, 1)
    assert (held_out.gather(2, picked).mean((1, 2)) < fitted.gather(2, picked).mean((1, 2))).all()


def test_a_decoder_comes_back_from_its_document(model, fit) -> None:
    decoder = fit_joint(fit.energies, model.codes, fit.labels, blocks=[1, 3])
    again = JointDecoder.from_document(json.loads(json.dumps(decoder.document())))
    assert again.blocks == (1, 3)
    assert again.num_classes == 10
    assert torch.equal(again.log_posteriors(fit.energies), decoder.log_posteriors(fit.energies))


def test_a_decoder_moved_leaves_the_first_where_it_is(model, fit) -> None:
    decoder = fit_joint(fit.energies, model.codes, fit.labels)
    moved = decoder.to("meta")
    assert moved.scores(0, torch.zeros(1, 10, device="meta")).device.type == "meta"
    assert decoder.scores(0, torch.zeros(1, 10)).device.type == "cpu"


def test_too_few_images_of_a_class_are_refused(model, fit) -> None:
    few = fit.labels.clone()
    few[few == 3] = 4
    few[0] = 3
    with pytest.raises(CodednetError, match=r"2 images or more of every class .* class 3 has 1\. .*tune_per_class"):
        fit_joint(fit.energies, model.codes, few)


def test_what_cannot_be_read_is_refused(model, fit) -> None:
    with pytest.raises(CodednetError, match="without coded blocks has no energies to decode"):
        fit_joint([], [], fit.labels)
    decoder = fit_joint(fit.energies, model.codes, fit.labels)
    with pytest.raises(CodednetError, match="reads coded block 3, counted from 0; there are energies of 2 blocks"):
        decoder.log_posteriors(fit.energies[:2])
    for blocks in ([], [1, 0], [0, 0]):
        with pytest.raises(CodednetError, match="one block or more, in rising order"):
            JointDecoder(blocks, decoder.readouts[: len(blocks)])
