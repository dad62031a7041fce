"""Where the profiles come from: a data frame, or a Parquet file of which only what is needed is read."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from conjury.inference.errors import InputError

from .null import MEANS, needed_columns
from .repeated import REPEAT, without_repeats
from .request import Request, require_frame

Data = pd.DataFrame | str | Path


def frame_of(request: Request, data: Data, *, whole: bool = False) -> pd.DataFrame:
    """Return the rows that a request is put to; of a file, the columns that it names, or the whole.

    Rows of repeated pairs are excluded, with a warning, unless the request names the column ``repeat``.
    """
    formula = request.formula
    texts = [*formula.features, *request.by, *request.clusters]
    named = [formula.outcome, *texts, request.weights, request.strata]
    if not isinstance(data, str | Path):
        return without_repeats(require_frame(data), named)
    from conjury.inference.parquet import column_names, read_parquet

    path = Path(data)
    if path.suffix.lower() != ".parquet" or not path.is_file():
        raise InputError(f"{path}: there is no such Parquet file; give a data frame or the path of one.")
    if whole:
        return without_repeats(read_parquet(path), named)
    held = column_names(path)
    choices = needed_columns(held) if request.verb in MEANS and request.h0 is None else []
    wanted = list(dict.fromkeys(name for name in (*named, *choices) if name))
    marks = [REPEAT] if REPEAT not in wanted and REPEAT in held else []
    frame = read_parquet(path, wanted + marks, [*texts, *choices])
    return without_repeats(frame, named).drop(columns=marks)
