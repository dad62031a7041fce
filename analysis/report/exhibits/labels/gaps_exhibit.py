"""Exhibit of gaps between groups of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ....figures.benchmark.benchmark_labels import judges_in_words, metric_of_gold, strata_of
from ....figures.benchmark.gap_figures import pairs_of_groups
from ....figures.labels import ColumnNames
from ....results import Result
from ...table_format import estimate_cell, in_brackets, spread, styled_table
from ..exhibit_registry import level
from ..template import tables_of
from .mistake_exhibits import first_metric, joined, largest_text

if TYPE_CHECKING:
    from great_tables import GT

ACCURACY = "accuracy"
MOST_PLACES = 6  # that are described one by one


def _gaps_text(result: Result, names: ColumnNames) -> str:
    """How many judges have a clear gap, in each place and between each two groups where these are few."""
    frame = result.frame
    pairs = pairs_of_groups(frame, str(result.settings["between"]), names)
    if "metric" not in frame:  # of ratings
        scales = [names.of("dimension", name) for name in frame["dimension"].astype(str)]
        rated = joined(judges_in_words(frame, names, ()), scales, pairs)
        return largest_text(frame.assign(_what=rated, metric="rating"), result, " between groups")
    places = [name for name in ("task", *strata_of(result.settings, frame)) if frame[name].nunique() > 1]
    where, who = joined(names.joined(frame, places, ""), pairs), judges_in_words(frame, names, tuple(places))
    by_place = frame.assign(_what=who).groupby(where, sort=False)
    if by_place.ngroups == 1 or by_place.ngroups > MOST_PLACES:
        return largest_text(frame.assign(_what=joined(who, where)), result, " between groups")
    alpha = float(result.settings.get("alpha", 0.05))
    texts = [
        f"{place}: {largest_text(rows, result, '').removesuffix('.')}{_by_accuracy(rows, alpha)}."
        for place, rows in by_place
    ]
    clear = f"adjusted p below {alpha:g}; positive: higher in the first group"
    what = f"Judges whose {first_metric(frame)} differs clearly ({clear})"
    if any(f"({ACCURACY}: " in text for text in texts):
        what += "; in brackets: by accuracy, which shares of labels move, where that is otherwise"
    return f"{what}. {' '.join(texts)}"


def _by_accuracy(rows: pd.DataFrame, alpha: float) -> str:
    """How many gaps in accuracy are clear, where these are others than in the first score."""
    signs = [
        np.sign(part["estimate"]).where(part["p_adjusted"] < alpha, 0).tolist()
        for part in (rows[rows["metric"] == rows["metric"].iloc[0]], rows[rows["metric"] == ACCURACY])
    ]
    if not signs[1] or signs[0] == signs[1]:
        return ""
    clear = signs[1].count(1) + signs[1].count(-1)
    negative = f", {signs[1].count(-1)} of them negative" if clear and signs[1].count(-1) else ""
    return f" ({ACCURACY}: {clear or 'none'} of {len(signs[1])}{negative})"


@tables_of("gaps", reading=_gaps_text)
def gaps(result: Result, names: ColumnNames) -> list[GT]:
    """Gaps of every judge and place, with dimensions or metrics as columns."""
    frame, alpha = result.frame, float(result.settings.get("alpha", 0.05))
    what = "metric" if "metric" in frame else "dimension"
    places = [name for name in ("task", *strata_of(result.settings, frame)) if name in frame]
    rows = {
        "Judge": judges_in_words(frame, names, tuple(places)),
        "Items": pd.Series(names.joined(frame, places, "All items"), index=frame.index),
        "Gap": pairs_of_groups(frame, str(result.settings["between"]), names),
    }
    columns = (
        frame[what]
        .astype(str)
        .map(
            lambda name: (
                metric_of_gold(name, result.settings, names)
                if what == "metric"
                else names.of("dimension", name)
            )
        )
    )
    table = spread(
        frame.astype({what: str}),
        rows,
        columns,
        lambda row: estimate_cell(row, mark="*" if row["p_adjusted"] < alpha else "", sign=True),
    )
    if table["Items"].nunique() == 1:
        table = table.drop(columns="Items")
    note = f"{in_brackets(f'{level(result)} intervals', table)}. *: adjusted p below {alpha:g}."
    return [styled_table(table, groups="Judge", note=note, n_left=2 if "Items" in table else 1)]
