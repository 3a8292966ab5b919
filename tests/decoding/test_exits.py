"""An exit rule is chosen on images that nothing else was fitted on, and its costs are those of what runs."""

import json

import pytest
import torch

import codednet
from codednet.decoding import (
    ExitRule,
    JointFit,
    Posteriors,
    choose_looks,
    choose_rule,
    exit_costs,
    exit_curve,
    fit_joint,
    network_multiply_adds,
)
from codednet.errors import CodednetError
from codednet.measure import multiply_adds

IMAGE = (1, 12, 12)


@pytest.fixture(scope="module")
def rule(model, fit, risk) -> ExitRule:
    return choose_rule(model, fit, risk, 0.03, 0.05, IMAGE)


def test_a_rule_lets_images_go_and_keeps_within_the_risk_on_the_images_it_was_chosen_on(rule, model, risk) -> None:
    assert rule.choice.threshold is not None
    posteriors = Posteriors.of(rule.decoder.log_posteriors(risk.energies), risk)
    assert posteriors.bad(rule.threshold) == rule.choice.bad
    assert rule.choice.images == 500
    assert rule.choice.bad / 500 < 0.03
    assert (posteriors.exits(rule.threshold) < len(rule.looks)).double().mean() > 0.1
    assert rule.looks == tuple(model.coded_blocks[block] for block in rule.decoder.blocks)


def test_the_runner_answers_as_the_table_of_posteriors_says(rule, model, pool) -> None:
    answer = rule.runner(model)(pool)
    with torch.no_grad():
        trace = model.trace(pool)
    log_posteriors = rule.decoder.log_posteriors(trace.energies)
    labels = torch.zeros(len(pool), dtype=torch.int64)
    posteriors = Posteriors(log_posteriors.amax(2).exp(), log_posteriors.argmax(2), trace.logits.argmax(1), labels)
    assert torch.equal(answer.exits, posteriors.exits(rule.threshold))
    assert torch.equal(answer.labels, posteriors.answers(rule.threshold))


def test_looks_and_decoder_do_not_depend_on_what_the_risk_images_are(rule, model, fit, seen) -> None:
    other = choose_rule(model, fit, seen(500, 9), 0.03, 0.05, IMAGE)
    assert other.looks == rule.looks
    assert other.decoder.document() == rule.decoder.document()


def test_a_rule_comes_back_from_its_document(rule) -> None:
    again = ExitRule.from_document(json.loads(json.dumps(rule.document())))
    assert again.choice == rule.choice
    assert again.looks == rule.looks
    assert again.threshold == rule.threshold
    assert again.decoder.document() == rule.decoder.document()


def test_with_too_few_images_the_rule_is_never_to_exit(model, fit, seen, pool) -> None:
    rule = choose_rule(model, fit, seen(100, 2), 0.01, 0.05, IMAGE)
    assert rule.choice.why.endswith("on 100 images: it takes 299 or more.")
    answer = rule.runner(model)(pool)
    assert len(answer.through) == len(pool)


def test_images_that_are_fitted_on_choose_no_threshold(model, fit, seen) -> None:
    with pytest.raises(CodednetError, match="must not be among those that are fitted on"):
        choose_rule(model, fit, fit, 0.01, 0.05, IMAGE)


def test_a_network_without_coded_blocks_has_no_exits(fit, risk) -> None:
    plain = codednet.create_model("resnext20_10x4d", in_chans=1).eval()
    with pytest.raises(
        CodednetError, match="resnext20_10x4d has no coded blocks, so nothing can be read before its end"
    ):
        choose_rule(plain, fit._replace(energies=[]), risk, 0.01, 0.05, IMAGE)


def test_costs_are_counted_on_what_runs_until_an_image_leaves(model, fit) -> None:
    decoder = fit_joint(fit.energies, model.codes, fit.labels)
    costs = exit_costs(model, decoder, IMAGE)
    image = torch.zeros(1, *IMAGE)

    @torch.no_grad()
    def until(last: str) -> None:
        for step in model.walk(image):
            _ = step.energies
            if step.name == last:
                return

    full = network_multiply_adds(model, image)
    readouts = [10 * 10 * (look + 1) for look in range(4)]  # classes x amplitudes so far
    for look, name in enumerate(model.coded_blocks):
        assert costs[look] == multiply_adds(lambda name=name: until(name)) + sum(readouts[: look + 1])
    assert costs[4] == full + sum(readouts)


def test_the_curve_is_the_mean_over_images_of_what_each_one_costs(model, fit, risk) -> None:
    posteriors = Posteriors.of(fit_joint(fit.energies, model.codes, fit.labels).log_posteriors(risk.energies), risk)
    costs, full = [1.0, 2.0, 3.0, 4.0, 6.0], 5.0
    points = exit_curve(posteriors, costs, full, [0.5, 0.9, None])
    for point in points[:2]:
        exits, right, bad = [], 0, 0
        for image in range(500):
            look = next((k for k in range(4) if posteriors.confidence[k, image] >= point.threshold), 4)
            said = posteriors.full[image] if look == 4 else posteriors.named[look, image]
            exits.append(look)
            right += int(said == risk.labels[image])
            bad += int(posteriors.full[image] == risk.labels[image] != said)
        assert point.accuracy == pytest.approx(right / 500)
        assert point.risk == bad / 500
        assert point.shares == pytest.approx([exits.count(k) / 500 for k in range(5)])
        assert point.multiply_adds == pytest.approx(sum(costs[k] for k in exits) / 500)
        assert point.cost == pytest.approx(point.multiply_adds / 5)
    never = points[2]
    assert (never.risk, never.shares, never.multiply_adds, never.cost) == (0, (0, 0, 0, 0, 1), 5, 1)
    assert never.accuracy == pytest.approx(float((risk.logits.argmax(1) == risk.labels).double().mean()))


def test_looks_that_save_nothing_are_not_taken(model, fit) -> None:
    # Only the second block says anything.
    energies = [found if block == 1 else torch.ones_like(found) for block, found in enumerate(fit.energies)]
    mute = JointFit(energies, model.codes, fit.labels)
    assert choose_looks(mute, fit, [0.1, 0.2, 0.3, 0.4, 1.0], 0.02) == (1,)
    joint = JointFit(fit.energies, model.codes, fit.labels)
    assert choose_looks(joint, fit, [0.1, 0.4, 0.6, 0.8, 1.0], 0.02) != (3,)
