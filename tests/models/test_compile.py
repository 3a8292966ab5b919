"""One graph, whole: torch.compile and torch.export take forward and trace as they are."""

import pytest
import torch
from torch import nn

from codednet.models import CodedResNeXt, Trace, create_model

pytestmark = pytest.mark.unchecked


class Traced(nn.Module):
    def __init__(self, model: CodedResNeXt) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> Trace:
        return self.model.trace(images)


@pytest.fixture
def cut(lively) -> CodedResNeXt:
    return lively(CodedResNeXt(create_model("coded_resnext20_10x4d").config.narrowed([1, 2]))).eval()


@pytest.mark.parametrize("training", [False, True])
def test_forward_compiles_to_one_graph(small, images, training: bool) -> None:
    torch.compiler.reset()
    small.train(training)
    small.drop_branch.p = 0.0
    compiled = torch.compile(small, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(images), small(images))


@pytest.mark.parametrize("training", [False, True])
def test_trace_compiles_to_one_graph(small, images, training: bool) -> None:
    torch.compiler.reset()
    small.train(training)
    compiled = torch.compile(small.trace, fullgraph=True, backend="aot_eager")
    logits, energies = compiled(images)
    assert [rows.shape for rows in energies] == [(3, 10)] * 4
    if not training:
        want = small.trace(images)
        torch.testing.assert_close((logits, energies), (want.logits, want.energies))
    sum(rows.square().sum() for rows in energies).backward()


def test_networks_export_with_a_batch_of_any_size(small, cut) -> None:
    for model in (small, cut):
        batch = torch.export.Dim("batch", max=64)
        program = torch.export.export(Traced(model), (torch.randn(2, 3, 16, 16),), dynamic_shapes=({0: batch},))
        images = torch.randn(5, 3, 16, 16)
        got, want = program.module()(images), model.trace(images)
        torch.testing.assert_close(got.logits, want.logits)
        torch.testing.assert_close(got.energies, want.energies)
