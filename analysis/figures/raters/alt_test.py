"""Winning rates and advantage probabilities of models, with intervals; annotators one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..fitting import LONGEST_LABEL, lines_high, wrap
from ..labels import LabelKey, words
from ..theme import TWO_COLUMNS, Theme, new_figure, styled, theme_named
from .naming import Names, add_legend, room_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from ..drawable import Drawable

SCORINGS = {
    "accuracy": "Exact agreement",
    "neg_rmse": "Root mean squared error",
    "neg_mae": "Mean absolute error",
}
ROW, STEP = 0.16, 0.13  # inches of a row without and for each point
QUANTITIES = {"winning_rate": "Winning rate", "advantage_probability": "Advantage probability"}


def draw(
    result: Drawable,
    *,
    show: Literal["models", "annotators"] = "models",
    model: str | None = None,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the alternative annotator test."""
    if show == "annotators":
        from .alt_annotators import draw_annotators

        return draw_annotators(result, model, theme=theme, labels=labels, title=title)
    if show != "models":
        raise InputError(f"show is {show!r}; use models or annotators.")
    look, named, frame = theme_named(theme), Names(labels), result.frame
    if model is not None:
        frame = of_model(frame, model)
    dimensions, scorings = list(dict.fromkeys(frame["dimension"])), list(dict.fromkeys(frame["scoring"]))
    models = list(frame.groupby("model", sort=False)["advantage_probability"].mean()
                  .sort_values(ascending=False, kind="stable").index)  # fmt: skip
    texts = [wrap(named.of("judges", name), LONGEST_LABEL) for name in models]
    high = max(ROW + STEP * len(scorings), 0.06 + max(map(lines_high, texts)))
    handles = _handles(scorings, named, look)
    keys = [str(handle.get_label()) for handle in handles]
    title, above, columns = room_above(title, TWO_COLUMNS, keys)
    furniture = 0.24 if len(dimensions) > 1 else 0.04
    body = len(dimensions) * (high * len(models) + furniture)
    with styled(look):
        figure = new_figure(TWO_COLUMNS, body + 0.5 + above)
        grid = figure.subplots(len(dimensions), 2, sharex="col", sharey="row", squeeze=False)
        for pair, dimension in zip(grid, dimensions, strict=True):
            here = frame[frame["dimension"] == dimension]
            for axes, quantity in zip(pair, QUANTITIES, strict=True):
                _draw_quantity(axes, here, quantity, models, scorings, look, high)
            pair[0].set_yticks(range(len(models)), texts)
            pair[0].set_ylim(len(models) - 0.5, -0.5)
            if len(dimensions) > 1:
                pair[0].set_title(named.of("dimension", dimension), loc="left",
                                  fontweight="bold", color=look.foreground)  # fmt: skip
        _dress(grid[-1], frame)
        add_legend(figure, handles, keys, columns, title, look)
    return figure


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe the test in words: which models pass, with their rates."""
    told, named = [], Names(labels)
    several = result.frame["dimension"].nunique() > 1
    scorings = result.frame["scoring"].nunique() > 1
    for row in result.frame.to_dict("records"):
        where = [named.of("dimension", row["dimension"])] * several
        where += [scoring_name(row["scoring"], named).lower()] * scorings
        model = named.of("judges", row["model"])
        name = f"{model} ({', '.join(where)})" if where else model
        if not np.isfinite(row["winning_rate"]):
            told.append(f"{name}: no test.")
            continue
        told.append(
            f"{name} {'passes' if row['passes'] else 'does not pass'}: winning rate "
            f"{row['winning_rate']:.2f}{_bounds(row, 'winning_rate')} of {row['n_annotators']} annotators, "
            f"advantage probability {row['advantage_probability']:.2f}"
            f"{_bounds(row, 'advantage_probability')}."
        )
    epsilon = f"{result.frame['epsilon'].iloc[0]:g}" if len(result.frame) else ""
    return " ".join([f"Alternative annotator test with epsilon {epsilon}.", *told])


def _bounds(row: Mapping[Any, Any], quantity: str) -> str:
    lower, upper = row[f"{quantity}_lower"], row[f"{quantity}_upper"]
    return f" [{lower:.2f}, {upper:.2f}]" if np.isfinite(lower) else ""


def of_model(table: pd.DataFrame, model: str) -> pd.DataFrame:
    """Rows of a model; InputError where there are none."""
    if model not in set(table["model"]):
        raise InputError(
            f"There is no model '{model}' in the result; there are {', '.join(table['model'].unique())}."
        )
    return table[table["model"] == model]


def scoring_name(name: str, named: Names) -> str:
    """Label of a scoring in words."""
    told = named.of("scoring", name)
    return SCORINGS[name] if name in SCORINGS and told == words(name) else told


def panel_name(dimension: str, scoring: str, named: Names, *, several: bool) -> str:
    """Name of a panel: its dimension, with the scoring where there are several."""
    measure = scoring_name(scoring, named)
    if not dimension:
        return measure
    return (
        f"{named.of('dimension', dimension)}, {measure.lower()}"
        if several
        else named.of("dimension", dimension)
    )


def _draw_quantity(
    axes: Axes,
    frame: pd.DataFrame,
    quantity: str,
    models: Sequence[str],
    scorings: Sequence[str],
    look: Theme,
    high: float,
) -> None:
    for at in range(0, len(models), 2):
        axes.axhspan(at - 0.5, at + 0.5, color=look.band, linewidth=0, zorder=0)
    for number, scoring in enumerate(scorings):
        one = frame[frame["scoring"] == scoring].set_index("model").reindex(list(models))
        y = np.arange(len(models)) + (number - (len(scorings) - 1) / 2) * STEP / high
        estimate, lower, upper = (
            one[name].to_numpy(dtype=float) for name in (quantity, f"{quantity}_lower", f"{quantity}_upper")
        )
        passes = one["passes"].fillna(False).to_numpy(dtype=bool)
        color = look.color(number)
        bounded = np.isfinite(lower)
        axes.hlines(y[bounded], lower[bounded], upper[bounded], color=color, linewidth=1.3, zorder=3)
        for filled in (True, False):
            axes.plot(estimate[passes == filled], y[passes == filled], look.marker(number), color=color,
                      markersize=4.8, zorder=4, linestyle="none",
                      markerfacecolor=color if filled else look.background)  # fmt: skip
        for place in y[~np.isfinite(estimate)]:
            axes.annotate("no test", (0.02, place), xycoords=("axes fraction", "data"), va="center",
                          fontsize=7.5, style="italic", color=look.muted)  # fmt: skip
    axes.axvline(0.5, color=look.muted, linewidth=0.9, zorder=1)
    axes.grid(axis="x", zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _dress(pair: Sequence[Axes], frame: pd.DataFrame) -> None:
    left, right = pair
    left.set_xlim(-0.03, 1.03)
    left.set_xlabel("Winning rate (passes from 0.5)")
    edges = frame[["advantage_probability", "advantage_probability_lower"]].to_numpy(dtype=float)
    low = float(np.nanmin(edges)) if np.isfinite(edges).any() else 0.5
    right.set_xlim(max(-0.02, min(0.5, np.floor(20 * low) / 20) - 0.01), 1.02)
    right.set_xlabel("Advantage probability")


def _handles(scorings: Sequence[str], named: Names, look: Theme) -> list[Line2D]:
    from matplotlib.lines import Line2D

    def mark(number: int, label: str, *, filled: bool, grey: bool = False) -> Line2D:
        color = look.muted if grey else look.color(number)
        return Line2D([], [], color=color, marker=look.marker(number), markersize=4.8, linestyle="none",
                      markerfacecolor=color if filled else look.background, label=label)  # fmt: skip

    several = len(scorings) > 1
    handles = [
        mark(0, "Passes", filled=True, grey=several),
        mark(0, "Does not pass", filled=False, grey=several),
    ]
    if several:
        handles += [mark(k, scoring_name(name, named), filled=True) for k, name in enumerate(scorings)]
    return handles
