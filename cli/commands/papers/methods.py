"""The command ``conjury paper methods``: the methods of results as text, with their references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import counted

from ...automation import record
from ...printing import console


def methods(
    results: Annotated[Path, typer.Argument(help="Results folder that `conjury fit` wrote.")],
    out: Annotated[
        Path, typer.Option("--out", help="File: .md, .docx or .tex; the BibTeX file is written next to it.")
    ] = Path("methods.md"),
) -> None:
    """Describe how results were computed, with BibTeX.

    The works that were used are listed.
    """
    from conjury.analysis.report.paper.document_writing import check_ending, write_document
    from conjury.analysis.report.paper.methods_text import methods_of
    from conjury.inference.tables.writing import write_text

    check_ending(out)
    text, bibliography = methods_of(results)
    works = out.with_suffix(".bib")
    write_text(works, bibliography)
    write_document(text, out, bibliography)
    references = bibliography.count("\n@") + 1
    record(files=[out], references=references)
    console.print(f"Methods of {results} in {out}, {counted(references, 'reference')} in {works}.")
