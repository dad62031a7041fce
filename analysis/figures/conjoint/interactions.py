"""Interactions: how the effect of one attribute differs by another, judges side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import pandas as pd

from conjury.inference.errors import InputError

from ..labels import LabelKey, Labels
from ..panels import draw_panels
from .coefficients import Interval, coefficient_alt, estimate_points, of_probability, with_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def interaction_plot(
    frame: pd.DataFrame,
    *,
    feature: str,
    by: str,
    panels: Literal["feature", "by"] = "feature",
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    theme: str = "light",
    interval: Interval = "normal",
    title: str | None = None,
    bounds: str = "",
) -> Figure:
    """Draw differences in the effects (or marginal means) of ``feature`` between the levels of ``by``.

    Parameters
    ----------
    frame : DataFrame
        Differences in AMCEs or marginal means, or interactions: the tidy columns and a column
        named after ``by``.
    feature, by : str
        The attribute whose effects differ, and the attribute they differ by.
    panels : {"feature", "by"}
        One panel per level of ``feature`` (rows: levels of ``by``), or the other way round.
    labels, group, theme, interval, title, bounds
        As in ``coefficient_plot``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        When a column is missing or ``feature`` does not occur.

    Examples
    --------
    >>> frame = pd.DataFrame({
    ...     "feature": "slur", "level": ["racism", "reclaimed"], "identity": "black_male",
    ...     "estimate": [-0.1, -0.2], "lower": [-0.12, -0.22], "upper": [-0.08, -0.18]})
    >>> len(interaction_plot(frame, feature="slur", by="identity").axes)
    2
    """
    shown = interaction_rows(frame, feature, by)
    named = _labels_for(shown, feature, by, labels)
    panel, row = ("level", by) if panels == "feature" else (by, "level")
    points = estimate_points(shown, named, group, interval, panel=panel, row=row)
    xlabel = with_bounds(_measured(shown, named.feature(feature).lower(), named.feature(by).lower()), bounds)
    return draw_panels(points, theme=theme, xlabel=xlabel, title=title, share_x=True)


def interaction_rows(frame: pd.DataFrame, feature: str, by: str) -> pd.DataFrame:
    """Rows about ``feature`` that carry an estimate."""
    for name in ("feature", by):
        if name not in frame.columns:
            raise InputError(f"The table of differences has no column {name!r}.")
    shown = frame[(frame["feature"].astype("string") == feature) & frame["estimate"].notna()]
    if shown.empty:
        raise InputError(f"The table of differences has no estimate for {feature!r}.")
    return shown


def quantity(frame: pd.DataFrame) -> str:
    """Name what differs between the groups: effects, or marginal means."""
    is_mean = "statistic" in frame and set(frame["statistic"].astype(str)) == {"mm_difference"}
    return "the marginal mean" if is_mean else "the effect"


def _measured(frame: pd.DataFrame, feature: str, by: str) -> str:
    """Name the quantity on the x axis; an AMIE is no difference from a reference."""
    if "statistic" in frame and set(frame["statistic"].astype(str)) == {"amie"}:
        return f"Interaction of {feature} and {by}, beyond both effects"
    return f"Difference in {quantity(frame)} of {feature}{of_probability(frame, 'on')}"


def _labels_for(frame: pd.DataFrame, feature: str, by: str, labels: Mapping[LabelKey, str] | None) -> Labels:
    """Labels that know the levels of both attributes, whichever spans the panels."""
    given, plain = dict(labels or {}), Labels(labels)
    values = {
        str(value): plain.level(owner, value)
        for owner, column in ((feature, "level"), (by, by))
        for value in frame[column].dropna().unique()
    }
    given |= {(owner, value): label for owner in values for value, label in values.items()}
    return Labels(given)


def interaction_alt(
    frame: pd.DataFrame,
    *,
    feature: str,
    by: str,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
) -> str:
    """Describe a plot of interactions in words."""
    named = Labels(labels)
    shown = interaction_rows(frame, feature, by)
    who = ", ".join(named.level(by, value) for value in shown[by].astype("string").unique())
    described = coefficient_alt(shown, labels=labels, group=group)
    what = f"{named.feature(feature).lower()} by {named.feature(by).lower()} ({who})"
    return f"Differences in {quantity(shown)} of {what}. {described}"
