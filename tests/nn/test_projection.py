"""CodedProjection equals equations 1 to 3 written out, values and gradients, in every setting it can be used in."""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from codednet.errors import CodednetError
from codednet.nn import CodedProjection, DropBranch, Projected
from codednet.nn.naive import naive_projection


class Block(NamedTuple):
    out: int
    branches: int
    width: int


# Every stage of every ResNeXt variant: any of them may be coded.
BLOCKS = {
    "10x11d": [Block(256, 10, 11), Block(512, 10, 22), Block(1024, 10, 44)],
    "20x6d": [Block(256, 20, 6), Block(512, 20, 12), Block(1024, 20, 24)],
    "32x4d": [Block(256, 32, 4), Block(512, 32, 8), Block(1024, 32, 16), Block(2048, 32, 32)],
    "10x6d": [Block(128, 10, 6), Block(256, 10, 12), Block(512, 10, 24)],
    "10x4d": [Block(64, 10, 4), Block(128, 10, 8), Block(256, 10, 16)],
}
ALL_BLOCKS = [pytest.param(block, id=f"{name}-{block.out}") for name, blocks in BLOCKS.items() for block in blocks]
PRECISIONS = [pytest.param(torch.float32, 1e-5, id="float32"), pytest.param(torch.float64, 1e-10, id="float64")]
SMALL = Block(48, 6, 5)


def assert_close(found: Tensor, wanted: Tensor, tolerance: float) -> None:
    error = (found.detach().double() - wanted.detach().double()).abs().max()
    largest = wanted.detach().double().abs().max()
    assert error <= tolerance * largest, (
        f"off by {float(error / largest):.2e} of the largest entry {float(largest):.3g}"
    )


def hidden_tensor(block: Block, dtype: torch.dtype, batch: int = 3, size: int = 3, silent: bool = True) -> Tensor:
    u = torch.randn(batch, block.branches * block.width, size, size, dtype=torch.float64).relu()
    if silent:  # One branch nearly silent in all images, another in one image alone.
        u[:, : block.width] *= 1e-4
        u[0, -block.width :] *= 1e-6
    return u.to(dtype)


def everything(compute: Callable[[], Projected], *inputs: Tensor) -> tuple[Tensor, ...]:
    """Output, energies, and the gradients of a loss that uses both."""
    projected = compute()
    torch.manual_seed(5)
    towards = torch.randn(projected.output.shape, dtype=torch.float64).to(projected.output.dtype)
    loss = (projected.output * towards).mean() + (0.3 * projected.energies - 1).pow(4).mean()
    return *projected, *torch.autograd.grad(loss, inputs)


def assert_equals_naive(layer: CodedProjection, u: Tensor, tolerance: float, **masks: Tensor | None) -> None:
    inputs = u.requires_grad_(), layer.weight
    found = everything(lambda: layer(u, masks.get("keep"), masks.get("drop")), *inputs)
    wanted = everything(
        lambda: naive_projection(
            u, layer.weight, layer.num_branches, kept=layer.kept, normalise=layer.normalise, **masks
        ),
        *inputs,
    )
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("block", ALL_BLOCKS)
def test_every_block_shape_equals_the_naive_form(block: Block, dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    layer = CodedProjection(block.branches * block.width, block.out, block.branches).to(dtype)
    u = hidden_tensor(block, dtype)
    drop = DropBranch(0.3).mask(len(u), block.branches, dtype=dtype)
    assert_equals_naive(layer, u, tolerance, drop=drop)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("kept", [None, (0, 2, 5), (3,)])
@pytest.mark.parametrize("keep", ["none", "batch", "images", "bool"])
@pytest.mark.parametrize("drops", [False, True])
def test_every_setting_equals_the_naive_form(
    dtype: torch.dtype,
    tolerance: float,
    batch: int,
    channels_last: bool,
    normalise: bool,
    kept: tuple[int, ...] | None,
    keep: str,
    drops: bool,
) -> None:
    torch.manual_seed(1)
    count = len(kept) if kept else SMALL.branches
    layer = CodedProjection(count * SMALL.width, SMALL.out, SMALL.branches, kept=kept, normalise=normalise).to(dtype)
    u = hidden_tensor(SMALL._replace(branches=count), dtype, batch, silent=kept is None)
    if channels_last:
        layer, u = layer.to(memory_format=torch.channels_last), u.to(memory_format=torch.channels_last)
    row = torch.tensor([1, 1, 0, 1, 1, 1])
    rows = torch.tensor([[1, 1, 0, 1, 1, 1], [1, 0, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 1]])[:batch]
    mask = {"none": None, "batch": row, "images": rows, "bool": rows.bool()}[keep]
    drop = torch.tensor([[1, 1, 0, 1, 1, 1], [1, 0, 1, 1, 0, 1], [1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]])[:batch] / 0.9
    assert_equals_naive(layer, u, tolerance, keep=mask, drop=drop.to(dtype) if drops else None)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("batch", [1, 5])
def test_reading_then_projecting_equals_the_fused_pass(grad: bool, batch: int) -> None:
    torch.manual_seed(2)
    layer = CodedProjection(30, 48, 6).double()
    u = hidden_tensor(SMALL, torch.float64, batch)
    keep, drop = torch.tensor([1, 1, 0, 1, 1, 1]), DropBranch(0.5).mask(batch, 6, dtype=torch.float64)
    with torch.set_grad_enabled(grad):
        inputs = (u.requires_grad_(), layer.weight)
        apart = layer.read(u, keep)
        parts = Projected(layer.project(u, apart.scale, drop), apart.energies)
        whole = layer(u, keep, drop)
        assert_close(parts.output, whole.output, 1e-12)
        assert_close(parts.energies, whole.energies, 1e-12)
        if grad:
            for one, other in zip(everything(lambda: parts, *inputs), everything(lambda: whole, *inputs), strict=True):
                assert_close(one, other, 1e-12)


@pytest.mark.parametrize("normalise", [True, False])
def test_gradcheck_passes(normalise: bool) -> None:
    torch.manual_seed(3)
    layer = CodedProjection(8, 7, 4, normalise=normalise).double()
    u = (torch.rand(3, 8, 2, 3, dtype=torch.float64) + 0.1).requires_grad_()
    keep, drop = torch.tensor([1, 1, 1, 0]), torch.tensor([[1.0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]) / 0.9
    weight = layer.weight.detach().clone().requires_grad_()

    def run(u: Tensor, weight: Tensor) -> Projected:
        return torch.func.functional_call(layer, {"weight": weight}, (u, keep, drop))

    assert torch.autograd.gradcheck(run, (u, weight))


@pytest.mark.parametrize("block", [Block(512, 10, 22), Block(1024, 20, 24), Block(2048, 32, 32), Block(256, 20, 6)])
def test_energies_under_bf16_autocast_are_within_two_percent(block: Block) -> None:
    torch.manual_seed(4)
    layer = CodedProjection(block.branches * block.width, block.out, block.branches).to(
        memory_format=torch.channels_last
    )
    u = hidden_tensor(block, torch.bfloat16, 4, 6, silent=False).to(memory_format=torch.channels_last)
    wanted = naive_projection(u.double(), layer.weight.double(), block.branches).energies
    for grad in (False, True):
        with torch.set_grad_enabled(grad), torch.autocast("cpu", torch.bfloat16):
            output, energies = layer(u)
        assert energies.dtype == torch.float32
        assert output.dtype == torch.bfloat16
        assert ((energies.double() - wanted).abs() / wanted).max() < 0.02


def test_gradients_under_bf16_autocast_are_near_those_in_float64() -> None:
    torch.manual_seed(4)
    layer = CodedProjection(220, 512, 10).to(memory_format=torch.channels_last)
    exact = CodedProjection(220, 512, 10).double()
    exact.load_state_dict(layer.state_dict())
    u = hidden_tensor(Block(512, 10, 22), torch.bfloat16, 4, 6).to(memory_format=torch.channels_last)
    fine = u.double().requires_grad_()
    wanted = everything(lambda: exact(fine), fine, exact.weight)

    def rounded() -> Projected:
        with torch.autocast("cpu", torch.bfloat16):
            return layer(u)

    found = everything(rounded, u.requires_grad_(), layer.weight)
    assert found[3].dtype == torch.float32
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other, 0.02)


@pytest.mark.parametrize("batch", [1, 3])
def test_silence_gives_finite_outputs_and_gradients(batch: int) -> None:
    layer = CodedProjection(30, 48, 6)
    u = torch.zeros(batch, 30, 3, 3)
    for value in everything(lambda: layer(u), u.requires_grad_(), layer.weight):
        assert value.isfinite().all()
    removed = layer(torch.rand(batch, 30, 3, 3), torch.zeros(6))
    assert (removed.output == 0).all()
    assert (removed.energies == 0).all()


@settings(max_examples=30, deadline=None)
@given(
    branches=st.integers(1, 7),
    width=st.integers(1, 9),
    out=st.integers(1, 12),
    batch=st.integers(1, 4),
    scale=st.floats(1e-3, 1e3),
    seed=st.integers(0, 2**31),
)
def test_energies_of_every_image_sum_to_the_number_of_branches(
    branches: int, width: int, out: int, batch: int, scale: float, seed: int
) -> None:
    torch.manual_seed(seed)
    layer = CodedProjection(branches * width, out, branches).double()
    with torch.no_grad():
        layer.weight.normal_()
    u = scale * (torch.rand(batch, branches * width, 3, 2, dtype=torch.float64) + 0.1)
    energies = layer(u).energies
    assert (energies >= 0).all()
    torch.testing.assert_close(energies.sum(1), torch.full((batch,), float(branches), dtype=torch.float64))


@pytest.mark.parametrize("kept", [(0, 1), (1, 4), (5,), (0, 2, 3, 5)])
def test_branches_that_do_not_exist_equal_branches_removed(kept: tuple[int, ...]) -> None:
    torch.manual_seed(6)
    whole = CodedProjection(30, 48, 6).double()
    rows = torch.cat([torch.arange(n * 5, n * 5 + 5) for n in kept])
    part = CodedProjection(5 * len(kept), 48, 6, kept=kept).double()
    part.load_state_dict({"weight": whole.weight[:, rows]})
    u = hidden_tensor(SMALL, torch.float64)
    keep = torch.zeros(6).index_fill(0, torch.tensor(kept), 1)
    for one, other in zip(part(u[:, rows]), whole(u, keep), strict=True):
        assert_close(one, other, 1e-12)


def test_an_evaluated_layer_follows_every_change_of_its_weight() -> None:
    layer = CodedProjection(30, 48, 6).eval()
    u = torch.rand(3, 30, 4, 4)

    def energies() -> Tensor:
        with torch.no_grad():
            return layer(u.to(layer.weight.dtype)).energies

    def fresh() -> Tensor:
        return naive_projection(u.to(layer.weight.dtype), layer.weight.detach(), 6).energies

    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: layer.weight.detach().mul_(torch.rand(48, 30, 1, 1)),
        lambda: layer.load_state_dict({"weight": torch.rand(48, 30, 1, 1)}),
        lambda: setattr(layer, "weight", torch.nn.Parameter(torch.rand(48, 30, 1, 1))),
        lambda: layer.double(),
        lambda: layer.float(),
    ]
    energies()
    for change in changes:
        change()
        assert_close(energies(), fresh(), 1e-5)
        assert_close(energies(), fresh(), 1e-5)
    with torch.inference_mode():
        assert_close(layer(u).energies, fresh(), 1e-5)
    assert_close(layer(u).energies, fresh(), 1e-5)


def test_the_state_dict_holds_the_weight_alone() -> None:
    layer = CodedProjection(15, 48, 6, kept=[0, 2, 3])
    assert {name: tuple(value.shape) for name, value in layer.state_dict().items()} == {"weight": (48, 15, 1, 1)}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: CodedProjection(31, 48, 6),
            "in_channels must be a multiple of the 6 branches that share them, got 31",
        ),
        (lambda: CodedProjection(10, 48, 6, kept=[4, 1]), r"rising order, at least one; got \[4, 1\]"),
        (lambda: CodedProjection(10, 48, 6, kept=[1, 6]), r"kept must name branches of 0\.\.5"),
        (lambda: CodedProjection(10, 48, 6, kept=[]), "at least one"),
        (lambda: CodedProjection(30, 48, 6)(torch.rand(2, 24, 3, 3)), r"\(batch, 30, height, width\).*\(2, 24, 3, 3\)"),
        (lambda: CodedProjection(30, 48, 6)(torch.rand(2, 30, 3, 3), torch.ones(5)), r"keep must have shape \(6,\)"),
        (lambda: CodedProjection(30, 48, 6)(torch.rand(2, 30, 3, 3), torch.ones(3, 6)), r"or \(2, 6\)"),
        (lambda: CodedProjection(30, 48, 6)(torch.rand(2, 30, 3, 3), None, torch.ones(2, 5)), "drop must have shape"),
        (lambda: CodedProjection(30, 48, 6)(torch.rand(2, 30, 3, 3), torch.full((6,), 0.5)), "keep must hold 1 for a"),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(CodednetError, match=message):
        build()


def test_combinations_of_removed_branches_do_not_disturb_each_other() -> None:
    layer = CodedProjection(30, 48, 6).double()
    u = hidden_tensor(SMALL, torch.float64, 1).expand(15, -1, -1, -1)
    keep = torch.stack([torch.ones(6).index_fill(0, torch.tensor(pair), 0) for pair in combinations(range(6), 2)])
    together = layer(u, keep)
    for image, row in enumerate(keep):
        alone = layer(u[image : image + 1], row)
        assert_close(together.output[image : image + 1], alone.output, 1e-12)
        assert_close(together.energies[image : image + 1], alone.energies, 1e-12)


@pytest.mark.parametrize("kept", [None, (0, 2, 5)], ids=["whole", "cut"])
@pytest.mark.parametrize("normalise", [True, False], ids=["normalised", "raw"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("dtype", "tolerance"), [*PRECISIONS, pytest.param(torch.bfloat16, 0.02, id="bfloat16")])
def test_total_is_the_output_that_forward_gives(dtype, tolerance: float, batch: int, normalise: bool, kept) -> None:
    torch.manual_seed(0)
    channels = SMALL.width * (SMALL.branches if kept is None else len(kept))
    layer = CodedProjection(channels, SMALL.out, SMALL.branches, kept=kept, normalise=normalise).to(dtype).eval()
    u = torch.randn(batch, channels, 3, 3).relu().to(dtype)
    wanted = naive_projection(u.double(), layer.weight.double(), SMALL.branches, kept=layer.kept, normalise=normalise)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        with torch.no_grad():
            assert_close(layer.total(u.to(memory_format=memory_format)), wanted.output, tolerance)
        assert_close(layer.total(u), wanted.output, tolerance)


def test_total_of_a_silent_image_is_zero() -> None:
    layer = CodedProjection(SMALL.branches * SMALL.width, SMALL.out, SMALL.branches).eval()
    with torch.no_grad():
        assert torch.equal(
            layer.total(torch.zeros(1, SMALL.branches * SMALL.width, 3, 3)), torch.zeros(1, SMALL.out, 3, 3)
        )


def test_total_drops_branches() -> None:
    torch.manual_seed(0)
    layer = CodedProjection(SMALL.branches * SMALL.width, SMALL.out, SMALL.branches).eval()
    u, drop = torch.randn(1, SMALL.branches * SMALL.width, 3, 3), torch.tensor([[0.0, 2, 2, 0, 2, 2]])
    with torch.no_grad():
        assert_close(layer.total(u, drop), naive_projection(u, layer.weight, SMALL.branches, drop=drop).output, 1e-5)
