"""All detectors in one sweep say what each extracted network says, and evaluate the prefix once."""

import copy

import pytest
import torch
from torch import Tensor

import codednet
from codednet import CodednetError, extract
from codednet.measure import multiply_adds
from codednet.models import CodedResNeXt
from codednet.paths import DetectorSweep, detector_scores
from codednet.paths.sweep import take_channels


@torch.no_grad()
def one_by_one(model: CodedResNeXt, images: Tensor, classes: list[int], codes: object = None) -> Tensor:
    return torch.cat([extract(model, label, codes)(images) for label in classes], dim=1)


def assert_scores(got: Tensor, want: Tensor) -> None:
    assert got.shape == want.shape
    assert (got - want).abs().max() <= 1e-5 * want.abs().max()


@pytest.mark.parametrize("shortcut", ["projection", "free"])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_scores_are_the_extracted_networks_logits(trained, images, shortcut: str, layout: torch.memory_format) -> None:
    model = trained("coded_resnext20_10x4d", 16, shortcut=shortcut)
    images = images.to(memory_format=layout)
    assert_scores(detector_scores(model, images), one_by_one(model, images, list(range(10))))


def test_scores_are_the_masked_network_s_logits(small, images) -> None:
    scores = detector_scores(small, images)
    with torch.no_grad():
        for label in range(10):
            logits = small.trace(images, keep=[torch.tensor(code.words[label]) for code in small.codes]).logits
            assert_scores(scores[:, label], logits[:, label])


def test_scores_that_nobody_wants_are_not_evaluated(small, images) -> None:
    want = detector_scores(small, images)
    wanted = torch.rand(want.shape, generator=torch.Generator().manual_seed(1)) < 0.4
    wanted[:, 3], wanted[:, 4] = False, True
    found = DetectorSweep(small)(images, wanted)
    assert torch.equal(found.isnan(), ~wanted)
    assert (found - want)[wanted].abs().max() <= 1e-5 * want.abs().max()
    costs = [multiply_adds(lambda some=some: DetectorSweep(small)(images, some)) for some in (wanted, wanted | True)]
    assert costs[0] < costs[1]


def test_some_classes_come_in_the_order_asked_for(small, images) -> None:
    sweep = DetectorSweep(small, ["hen", 2])
    assert sweep.classes == [7, 2]
    assert_scores(sweep(images), one_by_one(small, images, [7, 2]))


def test_networks_beyond_what_is_held_are_cut_again(small, images) -> None:
    want = DetectorSweep(small)(images)
    one = sum(parameter.nbytes for parameter in extract(small, 0).parameters())
    for held in (0, 3 * one):
        sweep = DetectorSweep(small, held_bytes=held)
        for _ in range(2):
            torch.testing.assert_close(sweep(images), want, rtol=0, atol=0)


def test_a_sweep_is_a_snapshot_in_evaluation_mode(small, images) -> None:
    model = copy.deepcopy(small).train()
    sweep, want = DetectorSweep(model), detector_scores(small, images)
    assert model.training
    with torch.no_grad():
        model.fc.weight.zero_()
        model.conv1.weight.zero_()
    torch.testing.assert_close(sweep(images), want)


def test_a_plain_twin_s_detectors_are_swept_alike(small, plain, images) -> None:
    got = detector_scores(plain, images, codes=small.codes)
    assert_scores(got, one_by_one(plain, images, list(range(10)), small.codes))
    with pytest.raises(CodednetError, match="every class uses all of it"):
        detector_scores(plain, images)


def test_networks_already_cut_can_be_swept(small, images) -> None:
    part = extract(small, ["cat", "elk", "jay"])
    assert_scores(detector_scores(part, images), one_by_one(part, images, [0, 1, 2]))
    alone = extract(small, "cat")
    assert_scores(detector_scores(alone, images), alone(images).detach())


def test_coded_blocks_may_come_last_alone(images) -> None:
    model = codednet.create_model("coded_resnext20_10x4d", active=[10, 10, 10, 10, 10, 3]).eval()
    assert_scores(detector_scores(model, images), one_by_one(model, images, list(range(10))))


def test_ten_detectors_take_less_than_a_third_of_ten_full_passes() -> None:
    model = codednet.create_model("coded_resnext29_10x11d").eval()
    image = torch.zeros(1, 3, 32, 32)
    sweep = DetectorSweep(model)
    with torch.no_grad():
        model(image)
        sweep(image)
        ratio = 10 * multiply_adds(lambda: model(image)) / multiply_adds(lambda: sweep(image))
    assert 3.3 < ratio < 3.5


def test_channels_are_taken_in_the_layout_of_the_whole() -> None:
    u, channels = torch.randn(2, 6, 3, 3), torch.tensor([4, 1])
    for layout in (torch.contiguous_format, torch.channels_last):
        taken = take_channels(u.to(memory_format=layout), channels)
        assert torch.equal(taken, u[:, [4, 1]])
        assert taken.is_contiguous(memory_format=layout)
