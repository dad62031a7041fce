"""The alternative annotator test: rates of models, annotators one by one, curves over epsilon, and power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, unknown_name

from ...frames.rounding import rounded, rounded_up
from ...frames.vocabulary import PASSING
from ..dot_marks import stripe, tidy
from ..figure_layout import (
    LONGEST_LABEL,
    Drawable,
    add_legend,
    inches,
    lines_high,
    more_lines,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import ColumnNames, words
from ..theme import PAGE_HEIGHT, Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SCORINGS = {
    "accuracy": "Exact agreement",
    "neg_rmse": "Root mean squared error",
    "neg_mae": "Mean absolute error",
}
ROW, STEP = 0.16, 0.13  # inches of a row without and for each point
QUANTITIES = {"winning_rate": "Winning rate", "advantage_probability": "Advantage probability"}
DASHES: tuple[Any, ...] = ("solid", (0, (4, 2)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (2, 3)))
WIDTHS = (2.6, 2.1, 1.7, 1.4, 1.2)  # later lines are thinner and broken, so that equal rates show each other
ANSWERS = {
    "winning_rate": "Test: winning rate",
    "advantage_probability": "Test: advantage probability",
    "closer_than_human": "Model: P(closer on an item)",
    "better_than_human": "Model: P(follows more closely)",
    "accuracy_difference": "Model: accuracy less a person's",
}
NO_DIFFERENCE = {
    "winning_rate": 0.5,
    "closer_than_human": 0.5,
    "better_than_human": 0.5,
    "accuracy_difference": 0.0,
}


def _test_alt(result: Drawable, style: FigureStyle) -> str:
    """Name the models that pass, with their rates."""
    names, frame = style.names, result.frame
    several, scorings = frame["dimension"].nunique() > 1, frame["scoring"].nunique() > 1
    epsilon = f"{frame['epsilon'].iloc[0]:g}" if len(frame) else ""
    texts = [f"Alternative annotator test with epsilon {epsilon}."]
    for row in frame.to_dict("records"):
        where = [names.of("dimension", row["dimension"])] * several
        where += [scoring_name(row["scoring"], names).lower()] * scorings
        model = names.of("judges", row["model"])
        name = f"{model} ({', '.join(where)})" if where else model
        if not np.isfinite(row["winning_rate"]):
            texts.append(f"{name}: no test.")
            continue
        rate = f"{rounded(row['winning_rate'], 2, PASSING)}{_bounds(row, 'winning_rate')}"
        advantage = f"{row['advantage_probability']:.2f}{_bounds(row, 'advantage_probability')}"
        texts.append(
            f"{name} {'passes' if row['passes'] else 'does not pass'}: winning rate {rate} of "
            f"{row['n_annotators']} annotators, advantage probability {advantage}."
        )
    return " ".join(texts)


def _bounds(row: Mapping[Any, Any], quantity: str) -> str:
    lower, upper = row[f"{quantity}_lower"], row[f"{quantity}_upper"]
    return f" [{lower:.2f}, {upper:.2f}]" if np.isfinite(lower) else ""


@figure("alt_test", alt=_test_alt)
def alt_test(
    result: Drawable,
    style: FigureStyle,
    *,
    show: Literal["models", "annotators"] = "models",
    model: str | None = None,
) -> Figure:
    """Winning rates and advantage probabilities of models, or one model against each annotator."""
    if show == "annotators":
        return _annotators(result, style, model)
    if show != "models":
        raise InputError(f"show is {show!r}; use models or annotators.")
    look, names = style.look, style.names
    frame = result.frame if model is None else _rows_of_model(result.frame, model)
    dimensions, scorings = list(dict.fromkeys(frame["dimension"])), list(dict.fromkeys(frame["scoring"]))
    means = frame.groupby("model", sort=False)["advantage_probability"].mean()
    models = list(means.sort_values(ascending=False, kind="stable").index)
    texts = [wrap(names.of("judges", name), LONGEST_LABEL) for name in models]
    high = max(ROW + STEP * len(scorings), 0.06 + max(map(lines_high, texts)))
    handles = _test_handles(scorings, names, look)
    keys = [str(handle.get_label()) for handle in handles]
    title, above, columns = room_above(style.title, page_width(), keys)
    furniture = 0.24 if len(dimensions) > 1 else 0.04
    room = (page_width() - max(map(inches, texts))) / 2 - 0.2
    epsilon = f" with epsilon {result.settings['epsilon']:g}" if "epsilon" in result.settings else ""
    below = [
        wrap(name, room) for name in (f"Winning rate (passes from 0.5{epsilon})", "Advantage probability")
    ]
    above += max(map(more_lines, below))
    fig = new_figure(page_width(), len(dimensions) * (high * len(models) + furniture) + 0.5 + above)
    grid = fig.subplots(len(dimensions), 2, sharex="col", sharey="row", squeeze=False)
    for pair, dimension in zip(grid, dimensions, strict=True):
        dimension_rows = frame[frame["dimension"] == dimension]
        for axes, quantity in zip(pair, QUANTITIES, strict=True):
            _draw_quantity(axes, dimension_rows, quantity, models, scorings, look, high)
        pair[0].set_yticks(range(len(models)), texts)
        pair[0].set_ylim(len(models) - 0.5, -0.5)
        if len(dimensions) > 1:
            pair[0].set_title(
                wrap(names.of("dimension", dimension), page_width() / 2, bold=True),
                loc="left",
                fontweight="bold",
            )
    left_axes, right_axes = grid[-1]
    left_axes.set_xlim(-0.03, 1.03)
    left_axes.set_xlabel(below[0])
    edges = frame[["advantage_probability", "advantage_probability_lower"]].to_numpy(dtype=float)
    low = float(np.nanmin(edges)) if np.isfinite(edges).any() else 0.5
    right_axes.set_xlim(max(-0.02, min(0.5, np.floor(20 * low) / 20) - 0.01), 1.02)
    right_axes.set_xlabel(below[1])
    add_legend(fig, handles, keys, columns, title, look)
    return fig


def _rows_of_model(table: pd.DataFrame, model: str) -> pd.DataFrame:
    """Rows of a model; InputError where there are none."""
    if model not in set(table["model"]):
        raise unknown_name("model", model, table["model"].unique())
    return table[table["model"] == model]


def scoring_name(name: str, names: ColumnNames) -> str:
    """Label of a scoring."""
    label = names.of("scoring", name)
    return SCORINGS[name] if name in SCORINGS and label == words(name) else label


def _panel_name(dimension: str, scoring: str, names: ColumnNames, *, several: bool) -> str:
    """Name of a panel: its dimension, with the scoring where there are several."""
    measure = scoring_name(scoring, names)
    if not dimension:
        return measure
    label = names.of("dimension", dimension)
    return f"{label}, {measure.lower()}" if several else label


def _draw_quantity(
    axes: Axes,
    frame: pd.DataFrame,
    quantity: str,
    models: Sequence[str],
    scorings: Sequence[str],
    look: Theme,
    high: float,
) -> None:
    stripe(axes, models, look)
    for number, scoring in enumerate(scorings):
        scoring_rows = frame[frame["scoring"] == scoring].set_index("model").reindex(list(models))
        y = np.arange(len(models)) + (number - (len(scorings) - 1) / 2) * STEP / high
        columns = (quantity, f"{quantity}_lower", f"{quantity}_upper")
        estimate, lower, upper = (scoring_rows[name].to_numpy(dtype=float) for name in columns)
        passes = scoring_rows["passes"].fillna(False).to_numpy(dtype=bool)
        color, bounded = look.color(number), np.isfinite(lower)
        axes.hlines(y[bounded], lower[bounded], upper[bounded], color=color, linewidth=1.3, zorder=3)
        for filled in (True, False):
            axes.plot(estimate[passes == filled], y[passes == filled], look.marker(number), color=color,
                      markersize=4.8, zorder=4, linestyle="none",
                      markerfacecolor=color if filled else look.background)  # fmt: skip
        for place in y[~np.isfinite(estimate)]:
            axes.annotate("no test", (0.02, place), xycoords=("axes fraction", "data"), va="center",
                          fontsize=7.5, style="italic", color=look.muted)  # fmt: skip
    axes.axvline(0.5, color=look.muted, linewidth=0.9, zorder=1)
    tidy(axes)


def _test_handles(scorings: Sequence[str], names: ColumnNames, look: Theme) -> list[Line2D]:
    from matplotlib.lines import Line2D

    def mark(number: int, label: str, color: str, *, filled: bool) -> Line2D:
        return Line2D([], [], color=color, marker=look.marker(number), markersize=4.8, linestyle="none",
                      markerfacecolor=color if filled else look.background, label=label)  # fmt: skip

    several = len(scorings) > 1
    grey = look.muted if several else look.color(0)
    handles = [mark(0, "Passes", grey, filled=True), mark(0, "Does not pass", grey, filled=False)]
    if several:
        handles += [
            mark(k, scoring_name(name, names), look.color(k), filled=True) for k, name in enumerate(scorings)
        ]
    return handles


def _annotators(result: Drawable, style: FigureStyle, model: str | None) -> Figure:
    """The advantage of each annotator over a model, with t intervals; a panel for each dimension."""
    look, names = style.look, style.names
    table = result.extra["annotators"]
    models = list(dict.fromkeys(table["model"]))
    if model is None and len(models) > 1:
        raise InputError(f"The result contains {len(models)} models; name one: model='{models[0]}'.")
    model_id = model or str(models[0])
    table = _rows_of_model(table, model_id)
    parts = [part for _, part in table.groupby(["dimension", "scoring"], sort=False)]
    several = table["scoring"].nunique() > 1
    handles = _annotator_handles(float(table["epsilon"].iloc[0]), look)
    keys = [str(handle.get_label()) for handle in handles]
    title, above, columns = room_above(style.title, page_width(), keys)
    texts = {name: wrap(names.of("judges", name), 1.4) for name in table["annotator"].unique()}
    high = max(0.21, 0.05 + max(map(lines_high, texts.values())))
    size = high * max(map(len, parts)) + (0.3 if len(parts) > 1 else 0.05)
    n_columns = 2 if size * len(parts) > PAGE_HEIGHT else 1
    n_rows = -(-len(parts) // n_columns)
    below = f"Person's advantage over {names.of('judges', model_id)}, difference of probabilities"
    fig = new_figure(page_width(), size * n_rows + 0.5 + above)
    grid = fig.subplots(n_rows, n_columns, sharex=True, squeeze=False).ravel()
    for axes, part in zip(grid, parts, strict=False):
        _draw_annotators(axes, part, texts, look)
        if len(parts) > 1:
            first = part.iloc[0]
            head = _panel_name(first["dimension"], first["scoring"], names, several=several)
            axes.set_title(
                wrap(head, page_width() / n_columns - 1.6, bold=True), loc="left", fontweight="bold"
            )
    for axes in grid[len(parts) :]:
        axes.remove()
    fig.supxlabel(wrap(below, page_width() - 0.3), fontsize=8.5)
    add_legend(fig, handles, keys, columns, title, look)
    return fig


def _draw_annotators(axes: Axes, part: pd.DataFrame, texts: Mapping[str, str], look: Theme) -> None:
    part = part.assign(_out=part["left_out"].notna()).sort_values(["_out", "difference"], kind="stable")
    y = np.arange(len(part))
    stripe(axes, y, look)  # type: ignore[arg-type]
    wins, out = part["wins"].fillna(False).to_numpy(dtype=bool), part["_out"].to_numpy(dtype=bool)
    middle, lower, upper = (part[name].to_numpy(dtype=float) for name in ("difference", "lower", "upper"))
    for mask, color, filled in ((wins & ~out, look.color(0), True), (~wins & ~out, look.color(1), False)):
        axes.hlines(y[mask], lower[mask], upper[mask], color=color, linewidth=1.3, zorder=3)
        axes.plot(
            middle[mask],
            y[mask],
            "o" if filled else "s",
            color=color,
            markersize=4.6,
            zorder=4,
            linestyle="none",
            markerfacecolor=color if filled else look.background,
        )
    for at in y:
        text, x = (
            (f"excluded: {part['left_out'].iloc[at]}", 0.01)
            if out[at]
            else (f"{part['n_items'].iloc[at]:,} items", 1.01)
        )
        axes.annotate(
            text,
            (x, at),
            va="center",
            fontsize=7.5,
            xycoords=("axes fraction", "data"),
            style="italic" if out[at] else "normal",
            color=look.muted,
            annotation_clip=False,
        )
    axes.axvline(0.0, color=look.grid, linewidth=0.9, zorder=1)
    axes.axvline(float(part["epsilon"].iloc[0]), color=look.muted, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(y, [texts[name] for name in part["annotator"]])
    axes.set_ylim(len(part) - 0.5, -0.5)
    tidy(axes)


def _annotator_handles(epsilon: float, look: Theme) -> list[Line2D]:
    from matplotlib.lines import Line2D

    kinds = (("o", 0, look.color(0), "Model wins"), ("s", 1, look.background, "Model does not win"))
    handles = [
        Line2D([], [], color=look.color(k), marker=marker, markersize=4.6, linewidth=1.3, label=label,
               markerfacecolor=face)
        for marker, k, face, label in kinds
    ]  # fmt: skip
    dashes = Line2D([], [], color=look.muted, linewidth=0.9, linestyle="--", label=f"Epsilon {epsilon:g}")
    return [*handles, dashes]


def _epsilon_rates(result: Drawable) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Winning rates over epsilon, and the smallest epsilon with which each model passes."""
    if result.kind == "epsilon_curve":
        return result.frame, result.extra["smallest"]
    if "epsilon" not in result.extra:
        raise InputError("This test has no curve over epsilon; draw epsilon_curve(result) instead.")
    return result.extra["epsilon"], result.frame


def _epsilon_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the epsilon from which each model passes."""
    names, table = style.names, _epsilon_rates(result)[1]
    several = table["dimension"].nunique() > 1 or table["scoring"].nunique() > 1
    texts = ["Winning rates over epsilon."]
    for row in table.to_dict("records"):
        dimension = names.of("dimension", row["dimension"]) if row["dimension"] else ""
        where = ", ".join(filter(None, [dimension, scoring_name(row["scoring"], names).lower()]))
        value = row["smallest_epsilon"]
        begins = (
            "never passes" if not np.isfinite(value)
            else "passes with any epsilon above 0" if value <= 0
            else f"passes from epsilon {rounded_up(value, 3)}"
        )  # fmt: skip
        texts.append(f"{names.of('judges', row['model'])}{f' ({where})' if several else ''} {begins}.")
    return " ".join(texts)


@figure("epsilon_curve", alt=_epsilon_alt)
@figure("alt_test", part="epsilon", alt=_epsilon_alt, when=lambda result: "epsilon" in result.extra)
def epsilon_curve(result: Drawable, style: FigureStyle) -> Figure:
    """Winning rates over epsilon, a line for each model; points mark the smallest epsilon that passes."""
    from matplotlib.lines import Line2D

    look, names = style.look, style.names
    frame, smallest = _epsilon_rates(result)
    models = list(dict.fromkeys(frame["model"]))
    legend = names.all("judges", models)
    places = dict(zip(models, names.places_of(models), strict=True))
    title, above, columns = room_above(style.title, page_width(), legend)
    panels = list(frame.groupby(["dimension", "scoring"], sort=False))
    several = frame["scoring"].nunique() > 1
    n_columns = min(len(panels), 3 if len(panels) > 4 else 2)
    n_rows = -(-len(panels) // n_columns)
    fig = new_figure(page_width(), 2.2 * n_rows + 0.4 + above)
    grid = fig.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    for axes, (keys, part) in zip(grid.ravel(), panels, strict=False):
        panel_rows = smallest[(smallest["dimension"] == keys[0]) & (smallest["scoring"] == keys[1])]
        _draw_epsilon(axes, part, panel_rows.set_index("model")["smallest_epsilon"], places, look)
        if len(panels) > 1:
            head = _panel_name(str(keys[0]), str(keys[1]), names, several=several)
            axes.set_title(
                wrap(head, page_width() / n_columns - 0.5, bold=True), loc="left", fontweight="bold"
            )
    for axes in grid.ravel()[len(panels) :]:
        axes.remove()
    fig.supxlabel("Epsilon (allowance for the cost of people)", fontsize=8.5)
    fig.supylabel("Winning rate (passes from 0.5)", fontsize=8.5)
    handles = [
        Line2D([], [], color=look.color(place), marker=look.marker(place), markersize=4.5,
               linewidth=WIDTHS[number % len(WIDTHS)], linestyle=DASHES[number % len(DASHES)])
        for number, place in enumerate(places.values())
    ]  # fmt: skip
    add_legend(fig, handles, legend, columns, title, look)
    return fig


def _draw_epsilon(
    axes: Axes, part: pd.DataFrame, smallest: pd.Series[float], places: Mapping[str, int], look: Theme
) -> None:
    low, high = float(part["epsilon"].min()), float(part["epsilon"].max())
    for number, (model, place) in enumerate(places.items()):
        rows = part[part["model"] == model].sort_values("epsilon")
        color, style = look.color(place), DASHES[number % len(DASHES)]
        axes.step(rows["epsilon"], rows["winning_rate"], where="post", color=color, linestyle=style,
                  linewidth=WIDTHS[number % len(WIDTHS)], zorder=3)  # fmt: skip
        first = float(smallest.get(model, np.nan))
        if low <= first <= high:
            axes.plot(
                [first],
                [0.5],
                look.marker(place),
                color=color,
                markersize=5,
                markeredgecolor=look.background,
                markeredgewidth=0.7,
                zorder=4,
            )
    axes.axhline(0.5, color=look.muted, linewidth=0.9, zorder=1)
    margin = 0.02 * (high - low) or 0.02
    axes.set_xlim(low - margin, high + margin)
    axes.locator_params(axis="x", nbins=4)
    axes.set_ylim(-0.05, 1.05)
    tidy(axes, "both", ("top", "right"))


@figure("both_answers")
def both_answers(result: Drawable, style: FigureStyle) -> Forest:
    """The replacement test and the Bayesian model: a panel for each quantity, a row for each model."""
    names, frame = style.names, result.frame
    quantities = [name for name in ANSWERS if name in set(frame["quantity"])]
    return forest(
        frame, panel=frame["quantity"].map(ANSWERS), row=row_names(frame, names),
        panels=[ANSWERS[name] for name in quantities],
        xlabel="Estimate with interval: bootstrap of the test, posterior of the model",
        what="The replacement test and the Bayesian model",
        baseline={ANSWERS[name]: NO_DIFFERENCE[name] for name in quantities if name in NO_DIFFERENCE},
        share_x=False, across=2 if len(quantities) == 4 else 3,
    )  # fmt: skip


def row_names(frame: pd.DataFrame, names: ColumnNames) -> list[str]:
    """Model, behind its dimension where there are several."""
    models = names.all("judge", frame["model"])
    if frame["dimension"].nunique() < 2:
        return models
    pairs = zip(names.all("dimension", frame["dimension"]), models, strict=True)
    return [", ".join(pair) for pair in pairs]
