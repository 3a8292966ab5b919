"""Class paths: cut out of a network, measured as detectors, broken branch by branch, seen in the image."""

from codednet.paths.classes import class_indices
from codednet.paths.cost import Cost, CostComparison, compare_costs, measure_cost
from codednet.paths.detectors import (
    Detector,
    counted,
    counted_strangers,
    fit_thresholds,
    mean_quality,
    measure_detectors,
)
from codednet.paths.evidence import evidence_map
from codednet.paths.extract import extract
from codednet.paths.removal import RemovalCurve, removal_curve, removal_curves
from codednet.paths.sweep import DetectorSweep, detector_scores
from codednet.paths.thresholds import Curve, Quality, fit_threshold, measure_quality, precision_recall_curve

__all__ = [
    "Cost",
    "CostComparison",
    "Curve",
    "Detector",
    "DetectorSweep",
    "Quality",
    "RemovalCurve",
    "class_indices",
    "compare_costs",
    "counted",
    "counted_strangers",
    "detector_scores",
    "evidence_map",
    "extract",
    "fit_threshold",
    "fit_thresholds",
    "mean_quality",
    "measure_cost",
    "measure_detectors",
    "measure_quality",
    "precision_recall_curve",
    "removal_curve",
    "removal_curves",
]
