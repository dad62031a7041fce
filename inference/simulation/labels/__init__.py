"""Simulated answers of studies of labels: items, gold labels, judgments, and the truth behind them."""

from .simulate import LabelSimulation, simulate_labels
from .truth import true_labels
from .truth_table import LabelTruth, read_label_truth

__all__ = ["LabelSimulation", "LabelTruth", "read_label_truth", "simulate_labels", "true_labels"]
