import pytest
import torch

from codednet.models import create_model
from codednet.models.shortcut import FreeShortcut, make_shortcut


@pytest.mark.parametrize("size", [7, 8])
def test_free_shortcut_pools_and_pads_without_parameters(size: int) -> None:
    x = torch.randn(2, 4, size, size)
    shortcut = make_shortcut("free", 4, 6, 2)
    y = shortcut(x)
    assert y.shape == (2, 6, (size + 1) // 2, (size + 1) // 2)
    torch.testing.assert_close(y[:, :4, 0, 0], x[:, :, :2, :2].mean((2, 3)))
    assert (y[:, 4:] == 0).all()
    assert not list(shortcut.parameters())


@pytest.mark.parametrize("kind", ["projection", "free"])
def test_no_shortcut_where_shapes_stay(kind: str) -> None:
    assert make_shortcut(kind, 8, 8, 1) is None


@pytest.mark.parametrize("size", [28, 32])
def test_free_network_has_no_parameters_outside_of_branches(size: int) -> None:
    model = create_model("coded_resnext20_10x4d", shortcut="free")
    assert not [name for name, _ in model.named_parameters() if "downsample" in name]
    assert isinstance(model.layer2[0].downsample, FreeShortcut)
    assert model(torch.randn(2, 3, size, size)).shape == (2, 10)
