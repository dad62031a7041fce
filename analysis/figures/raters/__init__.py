"""Figures of ratings and raters: one module a kind of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..drawable import Drawable
    from ..labels import LabelKey

DRAWN: dict[str, str] = {  # kind of result -> module of this folder with `draw` and `alt`
    "agreement": "agreement",
    "agreement_pairs": "agreement_pairs",
    "alt_test": "alt_test",
    "epsilon_curve": "epsilon",
    "both_answers": "both_answers",
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
    "recovery": "recovery",
    "tier_accuracy": "tiers",
}


FURTHER: dict[str, dict[str, str]] = {  # kind of result -> further figure of it -> module of this folder
    "agreement": {"pairs": "agreement_pairs"},
    "choice_model": {"check": "predictive"},
    "alt_test": {"epsilon": "epsilon"},
    "dimension_model": {"check": "predictive"},
    "label_model": {"certainty": "certainty", "check": "predictive"},
    "means": {"radar": "radar"},
    "rater_model": {"judges": "rater_judges", "check": "predictive"},
}


def figure_of(result: Drawable, **options: Any) -> Figure:
    """Draw the figure of a result; InputError for results that have none.

    ``part`` names a further figure: "radar" of means, "pairs" of agreement, "epsilon" of the replacement
    test, "certainty" of labels, "judges" of the model of raters, "check" of all models.
    """
    if result.kind not in DRAWN:
        raise InputError(
            f"Results of {result.kind!r} have no figure; there are figures of {', '.join(DRAWN)}."
        )
    module, given = _module(result.kind, options.get("part")), dict(options)
    if module != DRAWN[result.kind]:
        given.pop("part")
    drawn: Figure = import_module(f".{module}", __name__).draw(result, **given)
    return drawn


def alt_of(result: Drawable, labels: Mapping[LabelKey, str] | None = None, part: str | None = None) -> str:
    """Describe the figure of a result, or a further one, in words, from its numbers."""
    module = import_module(f".{_module(result.kind, part)}", __name__)
    return str(module.alt(result, labels=labels))


def further_figures(result: Drawable) -> list[str]:
    """Names of further figures that a result can be drawn as, for ``part``."""
    return [part for part in FURTHER.get(result.kind, {}) if _DRAWABLE[part](result)]


def _module(kind: str, part: str | None) -> str:
    return FURTHER.get(kind, {}).get(str(part), DRAWN[kind])


def _has_radar(result: Drawable) -> bool:
    return len(result.settings.get("by") or ()) == 1 and result.frame["dimension"].nunique() > 2


def _has_pairs(result: Drawable) -> bool:
    from .agreement_pairs import SHARED

    pairs = result.extra.get("pairs")
    if pairs is None or pairs.empty:
        return False
    return bool((pairs["estimate"].notna() & (pairs["n_items"] >= SHARED)).any())


def _has_check(result: Drawable) -> bool:
    from .predictive import predicted_shares

    return not predicted_shares(result).empty


_DRAWABLE: dict[str, Callable[[Drawable], bool]] = {
    "radar": _has_radar,
    "pairs": _has_pairs,
    "certainty": lambda result: "items" in result.extra,
    "check": _has_check,
    "epsilon": lambda result: "annotators" in result.extra,
    "judges": lambda result: "judges" in result.extra,
}
