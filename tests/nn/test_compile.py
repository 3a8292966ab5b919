"""The coded layer compiles without a graph break and exports; run without jaxtyping's import hook."""

import io
import warnings

import pytest
import torch
from torch import Tensor, nn

from codednet.nn import CodedProjection, DropBranch, decode, total_loss

pytestmark = pytest.mark.unchecked
WORDS = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1]])


class Tiny(nn.Module):
    """A coded layer between a convolution and a classifier."""

    def __init__(self, kept: list[int] | None = None) -> None:
        super().__init__()
        channels = 5 * (len(kept) if kept else 4)
        self.first = nn.Conv2d(3, channels, 3)
        self.coded = CodedProjection(channels, 16, 4, kept=kept)
        self.drop = DropBranch(0.2)
        self.classify = nn.Linear(16, 2)

    def forward(self, images: Tensor, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        drop = self.drop.mask(images.shape[0], 4, images.device)
        output, energies = self.coded(self.first(images).relu(), keep, drop)
        return self.classify(output.mean((2, 3))), energies


@pytest.mark.parametrize("kept", [None, [0, 2, 3]])
@pytest.mark.parametrize("keep", [None, torch.tensor([1, 0, 1, 1])])
def test_the_compiled_layer_equals_the_eager_one(kept: list[int] | None, keep: Tensor | None) -> None:
    torch.manual_seed(0)
    model = Tiny(kept).eval()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for images in (torch.rand(1, 3, 6, 6), torch.rand(4, 3, 6, 6), torch.rand(3, 3, 6, 6)):
        with torch.no_grad():
            for one, other in zip(compiled(images, keep), model(images, keep), strict=True):
                torch.testing.assert_close(one, other)


def test_a_compiled_training_step_equals_the_eager_one() -> None:
    torch.manual_seed(0)
    model = Tiny()
    model.drop.p = 0.0
    images, labels = torch.rand(4, 3, 6, 6), torch.tensor([0, 1, 1, 0])

    def loss() -> Tensor:
        logits, energies = model(images)
        return total_loss((logits, [energies]), labels, [WORDS], mu=6.0)

    gradients = []
    for step in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        model.zero_grad()
        step().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_dropping_branches_compiles() -> None:
    torch._dynamo.reset()
    model = torch.compile(Tiny(), fullgraph=True, backend="aot_eager")
    logits, _ = model(torch.rand(4, 3, 6, 6))
    logits.sum().backward()


def test_decoding_compiles() -> None:
    energies = torch.rand(5, 4)
    compiled = torch.compile(lambda e: decode([e], [WORDS]), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(energies), decode([energies], [WORDS]))


@pytest.mark.parametrize("kept", [None, [0, 2, 3]])
def test_the_exported_layer_takes_any_batch(kept: list[int] | None) -> None:
    model = Tiny(kept).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    exported = torch.export.export(model, (torch.rand(2, 3, 6, 6),), dynamic_shapes={"images": {0: batch}})
    for count in (1, 2, 7):
        images = torch.rand(count, 3, 6, 6)
        with torch.no_grad():
            for one, other in zip(exported.module()(images), model(images), strict=True):
                torch.testing.assert_close(one, other)


@pytest.mark.slow
def test_onnx_runtime_agrees() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = Tiny().eval()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own deprecations
        program = torch.onnx.export(
            model,
            (torch.rand(2, 3, 6, 6),),
            dynamo=True,
            verbose=False,
            dynamic_shapes={"images": {0: "b"}},
        )
        program.save(file)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    for count in (1, 2, 5):
        images = torch.rand(count, 3, 6, 6)
        found = session.run(None, {session.get_inputs()[0].name: images.numpy()})
        with torch.no_grad():
            for one, other in zip(found, model(images), strict=True):
                torch.testing.assert_close(torch.tensor(one), other, rtol=1e-4, atol=1e-5)
