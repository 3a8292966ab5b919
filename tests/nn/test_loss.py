"""The losses equal equations 4 and 5 written out; wrong input is named."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import cross_entropy

from codednet.codes import Code
from codednet.errors import CodednetError
from codednet.nn import coding_loss, total_loss
from codednet.nn.naive import naive_coding_loss

CODES = [Code([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]]), Code([[1, 0, 0], [0, 1, 0], [0, 0, 1]])]
LABELS = torch.tensor([0, 2, 1, 2, 0])


def energies() -> list[torch.Tensor]:
    torch.manual_seed(0)
    raw = [torch.rand(5, 4, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)]
    return [(len(e[0]) * e / e.sum(1, keepdim=True)).requires_grad_() for e in raw]


@pytest.mark.parametrize("exponent", [4, 2, 1])
def test_coding_loss_and_its_gradients_equal_the_equation(exponent: int) -> None:
    found = energies()
    losses = coding_loss(found, LABELS, CODES, exponent)
    assert losses.shape == (2,)
    for block, code in enumerate(CODES):
        wanted = naive_coding_loss(found[block], LABELS, torch.tensor(code.words), exponent)
        torch.testing.assert_close(losses[block], wanted)
        gradients = [torch.autograd.grad(loss, found[block], retain_graph=True)[0] for loss in (losses[block], wanted)]
        torch.testing.assert_close(*gradients)


def test_energies_that_match_their_words_cost_nothing() -> None:
    words = torch.tensor(CODES[0].words, dtype=torch.float32)
    assert coding_loss([words[LABELS] / 0.5], LABELS, CODES[:1]).item() == 0


def test_total_loss_is_cross_entropy_plus_mu_times_the_sum_of_the_blocks() -> None:
    logits, found = torch.randn(5, 3), [e.detach().float() for e in energies()]
    wanted = cross_entropy(logits, LABELS, label_smoothing=0.1) + 6 * coding_loss(found, LABELS, CODES, 2).sum()
    for outputs in ((logits, found), SimpleNamespace(logits=logits, energies=found)):
        loss = total_loss(outputs, LABELS, CODES, mu=6.0, exponent=2, label_smoothing=0.1)
        torch.testing.assert_close(loss, wanted)


def test_a_network_without_coded_blocks_has_the_cross_entropy_alone() -> None:
    logits = torch.randn(5, 3)
    torch.testing.assert_close(total_loss((logits, []), LABELS, [], mu=6.0), cross_entropy(logits, LABELS))


def test_codes_and_tensors_are_the_same_words() -> None:
    tensors = [torch.tensor(code.words) for code in CODES]
    assert torch.equal(coding_loss(energies(), LABELS, CODES), coding_loss(energies(), LABELS, tensors))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: coding_loss(energies(), LABELS + 1, CODES), r"labels must lie in 0\.\.2, for 3 classes; got 1\.\.3"),
        (lambda: coding_loss(energies(), LABELS - 1, CODES), r"got -1\.\.1"),
        (
            lambda: coding_loss(energies(), LABELS[:4], CODES),
            r"shape \(5,\), one an image; got torch.int64 of shape \(4,\)",
        ),
        (
            lambda: coding_loss(energies(), LABELS, CODES[:1]),
            "one code for each coded block: 2 rows of energies, 1 codes",
        ),
        (lambda: coding_loss(energies(), LABELS, CODES[::-1]), r"have 4 columns, the words are \(3, 3\)"),
        (lambda: coding_loss(energies(), LABELS, CODES, 0), "exponent of the coding loss must be at least 1.*got 0"),
        (lambda: total_loss((torch.randn(5, 2), energies()), LABELS, CODES, 1.0), r"0\.\.1, for 2 classes"),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(CodednetError, match=message):
        build()
