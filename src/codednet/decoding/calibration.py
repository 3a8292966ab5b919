"""What a run's confidences are calibrated with: fitted on tune-fit, kept in the run, used by predictions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from codednet.decoding.channel import Channel, fit_channel
from codednet.decoding.early import AgreementRow, AgreementTable, agreement_table, agreements
from codednet.decoding.metrics import CalibrationQuality, ReliabilityBin, calibration_errors, quality, reliability
from codednet.decoding.temperature import Temperature, fit_temperature
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.runs.collect import Collected

# What the fits come from; the command line offers no other.
FITTED_ON = "tune-fit"


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Temperatures and the table of agreement, fitted on one split."""

    fitted_on: str
    images: int
    h_T: Temperature  # noqa: N815
    h_aug: Temperature | None
    """None of a network without early decoders, as are the next two."""
    agreement: AgreementTable | None
    channel: Channel | None

    def __post_init__(self) -> None:
        if self.fitted_on != FITTED_ON:
            raise CodednetError(f"what predictions use is fitted on {FITTED_ON}; this was on {self.fitted_on!r}.")

    def confidence(
        self, logits: Float[Tensor, "images classes"], agree: Bool[Tensor, "images blocks"] | None
    ) -> tuple[Float[Tensor, " images"], Int[Tensor, " images"]]:
        """Calibrated confidence and label: by h_aug where the agreement is known, else by h_T."""
        if self.h_aug is not None and agree is not None:
            top = self.h_aug.probabilities(logits, agree).max(1)
        else:
            top = (logits.double() / self.h_T.temperature).softmax(1).max(1)
        return top.values, top.indices

    def document(self) -> dict[str, Any]:
        """The calibration as JSON values."""
        return {
            "fitted_on": self.fitted_on,
            "images": self.images,
            "h_T": self.h_T.document(),
            "h_aug": None if self.h_aug is None else self.h_aug.document(),
            "agreement": None if self.agreement is None else [asdict(row) for row in self.agreement.rows],
            "channel": None if self.channel is None else self.channel.document(),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Calibration":
        """The calibration that the JSON values describe."""
        table, aug, channel = document["agreement"], document["h_aug"], document["channel"]
        return cls(
            fitted_on=document["fitted_on"],
            images=document["images"],
            h_T=Temperature.from_document(document["h_T"]),
            h_aug=None if aug is None else Temperature.from_document(aug),
            agreement=None if table is None else AgreementTable(tuple(AgreementRow(**row) for row in table)),
            channel=None if channel is None else Channel.from_document(channel),
        )


@dataclass(frozen=True, kw_only=True)
class MeasuredConfidence:
    """One way to confidences on a split, with the data of its reliability diagram."""

    method: str
    ece: float
    mce: float
    quality: CalibrationQuality | None
    """None of the agreement table, which says nothing of the other classes."""
    reliability: tuple[ReliabilityBin, ...]


def fit_calibration(model: CodedResNeXt, fit: Collected) -> Calibration:
    """Calibration fitted on one pass over tune-fit."""
    h_T = fit_temperature(fit.logits, fit.labels)
    if not fit.energies:
        return Calibration(
            fitted_on=FITTED_ON, images=len(fit.labels), h_T=h_T, h_aug=None, agreement=None, channel=None
        )
    predicted = fit.logits.argmax(1)
    agree = agreements(predicted, fit.energies, model.codes)
    return Calibration(
        fitted_on=FITTED_ON,
        images=len(fit.labels),
        h_T=h_T,
        h_aug=fit_temperature(fit.logits, fit.labels, agree),
        agreement=agreement_table(agree, predicted == fit.labels),
        channel=fit_channel(fit.energies, model.codes, fit.labels),
    )


def measure_calibration(
    calibration: Calibration, model: CodedResNeXt, measured: Collected, bins: int
) -> tuple[MeasuredConfidence, ...]:
    """Softmax as it is, h_T, h_aug and the agreement table on another split."""
    logits, labels = measured.logits.double(), measured.labels
    predicted = measured.logits.argmax(1)
    tables = {"softmax": logits.softmax(1), "h_T": (logits / calibration.h_T.temperature).softmax(1)}
    confidences = {}
    if calibration.h_aug is not None and calibration.agreement is not None:
        agree = agreements(predicted, measured.energies, model.codes)
        tables["h_aug"] = calibration.h_aug.probabilities(logits, agree)
        confidences["agreement"] = calibration.agreement.confidence(agree)
    qualities = {name: quality(table, labels, bins) for name, table in tables.items()}
    confidences = {name: table.amax(1) for name, table in tables.items()} | confidences
    found = []
    for name, confidence in confidences.items():
        ece, mce = calibration_errors(confidence, predicted == labels, bins)
        bars = reliability(confidence, predicted == labels, bins)
        found.append(MeasuredConfidence(method=name, ece=ece, mce=mce, quality=qualities.get(name), reliability=bars))
    return tuple(found)
