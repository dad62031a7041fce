"""Contrasts of all pairs of levels as a matrix, and what adjusting for many tests leaves significant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..arrange import PANEL_TITLE
from ..fitting import HEADING, heading, inches, more_lines, wrap
from ..grid import FILLED, HALF, HOLLOW, Grid, add_key, draw_grid, signed, states_of
from ..labels import LabelKey, Labels, display_order, refuse_repeats, series_labels
from ..theme import TWO_COLUMNS, new_figure, styled, theme_named
from .coefficients import is_reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW_LABELS = 1.5  # inches that labels of rows take where they are short


def contrast_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    alpha: float = 0.05,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw contrasts of levels: each row minus each column, one matrix for each group."""
    _require(frame, "reference", "feature", "level", "estimate", "p")
    if frame["feature"].nunique() != 1:
        raise InputError("A matrix of contrasts shows one feature; keep the rows of one.")
    look, named = theme_named(theme), Labels(labels)
    grids = _matrices(frame, named, alpha)
    first, feature = grids[0], named.feature(frame["feature"].iloc[0])
    each = 0.5 * len(first.columns) + max(_ROW_LABELS, first.left + 0.2)
    across = min(len(grids), 2 if each <= TWO_COLUMNS / 2 or first.left <= _ROW_LABELS else 1)
    down = -(-len(grids) // across)
    width = max(min(TWO_COLUMNS, across * each + 0.4), 4.6)
    grids, outdent = _headed(grids, width / across, 0.5 * len(first.columns))
    beyond = max(more_lines(grid.title, PANEL_TITLE) for grid in grids) + first.below.depth
    below = wrap(f"{feature}: row minus column (dots: size of the difference)", width - 0.2)
    title = heading(title, width)
    height = down * (first.cell * len(first.rows) + 0.95 + beyond) + 0.45 + more_lines(below)
    with styled(look):
        figure = new_figure(width, height + (0.28 if title else 0) + more_lines(title, HEADING))
        largest = float(np.nanmax(np.abs(frame["estimate"].to_numpy(float)), initial=0.0))
        for position, grid in enumerate(grids):
            draw_grid(figure.add_subplot(down, across, position + 1), grid, look, largest, outdent)
        figure.supxlabel(below, fontsize=8.5)
        add_key(figure, look, _states(frame, alpha), title)
    return figure


def contrast_alt(frame: pd.DataFrame, *, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe a matrix of contrasts in words, with its largest and smallest."""
    named = Labels(labels)
    shown = frame.dropna(subset="estimate")
    feature = str(shown["feature"].iloc[0])
    told = []
    for position in (int(shown["estimate"].argmin()), int(shown["estimate"].argmax())):
        row = shown.iloc[position]
        base = named.level(feature, row["reference"])
        words = f"{named.level(feature, row['level'])} minus {base[:1].lower() + base[1:]}"
        told.append(f"{signed(float(row['estimate']))} ({words})")
    what = named.feature(feature).lower()
    return f"Matrix of {len(shown)} contrasts of {what}, from {told[0]} to {told[1]}."


def significance_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    alpha: float = 0.05,
    theme: str = "light",
    title: str | None = None,
) -> Figure:
    """Draw which effects stay significant when p values are adjusted: levels down, judges across."""
    _require(frame, "feature", "level", "estimate", "p", "p_adjusted")
    look, named = theme_named(theme), Labels(labels)
    shown = frame[~is_reference(frame)].reset_index(drop=True)
    if group is None and "by" in shown:
        group = "by"
    series = series_labels(shown, group)
    refuse_repeats(pd.concat([shown[["feature", "level"]].astype("string"), series.rename("series")], axis=1))
    state = states_of(shown["p"].to_numpy(float), shown["p_adjusted"].to_numpy(float), alpha)
    table = pd.DataFrame(
        {
            "feature": shown["feature"].astype(str),
            "row": [named.level(f, v) for f, v in zip(shown["feature"], shown["level"], strict=True)],
            "column": series.to_numpy(str),
            "estimate": shown["estimate"].astype(float),
            "state": state,
        }
    )
    columns = list(dict.fromkeys(table["column"]))
    grids = []
    for feature in display_order(shown["feature"]):
        order = display_order(shown.loc[shown["feature"].astype(str) == feature, "level"])
        rows = [named.level(feature, level) for level in order]
        grids.append(Grid(table[table["feature"] == feature], rows, columns, named.feature(feature)))
    left = max(grid.left for grid in grids)
    wide = 2.6 + 0.8 * len(columns) + max(0.0, left - _ROW_LABELS)
    width = TWO_COLUMNS if len(columns) > 4 else min(max(wide, 4.8), TWO_COLUMNS)
    grids, outdent = _headed(grids, width, width - left - 0.4)
    heights = [grid.cell * len(grid.rows) + 0.3 + more_lines(grid.title, PANEL_TITLE) for grid in grids]
    depth = grids[0].below.depth if len(columns) > 1 else 0.0
    title = heading(title, width)
    above = (0.28 if title else 0) + more_lines(title, HEADING)
    with styled(look):
        figure = new_figure(width, sum(heights) + 1.3 + depth + above)
        places = figure.add_gridspec(len(grids), 1, height_ratios=heights)
        largest = float(np.nanmax(np.abs(table["estimate"].to_numpy(float)), initial=0.0))
        for position, grid in enumerate(grids):
            axes = figure.add_subplot(places[position])
            draw_grid(axes, grid, look, largest, outdent)
            if len(columns) == 1 or position + 1 < len(grids):
                axes.set_xticklabels([])
        add_key(figure, look, _states(frame, alpha), title)
    return figure


def significance_alt(frame: pd.DataFrame, *, alpha: float = 0.05) -> str:
    """Say in words how many effects stay significant."""
    tested = frame["p"].notna()
    before, after = int((frame["p"] < alpha).sum()), int((frame["p_adjusted"] < alpha).sum())
    told = f"{before} with p below {alpha:g}, {after} of them after adjustment"
    return f"Grid of {int(tested.sum())} effects: {told}."


def _matrices(frame: pd.DataFrame, named: Labels, alpha: float) -> list[Grid]:
    """One grid for each group."""
    feature = str(frame["feature"].iloc[0])
    order = display_order(frame["level"])
    if isinstance(frame["level"].dtype, pd.CategoricalDtype):
        order = [str(level) for level in frame["level"].cat.categories]
    references = set(frame["reference"].astype(str))
    order += [name for name in dict.fromkeys(frame["reference"].astype(str)) if name not in order]
    adjusted = frame["p_adjusted"].to_numpy(float) if "p_adjusted" in frame else None
    table = frame.assign(
        row=[named.level(feature, level) for level in frame["level"]],
        column=[named.level(feature, level) for level in frame["reference"]],
        state=states_of(frame["p"].to_numpy(float), adjusted, alpha),
    )
    present = set(frame["level"].astype(str))
    rows = [named.level(feature, level) for level in order if level in present]
    columns = [named.level(feature, level) for level in order if level in references]
    if "by" not in frame:
        return [Grid(table, rows, columns)]
    groups = dict.fromkeys(frame["by"].astype(str))
    return [
        Grid(table[table["by"].astype(str) == name], rows, columns, named.level("by", name))
        for name in groups
    ]


def _headed(grids: list[Grid], room: float, bare: float) -> tuple[list[Grid], float]:
    """Break headings that do not fit axes of ``bare`` inches; they start left of these by the labels."""
    left = max(grid.left for grid in grids)
    if left <= _ROW_LABELS or all(inches(grid.title, PANEL_TITLE, bold=True) <= bare for grid in grids):
        return grids, 0.0
    titles = [wrap(grid.title, room - 0.3, PANEL_TITLE, bold=True) for grid in grids]
    return [replace(grid, title=title) for grid, title in zip(grids, titles, strict=True)], left


def _states(frame: pd.DataFrame, alpha: float) -> list[tuple[str, str]]:
    if "p_adjusted" not in frame:
        return [(FILLED, f"p < {alpha:g}"), (HOLLOW, "not significant")]
    return [
        (FILLED, f"p < {alpha:g} after adjustment"),
        (HALF, "only before adjustment"),
        (HOLLOW, "not significant"),
    ]


def _require(frame: pd.DataFrame, *names: str) -> None:
    missing = next((name for name in names if name not in frame.columns), None)
    if missing is not None:
        raise InputError(f"A figure needs the column {missing!r}, which the table of estimates lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of estimates has no rows.")
