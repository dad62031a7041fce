"""Correlations between dimensions as maps: people below the diagonal, a model above it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed, unknown_name

from ...frames.vocabulary import HUMAN
from ..dot_marks import stripe, tidy
from ..figure_layout import (
    Drawable,
    add_legend,
    inches,
    legend_columns,
    lines_high,
    require_estimates,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..heat_maps import Shades, add_bar, outline, shade, two_digits, write
from ..labels import CORRELATIONS, ColumnNames, display_order, select_identifiers
from ..theme import new_figure, page_width
from .description_figures import of_all_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

LONGEST = 1.2
SIZE = 7.6
LEVELS = {
    "total": "Latent correlation of single ratings",
    "between": "Latent correlation between items (consensus)",
    "within": "Latent correlation within a rating",
}
STEP, GAP = 0.12, 0.12  # inches between the points of a row, and between rows


@dataclass(frozen=True)
class _Maps:
    """Room of maps of the same dimensions: labels, headings, inches of a cell, maps in a row and a column."""

    texts: list[str]
    heads: list[str]
    cell: float
    across: int
    down: int

    @property
    def side(self) -> float:
        """Inches of the labels beside a map."""
        return max(inches(text, SIZE) for text in self.texts) + 0.12

    @property
    def size(self) -> float:
        """Inches of a map."""
        return self.cell * len(self.texts)

    @property
    def head(self) -> float:
        """Inches of the headings."""
        return max(lines_high(text, 8.2) for text in self.heads)


def _maps(
    dimensions: Sequence[str],
    low: str,
    above: Sequence[str | None],
    names: ColumnNames,
    *,
    largest: float,
    beside: float,
    smallest: float = 0.0,
) -> _Maps:
    """Arrange maps of ``low`` below the diagonal and each group of ``above``."""
    texts = [wrap(name, LONGEST, SIZE) for name in names.all("dimension", dimensions)]
    side = max(inches(text, SIZE) for text in texts) + 0.12
    across = min(3, len(above))
    cell = min(largest, (page_width() - side - beside) / across / len(dimensions) - 0.02)
    cell = max(cell, lines_high(max(texts, key=lines_high), SIZE), smallest)
    heads = [
        f"Below: {names.of('group', low)}" + (f"\nAbove: {names.of('group', name)}" if name else "")
        for name in above
    ]
    heads = [wrap(head, cell * len(dimensions), 8.2, bold=True) for head in heads]
    return _Maps(texts, heads, cell, across, -(-len(above) // across))


def _matrix(
    frame: pd.DataFrame,
    low: str,
    high: str | None,
    dimensions: Sequence[str],
    second_column: str,
    value: Callable[[dict[Hashable, Any]], float],
) -> np.ndarray:
    """Values of ``low`` below the diagonal and of ``high`` above it; NaN on it."""
    values = np.full((len(dimensions), len(dimensions)), np.nan)
    for group, lower in ((low, True), (high, False)):
        for row in frame[frame["group"] == group].to_dict("records"):
            at = (dimensions.index(str(row["dimension"])), dimensions.index(str(row[second_column])))
            i, j = sorted(at, reverse=lower)
            values[i, j] = value(row)
    return values


def _draw_map(
    axes: Axes, values: np.ndarray, maps: _Maps, head: str, style: FigureStyle, half: np.ndarray | None = None
) -> Shades:
    shades = shade(axes, values, -1, 1, style.look)
    size = min(7.2, (20 if half is None else 22) * maps.cell)
    text = lambda i, j: two_digits(float(values[i, j]))  # noqa: E731
    write(axes, values, text, style.look, size, 0.0 if half is None else -0.14)
    if half is not None:
        write(axes, values, lambda i, j: f"±{half[i, j]:.2f}", style.look, 0.7 * size, 0.26)
    axes.set_xticks(range(len(maps.texts)), maps.texts, rotation=90, fontsize=SIZE)
    axes.set_yticks(range(len(maps.texts)), maps.texts, fontsize=SIZE)
    axes.set_title(head, fontsize=8.2, fontweight="bold", loc="left", pad=5)
    return shades


def _correlations_alt(result: Drawable, style: FigureStyle) -> str:
    """Name the strongest correlate of the main dimension, of either sign, for each group of raters."""
    names, main = style.names, str(result.settings.get("main"))
    frame = of_all_items(result.frame)
    frame = frame[(frame["dimension"] == main) | (frame["other"] == main)].dropna(subset="estimate")
    texts = [f"Correlations between dimensions. Strongest correlate of {names.of('dimension', main)}:"]
    for group, group_rows in frame.groupby("group", sort=False, observed=True):
        best = group_rows.iloc[int(np.abs(group_rows["estimate"].to_numpy(float)).argmax())]
        correlate = best["other"] if best["dimension"] == main else best["dimension"]
        texts.append(
            f"{names.of('group', group)}: {names.of('dimension', correlate)} ({best['estimate']:.2f})."
        )
    return " ".join(texts)


@figure("dimension_correlations", alt=_correlations_alt)
def dimension_correlations(
    result: Drawable, style: FigureStyle, *, below: str | None = None, above: Sequence[str] | None = None
) -> Figure:
    """Correlations between dimensions over all items; outlined is the strongest correlate of the main one."""
    look, names = style.look, style.names
    frame = of_all_items(result.frame)
    require_estimates(frame)
    groups = display_order(frame["group"])
    low = below or (HUMAN if HUMAN in groups else groups[0])
    select_identifiers(frame["group"], [low], "rater")
    panels: Sequence[str | None] = [name for name in groups if name != low] or [None]
    if above:
        panels = select_identifiers(frame["group"], above, "rater")
    dimensions = list(dict.fromkeys([*display_order(frame["dimension"]), *display_order(frame["other"])]))
    maps = _maps(dimensions, low, panels, names, largest=0.46, beside=0.75)
    width = min(page_width(), max(4.4, maps.side + maps.across * (maps.size + 0.15) + 0.75))
    main = result.settings.get("main")
    key = [f"Strongest correlate of {names.of('dimension', main)}"] if main is not None else []
    title, room, columns = room_above(style.title, width, key)
    fig = new_figure(width, (maps.size + maps.side + maps.head + 0.27) * maps.down + room + 0.12)
    fig.set_layout_engine("compressed")
    grid = fig.subplots(maps.down, maps.across, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    shades: Any = None
    for axes, panel, head in zip(grid.flat, panels, maps.heads, strict=False):
        values = _matrix(frame, low, panel, dimensions, "other", lambda row: row["estimate"])
        shades = _draw_map(axes, values, maps, head, style)
        if main in dimensions:
            for i, j in _strongest_cells(values, dimensions.index(str(main))):
                outline(axes, i, j, look)
    measure = CORRELATIONS[str(result.settings.get("coefficient", "spearman"))]
    add_bar(fig, shades, grid, measure, shrink=0.75)
    from matplotlib.patches import Patch

    handles = [Patch(facecolor="none", edgecolor=look.foreground, linewidth=1.4)] if key else []
    add_legend(fig, handles, key, columns, title, look)
    return fig


def _strongest_cells(values: np.ndarray, main: int) -> list[tuple[int, int]]:
    """The cell of the strongest correlate of the main dimension on either side of the diagonal."""
    below = [(max(main, k), min(main, k)) for k in range(len(values)) if k != main]
    sides = [
        [cell for cell in cells if np.isfinite(values[cell])] for cells in (below, [(j, i) for i, j in below])
    ]
    return [max(cells, key=lambda cell: abs(values[cell])) for cells in sides if cells]


def _model_alt(result: Drawable, style: FigureStyle) -> str:
    """Name the most probable strongest correlate of the main dimension for each group."""
    names, main = style.names, result.settings.get("main")
    table = _strongest_correlates(result, "total", main, display_order(result.frame["group"]))
    if table.empty:
        return "Latent correlations between dimensions."
    head = "Latent correlations between dimensions. Most probable strongest correlate of"
    texts = [f"{head} {names.of('dimension', main)}:"]
    for group, group_rows in table.groupby("group", sort=False):
        best = group_rows.iloc[int(group_rows["probability"].to_numpy(float).argmax())]
        texts.append(
            f"{names.of('group', group)}: {names.of('dimension', best['dimension'])} (probability "
            f"{best['probability']:.2f}, correlation {best['estimate']:.2f} [{best['lower']:.2f}, "
            f"{best['upper']:.2f}])."
        )
    return " ".join(texts)


@figure("dimension_model", alt=_model_alt)
def dimension_model(
    result: Drawable,
    style: FigureStyle,
    *,
    level: str = "total",
    below: str | None = None,
    above: Sequence[str] | None = None,
    main: str | None = None,
) -> Figure:
    """Latent correlations between dimensions, and the probability of being the strongest correlate."""
    names = style.names
    frame = _rows_of_level(result, level)
    groups = display_order(frame["group"])
    low = below or (HUMAN if HUMAN in groups else groups[0])
    panels: list[str | None] = list(above or [name for name in groups if name != low]) or [None]
    for name in [low, *(name for name in panels if name)]:
        if name not in groups:
            raise InputError(
                f"There is no group '{name}' with {level} correlations; there are {listed(groups)}."
            )
    main = main or result.settings.get("main")
    strongest = _strongest_correlates(result, level, main, groups)
    dimensions = list(dict.fromkeys([*frame["dimension"], *frame["other_dimension"]]))
    maps = _maps(
        dimensions, low, panels, names, largest=0.46 if len(panels) > 1 else 0.42, beside=0.9, smallest=0.24
    )
    title, room, _ = room_above(style.title, page_width(), [])
    high = maps.down * (maps.size + maps.head + 0.14) + maps.side
    rows = list(dict.fromkeys(strongest["dimension"]))
    points = len(rows) * (GAP + STEP * strongest["group"].nunique()) + 0.85 if rows else 0.0
    group_names = names.all("group", dict.fromkeys(strongest["group"]))
    columns = 1 if len(panels) == 1 else legend_columns(group_names, page_width() - 2.5, 4)
    points += 0.2 * (-(-len(group_names) // columns) - 1) if rows else 0.0
    fig, upper, lower = _make_subfigures(high, points, room, maps.side + maps.size + 1.25, len(panels))
    grid = upper.subplots(maps.down, maps.across, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    shades: Any = None
    for axes, panel, head in zip(grid.flat, panels, maps.heads, strict=False):
        middle, half = (
            _matrix(frame, low, panel, dimensions, "other_dimension", value)
            for value in (lambda row: row["estimate"], lambda row: (row["upper"] - row["lower"]) / 2)
        )
        shades = _draw_map(axes, middle, maps, head, style, half)
        for group, is_lower in ((low, True), (panel, False)):
            group_rows = strongest[strongest["group"] == group]
            if len(group_rows):
                best = group_rows["dimension"].iloc[int(group_rows["probability"].to_numpy(float).argmax())]
                i, j = sorted((dimensions.index(best), dimensions.index(str(main))), reverse=is_lower)
                outline(axes, i, j, style.look)
    add_bar(upper, shades, grid, wrap(LEVELS[level], maps.size * 0.9, 8), fraction=0.025, shrink=0.85)
    if lower is not None:
        is_single_map = len(panels) == 1
        _draw_points(
            lower.subplots(), strongest, rows, groups, str(main), style, columns=columns, beside=is_single_map
        )
    add_legend(fig, [], [], 1, title, style.look)
    return fig


def _make_subfigures(
    maps: float, points: float, room: float, width: float, n_maps: int
) -> tuple[Figure, SubFigure, SubFigure | None]:
    """A figure with a part for maps and, under several maps or beside one, one for points."""
    if not points:
        fig = new_figure(width if n_maps == 1 else page_width(), maps + room + 0.1)
        return fig, fig.add_subfigure(fig.add_gridspec(1, 1)[0]), None
    if n_maps == 1:
        fig = new_figure(page_width(), max(maps, points) + room + 0.1)
        cells = fig.add_gridspec(1, 2, width_ratios=[width, page_width() - width])
    else:
        fig = new_figure(page_width(), maps + points + room + 0.1)
        cells = fig.add_gridspec(2, 1, height_ratios=[maps, points])
    return fig, fig.add_subfigure(cells[0]), fig.add_subfigure(cells[1])


def _rows_of_level(result: Drawable, level: str) -> pd.DataFrame:
    if level not in LEVELS:
        raise unknown_name("level", level, LEVELS)
    frame = result.frame[(result.frame["quantity"] == "correlation") & (result.frame["level"] == level)]
    if frame.empty:
        raise InputError(
            f"No group has {level} correlations, which need several ratings of an item; use total."
        )
    return frame


def _strongest_correlates(
    result: Drawable, level: str, main: str | None, groups: Sequence[str]
) -> pd.DataFrame:
    table = result.extra.get("strongest")
    if table is None or main is None or table.empty:
        return pd.DataFrame(columns=["group", "dimension", "probability"])
    return table[(table["level"] == level) & (table["main"] == main) & table["group"].isin(list(groups))]


def _draw_points(
    axes: Axes,
    table: pd.DataFrame,
    rows: Sequence[str],
    groups: Sequence[str],
    main: str,
    style: FigureStyle,
    *,
    columns: int,
    beside: bool,
) -> None:
    """Probabilities of being the strongest correlate: a row for each dimension, a colour for each group."""
    names, look = style.names, style.look
    group_ids = [group for group in groups if group in set(table["group"])]
    high = GAP + STEP * len(group_ids)
    stripe(axes, rows, look)
    for number, group in enumerate(group_ids):
        percent = 100 * table[table["group"] == group].set_index("dimension")["probability"].reindex(
            list(rows)
        )
        y = np.arange(len(rows)) + (number - (len(group_ids) - 1) / 2) * STEP / high
        place = names.place(group, groups)
        axes.hlines(y, 0, percent, color=look.color(place), linewidth=1.3, zorder=3)
        axes.plot(
            percent,
            y,
            look.marker(place),
            color=look.color(place),
            markersize=4.6,
            linestyle="none",
            zorder=4,
            label=names.of("group", group),
            clip_on=False,
        )
    longest = LONGEST if beside else 2.0
    axes.set_yticks(range(len(rows)), [wrap(names.of("dimension", name), longest) for name in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 101.5)
    text = f"Probability of being the strongest correlate of {names.of('dimension', main)} (%)"
    axes.set_xlabel(wrap(text, 1.7 if beside else 6.0))
    tidy(axes)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns,
                frameon=False, handlelength=1.2, handletextpad=0.4, columnspacing=1.4,
                borderaxespad=0.2)  # fmt: skip
