"""Estimates of a conjoint, contrasts of all pairs of levels as a matrix, and equivalence tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.reported_intervals import reported
from ..dot_marks import POINTS, in_unit, set_signed, unit_of
from ..figure_layout import (
    PANEL_TITLE,
    Drawable,
    add_legend,
    arrange,
    inches,
    lines_high,
    more_lines,
    room_above,
    set_panel_title,
    wrap,
)
from ..figure_registry import FigureStyle, Picture, figure
from ..heat_maps import FILLED, HOLLOW, DotGrid, add_key, draw_grid, signed, states_of
from ..heat_maps import HALF as HALF_DOT
from ..interval_dots import LevelPanels
from ..labels import LevelLabels, display_order, refuse_repeats, series_labels
from ..theme import Theme, new_figure, page_width
from .effect_figures import (
    HALF,
    MINUS,
    SERIES,
    WHO,
    Interval,
    Order,
    axis_label,
    interaction,
    interval_words,
    is_reference,
    plot_by_reference,
    plot_levels,
    series_in_words,
)
from .level_columns import MOST_IN_ROWS, judge_columns, two_judges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERBS = (
    *(
        "amce",
        "amce_by_reference",
        "amce_diffs",
        "cj_amce",
        "mm",
        "mm_diffs",
        "cj_mm",
        "mixed",
        "interaction",
    ),
    *("pamce", "pmm", "people", "prompt_diffs", "coefficients", "marginal_means", "target_sensitivity"),
)


@figure(*VERBS)
def effects(
    result: Drawable,
    style: FigureStyle,
    *,
    group: str | None = None,
    interval: Interval | None = None,
    share_x: bool = True,
    bounds: str | None = None,
    baseline: float | None = None,
    feature: str | None = None,
    by: str | None = None,
    panels: Literal["feature", "by"] = "feature",
    order: Order = "effect",
) -> LevelPanels | Picture:
    """Estimates of a conjoint: a panel for each attribute, a row for each level, series side by side."""
    # Two judges are joined, with their difference beside them where `extra["differences"]` has it; more than
    # three have a column each. Rows of an attribute stand by the effect, those of an ordered attribute and
    # with `order="study"` as in the study. One axis for all attributes, unless `share_x` is false. Marginal
    # means stand around their null value (0.5 where it was left at 0 and all means are shares); `feature` and
    # `by` draw one attribute by another.
    frame, words, settings = result.frame, style.words, result.settings
    if "estimate" not in frame or "feature" not in frame:
        raise InputError("A table without estimates of levels has no figure; print their table with .frame.")
    if "verdict" in frame:
        return equivalence(result, style, group=group, share_x=share_x)
    if interval is None:
        frame = reported(frame, settings)
    else:
        settings = {**settings, "intervals": dict.fromkeys(WHO, interval)}
    bounds = interval_words(settings, frame) if bounds is None else bounds
    interval = interval or "normal"
    if feature is not None and by is not None:
        return interaction(frame, style, feature, by, panels, group, interval, bounds)
    if "reference" in frame:
        return plot_by_reference(frame, style, bounds, share_x)
    groups = [name for name in settings.get("by") or () if name in frame]
    who = series_labels(frame, None, style.series_label)
    if groups and group is None and feature is None and who.nunique() > 1:
        if "by" in frame and len(groups) == 1:  # of several judges or prompts: the first attribute by group
            feature = str(frame.loc[frame["estimate"].notna(), "feature"].iloc[0])
            return interaction(frame, style, feature, groups[0], panels, None, interval, bounds)
        joined = zip(who, series_in_words(frame, groups, words), strict=True)
        frame, group = frame.assign(**{SERIES: [", ".join(filter(None, names)) for names in joined]}), SERIES
    elif groups and group is None:
        frame, group = frame.assign(**{SERIES: series_in_words(frame, groups, words)}), SERIES
    label, series_names = None, set(frame[group].astype(str)) if group == SERIES else set()
    if len(series_names) == 1 and (MINUS in (only := series_names.pop()) or result.kind == "interaction"):
        label = f"{axis_label(frame)}: {only}"
    kinds = set(frame["statistic"].astype(str)) if "statistic" in frame else {"amce"}
    is_mean = kinds <= {"mm", "pmm"} and result.kind != "people"
    line: float | None = 0.0
    if is_mean:
        null = float(settings.get("null") or settings.get("h0") or 0.0)
        is_share = frame["estimate"].dropna().between(0, 1).all()
        line = baseline if baseline is not None else null or (HALF if is_share else None)
    plot = plot_levels(
        frame,
        style,
        group=group,
        interval=interval,
        bounds=bounds,
        baseline=line,
        share_x=share_x,
        label=label,
        order=order,
    )
    n_judges = frame["judge"].nunique() if "judge" in frame else 0
    if not share_x or group is not None or not 1 < n_judges == len(plot.series):
        return plot
    if n_judges == 2:
        alpha = float(result.settings.get("alpha", 0.05))
        return two_judges(plot, result.extra.get("differences"), alpha, style)
    return judge_columns(plot) if n_judges > MOST_IN_ROWS else plot


_ROW_LABELS = 1.5  # inches that labels of rows take where they are short
BOUNDS = ("equivalence_lower", "equivalence_upper", "bound_lower", "bound_upper")


def _contrast_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the number of contrasts, the largest and the smallest."""
    words, rows = style.words, result.frame.dropna(subset="estimate")
    feature = str(rows["feature"].iloc[0])
    ends = []
    for position in (int(rows["estimate"].argmin()), int(rows["estimate"].argmax())):
        row = rows.iloc[position]
        base = words.level(feature, row["reference"])
        pair = f"{words.level(feature, row['level'])} minus {base[:1].lower() + base[1:]}"
        ends.append(f"{signed(float(row['estimate']))} ({pair})")
    return (
        f"Matrix of {len(rows)} contrasts of {words.feature(feature).lower()}, from {ends[0]} to {ends[1]}."
    )


@figure("contrast", alt=_contrast_alt)
def contrast(result: Drawable, style: FigureStyle) -> Figure:
    """Contrasts of levels: each row minus each column, one matrix for each group."""
    frame, look, words = result.frame, style.look, style.words
    _require(frame, "reference", "feature", "level", "estimate", "p")
    if frame["estimate"].isna().all():
        raise InputError("There is nothing to draw: the table has no estimates.")
    if frame["feature"].nunique() != 1:
        raise InputError("A matrix of contrasts shows one feature; keep the rows of one.")
    alpha = float(result.settings.get("alpha", 0.05))
    grids = _matrices(frame, words, alpha)
    first, feature = grids[0], words.feature(frame["feature"].iloc[0])
    grid_width = 0.5 * len(first.columns) + max(_ROW_LABELS, first.left + 0.2)
    across = min(len(grids), 2 if grid_width <= page_width() / 2 or first.left <= _ROW_LABELS else 1)
    down = -(-len(grids) // across)
    width = min(page_width(), max(across * grid_width + 0.4, 4.6))
    grids, outdent = _wrap_titles(grids, width / across, 0.5 * len(first.columns))
    beyond = max(more_lines(grid.title, PANEL_TITLE) for grid in grids) + first.below.depth
    below = wrap(f"{feature}: row minus column (dots: size of the difference)", width - 0.2)
    title, above, _ = room_above(style.title, width, [])
    height = down * (first.cell * len(first.rows) + 0.95 + beyond) + 0.45 + more_lines(below)
    fig = new_figure(width, height + above)
    largest = float(np.nanmax(np.abs(frame["estimate"].to_numpy(float)), initial=0.0))
    for position, grid in enumerate(grids):
        draw_grid(fig.add_subplot(down, across, position + 1), grid, look, largest, outdent)
    fig.supxlabel(below, fontsize=8.5)
    add_key(fig, look, _states(frame, alpha), title)
    return fig


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
    _require(frame, "feature", "level", "estimate", "p", "p_adjusted")
    alpha = float(result.settings.get("alpha", 0.05))
    effect_rows = frame[~is_reference(frame)].reset_index(drop=True)
    series = _series(effect_rows, group, style)
    state = states_of(effect_rows["p"].to_numpy(float), effect_rows["p_adjusted"].to_numpy(float), alpha)
    table = pd.DataFrame(
        {
            "feature": effect_rows["feature"].astype(str),
            "row": words.levels(effect_rows),
            "column": series.to_numpy(str),
            "estimate": effect_rows["estimate"].astype(float),
            "state": state,
        }
    )
    if table.empty:
        raise InputError("There is nothing to draw: the table has no estimates but references.")
    columns = list(dict.fromkeys(table["column"]))
    grids = []
    for feature in display_order(effect_rows["feature"]):
        order = display_order(effect_rows.loc[effect_rows["feature"].astype(str) == feature, "level"])
        rows = [words.level(feature, level) for level in order]
        grids.append(DotGrid(table[table["feature"] == feature], rows, columns, words.feature(feature)))
    left_margin = max(grid.left for grid in grids)
    wide = 2.6 + 0.8 * len(columns) + max(0.0, left_margin - _ROW_LABELS)
    width = page_width() if len(columns) > 4 else min(max(wide, 4.8), page_width())
    grids, outdent = _wrap_titles(grids, width, width - left_margin - 0.4)
    heights = [grid.cell * len(grid.rows) + 0.3 + more_lines(grid.title, PANEL_TITLE) for grid in grids]
    depth = grids[0].below.depth if len(columns) > 1 else 0.0
    title, above, _ = room_above(style.title, width, [])
    fig = new_figure(width, sum(heights) + 1.3 + depth + above)
    places = fig.add_gridspec(len(grids), 1, height_ratios=heights)
    largest = float(np.nanmax(np.abs(table["estimate"].to_numpy(float)), initial=0.0))
    for position, grid in enumerate(grids):
        axes = fig.add_subplot(places[position])
        draw_grid(axes, grid, look, largest, outdent)
        if len(columns) == 1 or position + 1 < len(grids):
            axes.set_xticklabels([])
    add_key(fig, look, _states(frame, alpha), title)
    return fig


def _series(rows: pd.DataFrame, group: str | None, style: FigureStyle) -> pd.Series:
    """The series of each row, which appears once for each level."""
    series = series_labels(rows, "by" if group is None and "by" in rows else group, style.series_label)
    keys = rows[["feature", "level"]].astype("string")
    refuse_repeats(pd.concat([keys, series.rename("series")], axis=1))
    return series


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
        (HALF_DOT, "Only before adjustment"),
        (HOLLOW, "Not significant"),
    ]


def _require(frame: pd.DataFrame, *names: str) -> None:
    missing = next((name for name in names if name not in frame.columns), None)
    if missing is not None:
        raise InputError(f"A figure needs the column {missing!r}, which the table of estimates lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of estimates has no rows.")


@figure("equivalence")
def equivalence(
    result: Drawable, style: FigureStyle, *, group: str | None = None, share_x: bool = True
) -> Picture:
    """Intervals of level 1 - 2 alpha with the bounds of equivalence; colour and marker show the verdict."""
    return Picture(
        lambda style: _draw_equivalence(result.frame, style, group, share_x=share_x),
        lambda: _equivalence_alt(result.frame),
    )


def _equivalence_alt(frame: pd.DataFrame) -> str:
    """Count the verdicts."""
    counts = frame["verdict"].dropna().astype(str).value_counts()
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"Dot plot of {int(counts.sum())} estimates with intervals and bounds of equivalence: {verdicts}."


def _draw_equivalence(frame: pd.DataFrame, style: FigureStyle, group: str | None, *, share_x: bool) -> Figure:
    from matplotlib.lines import Line2D

    _require(frame, "feature", "level", "estimate", *BOUNDS, "verdict")
    look, words = style.look, style.words
    effect_rows = frame[~is_reference(frame) & frame["estimate"].notna()].reset_index(drop=True)
    if effect_rows.empty:
        raise InputError("There is nothing to draw: the table has no tested estimates.")
    series = _series(effect_rows, group, style)
    panels = {}
    for who in dict.fromkeys(series):
        for feature in display_order(effect_rows["feature"]):
            label = words.feature(feature)
            head = f"{who}: {label}" if series.nunique() > 1 else label
            panels[head] = effect_rows[(effect_rows["feature"].astype(str) == feature) & (series == who)]
    heads = list(panels)
    layout = arrange(
        heads,
        {
            head: {
                str(level): words.level(feature, level)
                for feature, level in zip(panel_rows["feature"], panel_rows["level"], strict=True)
            }
            for head, panel_rows in panels.items()
        },
        lambda _, texts: len(texts) * max(0.23, 0.06 + max(map(lines_high, texts.values()))),
        furniture=0.55,
        width=page_width(),
    )
    verdicts = display_order(effect_rows["verdict"])
    title, above, _ = room_above(style.title, layout.width, [])
    label = axis_label(frame)
    effect_rows, panels = (
        in_unit(effect_rows, unit_of(label)),
        {head: in_unit(panel_rows, unit_of(label)) for head, panel_rows in panels.items()},
    )
    below = wrap(f"{label} (band: bounds of equivalence)", layout.width - 0.2)
    fig = new_figure(layout.width, layout.body + 0.75 + above + more_lines(below))
    outer = fig.add_gridspec(1, len(layout.columns), width_ratios=layout.shares)
    for position, column in enumerate(layout.columns):
        inner = outer[position].subgridspec(len(column), 1, height_ratios=[layout.rows[i] for i in column])
        for place, index in enumerate(column):
            axes = fig.add_subplot(inner[place])
            panel_rows = panels[heads[index]]
            _draw_bounds(axes, panel_rows, list(layout.texts[heads[index]].values()), look)
            set_panel_title(axes, layout.titles[heads[index]], layout.outdent[position])
            edges = (effect_rows if share_x else panel_rows)[list(BOUNDS)].to_numpy(float)
            margin = 0.05 * float(np.nanmax(edges) - np.nanmin(edges))
            axes.set_xlim(float(np.nanmin(edges)) - margin, float(np.nanmax(edges)) + margin)
            axes.locator_params(axis="x", nbins=5)
            if POINTS in label:
                set_signed(axes.xaxis)
    fig.supxlabel(below, fontsize=8.5)
    styles = [_verdict_style(verdict) for verdict in verdicts]
    handles = [
        Line2D([], [], color=_color(k, look), marker=marker, markersize=4.6, linewidth=1.3)
        for k, marker in styles
    ]
    add_legend(fig, handles, [verdict.capitalize() for verdict in verdicts], 4, title, look)
    return fig


def _verdict_style(verdict: str) -> tuple[int | None, str]:
    """Number of the colour (None: grey) and marker of a verdict."""
    styles: dict[str, tuple[int | None, str]] = {
        "different": (1, "D"),
        "different, too small to matter": (3, "s"),
        "equivalent": (0, "o"),
    }
    return styles.get(verdict, (None, "X"))


def _color(number: int | None, look: Theme) -> str:
    return look.muted if number is None else look.color(number)


def _draw_bounds(axes: Axes, rows: pd.DataFrame, texts: Sequence[str], look: Theme) -> None:
    low, high = float(rows["bound_lower"].iloc[0]), float(rows["bound_upper"].iloc[0])
    axes.axvspan(low, high, color=look.grid, linewidth=0, zorder=0)
    axes.axvline((low + high) / 2, color=look.muted, linewidth=0.9, zorder=1)
    for y, row in enumerate(rows.to_dict("records")):
        number, marker = _verdict_style(str(row["verdict"]))
        color = _color(number, look)
        axes.hlines(
            y, row["equivalence_lower"], row["equivalence_upper"], color=color, linewidth=1.3, zorder=3
        )
        axes.plot(row["estimate"], y, marker, markersize=4.6, color=color, zorder=4)
    axes.set_yticks(range(len(rows)), texts)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
