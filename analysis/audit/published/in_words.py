"""Checks of published numbers in lines, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from conjury.inference.errors import counted

from ...results import Result
from ..arithmetic.findings import IN_WORDS

FEW, PRINTED = 4, 20  # findings of each kind that are printed first, and by --all; a results folder has all
MORE = f"--all prints {PRINTED}, --out FOLDER or --json gives every one"


def checked_json(result: Result) -> str:
    """Every number and every finding, for programs."""
    tables = {"numbers": result.extra["numbers"], "findings": result.frame}
    content: dict[str, Any] = {"files": result.settings["files"], "notes": list(result.notes)}
    content |= {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
    return json.dumps(content, indent=2) + "\n"


def checked_lines(result: Result, most: int) -> Iterator[str]:
    """Numbers by verdict, then the first findings of each kind that are not consistent as published."""
    numbers, frame = result.extra["numbers"], result.frame
    files = counted(len(result.settings["files"]), "file")
    yield f"{counted(len(numbers), 'published number')} of {files}, {frame['finding'].nunique():,} findings:"
    for verdict, text in IN_WORDS.items():
        count = int((numbers["verdict"] == verdict).sum())
        if count:
            yield f"  {count:>6,}  {text}"
    texts = frame.groupby("finding")["published"].agg(", ".join)
    each = frame.drop_duplicates("finding")
    each = each.assign(numbers=each["finding"].map(texts))
    yield from _inconsistent_lines(each[each["verdict"] == "inconsistent"], most)
    yield from _conditional_lines(frame[frame["verdict"] == "conditional"], most)


def _inconsistent_lines(findings: pd.DataFrame, most: int) -> Iterator[str]:
    if len(findings):
        yield "Inconsistent as published:"
    for row in findings.head(most).to_dict("records"):
        yield f"  {row['file']}, row {row['row']}: {row['place']}: {row['numbers']} ({row['check']})"
        nearest = f" Nearest possible: {row['nearest']}." if row["nearest"] else ""
        tried = counted(row["n_definitions"], "definition")
        chance = row["chance"]
        passing = f"; random numbers pass with probability {chance:.2g}" if chance == chance else ""
        yield f"    {row['reason']}{nearest} {tried} tried{passing}."
    if len(findings) > most:
        yield f"  and {len(findings) - most:,} more findings; {MORE}."


def _conditional_lines(frame: pd.DataFrame, most: int) -> Iterator[str]:
    if frame.empty:
        return
    yield "Consistent only under another definition (numbers, check, definitions):"
    groups = frame.groupby(["file", "check", "under"], sort=False).size().sort_values(ascending=False)
    for names, count in list(groups.items())[:most]:
        file, check, under = map(str, names)  # type: ignore[call-overload, arg-type, unused-ignore]
        yield f"  {count:>6,}  {file}, {check}: {under}"
    if len(groups) > most:
        yield f"  and {len(groups) - most:,} more combinations; {MORE}."
