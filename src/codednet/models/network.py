"""CodedResNeXt: label-free logits, one-pass traces and the walk, on timm's model contract."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from timm.layers.adaptive_avgmax_pool import SelectAdaptivePool2d
from timm.models._features import feature_take_indices
from torch import Tensor, nn
from torch.nn.functional import dropout

from codednet.codes import Code
from codednet.errors import CodednetError
from codednet.models.block import Bottleneck
from codednet.models.codes import recoded
from codednet.models.config import NetworkConfig
from codednet.models.hub import HubModel
from codednet.models.stage import Drops, Stage, make_stages
from codednet.models.variants import refuse_too_many
from codednet.models.walk import Keep, Pass, Step, Trace, find_block, keep_by_block, walk
from codednet.nn.drop import DropBranch


class CodedResNeXt(nn.Module, HubModel):
    """The network that a config describes: coded, plain (no coded block), or cut to some classes.

    State-dict keys are those of timm's ResNet. Code words are in `codes`, and in buffers that are not part of the
    state dict.
    """

    def __init__(self, network: NetworkConfig) -> None:
        super().__init__()
        self.config = network
        self.pretrained_cfg: dict[str, Any] = {}
        self.in_chans = network.in_chans
        self.drop_rate = network.drop_rate
        self.grad_checkpointing = False

        self._make_stem(network)
        self._stage_names = [f"layer{index}" for index in range(1, len(network.stages) + 1)]
        for name, stage in zip(self._stage_names, make_stages(network), strict=True):
            self.add_module(name, stage)
        self.feature_info = self._feature_info(network)
        self.num_features = self.head_hidden_size = self.feature_info[-1]["num_chs"]
        self._make_head(network)
        self.drop_branch = DropBranch(network.drop_branch)
        self._hold_words()
        self.init_weights()
        if network.is_cut:
            # Few groups of many channels: in this layout a CPU is as much faster as there is less to multiply.
            self.to(memory_format=torch.channels_last)

    def _make_stem(self, network: NetworkConfig) -> None:
        kernel = 3 if network.stem == "3x3" else 7
        stride = 1 if network.stem == "3x3" else 2
        self.conv1 = nn.Conv2d(network.in_chans, network.stem_channels, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(network.stem_channels)
        self.act1 = nn.ReLU(inplace=True)
        self.maxpool: nn.Module = nn.Identity() if stride == 1 else nn.MaxPool2d(3, stride=2, padding=1)

    def _make_head(self, network: NetworkConfig) -> None:
        self.num_classes = network.num_classes
        self.global_pool = SelectAdaptivePool2d(pool_type=network.global_pool, flatten=bool(network.global_pool))
        self.head_hidden_size = self.num_features * int(self.global_pool.feat_mult())  # type: ignore[no-untyped-call]
        self.fc: nn.Module = nn.Identity()
        if network.num_classes:
            self.fc = nn.Linear(self.head_hidden_size, network.num_classes, bias=network.classifier_bias)

    def _feature_info(self, network: NetworkConfig) -> list[dict[str, Any]]:
        reduction = 1 if network.stem == "3x3" else 2
        info = [{"num_chs": network.stem_channels, "reduction": reduction, "module": "act1"}]
        reduction *= reduction
        for name, stage in zip(self._stage_names, network.stages, strict=True):
            for block in stage:
                reduction *= block.stride
            info.append({"num_chs": stage[-1].out_channels, "reduction": reduction, "module": name})
        return info

    def _hold_words(self) -> None:
        # Not part of the state dict, whose keys are timm's; the config holds the words that a saved network needs.
        for index, code in enumerate(self.config.codes):
            words = torch.tensor(code.words, dtype=torch.uint8, device=self.conv1.weight.device)
            self.register_buffer(f"words{index}", words, persistent=False)

    def init_weights(self) -> None:
        """Fresh weights: Kaiming normal by fan-out, and the last batch norm of every block at zero."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        for _, block in self.named_blocks():
            block.zero_init_last()

    # The coded side: blocks, codes, traces and the walk.

    def named_blocks(self) -> Iterator[tuple[str, Bottleneck]]:
        """Each block with its name, such as "layer2.0", in order of depth."""
        for name in self._stage_names:
            for index, block in enumerate(getattr(self, name)):
                yield f"{name}.{index}", block

    @property
    def coded_blocks(self) -> list[str]:
        """Names of the coded blocks, in order of depth."""
        return [name for name, block in self.named_blocks() if block.is_coded]

    @property
    def codes(self) -> list[Code]:
        """The Code of each coded block, in order of depth; empty in a network that never had classes."""
        return [self.config.codes[index] for index in self._code_indices()]

    @property
    def words(self) -> list[Tensor]:
        """The words (classes, branches) of each coded block as 0/1 tensors on the network's device."""
        return [getattr(self, f"words{index}") for index in self._code_indices()]

    def _code_indices(self) -> list[int]:
        indices = [block.config.code for _, block in self.named_blocks() if block.is_coded]
        return [index for index in indices if index is not None] if self.config.codes else []

    def drops(self, x: Tensor) -> Drops | None:
        """Freshly dropped branches for the images of one pass, a mask a code; None when nothing is dropped."""
        if not self.training or not self.drop_branch.p:
            return None
        masks: dict[int, Tensor] = {}
        for _, block in self.named_blocks():
            code = block.config.code
            if code is not None and code not in masks:
                mask = self.drop_branch.mask(x.shape[0], block.config.num_branches, x.device)
                if mask is not None:
                    masks[code] = mask
        return masks

    def trace(self, x: Float[Tensor, "batch channels height width"], keep: Keep | None = None) -> Trace:
        """Logits and the energies of every coded block, in one pass.

        `keep` has an entry for each coded block: None, or 1/0 of shape (branches,) or (batch, branches); 0 removes.
        """
        self._check_finite(x)
        energies = []
        for step in self.walk(x, keep=keep):
            x = step.finish()
            if step.energies is not None:
                energies.append(step.energies)
        return Trace(self.forward_head(x), energies)

    def walk(self, x: Tensor, start: str | None = None, keep: Keep | None = None) -> Iterator[Step]:
        """Each block in order of depth with its hidden tensor, its energies and a call that finishes it.

        Starts at the block named `start`, whose input is then x; or, without one, at the images x. `forward_head`
        of the last output gives the logits. `keep` is as in `trace`, an entry for each coded block of the network.
        """
        blocks = list(self.named_blocks())
        keeps = keep_by_block(self.coded_blocks, keep)
        first = 0 if start is None else find_block([name for name, _ in blocks], start)
        if start is None:
            x = self.stem(x)
        return walk(blocks, first, x, Pass(keeps, self.drops(x), self.grad_checkpointing))

    # timm's model contract.

    def stem(self, x: Tensor) -> Tensor:
        """Input of the first block."""
        x = self.maxpool(self._stem_features(x))
        return x  # noqa: RET504

    def _stem_features(self, x: Tensor) -> Tensor:
        if x.ndim != 4 or x.shape[1] != self.in_chans:
            raise CodednetError(
                f"images must have shape (batch, {self.in_chans}, height, width); got {tuple(x.shape)}. "
                "A network for other images is built with in_chans."
            )
        x = self.act1(self.bn1(self.conv1(x)))
        return x  # noqa: RET504

    def forward_features(self, x: Tensor) -> Tensor:
        """Features: what the last stage gives."""
        x = self.stem(x)
        drops = self.drops(x)
        for name in self._stage_names:
            x = getattr(self, name)(x, drops)
        return x

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Logits, or what the classifier would see, from what the last stage gave."""
        x = self.global_pool(x)
        if self.drop_rate:
            x = dropout(x, p=float(self.drop_rate), training=self.training)
        return x if pre_logits else self.fc(x)

    def forward(self, x: Tensor) -> Tensor:
        """Logits; labels are never needed."""
        return self.forward_head(self.forward_features(x))

    def forward_intermediates(
        self,
        x: Tensor,
        indices: int | Sequence[int] | None = None,
        norm: bool = False,
        stop_early: bool = False,
        output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> list[Tensor] | tuple[Tensor, list[Tensor]]:
        """Features that the stem and the stages give, at these indices, and what the last stage gives."""
        if output_fmt != "NCHW":
            raise CodednetError(f"features of a ResNeXt come as NCHW; got output_fmt={output_fmt!r}.")
        taken, last = self._features_at(indices)
        x = self._stem_features(x)
        intermediates = [x] if 0 in taken else []
        x = self.maxpool(x)
        drops = self.drops(x)
        for index, name in enumerate(self._stage_names, start=1):
            if stop_early and index > last:
                break
            x = getattr(self, name)(x, drops)
            if index in taken:
                intermediates.append(x)
        return intermediates if intermediates_only else (x, intermediates)

    def prune_intermediate_layers(
        self,
        indices: int | Sequence[int] = 1,
        prune_norm: bool = False,
        prune_head: bool = True,
    ) -> list[int]:
        """Remove the stages after the last of these indices, and the classifier with them; the indices that stay."""
        taken, last = self._features_at(indices)
        for name in self._stage_names[last:]:
            setattr(self, name, Stage())
        if last < len(self._stage_names):
            self.num_features = self.head_hidden_size = self.feature_info[last]["num_chs"]
        if prune_head or last < len(self._stage_names):
            self.reset_classifier(0, "")
        return taken

    def _features_at(self, indices: int | Sequence[int] | None) -> tuple[list[int], int]:
        chosen = indices if indices is None or isinstance(indices, int) else list(indices)
        return feature_take_indices(len(self.feature_info), chosen)

    def get_classifier(self, name_only: bool = False) -> nn.Module | str:
        """Classifier, or its name."""
        return "fc" if name_only else self.fc

    def reset_classifier(
        self,
        num_classes: int,
        global_pool: str | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        """Give the network other classes: a fresh classifier, and codes with a word for each of them."""
        refuse_too_many(self.config.stages, num_classes)
        if class_names is None and num_classes == self.config.num_classes:
            class_names = self.config.class_names
        self.config = replace(
            self.config,
            num_classes=num_classes,
            codes=recoded(self.config, num_classes),
            class_names=None if class_names is None else tuple(class_names),
            global_pool=self.config.global_pool if global_pool is None else global_pool,
        )
        self._make_head(self.config)
        self.fc.to(self.conv1.weight).train(self.training)
        self.global_pool.train(self.training)
        self._hold_words()

    def group_matcher(self, coarse: bool = False) -> dict[str, str]:
        """Patterns that group parameters by depth: stem, then blocks, or stages when coarse."""
        return {"stem": r"^conv1|bn1|maxpool", "blocks": r"^layer(\d+)" if coarse else r"^layer(\d+)\.(\d+)"}

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Trade time for memory while training: each block's tensors are computed again in the backward pass."""
        self.grad_checkpointing = enable
        for name in self._stage_names:
            getattr(self, name).grad_checkpointing = enable

    def _check_finite(self, x: Tensor) -> None:
        # A look at values makes a GPU wait for the host, so never in a training step, nor in a graph being captured.
        if self.training or x.device.type == "meta" or torch.compiler.is_compiling():
            return
        bad = ~torch.isfinite(x.flatten(1)).all(dim=1)
        if bool(bad.any()):
            raise CodednetError(
                f"images must hold finite numbers; {int(bad.sum())} of {len(x)} hold NaN or infinity, "
                f"the first is image {int(bad.nonzero()[0])}."
            )
