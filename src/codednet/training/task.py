"""CodedTask: a coded network, or its plain twin, as a LightningModule for any Lightning Trainer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from codednet.data.mix import mix
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.nn import coding_loss
from codednet.nn.loss import check_labels
from codednet.runs.config import CodingConfig, OptimConfig
from codednet.training.ghost import norm_in_parts
from codednet.training.schedule import learning_rate
from codednet.training.scores import means, score_names, score_sums


class CodedTask(LightningModule):
    """Trains by equation 5, with the optimiser, schedule and averaging that `optim` says.

    Batches are those of `codednet.data.DataModule`, or any (images, labels). What a step draws at random (dropped
    branches, mixing) is a function of seed, epoch, batch and process, so a resumed training draws the same.
    """

    def __init__(
        self,
        model: CodedResNeXt,
        *,
        coding: CodingConfig | None = None,
        optim: OptimConfig | None = None,
        seed: int = 0,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(model, CodedResNeXt):
            raise CodednetError(f"CodedTask trains networks of codednet.create_model; got {type(model).__name__}.")
        self.model = model
        self.coding = coding or CodingConfig()
        self.optim = optim or OptimConfig()
        self.seed = seed
        self.mixing = {"mixup": mixup, "cutmix": cutmix}
        self.names = score_names(model.coded_blocks)
        self.register_buffer("class_weights", class_weights, persistent=False)
        self.class_weights: Tensor | None
        if self.optim.bn_batch:
            norm_in_parts(model, self.optim.bn_batch)
        self.average: AveragedModel | None = None
        if self.optim.ema:
            self.average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(self.optim.ema))  # type: ignore[no-untyped-call]
            self.average.requires_grad_(False)
        self._tuned: list[Tensor] = []

    @property
    def evaluated(self) -> CodedResNeXt:
        """The network that is evaluated and saved: the moving average where there is one."""
        if self.average is None:
            return self.model
        network: CodedResNeXt = self.average.module  # type: ignore[assignment]
        return network

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.evaluated(images)
        return logits

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Loss of a batch, and the sums that it is remembered by."""
        images, labels = batch[0], batch[1]
        partners, share = None, 1.0
        if any(self.mixing.values()):
            draw = np.random.default_rng((self.seed, self.current_epoch, batch_idx, self.global_rank))
            images, partners, share = mix(images, **self.mixing, draw=draw)
        loss, sums = self._losses(self.model, images, labels, partners, share)
        return {"loss": loss, "sums": sums}

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Remember the sums of a batch of the tune split."""
        self._tuned.append(self._losses(self.evaluated, batch[0], batch[1])[1])

    def on_validation_epoch_end(self) -> None:
        """Log what the tune split says of the network."""
        sums = torch.stack(self._tuned).double().sum(0)
        self._tuned.clear()
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(sums)
        for name, value in means(self.names, sums.tolist()).items():
            if name != "images":
                self.log(f"tune/{name}", value, rank_zero_only=True)

    def _losses(
        self,
        model: CodedResNeXt,
        images: Tensor,
        labels: Tensor,
        partners: Tensor | None = None,
        share: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        trace = model.trace(images)
        logits = trace.logits.float()
        class_loss, coding = self._class_and_coding(logits, trace.energies, labels)
        if partners is not None:
            other = self._class_and_coding(logits, trace.energies, labels[partners])
            class_loss = share * class_loss + (1 - share) * other[0]
            coding = share * coding + (1 - share) * other[1]
        loss = class_loss + self.coding.mu * coding.sum()
        return loss, score_sums(loss, class_loss, coding, logits, trace.energies, labels, model.words)

    def _class_and_coding(self, logits: Tensor, energies: Sequence[Tensor], labels: Tensor) -> tuple[Tensor, Tensor]:
        check_labels(labels, len(logits), logits.shape[1])
        smoothing = self.optim.label_smoothing if self.training else 0.0
        class_loss = F.cross_entropy(logits, labels.long(), self.class_weights, label_smoothing=smoothing)
        return class_loss, coding_loss(energies, labels, self.model.words, self.coding.exponent)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Stochastic gradient descent; its rate is set before every step."""
        optim = self.optim
        named = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]
        decayed = [p for _, p in named if optim.decay_norms or p.ndim > 1]
        others = [p for _, p in named if not (optim.decay_norms or p.ndim > 1)]
        groups: list[dict[str, Any]] = [{"params": decayed}]
        if others:
            groups.append({"params": others, "weight_decay": 0.0})
        return torch.optim.SGD(
            groups,
            lr=optim.learning_rate,
            momentum=optim.momentum,
            nesterov=optim.nesterov and optim.momentum > 0,
            weight_decay=optim.weight_decay,
        )

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Set the learning rate and the random numbers of the step."""
        words = np.random.SeedSequence((self.seed, self.current_epoch, batch_idx, self.global_rank)).generate_state(2)
        torch.manual_seed(int(words[0]) << 32 | int(words[1]))
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] = self.rate

    @property
    def rate(self) -> float:
        """Learning rate of the step to come."""
        batches = self.trainer.num_training_batches
        steps = -(-int(batches) // self.trainer.accumulate_grad_batches)
        return learning_rate(self.optim, self.trainer.global_step / steps)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Take the step, and let the average follow; before any callback, so that a checkpoint holds both."""
        super().optimizer_step(*args, **kwargs)
        if self.average is not None:
            self.average.update_parameters(self.model)
