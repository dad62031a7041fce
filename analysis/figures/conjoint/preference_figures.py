"""Preferences: comparisons of profiles, AFCPs as a matrix, cycles, importance, shares, rates and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.sentences import count_excluding_in_words
from ..bounds_figure import BoundsPlot
from ..dot_marks import PERCENT, POINTS
from ..figure_layout import (
    LONGEST_LABEL,
    NARROW,
    Drawable,
    add_legend,
    column_labels,
    inches,
    lines_high,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..heat_maps import outline, shade, two_digits, write
from ..interval_dots import levels, table_of
from ..labels import LevelLabels, level_of, words
from ..theme import new_figure, page_width
from .effect_figures import interval_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..theme import Theme

HALF = 0.5
Draw = TypeVar("Draw", bound=Callable[..., Any])
GROUPS = ("judge", "prompt", "variant")
AGAINST, OR = " against ", " or "
WIDE = 0.62  # inches
SLANT = 35  # degrees of slanted labels


def comparison_in_words(feature: object, comparison: object, labels: LevelLabels) -> str:
    """Two kinds of profiles that are compared, by the labels of their levels."""
    sides = [
        OR.join(labels.level(feature, level) for level in side.split(OR))
        for side in str(comparison).split(AGAINST)
    ]
    return AGAINST.join(sides)


def require_one_group(draw: Draw) -> Draw:
    """Refuse a result of several judges, prompts or variants, and draw one of a single one."""

    @wraps(draw)
    def drawn(result: Drawable, style: FigureStyle) -> Any:
        columns = [name for name in GROUPS if name in result.frame]
        if columns and len(result.frame[columns].drop_duplicates()) > 1:
            raise InputError(
                f"The results of {result.kind} are of several judges, prompts or variants, and "
                "the figure is of one; keep the rows of one, or see the report, which draws each."
            )
        return draw(result, style)

    return drawn  # type: ignore[return-value]


class WideForest(Forest):
    """A forest whose rows are named by several levels."""

    LONGEST_ROW = 2.6


@figure("choice_level")
@require_one_group
def choice_level(result: Drawable, style: FigureStyle) -> WideForest:
    """A row for each comparison; shares of ties as a second series where they are an outcome."""
    frame, labels = result.frame, style.words
    feature = frame["feature"].iloc[0]
    row = [comparison_in_words(feature, name, labels) for name in frame["level"]]
    bounds = f"lines: {interval_words(result.settings)}"
    if "reference" in frame:
        base = comparison_in_words(feature, frame["reference"].iloc[0], labels)
        differences = forest(
            frame,
            row=row,
            xlabel=f"Difference in probability from {base}, {POINTS}\n({bounds})",
            unit=100.0,
            what=f"Differences between comparisons of {labels.feature(feature)}",
            baseline=0.0,
        )
        return WideForest(**vars(differences))
    rows = frame.assign(row=row, series="Chosen")
    counts = result.extra["tasks"]
    if result.settings.get("ties") == "outcome" and counts["n_ties"].any():
        ties = counts.assign(row=row, series="Tie", estimate=counts["ties"])
        rows = pd.concat([rows, ties], ignore_index=True)
    plot = forest(
        rows,
        row=rows["row"].tolist(),
        series=rows["series"].tolist(),
        xlabel=f"Choices of the first kind of profile, {PERCENT}\n({bounds})",
        unit=100.0,
        what=f"Comparisons of {labels.feature(feature)} across the two profiles of a task",
        baseline=HALF,
    )
    return WideForest(**vars(plot))


def afcp_matrix(result: Drawable) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Levels (K,), AFCPs of row over column (K, K) with NaN where unknown, and flags of intervals off 1/2."""
    frame = result.frame
    texts = [*frame["reference"].astype(str), *frame["level"].astype(str)]
    categories = getattr(frame["level"].dtype, "categories", texts)
    names = [level for level in dict.fromkeys(map(str, categories)) if level in texts]
    share, clear = np.full((len(names),) * 2, np.nan), np.zeros((len(names),) * 2, dtype=bool)
    for row in frame.to_dict("records"):
        i, j = names.index(str(row["level"])), names.index(str(row["reference"]))
        share[i, j], share[j, i] = row["estimate"], 1 - row["estimate"]
        clear[i, j] = clear[j, i] = row["lower"] > HALF or row["upper"] < HALF
    return names, share, clear


def _afcp_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the clearest preference, and the number of clear ones."""
    names, share, clear = afcp_matrix(result)
    feature = result.frame["feature"].iloc[0]
    i, j = np.unravel_index(int(np.nanargmax(share)), share.shape)
    first, second = (style.words.level(feature, names[k]) for k in (i, j))
    pairs = int(np.isfinite(share).sum()) // 2
    n_intervals = int(result.frame[["lower", "upper"]].notna().all(axis=1).sum())
    return (
        f"Matrix of average feature choice probabilities of {pairs} pairs of levels of "
        f"{style.words.feature(feature)}; the largest is {share[i, j]:.2f} for {first} over {second}. "
        f"{count_excluding_in_words(int(clear.sum()) // 2, n_intervals, '0.5')}"
    )


@figure("afcp", alt=_afcp_alt)
@require_one_group
def afcp(result: Drawable, style: FigureStyle) -> Figure:
    """How often the row is chosen over the column; outlined where the interval excludes one half."""
    look, labels = style.look, style.words
    names, share, clear = afcp_matrix(result)
    feature = result.frame["feature"].iloc[0]
    rows = [wrap(labels.level(feature, name), LONGEST_LABEL) for name in names]
    columns = column_labels([labels.level(feature, name) for name in names], upright=False, slant=SLANT)
    side = max(map(inches, rows)) + 0.3
    beside = 1.0 if page_width() > NARROW else 0.1
    cell = min(WIDE, (page_width() - side - beside) / len(names))
    width = min(page_width(), max(4.4, side + cell * len(names) + beside))
    text = f"{labels.feature(feature)}: share of tasks in which the row is chosen over the column"
    below = wrap(f"{text} (outlined: {level_of(result.settings)} interval excludes 0.5)", width - 0.2)
    title, above, _ = room_above(style.title, width, [])
    high = max(cell, max(map(lines_high, rows)) + 0.06) * len(names)
    rise = math.sin(math.radians(SLANT))
    slanted = max(map(inches, columns.texts)) * rise if columns.rotation == SLANT else 0.2
    deep = max(columns.depth, slanted)
    fig = new_figure(width, high + deep + above + 0.45 + 0.17 * below.count("\n"))
    axes = fig.add_subplot()
    reach = max(float(np.nanmax(np.abs(share - HALF), initial=0.0)), 0.05)
    shade(axes, share - HALF, -reach, reach, look)
    write(axes, share, lambda i, j: two_digits(share[i, j]), look, min(8.5, 15 * cell))
    for i, j in zip(*np.nonzero(clear), strict=True):
        outline(axes, int(i), int(j), look, 1.1)
    axes.set_yticks(range(len(names)), rows)
    axes.set_xticks(range(len(names)), columns.texts, rotation=columns.rotation, ha=columns.align)
    fig.supxlabel(below, fontsize=8.5)
    add_legend(fig, [], [], 1, title, look)
    return fig


@figure("preference_cycles")
@require_one_group
def preference_cycles(result: Drawable, style: FigureStyle) -> WideForest:
    """Direct minus indirect preference for each triple of levels; the cycles of the estimates are marked."""
    frame, labels, feature = result.frame, style.words, result.settings.get("feature")
    names = frame[["level_a", "level_b", "level_c"]].astype(str)
    row = [
        ", ".join(labels.level(feature, name) for name in triple) + " (cycle)" * bool(cycle)
        for triple, cycle in zip(names.to_numpy().tolist(), frame["cycle"], strict=True)
    ]
    lines = f"lines: {level_of(result.settings)} intervals"
    plot = forest(
        frame,
        row=row,
        xlabel=f"Direct minus indirect preference for the first over the second, {POINTS}\n({lines})",
        unit=100.0,
        what="Direct minus indirect preferences, by way of a third level",
        baseline=0.0,
    )
    return WideForest(**vars(plot))


@figure("importance")
@require_one_group
def importance(result: Drawable, style: FigureStyle) -> Forest:
    """The share of each attribute in the sum of ranges."""
    frame = result.frame.sort_values("estimate", ascending=False, kind="stable")
    return forest(
        frame,
        row=[style.words.feature(name) for name in frame["feature"]],
        xlabel=f"Importance: {PERCENT} of the sum of ranges (lines: {level_of(result.settings)} intervals)",
        unit=100.0,
        what="Relative importance of attributes",
    )


@figure("choice_shares")
def choice_shares(result: Drawable, style: FigureStyle) -> Forest:
    """The share of each profile; the line is at equal shares."""
    frame = result.frame
    rule = "logit" if result.settings.get("rule") == "logit" else "average"
    lines = level_of(result.settings)
    return forest(
        frame,
        row=[words(name) for name in frame["profile"]],
        xlabel=f"Choices by the {rule} rule, {PERCENT}\n(lines: {lines} intervals; dashed: equal shares)",
        unit=100.0,
        what="Choice shares of profiles among all that are shown",
        baseline=round(1 / len(frame), 3),
    )


@figure("substitution")
def substitution(result: Drawable, style: FigureStyle) -> Forest:
    """What each level is worth in units of the numeric attribute."""
    frame, labels = result.frame, style.words
    limits = frame[["lower", "upper"]].replace([np.inf, -np.inf], np.nan)
    estimates = frame.assign(lower=limits["lower"], upper=limits["upper"])
    numeric = labels.feature(result.settings["numeric"])
    numeric = numeric[:1].lower() + numeric[1:] if numeric == words(result.settings["numeric"]) else numeric
    lines = f"{level_of(result.settings)} Fieller intervals"
    if limits.isna().any(axis=None):
        lines += ", not drawn where they have no limits"
    return forest(
        estimates,
        row=[labels.both(*key) for key in zip(frame["feature"], frame["level"], strict=True)],
        xlabel=f"Change in {numeric} that makes up for the level (lines: {lines})",
        what=f"Marginal rates of substitution between levels and {numeric}",
        baseline=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class BoundBars(BoundsPlot):
    """Bounds as bars, and covering intervals as lines, without an estimate between them."""

    def _draw_series(self, axes: Axes, rows: pd.DataFrame, y: np.ndarray, look: Theme, place: int) -> None:
        low, high, first, last = (
            rows[name].to_numpy(float) for name in ("bound_lower", "bound_upper", "ci_lower", "ci_upper")
        )
        color = look.color(place)
        axes.hlines(y, low, high, color=color, linewidth=5.0, alpha=0.6, zorder=3)
        axes.hlines(y, first, last, color=color, linewidth=1.1, zorder=3)

    def describe(self) -> str:
        """List the bounds."""
        sentences = [
            f"{row['panel']}, {row['row']}: {row['bound_lower']:.0f} to {row['bound_upper']:.0f}% "
            f"[{row['ci_lower']:.0f}, {row['ci_upper']:.0f}]"
            for row in self.table.to_dict("records")
        ]
        return f"{self.what}. {'; '.join(sentences)}."


@figure("share_preferring")
@require_one_group
def share_preferring(result: Drawable, style: FigureStyle) -> BoundBars:
    """Bounds on the share of judges who prefer each level to the reference; the line is at one half."""
    frame, labels = result.frame, style.words
    panel = [
        f"{labels.feature(feature)} (reference: {labels.level(feature, base)})"
        for feature, base in zip(frame["feature"], frame["reference"], strict=True)
    ]
    row = labels.levels(frame)
    lines = f"{level_of(result.settings)} intervals"
    middle = (frame["bound_lower"] + frame["bound_upper"]) / 2
    estimates = frame.assign(estimate=middle, ci_lower=frame["lower"], ci_upper=frame["upper"])
    table = table_of(estimates, panel, row, "")
    bounds: Sequence[str] = ("bound_lower", "bound_upper", "ci_lower", "ci_upper")
    table = table.assign(reference=False, **{name: estimates[name].to_numpy(float) for name in bounds})
    if table.empty:
        raise InputError("There is nothing to draw: the table has no levels.")
    rows = {name: [r for p, r in zip(panel, row, strict=True) if p == name] for name in dict.fromkeys(panel)}
    plot = levels(
        table,
        rows=rows,
        baseline=dict.fromkeys(rows, HALF),
        hold=[0.0, 1.0],
        xlabel=f"Judges who prefer the level, {PERCENT} (bars: bounds; lines: {lines})",
        unit=100.0,
        what="Bounds on the share of judges who prefer a level to the reference",
    )
    return BoundBars(**vars(plot))
