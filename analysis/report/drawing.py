"""Figures of results and their descriptions: the one place in which reports ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..figures import (
    coefficient_alt,
    coefficient_plot,
    engines_alt,
    engines_plot,
    frequencies_alt,
    frequencies_plot,
    interaction_alt,
    interaction_plot,
    marginal_means_alt,
    marginal_means_plot,
    published_alt,
    published_plot,
    truth_alt,
    truth_plot,
)
from ..figures.benchmark import alt_of, figure_of, further_figures, is_drawn
from ..figures.conjoint.detectable import detectable_alt, detectable_plot
from ..figures.conjoint.error_choices import errors_alt, errors_plot
from ..figures.conjoint.reliability import reliability_alt, reliability_plot
from ..figures.diagnostics import checks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..figures.labels import LabelKey
    from ..results import Result

__all__ = ["describe", "draw", "further_figures", "is_drawn"]

PLOTS: dict[str, tuple[Any, Any]] = {
    "amce": (coefficient_plot, coefficient_alt),
    "people": (coefficient_plot, coefficient_alt),
    "mm": (marginal_means_plot, marginal_means_alt),
    "amce_diffs": (interaction_plot, interaction_alt),
    "cj_freqs": (frequencies_plot, frequencies_alt),
    "truth": (truth_plot, truth_alt),
    "standard_errors": (errors_plot, errors_alt),
    "detectable": (detectable_plot, detectable_alt),
}
ONLY_DRAWN = ("bounds", "share_x")


def draw(
    result: Result, labels: Mapping[LabelKey, str], *, theme: str = "light", part: str | None = None
) -> Figure:
    """Draw a result, or a further figure of it; its settings are the options of the drawing."""
    options, drawn = dict(result.settings), {"labels": labels, "theme": theme}
    if result.kind in PLOTS:
        return PLOTS[result.kind][0](result.frame, **drawn, **options)  # type: ignore[no-any-return]
    if result.kind == "published":
        return published_plot(result.extra["printed"], result.frame, **drawn)  # type: ignore[arg-type]
    if result.kind == "engines":
        return engines_plot(result.frame, yardstick=options["yardstick"], theme=theme)
    if result.kind == "reliability":
        return reliability_plot(result.frame, result.extra["position"], **drawn)  # type: ignore[arg-type]
    if result.kind == "check":
        return checks.draw(str(options["name"]), result.frame, **drawn)  # type: ignore[arg-type]
    return figure_of(result, **drawn, **({} if part is None else {"part": part}))


def describe(result: Result, labels: Mapping[LabelKey, str], *, part: str | None = None) -> str:
    """Describe what `draw` draws, from its numbers."""
    options = {name: value for name, value in result.settings.items() if name not in ONLY_DRAWN}
    if result.kind in PLOTS:
        return str(PLOTS[result.kind][1](result.frame, labels=labels, **options))
    if result.kind == "published":
        return published_alt(result.extra["printed"], result.frame, labels=labels)
    if result.kind == "engines":
        return engines_alt(result.frame, yardstick=options["yardstick"])
    if result.kind == "reliability":
        return reliability_alt(result.frame)
    if result.kind == "check":
        return str(options["finding"])
    return alt_of(result, labels, part)
