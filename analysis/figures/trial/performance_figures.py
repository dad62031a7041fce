"""Performance of methods by cell: dots with Monte Carlo intervals, and nested loop plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import InputError

from ...numerics.intervals import wilson
from ..figure_layout import Drawable, add_legend, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import words
from ..theme import new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "bias": "Bias",
    "empirical_se": "Standard deviation of the errors",
    "rmse": "Root mean squared error",
    "model_se": "Model standard error",
    "model_se_error": "Relative error of the model standard error",
    "coverage": "Coverage",
    "bias_eliminated_coverage": "Bias-eliminated coverage",
    "width": "Mean width of intervals",
    "power": "Share of draws that reject 0",
    "type_s": "Type S error",
    "type_m": "Type M error (exaggeration)",
    "failures": "Share of failures",
}
IDEAL = {"bias": 0.0, "model_se_error": 0.0, "type_m": 1.0}
MONTE_CARLO = 0.05  # one minus the level of Monte Carlo intervals
SHARES = ("coverage", "bias_eliminated_coverage", "power")  # of all draws with an estimate


@dataclass(frozen=True)
class MeasureRows:
    """The rows of one measure with ``panel, row, series`` in words, and where its ideal value is."""

    table: pd.DataFrame
    ideal: float | None
    label: str


def parameters_of(result: Drawable) -> list[str]:
    """Expanded parameters of a trial that its table has."""
    return [name for name in result.settings.get("parameters") or [] if name in result.frame]


def parameter_label(result: Drawable, name: str) -> str:
    """A parameter of a process in words."""
    return str(((result.settings.get("labels") or {}).get("parameter") or {}).get(name, words(name)))


def cell_labels(frame: pd.DataFrame, result: Drawable) -> list[str]:
    """Cells in words: the process, where there are several, and the values of its parameters."""
    processes = (result.settings.get("labels") or {}).get("process") or {}
    several = frame["process"].nunique() > 1
    texts = []
    for row in frame.to_dict("records"):
        parts = [str(processes.get(row["process"], words(row["process"])))] if several else []
        for name in parameters_of(result):
            value = row[name]
            if value is not None and value == value:
                number = f"{value:g}" if isinstance(value, int | float) else str(value)
                parts.append(f"{parameter_label(result, name)} {number}")
        texts.append(", ".join(parts) or "All draws")
    return texts


def panel_labels(frame: pd.DataFrame, result: Drawable) -> list[str]:
    """Quantity and estimand in words, as far as there are several."""
    labels = result.settings.get("labels") or {}
    columns = [name for name in ("quantity", "estimand") if frame[name].nunique() > 1] or ["quantity"]
    parts = [
        [str((labels.get(name) or {}).get(value, words(value))) for value in frame[name].astype(str)]
        for name in columns
    ]
    return [": ".join(pair) for pair in zip(*parts, strict=True)]


def select_measure(result: Drawable, measure: str) -> MeasureRows:
    """The rows of a measure in words; a reason where there are none."""
    rows = result.frame[result.frame["measure"] == measure].reset_index(drop=True)
    if rows["estimate"].notna().sum() == 0:
        raise InputError(f"There is nothing to draw: the trial has no values of {measure}.")
    level = 1 - float(result.settings.get("alpha") or 0.05)
    ideal = level if "coverage" in measure else IDEAL.get(measure)
    estimate = rows["estimate"].to_numpy(float)
    if measure in SHARES:
        low, high = wilson(estimate, (rows["draws"] - rows["failures"]).to_numpy(float), MONTE_CARLO)
    else:
        half = ndtri(1 - MONTE_CARLO / 2) * rows["mc_error"].fillna(0).to_numpy(float)
        low, high = estimate - half, estimate + half
    table = rows.assign(
        panel=panel_labels(rows, result),
        row=cell_labels(rows, result),
        series=rows["method"].astype(str),
        lower=low,
        upper=high,
    )
    return MeasureRows(table, ideal, MEASURES.get(measure, words(measure)))


def _forest(result: Drawable, measure: str) -> Forest:
    measurement = select_measure(result, measure)
    return forest(
        measurement.table,
        panel=measurement.table["panel"],
        row=measurement.table["row"],
        series=measurement.table["series"],
        xlabel=f"{measurement.label}, with 95% Monte Carlo intervals",
        what=f"{measurement.label} of each method by cell of the trial, with 95% Monte Carlo intervals",
        baseline=measurement.ideal,
        across=3,
    )


@figure("trial")
def coverage(result: Drawable, style: FigureStyle, *, measure: str = "coverage") -> Forest:
    """A measure by cell and method with Monte Carlo intervals: coverage, or bias without intervals."""
    frame = result.frame
    has_estimates = frame.loc[frame["measure"] == measure, "estimate"].notna().any()
    return _forest(result, measure if has_estimates else "bias")


@figure("trial", part="bias", when=lambda result: "bias" in set(result.frame["measure"]))
def bias(result: Drawable, style: FigureStyle) -> Forest:
    """Bias by cell and method."""
    return _forest(result, "bias")


@figure("trial", part="power", when=lambda result: "power" in set(result.frame["measure"]))
def power(result: Drawable, style: FigureStyle) -> Forest:
    """Shares of draws that reject 0, by cell and method."""
    return _forest(result, "power")


@dataclass(frozen=True)
class NestedLoop:
    """Lines of methods over cells in the order of nested parameters, which steps below show."""

    said: MeasureRows
    parameters: pd.DataFrame  # one row per cell: values of each parameter

    def describe(self) -> str:
        """Give the range of each method."""
        ranges = self.said.table.groupby("series", sort=False)["estimate"].agg(["min", "max"])
        texts = [f"{name} {row['min']:.3f} to {row['max']:.3f}" for name, row in ranges.iterrows()]
        return f"{self.said.label} over {len(self.parameters)} cells of the trial: {'; '.join(texts)}."

    def draw(self, style: FigureStyle) -> Figure:
        """Draw a panel for each quantity, and the parameters below."""
        from matplotlib.lines import Line2D

        look, table = style.look, self.said.table
        panels, series = (list(dict.fromkeys(table[name])) for name in ("panel", "series"))
        title, above, columns = room_above(style.title, page_width(), series)
        count = len(self.parameters.columns)
        heights = [1.6] * len(panels) + [0.22 * count + 0.15]
        fig = new_figure(page_width(), sum(heights) + above + 0.5)
        grid = fig.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        for axes in grid[1:-1]:
            axes.sharey(grid[0])
        cells = list(dict.fromkeys(table["row"]))
        edges = np.arange(len(cells) + 1)
        for axes, panel in zip(grid, panels, strict=False):
            panel_rows = table[table["panel"] == panel]
            if self.said.ideal is not None:
                axes.axhline(self.said.ideal, color=look.muted, linewidth=0.9, linestyle=(0, (3, 2)))
            for place, name in enumerate(series):
                estimates = (
                    panel_rows[panel_rows["series"] == name].set_index("row")["estimate"].reindex(cells)
                )
                axes.stairs(estimates, edges, baseline=None, color=look.color(place), linewidth=1.4)
                axes.plot(
                    edges[:-1] + 0.5, estimates, look.marker(place), color=look.color(place), markersize=3
                )
            axes.set_ylabel(wrap(self.said.label, 1.5), fontsize=8)
            axes.set_title(panel, fontsize=8.5, fontweight="bold", loc="left", pad=4)
            axes.grid(axis="y")
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        steps = grid[-1]
        for place, name in enumerate(self.parameters):
            values = self.parameters[name].astype(str)
            codes = pd.factorize(values)[0]
            top = max(1, codes.max())
            heights = count - place - 0.85 + 0.6 * codes / top
            steps.stairs(heights, edges, baseline=None, color=look.foreground, linewidth=1)
            text = f"{name}: {', '.join(dict.fromkeys(values))}"
            steps.annotate(
                wrap(text, 1.7, 7),
                (len(cells), count - place - 0.55),
                (4, 0),
                textcoords="offset points",
                fontsize=7,
                va="center",
                annotation_clip=False,
            )
        steps.set_ylim(0, count)
        steps.set_yticks([])
        steps.set_xticks([])
        for side in ("top", "right", "left", "bottom"):
            steps.spines[side].set_visible(False)
        handles = [
            Line2D([], [], color=look.color(k), marker=look.marker(k), markersize=3)
            for k in range(len(series))
        ]
        add_legend(fig, handles, series, columns, title, look)
        return fig


@figure(
    "trial",
    part="nested_loop",
    when=lambda result: len(result.settings.get("parameters") or []) > 1,
)
def nested_loop(result: Drawable, style: FigureStyle, *, measure: str = "coverage") -> NestedLoop:
    """A measure over all cells in the order of nested parameters (Rücker and Schwarzer 2014)."""
    measurement = select_measure(result, measure)
    table = measurement.table.drop_duplicates("row")
    names = parameters_of(result)
    labels = {name: words(name) for name in ["process"] if table["process"].nunique() > 1}
    labels |= {name: parameter_label(result, name) for name in names}
    return NestedLoop(measurement, table[list(labels)].rename(columns=labels).reset_index(drop=True))
