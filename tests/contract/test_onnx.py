"""Export to ONNX stays possible: torch's dynamo exporter against ONNX Runtime."""

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import nn

from codednet.models import CodedResNeXt, create_model


def enliven(model: nn.Module) -> nn.Module:
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1, 0.2)
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
    return model


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("coded_resnext20_10x4d", None),
        ("coded_resnext20_10x4d", [3]),
        pytest.param("coded_resnext29_20x6d", [5, 60], marks=pytest.mark.slow),
        pytest.param("coded_resnext50_32x4d", None, marks=pytest.mark.slow),
    ],
)
def test_onnx_runtime_agrees(name: str, classes: list[int] | None, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = create_model(name).config
    model = enliven(CodedResNeXt(config if classes is None else config.narrowed(classes))).eval()
    size = 64 if "50_" in name else 16
    path = tmp_path / "model.onnx"
    example = (torch.randn(2, 3, size, size),)
    torch.onnx.export(model, example, path, dynamo=True, dynamic_shapes=({0: "batch"},), verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    images = torch.randn(3, 3, size, size)
    with torch.no_grad():
        want = model(images)
    (got,) = session.run(None, {session.get_inputs()[0].name: images.numpy()})
    torch.testing.assert_close(torch.from_numpy(got), want, rtol=1e-4, atol=1e-5 * float(want.abs().max()))
