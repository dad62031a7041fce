"""Which figure and which description belong to each table of a results folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError

from ...audit.moderation import compare_moderation
from ...figures import (
    coefficient_alt,
    coefficient_plot,
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
from ...figures.labels import one_prompt
from ...recovery.conjoint import beside_truth
from ..data import figure_kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..data import ReportData

Draw = Callable[[str], "Figure"]
Describe = Callable[[], str]
KINDS: dict[str, tuple[Callable[..., Figure], Callable[..., str]]] = {
    "coefficients": (coefficient_plot, coefficient_alt),
    "marginal_means": (marginal_means_plot, marginal_means_alt),
    "interaction": (interaction_plot, interaction_alt),
    "people": (partial(coefficient_plot, share_x=True), coefficient_alt),
    "frequencies": (frequencies_plot, frequencies_alt),
}


def drawers(report: ReportData, name: str) -> tuple[Draw, Describe]:
    """Return the function that draws a table in a theme, and the one that describes the drawing."""
    if name == "published":
        compared = compare_moderation(report.table(name), report.beside_print())
        return (
            lambda theme: published_plot(compared, labels=report.labels, theme=theme),
            lambda: published_alt(compared, labels=report.labels),
        )
    if name == "recovery":
        known = beside_truth(report.table("truth"), {report.main: report.table(report.main)})
        frame, lines = report.named(one_prompt(known)), report.lines(report.main)
        return (
            lambda theme: truth_plot(frame, labels=report.labels, theme=theme, bounds=lines),
            lambda: truth_alt(frame, labels=report.labels),
        )
    return _of_analysis(report, name)


def _of_analysis(report: ReportData, name: str) -> tuple[Draw, Describe]:
    frame, kind = report.estimates(name), figure_kind(report.analysis(name))
    if kind not in KINDS:
        raise InputError(
            f"The manifest names no kind of figure for the table {name!r}; run `conjury fit` again."
        )
    plot, alt = KINDS[kind]
    options: dict[str, Any] = {"labels": report.labels}
    if kind == "people":
        frame = frame.assign(
            statistic=frame["statistic"].astype(str).str.replace("difference", "minus_people")
        )
    if kind == "interaction":
        found = report.interaction(name)
        frame = found.frame
        options |= {"feature": found.feature, "by": found.by}
    if kind == "marginal_means" and report.analysis(name).get("h0"):
        options |= {"baseline": float(report.analysis(name)["h0"])}
    lines = {} if kind == "frequencies" else {"bounds": report.lines(name)}
    return lambda theme: plot(frame, theme=theme, **options, **lines), lambda: alt(frame, **options)
