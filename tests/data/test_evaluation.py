import numpy as np
import pytest
import timm
import torch
from PIL import Image
from timm.data import create_transform

from codednet.data import evaluation_transform
from codednet.data.evaluation import over_channels
from codednet.errors import CodednetError


@pytest.mark.parametrize("in_chans", [1, 3])
def test_tensors_of_whole_batches_are_those_of_single_images(mini, in_chans):
    data = mini(in_chans)
    batch = next(iter(data.eval_loader("test", 16)))
    transform = evaluation_transform(data.preprocessing(), in_chans)
    for image, index in zip(batch.images, batch.indices.tolist(), strict=True):
        assert torch.equal(image, transform(data.source.read(index, in_chans)))


def test_images_resized_once_are_those_resized_each_time(mini):
    once = mini(image_size=32)
    each = mini(image_size=20, test_size=32, workers=0)
    assert type(once._evaluation_reader()) is not type(each._evaluation_reader())
    left, right = (next(iter(data.eval_loader("tune-fit", 8))) for data in (once, each))
    assert left.images.shape == (8, 1, 32, 32)
    assert torch.equal(left.images, right.images)
    assert torch.equal(left.labels, right.labels)


def test_evaluation_is_timm_s(photo):
    cfg = {"input_size": (3, 16, 16), "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4), "crop_pct": 0.875}
    image = photo(width=50, height=30)
    want = create_transform((3, 16, 16), mean=cfg["mean"], std=cfg["std"], crop_pct=0.875, interpolation="bicubic")(
        image
    )
    assert torch.equal(evaluation_transform(cfg, 3)(image), want)


def test_a_network_of_timm_says_what_it_needs(photo):
    model = timm.create_model("resnet18")
    assert evaluation_transform(model.pretrained_cfg, 3)(photo()).shape == (3, 288, 288)
    assert model.pretrained_cfg["input_size"] == (3, 224, 224)


def test_any_picture_comes_in_the_channels_asked_for(photo):
    cfg = {"input_size": (3, 12, 12), "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.2, 0.2)}
    assert evaluation_transform(cfg, 1)(photo()).shape == (1, 12, 12)
    grey = evaluation_transform(cfg | {"mean": (0.0,), "std": (1.0,)}, 3)(photo(mode="L"))
    assert torch.equal(grey[0], grey[2])
    white = Image.new("RGB", (12, 12), "white")
    assert evaluation_transform(cfg, 1)(white).mean() == pytest.approx((1 - 0.4) / 0.2)


def test_statistics_spread_over_other_channels():
    assert over_channels((0.5, 0.4, 0.3), 1) == pytest.approx((0.4,))
    assert over_channels((0.286,), 3) == (0.286,) * 3


def test_other_channels_are_refused(mini):
    with pytest.raises(CodednetError, match=r"in_chans=1 \(grey\) or in_chans=3 \(RGB\); got 4"):
        mini(4)
    with pytest.raises(CodednetError, match="got 0"):
        mini(0)


def test_statistics_may_be_given(mini):
    assert mini(3, mean=(0.5,), std=(0.25,)).preprocessing()["mean"] == (0.5,) * 3
    data = mini(mean=(0.0,), std=(1.0,))
    batch = next(iter(data.eval_loader("test", 4)))
    pixels = np.stack([np.asarray(data.source.read(i, 1)) for i in batch.indices.tolist()])
    assert np.array_equal(batch.images[:, 0].numpy(), pixels.astype(np.float32) / 255)
    with pytest.raises(CodednetError, match="a number for each of the 1 channels, or one for all; got 3"):
        mini(mean=(0.5, 0.4, 0.3), std=(1.0, 1.0, 1.0))


def test_preprocessing_is_in_timm_s_form(mini):
    assert mini().preprocessing() == {
        "input_size": (1, 28, 28),
        "mean": (0.2860,),
        "std": (0.3530,),
        "crop_pct": 1.0,
        "crop_mode": "center",
        "interpolation": "bicubic",
    }
    cfg = mini(3, image_size=24, test_size=32, test_crop=0.9).preprocessing()
    assert (cfg["input_size"], cfg["test_input_size"], cfg["crop_pct"]) == ((3, 24, 24), (3, 32, 32), 0.9)
    assert evaluation_transform(cfg, 3)(Image.new("L", (28, 28))).shape == (3, 32, 32)
