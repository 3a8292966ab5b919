"""The shipped recipes are the paper's, and a mistake in one is named."""

from pathlib import Path

import pytest

from codednet.cli.main import main
from codednet.errors import CodednetError
from codednet.runs.config import RunConfig
from codednet.training import load_recipe, recipe_names


def test_every_recipe_loads_and_says_its_cost_and_result() -> None:
    import codednet.training

    folder = Path(codednet.training.__file__).parent / "recipes"
    assert recipe_names() == ["cifar10", "cifar10-small", "cifar100", "fashion-mini", "imagenet"]
    for name in recipe_names():
        assert load_recipe(name).recipe == name
        comment = "".join(line for line in (folder / f"{name}.yaml").read_text().splitlines() if line.startswith("#"))
        assert "Cost" in comment
        assert "Result" in comment
        assert "measure" in comment or "paper's" in comment


@pytest.mark.parametrize(("name", "augmentation"), [("cifar10", "rand-m4-n3"), ("cifar100", "rand-m2-n1")])
def test_cifar_recipes_are_the_paper_s(name: str, augmentation: str) -> None:
    recipe = load_recipe(name)
    optim, data = recipe.optim, recipe.data
    assert (optim.epochs, optim.batch, optim.bn_batch, optim.learning_rate) == (300, 512, 64, 0.1)
    assert (optim.momentum, optim.nesterov, optim.weight_decay, optim.final_rate) == (0.9, True, 5e-4, 1e-5)
    assert (optim.warmup_epochs, optim.cooldown_epochs, optim.ema, optim.label_smoothing) == (0, 0, 0, 0)
    assert (data.crop, data.pad, data.flip, data.randaugment, data.tune) == ("pad", 4, True, augmentation, 0)
    assert (data.mixup, data.cutmix, data.erase) == (0, 0, 0)
    assert (recipe.coding.mu, recipe.coding.drop_branch, recipe.coding.exponent) == (6, 0.1, 4)


def test_imagenet_recipe_is_the_paper_s() -> None:
    recipe = load_recipe("imagenet")
    optim, data = recipe.optim, recipe.data
    assert (optim.epochs, optim.warmup_epochs, optim.cooldown_epochs) == (250, 5, 10)
    assert (optim.batch, optim.bn_batch, optim.learning_rate, optim.weight_decay) == (1536, 192, 0.6, 1e-4)
    assert (optim.momentum, optim.nesterov, optim.final_rate, optim.ema) == (0.9, True, 1e-5, 0)
    assert (data.crop, data.flip, data.randaugment) == ("resized", True, "rand-m7-n2-mstd0.5")
    assert (data.erase, data.erase_count, data.image_size, data.test_size, data.tune) == (0.4, 3, 160, 224, 0)
    assert (recipe.coding.mu, recipe.coding.drop_branch) == (2, 0.1)


def test_a_recipe_of_one_s_own_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("coding:\n  mu: 1\noptim:\n  weight_decay: 1e-4\n")
    recipe = load_recipe(str(path))
    assert (recipe.coding.mu, recipe.optim.weight_decay) == (1, 1e-4)
    assert recipe.data == RunConfig().data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coding:\n  muu: 1\n", r"coding\.muu.*did you mean.*mu"),
        ("optm:\n  epochs: 1\n", "optm.*did you mean.*optim"),
        ("optim:\n  epochs: many\n", r"optim\.epochs"),
        ("data: [1]\n", "data"),
        ("a: b: c\n", "mine.yaml"),
    ],
)
def test_a_mistake_in_a_recipe_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(CodednetError, match=message):
        load_recipe(str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cifar1"], "no recipe is called 'cifar1': did you mean 'cifar10'"),
        (["none.yaml"], "no recipe can be read from 'none.yaml'"),
        (["fashion-mini", "--optim.epoch", "3"], "unknown argument --optim.epoch: did you mean '--optim.epochs'?"),
        (["fashion-mini", "--coding.mu", "much"], "--coding.mu must be a number, got 'much'"),
        (["fashion-mini", "--data.name", "cifar11"], "no data set is called 'cifar11': did you mean 'cifar10'"),
        (["fashion-mini", "--model.name", "resnext20_10x4d"], "add coded=false"),
        ([], "RECIPE is missing"),
        (["--resume", "nowhere"], "'nowhere' is no run folder"),
    ],
)
def test_wrong_arguments_of_train_are_one_sentence(tmp_path, capsys, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
