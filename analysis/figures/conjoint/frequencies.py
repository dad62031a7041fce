"""Frequencies: how often each level was shown, beside the share that equal frequencies would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import HEADING, LONGEST_LABEL, column_labels, heading, inches, lines_high, more_lines, wrap
from ..labels import LabelKey, Labels, display_order, refuse_repeats, series_labels
from ..panels import Points, draw_panels
from ..theme import TWO_COLUMNS, new_figure, styled, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..theme import Theme


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


NUMBERS = ("proportion", "estimate", "std_error", "z", "p", "lower", "upper")
LONGEST_UPRIGHT = 70


def proportions_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw joint proportions of two features in percent; empty combinations are hatched.

    Parameters
    ----------
    frame : DataFrame
        One column a feature, and ``proportion`` (``estimate`` where it was bootstrapped).
    labels, theme, title
        As in ``coefficient_plot``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        When the table does not hold exactly two features.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": list("uuvv"), "proportion": [0.5, 0.2, 0.3, 0]})
    >>> [text.get_text() for text in proportions_plot(frame).axes[0].texts]
    ['50', '30', '20', '0']
    """
    from matplotlib.colors import LinearSegmentedColormap

    share = two_way(frame)
    look, named = theme_named(theme), Labels(labels)
    columns = [named.level(share.columns.name, value) for value in share.columns]
    rows = [wrap(named.level(share.index.name, value), LONGEST_LABEL) for value in share.index]
    below = column_labels(columns, upright=sum(map(len, columns)) <= LONGEST_UPRIGHT, slant=30)
    body = len(share) * max(0.3, 0.08 + max(map(lines_high, rows)))
    side = wrap(named.feature(share.index.name), max(body, 1.2), bold=True)
    under = wrap(named.feature(share.columns.name), TWO_COLUMNS - max(map(inches, rows)) - 0.8, bold=True)
    title = heading(title, TWO_COLUMNS)
    turned = below.depth or (0.6 if below.rotation else 0)
    height = 0.85 + body + (0.28 if title else 0) + turned + more_lines(title, HEADING) + more_lines(under)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, height)
        axes = figure.add_subplot()
        percent = 100 * share.to_numpy(float)
        colors = LinearSegmentedColormap.from_list("share", [look.band, look.color(0)])
        top = np.nanmax(percent, initial=0.0) or 1.0
        axes.pcolormesh(percent, cmap=colors, vmin=0, vmax=top, edgecolors=look.background, linewidth=1)
        _write_shares(axes, percent, top, look)
        axes.set_xticks(
            np.arange(len(columns)) + 0.5,
            below.texts,
            rotation=below.rotation,
            ha=below.align,
        )
        axes.set_yticks(np.arange(len(share)) + 0.5, rows)
        axes.set_ylim(len(share), 0)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_ylabel(side, fontweight="bold")
        axes.set_xlabel(under, fontweight="bold")
        figure.supxlabel(wrap(_of_what(share, named), TWO_COLUMNS - 0.2), fontsize=8.5)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10.5)
    return figure


def two_way(frame: pd.DataFrame) -> pd.DataFrame:
    """Spread joint proportions of two features: rows the first, columns the second."""
    features = [str(name) for name in frame.columns if name not in NUMBERS]
    if len(features) != 2:
        raise InputError(
            f"A heat map shows the joint proportions of two features and this table has {len(features)}; "
            "print .frame, or name two features in the formula."
        )
    rows, columns = features
    value = "proportion" if "proportion" in frame else "estimate"
    keyed = frame.assign(**{name: frame[name].astype("string") for name in features})
    refuse_repeats(keyed[features], "keep one row for each combination")
    wide = keyed.pivot(index=rows, columns=columns, values=value)
    return wide.reindex(index=display_order(frame[rows]), columns=display_order(frame[columns]))


def _write_shares(axes: Axes, percent: np.ndarray, top: float, look: Theme) -> None:
    from matplotlib.patches import Rectangle

    digits = 0 if np.allclose(percent, np.round(percent), equal_nan=True) else 1
    for (row, column), value in np.ndenumerate(percent):
        empty = not value > 0
        if empty:
            axes.add_patch(
                Rectangle(
                    (column, row),
                    1,
                    1,
                    facecolor=look.background,
                    edgecolor=look.muted,
                    hatch="////",
                    linewidth=0,
                )
            )
        text = "" if np.isnan(value) else "0" if empty else f"{value:.{digits}f}"
        strong = look.background if value > 0.6 * top else look.foreground
        axes.text(
            column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, color=strong,
            bbox={"facecolor": look.background, "edgecolor": "none", "pad": 1.5} if empty and text else None,
        )  # fmt: skip


def _of_what(share: pd.DataFrame, named: Labels) -> str:
    """Say of what the proportions are shares, from what they sum to."""
    values = share.to_numpy(float)
    for axis, name in ((1, share.index.name), (0, share.columns.name)):
        sums = np.nansum(values, axis=axis)
        if len(sums) > 1 and np.allclose(sums[sums > 0], 1):
            return f"Percent of the profiles of each level of {named.feature(name).lower()} (hatched: never)"
    return "Percent of all profiles (hatched: never)"
