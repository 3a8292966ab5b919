"""What the certificate measures, from traces, from branches' own outputs, and from networks silenced by hand."""

import copy

import numpy as np
import pytest
import torch

from codednet.experiments import find
from codednet.models import CodedResNeXt

CERTIFICATE = find("certificate")


@pytest.fixture(scope="module")
def measured(loud):
    found = CERTIFICATE.measure(loud, CERTIFICATE.options()).measures
    return {one.words: one for one in found}


def words_of(model: CodedResNeXt, places: int = 0) -> list[np.ndarray]:
    """Words by coded block, each class with that of the class so many places further on."""
    return [np.roll(code.words, -places, axis=0) for code in model.codes]


def furthest(model: CodedResNeXt) -> int:
    """Number of places at which words share the fewest branches with the classes' own."""
    shared = {k: sum(int((w * np.roll(w, -k, axis=0)).sum()) for w in words_of(model)) for k in range(1, 10)}
    return min(shared, key=shared.__getitem__)


def share_on_path(energies, labels, words) -> float:
    own = [float(row[word == 1].sum() / row.sum()) for row, word in zip(energies, words[labels], strict=True)]
    return float(np.mean(own))


@torch.no_grad()
def lost_without_all_active(model: CodedResNeXt, test_batch, name: str, words: np.ndarray) -> float:
    images, labels = test_batch
    right = 0
    for label, word in enumerate(words):
        network = copy.deepcopy(model)
        block = dict(network.named_blocks())[name]
        block.conv3.weight *= torch.tensor(1 - word).repeat_interleave(block.config.width)[None, :, None, None]
        right += int((network(images[labels == label]).argmax(1) == label).sum())
    return (int((model(images).argmax(1) == labels).sum()) - right) / len(labels)


@pytest.mark.parametrize("kind", ["own", "shuffled"])
def test_energy_and_removal_are_measured_along_the_words_that_they_are_said_to_be(measured, loud, test_batch, kind):
    images, labels = test_batch
    model = loud.model
    words = words_of(model, 0 if kind == "own" else furthest(model))
    found = measured[kind]
    with torch.no_grad():
        energies = [one.double().numpy() for one in model.trace(images).energies]
    for one, rows, table in zip(found.blocks, energies, words, strict=True):
        assert one.energy == pytest.approx(share_on_path(rows, labels, table), abs=1e-6)
        assert one.removed == table[0].sum()  # all of the path: no draw has a part in what is lost
        assert one.lost_active == pytest.approx(lost_without_all_active(model, test_batch, one.block, table), abs=1e-9)
    assert found.energy == pytest.approx(np.mean([one.energy for one in found.blocks]))
    assert found.gap == pytest.approx(np.mean([one.lost_active - one.lost_inactive for one in found.blocks]))


def test_the_twins_energy_is_that_of_its_branches_own_outputs_along_the_runs_words(measured, loud, test_batch):
    images, labels = test_batch
    found = measured["plain twin"]
    words = dict(zip(loud.model.coded_blocks, words_of(loud.model), strict=True))
    shares = []
    with torch.no_grad():
        for step in loud.twin.walk(images):
            if step.name in words:
                u, weight = step.hidden.double(), step.block.conv3.weight.double()
                hidden, matrices = u.reshape(40, 10, -1, *u.shape[2:]), weight.reshape(len(weight), 10, -1)
                energies = torch.einsum("cnd,bndhw->bnchw", matrices, hidden).square().mean((2, 3, 4)).numpy()
                shares.append(share_on_path(energies, labels, words[step.name]))
    assert [one.energy for one in found.blocks] == pytest.approx(shares, abs=1e-6)
