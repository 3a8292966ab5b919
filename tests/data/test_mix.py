import numpy as np
import pytest
import torch

from codednet.data.mix import mix
from codednet.errors import CodednetError


@pytest.fixture
def images():
    return torch.randn(12, 3, 8, 10, generator=torch.Generator().manual_seed(0))


def generator(seed=0):
    return np.random.default_rng(seed)


def test_mixup_is_a_mean_of_image_and_partner(images):
    mixed = mix(images, mixup=0.8, cutmix=0.0, draw=generator())
    assert 0 < mixed.share < 1
    assert sorted(mixed.partners.tolist()) == list(range(12))
    for i, partner in enumerate(mixed.partners):
        want = mixed.share * images[i] + (1 - mixed.share) * images[partner]
        torch.testing.assert_close(mixed.images[i], want)


@pytest.mark.parametrize("seed", range(20))
def test_cutmix_shows_the_partner_in_a_rectangle_and_counts_its_pixels(images, seed):
    mixed = mix(images, mixup=0.0, cutmix=1.0, draw=generator(seed))
    kept = (mixed.images == images).all(dim=1)
    moved = torch.tensor([i != p for i, p in enumerate(mixed.partners.tolist())])
    shown = ~kept[moved][0]
    assert (~kept[moved] == shown).all()
    assert mixed.share == pytest.approx(1 - shown.float().mean().item())
    assert torch.equal(mixed.images[:, :, shown], images[mixed.partners][:, :, shown])
    rows, columns = shown.any(1).sum(), shown.any(0).sum()
    assert shown.sum() == rows * columns


def test_with_both_each_has_its_turn(images):
    cuts = 0
    for seed in range(400):
        mixed = mix(images, mixup=1.0, cutmix=1.0, draw=generator(seed))
        moved = mixed.partners != torch.arange(12)
        cuts += bool((mixed.images == images)[moved].any())
    assert abs(cuts - 200) < 5 * 10


def test_with_neither_the_images_are_as_they_were(images):
    mixed = mix(images, mixup=0.0, cutmix=0.0, draw=generator())
    assert mixed.share == 1
    assert torch.equal(mixed.images, images)
    assert mixed.partners.tolist() == list(range(12))


def test_the_batch_given_is_left_alone_and_the_layout_kept(images):
    images = images.to(memory_format=torch.channels_last)
    before = images.clone()
    for options in ({"mixup": 0.0, "cutmix": 1.0}, {"mixup": 1.0, "cutmix": 0.0}):
        mixed = mix(images, draw=generator(3), **options)
        assert mixed.images.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(images, before)


def test_shares_follow_the_beta_distribution(images):
    from scipy import stats

    shares = [mix(images, mixup=0.4, cutmix=0.0, draw=generator(seed)).share for seed in range(500)]
    assert stats.kstest(shares, stats.beta(0.4, 0.4).cdf).pvalue > 1e-3


def test_negative_alphas_are_refused(images):
    with pytest.raises(CodednetError, match=r"mixup and cutmix must be 0 or more; got -1\.0 and 0\.0"):
        mix(images, mixup=-1.0, cutmix=0.0, draw=generator())
