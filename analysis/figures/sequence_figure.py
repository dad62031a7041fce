"""Confidence sequences: estimates over the number of units, with intervals that are valid at every look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..frames.sequences import DIFFERENCE, systems_of
from .conjoint.effect_figures import axis_label
from .dot_marks import tidy, unit_of
from .figure_layout import Drawable, add_legend, more_lines, require_estimates, room_above, wrap
from .figure_registry import FigureStyle, figure
from .labels import COEFFICIENTS, WEIGHTS, level_of, words
from .raters.agreement_figures import compared_in_words
from .theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGH, SIZE = 1.45, 8.0
ACROSS, NARROWEST = 3, 1.6  # panels side by side, and inches of each
UNIT_NOUNS = {"pair_id": "pairs", "item_id": "items", "judge_id": "respondents", "respondent": "respondents"}
NUMBERS = ("n_units", "estimate", "lower", "upper", "fixed_lower", "fixed_upper")
QUANTITIES = ("outcome", "statistic")  # columns that name no term
WORDS = {"coefficient": COEFFICIENTS, "weights": WEIGHTS}
FIRST_COUNT = ("estimate", "raters", "n_items", "n_clusters")  # columns from here on are numbers


@dataclass(frozen=True)
class Paths:
    """A panel for each term: its estimates over the number of units, with bands and intervals of one look."""

    table: pd.DataFrame  # `panel` (label) and the numbers, a row for each look
    panels: list[str]  # in display order
    unit: str  # what is counted, in words
    level: str  # level of the intervals in percent
    # what is estimated, for the vertical axis
    what: str = "Estimate"
    shares_axis: bool = True  # whether all panels have one vertical axis
    of_zero: frozenset[str] = frozenset()  # panels with a line at 0

    def describe(self) -> str:
        """Give the last look of each panel."""
        texts = [f"Estimates and always-valid {self.level} intervals over the number of {self.unit}."]
        digits = 1 if unit_of(self.what) != 1 else 3
        for panel in self.panels:
            last = self.table[self.table["panel"] == panel].iloc[-1]
            bounds = "unbounded"
            if np.isfinite(last["lower"]):
                bounds = f"[{last['lower']:.{digits}f}, {last['upper']:.{digits}f}]"
            texts.append(
                f"{panel}: {last['estimate']:.{digits}f} {bounds} after {last['n_units']:,.0f} {self.unit}."
            )
        return " ".join(texts)

    def draw(self, style: FigureStyle) -> Figure:
        """Draw small panels with one legend above."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        look, n = style.look, len(self.panels)
        across = max(min(ACROSS, n, int(page_width() / NARROWEST)), 1)
        down = -(-n // across)
        width = page_width() if across > 1 else min(page_width(), 4.6)
        heads = [wrap(name, (width - 0.9) / across - 0.2, SIZE, bold=True) for name in self.panels]
        names = ["Estimate", f"Always-valid {self.level} interval"]
        if self.table["fixed_lower"].notna().any():
            names.append(f"{self.level} interval of a single look")
        title, above, columns = room_above(style.title, width, names)
        most = max(map(more_lines, heads))
        fig = new_figure(width, (HIGH + most + 0.15) * down + above + 0.55)
        grid = fig.subplots(down, across, squeeze=False, sharex=True, sharey=self.shares_axis)
        for k, axes in enumerate(grid.ravel()):
            if k >= n:
                axes.set_visible(False)
                continue
            rows = self.table[self.table["panel"] == self.panels[k]]
            self._draw_panel(axes, rows, look)
            axes.set_ylim(*_range_of(self.table if self.shares_axis else rows))
            if self.panels[k] in self.of_zero:
                axes.axhline(0, color=look.foreground, linewidth=0.8, zorder=1)
            axes.set_title(heads[k], fontsize=SIZE, fontweight="bold", loc="left", pad=4)
            axes.xaxis.set_tick_params(labelbottom=k + across >= n)
        fig.supxlabel(f"Number of {self.unit}", fontsize=8.5)
        fig.supylabel(wrap(self.what, HIGH * down + 0.4), fontsize=8.5)
        handles: list[Any] = [
            Line2D([], [], color=look.color(0), linewidth=1.4),
            Patch(color=look.color(0), alpha=0.22, linewidth=0),
            Line2D([], [], color=look.foreground, linewidth=0.8, linestyle=(0, (3, 2))),
        ]
        add_legend(fig, handles[: len(names)], names, columns, title, look)
        return fig

    def _draw_panel(self, axes: Axes, rows: pd.DataFrame, look: Theme) -> None:
        x, estimate, lower, upper, fixed_lower, fixed_upper = (rows[name].to_numpy(float) for name in NUMBERS)
        bounded = np.isfinite(lower)
        color = look.color(0)
        axes.fill_between(
            x, np.where(bounded, lower, np.nan), np.where(bounded, upper, np.nan), color=color, alpha=0.22,
            linewidth=0, zorder=2,
        )  # fmt: skip
        for limit in (fixed_lower, fixed_upper):
            axes.plot(x, limit, color=look.foreground, linewidth=0.8, linestyle=(0, (3, 2)), zorder=3)
        axes.plot(x, estimate, color=color, linewidth=1.4, zorder=4)
        if len(x) == 1:
            axes.plot(x, estimate, look.marker(0), color=color, markersize=4, zorder=4)
        axes.locator_params(nbins=4)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.tick_params(labelsize=7.5)
        tidy(axes, "both")


def _range_of(rows: pd.DataFrame) -> tuple[float, float]:
    """Ends of a vertical axis: all limits that are known."""
    values = rows[list(NUMBERS[1:])].to_numpy(float)
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 0.05
    return low - margin, high + margin


@figure("label_sequence")
def label_sequence(result: Drawable, style: FigureStyle) -> Paths:
    """Levels and differences over the number of labels, a panel for each; differences and levels differ."""
    frame, settings = result.frame, result.settings
    if frame.empty:
        raise InputError("There is nothing to draw: no batch of labels is complete.")
    require_estimates(frame)
    names = {quantity: quantity_label(str(quantity), settings) for quantity in frame["quantity"].unique()}
    table = frame[["estimate", "lower", "upper"]].astype(float).assign(panel=frame["quantity"].map(names))
    table = table.assign(n_units=frame["n_labels"].astype(float), fixed_lower=np.nan, fixed_upper=np.nan)
    what, panels = str(settings["measure"]), list(names.values())
    differences = [label for name, label in names.items() if str(name).startswith(DIFFERENCE)]
    return Paths(
        table, panels, "labels", level_of(settings), what[:1].upper() + what[1:], shares_axis=False,
        of_zero=frozenset(differences),
    )  # fmt: skip


def quantity_label(name: str, settings: Mapping[str, Any]) -> str:
    """A quantity of a sequence of labels, as figures and tables name it."""
    return systems_of(name, settings["systems"]) or "All rows"


@figure("confidence_sequence")
def confidence_sequence(result: Drawable, style: FigureStyle) -> Paths:
    """Estimates over the number of units, a panel for each term that has a standard error."""
    frame = result.frame[result.frame["std_error"].notna()]
    if frame.empty:
        raise InputError("There is nothing to draw: no estimate has a standard error.")
    panel = _terms(frame, style) or [words(result.settings.get("verb", "estimate"))] * len(frame)
    table = frame[list(NUMBERS)].astype(float).assign(panel=panel)
    unit = str(result.settings.get("unit", "units"))
    named = UNIT_NOUNS.get(unit, f"clusters ({style.names.column(unit)})" if unit != "units" else unit)
    what = _what(frame, result)
    table[list(NUMBERS[1:])] *= unit_of(what)
    return Paths(table, list(dict.fromkeys(panel)), named, level_of(result.settings), what)


def _what(frame: pd.DataFrame, result: Drawable) -> str:
    """What is estimated: an effect, or a coefficient of agreement where all rows have the same one."""
    if "feature" in frame:
        return axis_label(frame)
    same = [name for name in WORDS if name in frame and frame[name].nunique() == 1]
    texts = [WORDS[name].get(str(frame[name].iloc[0]), "") for name in same]
    verb = str(result.settings.get("verb", ""))
    return ", ".join(filter(None, texts)) or ("Mean rating" if verb == "means" else "Estimate")


def _terms(frame: pd.DataFrame, style: FigureStyle) -> list[str]:
    """Label of the term of each row, from the columns in which terms differ."""
    keys = list(
        frame.columns[: min(list(frame.columns).index(name) for name in FIRST_COUNT if name in frame)]
    )
    texts = {name: frame[name].astype("string").fillna("") for name in keys if name not in QUANTITIES}
    if {"among", "against"} <= set(texts):
        del texts["against"]
        texts["among"] = pd.Series(compared_in_words(frame, style.names), frame.index)
    differing = [name for name, column in texts.items() if column.nunique() > 1]
    if "feature" in texts:
        differing = [name for name in differing if name not in ("feature", "level")]
    parts = [[_label(name, text, style) for text in texts[name]] for name in differing]
    if "feature" in texts:
        pairs = zip(frame["feature"], frame["level"], strict=True)
        parts.insert(0, [style.words.both(feature, level) for feature, level in pairs])
    return [", ".join(filter(None, row)) for row in zip(*parts, strict=True)]


def _label(column: str, text: str, style: FigureStyle) -> str:
    if column in WORDS:
        return WORDS[column].get(text, text)
    return text if column == "among" or not text else style.names.of(column, text)
