"""Zip plots: intervals of a trial by the size of their error, those that miss the true value in colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ..figure_layout import Drawable, add_legend, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..theme import new_figure, page_width
from .performance_figures import cell_labels, panel_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 4
FROM = 50.0  # centile from which intervals are drawn, as nearly all below it cover


@dataclass(frozen=True)
class Zip:
    """A panel for each method in one cell, of one quantity and estimand."""

    table: pd.DataFrame  # ``panel, centile, lower, upper, covers``
    alpha: float
    where: str

    @property
    def panels(self) -> list[str]:
        """Panels in order."""
        return list(dict.fromkeys(self.table["panel"]))

    def describe(self) -> str:
        """Give the share of intervals that cover in each panel."""
        share = self.table.groupby("panel", sort=False)["covers"].mean()
        texts = "; ".join(f"{name} {value:.2f}" for name, value in share.items())
        return f"Intervals of the draws by the size of their error, {self.where}. Shares that cover: {texts}."

    def draw(self, style: FigureStyle) -> Figure:
        """Draw intervals as horizontal lines, those with the largest errors on top."""
        from matplotlib.lines import Line2D

        look, panels = style.look, self.panels
        across = min(ACROSS, len(panels))
        down = -(-len(panels) // across)
        legend = ["Contains the true value", "Does not contain it"]
        title, above, columns = room_above(style.title, page_width(), legend)
        wrapped = [wrap(name, page_width() / across - 0.4, 7.5, bold=True) for name in panels]
        head = 0.14 * max(text.count("\n") for text in wrapped)
        fig = new_figure(page_width(), down * (1.75 + head) + above + 0.5)
        grid = fig.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
        colors = {True: look.color(0), False: look.color(1)}
        for axes, panel, text in zip(grid, panels, wrapped, strict=False):
            panel_rows = self.table[(self.table["panel"] == panel) & (self.table["centile"] >= FROM)]
            for covers, rows in panel_rows.groupby("covers"):
                axes.hlines(
                    rows["centile"], rows["lower"], rows["upper"], color=colors[bool(covers)], linewidth=0.9
                )
            axes.axvline(0, color=look.foreground, linewidth=0.8)
            axes.axhline(100 * (1 - self.alpha), color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)))
            axes.set_title(text, fontsize=7.5, fontweight="bold", loc="left", pad=4)
            axes.tick_params(labelsize=7)
            axes.locator_params(axis="x", nbins=4)
            axes.set_ylim(FROM, 100)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        fig.supxlabel(
            wrap(f"Limits of the interval minus the true value: {self.where}", page_width() - 0.5),
            fontsize=8.5,
        )
        ylabel = "Percentile of the absolute error in standard errors"
        fig.supylabel(wrap(ylabel, 1.6 * down), fontsize=8.5)
        handles = [Line2D([], [], color=colors[kind], linewidth=1.5) for kind in (True, False)]
        add_legend(fig, handles, legend, columns, title, look)
        return fig


@figure("trial", part="zip", when=lambda result: not result.extra.get("zip", pd.DataFrame()).empty)
def zipped(result: Drawable, style: FigureStyle) -> Zip:
    """Intervals by percentile of their error, where methods differ most (Morris, White and Crowther 2019)."""
    table = result.extra["zip"].reset_index(drop=True)
    table = table.assign(panel=table["method"].astype(str), cell=cell_labels(table, result))
    table["of"] = panel_labels(table, result)
    places = table.groupby(["cell", "of", "panel"], sort=False)["covers"].mean().unstack("panel")
    widest = (places.max(axis=1) - places.min(axis=1)).fillna(0).to_numpy().argmax()
    cell, of = (str(part) for part in places.index[int(widest)])
    alpha = float(result.settings.get("alpha") or 0.05)
    return Zip(table[(table["cell"] == cell) & (table["of"] == of)], alpha, f"{of}; {cell}")
