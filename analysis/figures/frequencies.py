"""Frequencies: how often each level was shown, beside the share that equal frequencies would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from .labels import LabelKey, Labels, display_order, refuse_repeats, series_labels
from .panels import Points, draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def frequencies_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw the share of profiles that showed each level; a line marks equal shares.

    Parameters
    ----------
    frame : DataFrame
        ``feature, level, estimate`` with counts as estimates, of one judge or stacked, and
        ``lower, upper`` where the counts were bootstrapped.
    labels, group, theme, title
        As in ``coefficient_plot``. With one series the counts stand behind the levels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        When columns are missing, the table is empty, or rows repeat within a group.

    Examples
    --------
    >>> frame = pd.DataFrame({"feature": "reply", "level": ["no_reply", "agree"], "estimate": [40, 60]})
    >>> [label.get_text() for label in frequencies_plot(frame).axes[0].get_yticklabels()]
    ['No reply (n = 40)', 'Agree (n = 60)']
    """
    points, equal = frequency_points(frame, Labels(labels), group)
    xlabel = "Share of the profiles shown, in percent (vertical line: equal shares)"
    return draw_panels(points, theme=theme, xlabel=xlabel, baseline=equal, title=title, hold=[0.0])


def frequency_points(
    frame: pd.DataFrame, labels: Labels, group: str | None = None
) -> tuple[Points, dict[str, float]]:
    """Lay counts out as percentages, with the equal share of each panel."""
    absent = next((name for name in ("feature", "level", "estimate") if name not in frame), None)
    if absent is not None:
        raise InputError(f"A figure needs the column {absent!r}, which the table of frequencies lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of frequencies has no rows.")
    keys = frame[["feature", "level"]].astype("string").assign(series=series_labels(frame, group))
    refuse_repeats(keys)
    counts = frame["estimate"].astype(float)
    total = counts.groupby([keys["feature"], keys["series"]]).transform("sum").to_numpy()
    single = keys["series"].nunique() == 1
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = {
            name: 100 * frame[name].to_numpy(float) / total if name in frame else np.full(len(frame), np.nan)
            for name in ("estimate", "lower", "upper")
        }
    names = {
        (feature, level): labels.level(feature, level) + (f" (n = {count:,.0f})" if single else "")
        for feature, level, count in zip(keys["feature"], keys["level"], counts, strict=True)
    }
    table = pd.DataFrame(
        {
            "panel": [labels.feature(feature) for feature in keys["feature"]],
            "row": [names[pair] for pair in zip(keys["feature"], keys["level"], strict=True)],
            "series": keys["series"].to_numpy(str),
            **shares,
            "reference": False,
        }
    )
    rows = {
        labels.feature(feature): [
            names[feature, level] for level in display_order(frame.loc[keys["feature"] == feature, "level"])
        ]
        for feature in display_order(frame["feature"])
    }
    equal = {panel: 100 / len(levels) for panel, levels in rows.items()}
    return Points(table, list(rows), rows, list(dict.fromkeys(table["series"]))), equal


def frequencies_alt(
    frame: pd.DataFrame, *, labels: Mapping[LabelKey, str] | None = None, group: str | None = None
) -> str:
    """Describe a plot of frequencies in words, with the level that is furthest from an equal share.

    Examples
    --------
    >>> frame = pd.DataFrame({"feature": "reply", "level": ["no_reply", "agree"], "estimate": [40, 60]})
    >>> frequencies_alt(frame).split(". ")[1]
    'Furthest from an equal share: Reply: No reply (40.0%, equal 50.0%).'
    """
    points, equal = frequency_points(frame.reset_index(drop=True), Labels(labels), group)
    shares = points.table["estimate"].to_numpy(float)
    expected = points.table["panel"].map(equal).to_numpy(float)
    n_levels = len(frame[["feature", "level"]].drop_duplicates())
    opening = f"Dot plot of how often each of {n_levels} levels was shown."
    if not np.isfinite(shares).any():
        return f"{opening} No level was shown."
    furthest = int(np.nanargmax(np.abs(shares - expected)))
    what = Labels(labels).both(frame["feature"].iloc[furthest], frame["level"].iloc[furthest])
    return (
        f"{opening} Furthest from an equal share: {what} "
        f"({shares[furthest]:.1f}%, equal {expected[furthest]:.1f}%)."
    )
