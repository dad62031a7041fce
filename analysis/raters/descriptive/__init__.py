"""Descriptive analysis of ratings: counts, means, correlations, order of tiers, biases."""

from .biases import biases
from .correlations import correlations
from .dimension_correlations import dimension_correlations
from .judgment_bounds import bounds
from .means import coverage, distributions, means, rating_lines
from .prediction_powered import prediction_powered
from .rating_gaps import rating_gaps
from .tier_accuracy import tier_accuracy

__all__ = [
    "biases",
    "bounds",
    "correlations",
    "coverage",
    "dimension_correlations",
    "distributions",
    "means",
    "prediction_powered",
    "rating_gaps",
    "rating_lines",
    "tier_accuracy",
]
