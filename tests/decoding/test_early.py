"""What each block says by itself, and what an answer is worth that so many blocks share."""

import pytest
import torch

from codednet.decoding import accuracy_by_block, agreement_table, agreements
from codednet.errors import CodednetError


def naive_labels(energies: torch.Tensor, words: torch.Tensor) -> list[int]:
    """Nearest word in L2 to rate times energy, as the paper has it."""
    rate = words.float().mean(1)[0]
    return [int(torch.stack([(rate * row - word).square().sum() for word in words]).argmin()) for row in energies]


def test_accuracy_of_each_block_is_that_of_the_nearest_word(model, fit) -> None:
    found = accuracy_by_block(fit.energies, model.codes, fit.labels)
    for block, (energies, code) in enumerate(zip(fit.energies, model.codes, strict=True)):
        named = naive_labels(energies, torch.tensor(code.words))
        right = sum(label == truth for label, truth in zip(named, fit.labels.tolist(), strict=True))
        assert found[block] == pytest.approx(right / len(named))


def test_the_table_counts_each_number_of_agreeing_decoders(model, fit) -> None:
    predicted = fit.logits.argmax(1)
    agree = agreements(predicted, fit.energies, model.codes)
    table = agreement_table(agree, predicted == fit.labels)
    named = [naive_labels(e, torch.tensor(code.words)) for e, code in zip(fit.energies, model.codes, strict=True)]
    for number, row in enumerate(table.rows):
        votes = [sum(block[i] == int(predicted[i]) for block in named) for i in range(len(predicted))]
        here = [i for i, count in enumerate(votes) if count == number]
        assert (row.agreeing, row.images) == (number, len(here))
        assert row.accuracy == pytest.approx(sum(int(predicted[i] == fit.labels[i]) for i in here) / len(here))
    assert len(table.rows) == 5
    assert table.accuracy == pytest.approx(float((predicted == fit.labels).double().mean()))


def test_the_table_read_as_a_confidence_falls_back_on_the_accuracy_of_all() -> None:
    agree = torch.tensor([[True, True], [True, True], [False, False], [False, False]])
    table = agreement_table(agree, torch.tensor([True, True, True, False]))
    confidence = table.confidence(torch.tensor([[True, True], [True, False], [False, False]]))
    assert confidence.tolist() == [1.0, 0.75, 0.5]


def test_a_network_without_coded_blocks_has_no_early_decoders() -> None:
    with pytest.raises(CodednetError, match="has no early decoders: all its rates are 1"):
        accuracy_by_block([], [], torch.zeros(3, dtype=torch.int64))
