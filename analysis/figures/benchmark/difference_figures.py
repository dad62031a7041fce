"""Paired differences between judges, or between conditions, with intervals; of many judges as matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...frames.sentences import agreeing_with_part, capitalised, out_of
from ..figure_layout import Drawable, add_legend, inches, lines_high, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..gain_labels import NEUTRAL_PLACE
from ..heat_maps import Shades, add_bar, shade
from ..labels import level_of
from ..theme import LIGHT, new_figure, page_width, raised_titles
from .benchmark_labels import JUDGES, label_pairs, metric_in_words, names_of_judges, pairs_in_words
from .score_figures import rows_of_metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPEN = "No difference shown"
MOST_JUDGES = 8  # more are drawn as matrices
TICK, HEAD = 7.4, 8.6
SMALLEST_CELL, LARGEST_CELL = 0.13, 0.22
GAP = 0.1
ABOVE = 0.34  # inches above a matrix, beside its heading
BAR = 0.85  # inches below all
LEGEND = "row minus column, same items. Dot: adjusted p below {alpha:g}"


@figure("differences")
def differences(result: Drawable, style: FigureStyle, *, metric: str | None = None) -> Forest | Matrices:
    """Paired differences: a panel per task and stratum, a row per pair; of many judges matrices."""
    names = style.names
    frame, kind = rows_of_metric(result, metric)
    frame, panels = label_pairs(rows_of_first_test(frame), result.settings, names)
    p = frame["p_adjusted"] if "p_adjusted" in frame else frame["p"]
    alpha = float(result.settings.get("alpha", 0.05))
    frame = frame.assign(_differs=p < alpha)
    what = metric_in_words(kind)
    if needs_matrix(frame, result.settings):
        labels = dict(
            zip(
                [*frame["left"], *frame["right"]],
                names_of_judges(pd.concat([frame["left"], frame["right"]]), names),
                strict=True,
            )
        )
        return Matrices(frame, panels, {str(judge): label for judge, label in labels.items()}, what, alpha)
    state_names = (f"Differs, adjusted p below {alpha:g}", OPEN)
    states = frame["_differs"].map({True: state_names[0], False: OPEN})
    series = [name for name in state_names if name in set(states)]
    return forest(
        frame,
        panel=frame["_where"],
        row=pairs_in_words(frame, result.settings, names),
        series=states,
        panels=panels,
        order=series,
        places=[NEUTRAL_PLACE + len(LIGHT.palette) * state_names.index(name) for name in series],
        is_shaded=True,
        xlabel=f"{what}: the first minus the second, same items ({level_of(result.settings)} intervals)",
        what=f"Paired differences in {what.lower()}",
        baseline=0.0,
        dodged=False,
    )


def needs_matrix(frame: pd.DataFrame, settings: Mapping[str, Any]) -> bool:
    """Whether so many judges are compared that their pairs make a matrix."""
    between = str(settings.get("between", JUDGES))
    judges = set(frame["left"].astype(str)) | set(frame["right"].astype(str))
    return between == JUDGES and len(judges) > MOST_JUDGES


def pairs_with_best_judge(frame: pd.DataFrame) -> pd.DataFrame:
    """Of pairs in places (``_where``), those of the judge with the highest mean, who comes first."""
    parts = []
    for _, place_rows in frame.groupby("_where", sort=False):
        best_judge = matrix_of(place_rows, [False] * len(place_rows)).judges[0]
        back = place_rows[place_rows["right"].astype(str) == best_judge]
        back = back.assign(
            left=back["right"], right=back["left"], estimate=-back["estimate"], lower=-back["upper"],
            upper=-back["lower"],
        )  # fmt: skip
        parts.append(pd.concat([place_rows[place_rows["left"].astype(str) == best_judge], back]).sort_index())
    return pd.concat(parts)


def rows_of_first_test(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the first test of each pair and task."""
    keys = [name for name in frame.columns if name in ("left", "right", "judge", "prompt", "task", "metric")]
    if "test" not in frame:
        return frame
    first = frame.groupby(keys, sort=False, observed=True)["test"].transform("first")
    return frame[frame["test"] == first]


@dataclass(frozen=True)
class DifferenceMatrix:
    """Differences of n judges."""

    judges: tuple[str, ...]  # from the one with the highest mean difference from the others to the lowest
    values: NDArray[np.float64]  # shape (n, n): row minus column; NaN where two were not compared
    differs: NDArray[np.bool_]  # shape (n, n): whether the difference stands out


def matrix_of(frame: pd.DataFrame, differs: Sequence[bool] | NDArray[np.bool_]) -> DifferenceMatrix:
    """Arrange pairs, one per row of ``frame`` with ``left, right, estimate``, as a matrix."""
    left_judges, right_judges = frame["left"].astype(str), frame["right"].astype(str)
    names = list(dict.fromkeys([*left_judges, *right_judges]))
    values = np.full((len(names), len(names)), np.nan)
    marked = np.zeros(values.shape, dtype=bool)
    i, j = (np.array([names.index(name) for name in side], dtype=int) for side in (left_judges, right_judges))
    estimate = frame["estimate"].to_numpy(dtype=float)
    values[i, j], values[j, i] = estimate, -estimate
    marked[i, j] = marked[j, i] = np.asarray(differs, dtype=bool)
    order = np.argsort(-np.nan_to_num(values).sum(axis=1), kind="stable")
    at = np.ix_(order, order)
    return DifferenceMatrix(tuple(names[k] for k in order), values[at], marked[at])


@dataclass(frozen=True)
class Matrices:
    """A matrix of judges by judges for each place, the best judge first; dots mark what stands out."""

    # `frame` has pairs with `_where` and `_differs` at `alpha`; `labels` are those of the judges.

    frame: pd.DataFrame
    places: Sequence[str]
    labels: Mapping[str, str]
    what: str
    alpha: float = 0.05

    def describe(self) -> str:
        """Count the pairs that differ, and give the largest difference, by place."""
        texts = [f"Paired differences in {self.what.lower()}."]
        for place in self.places:
            rows = self.frame[self.frame["_where"] == place]
            rows = rows[rows["estimate"].notna()]
            start = f"{place}: " if place else ""
            if rows.empty:
                texts.append(f"{start}no difference can be computed.")
                continue
            row = rows.iloc[int(rows["estimate"].abs().to_numpy(float).argmax())]
            pair = " \N{MINUS SIGN} ".join(self.labels[str(row[side])] for side in ("left", "right"))
            limits = f" [{row['lower']:.2f}, {row['upper']:.2f}]" if pd.notna(row["lower"]) else ""
            n = int(rows["_differs"].sum())
            texts.append(
                f"{capitalised(start + out_of(n, len(rows), 'pair'))} "
                f"{agreeing_with_part(n, len(rows), 'differs', 'differ')}; "
                f"largest: {pair} {row['estimate']:+.2f}{limits}."
            )
        return " ".join(texts)

    @raised_titles()
    def draw(self, style: FigureStyle) -> Figure:
        """Draw a matrix for each place; places are known in inches, so that no layout is needed."""
        parts = {place: self.frame[self.frame["_where"] == place] for place in self.places}
        matrices = {
            place: matrix_of(place_rows, place_rows["_differs"].to_numpy(bool))
            for place, place_rows in parts.items()
        }
        most = max(len(matrix.judges) for matrix in matrices.values())
        side = max(inches(f"{text} 00", TICK) for text in self.labels.values()) + 0.12
        across = min(len(matrices), 3, max(1, int(page_width() / (side + SMALLEST_CELL * most))))
        cell = min(LARGEST_CELL, (page_width() / across - side - GAP) / most)
        width = min(page_width(), max(across * (side + cell * most + GAP), 4.4))
        title, above, _ = room_above(style.title, width, [])
        rows = [self.places[k : k + across] for k in range(0, len(self.places), across)]
        heads = {
            place: wrap(place, cell * len(matrices[place].judges), HEAD, bold=True) for place in self.places
        }
        rooms = [ABOVE + max(lines_high(heads[place], HEAD) for place in row) for row in rows]
        heights = [
            room + cell * max(len(matrices[place].judges) for place in row)
            for room, row in zip(rooms, rows, strict=True)
        ]
        height = above + sum(heights) + BAR
        reach = float(np.nanmax(np.abs(self.frame["estimate"].to_numpy(dtype=float)))) or 1.0
        fig = new_figure(width, height)
        fig.set_layout_engine("none")
        shades: Any = None
        for k, place in enumerate(self.places):
            size = cell * len(matrices[place].judges)
            left_edge = (k % across) * (side + cell * most + GAP) + side
            top = above + sum(heights[: k // across]) + rooms[k // across]
            axes = fig.add_axes((left_edge / width, 1 - (top + size) / height, size / width, size / height))
            shades = self._draw_matrix(axes, matrices[place], reach, style, cell)
            axes.set_title(heads[place], fontsize=HEAD, fontweight="bold", loc="left", pad=4)
        long = min(3.6, 0.8 * width)
        ends = ((1 - long / width) / 2, (BAR - 0.2) / height, long / width, 0.09 / height)
        what = wrap(f"{self.what}: {LEGEND.format(alpha=self.alpha)}", width - 0.3)
        bar = add_bar(fig, shades, None, what, cax=fig.add_axes(ends), orientation="horizontal")
        bar.ax.xaxis.label.set_size(8.5)
        bar.ax.tick_params(labelsize=7.5)
        add_legend(fig, [], [], 1, title, style.look)
        return fig

    def _draw_matrix(
        self, axes: Any, matrix: DifferenceMatrix, reach: float, style: FigureStyle, cell: float
    ) -> Shades:
        look, n = style.look, len(matrix.judges)
        shades = shade(axes, matrix.values, -reach, reach, look, 0.8)
        y, x = np.nonzero(matrix.differs)
        axes.plot(x, y, "o", color=look.foreground, markersize=min(3.2, 13 * cell), linestyle="none")
        labels = [f"{self.labels[judge]} {k}" for k, judge in enumerate(matrix.judges, 1)]
        axes.set_yticks(range(n), labels, fontsize=TICK)
        axes.set_xticks(range(n), [str(k) for k in range(1, n + 1)], fontsize=min(TICK, 34 * cell))
        axes.xaxis.tick_top()
        axes.tick_params(which="both", length=0, pad=2)
        return shades
