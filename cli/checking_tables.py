"""The command ``conjury check-table``: published numbers checked against each other."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, listed

from .automation import HELP
from .options import grouped
from .printing import console, draw_figures, print_blocks, print_notes, show_count, warn_if_quiet
from .wishes import leaves_out_details

if TYPE_CHECKING:
    from conjury.analysis.results import Result

LIMITS = ("inconsistent", "conditional")  # of --fail-on, the gravest first

Files = Annotated[
    list[str] | None,
    typer.Argument(
        help="Tables (.csv, .tsv, .html, .md, .tex), each with its NAME.yaml in the same folder, or "
        "names of tables that ship."
    ),
]


@dataclass(frozen=True)
class PublishedReading:
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
    as_json: Annotated[bool, typer.Option("--json", help=HELP)] = False
    fail_on: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if a number is inconsistent, or (conditional) if it is "
            "inconsistent or consistent only under another definition."
        ),
    ] = None


@grouped
def check_table(reading: PublishedReading, writing: FindingsOutput, files: Files = None) -> None:
    """Check whether published numbers can be true together.

    Arithmetic only: no data are needed.

    Exit code 0: done; 1: something at or above --fail-on; 2: a table or description cannot be read.
    """
    from conjury.analysis.audit.published import check_tables, locate, write_description
    from conjury.inference.tables.files import PUBLISHED, shipped_names

    if not files:
        names = [name for name in shipped_names(PUBLISHED) if (PUBLISHED / f"{name}.csv").is_file()]
        raise InputError(f"Name at least one table: a file, or one of those that ship, {listed(names, 20)}.")
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
        from conjury.analysis.audit.published.in_words import checked_json

        sys.stdout.write(checked_json(result))
    else:
        _print(result, writing.out)
    stops = LIMITS[: LIMITS.index(writing.fail_on) + 1] if writing.fail_on is not None else ()
    failures = result.extra["numbers"]["verdict"].value_counts().reindex(stops).dropna()
    if len(failures):
        from conjury.analysis.audit.arithmetic.findings import IN_WORDS

        warn_if_quiet("; ".join(f"{n:.0f} {IN_WORDS[str(verdict)]}" for verdict, n in failures.items()))
        raise typer.Exit(1)


def _write(out: Path, result: Result, files: list[Path], seconds: float, figures: bool) -> None:
    from conjury.analysis.pipeline.fitting import write_checked_tables

    draw: Callable[[Path, str], list[str]] = (
        partial(draw_figures, quiet=True) if figures else lambda folder, part: []
    )
    write_checked_tables(out, result, files, seconds, draw)


def _print(result: Result, out: Path | None) -> None:
    from conjury.analysis.audit.published.in_words import FEW, PRINTED, checked_lines

    print_blocks(checked_lines(result, FEW if leaves_out_details() else PRINTED))
    print_notes(result.notes, out or Path())
    if out is not None:
        console.print(f"Results in {out}; render them with `conjury report published --results {out}`.")
