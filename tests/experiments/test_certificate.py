"""The certificate: bars worked out by hand; perfect paths pass; a plain run and anothers' words fail."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import metrics

import codednet
from codednet import Code
from codednet.experiments import Subject, find
from codednet.experiments import certificate as certificates
from codednet.experiments.measures import path_measures
from codednet.models import CodedResNeXt
from codednet.paths import Quality, RemovalCurve
from codednet.paths.families import Family
from codednet.runs import Collected

CERTIFICATE = find("certificate")


def words_of(model: CodedResNeXt, places: int = 0) -> list[np.ndarray]:
    """Words by coded block, each class with that of the class so many places further on."""
    return [np.roll(code.words, -places, axis=0) for code in model.codes]


def furthest(model: CodedResNeXt) -> int:
    """Number of places at which words share the fewest branches with the classes' own."""
    shared = {k: sum(int((w * np.roll(w, -k, axis=0)).sum()) for w in words_of(model)) for k in range(1, 10)}
    return min(shared, key=shared.__getitem__)


def test_bars_are_twice_a_silent_branchs_energy_two_standard_errors_and_half_way_to_perfect(record, test_batch):
    found = record("certificate")
    checks = {check.name: check for check in found.checks}
    # On the path 2, off it 1: of 5 and 5 branches two thirds, of 3 and 7 six thirteenths.
    assert checks["energy"].bar == pytest.approx((2 / 3 + 6 / 13) / 2)
    p = (record("accuracy").accuracy.mean * 40 + 1) / 42
    assert checks["removal"].bar == pytest.approx(2 * np.sqrt(p * (1 - p) / 40 + p * (1 - p) / 40))
    truth = test_batch[1] == 0
    always = metrics.f1_score(truth, np.ones(40))
    assert checks["detectors"].bar == pytest.approx((1 + always) / 2)
    assert [checks[name].value for name in ("energy", "removal", "detectors")] == [
        found.measures[0].energy, found.measures[0].gap, record("detectors").families["extracted"].in_distribution.f1,
    ]  # fmt: skip
    for check in found.checks:
        assert check.passed == (check.value >= check.bar > check.shuffled)
    assert found.passed == all(check.passed for check in found.checks)


@pytest.mark.parametrize("counts", [[4] * 10, [1, 7, 30], [5, 1] * 10])
def test_the_detector_that_always_says_yes_has_scikit_learns_f1(counts):
    f1 = []
    for own in counts:
        others = sum(counts) - own
        others = others if len(counts) <= 10 else min(others, 9 * own)  # nine negatives a positive, as in the paper
        f1.append(metrics.f1_score([1] * own + [0] * others, [1] * (own + others)))
    assert certificates.always_yes(np.array(counts)) == pytest.approx(np.mean(f1))


def judged(model: CodedResNeXt, energies: list[torch.Tensor], fall: float, f1: float) -> list[bool]:
    """Whether the checks pass of a network with these energies, this fall of accuracy on the path, and this F1."""
    labels = torch.arange(40) % 10
    seen = Collected(torch.eye(10)[labels], energies, labels, torch.arange(40), ())

    def measured(kind, words, fall, f1):
        curves = [
            RemovalCurve(block=name, images=40, active=(0.9,) * code.active + (0.9 - fall,), inactive=(0.9,) * 8)
            for name, code in zip(model.coded_blocks, words, strict=True)
        ]
        quality = Quality(precision=f1, recall=f1, f1=f1, average_precision=f1)
        family = Family(detectors=(), in_distribution=quality, out_of_distribution={}, missed=())
        return path_measures(kind, words, seen, curves, family), curves[0]

    others = [Code(words) for words in words_of(model, furthest(model))]
    own, curve = measured("own", model.codes, fall, f1)
    measures = [own, measured("shuffled", others, 0.0, 0.2)[0]]
    checks = (
        certificates._check_energy(measures),
        certificates._check_removal(measures, curve),
        certificates._check_detectors(measures, seen, 10),
    )
    return [check.passed for check in checks]


def test_perfect_paths_pass_every_check_and_paths_that_know_of_no_class_none(subject):
    labels = torch.arange(40) % 10
    perfect = [torch.tensor(code.words)[labels] / code.rate for code in subject.model.codes]
    alike = [torch.ones(40, 10) for _ in perfect]
    assert judged(subject.model, perfect, fall=0.6, f1=0.9) == [True, True, True]
    assert judged(subject.model, alike, fall=0.0, f1=0.2) == [False, False, False]


def test_a_plain_run_fails_the_certificate(record, twin):
    found = CERTIFICATE.measure(Subject(twin, device="cpu"), CERTIFICATE.options())
    assert not found.coded
    assert not found.passed
    assert {check.name: check.passed for check in found.checks}["energy"] is False
    assert found.measures[0].energy == pytest.approx(record("certificate").measures[2].energy, abs=1e-6)


def test_a_network_with_anothers_words_fails_and_is_the_control_of_the_one_whose_they_were(record, subject, run):
    model = subject.model
    codes = tuple(Code(np.roll(code.words, -furthest(model), axis=0)) for code in model.config.codes)
    wrong = CodedResNeXt(replace(model.config, codes=codes))
    wrong.load_state_dict(model.state_dict())
    wrong.pretrained_cfg = dict(model.pretrained_cfg)
    codednet.save(wrong.eval(), run.model)
    found = CERTIFICATE.measure(Subject(run, device="cpu"), CERTIFICATE.options())
    assert not found.passed
    own, control = found.measures[0], record("certificate").measures[1]
    assert (own.energy, own.gap, own.f1) == pytest.approx((control.energy, control.gap, control.f1), abs=1e-6)
    assert found.checks[0].passed is False
