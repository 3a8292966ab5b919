import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from codednet.nn import CodedProjection, onednn
from codednet.nn.factors import BranchFactors
from codednet.nn.grouped import add_branch_product, branch_product

DTYPES = [pytest.param(torch.float32, 1e-6, id="float32"), pytest.param(torch.bfloat16, 0.01, id="bfloat16")]


def image(dtype: torch.dtype, batch: int = 1, channels: int = 30) -> torch.Tensor:
    return torch.randn(batch, channels, 4, 3).to(dtype).to(memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_they_are_used_wherever_the_processor_has_them(dtype: torch.dtype) -> None:
    has = torch.backends.mkldnn.is_available() and (
        dtype == torch.float32 or (dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported())
    )
    u = image(dtype)
    assert onednn.packs(u) == onednn.adds(u) == has
    assert not onednn.packs(u.contiguous())
    assert not onednn.adds(u.contiguous())


@pytest.mark.parametrize("packs", [True, False], ids=["packed where it can be", "not packed"])
@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
def test_an_evaluated_layer_convolves_as_the_definition_says(
    dtype: torch.dtype, tolerance: float, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    if not packs:
        monkeypatch.setattr(onednn, "_can_pack", lambda dtype: False)
    u, weight = image(dtype), torch.randn(48, 30, 1, 1).to(dtype)
    factors = BranchFactors(weight, 6)
    wanted = F.conv2d(u.double(), weight.double())
    factors.convolve(u)  # packs, where it can be done
    with FlopCounterMode(display=False) as counter:
        found = factors.convolve(u)
    assert (found.double() - wanted).abs().max() <= tolerance * wanted.abs().max()
    assert counter.get_total_flops() == 2 * 48 * 30 * 12


@pytest.mark.parametrize("share", [1, 3, 6])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [*DTYPES, pytest.param(torch.float64, 1e-12), pytest.param(torch.float16, 0.01)]
)
@pytest.mark.parametrize("layouts", [(True, True), (True, False), (False, True), (False, False)])
def test_branch_products_are_added_in_every_type_and_layout(dtype, tolerance, share: int, layouts) -> None:
    torch.manual_seed(0)
    formats = [torch.channels_last if last else torch.contiguous_format for last in layouts]
    total, u = (torch.randn(3, 12 * share, 4, 3).to(dtype).to(memory_format=each) for each in formats)
    matrices = torch.randn(6, 2 * share, 2 * share, dtype=torch.float64)
    blocks = torch.block_diag(*matrices)[:, :, None, None]
    wanted = total.double() + F.conv2d(u.double(), blocks)
    found = add_branch_product(total.clone(), u, matrices.to(dtype))
    assert (found.double() - wanted).abs().max() <= tolerance * wanted.abs().max()
    alone = branch_product(u, matrices.to(dtype)).double()
    assert (alone - (wanted - total.double())).abs().max() <= tolerance * wanted.abs().max()


def test_without_these_convolutions_a_layer_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer = CodedProjection(30, 48, 6).eval()
    u = image(torch.float32)

    def results() -> list[torch.Tensor]:
        with torch.no_grad():
            outputs = [layer.total(u), layer(u).output]
        given = u.clone().requires_grad_()
        output, energies = layer(given)
        gradients = torch.autograd.grad(output.square().sum() + energies.square().sum(), (given, layer.weight))
        return [*outputs, *gradients]

    usual = results()
    monkeypatch.setattr(onednn, "_can_pack", lambda dtype: False)
    monkeypatch.setattr(onednn, "_can_add", lambda dtype: False)
    for one, other in zip(results(), usual, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_a_layer_that_gets_new_weights_packs_them_anew() -> None:
    layer = CodedProjection(30, 48, 6).eval()
    u = image(torch.float32)
    with torch.no_grad():
        before = layer.total(u)
        layer.weight.neg_()
        torch.testing.assert_close(layer.total(u), -before)
        wide = torch.cat([u, u], dim=3).contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(layer.total(wide), torch.cat([-before, -before], dim=3))
