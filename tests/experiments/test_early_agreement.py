"""Early decoders and table 3, from every branch's own output, the nearest word by `cdist`, and counting."""

import numpy as np
import pytest
import torch
from torch import Tensor

from codednet.decoding import AgreementRow
from codednet.experiments.agreement import folded


@pytest.fixture(scope="module")
def predicted(subject, test_batch) -> Tensor:
    with torch.no_grad():
        return subject.model(test_batch[0]).argmax(1)


@pytest.fixture(scope="module")
def named(subject, test_batch) -> dict[str, Tensor]:
    """By coded block, the class of the word nearest to each image's energies, as sections 3.1 and 4.4 have them."""
    model, found = subject.model, {}
    codes = dict(zip(model.coded_blocks, model.codes, strict=True))
    with torch.no_grad():
        for step in model.walk(test_batch[0]):
            if step.name not in codes:
                continue
            words = torch.tensor(codes[step.name].words).double()
            u, weight = step.hidden.double(), step.block.conv3.weight.double()
            branches = words.shape[1]
            hidden = u.reshape(len(u), branches, -1, *u.shape[2:])
            t = torch.einsum("cnd,bndhw->bnchw", weight.reshape(len(weight), branches, -1), hidden)
            energies = t.square().mean((2, 3, 4))
            normalised = energies / energies.mean(1, keepdim=True)
            found[step.name] = torch.cdist(normalised, words).argmin(1)
    return found


def test_an_early_decoder_is_as_often_right_as_the_word_nearest_to_the_normalised_energies(
    record, named, predicted, test_batch
):
    found, labels = record("early"), test_batch[1]
    assert [one.block for one in found.decoders] == list(named)
    for one in found.decoders:
        assert one.accuracy == pytest.approx(float((named[one.block] == labels).double().mean()), abs=1e-12)
    assert found.accuracy == pytest.approx(float((predicted == labels).double().mean()), abs=1e-12)
    assert (found.split, found.images) == ("test", len(labels))
    assert len({one.accuracy for one in found.decoders}) > 1


def test_a_row_counts_the_images_on_which_so_many_decoders_say_what_the_network_says(
    record, named, predicted, test_batch
):
    found = record("agreement")
    tally: dict[int, list[bool]] = {number: [] for number in range(5)}
    for image, (said, label) in enumerate(zip(predicted.tolist(), test_batch[1].tolist(), strict=True)):
        tally[sum(int(block[image]) == said for block in named.values())].append(said == label)
    assert (found.decoders, found.images, len(found.rows)) == (4, 40, 5)
    for row in found.rows:
        right = tally[row.agreeing]
        assert row.images == len(right)
        assert row.accuracy == (pytest.approx(np.mean(right), abs=1e-12) if right else None)
    assert found.accuracy == pytest.approx(float((predicted == test_batch[1]).double().mean()), abs=1e-12)


def rows_of(agreeing: np.ndarray, right: np.ndarray, decoders: int) -> tuple[AgreementRow, ...]:
    found = []
    for number in range(decoders + 1):
        here = right[agreeing == number]
        found.append(
            AgreementRow(agreeing=number, images=len(here), accuracy=float(here.mean()) if len(here) else None)
        )
    return tuple(found)


def test_the_papers_last_row_holds_all_images_with_six_agreeing_decoders_or_more():
    draw = np.random.default_rng(0)
    agreeing, right = draw.integers(0, 9, 500), draw.random(500) < 0.7  # of nine decoders all agree on no image
    rows = rows_of(agreeing, right, 9)
    *first, last = folded(rows)
    assert tuple(first) == rows[:6]
    assert (last.agreeing, last.images) == (6, int((agreeing >= 6).sum()))
    assert last.accuracy == pytest.approx(right[agreeing >= 6].mean(), abs=1e-12)


def test_a_last_row_without_images_has_no_accuracy():
    draw = np.random.default_rng(1)
    last = folded(rows_of(draw.integers(0, 6, 50), draw.random(50) < 0.5, 9))[-1]
    assert (last.agreeing, last.images, last.accuracy) == (6, 0, None)


@pytest.mark.parametrize("decoders", [4, 5, 6])
def test_few_decoders_leave_the_rows_as_they_are(decoders):
    draw = np.random.default_rng(2)
    rows = rows_of(draw.integers(0, decoders + 1, 200), draw.random(200) < 0.5, decoders)
    found = folded(rows)
    assert [(row.agreeing, row.images) for row in found] == [(row.agreeing, row.images) for row in rows]
    assert [row.accuracy for row in found] == pytest.approx([row.accuracy for row in rows], abs=1e-12)
