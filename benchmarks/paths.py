"""Class paths against whole networks: latency of one class, all detectors, removal curves; `--help` lists the options.

Run it on an otherwise idle machine. Everything is interleaved in one process, and a ratio whose rounds disagree is
refused, not printed. Exit status 1 if a promise is not kept.
"""

import argparse
import copy
import json
import sys
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from codednet import create_model, extract
from codednet.measure import Comparison, compare, inference, multiply_adds
from codednet.models import CodedResNeXt
from codednet.paths import DetectorSweep, removal_curves

LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
# One class may take this many times the time that its share of the multiply-adds allows.
LATENCY_LIMIT = 1.15
SWEEP_LIMIT, REMOVAL_LIMIT = 2.7, 2.2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["latency", "sweep", "removal"])
    parser.add_argument("--models", nargs="+", default=["coded_resnext29_10x11d", "coded_resnext50_32x4d"])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--batch", type=int, default=100, help="images of a batch in the sweep and the removal")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=0.05, help="widest spread of a ratio that is shown")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    for row in measured(options):
        rows.append(row)
        print(line(row), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps({"torch": torch.__version__, "threads": options.threads, "rows": rows}))
    return 0 if all(row["kept"] for row in rows) else 1


def measured(options: argparse.Namespace) -> Iterator[dict]:
    if "latency" in options.parts:
        for name in options.models:
            for layout in LAYOUTS:
                yield latency(name, layout, options)
    if "sweep" in options.parts:
        yield sweep(options)
    if "removal" in options.parts:
        yield removal(options)


def latency(name: str, layout: str, options: argparse.Namespace) -> dict:
    """One class at batch 1, cut out of a network in this layout, against that network."""
    model = create_model(name).eval().to(memory_format=LAYOUTS[layout])
    image = torch.randn(1, *model.pretrained_cfg["input_size"]).to(memory_format=LAYOUTS[layout])
    part = extract(model, 0)
    share = products(part, image) / products(model, image)
    inner = 8 if image.shape[-1] == 32 else 1
    (result,) = compare(
        inference(model, image),
        {f"one class of {name}, {layout}": inference(part, image)},
        rounds=options.rounds,
        inner=inner,
        limit=options.limit,
    )
    bound = LATENCY_LIMIT * share
    return row(result, f"{share:.3f} of the multiply-adds, at most {bound:.3f}", result.ratio, result.ratio <= bound)


def sweep(options: argparse.Namespace) -> dict:
    """All ten detectors of the CIFAR-10 network, against ten full masked passes."""
    model, images, _ = cifar10(options.batch)
    detectors = DetectorSweep(model)
    masks = [[word.to(torch.float32) for word in words] for words in zip(*model.words, strict=True)]

    @torch.no_grad()
    def masked() -> Tensor:
        return torch.stack([model.trace(images, keep=mask).logits[:, k] for k, mask in enumerate(masks)], dim=1)

    torch.testing.assert_close(detectors(images), masked(), rtol=1e-3, atol=1e-4)
    return speedup("ten detectors", masked, lambda: detectors(images), SWEEP_LIMIT, options)


def removal(options: argparse.Namespace) -> dict:
    """Removal curves of all blocks of the CIFAR-10 network, against a full masked pass for every point."""
    model, images, labels = cifar10(options.batch)
    count = len(model.coded_blocks)

    @torch.no_grad()
    def unshared() -> None:
        mask = torch.ones(len(images), 10)
        for place in range(count):
            for _ in range(10):
                model.trace(images, keep=[mask if index == place else None for index in range(count)])

    return speedup(
        "removal curves", unshared, lambda: removal_curves(model, [(images, labels)]), REMOVAL_LIMIT, options
    )


def speedup(
    name: str, baseline: Callable[[], object], call: Callable[[], object], least: float, options: argparse.Namespace
) -> dict:
    (result,) = compare(
        call, {f"{name}, CIFAR-10 network": baseline}, rounds=max(4, options.rounds // 3), warmup=1, limit=options.limit
    )
    return row(result, f"times as fast, at least {least}", result.ratio, result.ratio >= least)


def cifar10(batch: int) -> tuple[CodedResNeXt, Tensor, Tensor]:
    model = create_model("coded_resnext29_10x11d").eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.ones_(module.weight)
    model.to(memory_format=torch.channels_last)
    images = torch.randn(batch, 3, 32, 32).to(memory_format=torch.channels_last)
    return model, images, torch.arange(batch) % 10


def products(model: CodedResNeXt, image: Tensor) -> int:
    """Multiply-adds, counted on a copy that has remembered what depends on its weights alone."""
    call = inference(copy.deepcopy(model), image)
    call()
    return multiply_adds(call)


def row(result: Comparison, note: str, ratio: float, kept: bool) -> dict:
    steady = result.is_steady
    return {
        "what": result.name,
        "seconds": result.seconds,
        "baseline_seconds": result.baseline_seconds,
        "ratio": ratio if steady else None,
        "spread": result.spread,
        "note": note if steady else str(result),
        "kept": kept and steady,
    }


def line(row: dict) -> str:
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.3f} "
    times = f"{row['baseline_seconds'] * 1e3:9.1f} {row['seconds'] * 1e3:9.1f} ms"
    return f"{row['what']:48} {times}  {ratio}({row['note']}){'' if row['kept'] else '  NOT KEPT'}"


if __name__ == "__main__":
    sys.exit(main())
