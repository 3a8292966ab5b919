"""What a training run is: one config, nested by owner. No torch, so that a command line can show it at once."""

from dataclasses import dataclass, field
from typing import Literal

from codednet.data.config import DataConfig
from codednet.errors import CodednetError


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Which network is trained."""

    name: str = "coded_resnext20_10x4d"
    """A coded variant."""
    coded: bool = True
    """Train the coded network; false trains its plain twin by the same recipe."""
    shortcut: Literal["projection", "free"] = "projection"
    """Where shapes change: a 1x1 convolution as in the paper, or free of parameters."""
    active: tuple[int, ...] | None = None
    """Active branches by stage or by block; the variant's own when left out."""
    code_seed: int = 0
    """Seed of the codes; 0 is the shipped or default code, another designs others of the same quality."""
    code_quality: Literal["good", "poor"] = "good"
    """poor is an ablation: distinct words of the right weight, drawn at random so that some lie as close as words can
    and branches are used unevenly; code_seed draws others."""
    in_chans: int | None = None
    """Channels of the images; those of the data set when left out."""
    drop_rate: float = 0.0
    """Dropout before the classifier."""
    drop_path_rate: float = 0.0
    """Stochastic depth."""

    @property
    def architecture(self) -> str:
        """Name of the network that is built: the variant, or its plain twin."""
        return self.name if self.coded else self.name.removeprefix("coded_")


@dataclass(frozen=True, kw_only=True)
class CodingConfig:
    """What makes branches obey their words."""

    mu: float = 6.0
    """Weight of the coding loss."""
    exponent: int = 4
    """Exponent of the coding loss: 4 in the paper; 2 and 1 as ablations."""
    drop_branch: float = 0.1
    """Probability that a branch of a coded block is dropped."""
    normalise: bool = True
    """Energy normalisation; false only as an ablation."""

    def __post_init__(self) -> None:
        if self.mu < 0:
            raise CodednetError(f"mu is a weight of 0 or more; got {self.mu}.")


@dataclass(frozen=True, kw_only=True)
class OptimConfig:
    """How the weights are found: stochastic gradient descent with momentum, on a cosine schedule."""

    epochs: int = 300
    """Epochs in all, warm-up and cool-down included."""
    batch: int = 512
    """Images of one step of the optimiser, over all processes and accumulated parts."""
    accumulate: int = 1
    """Parts that a step's images are processed in, one after the other, to save memory."""
    learning_rate: float = 0.1
    """Largest learning rate."""
    final_rate: float = 1e-5
    """Learning rate at the end of the cosine."""
    warmup_epochs: float = 0.0
    """Epochs over which the learning rate rises, at the beginning of the cosine."""
    warmup_rate: float = 1e-4
    """Learning rate that the warm-up begins with."""
    cooldown_epochs: float = 0.0
    """Epochs at the final rate, after the cosine."""
    momentum: float = 0.9
    """Momentum."""
    nesterov: bool = True
    """Nesterov's form of momentum."""
    weight_decay: float = 5e-4
    """Weight decay."""
    decay_norms: bool = True
    """Decay the scales and shifts of batch norms, and biases, too."""
    label_smoothing: float = 0.0
    """Label smoothing of the cross entropy."""
    clip: float = 0.0
    """Largest norm of the gradient; 0 is no limit."""
    ema: float = 0.0
    """Decay of the moving average of weights that is evaluated and saved; 0 is none."""
    bn_batch: int | None = None
    """Images that share batch-norm statistics in training; all images of a process when left out."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "accumulate"):
            if getattr(self, name) < 1:
                raise CodednetError(f"{name} must be 1 or more; got {getattr(self, name)}.")
        if self.batch % self.accumulate:
            raise CodednetError(f"a batch of {self.batch} images cannot be divided into {self.accumulate} equal parts.")
        if self.warmup_epochs + self.cooldown_epochs >= self.epochs and self.warmup_epochs + self.cooldown_epochs:
            raise CodednetError(
                f"warm-up and cool-down must leave room for the cosine: {self.warmup_epochs:g} and "
                f"{self.cooldown_epochs:g} of {self.epochs} epochs."
            )
        if not 0 <= self.ema < 1:
            raise CodednetError(f"ema is a decay of 0 or more, below 1, such as 0.999; got {self.ema}.")
        if not self.learning_rate > 0:
            raise CodednetError(f"learning_rate must be above 0; got {self.learning_rate}.")


@dataclass(frozen=True, kw_only=True)
class MachineConfig:
    """What the training runs on, and what it leaves behind while it runs. Numbers do not depend on the latter."""

    device: str = "auto"
    """auto, cpu, cuda or mps."""
    precision: Literal["auto", "float32", "bf16", "fp16"] = "auto"
    """auto is bf16 autocast where the hardware computes in it, else float32."""
    channels_last: bool = True
    """Memory format of images and weights."""
    threads: int = 0
    """Threads on a CPU; 0 leaves torch's choice."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints within an epoch; each epoch ends with one too."""
    tensorboard: bool = True
    """Write TensorBoard events."""
    wandb: str = ""
    """Weights & Biases project to log to; empty is none."""
    compile: bool = False
    """Compile the network with torch.compile."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that a training run depends on."""

    recipe: str = ""
    """Name of the recipe that the run began from."""
    seed: int = 0
    """Seed of weights, order, augmentation and dropped branches."""
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    coding: CodingConfig = field(default_factory=CodingConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)
