"""Results of rater analyses in a results folder: tables, and a record from which they are read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conjury.inference.tables.files import read_table

from ..results import Result

PART = "__"  # between the name of a result and that of a further table of it


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
