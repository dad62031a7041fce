"""Reliability curves: shares of events over their probability, a panel for each judge, task and stratum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..dot_marks import tidy
from ..figure_layout import Drawable, add_legend, more_lines, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..labels import level_of
from ..theme import Theme, new_figure, page_width
from .benchmark_labels import label_rows, rows_of_judges, strata_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 8.0
MOST_PANELS_ACROSS = 4
DASHED = (0, (3, 2))


@dataclass(frozen=True)
class ReliabilityDiagram:
    """Panels of isotonic curves with consistency bands, and of bins with intervals."""

    curve: pd.DataFrame  # ``panel`` (label), ``probability, estimate, lower, upper``
    bins: pd.DataFrame  # with the same columns
    slopes: dict[str, float]  # calibration slope of each panel, NaN where there is none
    panels: list[str]  # in display order
    level: str  # of bands and intervals, in percent

    def describe(self) -> str:
        """Give the lowest and the highest bin of each panel, and the slope."""
        texts = ["Share of events over their probability, with isotonic curves."]
        for panel in self.panels:
            bins = self.bins[self.bins["panel"] == panel]
            ends = bins.sort_values("probability").iloc[[0, -1]].to_dict("records")
            range_text = " to ".join(
                f"{end['estimate']:.2f} (probability {end['probability']:.2f})" for end in ends
            )
            slope = self.slopes[panel]
            texts.append(f"{panel}: {range_text}" + (f", slope {slope:.2f}." if np.isfinite(slope) else "."))
        return " ".join(texts)

    def draw(self, style: FigureStyle) -> Figure:
        """Draw square panels with one legend above."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        look, n = style.look, len(self.panels)
        across = min(MOST_PANELS_ACROSS, n)
        down = -(-n // across)
        width = min(page_width(), 0.7 + 2.2 * across if across > 1 else 4.2)
        side = (width - 0.7) / across - 0.15 if across > 1 else 2.6
        heads = [wrap(name, side - 0.1, SIZE, bold=True) for name in self.panels]
        names = [
            "Isotonic curve",
            f"{self.level} consistency band if calibrated",
            f"Bins of probabilities with {self.level} intervals",
        ]
        title, above, columns = room_above(style.title, width, names)
        high = (side + 0.35 + max(map(more_lines, heads))) * down + above + 0.45
        fig = new_figure(width, high)
        grid = fig.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for k, axes in enumerate(grid.ravel()):
            if k >= n:
                axes.set_visible(False)
                continue
            self._draw_panel(axes, self.panels[k], look)
            axes.set_title(heads[k], fontsize=SIZE, fontweight="bold", loc="left", pad=4)
            axes.xaxis.set_tick_params(labelbottom=k + across >= n)
        fig.supxlabel("Probability", fontsize=8.5)
        fig.supylabel("Share of events", fontsize=8.5)
        handles: list[Any] = [
            Line2D([], [], color=look.color(0), linewidth=1.4),
            Patch(color=look.muted, alpha=0.25, linewidth=0),
            Line2D([], [], color=look.color(1), marker=look.marker(1), markersize=3.4, linewidth=0.9),
        ]
        add_legend(fig, handles, names, columns, title, look)
        return fig

    def _draw_panel(self, axes: Axes, panel: str, look: Theme) -> None:
        curve = self.curve[self.curve["panel"] == panel].sort_values("probability")
        bins = self.bins[self.bins["panel"] == panel]
        x = curve["probability"].to_numpy(float)
        lower, upper = (curve[name].to_numpy(float) for name in ("lower", "upper"))
        axes.plot([0, 1], [0, 1], color=look.muted, linewidth=0.8, linestyle=DASHED, zorder=2)
        axes.fill_between(x, lower, upper, color=look.muted, alpha=0.25, linewidth=0, zorder=1)
        axes.plot(x, curve["estimate"], color=look.color(0), linewidth=1.4, zorder=4)
        axes.vlines(
            bins["probability"], bins["lower"], bins["upper"], color=look.color(1), linewidth=0.9, zorder=3
        )
        axes.plot(
            bins["probability"], bins["estimate"], look.marker(1), color=look.color(1), markersize=3.4,
            linestyle="none", zorder=5,
        )  # fmt: skip
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.tick_params(labelsize=7.5)
        tidy(axes, "both", ("top", "right"))


@figure("calibration")
def calibration(
    result: Drawable, style: FigureStyle, *, judges: Sequence[str] | None = None
) -> ReliabilityDiagram:
    """Reliability curves, a panel for each judge, task and stratum."""
    tables = [
        rows_of_judges(table, judges) for table in (result.extra["curve"], result.extra["bins"], result.frame)
    ]
    curve, bins, frame = (_with_panels(table, result, style) for table in tables)
    slope_rows = frame[frame["metric"] == "calibration_slope"]
    slopes = dict(zip(slope_rows["panel"].astype(str), slope_rows["estimate"].astype(float), strict=True))
    panels = list(dict.fromkeys(curve["panel"]))
    return ReliabilityDiagram(curve, bins, slopes, panels, level_of(result.settings))


def _with_panels(table: pd.DataFrame, result: Drawable, style: FigureStyle) -> pd.DataFrame:
    """Add the label of the panel: judge, task and stratum in words."""
    where = ["task", *strata_of(result.settings, table)]
    rows = label_rows(table.astype(dict.fromkeys(where, "string")), result.settings, style.names)[0]
    parts = zip(rows["_who"], rows["_where"], strict=True)
    return rows.assign(panel=[", ".join(filter(None, part)) for part in parts])
