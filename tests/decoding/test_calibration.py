"""What predictions use is fitted on tune-fit, belongs to these weights, and comes back as it was."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import codednet
from codednet.decoding import (
    Calibration,
    Temperature,
    agreement_table,
    agreements,
    calibration_errors,
    choose_rule,
    fit_calibration,
    fit_temperature,
    keep,
    measure_calibration,
    quality,
    read_fitted,
)
from codednet.errors import CodednetError
from codednet.runs import RunFolder


@pytest.fixture(scope="module")
def calibration(model, fit) -> Calibration:
    return fit_calibration(model, fit)


@pytest.fixture
def folder(model, tmp_path: Path) -> RunFolder:
    """A run with the network, as far as what is fitted for it is concerned."""
    run = RunFolder(tmp_path)
    codednet.save(model, run.model)
    run.config_file.write_text("", encoding="utf-8")
    return run


def test_a_calibration_is_the_fits_of_its_parts(model, fit, calibration) -> None:
    predicted = fit.logits.argmax(1)
    agree = agreements(predicted, fit.energies, model.codes)
    assert calibration.h_T == fit_temperature(fit.logits, fit.labels)
    assert calibration.h_aug == fit_temperature(fit.logits, fit.labels, agree)
    assert calibration.agreement == agreement_table(agree, predicted == fit.labels)
    assert (calibration.images, calibration.fitted_on) == (400, "tune-fit")


def test_confidence_is_by_agreement_where_it_is_known(calibration, risk, model) -> None:
    agree = agreements(risk.logits.argmax(1), risk.energies, model.codes)
    values, labels = calibration.confidence(risk.logits, agree)
    assert torch.equal(labels, risk.logits.argmax(1))
    expected = (risk.logits.double() / calibration.h_aug.of(agree)[:, None]).softmax(1).amax(1)
    torch.testing.assert_close(values, expected)
    values, _ = calibration.confidence(risk.logits, None)
    torch.testing.assert_close(values, (risk.logits.double() / calibration.h_T.temperature).softmax(1).amax(1))


def test_measures_are_those_of_each_confidence_on_the_other_split(calibration, model, risk) -> None:
    found = {one.method: one for one in measure_calibration(calibration, model, risk, 15)}
    assert list(found) == ["softmax", "h_T", "h_aug", "agreement"]
    right = risk.logits.argmax(1) == risk.labels
    agree = agreements(risk.logits.argmax(1), risk.energies, model.codes)
    assert found["softmax"].quality == quality(risk.logits.double().softmax(1), risk.labels)
    errors = calibration_errors(calibration.agreement.confidence(agree), right)
    assert (found["agreement"].ece, found["agreement"].mce) == errors
    assert found["agreement"].quality is None
    for one in found.values():
        bars = [bar for bar in one.reliability if bar.images]
        gap = sum(bar.images * abs(bar.accuracy - bar.confidence) for bar in bars) / len(right)
        assert gap == pytest.approx(one.ece)


def test_a_network_without_coded_blocks_is_calibrated_by_one_temperature(risk) -> None:
    plain = codednet.create_model("resnext20_10x4d", in_chans=1).eval()
    calibration = fit_calibration(plain, risk._replace(energies=[]))
    assert (calibration.h_aug, calibration.agreement, calibration.channel) == (None, None, None)
    found = measure_calibration(calibration, plain, risk._replace(energies=[]), 15)
    assert [one.method for one in found] == ["softmax", "h_T"]
    assert Calibration.from_document(json.loads(json.dumps(calibration.document()))) == calibration


def test_what_predictions_use_cannot_come_from_another_split(calibration) -> None:
    with pytest.raises(CodednetError, match="is fitted on tune-fit; this was on 'test'"):
        replace(calibration, fitted_on="test")
    with pytest.raises(CodednetError, match="is fitted on tune-fit; this was on 'test'"):
        Calibration.from_document(calibration.document() | {"fitted_on": "test"})


def test_what_was_fitted_comes_back_for_the_same_weights(folder, model, calibration, fit, risk) -> None:
    rule = choose_rule(model, fit, risk, 0.03, 0.05, (1, 12, 12))
    keep(folder, "calibration", calibration.document())
    keep(folder, "exits", rule.document())
    found = read_fitted(folder)
    assert not found.stale
    assert found.calibration.document() == calibration.document()
    assert found.calibration.channel.log_likelihood(risk.energies).equal(
        calibration.channel.log_likelihood(risk.energies)
    )
    assert found.exits.document() == rule.document()


def test_what_was_fitted_for_other_weights_is_left_out_and_said_to_be_stale(folder, model, calibration) -> None:
    keep(folder, "calibration", calibration.document())
    keep(folder, "exits", {"of": "these weights"})
    other = codednet.load(folder.model)
    with torch.no_grad():
        other.fc.weight[0, 0] += 1e-3
    codednet.save(other, folder.model)
    found = read_fitted(folder)
    assert (found.calibration, found.exits, found.stale) == (None, None, True)
    # What is kept now takes the place of all that was fitted before.
    keep(folder, "calibration", calibration.document())
    found = read_fitted(folder)
    assert (found.calibration.h_T, found.exits, found.stale) == (calibration.h_T, None, False)


def test_a_folder_without_anything_fitted_has_nothing(folder, tmp_path) -> None:
    for run in (folder, RunFolder(tmp_path / "no-run")):
        found = read_fitted(run)
        assert (found.calibration, found.exits, found.stale) == (None, None, False)


@pytest.mark.parametrize("text", ["{", "[1, 2]", '{"weights": "WEIGHTS", "calibration": {"images": 3}}'])
def test_a_file_that_cannot_be_read_is_named(folder, text) -> None:
    file = folder.results / "decoding.json"
    file.parent.mkdir()
    file.write_text(text.replace("WEIGHTS", folder.weights_digest()), encoding="utf-8")
    with pytest.raises(CodednetError, match=r"decoding\.json' cannot be read .*: remove it, and run `codednet calib"):
        read_fitted(folder)


def test_a_temperature_that_was_tampered_with_is_not_used(folder, calibration) -> None:
    document = calibration.document()
    document["h_aug"] = {"temperature": 1.0, "taus": [-0.6, -0.6, 0.0, 0.0]}
    keep(folder, "calibration", document)
    with pytest.raises(CodednetError, match="positive for every pattern of agreement"):
        read_fitted(folder)
    assert isinstance(Temperature.from_document(calibration.h_T.document()), Temperature)
