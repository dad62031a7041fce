"""Simulated answers of studies of labels: items, gold labels, judgments, and the truth behind them."""

from .items import LabelTruth, read_label_truth
from .simulate import LabelSimulation, simulate_labels, simulate_people

__all__ = [
    "LabelSimulation",
    "LabelTruth",
    "read_label_truth",
    "simulate_labels",
    "simulate_people",
]
