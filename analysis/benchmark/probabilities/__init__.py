"""Scores of probabilities of labels, and their calibration."""

from .calibration import calibration
from .probability_scores import probabilities

__all__ = ["calibration", "probabilities"]
