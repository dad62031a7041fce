"""Effects under every choice of errors: intervals side by side, and how much wider each choice makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import unit_of
from ..figure_layout import (
    Drawable,
    PanelLayout,
    add_legend,
    arrange,
    inches,
    lines_high,
    more_lines,
    require_estimates,
    room_above,
    set_panel_title,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..labels import LevelLabels, display_order, refuse_repeats
from ..theme import Theme, new_figure, page_width
from .effect_figures import add_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

EDGES = ("estimate", "lower", "upper")
MARKS = ("o", "s", "^", "D", "v")
MOST_DRAWN = 4
STEP = 0.095
ROW_MARGIN = 0.12
PANEL_FURNITURE = 0.42
CELL = 0.21
LOWEST = 1.1  # inches of intervals with their axis, however few they are
DARKEST = 0.6
LARGE = 4.0


@dataclass(frozen=True)
class _Style:
    """Colour and marker of a choice."""

    color: str
    marker: str


def _alt(result: Drawable, style: FigureStyle) -> str:
    """Describe the figure in words, with the largest standard errors of each feature."""
    frame, words = result.frame, style.words
    rows = frame[frame["ratio"].notna()]
    n_effects, n_choices = len(frame[["feature", "level"]].drop_duplicates()), frame["choice"].nunique()
    part = f"{MOST_DRAWN} of " if n_choices > MOST_DRAWN else ""
    texts = []
    for feature in display_order(rows["feature"]):
        feature_rows = rows[_has_feature(rows, feature)].reset_index(drop=True)
        row = feature_rows.iloc[int(feature_rows["ratio"].to_numpy(float).argmax())]
        texts.append(f"{words.feature(feature)} {row['ratio']:.1f}, {row['choice']}")
    return (
        f"Intervals of {n_effects} effect{'s' * (n_effects != 1)} under {part}{n_choices} choices of errors. "
        f"Largest standard error over that of rows: {'; '.join(texts)}."
    )


@figure("error_choices", "errors_under_choices", "standard_errors", alt=_alt)
def error_choices(result: Drawable, style: FigureStyle) -> Figure:
    """Draw intervals of each effect under up to four choices, and below the ratios of errors under all."""
    # Intervals are drawn around the estimate of the first choice, whose value stands behind the level, so
    # that effects of very different size can be read alike; a short upright line marks zero where it is near.
    frame, look, words = result.frame, style.look, style.words
    if frame.empty:
        raise InputError("There is nothing to draw: the table of errors has no rows.")
    require_estimates(frame)
    unit = add_unit("", frame)
    frame = frame.assign(**{name: unit_of(unit) * frame[name] for name in EDGES})
    refuse_repeats(
        frame[["feature", "level", "choice"]].astype("string"), "draw one judge and prompt at a time"
    )
    styles = _styles(frame, look)
    from matplotlib.lines import Line2D

    choices = list(styles)
    features = display_order(frame["feature"])
    layout = arrange(
        [words.feature(name) for name in features],
        {
            words.feature(name): _tick_labels(frame[_has_feature(frame, name)], words, 1 if unit else 3)
            for name in features
        },
        lambda _, texts: len(texts) * _row(choices, texts.values()),
        furniture=PANEL_FURNITURE,
        width=page_width(),
    )
    body = layout.body + (0.12 * max(map(len, layout.columns)) if layout.is_wrapped else 0.0)
    body = max(body, LOWEST)
    ratios = ratio_ranges(frame)
    title, above, _ = room_above(style.title, page_width(), [])
    cell = (page_width() - 0.3 - max(map(inches, ratios.index), default=0.0)) / len(features)
    under = [wrap(words.feature(name), cell - 0.04) for name in features]
    below = 0.55 + CELL * len(ratios) + max(map(more_lines, under))
    legend = 0.17 * -(-len(choices) // 3) + above
    fig = new_figure(page_width(), body + below + legend + 0.25)
    grid = fig.add_gridspec(2, 1, height_ratios=[body, below])
    _draw_effects(fig, grid[0], frame, layout, words, styles, look)
    _draw_ratios(fig.add_subplot(grid[1]), ratios, under, look)
    handles = [
        Line2D([], [], color=choice_style.color, marker=choice_style.marker, markersize=4.6, linewidth=1.4)
        for choice_style in styles.values()
    ]
    add_legend(fig, handles, choices, 3, title, look)
    return fig


def ratio_ranges(frame: pd.DataFrame) -> pd.DataFrame:
    """Smallest and largest ratio of errors by choice and feature, for choices that have errors."""
    rows = frame[frame["ratio"].notna()]
    spread = rows.groupby(["choice", "feature"], sort=False, observed=True)["ratio"].agg(["min", "max"])
    choices = [name for name in display_order(frame["choice"]) if name in set(rows["choice"].astype(str))]
    ranges = spread.rename(index=str, level=0).rename(index=str, level=1).to_dict("index")
    columns = [(name, edge) for name in display_order(frame["feature"]) for edge in ("min", "max")]
    cells = [
        [ranges.get((choice, name), {}).get(edge, np.nan) for name, edge in columns] for choice in choices
    ]
    return pd.DataFrame(cells, index=choices, columns=pd.MultiIndex.from_tuples(columns), dtype=float)


def _has_feature(frame: pd.DataFrame, feature: str) -> np.ndarray:
    return (frame["feature"].astype("string") == feature).to_numpy(bool)


def _row(choices: Sequence[str], texts: Iterable[str]) -> float:
    """Inches of one effect."""
    return max(ROW_MARGIN + STEP * len(choices), 0.05 + max(map(lines_high, texts)))


def _tick_labels(rows: pd.DataFrame, words: LevelLabels, digits: int) -> dict[str, str]:
    """Each level with its estimate in a line of its own."""
    feature, center = rows["feature"].iloc[0], _centers(rows)
    return {
        level: f"{words.level(feature, level)}\n{_number(center[level], digits)}"
        for level in display_order(rows["level"])
    }


def _centers(rows: pd.DataFrame) -> pd.Series[float]:
    """Estimate of the first choice, by level."""
    return rows.drop_duplicates("level").set_index("level")["estimate"].rename(str).astype(float)


def choices_to_draw(frame: pd.DataFrame) -> list[str]:
    """The choices whose intervals are drawn: all of up to four, else one of each kind."""
    # These are independent rows, the unit of the judge, all stimuli crossed (of one stimulus CR2), and the
    # mixed model. The ratios below the intervals are those of every choice.
    choices = frame.drop_duplicates("choice").astype({"choice": str, "clusters": str, "method": str})
    all_choices = display_order(frame["choice"])
    if len(all_choices) <= MOST_DRAWN:
        return all_choices
    unit = set(choices.loc[choices["method"] == "survey", "clusters"])
    stimuli = choices[choices["method"].isin(["CR1", "CR2"])]
    stimuli = stimuli[[not unit & set(names.split(", ")) for names in stimuli["clusters"]]]
    crossed = stimuli["clusters"].str.count(", ") + 0.5 * (stimuli["method"] == "CR2")
    widest = stimuli.loc[crossed == crossed.max(), "choice"]
    selection = {
        *choices.loc[(choices["clusters"] == "") | choices["method"].isin(["survey", "mixed"]), "choice"],
        *widest.iloc[:1],
    }
    return [name for name in all_choices if name in selection]


def _styles(frame: pd.DataFrame, look: Theme) -> dict[str, _Style]:
    """Colour and marker of each choice whose intervals are drawn; rows are grey."""
    rows = set(frame.loc[frame["clusters"].astype(str) == "", "choice"].astype(str))
    further_styles = (_Style(look.color(k), MARKS[1 + k]) for k in range(MOST_DRAWN))
    return {
        name: _Style(look.color(6), MARKS[0]) if name in rows else next(further_styles)
        for name in choices_to_draw(frame)
    }


def _draw_effects(
    fig: Figure,
    place: SubplotSpec,
    frame: pd.DataFrame,
    layout: PanelLayout,
    words: LevelLabels,
    styles: dict[str, _Style],
    look: Theme,
) -> None:
    features = display_order(frame["feature"])
    outer = place.subgridspec(1, len(layout.columns))
    heights = layout.rows if layout.is_wrapped else layout.heights
    for position, column in enumerate(layout.columns):
        inner = outer[position].subgridspec(len(column), 1, height_ratios=[heights[k] for k in column])
        for row, index in enumerate(column):
            axes = fig.add_subplot(inner[row])
            panel = words.feature(features[index])
            _draw_panel(axes, frame[_has_feature(frame, features[index])], layout.texts[panel], styles, look)
            set_panel_title(axes, layout.titles[panel], layout.outdent[position])
        unit = add_unit("", frame)
        axes.set_xlabel(f"Distance from the estimate{unit} (upright line: no effect)")


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, texts: Mapping[str, str], styles: dict[str, _Style], look: Theme
) -> None:
    levels = display_order(rows["level"])
    height = _row(list(styles), texts.values())
    y_of = {level: (k + 0.5) * height for k, level in enumerate(levels)}
    center = _centers(rows)
    reach = 1.04 * _reach(rows, center)
    for position, (choice, style) in enumerate(styles.items()):
        choice_rows = rows[(rows["choice"].astype("string") == choice).to_numpy(bool)]
        shift = (position - (len(styles) - 1) / 2) * STEP
        y = choice_rows["level"].astype(str).map(y_of).to_numpy(float) + shift
        around = choice_rows["level"].astype(str).map(center).to_numpy(float)
        estimate, lower, upper = (choice_rows[name].to_numpy(float) - around for name in EDGES)
        lower, upper = np.clip(lower, -2 * reach, 2 * reach), np.clip(upper, -2 * reach, 2 * reach)
        axes.hlines(y, lower, upper, color=style.color, linewidth=1.3, zorder=3)
        axes.plot(
            estimate, y, style.marker, color=style.color, markersize=3.8, markeredgewidth=0, zorder=4,
            linestyle="none",
        )  # fmt: skip
    for k, level in enumerate(levels):
        if k % 2 == 0:
            axes.axhspan(k * height, (k + 1) * height, color=look.band, linewidth=0, zorder=0)
        if abs(center[level]) < reach:
            axes.vlines(
                -center[level], k * height, (k + 1) * height, look.foreground, linewidth=1.1, zorder=2
            )
    axes.set_yticks(list(y_of.values()), [texts[level] for level in levels])
    axes.set_xlim(-reach, reach)
    axes.set_ylim(height * len(levels), 0)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _number(value: float, digits: int) -> str:
    return f"{value:z.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _reach(rows: pd.DataFrame, center: pd.Series[float]) -> float:
    """Largest distance of a finite limit from the estimate that its row is drawn around."""
    around = rows["level"].astype(str).map(center).to_numpy(float)
    away = np.abs(rows[["lower", "upper"]].to_numpy(float) - around[:, None])
    return float(away[np.isfinite(away)].max(initial=1e-6))


def _draw_ratios(axes: Axes, ratios: pd.DataFrame, names: Sequence[str], look: Theme) -> None:
    """A grid of choices by features: the range of ratios in digits, the largest as depth of colour."""
    from matplotlib.patches import Rectangle

    features = list(dict.fromkeys(ratios.columns.get_level_values(0)))
    for row, choice in enumerate(ratios.index):
        for column, feature in enumerate(features):
            low, high = (float(ratios.loc[choice, (feature, edge)]) for edge in ("min", "max"))
            if not np.isfinite(high):
                continue
            depth = DARKEST * float(np.clip((high - 1) / (LARGE - 1), 0, 1))
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=look.color(1), alpha=depth, linewidth=0))
            text = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7.5)
    axes.set_xlim(0, len(features))
    axes.set_ylim(len(ratios), 0)
    axes.set_xticks(np.arange(len(features)) + 0.5, names)
    axes.set_yticks(np.arange(len(ratios)) + 0.5, list(ratios.index))
    axes.tick_params(length=0, labeltop=False)
    axes.spines[:].set_visible(False)
    axes.set_title("Standard errors over those of independent rows", loc="left", fontweight="bold", pad=4)
