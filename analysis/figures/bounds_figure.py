"""What missing answers may do: estimates from the answers given, their bounds, intervals around these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..frames.sentences import agreeing_with_part, out_of
from .benchmark.benchmark_labels import label_rows, metric_in_words
from .conjoint.effect_figures import axis_label, is_reference, series_in_words
from .dot_marks import draw_dots, unit_of
from .figure_layout import Drawable
from .figure_registry import FigureStyle, figure
from .interval_dots import LevelPanels, levels, table_of
from .labels import display_order, level_of, series_labels, strata_columns, usual_identifiers
from .theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 4  # judges in one figure
MOST_ROWS = 12  # judges as rows, of scores
USUAL = ("accuracy", "balanced_accuracy")
BOUNDS = ["bound_lower", "bound_upper", "ci_lower", "ci_upper"]
APART = 0.042  # inches between the answers given and the bounds of a row, and their middle


@dataclass(frozen=True, kw_only=True)
class BoundsPlot(LevelPanels):
    """Two lines for each row: the answers given with their interval, and the bounds with theirs."""

    # The table has the columns `bound_lower, bound_upper, ci_lower, ci_upper`, too.

    SINGLE_ROW = 0.25

    @property
    def step(self) -> float:
        """Inches between neighbouring series of one row."""
        return 0.2

    def _draw_series(self, axes: Axes, rows: pd.DataFrame, y: np.ndarray, look: Theme, place: int) -> None:
        color = look.color(place)
        draw_dots(axes, rows, y - APART, look, place, size=3.6, line=1.0)
        low, high, first, last = (rows[name].to_numpy(float) for name in BOUNDS)
        is_finite = np.isfinite(low) & np.isfinite(high)
        axes.hlines(
            y[is_finite] + APART,
            low[is_finite],
            high[is_finite],
            color=color,
            linewidth=4.5,
            alpha=0.45,
            zorder=3,
        )
        axes.hlines(y + APART, first, last, color=color, linewidth=0.9, linestyle=(0, (2.5, 1.2)), zorder=3)

    def _limits(
        self, panels: Sequence[str], hold: Sequence[float] = (), least: float = 0.01
    ) -> tuple[float, float]:
        """Ends of the axis, with all bounds and covering intervals."""
        panel_rows = self.table[self.table["panel"].isin(panels)]
        return super()._limits(panels, [*hold, *panel_rows[BOUNDS].to_numpy(float).ravel()], least)


def bounds_in_words(result: Drawable, style: FigureStyle) -> pd.DataFrame:
    """The table of a result with ``panel, row, series`` in words, in display order."""
    frame, words, names = result.frame, style.words, style.names
    if "metric" in frame:
        estimates, _ = label_rows(frame, result.settings, names)
        metric = [metric_in_words(name) for name in estimates["metric"]]
        panel = [", ".join(filter(None, pair)) for pair in zip(metric, estimates["_where"], strict=True)]
        return frame.assign(panel=panel, row=estimates["_who"], series="")
    if "dimension" in frame:
        by = [name for name in strata_columns(frame, "n_answered") if name not in ("at_least", "label")]
        rows = names.joined(frame, by, "All items")
        if "label" in frame:
            labels = names.all("label", frame["label"])
            rows = [f"{label}, {row}" for label, row in zip(labels, rows, strict=True)]
        if "at_least" in frame:
            rows = [f"At least {value:g}, {row}" for value, row in zip(frame["at_least"], rows, strict=True)]
        panel = [names.of("dimension", name) or "Rating" for name in frame["dimension"].astype(str)]
        return frame.assign(panel=panel, row=rows, series=names.all("judge", frame["group"]))
    series = series_labels(frame, None, style.series_label)
    if groups := [str(name) for name in result.settings.get("by") or () if name in frame]:
        texts = series_in_words(frame, groups, words)
        series = pd.Series([", ".join(filter(None, pair)) for pair in zip(series, texts, strict=True)])
    panel = [words.feature(name) for name in frame["feature"]]
    if "reference" in frame:
        base = zip(panel, frame["feature"], frame["reference"], strict=True)
        panel = [f"{head} (reference: {words.level(name, level)})" for head, name, level in base]
    return frame.assign(panel=panel, row=words.levels(frame), series=series.to_numpy(str))


def rows_to_draw(estimates: pd.DataFrame) -> pd.DataFrame:
    """Of many judges the rows of those with the smallest shares of answers; of scores the usual ones."""
    if "metric" not in estimates:
        return estimates[
            estimates["series"].isin(_names_with_fewest_answers(estimates, "series", MOST_DRAWN))
        ]
    estimates = estimates[
        estimates["metric"].isin(usual_identifiers(estimates["metric"], None, USUAL, "metric"))
    ]
    return estimates[estimates["row"].isin(_names_with_fewest_answers(estimates, "row", MOST_ROWS))]


def _names_with_fewest_answers(estimates: pd.DataFrame, column: str, most: int) -> list[str]:
    sums = estimates.groupby(column, sort=False)[["n_answered", "n_asked"]].sum()
    share = (sums["n_answered"] / sums["n_asked"]).sort_values(kind="stable")
    return [str(name) for name in share.index[:most]]


def _rows(estimates: pd.DataFrame, frame: pd.DataFrame) -> dict[str, list[str]]:
    """Rows of each panel; levels in the order of their categories."""
    if "feature" in frame:
        rank = {
            name: {level: k for k, level in enumerate(display_order(frame[name]))}
            for name in ("feature", "level")
        }
        keys = [frame[name].astype(str).map(rank[name]) for name in ("feature", "level")]
        estimates = estimates.iloc[np.lexsort((keys[1], keys[0]))]
    rows: dict[str, list[str]] = {}
    for panel, row in zip(estimates["panel"], estimates["row"], strict=True):
        if row not in rows.setdefault(panel, []):
            rows[panel].append(row)
    return rows


@figure("bounds")
def bounds(result: Drawable, style: FigureStyle, *, judges: Sequence[str] | None = None) -> BoundsPlot:
    """Estimates from the answers given above their bounds: a panel for each attribute, dimension or score.

    Of many judges those with the smallest shares of answers are drawn, and of scores accuracy and balanced
    accuracy; ``judges`` names others.
    """
    estimates = bounds_in_words(result, style)
    column = next((name for name in ("judge", "group") if name in estimates), None)
    if judges is not None and column is not None:
        estimates = estimates[estimates[column].astype(str).isin(list(judges))]
    estimates = rows_to_draw(estimates)
    if estimates.empty:
        raise InputError("There is nothing to draw: the table of bounds has no rows of these judges.")
    frame = result.frame.loc[estimates.index]
    table = table_of(estimates, estimates["panel"], estimates["row"], estimates["series"])
    table = table.assign(
        reference=is_reference(estimates), **{name: estimates[name].astype(float) for name in BOUNDS}
    )
    label = _quantity(frame, result)
    level = level_of(result.settings)
    plot = levels(
        table,
        rows=_rows(estimates, frame),
        xlabel=f"{label}\nDots: answers given, with {level} intervals; bars: bounds over all missing "
        f"answers; dashed: {level} intervals around the bounds",
        what=f"{label}, from the answers given. {_bounds_summary(estimates)}",
        places=_places(estimates, column, style),
        baseline=_baselines(estimates, result),
        share_x="feature" in frame,
        unit=unit_of(label),
        digits=1 if unit_of(label) != 1 else 3 if "feature" in frame else 2,
    )
    return BoundsPlot(**vars(plot))


def _quantity(frame: pd.DataFrame, result: Drawable) -> str:
    if "feature" in frame:
        return axis_label(frame)
    if "metric" in frame:
        return "Score"
    return "Mean rating" if result.settings.get("statistic") == "mean" else "Share"


def _places(estimates: pd.DataFrame, column: str | None, style: FigureStyle) -> list[int]:
    """Colours of the judges, where each has one series."""
    if column != "group":
        return style.names.places(estimates, estimates["series"])
    groups = estimates.drop_duplicates("series").set_index("series")["group"].astype(str)
    return style.names.places_of(list(groups))


def _baselines(estimates: pd.DataFrame, result: Drawable) -> dict[str, float]:
    """The value that the numbers of each panel are compared with, where they have one."""
    null = result.settings.get("null")
    values = estimates["null"] if "null" in estimates else pd.Series(null, index=estimates.index, dtype=float)
    ranges = values.astype(float).groupby(estimates["panel"], sort=False).agg(["min", "max"])
    return {str(panel): float(row["min"]) for panel, row in ranges.iterrows() if row["min"] == row["max"]}


def _bounds_summary(estimates: pd.DataFrame) -> str:
    """How wide the bounds are, and how many conclusions turn, as a sentence without its full stop."""
    width = (estimates["bound_upper"] - estimates["bound_lower"]).astype(float)
    n_tested, n_turning = (
        int((estimates["conclusion"] != "none").sum()),
        int((estimates["conclusion"] == "turns").sum()),
    )
    text = (
        f"The median distance between the bounds is {width[width > 0].median():.3f}"
        if (width > 0).any()
        else "The bounds coincide"
    )
    if not n_tested:
        return text
    verb = agreeing_with_part(n_turning, n_tested, "turns", "turn")
    return f"{text}; {out_of(n_turning, n_tested, 'conclusion')} {verb}"
