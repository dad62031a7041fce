"""Tables of results on ratings, laid out for reading in the one table style."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...figures.labels import LabelKey
from ...figures.raters.naming import Names
from ..cells import any_table
from .rater_models import dimension_model_tables, label_model_tables, rater_model_tables
from .rating_agreement import agreement_tables, alt_test_tables, power_tables
from .rating_descriptions import (
    bias_tables,
    correlation_tables,
    coverage_tables,
    main_correlate_tables,
    means_tables,
    tier_tables,
)

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result

LAYOUTS: dict[str, Callable[[Result, Names], list[GT]]] = {
    "coverage": coverage_tables,
    "means": means_tables,
    "correlations": correlation_tables,
    "dimension_correlations": main_correlate_tables,
    "tier_accuracy": tier_tables,
    "biases": bias_tables,
    "agreement": agreement_tables,
    "alt_test": alt_test_tables,
    "alt_power": power_tables,
    "rater_model": rater_model_tables,
    "dimension_model": dimension_model_tables,
    "label_model": label_model_tables,
}


def lay_out(result: Result, name: str, labels: Mapping[LabelKey, str]) -> list[GT]:
    """Tables of a result in the style of reports; none for results that only have a figure."""
    told = Names(labels)
    if result.kind in LAYOUTS:
        return LAYOUTS[result.kind](result, told)
    return any_table(result.frame, told, name)
