import copy
import pickle
import subprocess
import sys

import pytest
import torch

import codednet
from codednet.models import create_model


def test_copies_are_independent_and_equal(small, images) -> None:
    want = small(images)
    for twin in (copy.deepcopy(small), pickle.loads(pickle.dumps(small))):
        assert twin.config == small.config
        assert twin.codes == small.codes
        assert torch.equal(twin(images), want)
        torch.nn.init.zeros_(twin.fc.weight)
        assert torch.equal(small(images), want)


@pytest.mark.parametrize("training", [False, True])
def test_energies_stay_float32_under_autocast(small, images, training: bool) -> None:
    small.train(training)
    small.drop_branch.p = 0.0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = small.trace(images)
    assert got.logits.dtype == torch.bfloat16
    for here in got.energies:
        assert here.dtype == torch.float32
        torch.testing.assert_close(here.sum(1), torch.full((3,), 10.0))


def test_a_step_of_training_lowers_the_loss() -> None:
    model = create_model("coded_resnext20_10x4d", drop_branch=0.0).train()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    images, labels = torch.randn(16, 3, 16, 16), torch.arange(16) % 10
    losses = []
    for _ in range(8):
        loss = codednet.total_loss(model.trace(images), labels, model.codes, mu=6.0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_early_decoders_read_a_trace(small, images) -> None:
    trace = small.trace(images)
    by_code = codednet.decode(trace.energies, small.codes)
    assert by_code.shape == (4, 3)
    assert by_code.dtype == torch.int64
    assert torch.equal(by_code, codednet.decode(trace.energies, small.words))


def test_loss_by_words_on_the_device_is_loss_by_codes(small, images) -> None:
    trace, labels = small.trace(images), torch.tensor([1, 5, 9])
    by_code = codednet.coding_loss(trace.energies, labels, small.codes)
    assert torch.equal(by_code, codednet.coding_loss(trace.energies, labels, small.words))
    assert by_code.shape == (4,)


def test_without_normalisation_energies_are_raw(lively, images) -> None:
    model = lively(create_model("coded_resnext20_10x4d", normalise=False)).eval()
    sums = [energies.sum(1) for energies in model.trace(images).energies]
    assert not any(torch.allclose(total, torch.full((3,), 10.0)) for total in sums)


def test_importing_the_package_loads_no_torch() -> None:
    script = "import sys, codednet, codednet.cli.info; sys.exit('torch' in sys.modules or 'timm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
