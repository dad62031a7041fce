"""Results of rater analyses in a results folder: tables, and a record from which they are read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.tables.files import read_table

from ..raters.models.fitted import ModelFit
from ..results import Result

PART = "__"  # between the name of a result and that of a further table of it


def tables_of(name: str, result: Result) -> dict[str, pd.DataFrame]:
    """Tables of a result, as a results folder names them."""
    return {name: result.frame} | {f"{name}{PART}{part}": table for part, table in _further(result).items()}


def record_of(name: str, title: str, result: Result, seconds: float) -> dict[str, Any]:
    """What the manifest says of a result; with its tables, :func:`read_result` makes it again."""
    return {
        "name": name,
        "title": title,
        "kind": result.kind,
        "seconds": round(seconds, 3),
        "settings": dict(result.settings),
        "further": list(_further(result)),
        "notes": list(result.notes),
        "verdict": list(result.verdict) if isinstance(result, ModelFit) else [],
        "passed": result.passed if isinstance(result, ModelFit) else True,
    }


def _further(result: Result) -> dict[str, pd.DataFrame]:
    """Tables beside the first; of a model also its diagnostics and priors."""
    if not isinstance(result, ModelFit):
        return dict(result.extra)
    return {**result.extra, "diagnostics": result.diagnostics, "priors": result.prior_table}


def read_result(folder: Path, record: Mapping[str, Any]) -> Result:
    """Read a result from the tables of a results folder."""
    name = str(record["name"])
    tables = folder / "tables"
    return Result(
        read_table(tables / f"{name}.parquet"),
        str(record["kind"]),
        tuple(record.get("notes") or ()),
        record.get("settings") or {},
        {part: read_table(tables / f"{name}{PART}{part}.parquet") for part in record.get("further") or ()},
    )
