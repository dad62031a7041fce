"""Ratings and labels by people and models: agreement, biases, rater models, replacement tests."""

from typing import TYPE_CHECKING

from ...inference.lazy_names import import_when_used

if TYPE_CHECKING:
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
        rating_gaps,
        rating_lines,
        tier_accuracy,
    )
    from .models import ModelFit, compare_rater_models, dimension_model, label_model, rater_model
    from .rating_sequences import sequential
    from .ratings import Ratings
    from .reading import read_dimensions, read_ratings
    from .replacement import AltTest, alt_test, alt_test_power, epsilon_curve
    from .scales import with_items

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
    "compare_rater_models",
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
    "rating_gaps",
    "rating_lines",
    "read_dimensions",
    "read_ratings",
    "sequential",
    "tier_accuracy",
    "with_items",
]

import_when_used(
    __name__,
    {
        ".descriptive": (
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
        ),
        ".models": ("ModelFit", "compare_rater_models", "dimension_model", "label_model", "rater_model"),
        ".ratings": ("Ratings",),
        ".reading": ("read_dimensions", "read_ratings"),
        ".replacement": ("AltTest", "alt_test", "alt_test_power", "epsilon_curve"),
        ".scales": ("with_items",),
        "..results": ("Result",),
        ".agreement": ("agreement",),
        ".rating_sequences": ("sequential",),
    },
)
