"""Which figure and which description belong to each table of a results folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .figures import (
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
from .figures.labels import one_prompt
from .recovery import beside_truth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .report import Results

Draw = Callable[[str], "Figure"]
Describe = Callable[[], str]
KINDS: dict[str, tuple[Callable[..., Figure], Callable[..., str]]] = {
    "amce_by_identity": (interaction_plot, interaction_alt),
    "mm": (marginal_means_plot, marginal_means_alt),
    "frequencies": (frequencies_plot, frequencies_alt),
    "recovery": (truth_plot, truth_alt),
}


def drawers(report: Results, name: str) -> tuple[Draw, Describe]:
    """Return the function that draws a table in a theme, and the one that describes the drawing."""
    if name == "engines_summary":
        summary = report.table(name)
        return lambda theme: engines_plot(summary, theme=theme), lambda: engines_alt(summary)
    if name == "published":
        printed, ours = report.table("published"), report.table("amce")
        return (
            lambda theme: published_plot(printed, ours, labels=report.labels, theme=theme),
            lambda: published_alt(printed, ours),
        )
    options: dict[str, Any] = {"labels": report.labels}
    if name == "recovery":
        amce = {"amce": report.table("amce")}
        frame = report.named(one_prompt(beside_truth(report.table("truth"), amce)))
    else:
        frame = report.estimates(name)
    plot, alt = KINDS.get(name, (coefficient_plot, coefficient_alt))
    lines = {} if name == "frequencies" else {"bounds": report.lines("amce" if name == "recovery" else name)}
    return (
        lambda theme: plot(frame, theme=theme, **options, **lines),
        lambda: alt(frame, **options),
    )
