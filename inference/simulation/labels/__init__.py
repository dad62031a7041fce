"""Simulated answers of studies of labels: items, gold labels, judgments, and the truth behind them."""

from .label_simulation import LabelSimulation, simulate_labels, simulate_people
from .label_truth import LabelTruth, read_label_truth

__all__ = [
    "LabelSimulation",
    "LabelTruth",
    "read_label_truth",
    "simulate_labels",
    "simulate_people",
]
