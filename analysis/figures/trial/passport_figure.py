"""The passport of intervals: the coverage of each method in every situation, as a strip of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...frames.passport import LEAST_COVERAGE
from ..figure_layout import Drawable, add_legend, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..theme import new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 10  # effective clusters below which a situation is shown apart
PANELS = (f"{FEW} or more effective clusters", f"Fewer than {FEW} effective clusters")
LEAST = 0.5  # smallest coverage of the axis; what is below it is drawn there
SERIES = (f"{LEAST_COVERAGE:.0%} or more, within Monte Carlo error", f"Below {LEAST_COVERAGE:.0%}")
ROW = 0.155  # inches


@dataclass(frozen=True)
class Strips:
    """Coverage by method, one point for each quantity and situation."""

    table: pd.DataFrame  # ``method, coverage, fails, few``
    level: float

    @property
    def methods(self) -> list[str]:
        """Methods in order of the table."""
        return list(dict.fromkeys(self.table["method"]))

    def describe(self) -> str:
        """Count the intervals below the rule, and name the methods with most of them."""
        table = self.table
        counts = table[table["fails"]].groupby("method", sort=False).size().sort_values(ascending=False)
        most = "; ".join(f"{name} {count}" for name, count in counts.head(5).items())
        named = f" Most of them: {most}." if most else ""
        return (
            f"Coverage of nominal {self.level:.0%} intervals by method, one point for each quantity and "
            f"situation. {int(table['fails'].sum()):,} of {len(table):,} are below {LEAST_COVERAGE:.0%} "
            f"beyond Monte Carlo error.{named}"
        )

    def draw(self, style: FigureStyle) -> Figure:
        """Draw a row for each method, few clusters apart."""
        from matplotlib.lines import Line2D

        look, methods = style.look, self.methods
        title, above, columns = room_above(style.title, page_width(), list(SERIES))
        fig = new_figure(page_width(), ROW * len(methods) + above + 0.75)
        panels = fig.subplots(1, 2, sharey=True)
        places = {name: place for place, name in enumerate(methods)}
        colors = {False: look.color(0), True: look.color(1)}
        for axes, has_few_clusters, text in zip(panels, (False, True), PANELS, strict=True):
            subset = self.table[self.table["few"] == has_few_clusters]
            for fails, rows in subset.groupby("fails"):
                axes.plot(
                    np.maximum(rows["coverage"], LEAST),
                    [places[name] for name in rows["method"]],
                    linestyle="none",
                    marker=look.marker(int(bool(fails))),
                    markersize=3.2,
                    markeredgewidth=0,
                    alpha=0.55,
                    color=colors[bool(fails)],
                )
            axes.axvline(self.level, color=look.foreground, linewidth=0.8)
            axes.axvline(LEAST_COVERAGE, color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)))
            axes.set_title(
                wrap(text, page_width() / 3, 8, bold=True), fontsize=8, fontweight="bold", loc="left"
            )
            axes.set_xlim(LEAST - 0.02, 1.01)
            axes.tick_params(labelsize=7.5)
            axes.grid(axis="y", color=look.grid, linewidth=0.5)
            axes.set_axisbelow(True)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        panels[0].set_yticks(range(len(methods)), methods, fontsize=7)
        panels[0].set_ylim(len(methods) - 0.4, -0.6)
        fig.supxlabel(
            wrap(
                f"Coverage; {LEAST:g} stands for less. Lines: {self.level:g}, {LEAST_COVERAGE:g}",
                page_width() - 0.4,
            ),
            fontsize=8.5,
        )
        handles = [
            Line2D([], [], linestyle="none", marker=look.marker(k), color=color, markersize=5)
            for k, color in enumerate(colors.values())
        ]
        add_legend(fig, handles, list(SERIES), columns, title, look)
        return fig


def method_label(method: str) -> str:
    """A method of the passport in words: names of options and of the trial's grid are omitted."""
    text = method.removeprefix("choices, part=")
    for option in ("vcov=", "interval=", "correct="):
        text = text.replace(option, "")
    return text.replace("_", " ").replace("amce", "AMCE").replace("mm,", "MM,")


@figure("passport")
def strips(result: Drawable, style: FigureStyle) -> Strips:
    """Coverage of every interval by method, in situations with many and with few effective clusters."""
    frame = result.frame
    frame = frame[frame["coverage"].notna()]
    table = pd.DataFrame(
        {
            "method": [method_label(name) for name in frame["method"].astype(str)],
            "coverage": frame["coverage"].astype(float),
            "fails": frame["coverage_upper"].astype(float) < LEAST_COVERAGE,
            "few": frame["effective"].astype(float) < FEW,
        }
    )
    return Strips(table.reset_index(drop=True), 1 - float(result.settings.get("alpha") or 0.05))
