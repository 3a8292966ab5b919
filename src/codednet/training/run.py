"""A training from its config to a finished run folder, and on from wherever it stopped."""

import logging
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.loggers import Logger, TensorBoardLogger
from lightning.pytorch.utilities.exceptions import SIGTERMException

from codednet.data.module import DataModule
from codednet.errors import CodednetError, FullDiskError
from codednet.models import CodedResNeXt
from codednet.models.document import from_document, to_document
from codednet.runs.config import RunConfig
from codednet.runs.environment import environment
from codednet.runs.folder import RunFolder, new_run, open_run
from codednet.training import processes
from codednet.training.device import Choice, choose
from codednet.training.keeper import Keeper, WholeCheckpoints
from codednet.training.network import build, network_config
from codednet.training.recorder import Recorder
from codednet.training.task import CodedTask

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training to be run, and how it is to be shown."""

    config: RunConfig
    folder: RunFolder
    choice: Choice
    callbacks: Sequence[Callback]
    progress: bool
    say: Say


def train(
    config: RunConfig,
    path: str | Path,
    *,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    say: Say = print,
) -> dict[str, Any]:
    """Train into a new folder; what results/train.json then holds. Lightning callbacks of one's own come first."""
    choice = choose(config.machine)
    processes.join(choice)
    folder = new_run(Path(path)) if processes.is_first() else RunFolder(Path(path))
    return _run(Job(config=config, folder=folder, choice=choice, callbacks=callbacks, progress=progress, say=say))


def resume(
    path: str | Path, *, callbacks: Sequence[Callback] = (), progress: bool = True, say: Say = print
) -> dict[str, Any]:
    """Go on with an interrupted run from its last checkpoint; what results/train.json then holds."""
    folder = open_run(path)
    if folder.is_finished:
        raise CodednetError(f"the run in '{path}' is finished: there is nothing to resume.")
    config = folder.config()
    choice = choose(config.machine)
    processes.join(choice)
    return _run(Job(config=config, folder=folder, choice=choice, callbacks=callbacks, progress=progress, say=say))


def _run(job: Job) -> dict[str, Any]:
    config, folder = job.config, job.folder
    if not processes.is_first():
        job = replace(job, say=_silent)
    try:
        module = DataModule(config.data, _part(config, job.choice), config.seed, config.model.in_chans)
        if processes.is_first():
            _ = module.data  # the first downloads, before the others look
        network = from_document(processes.from_first(_network(config, folder, module)))
        model = build(network, config, module.data)
        if processes.is_first() and not folder.config_file.exists():
            codes = {
                name: network.codes[block.code] for name, block in network.coded_blocks() if block.code is not None
            }
            folder.write_start(config, to_document(network), environment(config.seed), codes)
        job.say(f"{job.choice}: {_described(config, model, module)}")
        return _fit(job, module, model)
    finally:
        processes.leave()


def _network(config: RunConfig, folder: RunFolder, module: DataModule) -> dict[str, Any]:
    """Document of the network: the folder's own where the run was begun before; of the first process, to be shared."""
    if not processes.is_first():
        return {}
    begun = folder.network() if folder.config_file.exists() else None
    return begun or to_document(network_config(config, module.data))


def _fit(job: Job, module: DataModule, model: CodedResNeXt) -> dict[str, Any]:
    config, folder = job.config, job.folder
    task = _task(config, module, model)
    resumed = folder.checkpoint.is_file()
    recorder = Recorder(folder, task.names, resumed)
    keeper = Keeper(folder, recorder, config.machine.checkpoint_minutes)
    started = time.monotonic()
    with _quiet():
        trainer = _trainer(job, [recorder, keeper], resumed)
        if resumed:
            job.say(f"going on from '{folder.checkpoint}'")
        try:
            trainer.fit(task, datamodule=module, ckpt_path=folder.checkpoint if resumed else None, weights_only=True)
        except FullDiskError as error:
            raise CodednetError(f"{error} Then `codednet train --resume {folder.path}` goes on.") from error
        except SystemExit as end:
            job.say(f"stopped; `codednet train --resume {folder.path}` goes on")
            if isinstance(end, SIGTERMException):
                raise SystemExit(128 + signal.SIGTERM) from None
            raise KeyboardInterrupt from None  # Lightning makes an exit of it
        finally:
            recorder.close()  # a trainer that fails tears nothing down
    summary = _summary(config, trainer, recorder, keeper, time.monotonic() - started)
    if trainer.is_global_zero:
        folder.write_json("train", summary)
    return summary


def _task(config: RunConfig, module: DataModule, model: CodedResNeXt) -> CodedTask:
    if config.machine.channels_last:
        model.to(memory_format=torch.channels_last)
    if config.machine.compile:
        model.trace = torch.compile(model.trace)  # type: ignore[method-assign]
    return CodedTask(
        model,
        coding=config.coding,
        optim=config.optim,
        seed=config.seed,
        mixup=config.data.mixup,
        cutmix=config.data.cutmix,
        class_weights=module.data.class_weights(),
    )


def _trainer(job: Job, callbacks: Sequence[Callback], resumed: bool) -> Trainer:
    optim = job.config.optim
    bar = [RichProgressBar(console_kwargs={"stderr": True})] if job.progress else []
    return Trainer(
        max_epochs=optim.epochs,
        accumulate_grad_batches=optim.accumulate,
        gradient_clip_val=optim.clip or None,
        callbacks=[*job.callbacks, *callbacks, *bar],
        logger=_loggers(job.config, job.folder, resumed),
        plugins=[WholeCheckpoints()],
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=job.progress,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        default_root_dir=job.folder.path,
        **job.choice.trainer_options(),
    )


def _part(config: RunConfig, choice: Choice) -> int:
    """Images that one process computes on at a time."""
    parts = choice.world * config.optim.accumulate
    if config.optim.batch % parts:
        raise CodednetError(
            f"a batch of {config.optim.batch} images must divide into {choice.world} processes times "
            f"{config.optim.accumulate} parts: use optim.batch={parts * max(1, config.optim.batch // parts)}."
        )
    return config.optim.batch // parts


def _described(config: RunConfig, model: CodedResNeXt, module: DataModule) -> str:
    data = module.data
    parameters = sum(p.numel() for p in model.parameters())
    return (
        f"{model.config.architecture} ({parameters / 1e6:.2f} million parameters) on {len(data.indices('train')):,} "
        f"images of {len(data.classes)} classes, {config.optim.epochs} epochs of batches of {config.optim.batch}"
    )


def _summary(config: RunConfig, trainer: Trainer, recorder: Recorder, keeper: Keeper, seconds: float) -> dict[str, Any]:
    best = {name: value for name, value in keeper.best.items() if abs(value) != float("inf") and value >= 0}
    return {
        "epochs": config.optim.epochs,
        "steps": trainer.global_step,
        "best": best,
        "last_epoch": recorder.last_epoch,
        "seconds": seconds,
        "processes": trainer.world_size,
    }


def _loggers(config: RunConfig, folder: RunFolder, resumed: bool) -> list[Logger]:
    loggers: list[Logger] = []
    if config.machine.tensorboard:
        step = _step_of(folder.checkpoint) if resumed else 0
        loggers.append(TensorBoardLogger(folder.path, name="", version="tensorboard", purge_step=step))
    if config.machine.wandb:
        try:
            from lightning.pytorch.loggers import WandbLogger

            loggers.append(WandbLogger(project=config.machine.wandb, name=folder.path.name, save_dir=folder.path))
        except ModuleNotFoundError:
            raise CodednetError("machine.wandb needs Weights & Biases: pip install 'codednet[wandb]'.") from None
    return loggers


def _step_of(checkpoint: Path) -> int:
    return int(torch.load(checkpoint, map_location="cpu", weights_only=True)["global_step"])


@contextmanager
def _quiet() -> Iterator[None]:
    """Lightning without its advice: what it would tell is chosen here, and said."""
    log = logging.getLogger("lightning.pytorch")
    level = log.level
    log.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning")
        yield
    log.setLevel(level)


def _silent(_: str) -> None:
    """For processes that are not the first."""
