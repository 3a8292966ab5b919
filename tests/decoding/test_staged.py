"""Images leave where the posterior says, and nowhere else; who stays gets what the whole network gives."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import codednet
from codednet.decoding import NEVER, JointDecoder, StagedRunner, fit_joint
from codednet.errors import CodednetError


@pytest.fixture(scope="module")
def decoder(model, fit) -> JointDecoder:
    return fit_joint(fit.energies, model.codes, fit.labels)


def naive(model, decoder: JointDecoder, images: Tensor, limits: list[float]) -> list[tuple[int, float, int, int]]:
    """Label, confidence, exit and agreeing decoders of each image, read off a trace of that image alone."""
    found = []
    for image in images:
        with torch.no_grad():
            trace = model.trace(image[None])
        posteriors = decoder.log_posteriors(trace.energies).exp()[:, 0]
        exits = next((look for look, limit in enumerate(limits) if posteriors[look].max() >= limit), len(limits))
        last = posteriors[exits] if exits < len(limits) else trace.logits[0].softmax(0)
        label = int(last.argmax())
        read = [block for look, block in enumerate(decoder.blocks) if look <= exits]
        words = [torch.tensor(model.codes[block].words).float() for block in read]
        nearest = [int((word @ trace.energies[block][0]).argmax()) for word, block in zip(words, read, strict=True)]
        found.append((label, float(last.max()), exits, nearest.count(label)))
    return found


@given(batch=st.integers(1, 257), data=st.data())
def test_with_a_threshold_out_of_reach_the_runner_is_the_network(model, decoder, pool, batch, data) -> None:
    images = pool[torch.tensor(data.draw(st.permutations(range(257)))[:batch])]
    answer = StagedRunner(model, decoder, NEVER)(images)
    with torch.no_grad():
        logits = model(images)
    assert answer.through.tolist() == list(range(batch))
    assert answer.exits.tolist() == [4] * batch
    torch.testing.assert_close(answer.logits, logits, rtol=1e-5, atol=1e-5)
    assert torch.equal(answer.labels, answer.logits.argmax(1))
    torch.testing.assert_close(answer.confidence, answer.logits.softmax(1).amax(1))


@given(batch=st.integers(1, 257), limits=st.lists(st.sampled_from([0.0, 0.4, 0.6, 0.9, NEVER]), min_size=4, max_size=4))
def test_every_image_is_answered_once_and_in_order(model, decoder, pool, batch, limits) -> None:
    images = pool[:batch]
    answer = StagedRunner(model, decoder, limits)(images)
    assert [len(column) for column in (answer.labels, answer.confidence, answer.exits, answer.agreeing)] == [batch] * 4
    assert answer.through.tolist() == [place for place in range(batch) if answer.exits[place] == 4]
    assert answer.logits.shape == (len(answer.through), 10)
    # Turned round, every image gets what it got before.
    turned = StagedRunner(model, decoder, limits)(images.flip(0))
    assert torch.equal(turned.exits.flip(0), answer.exits)
    assert torch.equal(turned.labels.flip(0), answer.labels)


@pytest.mark.parametrize("limits", [[0.7] * 4, [0.9, 0.8, 0.6, 0.5], [NEVER, 0.5, NEVER, 0.9]])
def test_the_runner_does_what_a_walk_image_by_image_does(model, decoder, pool, limits) -> None:
    images = pool[:80]
    answer = StagedRunner(model, decoder, limits, count_agreeing=True)(images)
    expected = naive(model, decoder, images, limits)
    assert len(set(answer.exits.tolist())) >= 3
    assert answer.labels.tolist() == [one[0] for one in expected]
    assert answer.exits.tolist() == [one[2] for one in expected]
    assert answer.agreeing.tolist() == [one[3] for one in expected]
    assert answer.confidence.tolist() == pytest.approx([one[1] for one in expected], abs=1e-4)


def test_blocks_that_are_not_read_run_as_they_always_do(model, fit, pool) -> None:
    decoder = fit_joint(fit.energies, model.codes, fit.labels, blocks=[1, 3])
    runner = StagedRunner(model, decoder, 0.6, count_agreeing=True)
    assert runner.names == ("layer2.1", "layer3.1")
    expected = naive(model, decoder, pool[:60], [0.6, 0.6])
    answer = runner(pool[:60])
    assert answer.labels.tolist() == [one[0] for one in expected]
    assert answer.agreeing.tolist() == [one[3] for one in expected]


def test_in_channels_last_memory_and_for_no_image_at_all(model, decoder, pool) -> None:
    images = pool[:33]
    plain = StagedRunner(model, decoder, 0.6)(images)
    moved = StagedRunner(model, decoder, 0.6)(images.to(memory_format=torch.channels_last))
    assert torch.equal(plain.exits, moved.exits)
    assert torch.equal(plain.labels, moved.labels)
    none = StagedRunner(model, decoder, 0.6)(images[:0])
    assert len(none.labels) == 0
    assert none.logits.shape == (0, 10)


def test_a_threshold_of_nothing_lets_all_leave_at_once_and_nothing_deeper_runs(model, decoder, pool) -> None:
    ran = []
    deeper = dict(model.named_blocks())["layer2.1"]
    handle = deeper.conv1.register_forward_hook(lambda *_: ran.append(1))
    answer = StagedRunner(model, decoder, 0.0)(pool[:9])
    handle.remove()
    assert answer.exits.tolist() == [0] * 9
    assert answer.logits.shape == (0, 10)
    assert not ran


def test_a_temperature_changes_the_confidence_of_those_that_go_through_alone(model, decoder, pool) -> None:
    cool, warm = (StagedRunner(model, decoder, 0.6, temperature=t)(pool[:60]) for t in (1.0, 2.0))
    through = cool.through
    assert torch.equal(cool.labels, warm.labels)
    assert (cool.confidence[through] > warm.confidence[through]).all()
    torch.testing.assert_close(warm.confidence[through], (warm.logits / 2).softmax(1).amax(1))
    left = cool.exits < 4
    assert torch.equal(cool.confidence[left], warm.confidence[left])


def test_what_does_not_fit_is_refused(model, decoder, pool) -> None:
    with pytest.raises(CodednetError, match=r"one for each of the 4 blocks that are read; got 2\."):
        StagedRunner(model, decoder, [0.5, 0.5])
    other = codednet.create_model("coded_resnext20_10x4d", num_classes=7).eval()
    with pytest.raises(CodednetError, match=r"for 10 classes; the network has 4 coded blocks and 7 classes\."):
        StagedRunner(other, decoder, 0.5)
    training = codednet.create_model("coded_resnext20_10x4d", in_chans=1)
    with pytest.raises(CodednetError, match=r"evaluation mode: call model\.eval\(\) first"):
        StagedRunner(training, decoder, 0.5)(pool[:2])
