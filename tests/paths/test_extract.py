"""A class's path, cut out of the network, is that network with everything else removed."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import codednet
from codednet import CodednetError, extract
from codednet.models import CodedResNeXt, Trace

SMALL = "coded_resnext20_10x4d"
CIFAR10 = "coded_resnext29_10x11d"
CIFAR100 = "coded_resnext29_20x6d"
IMAGENET = "coded_resnext50_32x4d"
SHORTCUTS = ("projection", "free")


def assert_close(got: Tensor, want: Tensor, largest: Tensor | None = None) -> None:
    """To 1e-5 of the largest entry."""
    scale = (want if largest is None else largest).abs().max()
    assert (got - want).abs().max() <= 1e-5 * scale


@torch.no_grad()
def masked(model: CodedResNeXt, classes: list[int], images: Tensor) -> Trace:
    """What the full network says with the branches of other classes removed."""
    return model.trace(images, keep=[torch.tensor(code.words[classes].max(axis=0)) for code in model.codes])


@torch.no_grad()
def assert_equals_masked(model: CodedResNeXt, classes: list[int], images: Tensor) -> None:
    part, want = extract(model, classes), masked(model, classes, images)
    got = part.trace(images)
    assert_close(got.logits, want.logits[:, classes], largest=want.logits)
    assert_close(part(images), want.logits[:, classes], largest=want.logits)
    for here, there in zip(got.energies, want.energies, strict=True):
        assert_close(here, there)


@pytest.mark.parametrize("shortcut", SHORTCUTS)
@given(classes=st.lists(st.integers(0, 9), min_size=1, unique=True), seed=st.integers(0, 99))
def test_extracted_network_equals_masked_network(trained, shortcut: str, classes: list[int], seed: int) -> None:
    images = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
    assert_equals_masked(trained(SMALL, 16, shortcut=shortcut), classes, images)


@pytest.mark.parametrize("shortcut", SHORTCUTS)
@pytest.mark.parametrize("name", [SMALL, "coded_resnext20_10x6d", CIFAR10])
def test_every_class_of_ten_equals_masked_network(trained, name: str, shortcut: str) -> None:
    images = torch.randn(2, 3, 16, 16)
    for label in range(10):
        assert_equals_masked(trained(name, 16, shortcut=shortcut), [label], images)


@pytest.mark.slow
@pytest.mark.parametrize("shortcut", SHORTCUTS)
@pytest.mark.parametrize(("name", "size", "num_classes"), [(CIFAR100, 32, 100), (IMAGENET, 64, 1000)])
def test_drawn_classes_of_many_equal_masked_network(trained, name, size, num_classes, shortcut) -> None:
    images = torch.randn(2, 3, size, size)
    for label in torch.randperm(num_classes)[:6].tolist():
        assert_equals_masked(trained(name, size, shortcut=shortcut), [label], images)
    assert_equals_masked(trained(name, size, shortcut=shortcut), torch.randperm(num_classes)[:3].tolist(), images)


def test_networks_with_options_are_cut_alike(trained, images) -> None:
    for options in (
        {"active": (10, 5, 7, 7, 3, 10), "num_classes": 25},
        {"normalise": False, "global_pool": "max"},
        {"drop_path_rate": 0.2, "drop_branch": 0.4, "in_chans": 1},
    ):
        model = trained(SMALL, 16, **options)
        assert_equals_masked(model, [7, 2], images[:, : model.in_chans])


@pytest.mark.parametrize(
    ("name", "projection", "free"), [(CIFAR10, 0.463, 0.373), (CIFAR100, 0.374, 0.272), (IMAGENET, 0.416, 0.344)]
)
def test_one_class_takes_the_promised_share_of_the_parameters(name: str, projection: float, free: float) -> None:
    def share(shortcut: str) -> float:
        model = codednet.create_model(name, shortcut=shortcut)
        parts = [sum(parameter.numel() for parameter in net.parameters()) for net in (extract(model, 3), model)]
        return parts[0] / parts[1]

    assert round(share("projection"), 3) == projection
    assert round(share("free"), 3) <= free


def test_convolutions_are_plain_and_smaller(small) -> None:
    part = extract(small, ["cat"])
    for (_, block), (_, whole) in zip(part.named_blocks(), small.named_blocks(), strict=True):
        kept = block.config.active
        assert block.conv2.groups == kept
        assert block.conv1.out_channels * whole.config.num_branches == whole.conv1.out_channels * kept
    assert isinstance(part.fc, nn.Linear)
    assert part.fc.out_features == 1


def test_classes_are_named_or_numbered_and_keep_the_order_asked_for(small, images) -> None:
    part = extract(small, ["hen", 2, np.int64(0)])
    assert part.config.class_names == ("hen", "cat", "ant")
    assert part.pretrained_cfg["label_names"] == ("hen", "cat", "ant")
    assert part.pretrained_cfg["num_classes"] == 3
    for same in ([7, 2, 0], torch.tensor([7, 2, 0]), np.array([7, 2, 0]), iter([7, "cat", 0])):
        torch.testing.assert_close(part(images), extract(small, same)(images))
    torch.testing.assert_close(extract(small, "cat")(images), extract(small, 2)(images))


def test_energies_and_codes_keep_their_meaning(small, images) -> None:
    part = extract(small, [7, 2])
    trace = part.trace(images)
    for energies, code, whole in zip(trace.energies, part.codes, small.codes, strict=True):
        assert (code.words == whole.words[[7, 2]]).all()
        assert code.rate == whole.rate
        torch.testing.assert_close(energies.sum(1), torch.full((5,), 10.0))
    labels = torch.tensor([0, 1, 0, 1, 0])
    want = masked(small, [7, 2], images)
    losses = codednet.coding_loss(trace.energies, labels, part.codes)
    there = codednet.coding_loss(want.energies, torch.tensor([7, 2, 7, 2, 7]), small.codes)
    torch.testing.assert_close(losses, there)
    assert codednet.decode(trace.energies, part.codes).max() <= 1


def test_the_original_is_untouched_and_shares_nothing(small, images) -> None:
    before = {key: value.clone() for key, value in small.state_dict().items()}
    state = torch.random.get_rng_state()
    part = extract(small, list(range(10)))
    assert torch.equal(state, torch.random.get_rng_state())
    with torch.no_grad():
        for tensor in part.state_dict().values():
            tensor.zero_()
    part.pretrained_cfg["mean"] = None
    assert small.pretrained_cfg["mean"] is not None
    assert all(torch.equal(value, before[key]) for key, value in small.state_dict().items())
    assert small.config.num_classes == 10
    assert not small.config.is_cut


def test_all_classes_are_the_whole_network(small, images) -> None:
    torch.testing.assert_close(extract(small, range(10)).trace(images), small.trace(images))


def test_mode_precision_and_frozen_parameters_are_the_model_s(small, images) -> None:
    model = copy.deepcopy(small).double().train()
    model.conv1.requires_grad_(False)
    part = extract(model, [1])
    assert part.training
    assert {p.dtype for p in part.parameters()} == {torch.float64}
    assert [name for name, p in part.named_parameters() if not p.requires_grad] == ["conv1.weight"]
    assert not extract(small, [1]).training


def test_an_extracted_network_is_saved_and_loaded_like_any_other(small, images, tmp_path: Path) -> None:
    part = extract(small, ["cat", "elk"])
    codednet.save(part, tmp_path)
    again = codednet.load(tmp_path)
    assert again.config == part.config
    torch.testing.assert_close(again.trace(images), part.trace(images), rtol=0, atol=0)
    for one, other in zip(again.parameters(), part.parameters(), strict=True):
        assert one.stride() == other.stride()


def test_cutting_twice_is_cutting_once(small, images) -> None:
    twice, once = extract(extract(small, ["elk", "cat", "jay"]), ["jay", "elk"]), extract(small, ["jay", "elk"])
    assert twice.config == once.config
    assert all(torch.equal(value, once.state_dict()[key]) for key, value in twice.state_dict().items())


def test_an_extracted_network_learns(small, images) -> None:
    part = extract(small, [1, 2]).train()
    optimizer = torch.optim.SGD(part.parameters(), lr=0.05)
    labels, losses = torch.tensor([0, 1, 0, 1, 0]), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = codednet.total_loss(part.trace(images), labels, part.codes, mu=1.0)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2


@pytest.mark.unchecked
def test_an_extracted_network_compiles_and_exports(small, images) -> None:
    part = extract(small, [3])
    torch.compiler.reset()
    compiled = torch.compile(part, fullgraph=True, backend="aot_eager")
    program = torch.export.export(part, (images,), dynamic_shapes=({0: torch.export.Dim("batch", max=64)},))
    with torch.no_grad():
        torch.testing.assert_close(compiled(images), part(images))
        torch.testing.assert_close(program.module()(images[:2]), part(images[:2]))


def test_on_a_cpu_extracted_networks_run_in_channels_last(small) -> None:
    for block in extract(small, [3]).layer2:
        assert block.conv2.weight.is_contiguous(memory_format=torch.channels_last)
    assert not small.layer2[0].conv2.weight.is_contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def naive_masked_plain(plain: CodedResNeXt, words: dict[str, np.ndarray], images: Tensor) -> Tensor:
    """The plain network with hidden channels of absent branches zeroed before the last convolution."""
    x = plain.stem(images)
    for name, block in plain.named_blocks():
        u = block.hidden(x)
        if name in words:
            kept = torch.tensor(words[name], dtype=u.dtype).repeat_interleave(block.config.width)
            u = u * kept[:, None, None]
        x = block.merge(block.conv3(u), x)
    return plain.forward_head(x)


def test_a_plain_twin_is_cut_along_a_coded_network_s_codes(small, plain, images, tmp_path: Path) -> None:
    part = extract(plain, ["cat", "hen"], codes=small.codes)
    words = {n: code.words[[2, 7]].max(axis=0) for n, code in zip(small.coded_blocks, small.codes, strict=True)}
    want = naive_masked_plain(plain, words, images)[:, [2, 7]]
    assert_close(part(images), want)
    twin = extract(small, ["cat", "hen"])
    assert [p.shape for p in part.parameters()] == [p.shape for p in twin.parameters()]
    codednet.save(part, tmp_path)
    torch.testing.assert_close(codednet.load(tmp_path)(images), part(images))
    again = extract(part, "hen", codes=twin.codes)
    torch.testing.assert_close(again(images), extract(plain, "hen", codes=small.codes)(images))


def test_codes_for_a_plain_network_go_by_stage_and_block_too(small, plain, images) -> None:
    want = extract(plain, 4, codes=small.codes)(images)
    first, second = small.codes[0], small.codes[-1]
    torch.testing.assert_close(extract(plain, 4, codes={"layer2": first, "layer3": second.words})(images), want)
    assert extract(plain, 4, codes={"layer3.1": second}).layer2[0].conv2.groups == 10


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["dgo"], "no class is called 'dgo'; did you mean 'dog'?"),
        (["zzz"], "no class is called 'zzz'; known: ant, bee"),
        ([], "at least one of the network's 10 classes must be asked for; got none"),
        (["cat", "dog", "cat"], "class 'cat' is asked for twice"),
        (["cat", 2], "class 'cat' is asked for twice"),
        ([10], "classes have indices from 0 to 9; got 10"),
        ([-1], "classes have indices from 0 to 9; got -1"),
        ([True], "classes have indices from 0 to 9; got True"),
        ([1.5], "by its name or its index; got float"),
        (None, "by its name or its index; got NoneType"),
    ],
)
def test_classes_that_are_not_there_are_refused(small, classes, message: str) -> None:
    with pytest.raises(CodednetError) as caught:
        extract(small, classes)
    assert message in str(caught.value)


def test_names_are_asked_for_where_there_are_names(trained) -> None:
    with pytest.raises(CodednetError, match="have no names, so 'cat' is none of them: ask by index, from 0 to 9"):
        extract(trained(SMALL, 16), "cat")
    model = codednet.create_model(SMALL, class_names=["crane", "owl", "crane"])
    with pytest.raises(CodednetError, match=r"classes \[0, 2\] are all called 'crane': ask by index"):
        extract(model, ["crane"])
    assert extract(model, [2, "owl"]).config.class_names == ("crane", "owl")


def test_networks_without_paths_are_refused(small, plain) -> None:
    with pytest.raises(CodednetError, match=r"every class uses all of it: for a control.*codes=model.codes"):
        extract(plain, "cat")
    with pytest.raises(CodednetError, match="obeys codes of its own"):
        extract(small, "cat", codes=small.codes)
    headless = copy.deepcopy(small)
    headless.reset_classifier(0)
    with pytest.raises(CodednetError, match="no classifier, hence no classes"):
        extract(headless, [0])
    with pytest.raises(CodednetError, match=r"have class paths; got Sequential\. Give the network itself"):
        extract(nn.Sequential(small), [0])


@pytest.mark.unchecked
def test_codes_that_do_not_fit_a_plain_network_are_refused(small, plain) -> None:
    wide, few = codednet.design_code(10, 12, 3), codednet.design_code(5, 10, 3)
    for code in (wide, few):
        with pytest.raises(CodednetError, match=r"layer3\.0 must have a word of length 10 for each of the 10 classes"):
            extract(plain, "cat", codes={"layer3": code})
    with pytest.raises(CodednetError, match="codes must be given for each of the 3 stages or each of the 6 blocks"):
        extract(plain, "cat", codes=small.codes[:2])
    part = extract(plain, ["cat", "dog"], codes=small.codes)
    other = codednet.Code(1 - extract(small, ["cat", "dog"]).codes[0].words)
    with pytest.raises(CodednetError, match=r"layer2\.0 has been cut already and lacks branches"):
        extract(part, "cat", codes={"layer2": other})
