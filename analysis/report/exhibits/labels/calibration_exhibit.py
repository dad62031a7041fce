"""The exhibit of calibration: reliability curves, slopes, errors, and the parts of the Brier score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....figures.benchmark.benchmark_labels import label_rows, metric_in_words
from ....figures.labels import ColumnNames
from ....results import Result
from ...table_format import estimate_cell, in_brackets, spread, with_gaps
from ..exhibit_registry import level
from ..template import tables_of
from .score_exhibits import PLACE, grouped, ranked

if TYPE_CHECKING:
    from great_tables import GT


@tables_of("calibration")
def calibration(result: Result, names: ColumnNames) -> list[GT]:
    """All metrics by judge, tasks and strata, metrics as columns."""
    frame, places = label_rows(result.frame, result.settings, names)
    frame = ranked(frame, places)
    rows = {PLACE: frame["_where"], "Judge": frame["_who"]}
    table = spread(frame, rows, frame["metric"].map(metric_in_words), estimate_cell)
    note = f"{in_brackets(f'{level(result)} intervals', table)}."
    return [grouped(table, with_gaps(note, table, "no finite coefficients, or no draw differs"))]
