"""Answers to images of one's own by what was fitted for a run: calibrated confidences, and exits that stop."""

from torch import Tensor

from codednet.decoding.calibration import Calibration
from codednet.decoding.early import agreements
from codednet.decoding.exits import ExitRule
from codednet.decoding.store import Fitted
from codednet.models import CodedResNeXt
from codednet.runs.prediction import Answer, Answering, softmax_answers


def fitted_answers(model: CodedResNeXt, fitted: Fitted, exits: bool = True) -> Answering:
    """Answers by the exit rule and the calibration, as far as they were fitted; else those of `softmax_answers`.

    With exits, the confidence of an image that leaves is the joint decoder's, that of one that goes through is h_T's;
    without them it is h_aug's, which takes all early decoders. The network must be on its device already.
    """
    rule = fitted.exits
    if exits and rule is not None and rule.choice.threshold is not None:
        return _leaving(model, rule, fitted.calibration)
    return softmax_answers(model) if fitted.calibration is None else _calibrated(model, fitted.calibration)


def _leaving(model: CodedResNeXt, rule: ExitRule, calibration: Calibration | None) -> Answering:
    temperature = 1.0 if calibration is None else calibration.h_T.temperature
    runner = rule.runner(model, temperature=temperature, count_agreeing=True)

    def answers(images: Tensor) -> list[Answer]:
        found = runner(images)
        read = (found.exits + 1).clamp_max(len(rule.looks))
        return [
            Answer(label, confidence, rule.looks[exit_at] if exit_at < len(rule.looks) else None, agreement)
            for label, confidence, exit_at, agreement in zip(
                found.labels.tolist(),
                found.confidence.tolist(),
                found.exits.tolist(),
                (found.agreeing / read).tolist(),
                strict=True,
            )
        ]

    return answers


def _calibrated(model: CodedResNeXt, calibration: Calibration) -> Answering:
    def answers(images: Tensor) -> list[Answer]:
        trace = model.trace(images)
        logits = trace.logits.float().cpu()
        if not trace.energies:
            confidence, labels = calibration.confidence(logits, None)
            return list(map(Answer, labels.tolist(), confidence.tolist()))
        agree = agreements(logits.argmax(1), [energies.cpu() for energies in trace.energies], model.codes)
        confidence, labels = calibration.confidence(logits, agree)
        none = [None] * len(images)
        return list(map(Answer, labels.tolist(), confidence.tolist(), none, agree.double().mean(1).tolist()))

    return answers
