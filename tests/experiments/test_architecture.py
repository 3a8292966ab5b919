"""Sizes of the stages, of the network and of one class's path, counted on the modules of networks that are cut out."""

import pytest
import torch

import codednet
from codednet.experiments import Subject, find
from codednet.models import CodedResNeXt
from codednet.runs import RunFolder

ARCHITECTURE = find("architecture")


def count(*modules: torch.nn.Module) -> int:
    return sum(tensor.numel() for module in modules for tensor in module.parameters())


@torch.no_grad()
def multiply_adds(model: CodedResNeXt, size: int) -> int:
    """One for each weight and place that it meets; an energy costs width squared for each pixel of a branch."""
    x = torch.zeros(1, model.in_chans, size, size)
    total = model.conv1.weight.numel() * model.conv1(x)[0, 0].numel() + model.fc.weight.numel()
    for step in model.walk(x):
        block, before, after = step.block, step.input[0, 0].numel(), step.hidden[0, 0].numel()
        total += block.conv1.weight.numel() * before
        total += (block.conv2.weight.numel() + block.conv3.weight.numel()) * after
        convolutions = [] if block.downsample is None else block.downsample.modules()
        total += sum(one.weight.numel() * after for one in convolutions if isinstance(one, torch.nn.Conv2d))
        if block.is_coded:
            total += block.config.width**2 * len(block.config.branches) * after
    return total


@pytest.fixture(scope="module")
def parts(subject) -> list[CodedResNeXt]:
    """The network of each class alone."""
    return [codednet.extract(subject.model, [label]) for label in range(10)]


def test_parameters_and_multiply_adds_are_counted_on_the_modules(record, subject, parts):
    model, found = subject.model, record("architecture")
    by_stage = {"stem": count(model.conv1, model.bn1)}
    by_stage |= {name: count(getattr(model, name)) for name in ("layer1", "layer2", "layer3")}
    assert found.parameters_by_stage == by_stage | {"fc": count(model.fc)}
    assert found.parameters == count(model) == sum(found.parameters_by_stage.values())
    assert (found.image_size, found.classes, found.in_chans) == (16, 10, 3)
    assert found.multiply_adds == multiply_adds(model, 16)
    stages = [(row.stage, row.active, row.branches, row.blocks, row.parameters) for row in found.stages]
    assert stages == [
        (name, active, 10, len(getattr(model, name)), by_stage[name])
        for name, active in (("layer1", 10), ("layer2", 5), ("layer3", 3))
    ]
    path = found.class_path
    assert {count(part) for part in parts} == {path.parameters}
    assert {multiply_adds(part, 16) for part in parts} == {path.multiply_adds}
    assert path.parameters_share == pytest.approx(count(parts[0]) / count(model), abs=1e-12)
    assert path.multiply_adds_share == pytest.approx(path.multiply_adds / found.multiply_adds, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "millions", "share", "cut"),
    [
        ("coded_resnext29_10x11d", 4.639, 46.3, 37.0),
        ("coded_resnext29_20x6d", 4.749, 37.4, 26.9),
        ("coded_resnext50_32x4d", 25.029, 41.6, 34.3),
    ],
)
def test_the_papers_networks_have_the_sizes_that_were_worked_out_by_hand(tmp_path, name, millions, share, cut):
    model = codednet.create_model(name)
    codednet.save(model, tmp_path / "model")
    found = ARCHITECTURE.measure(Subject(RunFolder(tmp_path), device="cpu"), ARCHITECTURE.options())
    assert found.parameters / 1e6 == pytest.approx(millions, abs=5e-4)
    assert 100 * found.class_path.parameters_share == pytest.approx(share, abs=0.05)
    assert 100 * found.class_path.share_shortcuts_cut == pytest.approx(cut, abs=0.05)
