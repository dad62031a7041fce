"""Estimates of simulated choices beside the values that the choices were simulated from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..labels import LabelKey, Labels, series_labels
from ..panels import draw_panels
from .coefficients import Interval, estimate_points, with_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def truth_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    theme: str = "light",
    interval: Interval = "normal",
    title: str | None = None,
    bounds: str = "",
) -> Figure:
    """Draw estimates minus true values with their intervals: an interval that holds 0 holds the truth.

    Parameters
    ----------
    frame : DataFrame
        Tidy estimates with a column ``true``, as from `conjury.analysis.recovery.conjoint.beside_truth`.
    labels, group, theme, interval, title, bounds
        As in ``coefficient_plot``.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> frame = pd.DataFrame({"feature": ["reply"], "level": ["agree"], "true": [0.1],
    ...                       "estimate": [0.12], "lower": [0.08], "upper": [0.16]})
    >>> [round(float(x), 2) for x in truth_plot(frame).axes[0].lines[0].get_xdata()]
    [0.02]
    """
    if "true" not in frame:
        raise InputError("A figure of errors needs the column 'true', which the table of estimates lacks.")
    moved = {
        name: frame[name].astype(float) - frame["true"].astype(float)
        for name in ("estimate", "lower", "upper", "boot_lower", "boot_upper")
        if name in frame
    }
    points = estimate_points(frame.assign(**moved), Labels(labels), group, interval)
    xlabel = with_bounds("Estimate minus true value", bounds)
    return draw_panels(points, theme=theme, xlabel=xlabel, title=title)


def truth_alt(
    frame: pd.DataFrame, *, labels: Mapping[LabelKey, str] | None = None, group: str | None = None
) -> str:
    """Describe the errors of estimates in words: how many intervals hold the truth, and the largest error.

    Examples
    --------
    >>> frame = pd.DataFrame({"feature": ["reply"], "level": ["agree"], "true": [0.1],
    ...                       "estimate": [0.12], "lower": [0.08], "upper": [0.16]})
    >>> truth_alt(frame).split(". ")[1:]
    ['1 of 1 intervals hold the true value', 'Largest error: 0.020 (Reply: Agree).']
    """
    error = (frame["estimate"] - frame["true"]).to_numpy(float)
    inside = int((frame["lower"].le(frame["true"]) & frame["upper"].ge(frame["true"])).sum())
    opening = "Dot plot of estimates minus true values."
    if not np.isfinite(error).any():
        return f"{opening} No estimate has a true value."
    worst = int(np.nanargmax(np.abs(error)))
    series = series_labels(frame, group)
    who = f"{series.iloc[worst]}, " if series.nunique() > 1 else ""
    what = Labels(labels).both(frame["feature"].iloc[worst], frame["level"].iloc[worst])
    return (
        f"{opening} {inside} of {len(frame)} intervals hold the true value. "
        f"Largest error: {error[worst]:.3f} ({who}{what})."
    )
