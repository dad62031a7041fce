"""Dots with intervals in narrow panels side by side that share their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from .dot_marks import NUMBERS, POINTS, draw_dots, handles_of, in_unit, set_signed, stripe, tidy
from .figure_layout import (
    add_legend,
    inches,
    lines_high,
    more_lines,
    require_estimates,
    room_above,
    wrap,
)
from .gain_labels import NEUTRAL_PLACE
from .interval_dots import Dots, Texts, table_of
from .theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .figure_registry import FigureStyle

DASHES: tuple[Any, ...] = ((0, (5, 2)), (0, (1.2, 1.6)), (0, (5, 1.5, 1, 1.5)))


@dataclass(frozen=True, kw_only=True)
class Forest(Dots):
    """Narrow panels side by side that share their rows."""

    # Where panels lack many rows, those with the same rows stand side by side.

    rows: list[str]  # in display order
    # panels side by side, at most
    across: int = 6
    # whether the first row contains all items, and is set apart
    first_row: bool = False
    # further lines of a panel by name, the same names in every panel; each name has a dash of its own
    lines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # whether the series of a row stand one below the other
    dodged: bool = True
    # sets the ticks of an axis whose numbers are transformed
    ticks: Any = None

    PANEL_TITLE = 8.0
    LONGEST_ROW = 1.7
    NARROWEST = 0.95
    STEP = 0.075
    MOST_MISSING = 2 / 3  # share of the rows below which panels get rows of their own

    @property
    def line_names(self) -> list[str]:
        """Names of the further lines, in order of appearance."""
        return list(dict.fromkeys(name for lines in self.lines.values() for name in lines))

    def describe(self) -> str:
        """Describe the dots, and name the further lines."""
        positions = {
            name: [panel_lines[name] for panel_lines in self.lines.values() if name in panel_lines]
            for name in self.line_names
        }
        texts = [
            f"{name}: {min(at):.2f}{f' to {max(at):.2f}' if max(at) - min(at) >= 0.005 else ''}"
            for name, at in positions.items()
        ]
        return " ".join([super().describe(), *([f"Lines: {'; '.join(texts)}."] if texts else [])])

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the panels with one legend above."""
        from matplotlib.lines import Line2D

        look = style.look
        rows = [wrap(row, self.LONGEST_ROW) for row in self.rows]
        label_width = max(map(inches, rows)) + 0.15
        fits = max(1, int((page_width() - label_width) / self.NARROWEST))
        bands = self._bands(min(fits, self.across))
        across = max(len(band.panels) for band in bands)
        width = min(page_width(), max(4.2, label_width + across * 2.6))
        heads = {
            name: wrap(name, (width - label_width) / across - 0.08, self.PANEL_TITLE, bold=True)
            for name in self.panels
        }
        deep = self.STEP * (len(self.series) if self.dodged else 1)
        high = max(0.2, 0.07 + deep, max(map(lines_high, rows)) + 0.04)
        legend = self.series if len(self.series) > 1 else []
        title, above, columns = room_above(style.title, width, [*legend, *self.line_names])
        around = 0.42 + max(map(more_lines, heads.values())) + (0 if self.share_x else 0.1)
        heights = [high * len(band.rows) + around for band in bands]
        below = wrap(self.xlabel, width - 0.2)
        figure = new_figure(width, sum(heights) + above + 0.25 + more_lines(below))
        grid = figure.subplots(len(bands), across, squeeze=False, sharey="row", height_ratios=heights)
        for row, band in zip(grid, bands, strict=True):
            for axes in row[len(band.panels) :]:
                axes.set_visible(False)
            for axes, panel in zip(row, band.panels, strict=False):
                band._draw_panel(axes, panel, look)
                limit_panels = self.panels if self.share_x else [panel]
                line_positions = [at for name in limit_panels for at in self.lines.get(name, {}).values()]
                axes.set_xlim(*self._limits(limit_panels, line_positions, least=0.5))
                axes.locator_params(axis="x", nbins=4, min_n_ticks=3)
                if POINTS in self.xlabel and self._is_signed():
                    set_signed(axes.xaxis)
                if self.ticks is not None:
                    self.ticks(axes)
                axes.set_title(heads[panel], fontsize=self.PANEL_TITLE, fontweight="bold", loc="left", pad=4)
            row[0].set_yticks(range(len(band.rows)), [wrap(name, self.LONGEST_ROW) for name in band.rows])
            row[0].set_ylim(len(band.rows) - 0.5, -0.5)
        figure.supxlabel(below, fontsize=8.5)
        handles = handles_of(self.places if legend else [], look, is_shaded=self.is_shaded)
        handles += [
            Line2D([], [], color=look.foreground, linewidth=1.1, linestyle=DASHES[k % len(DASHES)])
            for k in range(len(self.line_names))
        ]
        add_legend(figure, handles, [*legend, *self.line_names], columns, title, look)
        return figure

    def _bands(self, across: int) -> list[Forest]:
        """Panels that stand side by side, as forests with rows of their own."""
        # Where a panel lacks more than a third of the rows, as judges have who were not asked, bands consist
        # of panels with the same rows, and show these only.
        estimates = self.table.dropna(subset="estimate")
        rows_of = {name: set(estimates.loc[estimates["panel"] == name, "row"]) for name in self.panels}
        sparse = any(len(rows) < self.MOST_MISSING * len(self.rows) for rows in rows_of.values())
        groups: dict[frozenset[str], list[str]] = {}
        for name in self.panels:
            row_names = rows_of[name] if sparse and not self.first_row else self.rows
            groups.setdefault(frozenset(row_names), []).append(name)
        bands = []
        for rows, panels in groups.items():
            side = -(-len(panels) // -(-len(panels) // across))
            band_rows = [row for row in self.rows if row in rows] or self.rows
            bands += [
                replace(self, panels=panels[k : k + side], rows=band_rows)
                for k in range(0, len(panels), side)
            ]
        return bands

    def _draw_panel(self, axes: Axes, panel: str, look: Theme) -> None:
        panel_rows = self.table[(self.table["panel"] == panel) & self.table["row"].isin(self.rows)]
        stripe(axes, range(len(self.rows)), look)
        if self.first_row and len(self.rows) > 1:
            axes.axhline(0.5, color=look.muted, linewidth=0.6, zorder=1)
        if panel in self.baseline:
            axes.axvline(
                self.baseline[panel], color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1
            )
        for name, at in self.lines.get(panel, {}).items():
            dash = DASHES[self.line_names.index(name) % len(DASHES)]
            axes.axvline(at, color=look.foreground, linewidth=1.0, linestyle=dash, zorder=2)
        size = 3.4 if len(self.series) <= 5 else 2.6
        spread = min(0.8, self.STEP * len(self.series) / 0.4) if self.dodged else 0.0
        for number, (name, place) in enumerate(zip(self.series, self.places, strict=True)):
            series_rows = panel_rows[panel_rows["series"] == name]
            at = (number - (len(self.series) - 1) / 2) * spread / max(len(self.series), 1)
            y = series_rows["row"].map(self.rows.index).to_numpy(float) + at
            draw_dots(axes, series_rows, y, look, place, size=size, line=1.1, shade=self.shade(place, look))
        axes.tick_params(axis="x", labelsize=7.5)
        tidy(axes)


def forest(
    frame: pd.DataFrame,
    *,
    panel: Texts = "",
    row: Texts | str,
    series: Texts = "",
    xlabel: str,
    what: str,
    panels: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    places: Sequence[int] | None = None,
    baseline: float | Mapping[str, float] | None = None,
    numbers: Sequence[str] = NUMBERS,
    unit: float = 1.0,
    **options: Any,
) -> Forest:
    """Lay a frame out as a forest; panels, rows and series (``order``) in the order of their first row."""
    table = table_of(frame, panel, row, series, numbers)
    require_estimates(table)
    panels = list(panels if panels is not None else dict.fromkeys(table["panel"]))
    order = list(order if order is not None else dict.fromkeys(table["series"]))
    if places is None and order == [""]:  # rows of several, such as judges, have the colour of none of them
        places = [NEUTRAL_PLACE]
    lines = {} if baseline is None else baseline
    lines = lines if isinstance(lines, Mapping) else dict.fromkeys(panels, float(lines))
    digits = {"digits": 1} if unit != 1 else {}
    return Forest(
        table=in_unit(table, unit),
        panels=panels,
        rows=list(rows if rows is not None else dict.fromkeys(table["row"])),
        series=order,
        places=list(range(len(order)) if places is None else places),
        xlabel=xlabel,
        what=what,
        baseline={name: unit * line for name, line in lines.items()},
        **digits | options,
    )
