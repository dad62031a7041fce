"""Published numbers by verdict, and which standard deviations are possible with which means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..numerics.types import Floats
from .figure_layout import PANEL_TITLE, Drawable, add_legend, lines_high, room_above, wrap
from .figure_registry import FigureStyle, figure
from .theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERDICTS = {
    "consistent": "Consistent as published",
    "conditional": "Consistent only under another definition",
    "inconsistent": "Inconsistent as published",
    "untested": "Cannot be tested",
}
HATCHES = {"consistent": "", "conditional": "////", "inconsistent": "xxxx", "untested": "...."}
GRAVITY = ("inconsistent", "conditional", "consistent", "untested")
NUMBER = ["file", "table", "row", "column", "quantity", "published"]  # what identifies a published number
BAR = 0.24  # inches
LABEL_WIDTH = 2.3
SMALLEST_TEXT = 0.05  # share of a bar that has room for its count


def verdict_colors(look: Theme) -> dict[str, str]:
    """Colours of verdicts, with luminances that differ."""
    return {
        "consistent": look.color(0),
        "conditional": look.color(4),
        "inconsistent": look.color(1),
        "untested": look.muted,
    }


def marker_of(verdict: str, look: Theme) -> str:
    """The marker of a verdict."""
    return look.marker(list(VERDICTS).index(verdict))


@dataclass(frozen=True)
class Bars:
    """Shares of published numbers by verdict: a panel for each file, a bar for each check."""

    counts: pd.DataFrame  # index: panel, row; columns: verdicts

    def describe(self) -> str:
        """Give the counts of each bar."""
        texts = []
        for name_of_row, counts in self.counts.iterrows():
            panel, row = map(str, name_of_row)  # type: ignore[call-overload, arg-type, unused-ignore]
            parts = [f"{count:,} {VERDICTS[str(name)].lower()}" for name, count in counts.items() if count]
            texts.append(f"{panel}, {row}: {', '.join(parts)}")
        return f"Published numbers by verdict. {'; '.join(texts)}."

    def draw(self, style: FigureStyle) -> Figure:
        """Draw stacked bars with counts."""
        from matplotlib.patches import Patch

        look = style.look
        colors = verdict_colors(look)
        verdicts = [name for name in VERDICTS if self.counts[name].sum()]
        title, above, columns = room_above(style.title, page_width(), [VERDICTS[name] for name in verdicts])
        panels = list(dict.fromkeys(self.counts.index.get_level_values(0)))
        heads = {panel: wrap(str(panel), page_width() - 0.4, PANEL_TITLE, bold=True) for panel in panels}
        rows = {
            panel: [wrap(str(row), LABEL_WIDTH) for row in self.counts.loc[panel].index] for panel in panels
        }
        heights = [sum(max(BAR + 0.1, lines_high(text) + 0.06) for text in rows[panel]) for panel in panels]
        room = sum(lines_high(head, PANEL_TITLE) + 0.16 for head in heads.values())
        fig = new_figure(page_width(), sum(heights) + room + above + 0.55)
        grid = fig.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        for axes, panel in zip(grid, panels, strict=True):
            self._panel(axes, self.counts.loc[panel], rows[panel], verdicts, colors, look)
            axes.set_title(heads[panel], loc="left", fontweight="bold", pad=4, x=0)
        grid[-1].tick_params(axis="x", bottom=True, labelbottom=True)
        grid[-1].set_xlabel("Share of published numbers (numbers on bars: how many)")
        handles = [Patch(**_patch(colors[name], name, look)) for name in verdicts]
        add_legend(fig, handles, [VERDICTS[name] for name in verdicts], columns, title, look)
        return fig

    def _panel(
        self,
        axes: Axes,
        counts: pd.DataFrame,
        rows: Sequence[str],
        verdicts: Sequence[str],
        colors: Mapping[str, str],
        look: Theme,
    ) -> None:
        from matplotlib.ticker import PercentFormatter

        totals = counts.sum(axis=1).to_numpy(float)
        places = np.arange(len(rows))
        start = np.zeros(len(rows))
        for name in verdicts:
            share = counts[name].to_numpy(float) / totals
            axes.barh(places, share, left=start, height=0.66, **_patch(colors[name], name, look))
            for place, width, left_edge, count in zip(places, share, start, counts[name], strict=True):
                if width >= SMALLEST_TEXT * max(1.0, len(f"{count:,}") / 3):
                    axes.text(
                        left_edge + width / 2,
                        float(place),
                        f"{count:,}",
                        ha="center",
                        va="center",
                        fontsize=7.5,
                        bbox={"facecolor": look.background, "edgecolor": "none", "pad": 1.2},
                    )
            start = start + share
        axes.set_yticks(places, list(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.tick_params(axis="x", bottom=False)
        for side in ("top", "right", "left", "bottom"):
            axes.spines[side].set_visible(False)


def _patch(color: str, verdict: str, look: Theme) -> dict[str, Any]:
    """Colour, hatch and edge of a verdict."""
    hatch = HATCHES[verdict]
    if verdict == "untested":
        return {"facecolor": look.background, "hatch": hatch, "edgecolor": look.muted, "linewidth": 0.4}
    return {"facecolor": color, "hatch": hatch or None, "edgecolor": look.background, "linewidth": 0.6}


@figure("published_numbers")
def published_numbers(result: Drawable, style: FigureStyle) -> Bars:
    """Shares of numbers by verdict: a panel for each file, a bar for each check."""
    frame = result.frame
    if frame.empty:
        raise InputError("There is nothing to draw: no published number was checked.")
    titles, checks = result.settings.get("titles") or {}, result.settings.get("checks") or {}
    ranked = frame.assign(rank=frame["verdict"].map(GRAVITY.index))
    once = ranked.sort_values("rank", kind="stable").drop_duplicates([*NUMBER, "check"]).sort_index()
    keyed = once.assign(
        panel=[titles.get(name, name) for name in once["file"]],
        row=[checks.get(name, name) for name in once["check"]],
        shown=1,
    )
    counts = keyed.groupby(["panel", "row", "verdict"], sort=False)["shown"].sum().unstack(fill_value=0)
    order = dict.fromkeys(zip(keyed["panel"], keyed["row"], strict=True))
    counts = counts.reindex(pd.MultiIndex.from_tuples(list(order)))
    return Bars(counts.reindex(columns=list(VERDICTS), fill_value=0).astype(int))


@dataclass(frozen=True)
class Umbrellas:
    """Published means and standard deviations inside the limits of their scale, a panel for each kind."""

    pairs: pd.DataFrame  # panel, mean, sd, lowest, highest, step, verdict

    def describe(self) -> str:
        """Give the counts of each panel."""
        texts = []
        for panel, panel_pairs in self.pairs.groupby("panel", sort=False):
            counts = panel_pairs["verdict"].value_counts()
            parts = [f"{counts[name]:,} {text.lower()}" for name, text in VERDICTS.items() if name in counts]
            texts.append(f"{panel}: {', '.join(parts)}")
        return (
            "Published means and standard deviations between the least and the largest standard deviation "
            f"that ratings on the scale can have. {'; '.join(texts)}."
        )

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the possible range as an area, and published pairs as points."""
        from matplotlib.lines import Line2D

        look = style.look
        colors = verdict_colors(look)
        verdicts = [name for name in VERDICTS if (self.pairs["verdict"] == name).any()]
        title, above, columns = room_above(style.title, page_width(), [VERDICTS[name] for name in verdicts])
        panels = list(dict.fromkeys(self.pairs["panel"]))
        across = min(2, len(panels))
        deep = -(-len(panels) // across)
        width = page_width() if across > 1 else page_width() * 0.62
        heads = {panel: wrap(panel, width / across - 0.6, PANEL_TITLE, bold=True) for panel in panels}
        room = max(lines_high(head, PANEL_TITLE) for head in heads.values())
        fig = new_figure(width, deep * (2.2 + room) + above + 0.35)
        grid = fig.subplots(deep, across, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(panels):
                axes.set_visible(False)
                continue
            panel_pairs = self.pairs[self.pairs["panel"] == panels[place]]
            self._panel(axes, panel_pairs, verdicts, colors, look)
            axes.set_title(heads[panels[place]], loc="left", fontweight="bold", pad=4)
            axes.set_xlabel("Mean")
            if place % across == 0:
                axes.set_ylabel("Standard deviation")
        handles = [
            Line2D([], [], linestyle="none", marker=marker_of(name, look), color=colors[name], markersize=4.5)
            for name in verdicts
        ]
        add_legend(fig, handles, [VERDICTS[name] for name in verdicts], columns, title, look)
        return fig

    def _panel(
        self, axes: Axes, pairs: pd.DataFrame, verdicts: Sequence[str], colors: Mapping[str, str], look: Theme
    ) -> None:
        low, high, step = (float(pairs[name].iloc[0]) for name in ("lowest", "highest", "step"))
        means = np.linspace(low, high, 1601)
        least, largest = spread_limits(means, low, high, step)
        axes.fill_between(means, least, largest, color=look.band, linewidth=0)
        axes.plot(means, largest, color=look.muted, linewidth=0.8)
        axes.plot(means, least, color=look.muted, linewidth=0.8)
        for place, name in enumerate(verdicts):
            verdict_pairs = pairs[pairs["verdict"] == name]
            axes.plot(
                verdict_pairs["mean"],
                verdict_pairs["sd"],
                marker_of(name, look),
                color=colors[name],
                markersize=3.2 if name != "inconsistent" else 4.5,
                markeredgecolor=look.background,
                markeredgewidth=0.3,
                zorder=3 + place,
            )
        axes.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        axes.set_ylim(0, max(float(largest.max()), float(pairs["sd"].max())) * 1.06)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)


def spread_limits(means: Floats, low: float, high: float, step: float) -> tuple[Floats, Floats]:
    """The least and the largest standard deviation of many ratings with a mean, shapes of ``means``."""
    # Ratings are `low`, `low + step` and so on to `high`.
    # least: all ratings are on the two points around the mean; largest: all are at the ends of the scale
    above = np.mod((means - low) / step, 1.0)
    least = step * np.sqrt(above * (1 - above))
    return np.asarray(least), np.asarray(np.sqrt(np.clip((means - low) * (high - means), 0, None)))


def _has_pairs(result: Drawable) -> bool:
    pairs = result.extra.get("pairs")
    return pairs is not None and len(pairs) > 0


@figure("published_numbers", part="means", when=_has_pairs)
def published_means(result: Drawable, style: FigureStyle) -> Umbrellas:
    """Published pairs of mean and standard deviation, with the limits of the scale."""
    pairs = result.extra.get("pairs")
    if pairs is None or pairs.empty:
        raise InputError(
            "There is nothing to draw: no means with standard deviations on a scale were checked."
        )
    titles = result.settings.get("titles") or {}
    scales = [
        f"{low:g} to {high:g}" + (f" in steps of {step:g}" if step != 1 else "")
        for low, high, step in zip(pairs["lowest"], pairs["highest"], pairs["step"], strict=True)
    ]
    names = [
        f"{group[:1].upper()}{group[1:]}" if group else titles.get(file, file)
        for file, group in zip(pairs["file"], pairs["group"].astype(str), strict=True)
    ]
    panel = [f"{name} ({scale})" for name, scale in zip(names, scales, strict=True)]
    return Umbrellas(pairs.assign(panel=panel))
