"""Specification curve: estimates in order of size, and below them the levels that each specification has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import POINTS, handles_of, in_unit, set_signed, stripe, tidy
from ..figure_layout import Drawable, add_legend, inches, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..labels import display_order, level_of
from ..theme import Theme, new_figure, page_width
from .order_figures import facet_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONCLUSIONS = {"positive": "Positive", "negative": "Negative", "none": "No effect shown"}
PLACES = {"positive": 0, "negative": 1, "none": 6}
ROW, CURVE, LONGEST = 0.19, 2.3, 1.9


@dataclass(frozen=True)
class SpecificationCurve:
    """One effect in all specifications, sorted by size."""

    table: (
        pd.DataFrame
    )  # ``estimate, lower, upper, band_lower, band_upper, conclusion, reference`` and facets
    facets: list[str]
    effect: str
    judge: str
    level: str
    mean: float

    def describe(self) -> str:
        """State the range of estimates and the counts of conclusions."""
        counts = self.table["conclusion"].value_counts()
        counts_text = ", ".join(f"{counts[name]} {name}" for name in CONCLUSIONS if name in counts)
        low, high = self.table["estimate"].min(), self.table["estimate"].max()
        return (
            f"Specification curve of {self.effect}, {self.judge}: {len(self.table)} estimates from {low:.1f} "
            f"to {high:.1f} {POINTS}, mean {self.mean:.1f}. Conclusions by {self.level} intervals: "
            f"{counts_text}."
        )

    def draw(self, style: FigureStyle) -> Figure:
        """Draw the curve above and the panel of levels below."""
        look = style.look
        rows = self._rows(style)
        title, above, columns = room_above(style.title, page_width(), list(CONCLUSIONS.values()))
        panel = ROW * len(rows) + 0.12 * len(self.facets)
        fig = new_figure(page_width(), CURVE + panel + above + 0.55)
        upper, lower = fig.subplots(2, 1, sharex=True, height_ratios=[CURVE, panel])
        self._draw_curve(upper, look)
        self._draw_levels(lower, rows, look)
        conclusion_names = [name for name in CONCLUSIONS if (self.table["conclusion"] == name).any()]
        conclusion_names = conclusion_names if len(conclusion_names) > 1 else []
        handles = handles_of([PLACES[name] for name in conclusion_names], look)
        add_legend(fig, handles, [CONCLUSIONS[name] for name in conclusion_names], columns, title, look)
        fig.supxlabel(
            wrap(
                f"Specifications by size (lines: {self.level} intervals; thin: simultaneous; ring: "
                "reference)",
                page_width() - 0.2,
            ),
            fontsize=8.5,
        )
        return fig

    def _rows(self, style: FigureStyle) -> list[tuple[str, str, str]]:
        """Facet, level and label of each row of the panel."""
        rows = []
        for name in self.facets:
            kind = {"prompt_id": "prompts"}.get(name, name)
            for place, level in enumerate(display_order(self.table[name])):
                label = style.names.of(kind, level)
                head = f"{facet_in_words(style, name)}: " if place == 0 else ""
                text = head + label
                while inches(text) > LONGEST and len(text) > 8:
                    text = text[:-2].rstrip("\N{HORIZONTAL ELLIPSIS} ") + "\N{HORIZONTAL ELLIPSIS}"
                rows.append((name, level, text))
        return rows

    def _draw_curve(self, axes: Axes, look: Theme) -> None:
        axes.axhline(0, color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
        axes.axhline(self.mean, color=look.foreground, linewidth=0.8, zorder=1)
        x = np.arange(len(self.table))
        size = 4.2 if len(x) <= 40 else 2.4
        for name, place in PLACES.items():
            at = (self.table["conclusion"] == name).to_numpy()
            rows, color = self.table[at], look.color(place)
            axes.vlines(x[at], rows["band_lower"], rows["band_upper"], color=color, linewidth=0.5, zorder=2)
            axes.vlines(x[at], rows["lower"], rows["upper"], color=color, linewidth=1.5, zorder=3)
            axes.plot(x[at], rows["estimate"], look.marker(place), color=color, markersize=size, zorder=4)
        mask = self.table["reference"].to_numpy(dtype=bool)
        axes.plot(
            x[mask], self.table["estimate"][mask], "o", markersize=size + 5, markerfacecolor="none",
            markeredgecolor=look.foreground, markeredgewidth=0.9, zorder=5,
        )  # fmt: skip
        axes.set_ylabel(wrap(f"{self.effect}, {POINTS}", CURVE))
        set_signed(axes.yaxis)
        tidy(axes, grid="y", open_sides=("top", "right", "bottom"))
        axes.tick_params(axis="x", bottom=False, labelbottom=False)

    def _draw_levels(self, axes: Axes, rows: list[tuple[str, str, str]], look: Theme) -> None:
        x = np.arange(len(self.table))
        colors = [look.color(PLACES[name]) for name in self.table["conclusion"]]
        stripe(axes, range(len(rows)), look)
        for y, (name, level, _) in enumerate(rows):
            at = (self.table[name] == level).to_numpy()
            axes.scatter(x[at], np.full(at.sum(), y), s=9, marker="s", c=[colors[k] for k in x[at]], zorder=3)
            if y and rows[y - 1][0] != name:
                axes.axhline(y - 0.5, color=look.muted, linewidth=0.6, zorder=2)
        axes.set_yticks(range(len(rows)), [label for *_, label in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xticks([])
        axes.set_xlim(-0.8, len(x) - 0.2)
        tidy(axes, grid="y", open_sides=("top", "right", "left", "bottom"))


@figure("specifications")
def specification_curve(
    result: Drawable,
    style: FigureStyle,
    *,
    judge: str | None = None,
    feature: str | None = None,
    level: str | None = None,
) -> SpecificationCurve:
    """The curve of one effect of one judge, by default the one with the largest mean."""
    summary = result.extra["summary"]
    for name, value in {"judge": judge, "feature": feature, "level": level}.items():
        if value is not None:
            summary = summary[summary[name] == value]
    if summary.empty:
        raise InputError(
            "There is no such specification curve; name a judge, feature and level of the result."
        )
    first = summary[summary["judge"] == summary["judge"].iloc[0]]
    effect = first.iloc[int(first["mean"].abs().to_numpy().argmax())]
    keys = ["judge", "feature", "level"]
    frame = result.frame
    rows = frame[np.logical_and.reduce([frame[name] == effect[name] for name in keys])]
    return SpecificationCurve(
        in_unit(rows.sort_values("estimate", kind="stable").reset_index(drop=True), 100.0),
        [str(name) for name in result.settings["facets"]],
        style.words.both(effect["feature"], effect["level"]),
        style.names.of("judge", effect["judge"]),
        level_of(result.settings),
        100.0 * float(effect["mean"]),
    )
