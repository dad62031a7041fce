"""The command ``conjury tables``: the tables and figures of a results folder, as papers print them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import ConjuryError, InputError, counted

from ...automation import record
from ...options import not_a_file
from ...printing import console, save_figures, show_count, warn

FORMATS = ("latex", "word", "markdown", "html")
SIZES = ("single", "double")


def tables(
    results: Annotated[Path, typer.Argument(help="Results folder that `conjury fit` wrote.")],
    to: Annotated[list[str], typer.Option(help="latex, word, markdown or html; can be repeated.")],
    out: Annotated[Path, typer.Option("--out", callback=not_a_file, help="Folder for the files.")] = Path(
        "tables"
    ),
    stars: Annotated[
        bool, typer.Option("--stars", help="Mark p values by stars, with a note on their meaning.")
    ] = False,
    figures: Annotated[
        str | None,
        typer.Option(
            "--figure-size",
            help="Also write the figures: single (one column of a journal, 85 mm) or double (180 mm).",
        ),
    ] = None,
) -> None:
    """Write the tables and figures for a paper.

    As LaTeX, Word, Markdown or HTML, and the figures at the size of a column.
    """
    from conjury.analysis.figures.theme import sized
    from conjury.analysis.report import Report
    from conjury.analysis.report.paper import tables_of_folder
    from conjury.analysis.report.paper.document_writing import write_tables

    unknown = next((name for name in to if name not in FORMATS), None)
    if unknown is not None:
        raise InputError(f"--to {unknown}: there is no such format; use one of: {', '.join(FORMATS)}.")
    if figures is not None and figures not in SIZES:
        raise InputError(f"--figure-size {figures}: there is no such size; use {' or '.join(SIZES)}.")
    with show_count("Tables") as watch:
        laid, failed = tables_of_folder(results, stars=stars, watch=watch), list[ConjuryError]()
    for name in dict.fromkeys(to):
        try:
            with show_count(f"Tables as {name}") as watch:
                written = write_tables(laid, name, out, watch)
        except ConjuryError as error:  # the other formats, and figures, are written all the same
            failed.append(error)
            continue
        record(tables=len(laid), files=written)
        files = counted(len(written), "file")
        console.print(f"{counted(len(laid), 'table')} as {name} in {files} in {out}.")
    if figures is not None:
        report = Report(results)
        parts = dict.fromkeys(record.part for record in report.results)
        with sized(figures):
            drawings = [drawing for part in parts for drawing in report.figures(part)]
            notes = save_figures(out, drawings, formats=("pdf", "svg"))
        record(notes=notes)
        for note in notes:
            warn(note)
    if failed:
        raise failed[0]
