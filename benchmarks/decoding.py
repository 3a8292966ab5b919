"""Early and joint decisions of a trained run: time with exits, joint decoder, promised risk, confidences.

    uv run python benchmarks/decoding.py RUN [--parts exits joint risk protocol] [--rounds 21] [--threads 2] [--json]

RUN is a run folder with a tune split. Run it on an otherwise idle machine: whole network and exits are timed in turn in
one process, and a ratio whose rounds disagree is refused, not printed. Exit status 1 if a promise is not kept.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from math import sqrt

import numpy as np
import torch
from torch import Tensor

from codednet.data import DataConfig, open_data
from codednet.decoding import (
    THRESHOLDS,
    Posteriors,
    allowed_bad,
    choose_threshold,
    exit_loss,
    needed_images,
    run_protocol,
)
from codednet.decoding.exits import choose_looks, exit_costs
from codednet.experiments import Subject
from codednet.experiments.calibration import EXPERIMENT as CALIBRATION
from codednet.experiments.calibration import CalibrationOptions
from codednet.experiments.exits import EXPERIMENT as EXITS
from codednet.experiments.exits import ExitsOptions, image_size
from codednet.experiments.experiment import NoOptions
from codednet.experiments.joint import EXPERIMENT as JOINT
from codednet.experiments.joint import compared_by_depth, joint_fit
from codednet.runs import Collected
from codednet.runs.collect import collect
from codednet.runs.folder import open_run

RISK, DELTA = 0.01, 0.05
LEAST_SPEEDUP = 1.2
# Risks that are promised again and again; of these, the ones that a tenth of the pool is enough for.
RISKS = (0.005, 0.01, 0.02, 0.05)
# Images, classes and early decoders of tables whose confidences are fitted, and the seconds that may take.
TABLES = ((10_000, 10, 6, 20.0), (50_000, 1_000, 9, None))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="run folder")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--fashion-mnist", help="folder of Fashion-MNIST: the joint decoder on all its test images")
    parser.add_argument("--rounds", type=int, default=21, help="rounds of the times")
    parser.add_argument("--draws", type=int, default=2000, help="draws of the images that a threshold is chosen on")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--root", help="folder of the data, where it is another than the run was trained with")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    subject = Subject(open_run(options.run), root=options.root, device="cpu")
    rows = []
    for part in options.parts:
        for row in PARTS[part](subject, options):
            rows.append(row)
            print(line(row), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps({"torch": torch.__version__, "threads": options.threads, "rows": rows}))
    return 0 if all(row["kept"] for row in rows) else 1


def exits(subject: Subject, options: argparse.Namespace) -> Iterator[dict]:
    """How many times as fast the network is with exits, against `model(images)` on the same images."""
    record = EXITS.measure(subject, ExitsOptions(risk=RISK, delta=DELTA, rounds=options.rounds))
    choice = record.choice
    if choice.threshold is None:
        yield row("exits", None, choice.why, False)
        return
    shares = ", ".join(f"{look.share:.1%} leave after {look.block}" for look in record.looks)
    note = f"{shares}; {record.chosen.risk:.2%} of {record.images} test images right in full and wrong at their exit"
    yield row("multiply-adds, share of the whole network's", record.chosen.cost, note, True)
    for one in record.times:
        times = f"{one.whole_milliseconds:.3f} and {one.exits_milliseconds:.3f} ms an image"
        note = f"times as fast, at least {LEAST_SPEEDUP}; {times}; middle half of the rounds spans {one.spread:.3f}"
        kept = one.steady and one.speedup >= LEAST_SPEEDUP
        yield row(f"time, {one.batch} at once", one.speedup if one.steady else None, note, kept)


def joint(subject: Subject, options: argparse.Namespace) -> Iterator[dict]:
    """Accuracy of the joint decoder at each depth, less that of the best early decoder so far."""
    record = JOINT.measure(subject, NoOptions())
    depths = record.depths
    if options.fashion_mnist is not None:
        depths = compared_by_depth(subject, whole_test(subject, options.fashion_mnist))
    for one in depths:
        found = one.difference
        note = (
            f"joint {one.joint:.2%}, best single {one.best_single:.2%} ({one.best_block}); "
            f"{record.level:.0%} of {record.draws} paired bootstraps from {found.low:+.4f} to {found.high:+.4f}"
        )
        yield row(f"joint decoder after {one.block}", found.mean, note, found.low >= 0)


def risk(subject: Subject, options: argparse.Namespace) -> Iterator[dict]:
    """How often a promise is broken: thresholds chosen on a tenth of the images that nothing was fitted on.

    The images that are left say what the risk is. Their own sampling error, and that of the number of draws, are both
    granted, three standard errors each.
    """
    found = pooled(subject.collected("tune-risk"), subject.collected("test"))
    fit, images = subject.collected("tune-fit"), len(found.labels)
    drawn = images // 10
    left = images - drawn
    joint = joint_fit(subject)
    costs = exit_costs(subject.model, joint.decoder(), image_size(subject.data))
    for epsilon in (one for one in RISKS if needed_images(one, DELTA) <= drawn):
        blocks = choose_looks(joint, fit, costs, allowed_bad(drawn, epsilon, DELTA) / drawn)
        posteriors = Posteriors.of(joint.decoder(blocks).log_posteriors(found.energies), found)
        bad = torch.stack([exit_loss(*posteriors, threshold) for threshold in THRESHOLDS]).numpy()
        totals, draw = bad.sum(1), np.random.default_rng(0)
        risks = np.zeros(options.draws)  # of never to exit
        for number in range(options.draws):
            counts = bad[:, draw.choice(images, drawn, replace=False)].sum(1)
            at = dict(zip(THRESHOLDS, range(len(THRESHOLDS)), strict=True))
            chosen = choose_threshold(lambda t, counts=counts, at=at: counts[at[t]], drawn, epsilon, DELTA).threshold
            if chosen is not None:
                risks[number] = (totals[at[chosen]] - counts[at[chosen]]) / left
        # The pool is what is drawn from, so what is left errs by being a part of it: the finite population's error.
        limit = epsilon + 3 * sqrt(epsilon * (1 - epsilon) / left * drawn / (images - 1))
        most = DELTA + 3 * sqrt(DELTA * (1 - DELTA) / options.draws)
        broken = float((risks > limit).mean())
        note = (
            f"of {options.draws} draws of {drawn} from {images} images have a risk above {limit:.4f} on the others, "
            f"at most {most:.4f}; above {epsilon} itself {(risks > epsilon).mean():.4f}; mean risk {risks.mean():.4f}"
        )
        yield row(f"risk of {epsilon} promised with {1 - DELTA}", broken, note, broken <= most)
    if needed_images(RISKS[-1], DELTA) > drawn:
        least = 10 * needed_images(RISKS[-1], DELTA)
        yield row("risk", None, f"a pool of {images} images is too small; {least} would do", False)


def protocol(subject: Subject, options: argparse.Namespace) -> Iterator[dict]:
    """What literal gradient steps change on one split of the run's test images, and how long both protocols take."""
    record = CALIBRATION.measure(subject, CalibrationOptions(splits=1)).protocol
    for one in () if record is None else record.literal:
        name = f"{one.method} on {one.share:.0%}, ECE less that of 600 steps"
        if one.literal is None or one.literal_ece is None:
            yield row(name, None, "the steps end at a temperature that is not positive", True)
            continue
        note = (
            f"T {one.converged.temperature:.4f} and {one.literal.temperature:.4f}, "
            f"ECE {one.converged_ece:.4%} and {one.literal_ece:.4%}, MCE {one.converged_mce:.3%} and "
            f"{one.literal_mce:.3%}, taus {spelled(one.converged.taus)} and {spelled(one.literal.taus)}"
        )
        yield row(name, one.converged_ece - one.literal_ece, note, True)
    for images, classes, decoders, most in TABLES:
        table = overconfident(images, classes, decoders)
        start = time.perf_counter()
        run_protocol(*table, literal=False)
        seconds = time.perf_counter() - start
        note = "seconds, both protocols" if most is None else f"seconds, both protocols, at most {most:.0f}"
        yield row(f"{images:,} x {classes:,} logits", seconds, note, most is None or seconds <= most)


PARTS = {"exits": exits, "joint": joint, "risk": risk, "protocol": protocol}


def whole_test(subject: Subject, root: str) -> Collected:
    """What the run's network says of all 10,000 test images of Fashion-MNIST, of which the bundled ones are 2,000."""
    loader = open_data(DataConfig(name="fashion-mnist", root=root, tune=0), 1).eval_loader("test", subject.batch)
    return collect(subject.model, loader, subject.device)


def pooled(first: Collected, second: Collected) -> Collected:
    energies = [torch.cat(both) for both in zip(first.energies, second.energies, strict=True)]
    logits, labels, indices = (
        torch.cat(both) for both in ((getattr(first, n), getattr(second, n)) for n in ("logits", "labels", "indices"))
    )
    return Collected(logits, energies, labels, indices, ())


def overconfident(images: int, classes: int, decoders: int) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, labels, and agreement that tells right from wrong a little."""
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(images) % classes
    logits = torch.randn(images, classes, generator=draw)
    logits[torch.arange(images), labels] += 3.0
    right = logits.argmax(1) == labels
    agree = torch.rand(images, decoders, generator=draw) < torch.where(right, 0.8, 0.5)[:, None]
    return 2.0 * logits, labels, agree


def spelled(taus: tuple[float, ...]) -> str:
    return " ".join(f"{tau:+.3f}" for tau in taus) or "none"


def row(what: str, found: float | None, note: str, kept: bool) -> dict:
    return {"what": what, "found": found, "note": note, "kept": bool(kept)}


def line(row: dict) -> str:
    found = "refused" if row["found"] is None else f"{row['found']:.4f}"
    return f"{row['what']:48} {found:>9}  ({row['note']}){'' if row['kept'] else '  NOT KEPT'}"


if __name__ == "__main__":
    sys.exit(main())
