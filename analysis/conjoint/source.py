"""Where the profiles come from: a data frame, or a Parquet file of which only what is needed is read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from conjury.inference.errors import InputError

from .null import MEANS, needed_columns
from .request import Request, require_frame

Data = pd.DataFrame | str | Path


def frame_of(request: Request, data: Data, *, whole: bool = False) -> pd.DataFrame:
    """Return the data frame that a request is put to; of a file, the columns that it names, or the whole."""
    if not isinstance(data, str | Path):
        return require_frame(data)
    from conjury.inference.parquet import column_names, read_parquet

    path = Path(data)
    if path.suffix.lower() != ".parquet" or not path.is_file():
        raise InputError(f"{path}: there is no such Parquet file; give a data frame or the path of one.")
    if whole:
        return read_parquet(path)
    formula = request.formula
    texts = [*formula.features, *request.by, *request.clusters]
    named = [
        formula.outcome,
        *formula.features,
        *request.by,
        *request.clusters,
        request.weights,
        request.strata,
    ]
    if request.verb in MEANS and request.h0 is None:
        choices = needed_columns(column_names(path))
        named, texts = [*named, *choices], [*texts, *choices]
    wanted = list(dict.fromkeys(name for name in named if name))
    return read_parquet(path, wanted, texts)
