"""A table of judged items, and records with inner objects as its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Judged:
    """A table with a row per answer.

    Parameters
    ----------
    frame : DataFrame
        One row per answer of the judge.
    source : str
        What the file is called.
    program : str
        Which program wrote it, in words; empty for a table.
    judge, human, id : str or None
        Columns that the program's format determines.
    notes : tuple of str
        What was assumed or excluded in reading.

    Examples
    --------
    >>> frame = pd.DataFrame({"verdict": ["spam", "ok"], "label": ["spam", "spam"]})
    >>> table = Judged(frame, "spam.csv", judge="verdict", human="label")
    >>> (table.frame[table.judge] == table.frame[table.human]).mean().item()
    0.5
    """

    frame: pd.DataFrame
    source: str
    program: str = ""
    judge: str | None = None
    human: str | None = None
    id: str | None = None
    notes: tuple[str, ...] = ()


def flat(record: Mapping[str, Any], before: str = "", deep: int = 3) -> dict[str, Any]:
    """A record with its inner objects as columns ``outer.inner``; lists and what is deeper as JSON."""
    row: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and deep > 1 and value:
            row |= flat(value, f"{name}.", deep - 1)
        else:
            row[name] = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
    return row
