"""Samples of logs of Inspect as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import InputError, MissingDependency


def read_samples(path: Path) -> pd.DataFrame:
    """Read a row per sample, as Inspect lays them out: id, epoch, target, ``metadata_*`` and ``score_*``."""
    source = str(path)
    if not path.exists():
        raise InputError(f"{source}: there is no such log or folder; check the path.")
    frame = samples_of(path, source, None)
    return pd.DataFrame({str(name): frame[name] for name in frame if not str(name).endswith("_id")})


def samples_of(path: Path, source: str, columns: Any) -> pd.DataFrame:
    """The samples of logs as a table, with these columns or the usual ones."""
    try:
        from inspect_ai.analysis import samples_df
    except ImportError:
        raise MissingDependency(
            "Reading logs of Inspect needs inspect-ai, which is not installed; run pip install "
            "'conjury[inspect]'."
        ) from None
    chosen = {} if columns is None else {"columns": columns()}
    try:
        frame = samples_df(str(path), quiet=True, **chosen)
    except Exception as error:  # the reader passes on whatever a damaged file makes its parsers raise
        reason = str(error).strip().splitlines()
        raise InputError(
            f"{source}: Inspect cannot read it ({reason[0] if reason else type(error).__name__}); name an "
            ".eval or .json log, or a folder of them."
        ) from None
    if not len(frame):
        raise InputError(
            f"{source}: the file contains no samples of an evaluation; give an .eval or .json log of "
            "Inspect, or a folder of them."
        )
    table: pd.DataFrame = frame.astype(object).where(frame.notna(), None).reset_index(drop=True)
    return table
