"""Run as a process of its own: one file of SPSS or Stata as plain values, which damage cannot outlive."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

REFUSED = 3  # exit code where the library gives a reason


def read_values(function: str, path: str) -> dict[str, Any]:
    """Columns, value labels, levels of measurement and declared missing values, as plain Python has them."""
    import pyreadstat

    read = getattr(pyreadstat, function)
    columns, content = read(path, output_format="dict")
    declared: dict[str, Any] = {}
    if function == "read_sav":  # only then does the library give the ranges
        _, described = read(path, user_missing=True, metadataonly=True)
        declared = {name: ranges for name, ranges in described.missing_ranges.items() if ranges}
    return {
        "columns": columns,
        "labels": content.variable_value_labels,
        "measures": content.variable_measure,
        "declared": declared,
    }


def write_values(function: str, path: str, result: str) -> int:
    """Write the values of a file where the caller finds them; the exit code."""
    try:
        values = read_values(function, path)
    except Exception as error:  # the library passes on whatever damage makes its parsers raise
        print(" ".join(str(error).split()) or type(error).__name__, file=sys.stderr)
        return REFUSED
    Path(result).write_bytes(pickle.dumps(values))
    return 0


if __name__ == "__main__":
    sys.exit(write_values(*sys.argv[1:]))
