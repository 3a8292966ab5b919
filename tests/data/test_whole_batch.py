import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torchvision.transforms import functional, v2

from codednet.data.requests import Request
from codednet.data.source import ArraySource, grey
from codednet.data.whole_batch import ArrayBatches, mirror, normalise, pad_and_crop

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


@pytest.fixture(params=[(9, 7, 3), (8, 8, 1)], ids=["colour", "grey"])
def images(request: pytest.FixtureRequest) -> torch.Tensor:
    return torch.randint(0, 256, (20, *request.param), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_crops_are_windows_of_the_padded_images(images):
    pad = 3
    rows, columns = (torch.randint(0, 7, (20,), generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    got = pad_and_crop(images, rows, columns, pad)
    padded = F.pad(images, (0, 0, pad, pad, pad, pad))
    height, width = images.shape[1:3]
    for i, (row, column) in enumerate(zip(rows, columns, strict=True)):
        assert torch.equal(got[i], padded[i, row : row + height, column : column + width])


def test_some_images_are_mirrored_and_the_others_left(images):
    which = torch.arange(20) % 3 == 0
    got = mirror(images, which)
    for i in range(20):
        assert (
            torch.equal(got[i], v2.functional.horizontal_flip(images[i].permute(2, 0, 1)).permute(1, 2, 0)) == which[i]
        )
        assert torch.equal(got[i], images[i]) == (not which[i])


def test_numbers_are_bit_for_bit_those_of_torchvision(images):
    channels = images.shape[3]
    got = normalise(images, MEAN[:channels], STD[:channels])
    want = [
        functional.normalize(functional.to_tensor(image.numpy()), MEAN[:channels], STD[:channels]) for image in images
    ]
    assert torch.equal(got, torch.stack(want))
    assert got.is_contiguous(memory_format=torch.channels_last)


def test_grey_images_get_as_many_channels_as_there_are_statistics():
    images = torch.randint(0, 256, (4, 5, 6, 1), dtype=torch.uint8)
    got = normalise(images, MEAN, STD)
    assert torch.equal(got, normalise(images.repeat(1, 1, 1, 3), MEAN, STD))
    assert got.is_contiguous(memory_format=torch.channels_last)


def test_grey_of_colours_is_that_of_pil():
    images = torch.randint(0, 256, (5000, 4, 3, 3), dtype=torch.uint8)
    source = ArraySource(images, np.zeros(5000, np.int64), ("a", "b"))
    greys = source.with_channels(1)
    for i in (0, 1, 4095, 4096, 4999):
        want = np.asarray(source.read(i, in_chans=1))
        assert np.array_equal(greys.images[i, :, :, 0].numpy(), want)
        assert np.array_equal(np.asarray(greys.read(i, in_chans=1)), want)
    assert torch.equal(greys.images, grey(images))


def batches(images, **options):
    source = ArraySource(images, np.arange(len(images)) % 2, ("a", "b"))
    channels = images.shape[3]
    return ArrayBatches(source, channels, (0.0,) * channels, (1.0,) * channels, **options)


def request(indices, epoch=0, turns=None):
    return Request(epoch, np.array(indices), None if turns is None else np.array(turns))


def test_an_image_s_crop_and_flip_depend_on_seed_epoch_and_index_alone(images):
    reader = batches(images, pad=2, flip=True, seed=5)
    whole = reader.read(request(range(20), epoch=3)).images
    some = reader.read(request([7, 19, 7, 0], epoch=3)).images
    assert torch.equal(some, whole[[7, 19, 7, 0]])
    for other in (
        reader.read(request(range(20), epoch=4)).images,
        batches(images, pad=2, flip=True, seed=6).read(request(range(20), epoch=3)).images,
    ):
        assert (other != whole).flatten(1).any(1).sum() >= 15


def test_an_image_drawn_again_in_an_epoch_is_cropped_anew(images):
    reader = batches(images, pad=2, flip=True)
    again = reader.read(request([3] * 8, turns=range(8))).images
    assert len({image.numpy().tobytes() for image in again}) > 4


def test_crops_and_flips_are_those_of_a_fair_draw():
    # One bright pixel in the middle tells where the window was.
    images = torch.zeros(4000, 11, 11, 1, dtype=torch.uint8)
    images[:, 5, 4] = 255
    got = batches(images, pad=2).read(request(range(4000))).images[:, 0]
    places = got.flatten(1).argmax(1)
    counts = np.histogram2d(places // 11 - 5, places % 11 - 4, bins=np.arange(-2.5, 3))[0]
    assert counts.sum() == 4000
    assert np.abs(counts - 160).max() < 5 * np.sqrt(160)
    mirrored = batches(images, flip=True).read(request(range(4000))).images[:, 0].flatten(1).argmax(1) % 11
    assert set(mirrored.tolist()) == {4, 6}
    assert abs(int((mirrored == 6).sum()) - 2000) < 5 * np.sqrt(1000)
