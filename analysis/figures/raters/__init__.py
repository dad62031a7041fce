"""Figures of ratings and raters: one module a kind of result."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...raters.result import RaterResult
    from ..labels import LabelKey

DRAWN: dict[str, str] = {  # kind of result -> module of this folder with `draw` and `alt`
    "agreement": "agreement",
    "agreement_pairs": "agreement_pairs",
    "alt_test": "alt_test",
    "epsilon_curve": "epsilon",
    "alt_power": "alt_power",
    "biases": "biases",
    "choice_model": "part_worths",
    "correlations": "correlations",
    "dimension_correlations": "dimension_maps",
    "dimension_model": "dimension_model",
    "distributions": "histograms",
    "label_certainty": "certainty",
    "label_model": "confusion",
    "means": "means",
    "rater_model": "rater_model",
    "rating_lines": "scatter",
    "tier_accuracy": "tiers",
}


def figure_of(result: RaterResult, **options: Any) -> Figure:
    """Draw the figure of a result; InputError for results that have none."""
    if result.kind not in DRAWN:
        raise InputError(
            f"Results of {result.kind!r} have no figure; there are figures of {', '.join(DRAWN)}."
        )
    drawn: Figure = import_module(f".{DRAWN[result.kind]}", __name__).draw(result, **options)
    return drawn


def alt_of(result: RaterResult, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe the figure of a result in words, from its numbers."""
    return str(import_module(f".{DRAWN[result.kind]}", __name__).alt(result, labels=labels))
