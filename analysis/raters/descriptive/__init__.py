"""Descriptive analysis of ratings: means, correlations, order of tiers, biases."""

from .correlate import correlations
from .mean_ratings import distributions, means
from .strata import with_items

__all__ = ["correlations", "distributions", "means", "with_items"]
