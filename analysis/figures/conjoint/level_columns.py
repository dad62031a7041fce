"""Levels in columns that share their rows: two judges with their difference, or one column for each judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...frames.sentences import out_of
from ...frames.vocabulary import HUMAN
from ..dot_marks import draw_dots, handles_of, in_unit, set_signed, tidy, unit_of
from ..figure_layout import (
    LONGEST_LABEL,
    NARROW,
    PANEL_TITLE,
    PanelLayout,
    add_legend,
    add_reference,
    arrange,
    inches,
    lines_high,
    more_lines,
    room_above,
    set_panel_title,
    wrap,
)
from ..gain_labels import NEUTRAL_PLACE
from ..interval_dots import LevelPanels, table_of
from ..labels import KNOWN, true_minus
from ..theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..figure_registry import FigureStyle

MOST_IN_ROWS = 3  # judges that stand in one row
GHOST = 0.4  # opacity of what stands behind the points
NARROWEST = 0.95  # inches of a column
GAP = 0.12  # inches between columns, and beside them


@dataclass(frozen=True, kw_only=True)
class LevelColumns(LevelPanels, ABC):
    """Panels one below the other, in columns that share their rows; without columns where none fits."""

    ROW = 0.24

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the columns, or all series in the same rows where a page has no room for columns."""
        in_headings: Any = self._with_references()
        layout: PanelLayout = in_headings._arranged()
        room = layout.width - max(self._label_widths(layout)) - GAP
        widths = [room * share - GAP for share in self._shares()]
        if len(layout.columns) > 1 or layout.width < NARROW or min(widths) < NARROWEST:
            return LevelPanels(**_fields(self)).draw(style)
        figure: Figure = in_headings._draw_columns(style, layout, widths)
        return figure

    def _arranged(self) -> PanelLayout:
        return arrange(
            self.panels,
            {panel: self._ticks(panel) for panel in self.panels},
            lambda panel, texts: float(self._heights(panel, texts).sum()),
            furniture=self.HEADING,
            width=page_width(),
            is_stacked=True,
        )

    def _label_widths(self, layout: PanelLayout) -> list[float]:
        return [inches(text) for texts in layout.texts.values() for text in texts.values()]

    def _heights(self, panel: str, texts: Mapping[str, str]) -> np.ndarray:
        """Inches that each row of a panel takes."""
        return np.array([max(self.ROW, 0.06 + lines_high(texts[row])) for row in self.rows[panel]])

    def _draw_columns(self, style: FigureStyle, layout: PanelLayout, widths: list[float]) -> Figure:
        look, names = style.look, self._legend()
        title, above, n_columns = room_above(style.title, layout.width, names)
        heads = [
            wrap(text, width, PANEL_TITLE, bold=True)
            for text, width in zip(self._heads(), widths, strict=True)
        ]
        labels = [wrap(text, width + GAP) for text, width in zip(self._labels(), widths, strict=True)]
        if len(set(self._labels())) == 1:
            labels = [wrap(self.xlabel, layout.width - 0.2)]
        heading = max(map(lines_high, heads)) if any(heads) else 0.0
        below = max(map(more_lines, labels))
        figure = new_figure(layout.width, layout.body + above + heading + below + 0.5)
        grid = figure.add_gridspec(
            len(self.panels), len(widths), height_ratios=layout.rows, width_ratios=self._shares()
        )
        for place, panel in enumerate(self.panels):
            edges = np.concatenate([[0.0], np.cumsum(self._heights(panel, layout.texts[panel]))])
            y_of_row = dict(zip(self.rows[panel], (edges[:-1] + edges[1:]) / 2, strict=True))
            first = None
            for column in range(len(widths)):
                axes = figure.add_subplot(grid[place, column], sharey=first)
                first = first or axes
                for top, bottom in zip(edges[:-1:2], edges[1::2], strict=False):
                    axes.axhspan(top, bottom, color=look.band, linewidth=0, zorder=0)
                axes.set_yticks(list(y_of_row.values()), list(layout.texts[panel].values()))
                axes.tick_params(axis="y", labelleft=column == 0)
                axes.set_ylim(float(edges[-1]), 0)
                tidy(axes)
                self._draw_cell(axes, column, panel, y_of_row, look)
                axes.locator_params(axis="x", nbins=6 if widths[column] > 2.5 else 4)
                if column == 0:
                    self._note_missing(axes, panel, y_of_row, look)
                    set_panel_title(axes, layout.titles[panel], layout.outdent[0])
                    if panel in self.references:
                        add_reference(
                            axes, layout.titles[panel], layout.outdent[0], self.references[panel], look
                        )
                if place == 0 and heads[column]:
                    axes.annotate(
                        heads[column], (0, 1), (0, 20), xycoords="axes fraction", va="bottom",
                        textcoords="offset points", fontsize=PANEL_TITLE, fontweight="bold",
                        color=look.color(self._place_of(column)),
                    )  # fmt: skip
                if place < len(self.panels) - 1:
                    axes.tick_params(axis="x", length=0, labelbottom=False)
                    axes.spines["bottom"].set_visible(False)
                elif len(labels) > 1:
                    axes.set_xlabel(labels[column])
        if len(labels) == 1:
            figure.supxlabel(labels[0], fontsize=8.5)
        names = [wrap(name, LONGEST_LABEL) for name in names]
        add_legend(figure, self._handles(look), names, n_columns, title, look)
        return figure

    def _rows_of(self, panel: str, series: str) -> pd.DataFrame:
        is_drawn = (self.table["panel"] == panel) & (self.table["series"] == series)
        return self.table[is_drawn & ~self.table["reference"] & self.table["row"].isin(self.rows[panel])]

    def _draw_lines(self, axes: Axes, panel: str, limits: tuple[float, float], look: Theme) -> None:
        """Draw the line of no effect, and the ticks: with signs where this is 0."""
        axes.set_xlim(*limits)
        if panel in self.baseline:
            axes.axvline(self.baseline[panel], color=look.muted, linewidth=0.9, zorder=1)
        if self._is_signed():
            set_signed(axes.xaxis)

    # What subclasses draw: shares of the width, headings, names of axes, entries of a legend, one cell.

    @abstractmethod
    def _shares(self) -> list[float]: ...

    def _heads(self) -> list[str]:
        return [""] * len(self._shares())

    def _labels(self) -> list[str]:
        return [self.xlabel] * len(self._shares())

    def _legend(self) -> list[str]:
        return []

    def _handles(self, look: Theme) -> list[Any]:
        return []

    def _place_of(self, column: int) -> int:
        return column

    @abstractmethod
    def _draw_cell(
        self, axes: Axes, column: int, panel: str, y_of_row: Mapping[str, float], look: Theme
    ) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TwoJudges(LevelColumns):
    """Two judges in the same rows, joined by a bar, and beside them their difference with its number."""

    # `panel, row, estimate, lower, upper` and `significant`: differences, in the unit of the estimates
    differences: pd.DataFrame
    difference: str  # what they are; empty without differences
    alpha: float = 0.05  # of tests of differences

    DODGE = 0.045  # inches by which the points of a row part that would cover each other

    def describe(self) -> str:
        """Describe the estimates, then the differences."""
        rows = self.differences[np.isfinite(self.differences["estimate"])]
        if rows.empty:
            return super().describe()
        ends = [rows.loc[at()] for at in (rows["estimate"].idxmin, rows["estimate"].idxmax)]
        texts = [f"{end['estimate']:.{self.digits}f} ({end['panel']}, {end['row']})" for end in ends]
        counted = out_of(int(rows["significant"].sum()), len(rows), "difference")
        return (
            f"{super().describe()} {self.difference}, from {texts[0]} to {texts[1]}; "
            f"{counted[:1].lower()}{counted[1:]} significant after adjustment."
        )

    def _shares(self) -> list[float]:
        return [0.66, 0.34] if self.difference else [1.0]

    def _labels(self) -> list[str]:
        return [self.xlabel, self.difference] if self.difference else [self.xlabel]

    def _legend(self) -> list[str]:
        names = [f"Difference (filled: adjusted p < {self.alpha:g})"] if self.difference else []
        return [*self.series, *names]

    def _handles(self, look: Theme) -> list[Any]:
        return handles_of([*self.places, *([NEUTRAL_PLACE] if self.difference else [])], look)

    def _draw_cell(
        self, axes: Axes, column: int, panel: str, y_of_row: Mapping[str, float], look: Theme
    ) -> None:
        if column == 1:
            self._draw_differences(axes, panel, y_of_row, look)
            return
        limits = self._limits(self.panels, self.hold)
        rows = [self._rows_of(panel, name).set_index("row").reindex(list(y_of_row)) for name in self.series]
        ends, y = [part["estimate"].to_numpy(float) for part in rows], np.array(list(y_of_row.values()))
        gap = np.abs(ends[0] - ends[1])
        is_near = gap < 0.035 * (limits[1] - limits[0])
        lows, highs = (np.vstack([part[end] for part in rows]) for end in ("lower", "upper"))
        is_over = is_near | (lows.max(axis=0) <= highs.min(axis=0))  # intervals would cover each other
        shift = np.where(is_over, self.DODGE, 0.0)
        for part, sign, place in zip(rows, (-1, 1), self.places, strict=True):
            draw_dots(axes, part, y + sign * shift, look, place, size=4.4, line=1.3)
        bars, at = np.vstack(ends)[:, ~is_over], np.vstack([y, y])[:, ~is_over]
        axes.plot(bars, at, color=look.muted, linewidth=2.6, alpha=GHOST, zorder=2)
        self._draw_lines(axes, panel, limits, look)

    def _draw_differences(self, axes: Axes, panel: str, y_of_row: Mapping[str, float], look: Theme) -> None:
        edges = self.differences[["estimate", "lower", "upper"]].to_numpy(float).ravel()
        edges = np.append(edges[np.isfinite(edges)], 0.0)
        low, high = float(edges.min()), float(edges.max())
        room = 0.3 * (high - low or 0.01)  # of numbers
        self._draw_lines(axes, panel, (low - room, high + room), look)
        for row in self.differences[self.differences["panel"] == panel].to_dict("records"):
            if row["row"] not in y_of_row or not np.isfinite(row["estimate"]):
                continue
            y, color = y_of_row[row["row"]], look.color(NEUTRAL_PLACE)
            axes.hlines(y, row["lower"], row["upper"], color=color, linewidth=1.2, zorder=3)
            axes.plot(
                row["estimate"], y, look.marker(NEUTRAL_PLACE), color=color, markersize=4.4, zorder=4,
                markerfacecolor=color if row["significant"] else look.background, markeredgewidth=0.9,
            )  # fmt: skip
            if row["significant"]:
                is_right = row["estimate"] > 0
                text = true_minus(f"{row['estimate']:+.{self.digits}f}")
                axes.annotate(
                    text, (row["upper" if is_right else "lower"], y),
                    (3 if is_right else -3, 0), textcoords="offset points", va="center", fontsize=7.5,
                    ha="left" if is_right else "right",
                )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ColumnPerJudge(LevelColumns):
    """A column for each judge, with people in grey in all of them."""

    people: str = ""  # series of people; empty without them

    @property
    def judges(self) -> list[str]:
        """The series that have columns."""
        return [name for name in self.series if name != self.people]

    def _shares(self) -> list[float]:
        return [1 / len(self.judges)] * len(self.judges)

    def _heads(self) -> list[str]:
        return self.judges

    def _place_of(self, column: int) -> int:
        return self.places[self.series.index(self.judges[column])]

    def _legend(self) -> list[str]:
        return [f"{self.people}, in every column"] if self.people else []

    def _handles(self, look: Theme) -> list[Any]:
        from matplotlib.lines import Line2D

        ghost = Line2D([], [], color=look.muted, marker="o", markersize=4.5, linewidth=1.2, alpha=GHOST)
        return [ghost] if self.people else []

    def _draw_cell(
        self, axes: Axes, column: int, panel: str, y_of_row: Mapping[str, float], look: Theme
    ) -> None:
        self._draw_lines(axes, panel, self._limits(self.panels, self.hold), look)
        step = 0.04 if self.people else 0.0
        if self.people:
            rows = self._rows_of(panel, self.people)
            y = rows["row"].map(y_of_row).to_numpy(float) - step
            faint: Any = {"color": look.muted, "alpha": GHOST, "zorder": 2}
            axes.hlines(y, rows["lower"], rows["upper"], linewidth=1.2, **faint)
            axes.plot(rows["estimate"], y, "o", markersize=4.2, **faint)
        rows = self._rows_of(panel, self.judges[column])
        y = rows["row"].map(y_of_row).to_numpy(float) + step
        draw_dots(axes, rows, y, look, self._place_of(column), size=4.2, line=1.3)


def judge_columns(plot: LevelPanels) -> ColumnPerJudge:
    """Estimates of more judges than one row has room for."""
    people = [name for name, place in zip(plot.series, plot.places, strict=True) if place == 0]
    return ColumnPerJudge(**_fields(plot), people="".join(people))


def two_judges(plot: LevelPanels, frame: pd.DataFrame | None, alpha: float, style: FigureStyle) -> TwoJudges:
    """Estimates of two judges, and a table of differences from people with adjusted p values, or none."""
    if frame is None:
        return TwoJudges(**_fields(plot), differences=plot.table.head(0), difference="")
    words, unit = style.words, unit_of(plot.xlabel)
    panels = [words.feature(name) for name in frame["feature"]]
    table = in_unit(table_of(frame, panels, words.levels(frame)), unit)
    significant = frame["p_adjusted"].to_numpy(float) < alpha
    people, model = plot.series
    name = f"{model} minus {'people' if people == KNOWN[HUMAN] else people}"
    return TwoJudges(
        **_fields(plot), differences=table.assign(significant=significant), difference=name, alpha=alpha
    )


def _fields(plot: LevelPanels) -> dict[str, Any]:
    return {item.name: getattr(plot, item.name) for item in fields(LevelPanels)}
