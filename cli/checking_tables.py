"""The command ``conjury check-table``: published numbers checked against each other."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError, counted, listed

from .options import grouped
from .printing import console, draw_figures, print_notes, show_count

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.results import Result

LIMITS = ("inconsistent", "conditional")  # of --fail-on, the gravest first
PRINTED = 20  # findings that are printed; all are in the results folder

Files = Annotated[
    list[str],
    typer.Argument(
        help="Tables (.csv, .tsv, .html, .md, .tex), each with its NAME.yaml in the same folder, or "
        "names of tables that ship."
    ),
]


@dataclass(frozen=True)
class TableReading:
    """How tables are read."""

    columns: Annotated[
        Path | None,
        typer.Option(
            "--columns", help="Description of the columns (.yaml), in place of those next to the files."
        ),
    ] = None
    write: Annotated[
        bool,
        typer.Option("--write-description", help="Write a guessed description next to each file and stop."),
    ] = False


@dataclass(frozen=True)
class FindingsOutput:
    """Where the findings go."""

    out: Annotated[
        Path | None, typer.Option("--out", help="Results folder for tables and figures, for a report.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    fail_on: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if a number is inconsistent, or (conditional) if it is "
            "inconsistent or consistent only under another definition."
        ),
    ] = None


@grouped
def check_table(files: Files, reading: TableReading, writing: FindingsOutput) -> None:
    """Check whether the numbers of published tables can be true together.

    Exit code 0: done; 1: something at or above --fail-on; 2: a table or description cannot be read.
    """
    from conjury.analysis.audit.published import check_tables, locate, write_description

    if writing.fail_on is not None and writing.fail_on not in LIMITS:
        raise InputError(f"--fail-on {writing.fail_on!r} is unknown; use {listed(LIMITS)}.")
    paths = [locate(name) for name in files]
    if reading.write:
        for file in paths:
            console.print(f"{write_description(file)}: correct the guesses and run the command again.")
        return
    start_time = time.monotonic()
    with show_count("Groups of numbers") as progress:
        result = check_tables(paths, reading.columns, progress=progress)
    seconds = time.monotonic() - start_time
    if writing.out is not None:
        _write(writing.out, result, paths, seconds, figures=not writing.as_json)
    if writing.as_json:
        sys.stdout.write(as_json(result))
    else:
        _print(result, writing.out)
    stops = LIMITS[: LIMITS.index(writing.fail_on) + 1] if writing.fail_on is not None else ()
    if set(result.extra["numbers"]["verdict"]) & set(stops):
        raise typer.Exit(1)


def _write(out: Path, result: Result, files: list[Path], seconds: float, figures: bool) -> None:
    from conjury.analysis.pipeline.standalone_results import write_checked_tables

    draw: Callable[[Path, str], list[str]] = (
        partial(draw_figures, quiet=True) if figures else lambda folder, part: []
    )
    write_checked_tables(out, result, files, seconds, draw)


def _print(result: Result, out: Path | None) -> None:
    for line in summary(result):
        console.print(line)
    print_notes(result.notes, out or Path())
    if out is not None:
        console.print(f"Results in {out}; render them with `conjury report published --results {out}`.")


def as_json(result: Result) -> str:
    """Every number and every finding, for programs."""
    tables = {"numbers": result.extra["numbers"], "findings": result.frame}
    content: dict[str, Any] = {"files": result.settings["files"], "notes": list(result.notes)}
    content |= {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
    return json.dumps(content, indent=2) + "\n"


def summary(result: Result) -> Iterator[str]:
    """Numbers by verdict, then the findings that are not consistent as published."""
    from conjury.analysis.audit.arithmetic.findings import IN_WORDS

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
    yield from _inconsistent_lines(each[each["verdict"] == "inconsistent"])
    yield from _conditional_lines(frame[frame["verdict"] == "conditional"])


def _inconsistent_lines(findings: pd.DataFrame) -> Iterator[str]:
    if len(findings):
        yield "Inconsistent as published:"
    for row in findings.head(PRINTED).to_dict("records"):
        yield f"  {row['file']}, row {row['row']}: {row['place']}: {row['numbers']} ({row['check']})"
        nearest = f" Nearest possible: {row['nearest']}." if row["nearest"] else ""
        tried = counted(row["n_definitions"], "definition")
        chance = row["chance"]
        passing = f"; random numbers pass with probability {chance:.2g}" if chance == chance else ""
        yield f"    {row['reason']}{nearest} {tried} tried{passing}."
    if len(findings) > PRINTED:
        yield f"  and {len(findings) - PRINTED:,} more findings; --out FOLDER or --json gives all."


def _conditional_lines(frame: pd.DataFrame) -> Iterator[str]:
    if frame.empty:
        return
    yield "Consistent only under another definition (numbers, check, definitions):"
    groups = frame.groupby(["file", "check", "under"], sort=False).size().sort_values(ascending=False)
    for names, count in list(groups.items())[:PRINTED]:
        file, check, under = map(str, names)  # type: ignore[call-overload, arg-type, unused-ignore]
        yield f"  {count:>6,}  {file}, {check}: {under}"
    if len(groups) > PRINTED:
        yield f"  and {len(groups) - PRINTED:,} more combinations; --out FOLDER or --json gives all."
