"""Ratings and labels by people and models: agreement, biases, rater models, replacement tests."""

from ..results import Result
from .agreement import agreement
from .descriptive import (
    biases,
    bounds,
    correlations,
    coverage,
    dimension_correlations,
    distributions,
    means,
    prediction_powered,
    rating_lines,
    tier_accuracy,
)
from .models import ModelFit, dimension_model, label_model, rater_model
from .ratings import Ratings
from .reading import read_dimensions, read_ratings
from .replacement import AltTest, alt_test, alt_test_power, epsilon_curve
from .scales import with_items
from .sequential import sequential

__all__ = [
    "AltTest",
    "ModelFit",
    "Ratings",
    "Result",
    "agreement",
    "alt_test",
    "alt_test_power",
    "biases",
    "bounds",
    "correlations",
    "coverage",
    "dimension_correlations",
    "dimension_model",
    "distributions",
    "epsilon_curve",
    "label_model",
    "means",
    "prediction_powered",
    "rater_model",
    "rating_lines",
    "read_dimensions",
    "read_ratings",
    "sequential",
    "tier_accuracy",
    "with_items",
]
