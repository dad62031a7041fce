"""Coefficient plots: AMCEs with intervals, attributes in panels, judges side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import PROBABILITY

from ..labels import LabelKey, Labels, display_order, refuse_repeats, series_labels
from ..panels import Points, draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Interval = Literal["normal", "bootstrap"]
AXIS_LABELS = {
    "amce": "Average marginal component effect",
    "amce_difference": "Difference in average marginal component effects",
    "amce_minus_people": "Average marginal component effect, model minus people",
    "mm": "Marginal mean",
    "mm_minus_people": "Marginal mean, model minus people",
    "mm_difference": "Difference in marginal means",
    "mm_contrast": "Difference between marginal means",
    "pamce": "Population average marginal component effect",
    "pamce_difference": "Change in the effect with the distribution of attributes",
    "pmm": "Population marginal mean",
    "acie": "Average component interaction effect",
    "amie": "Average marginal interaction effect",
}


def coefficient_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    theme: str = "light",
    interval: Interval = "normal",
    title: str | None = None,
    share_x: bool = False,
    bounds: str = "",
) -> Figure:
    """Draw estimates with their intervals: one panel an attribute, one row a level.

    Parameters
    ----------
    frame : DataFrame
        Tidy estimates (``feature, level, estimate, lower, upper``), of one judge or stacked
        with leading columns such as ``judge``, ``prompt`` or ``engine``.
    labels : mapping, optional
        ``feature -> label`` and ``(feature, level) -> label``; names become words otherwise.
    group : str, optional
        Column whose values stand side by side; by default every column that tells judges,
        prompts, variants or engines apart.
    theme : {"light", "dark"}
        Colours.
    interval : {"normal", "bootstrap"}
        ``lower, upper``, or ``boot_lower, boot_upper``.
    title : str, optional
        Heading above the figure.
    share_x : bool
        Give all panels the same x axis; by default each attribute has its own.
    bounds : str
        What the lines are, such as "95% normal intervals"; it stands behind the axis label.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        When columns are missing, the table is empty, or rows repeat within a group.

    Examples
    --------
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.0, 0.1],
    ...     "lower": [None, 0.05], "upper": [None, 0.15]})
    >>> len(coefficient_plot(frame).axes)
    1
    """
    points = estimate_points(frame, Labels(labels), group, interval)
    xlabel = with_bounds(axis_label(frame), bounds)
    return draw_panels(points, theme=theme, xlabel=xlabel, title=title, share_x=share_x)


def axis_label(frame: pd.DataFrame) -> str:
    """Name the quantity on the x axis from the ``statistic`` column."""
    found = [str(value) for value in frame["statistic"].dropna().unique()] if "statistic" in frame else []
    label = AXIS_LABELS.get(found[0], found[0]) if len(found) == 1 else "Estimate"
    return label + of_probability(frame, "of" if "mean" in label.lower() else "on")


def of_probability(frame: pd.DataFrame, preposition: str) -> str:
    """Say behind a quantity that it is about the probability of a choice, where ``outcome`` says so."""
    outcomes = set(frame["outcome"].dropna().astype(str)) if "outcome" in frame else set()
    return f" {preposition} the probability of being chosen" if outcomes == {PROBABILITY} else ""


def with_bounds(label: str, bounds: str) -> str:
    """Say behind an axis label what the lines are."""
    return f"{label} (lines: {bounds})" if bounds else label


def estimate_points(
    frame: pd.DataFrame,
    labels: Labels,
    group: str | None = None,
    interval: Interval = "normal",
    *,
    panel: str = "feature",
    row: str = "level",
) -> Points:
    """Lay tidy estimates out as points: ``panel`` and ``row`` name the columns that spread them."""
    bounds = ("boot_lower", "boot_upper") if interval == "bootstrap" else ("lower", "upper")
    needed = ["feature", "level", panel, row, "estimate", *bounds]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(f"A figure needs the column {missing[0]!r}, which the table of estimates lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of estimates has no rows.")
    keys = frame[[panel, row]].astype("string")
    series = series_labels(frame, group)
    refuse_repeats(pd.concat([keys, series.rename("series")], axis=1))
    numbers = frame[["estimate", *bounds]].astype(float)
    table = pd.DataFrame(
        {
            "panel": [_label(labels, panel, a, a) for a in keys[panel]],
            "row": [_label(labels, row, a, b) for a, b in zip(keys[panel], keys[row], strict=True)],
            "series": series.to_numpy(str),
            "estimate": numbers["estimate"].to_numpy(),
            "lower": numbers[bounds[0]].to_numpy(),
            "upper": numbers[bounds[1]].to_numpy(),
            "reference": is_reference(frame).to_numpy(),
        }
    )
    panels = [_label(labels, panel, a, a) for a in display_order(frame[panel])]
    rows = {
        _label(labels, panel, a, a): [
            _label(labels, row, a, b) for b in display_order(frame.loc[keys[panel] == a, row])
        ]
        for a in display_order(frame[panel])
    }
    return Points(table, panels, rows, list(dict.fromkeys(table["series"])))


def _label(labels: Labels, column: str, owner: str, value: str) -> str:
    return labels.feature(value) if column == "feature" else labels.level(owner, value)


def is_reference(frame: pd.DataFrame) -> pd.Series[bool]:
    """Mark reference levels: an estimate of exactly zero without an error or interval."""
    errors = [name for name in ("std_error", "lower", "upper") if name in frame]
    return (frame["estimate"] == 0) & frame[errors].isna().all(axis=1)


def coefficient_alt(
    frame: pd.DataFrame, *, labels: Mapping[LabelKey, str] | None = None, group: str | None = None
) -> str:
    """Describe a coefficient plot in words, with its largest and smallest estimate.

    Examples
    --------
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.0, 0.1],
    ...     "lower": [None, 0.05], "upper": [None, 0.15]})
    >>> print(coefficient_alt(frame))
    Dot plot with intervals. 1 attribute, 2 levels. The estimate is 0.100 (Reply: Agree).
    """
    words, series = Labels(labels), series_labels(frame, group)
    is_shown = np.isfinite(frame["estimate"].astype(float)) & ~is_reference(frame)
    shown = frame[is_shown]
    n_features, n_levels = frame["feature"].nunique(), len(frame[["feature", "level"]].drop_duplicates())
    names = list(dict.fromkeys(series))
    judges = f" {len(names)} series: {', '.join(names)}." if len(names) > 1 else ""
    opening = (
        f"Dot plot with intervals. {n_features} attribute{'s' * (n_features != 1)}, "
        f"{n_levels} level{'s' * (n_levels != 1)}.{judges}"
    )
    if shown.empty:
        return f"{opening} No estimate is available."

    def told(position: int) -> str:
        row = shown.iloc[position]
        who = f"{series[is_shown].iloc[position]}, " if len(names) > 1 else ""
        what = words.both(row["feature"], row["level"])
        return f"{row['estimate']:.3f} ({who}{what})"

    if len(shown) == 1:
        return f"{opening} The estimate is {told(0)}."
    estimates = shown["estimate"].to_numpy(float)
    highest, lowest = int(estimates.argmax()), int(estimates.argmin())
    return f"{opening} Estimates run from {told(lowest)} to {told(highest)}."
