"""Agreement of every pair of raters as a heat map, people before models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...vocabulary import HUMAN
from ..drawable import Drawable
from ..fitting import HEADING, heading, inches, lines_high, more_lines, wrap
from ..labels import LabelKey, display_order
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .agreement import USUAL_WEIGHTS, panels_in_words
from .naming import Names, chosen
from .terms import COEFFICIENTS, WEIGHTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 12  # raters up to which cells hold numbers and all dimensions are drawn
LONGEST = 1.3
LARGEST_CELL = 0.42
SHARED = 10  # items that a pair must share to be shown
BESIDE = 1.0  # inches of the colour bar and its labels


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
    coefficient: str | None = None,
    weights: str | None = None,
    dimensions: Sequence[str] | None = None,
    least: int = SHARED,
) -> Figure:
    """Draw the table ``pairs`` of `agreement`: of many raters one dimension, of few all.

    Pairs without a value are grey.
    """
    look, names = theme_named(theme), Names(labels)
    frame, kind, weighting = _shown(result, coefficient, weights)
    raters, n_people = _raters(frame)
    n = len(raters)
    wanted = chosen(frame["dimension"], dimensions, "dimension")
    frame = frame[frame["dimension"].isin(wanted)]
    frame = frame.assign(panel=panels_in_words(frame, names), estimate=_enough(frame, least))
    shown = list(dict.fromkeys(frame["panel"]))
    if dimensions is None and n > FEW:
        shown = shown[:1]
    size = 7.6 if n <= FEW else 6.6
    texts = [_short(names.of("judge", rater), size, n > FEW) for rater in raters]
    side = max(inches(text, size) for text in texts) + 0.12
    across = 1 if n > FEW else min(3, len(shown))
    down = -(-len(shown) // across)
    cell = min(LARGEST_CELL, (TWO_COLUMNS - side - BESIDE) / across / n - 0.01)
    cell = max(cell, max(lines_high(text, size) for text in texts))
    width = max(4.0, min(TWO_COLUMNS, side + across * (cell * n + 0.15) + BESIDE))
    told = heading(title, width)
    above = (0.28 if told else 0) + more_lines(told, HEADING)
    heads = [wrap(name, cell * n, 8.2, bold=True) for name in shown]
    high = cell * n + side + max(lines_high(head, 8.2) for head in heads) + 0.15
    if frame["estimate"].isna().all():
        raise InputError(f"There is nothing to draw: no pair of raters shares {least} items.")
    lowest = min(0.0, float(np.floor(frame["estimate"].min() * 10) / 10))
    with styled(look):
        figure = new_figure(width, high * down + above + 0.25)
        grid = figure.subplots(down, across, squeeze=False, sharey=True)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        shade: Any = None
        for axes, name, head in zip(grid.flat, shown, heads, strict=False):
            values = _matrix(frame[frame["panel"] == name], raters)
            shade = _draw_map(axes, values, lowest, look, cell, numbers=n <= FEW)
            axes.set_xticks(range(n), texts, rotation=90, fontsize=size)
            axes.set_yticks(range(n), texts, fontsize=size)
            if 0 < n_people < n:
                axes.axhline(n_people - 0.5, color=look.foreground, linewidth=1.1)
                axes.axvline(n_people - 0.5, color=look.foreground, linewidth=1.1)
            axes.set_title(head, fontsize=8.2, fontweight="bold", loc="left", pad=5)
        bar = figure.colorbar(shade, ax=grid, fraction=0.02, pad=0.015, aspect=28)
        bar.set_label(", ".join(filter(None, [COEFFICIENTS[kind], WEIGHTS.get(weighting, "")])), fontsize=8)
        bar.ax.tick_params(labelsize=7, length=2)
        bar.outline.set_visible(False)
        if _has_gaps(frame[frame["panel"].isin(shown)], n):
            figure.supxlabel(f"Grey: fewer than {least} shared items, or no value", fontsize=7.6)
        if told:
            figure.suptitle(told, x=0.01, ha="left", fontweight="bold", fontsize=HEADING)
    return figure


def _shown(result: Drawable, coefficient: str | None, weights: str | None) -> tuple[pd.DataFrame, str, str]:
    """Rows to draw, their coefficient and weights."""
    frame = result.extra.get("pairs") if result.kind == "agreement" else result.frame
    if frame is None or frame.empty:
        raise InputError(
            "There is no table of pairs of raters; ask `agreement` for the coefficient cohen or percent."
        )
    frame = frame.assign(dimension=frame["dimension"].astype("string").fillna(""))
    kinds = chosen(frame["coefficient"], [coefficient] if coefficient else None, "coefficient")
    kind = "cohen" if "cohen" in kinds else kinds[0]
    used = chosen(frame["weights"], [weights] if weights else None, "weighting")
    weighting = next(name for name in (*USUAL_WEIGHTS, *used) if name in used)
    return frame[(frame["coefficient"] == kind) & (frame["weights"] == weighting)], kind, weighting


def _enough(frame: pd.DataFrame, least: int) -> pd.Series[Any]:
    """Estimates of the pairs that share enough items, missing for others."""
    return frame["estimate"].where(frame["n_items"] >= least)


def _has_gaps(frame: pd.DataFrame, n: int) -> bool:
    """Whether some pair of ``n`` raters has no value."""
    known = frame[frame["estimate"].notna()].groupby("panel").size()
    return len(known) < frame["panel"].nunique() or bool((known < n * (n - 1) // 2).any())


def _raters(frame: pd.DataFrame) -> tuple[list[str], int]:
    """Raters, people first, and the number of people."""
    kinds = dict(zip(frame["judge"], frame["judge_kind"], strict=True))
    kinds |= dict(zip(frame["other"], frame["other_kind"], strict=True))
    order = list(dict.fromkeys([*display_order(frame["judge"]), *display_order(frame["other"])]))
    people = [name for name in order if kinds[name] == HUMAN]
    return [*people, *(name for name in order if kinds[name] != HUMAN)], len(people)


def _matrix(frame: pd.DataFrame, raters: Sequence[str]) -> np.ndarray:
    at = {name: place for place, name in enumerate(raters)}
    values = np.full((len(raters), len(raters)), np.nan)
    first = frame["judge"].map(at).to_numpy(dtype=int)
    second = frame["other"].map(at).to_numpy(dtype=int)
    values[first, second] = values[second, first] = frame["estimate"].to_numpy(dtype=float)
    return values


def _short(text: str, size: float, one_line: bool) -> str:
    """A label in the room it has: in lines, or cut where lines are as close as the cells."""
    if not one_line:
        return wrap(text, LONGEST, size)
    if inches(text, size) <= LONGEST:
        return text
    while inches(text + "\N{HORIZONTAL ELLIPSIS}", size) > LONGEST:
        text = text[:-1]
    return text.rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def _draw_map(
    axes: Axes, values: np.ndarray, lowest: float, look: Theme, cell: float, *, numbers: bool
) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    share = -lowest / (1 - lowest)  # where zero stands
    ends = [(0.0, look.color(1)), (share, look.background), (1.0, look.color(0))]
    shades = LinearSegmentedColormap.from_list("pairs", ends if share > 0 else ends[1:])
    colors = shades.with_extremes(bad=look.grid)
    shade = axes.imshow(values, cmap=colors, vmin=lowest, vmax=1, aspect="equal")
    if numbers:
        for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
            red, green, blue, _ = colors((values[i, j] - lowest) / (1 - lowest))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            axes.text(j, i, f"{values[i, j]:.2f}".replace("-", "\N{MINUS SIGN}"), ha="center", va="center",
                      fontsize=min(7.2, 17 * cell), color="white" if dark else "black")  # fmt: skip
    edges = np.arange(len(values) - 1) + 0.5
    axes.set_xticks(edges, minor=True)
    axes.set_yticks(edges, minor=True)
    axes.grid(which="minor", color=look.background, linewidth=1.0 if numbers else 0.6)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return shade


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say the range of the pairs that share enough items, by dimension."""
    names = Names(labels)
    frame, kind, weighting = _shown(result, None, None)
    frame = frame.assign(panel=panels_in_words(frame, names), estimate=_enough(frame, SHARED))
    told = []
    for name, pairs in frame[frame["estimate"].notna()].groupby("panel", sort=False):
        ordered = pairs.sort_values("estimate")
        ends = [
            f"{row['estimate']:.2f} ({names.of('judge', row['judge'])} and {names.of('judge', row['other'])})"
            for row in (ordered.iloc[0], ordered.iloc[-1])
        ]
        told.append(f"{name!s}: from {ends[0]} to {ends[1]}." if name else f"From {ends[0]} to {ends[1]}.")
    return " ".join(
        [f"{COEFFICIENTS[kind]} ({WEIGHTS.get(weighting, weighting)}) of pairs of raters.", *told]
    )
