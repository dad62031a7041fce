"""Engines compared: the largest difference from one of them, on a logarithmic scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dots import tidy
from ..fitting import Drawable, add_legend, room_above
from ..registry import Style, figure
from ..theme import TWO_COLUMNS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOOR = 1e-17
TOLERANCE = 1e-8
MEASURES = {
    "max_abs_difference_estimate": "Estimates (absolute)",
    "max_rel_difference_std_error": "Standard errors (relative)",
}


def _alt(result: Drawable, style: Style) -> str:
    """Describe the comparison of engines in words."""
    summary = result.frame
    yardstick = _yardstick(result, None)
    texts = [
        f"{row.engine}: estimates {row.max_abs_difference_estimate:.1e}, "
        f"standard errors {row.max_rel_difference_std_error:.1e}"
        if row.available
        else f"{row.engine}: not available"
        for row in compared_engines(summary, yardstick).itertuples()
    ]
    return (
        f"Largest differences from the {yardstick} engine. {'; '.join(texts) or 'No other engine was run'}."
    )


@figure("engines", alt=_alt)
def engines(
    result: Drawable, style: Style, *, yardstick: str | None = None, tolerance: float = TOLERANCE
) -> Figure:
    """Draw the largest disagreement of each engine with the yardstick."""
    from matplotlib.transforms import blended_transform_factory

    summary, look = result.frame, style.look
    yardstick = _yardstick(result, yardstick)
    compared = compared_engines(summary, yardstick)
    title, above, _ = room_above(style.title, TWO_COLUMNS, ["", ""])
    drawn = new_figure(TWO_COLUMNS, 0.93 + 0.36 * len(compared) + above)
    axes = drawn.add_subplot()
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
    tidy(axes)
    handles, names = axes.get_legend_handles_labels()
    add_legend(drawn, handles, names, 2, title, look)
    return drawn


def _yardstick(result: Drawable, asked: str | None) -> str:
    """The engine to compare with: the one asked for, that of the settings, else the first."""
    return asked or str(result.settings.get("yardstick") or yardstick_of(result.frame))


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
