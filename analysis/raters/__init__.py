"""Ratings and labels by people and models: agreement, biases, rater models, replacement tests."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..results import Result
from .agreement import agreement
from .rating_sequences import sequential

if TYPE_CHECKING:
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

_PLACES = {
    **dict.fromkeys(("ModelFit", "dimension_model", "label_model", "rater_model"), "models"),
    **dict.fromkeys(("AltTest", "alt_test", "alt_test_power", "epsilon_curve"), "replacement"),
    **dict.fromkeys(("read_dimensions", "read_ratings"), "reading"),
    "Ratings": "ratings",
    "with_items": "scales",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: a command that needs agreement alone starts without the others."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES.get(name, 'descriptive')}", __name__), name)
