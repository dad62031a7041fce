"""Agreement coefficients with intervals by who is compared, and of every pair of raters as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed

from ...frames.vocabulary import AGAIN, HUMAN
from ..figure_layout import Drawable, inches, lines_high, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..heat_maps import add_bar, shade, two_digits, write
from ..labels import (
    COEFFICIENTS,
    WEIGHTS,
    ColumnNames,
    display_order,
    level_of,
    select_identifiers,
    usual_identifiers,
)
from ..theme import new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("krippendorff", "gwet")
# Which weights are drawn: those of sentences and terminals, which count the distance of ratings.
USUAL_WEIGHTS = ("quadratic", "ordinal", "linear", "ratio", "own", "nominal")
MODELS = "model"
FEW = 12  # raters up to which cells contain numbers and all dimensions are drawn
LONGEST = 1.3
LARGEST_CELL = 0.42
SHARED = 10  # items that a pair must share to be drawn
BAR = 1.0  # inches of the colour bar and its labels
TALLEST = 6.5  # inches of a matrix


@figure("agreement")
def agreement(
    result: Drawable,
    style: FigureStyle,
    *,
    coefficients: Sequence[str] | None = None,
    weights: str | None = None,
    dimensions: Sequence[str] | None = None,
) -> Forest:
    """Coefficients of agreement by who is compared, with intervals, by usual weights of each dimension."""
    names = style.names
    frame, kinds, weighting = _coefficients(result, coefficients, weights)
    remark = _without_weights(result.frame, frame, names, weights)
    frame = frame[frame["dimension"].isin(select_identifiers(frame["dimension"], dimensions, "dimension"))]
    ends = ["lower", "upper"]
    cluster = result.settings.get("cluster")
    of_clusters = f", clustered by {str(cluster).removesuffix('_id').replace('_', ' ')}" if cluster else ""
    limits = f" ({level_of(result.settings)} intervals{of_clusters})" if frame["lower"].notna().any() else ""
    subject = COEFFICIENTS[kinds[0]] if len(kinds) == 1 else "Agreement"
    xlabel = ", ".join(filter(None, [subject, WEIGHTS.get(weighting or "", "")]))
    near_zero = bool(frame[["estimate", ends[0]]].astype(float).min().min() < 0.15)
    return forest(
        frame,
        panel=panels_in_words(frame, names, weighting),
        row=compared_in_words(frame, names),
        series=frame["coefficient"].map(COEFFICIENTS),
        order=[COEFFICIENTS[kind] for kind in kinds],
        numbers=["estimate", *ends],
        xlabel="; ".join(filter(None, [xlabel + limits, remark])),
        what=xlabel,
        baseline=0.0 if near_zero else None,
        across=3,
    )


def _coefficients(
    result: Drawable, coefficients: Sequence[str] | None, weights: str | None
) -> tuple[pd.DataFrame, list[str], str | None]:
    """Rows to draw, their coefficients, and the weights of all; None where those of dimensions differ."""
    frame = result.frame.assign(dimension=result.frame["dimension"].astype("string").fillna(""))
    kinds = usual_identifiers(frame["coefficient"], coefficients, USUAL, "coefficient")
    frame = frame[frame["coefficient"].isin(kinds)]
    frame, weighting = _weighted(frame[frame["estimate"].notna()], weights)
    if frame.empty:
        raise InputError("There is nothing to draw: no such coefficient has a value.")
    return frame, [kind for kind in kinds if kind in set(frame["coefficient"])], weighting


def _weighted(frame: pd.DataFrame, weights: str | None) -> tuple[pd.DataFrame, str | None]:
    """Rows without weights or with those of their dimension, and the weights of all, None if they differ."""
    frame = frame.assign(weights=frame["weights"].astype("string").fillna(""))
    names = select_identifiers(
        frame["weights"].mask(frame["weights"] == ""), [weights] if weights else None, "weighting"
    )
    order = names if weights else [*USUAL_WEIGHTS, *names]
    place = frame["weights"].map({name: order.index(name) for name in order})
    frame = frame[(frame["weights"] == "") | (place == place.groupby(frame["dimension"]).transform("min"))]
    weightings = frame["weights"][frame["weights"] != ""].unique()
    return frame, str(weightings[0]) if len(weightings) == 1 else None


def _without_weights(table: pd.DataFrame, rows: pd.DataFrame, names: ColumnNames, weights: str | None) -> str:
    """Dimensions that are not drawn, since they have no such weights as a caller named."""
    missing = [name for name in table["dimension"].dropna().unique() if name not in set(rows["dimension"])]
    if weights is None or not missing:
        return ""
    return f"without {WEIGHTS.get(weights, weights)}, not drawn: {listed(names.all('dimension', missing))}"


def panels_in_words(frame: pd.DataFrame, names: ColumnNames, weighting: str | None) -> list[str]:
    """Dimension and stratum of each row, with its weights where those of dimensions differ."""
    before = list(frame.columns)[: list(frame.columns).index("dimension")]
    panels = names.joined(frame, ["dimension", *map(str, before)])
    if weighting is not None:
        return panels
    texts = frame.groupby("dimension")["weights"].transform("max").map(lambda name: WEIGHTS.get(name, name))
    return [", ".join(filter(None, text)) for text in zip(panels, texts, strict=True)]


def compared_in_words(frame: pd.DataFrame, names: ColumnNames) -> list[str]:
    """Who is compared in each row of a table of `agreement`."""
    texts = []
    for among, against in zip(frame["among"], frame["against"], strict=True):
        if str(among).endswith(AGAIN):
            texts.append(f"{names.of('group', str(among).removesuffix(AGAIN))}, each with themselves")
            continue
        group = "Models" if among == MODELS else names.of("group", among)
        if pd.isna(against) or not against:
            texts.append(f"{group} among themselves" if among != group else f"{group}, repeated")
        else:
            texts.append(f"{group} with {names.of('group', against)}")
    return texts


def _has_pairs(result: Drawable) -> bool:
    pairs = result.extra.get("pairs")
    if pairs is None or pairs.empty:
        return False
    return bool((pairs["estimate"].notna() & (pairs["n_items"] >= SHARED)).any())


def _pairs_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the range of the pairs that share enough items, by dimension."""
    names = style.names
    frame, kind, weighting = _pairs(result, None, None)
    frame = frame.assign(panel=panels_in_words(frame, names, weighting))
    frame = frame[frame["estimate"].notna() & (frame["n_items"] >= SHARED)]
    of_weights = f" ({WEIGHTS.get(weighting, weighting)})" if weighting else ""
    texts = [f"{COEFFICIENTS[kind]}{of_weights} of pairs of raters."]
    for name, panel_rows in frame.groupby("panel", sort=False):
        ends = [
            f"{row['estimate']:.2f} ({names.of('judge', row['judge'])} and {names.of('judge', row['other'])})"
            for row in panel_rows.sort_values("estimate").iloc[[0, -1]].to_dict("records")
        ]
        texts.append(f"{name!s}: from {ends[0]} to {ends[1]}." if name else f"From {ends[0]} to {ends[1]}.")
    return " ".join(texts)


@figure("agreement_pairs", alt=_pairs_alt)
@figure("agreement", part="pairs", alt=_pairs_alt, when=_has_pairs)
def pairs(
    result: Drawable,
    style: FigureStyle,
    *,
    coefficient: str | None = None,
    weights: str | None = None,
    dimensions: Sequence[str] | None = None,
    least: int = SHARED,
) -> Figure:
    """Agreement of every pair of raters, people before models: of many raters one dimension, of few all."""
    # Pairs that share fewer than `least` items are grey. Where most pairs of many people are, the columns are
    # the models only.
    look, names = style.look, style.names
    frame, kind, weighting = _pairs(result, coefficient, weights)
    remark = _without_weights(result.extra.get("pairs", result.frame), frame, names, weights)
    raters, n_people = _raters(frame)
    n = len(raters)
    frame = frame[frame["dimension"].isin(select_identifiers(frame["dimension"], dimensions, "dimension"))]
    estimates = frame["estimate"].where(frame["n_items"] >= least)
    if estimates.isna().all():
        raise InputError(f"There is nothing to draw: no pair of raters shares {least} items.")
    frame = frame.assign(panel=panels_in_words(frame, names, weighting), estimate=estimates)
    panels = list(dict.fromkeys(frame["panel"]))
    models_only = n > FEW and 0 < n_people < n and _lacks_most_pairs(frame, n_people)
    columns = range(n_people, n) if models_only else range(n)
    if dimensions is None and n > FEW and not models_only:
        panels = panels[:1]
    size = 7.6 if n <= FEW else 6.6
    texts = [_short_label(names.of("judge", rater), size, one_line=n > FEW) for rater in raters]
    side = max(inches(text, size) for text in texts) + 0.12
    across = (6 if models_only else 1) if n > FEW else 3
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    cell = min(LARGEST_CELL, (page_width() - side - BAR) / across / len(columns) - 0.01, TALLEST / n)
    cell = max(cell, max(lines_high(text, size) for text in texts))
    width = min(page_width(), max(4.0, side + across * (cell * len(columns) + 0.15) + BAR))
    title, above, _ = room_above(style.title, width, [])
    heads = [wrap(name, max(cell * len(columns), 0.8), 8.2, bold=True) for name in panels]
    high = cell * n + side + max(lines_high(head, 8.2) for head in heads) + 0.15
    lowest = min(0.0, float(np.floor(frame["estimate"].min() * 10) / 10))
    fig = new_figure(width, high * down + above + 0.25)
    grid = fig.subplots(down, across, squeeze=False, sharey=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    shades: Any = None
    has_gaps = False
    for axes, name, head in zip(grid.flat, panels, heads, strict=False):
        values = _matrix(frame[frame["panel"] == name], raters)[:, columns]
        has_gaps |= _has_gaps(values, columns)
        shades = shade(axes, values, lowest, 1, look, 1.0 if n <= FEW else 0.6)
        if n <= FEW:
            text = lambda i, j, cells=values: two_digits(cells[i, j])  # noqa: E731
            write(axes, values, text, look, min(7.2, 17 * cell))
        axes.set_xticks(range(len(columns)), [texts[k] for k in columns], rotation=90, fontsize=size)
        axes.set_yticks(range(n), texts, fontsize=size)
        if 0 < n_people < n:
            axes.axhline(n_people - 0.5, color=look.foreground, linewidth=1.1)
        if 0 < n_people < n and not models_only:
            axes.axvline(n_people - 0.5, color=look.foreground, linewidth=1.1)
        axes.set_title(head, fontsize=8.2, fontweight="bold", loc="left", pad=5)
    measure = ", ".join(filter(None, [COEFFICIENTS[kind], WEIGHTS.get(weighting or "", "")]))
    add_bar(fig, shades, grid, measure, aspect=28)
    grey = f"Grey: fewer than {least} shared items, or no value" * has_gaps
    if caption := "; ".join(filter(None, [grey, remark])):
        fig.supxlabel(wrap(caption, width - 0.2), fontsize=7.6)
    if title:
        fig.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10.5)
    return fig


def _pairs(
    result: Drawable, coefficient: str | None, weights: str | None
) -> tuple[pd.DataFrame, str, str | None]:
    """Rows to draw, their coefficient, and the weights of all; None where those of dimensions differ."""
    frame = result.extra.get("pairs") if result.kind == "agreement" else result.frame
    if frame is None or frame.empty:
        raise InputError(
            "There is no table of pairs of raters; ask `agreement` for the coefficient cohen or percent."
        )
    frame = frame.assign(dimension=frame["dimension"].astype("string").fillna(""))
    kind = usual_identifiers(frame["coefficient"], coefficient, ("cohen",), "coefficient")[0]
    frame, weighting = _weighted(frame[frame["coefficient"] == kind], weights)
    return frame, kind, weighting


def _has_gaps(values: np.ndarray, columns: Sequence[int]) -> bool:
    """Whether a cell that is drawn has no value, those of raters with themselves aside."""
    is_pair = np.arange(len(values))[:, None] != np.asarray(columns)
    return bool((np.isnan(values) & is_pair).any())


def _lacks_most_pairs(frame: pd.DataFrame, n_people: int) -> bool:
    """Whether more than half of the pairs of people have no value."""
    people = (frame["judge_kind"] == HUMAN) & (frame["other_kind"] == HUMAN) & frame["estimate"].notna()
    return bool(people.sum() < frame["panel"].nunique() * n_people * (n_people - 1) / 4)


def _raters(frame: pd.DataFrame) -> tuple[list[str], int]:
    """Raters, people first, and the number of people."""
    kinds = dict(zip(frame["judge"], frame["judge_kind"], strict=True))
    kinds |= dict(zip(frame["other"], frame["other_kind"], strict=True))
    order = list(dict.fromkeys([*display_order(frame["judge"]), *display_order(frame["other"])]))
    people = [name for name in order if kinds[name] == HUMAN]
    return [*people, *(name for name in order if kinds[name] != HUMAN)], len(people)


def _matrix(frame: pd.DataFrame, raters: Sequence[str]) -> np.ndarray:
    at = {name: place for place, name in enumerate(raters)}
    values = np.full((len(raters), len(raters)), np.nan)
    first = frame["judge"].map(at).to_numpy(dtype=int)
    second = frame["other"].map(at).to_numpy(dtype=int)
    values[first, second] = values[second, first] = frame["estimate"].to_numpy(dtype=float)
    return values


def _short_label(text: str, size: float, *, one_line: bool) -> str:
    """A label in the room it has: in lines, or cut where lines are as close as the cells."""
    if not one_line:
        return wrap(text, LONGEST, size)
    if inches(text, size) <= LONGEST:
        return text
    while inches(text + "\N{HORIZONTAL ELLIPSIS}", size) > LONGEST:
        text = text[:-1]
    return text.rstrip() + "\N{HORIZONTAL ELLIPSIS}"
