"""The data module under Lightning's own Trainer."""

import subprocess
import sys
import warnings

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn

from codednet.data import DataConfig, DataModule
from codednet.data.module import next_batch

CONFIG = DataConfig(crop="pad", flip=True, tune_per_class=1190)  # 10 images a class to train on


class Task(pl.LightningModule):
    """Remembers which images it saw; stops where it is told."""

    def __init__(self, die_at: int | None = None) -> None:
        super().__init__()
        self.layer = nn.Linear(28 * 28, 10)
        self.seen: list[tuple[int, int, list[int]]] = []
        self.validated: list[int] = []
        self.die_at = die_at

    def training_step(self, batch, batch_idx):
        if self.die_at == self.global_step:
            raise KeyboardInterrupt
        self.seen.append((self.current_epoch, batch_idx, batch.indices.tolist()))
        return nn.functional.cross_entropy(self.layer(batch.images.flatten(1)), batch.labels)

    def validation_step(self, batch, batch_idx):
        self.validated += batch.indices.tolist()

    def test_step(self, batch, batch_idx):
        self.validated += batch.indices.tolist()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def trainer(tmp_path, *callbacks, **options):
    options = {"max_epochs": 3, "limit_val_batches": 1} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pl.Trainer(
            default_root_dir=tmp_path, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
            enable_model_summary=False, callbacks=list(callbacks), enable_checkpointing=bool(callbacks),
            use_distributed_sampler=False, **options,
        )  # fmt: skip


pytestmark = pytest.mark.filterwarnings(
    "ignore:.*does not have many workers", "ignore:Checkpoint directory", "ignore:.*isinstance.treespec, LeafSpec.",
    "ignore:`isinstance",
)  # fmt: skip


def test_a_trainer_trains_validates_and_tests_on_the_splits(tmp_path):
    task, module = Task(), DataModule(CONFIG, batch=25, seed=3)
    fit = trainer(tmp_path, limit_val_batches=1.0)
    fit.fit(task, module)
    want = module.data.train_loader(25, seed=3)
    assert task.seen == [(e, i, batch.indices.tolist()) for e in range(3) for i, batch in enumerate(want)]
    tune_fit = module.data.indices("tune-fit").tolist()
    assert task.validated[-len(tune_fit) :] == tune_fit
    task.validated.clear()
    fit.test(task, module, verbose=False)
    assert task.validated == module.data.indices("test").tolist()


@pytest.mark.filterwarnings("ignore:Total length of `list` across ranks is zero")
def test_without_tune_there_is_no_validation(tmp_path):
    task = Task()
    trainer(tmp_path, max_epochs=1).fit(task, DataModule(DataConfig(tune=0), batch=6000))
    assert len(task.seen) == 2
    assert task.validated == []


@pytest.mark.parametrize("steps", [4, 3], ids=["whole epochs", "limited epochs"])
@pytest.mark.parametrize("when", ["every step", "end of epoch", "after validation"])
@pytest.mark.parametrize("die_at", [4, 6, 7])
def test_a_resumed_training_sees_what_it_would_have_seen(tmp_path, steps, when, die_at):
    saves = {
        "every step": {"every_n_train_steps": 1},
        "end of epoch": {"save_on_train_epoch_end": True},
        "after validation": {"save_on_train_epoch_end": False},
    }[when]
    options = {"limit_train_batches": 1.0 if steps == 4 else steps}
    whole = Task()
    trainer(tmp_path, **options).fit(whole, DataModule(CONFIG, batch=25))

    def keep():
        return ModelCheckpoint(tmp_path / "kept", save_last=True, **saves)

    with pytest.raises((SystemExit, KeyboardInterrupt)):
        trainer(tmp_path, keep(), **options).fit(Task(die_at), DataModule(CONFIG, batch=25))
    resumed = Task()
    trainer(tmp_path, keep(), **options).fit(
        resumed, DataModule(CONFIG, batch=25), ckpt_path=tmp_path / "kept" / "last.ckpt", weights_only=False
    )
    kept = die_at if when == "every step" else die_at // steps * steps
    assert len(whole.seen) == 3 * steps
    assert resumed.seen == whole.seen[kept:]


def test_a_fresh_trainer_begins_at_the_beginning(tmp_path):
    assert next_batch(trainer(tmp_path), 10) == (0, 0)


def test_a_module_alone_gives_loaders_of_one_process():
    module = DataModule("fashion-mini", batch=100)
    assert len(module.train_dataloader()) == 108
    assert len(module.val_dataloader()) == 6
    assert len(module.test_dataloader()) == 20
    assert next(iter(module.train_dataloader())).images.shape == (100, 1, 28, 28)


def test_processes_share_the_batches(monkeypatch, tmp_path):
    module = DataModule(CONFIG, batch=20)
    module.trainer = trainer(tmp_path)
    monkeypatch.setattr(type(module.trainer), "world_size", 2)
    seen = []
    for rank in (0, 1):
        monkeypatch.setattr(type(module.trainer), "global_rank", rank)
        seen.append([batch.indices.tolist() for batch in module.train_dataloader()])
    alone = [batch.indices.tolist() for batch in module.data.train_loader(40, seed=0)]
    assert [left + right for left, right in zip(*seen, strict=True)] == alone


DISTRIBUTED = """
import sys
import lightning.pytorch as pl
import torch
from codednet.data import DataConfig, DataModule


class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(784, 10)

    def training_step(self, batch, batch_idx):
        with open(f"{sys.argv[1]}/{self.global_rank}.txt", "a") as file:
            print(*batch.indices.tolist(), file=file)
        return self.layer(batch.images.flatten(1)).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


if __name__ == "__main__":
    config = DataConfig(crop="pad", flip=True, tune_per_class=1190)
    pl.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, limit_val_batches=0, use_distributed_sampler=sys.argv[2] == "True",
    ).fit(Task(), DataModule(config, batch=20))
    torch.distributed.destroy_process_group()  # its threads must not outlive the interpreter
"""


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [True, False])
def test_two_processes_see_the_batches_of_one(tmp_path, sampler):
    (tmp_path / "train.py").write_text(DISTRIBUTED)
    command = [sys.executable, str(tmp_path / "train.py"), str(tmp_path), str(sampler)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = [(tmp_path / f"{rank}.txt").read_text().splitlines() for rank in (0, 1)]
    alone = DataModule(CONFIG).data.train_loader(40, seed=0)
    want = [" ".join(map(str, batch.indices.tolist())) for _ in range(2) for batch in alone]
    assert [f"{left} {right}" for left, right in zip(*seen, strict=True)] == want
