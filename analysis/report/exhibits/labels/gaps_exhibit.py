"""Exhibit of gaps between groups of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....figures.benchmark.benchmark_labels import judges_in_words, metric_in_words, strata_of
from ....figures.benchmark.gap_figures import pairs_of_groups
from ....figures.labels import ColumnNames
from ....results import Result
from ...table_format import estimate_cell, in_brackets, spread, styled_table
from ..exhibit_registry import level
from ..template import tables_of

if TYPE_CHECKING:
    from great_tables import GT


@tables_of("gaps")
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
        .map(metric_in_words if what == "metric" else lambda name: names.of("dimension", name))
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
