"""Engines side by side: the largest disagreement with one of them, on a log scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..theme import TWO_COLUMNS, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOOR = 1e-17
TOLERANCE = 1e-8
MEASURES = {
    "max_abs_difference_estimate": "Estimates (absolute)",
    "max_rel_difference_std_error": "Standard errors (relative)",
}


def engines_plot(
    summary: pd.DataFrame,
    *,
    yardstick: str | None = None,
    theme: str = "light",
    tolerance: float = TOLERANCE,
    title: str | None = None,
) -> Figure:
    """Draw the largest disagreement of each engine with the yardstick.

    Parameters
    ----------
    summary : DataFrame
        ``engine, available, max_abs_difference_estimate, max_rel_difference_std_error``; zero is
        drawn at 1e-17, the left end.
    yardstick : str, optional
        The engine that the others are compared with; by default the first.
    theme : {"light", "dark"}
        Colours.
    tolerance : float
        Where the dashed line of agreement stands.
    title : str, optional
        Heading above the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> summary = pd.DataFrame({
    ...     "engine": ["native", "survey"], "available": [True, True],
    ...     "max_abs_difference_estimate": [0, 1e-15], "max_rel_difference_std_error": [0, 2e-13]})
    >>> [label.get_text() for label in engines_plot(summary).axes[0].get_yticklabels()]
    ['survey']
    """
    from matplotlib.transforms import blended_transform_factory

    yardstick = yardstick or yardstick_of(summary)
    compared = compared_engines(summary, yardstick)
    look = theme_named(theme)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, 1.15 + 0.36 * len(compared) + (0.3 if title else 0))
        axes = figure.add_subplot()
        for position, (measure, label) in enumerate(MEASURES.items()):
            values = compared[measure].to_numpy(float)
            known = np.isfinite(values) & compared["available"].to_numpy(bool)
            y = np.flatnonzero(known) + (position - 0.5) * 0.24
            axes.plot(
                np.maximum(values[known], FLOOR), y, look.marker(position), markersize=5.5, label=label,
                color=look.color(position), linestyle="none", zorder=3,
            )  # fmt: skip
        for place, available in enumerate(compared["available"].to_numpy(bool)):
            if not available:
                axes.text(FLOOR * 2, place, "not available", va="center", style="italic", color=look.muted)
        largest = np.nanmax(np.append(compared[list(MEASURES)].to_numpy(float), tolerance))
        axes.axvline(tolerance, color=look.muted, linestyle="--", linewidth=1)
        axes.text(
            tolerance, 1.0, f" tolerance {tolerance:.0e}", va="bottom", fontsize=8, color=look.muted,
            transform=blended_transform_factory(axes.transData, axes.transAxes),
        )  # fmt: skip
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0e}")
        axes.set_xlim(FLOOR / 3, largest * 30)
        axes.set_yticks(range(len(compared)), list(compared["engine"].astype(str)))
        axes.set_ylim(len(compared) - 0.5, -0.5)
        axes.set_xlabel(f"Largest difference from the {yardstick} engine")
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        figure.legend(loc="outside upper left", ncols=2, frameon=False, labelcolor=look.foreground)
    return figure


def yardstick_of(summary: pd.DataFrame) -> str:
    """Return the engine that the others are compared with where nothing else names it: the first."""
    if summary.empty or "engine" not in summary:
        raise InputError("The summary of engines names no engine; run `conjury compare` again.")
    return str(summary["engine"].iloc[0])


def compared_engines(summary: pd.DataFrame, yardstick: str) -> pd.DataFrame:
    """Every engine but the yardstick, in the order of the table."""
    for name in ("engine", "available", *MEASURES):
        if name not in summary.columns:
            raise InputError(f"The summary of engines has no column {name!r}.")
    return summary[summary["engine"].astype(str) != yardstick].reset_index(drop=True)


def engines_alt(summary: pd.DataFrame, *, yardstick: str | None = None) -> str:
    """Describe the comparison of engines in words.

    Examples
    --------
    >>> summary = pd.DataFrame({
    ...     "engine": ["native", "survey", "cregg"], "available": [True, True, False],
    ...     "max_abs_difference_estimate": [0, 1e-15, None],
    ...     "max_rel_difference_std_error": [0, 2e-13, None]})
    >>> engines_alt(summary).split("; ")[1]
    'cregg: not available.'
    """
    yardstick = yardstick or yardstick_of(summary)
    told = [
        f"{row.engine}: estimates {row.max_abs_difference_estimate:.1e}, "
        f"standard errors {row.max_rel_difference_std_error:.1e}"
        if row.available
        else f"{row.engine}: not available"
        for row in compared_engines(summary, yardstick).itertuples()
    ]
    return f"Largest differences from the {yardstick} engine. {'; '.join(told) or 'No other engine was run'}."
