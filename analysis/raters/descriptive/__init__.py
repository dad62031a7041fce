"""Descriptive analysis of ratings: means, correlations, order of tiers, biases."""

from .between_dimensions import dimension_correlations
from .bias import biases
from .correlate import correlations
from .lines import rating_lines
from .mean_ratings import distributions, means
from .order_of_tiers import tier_accuracy

__all__ = [
    "biases",
    "correlations",
    "dimension_correlations",
    "distributions",
    "means",
    "rating_lines",
    "tier_accuracy",
]
