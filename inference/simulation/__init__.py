"""Simulated studies with a known truth: conjoints, ratings and labels."""

from .conjoint.conjoint_simulation import Simulation, simulate
from .labels import LabelSimulation, LabelTruth, read_label_truth, simulate_labels
from .ratings import RatingSimulation, RatingTruth, read_rating_truth, simulate_ratings

__all__ = [
    "LabelSimulation",
    "LabelTruth",
    "RatingSimulation",
    "RatingTruth",
    "Simulation",
    "read_label_truth",
    "read_rating_truth",
    "simulate",
    "simulate_labels",
    "simulate_ratings",
]
