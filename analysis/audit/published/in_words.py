"""Checks of published numbers in lines, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from conjury.inference.errors import counted, listed

from ...results import Result
from ..arithmetic.findings import IN_WORDS

FEW, ROWS, PRINTED = 4, 12, 20  # findings of a kind that are printed first, their rows, and by --all
MORE = f"--all prints {PRINTED}, --out FOLDER or --json gives every one"

CONDITIONAL = (
    "Consistent only under another definition (numbers, check, definition; which; why not as stated):"
)
UNTESTED = "Cannot be tested (numbers, check; which; why):"


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
    yield from _grouped_lines(frame[frame["verdict"] == "conditional"], CONDITIONAL, most)
    yield from _grouped_lines(frame[frame["verdict"] == "untested"], UNTESTED, most)


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


def _grouped_lines(frame: pd.DataFrame, heading: str, most: int) -> Iterator[str]:
    """How many numbers of each check have a verdict, under which definition, in which rows, and why."""
    if frame.empty:
        return
    yield heading
    frame = frame.assign(definition=frame["under"].str.partition("; ")[0])
    groups = sorted(
        frame.groupby(["file", "check", "definition"], sort=False), key=lambda entry: -len(entry[1])
    )
    for (file, check, definition), rows in groups[:most]:
        yield f"  {len(rows):>6,}  {file}, {check}{definition and f': {definition}'}"
        definitions = rows["under"].str.split("; ").explode().value_counts().drop(definition, errors="ignore")
        if definition and len(definitions):
            texts = [f"{name} ({count:,})" for name, count in definitions.head(FEW).items()]
            yield f"          also under {listed(texts)}{' and others' if len(definitions) > FEW else ''}"
        first, lines = rows.iloc[0], list(dict.fromkeys(rows["row"]))
        where = f"{'row' if len(lines) == 1 else 'rows'} {listed(lines[:ROWS])}"
        more = f" and {len(lines) - ROWS:,} more" if len(lines) > ROWS else ""
        yield f"          {where}{more}; row {first['row']} ({first['place']}): {first['reason']}"
    if len(groups) > most:
        yield f"  and {len(groups) - most:,} more combinations; {MORE}."
