"""Rows that an estimator reads: of a data frame or a file, with or without repeats."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.aliases import EXCLUDED

from ..frames.cells import REPEAT, key_columns, needed_columns, refuse_shared_numbers, without_repeats
from ..frames.stored import read_rows
from .request import MEANS, EstimateRequest

Data = pd.DataFrame | str | Path


def frame_of(request: EstimateRequest, data: Data, *, full: bool = False) -> pd.DataFrame:
    """Rows of a request, repeats excluded unless it names them; of Parquet its columns, or the ``full``."""
    formula = request.formula
    texts = [*formula.features, *request.by, *request.clusters]
    named = [formula.outcome, *texts, request.weights, request.strata]
    path = Path(data) if isinstance(data, str | Path) else None
    if path is None or path.suffix.lower() != ".parquet" or not path.is_file():
        return _rows_without_repeats(read_rows(data, formula.features), request, named)
    from conjury.inference.tables.parquet import column_names, read_parquet

    if full:
        return _rows_without_repeats(_with_levels(read_parquet(path), request, path), request, named)
    stored_names = column_names(path)
    choices = needed_columns(stored_names) if request.verb in MEANS and request.h0 is None else []
    columns = list(dict.fromkeys(name for name in (*named, *choices) if name))
    marks = [name for name in (REPEAT, EXCLUDED) if name in stored_names]
    marks = [name for name in (*marks, *key_columns(stored_names, request.clusters)) if name not in columns]
    categories = [*texts, *choices, *(name for name in marks if name not in (REPEAT, EXCLUDED))]
    frame = _with_levels(read_parquet(path, columns + marks, categories), request, path)
    return _rows_without_repeats(frame, request, named).drop(columns=marks)


def _with_levels(data: pd.DataFrame, request: EstimateRequest, path: Path) -> pd.DataFrame:
    """The rows of a file; refuse attributes in numbers, whose levels other programs do not store."""
    for name in request.formula.features:
        kind = data[name].dtype
        if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
            raise InputError(
                f"Feature {name!r} of {path} is numeric; features have levels, and Parquet files of other "
                "programs keep neither categories that are numbers nor their order. Store it as text, write "
                "the file with write_table of conjury.inference.tables.files, or give the data frame."
            )
    return data


def _rows_without_repeats(
    data: pd.DataFrame, request: EstimateRequest, named: Collection[str | None]
) -> pd.DataFrame:
    """Rows without repeats; warn of rows that repeat others because tables are numbered alike."""
    rows = without_repeats(data, named)
    refuse_shared_numbers(rows, request.clusters, request.by)
    return rows


def whole_table(data: Data) -> pd.DataFrame:
    """The table with all columns: repeats are known by columns that no formula names."""
    return read_rows(data)
