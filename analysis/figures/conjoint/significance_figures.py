"""Contrasts of all pairs of levels as a matrix, and effects with adjusted p values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import NUMBERS, POINTS, unit_of
from ..figure_layout import PANEL_TITLE, Drawable, inches, more_lines, require_estimates, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..heat_maps import FILLED, HALF, HOLLOW, DotGrid, add_key, draw_grid, signed, states_of
from ..interval_dots import LevelPanels
from ..labels import LevelLabels, display_order
from ..theme import Theme, new_figure, page_width
from .effect_figures import axis_label, is_reference, plot_levels
from .equivalence_figure import require_columns, series_of_rows
from .estimate_figures import VERBS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATES = (FILLED, HALF, HOLLOW)
_ROW_LABELS = 1.5  # inches that labels of rows take where they are short


def _in_unit_of_effects(frame: pd.DataFrame) -> tuple[pd.DataFrame, int | None]:
    """Effects on choices in percentage points, and the digits of numbers; others as they are."""
    require_columns(frame, "estimate")
    unit = unit_of(axis_label(frame))
    return frame.assign(estimate=unit * frame["estimate"]), 1 if unit != 1 else None


def _contrast_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the number of contrasts, the largest and the smallest."""
    frame, digits = _in_unit_of_effects(result.frame)
    words, rows = style.words, frame.dropna(subset="estimate")
    feature = str(rows["feature"].iloc[0])
    ends = []
    for position in (int(rows["estimate"].argmin()), int(rows["estimate"].argmax())):
        row = rows.iloc[position]
        pair = f"{words.level(feature, row['level'])} minus {words.level_inside(feature, row['reference'])}"
        ends.append(f"{signed(float(row['estimate']), digits)} ({pair})")
    unit = f", in {POINTS}" if digits else ""
    return (
        f"Matrix of {len(rows)} contrasts of {words.feature(feature).lower()}{unit}, from {ends[0]} to "
        f"{ends[1]}."
    )


@figure("contrast", alt=_contrast_alt)
def contrast(result: Drawable, style: FigureStyle) -> Figure:
    """Contrasts of levels: each row minus each column, one matrix for each group."""
    frame, digits = _in_unit_of_effects(result.frame)
    look, words = style.look, style.words
    require_columns(frame, "reference", "feature", "level", "estimate", "p")
    if frame["estimate"].isna().all():
        raise InputError("There is nothing to draw: the table has no estimates.")
    if frame["feature"].nunique() != 1:
        raise InputError("A matrix of contrasts shows one feature; keep the rows of one.")
    alpha = float(result.settings.get("alpha", 0.05))
    grids = [replace(grid, digits=digits) for grid in _matrices(frame, words, alpha)]
    first, feature = grids[0], words.feature(frame["feature"].iloc[0])
    grid_width = 0.5 * len(first.columns) + max(_ROW_LABELS, first.left + 0.2)
    across = min(len(grids), 2 if grid_width <= page_width() / 2 or first.left <= _ROW_LABELS else 1)
    down = -(-len(grids) // across)
    width = min(page_width(), max(across * grid_width + 0.4, 4.6))
    grids, outdent = _wrap_titles(grids, width / across, 0.5 * len(first.columns))
    beyond = max(more_lines(grid.title, PANEL_TITLE) for grid in grids) + first.below.depth
    unit = f", {POINTS}" if digits else ""
    below = wrap(f"{feature}: row minus column{unit} (dots: size of the difference)", width - 0.2)
    title, above, _ = room_above(style.title, width, [])
    height = down * (first.cell * len(first.rows) + 0.95 + beyond) + 0.45 + more_lines(below)
    fig = new_figure(width, height + above)
    largest = float(np.nanmax(np.abs(frame["estimate"].to_numpy(float)), initial=0.0))
    for position, grid in enumerate(grids):
        draw_grid(fig.add_subplot(down, across, position + 1), grid, look, largest, outdent)
    fig.supxlabel(below, fontsize=8.5)
    add_key(fig, look, _states(frame, alpha), title)
    return fig


@dataclass(frozen=True, kw_only=True)
class TestedEffects(LevelPanels):
    """Effects of one judge, a series for each state of their tests, in the same rows."""

    judge_place: int

    @property
    def step(self) -> float:
        """Inches between points of one row, which has a single one."""
        return 0.0

    def _draw_series(self, axes: Axes, rows: pd.DataFrame, y: np.ndarray, look: Theme, place: int) -> None:
        numbers = (rows[name].to_numpy(float) for name in NUMBERS)
        for at, estimate, lower, upper in zip(y, *numbers, strict=True):
            (dot, *inner), color = self._marks(look, place), self._color(look, place)
            axes.hlines(at, lower, upper, color=color, linewidth=1.3, zorder=3)
            for mark, layer in zip((dot, *inner), (4, 5), strict=False):
                axes.plot(estimate, at, zorder=layer, **mark)

    def _color(self, look: Theme, place: int) -> str:
        return look.muted if place == STATES.index(HOLLOW) else look.color(self.judge_place)

    def _marks(self, look: Theme, place: int) -> list[dict[str, Any]]:
        """A dot, filled where the effect stays significant, and in its middle one where it was."""
        color, state = self._color(look, place), STATES[place]
        face = color if state == FILLED else look.background
        shape: dict[str, Any] = {"color": color, "marker": look.marker(self.judge_place), "linestyle": "none"}
        dot = {**shape, "markersize": 5.0, "markerfacecolor": face, "markeredgewidth": 1.0}
        return [dot, {**shape, "markersize": 1.8}] if state == HALF else [dot]

    def _handles(self, look: Theme) -> list[Any]:
        from matplotlib.lines import Line2D

        return [tuple(Line2D([], [], **mark) for mark in self._marks(look, place)) for place in self.places]


def _tested_effects(
    rows: pd.DataFrame, state: list[str], style: FigureStyle, names: list[tuple[str, str]]
) -> TestedEffects:
    """Effects of one judge with their intervals, where the table has them."""
    labels, place = dict(names), 0
    table = rows.assign(state=[labels[name] for name in state])
    table = table.assign(**{end: np.nan for end in ("lower", "upper") if end not in rows})
    if "judge" in rows:
        place = style.names.places_of([str(rows["judge"].iloc[0])])[0]
    plot = plot_levels(table, style, group="state")
    state_names = [name for name in STATES if name in state]
    fields = vars(plot) | {"series": [labels[name] for name in state_names]}
    fields |= {"places": [STATES.index(name) for name in state_names]}
    return TestedEffects(**fields, judge_place=place)


def _significance_alt(result: Drawable, style: FigureStyle) -> str:
    """Count the effects that stay significant after adjustment."""
    frame, alpha = result.frame, float(result.settings.get("alpha", 0.05))
    before, after = int((frame["p"] < alpha).sum()), int((frame["p_adjusted"] < alpha).sum())
    n_tested = int(frame["p"].notna().sum())
    return f"Grid of {n_tested} effects: {before} with p below {alpha:g}, {after} of them after adjustment."


@figure("significance", alt=_significance_alt)
@figure(*VERBS, part="significance", alt=_significance_alt, when=lambda result: "p_adjusted" in result.frame)
def significance(result: Drawable, style: FigureStyle, *, group: str | None = None) -> Figure:
    """Effects with adjusted p values: levels down, judges across; dots show what stays significant."""
    frame, look, words = result.frame, style.look, style.words
    require_columns(frame, "feature", "level", "estimate", "p", "p_adjusted")
    alpha = float(result.settings.get("alpha", 0.05))
    effect_rows = frame[~is_reference(frame)].reset_index(drop=True)
    series = series_of_rows(effect_rows, group, style)
    require_estimates(effect_rows)
    state = states_of(effect_rows["p"].to_numpy(float), effect_rows["p_adjusted"].to_numpy(float), alpha)
    in_unit, digits = _in_unit_of_effects(effect_rows)
    table = pd.DataFrame(
        {
            "feature": effect_rows["feature"].astype(str),
            "row": words.levels(effect_rows),
            "column": series.to_numpy(str),
            "estimate": in_unit["estimate"].astype(float),
            "state": state,
        }
    )
    columns = list(dict.fromkeys(table["column"]))
    if len(columns) == 1:
        return _tested_effects(effect_rows, state, style, _states(frame, alpha)).draw(style)
    grids = []
    for feature in display_order(effect_rows["feature"]):
        order = display_order(effect_rows.loc[effect_rows["feature"].astype(str) == feature, "level"])
        rows = [words.level(feature, level) for level in order]
        panel = table[table["feature"] == feature]
        grids.append(DotGrid(panel, rows, columns, words.feature(feature), digits))
    left_margin = max(grid.left for grid in grids)
    wide = 2.6 + 0.8 * len(columns) + max(0.0, left_margin - _ROW_LABELS)
    width = page_width() if len(columns) > 4 else min(max(wide, 4.8), page_width())
    grids, outdent = _wrap_titles(grids, width, width - left_margin - 0.4)
    heights = [grid.cell * len(grid.rows) + 0.3 + more_lines(grid.title, PANEL_TITLE) for grid in grids]
    depth = grids[0].below.depth
    title, above, _ = room_above(style.title, width, [])
    fig = new_figure(width, sum(heights) + 1.3 + depth + above)
    places = fig.add_gridspec(len(grids), 1, height_ratios=heights)
    largest = float(np.nanmax(np.abs(table["estimate"].to_numpy(float)), initial=0.0))
    for position, grid in enumerate(grids):
        axes = fig.add_subplot(places[position])
        draw_grid(axes, grid, look, largest, outdent, (width - left_margin - 0.4) / len(columns))
        if position + 1 < len(grids):
            axes.set_xticklabels([])
    add_key(fig, look, _states(frame, alpha), title)
    return fig


def _matrices(frame: pd.DataFrame, words: LevelLabels, alpha: float) -> list[DotGrid]:
    """One grid for each group."""
    feature = str(frame["feature"].iloc[0])
    order = display_order(frame["level"])
    if isinstance(frame["level"].dtype, pd.CategoricalDtype):
        order = [str(level) for level in frame["level"].cat.categories]
    references = set(frame["reference"].astype(str))
    order += [name for name in dict.fromkeys(frame["reference"].astype(str)) if name not in order]
    adjusted = frame["p_adjusted"].to_numpy(float) if "p_adjusted" in frame else None
    table = frame.assign(
        row=[words.level(feature, level) for level in frame["level"]],
        column=[words.level(feature, level) for level in frame["reference"]],
        state=states_of(frame["p"].to_numpy(float), adjusted, alpha),
    )
    level_names = set(frame["level"].astype(str))
    rows = [words.level(feature, level) for level in order if level in level_names]
    columns = [words.level(feature, level) for level in order if level in references]
    if "by" not in frame:
        return [DotGrid(table, rows, columns)]
    groups = dict.fromkeys(frame["by"].astype(str))
    return [
        DotGrid(table[table["by"].astype(str) == name], rows, columns, words.level("by", name))
        for name in groups
    ]


def _wrap_titles(grids: list[DotGrid], room: float, width: float) -> tuple[list[DotGrid], float]:
    """Break headings that do not fit axes of ``width`` inches; they start left of these by the labels."""
    left_margin = max(grid.left for grid in grids)
    if left_margin <= _ROW_LABELS or all(
        inches(grid.title, PANEL_TITLE, bold=True) <= width for grid in grids
    ):
        return grids, 0.0
    titles = [wrap(grid.title, room - 0.3, PANEL_TITLE, bold=True) for grid in grids]
    return [replace(grid, title=title) for grid, title in zip(grids, titles, strict=True)], left_margin


def _states(frame: pd.DataFrame, alpha: float) -> list[tuple[str, str]]:
    if "p_adjusted" not in frame:
        return [(FILLED, f"p < {alpha:g}"), (HOLLOW, "Not significant")]
    return [
        (FILLED, f"p < {alpha:g} after adjustment"),
        (HALF, "Only before adjustment"),
        (HOLLOW, "Not significant"),
    ]
