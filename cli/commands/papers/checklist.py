"""The command ``conjury paper checklist``: reporting checklists of a study, filled as far as records go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...automation import record
from ...options import StudyName
from ...printing import console


def checklist(
    study: StudyName,
    results: Annotated[
        Path | None, typer.Option("--results", help="Results folder that `conjury fit` wrote.")
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Folder of the run of `conjury collect`.")] = None,
    out: Annotated[
        Path, typer.Option("--out", help="File: .md, .docx or .tex (the last two need the extra pdf).")
    ] = Path("checklist.md"),
) -> None:
    """Fill reporting checklists from the study and its results.

    With a datasheet per judge; from the study, its run and its results.
    """
    from conjury.analysis.report.paper.checklists import checklists_of, in_markdown
    from conjury.analysis.report.paper.checklists.study_checklists import count_states, states_in_words
    from conjury.analysis.report.paper.document_writing import check_ending, write_document

    from .paper_inputs import gather

    check_ending(out)
    facts = gather(study, run, results)
    checklists = checklists_of(facts)
    write_document(in_markdown(facts, checklists), out)
    items = [item for form in checklists for item in form.items]
    for form in checklists:
        states = count_states(form)
        counts = {"answered": states["done"], "planned": states["planned"], "items": len(form.items)}
        record(checklists={form.title: {**counts, "open": states["to state"] + states["author"]}})
        console.print(f"  {form.title}: {states_in_words(form)}")
    open_fields = sum(bool(item.author) for item in items)
    record(files=[out], open_fields=open_fields)
    console.print(f"{out}: {open_fields} fields are left for the author to complete.")
