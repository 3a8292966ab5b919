"""CodedTask in one's own Trainer, and its loss beside `total_loss`."""

from pathlib import Path

import pytest
import torch
from lightning.pytorch import Trainer

from codednet import create_model, total_loss
from codednet.data import DataConfig, DataModule
from codednet.errors import CodednetError
from codednet.runs.config import CodingConfig, OptimConfig
from codednet.training import CodedTask

# Lightning itself calls what torch has renamed.
OUTDATED = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(6, 3, 16, 16), torch.tensor([0, 1, 2, 3, 4, 9])


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize(("mu", "exponent", "smoothing"), [(6.0, 4, 0.0), (1.5, 2, 0.1)])
def test_the_loss_of_a_step_is_total_loss(batch, coded: bool, mu: float, exponent: int, smoothing: float) -> None:
    images, labels = batch
    model = create_model("coded_resnext20_10x4d" if coded else "resnext20_10x4d", num_classes=10)
    task = CodedTask(
        model, coding=CodingConfig(mu=mu, exponent=exponent), optim=OptimConfig(label_smoothing=smoothing)
    ).train()
    torch.manual_seed(1)
    found = task.training_step(batch, 0)["loss"]
    torch.manual_seed(1)
    wanted = total_loss(model.trace(images), labels, model.codes, mu, exponent=exponent, label_smoothing=smoothing)
    assert torch.allclose(found, wanted)


def test_class_weights_weigh_the_cross_entropy(batch) -> None:
    images, labels = batch
    model = create_model("resnext20_10x4d", num_classes=10).eval()
    weights = torch.linspace(0.5, 2, 10)
    found = CodedTask(model, class_weights=weights).eval().training_step(batch, 0)["loss"]
    logs = model(images).log_softmax(1)[range(6), labels].detach()
    assert found.detach() == pytest.approx(float(-(weights[labels] * logs).sum() / weights[labels].sum()), rel=1e-5)


def test_weights_of_norms_and_biases_are_decayed_only_if_asked() -> None:
    model = create_model("coded_resnext20_10x4d")
    (one,) = CodedTask(model, optim=OptimConfig()).configure_optimizers().param_groups
    assert len(one["params"]) == len(list(model.parameters()))
    matrices, others = CodedTask(model, optim=OptimConfig(decay_norms=False)).configure_optimizers().param_groups
    assert (matrices["weight_decay"], others["weight_decay"]) == (5e-4, 0)
    assert all(p.ndim > 1 for p in matrices["params"])
    assert all(p.ndim == 1 for p in others["params"])


@OUTDATED
def test_the_average_follows_the_weights_as_its_decay_says(pictures: Path, tmp_path: Path) -> None:
    model = create_model("coded_resnext20_10x4d", num_classes=10)
    task = CodedTask(model, optim=OptimConfig(epochs=1, ema=0.75, learning_rate=0.05))
    expected = {name: value.clone() for name, value in model.named_parameters()}
    task.on_train_batch_end = lambda *_: [  # type: ignore[method-assign]
        expected[name].lerp_(value.detach(), 0.25 if task.global_step > 1 else 1.0)
        for name, value in model.named_parameters()
    ]
    own_trainer(tmp_path, max_steps=4).fit(task, datamodule=data(pictures))
    for name, value in task.evaluated.named_parameters():
        assert torch.allclose(value, expected[name], atol=1e-6), name


@OUTDATED
def test_it_works_in_a_trainer_of_one_s_own(pictures: Path, tmp_path: Path) -> None:
    model = create_model("coded_resnext20_10x4d", num_classes=10)
    task = CodedTask(model, optim=OptimConfig(epochs=2, learning_rate=0.05))
    trainer = own_trainer(tmp_path, max_epochs=2)
    trainer.fit(task, datamodule=data(pictures))
    assert trainer.global_step == 2 * trainer.num_training_batches
    assert {"tune/loss", "tune/accuracy", "tune/decoder/layer3.1"} <= set(trainer.callback_metrics)
    assert task.rate == pytest.approx(1e-5)


def test_other_networks_are_refused() -> None:
    with pytest.raises(CodednetError, match=r"trains networks of codednet.create_model; got Linear"):
        CodedTask(torch.nn.Linear(3, 2))  # type: ignore[arg-type]


def data(pictures: Path) -> DataModule:
    config = DataConfig(name="imagefolder", root=str(pictures), image_size=16, test_size=16, tune=0.35, workers=0)
    return DataModule(config, batch=8)


def own_trainer(folder: Path, **options: int) -> Trainer:
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return Trainer(
        accelerator="cpu", devices=1, default_root_dir=folder, enable_model_summary=False, **quiet, **options
    )
