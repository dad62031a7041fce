"""The command ``conjury view``: transcripts of runs in the browser or as one file, and blind labelling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, require_installed
from conjury.inference.panel.view import LIMIT, MOST

from ..automation import record
from ..options import SERVER, at_most, grouped
from ..printing import console

if TYPE_CHECKING:
    from conjury.inference.panel.view.filters import CheckAlarm

EVIDENCE = "_evidence"
CHECKED = "checked_"  # begins the names of tables of `conjury check --out`
NEEDED = (
    "conjury view needs {missing} to serve pages, which is not installed; run "
    "`pip install 'conjury[panel]'`, or write a file with --html FILE."
)

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help="Folder of a run or of people's tables, or a study (for runs/STUDY). Several are shown "
        "together.",
    ),
]


@dataclass(frozen=True)
class Viewing:
    """What is shown, and where."""

    study: Annotated[
        str | None, typer.Option(help="Study that ships, or a study.yaml, where it cannot be inferred.")
    ] = None
    filter: Annotated[
        list[str] | None,
        typer.Option(
            help="Only some answers: judges, people, flips, prompts or samples (answers that differ between "
            "these), a status, judge=..., prompt=..., task=..., text=..., value=..., check=CODE, or an "
            "attribute or field, such as topic=sport. Can be repeated."
        ),
    ] = None
    checks: Annotated[
        list[Path] | None,
        typer.Option(help="Results folder of `conjury check --out`; by default one in the folder of a run."),
    ] = None
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one HTML file instead of serving pages.")
    ] = None
    most: Annotated[
        int, typer.Option(min=1, help="With --html: maximum number of transcripts.", callback=at_most(LIMIT))
    ] = MOST
    label: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Label blind under this name: tasks of a run or, with a table in place of RUN, the rows "
            "that `conjury label` draws. Resumes earlier labelling.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order in which tasks are labelled.")] = 1
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.")] = 0


@grouped
def view(runs: Runs, viewing: Viewing) -> None:
    """Show the transcripts of a run, or label them blind.

    In the browser, with filters.
    """
    if viewing.html is not None and viewing.label is not None:
        raise InputError("--html writes a file, but labelling requires served pages; omit --html or --label.")
    if viewing.html is None:
        require_installed(SERVER, NEEDED)
    if viewing.label is not None and len(runs) == 1 and _is_table(Path(runs[0])):
        _label_rows(Path(runs[0]), viewing.label, viewing.port)
        return
    from conjury.inference.panel.view.filters import Collection, Query, read_filters
    from conjury.inference.panel.view.run_sources import open_sources
    from conjury.inference.panel.view.viewed_answers import gather

    sources = open_sources(runs, viewing.study)
    try:
        roots = [run.root.resolve() for run in sources.runs]
        if viewing.checks:
            fired = [
                check
                for folder in viewing.checks
                for check in _checks_with_evidence(folder, _run_of(folder, roots), named=True)
            ]
        else:
            fired = [
                check
                for run, root in enumerate(roots)
                for check in _checks_with_evidence(root, run, named=False)
            ]
        collection = Collection(sources, gather(sources.runs), tuple(fired))
        filters = read_filters(viewing.filter or (), collection)
        if viewing.html is not None:
            from conjury.inference.panel.view.one_file import sentence, write_file

            n_written = write_file(collection, viewing.html, Query(filters), viewing.most)
            record(transcripts=n_written, notes=list(sources.notes))
            console.print(sentence(n_written, viewing.html, runs))
            for note in sources.notes:
                console.print(f"  Note: {note}")
            return
        from conjury.inference.panel.view.view_server import serve

        serve(
            collection,
            viewing.port,
            filters=filters,
            label=viewing.label,
            seed=viewing.seed,
            say=console.print,
        )
    finally:
        sources.close()


def _is_table(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() not in (".yaml", ".yml")


def _label_rows(path: Path, name: str, port: int) -> None:
    """Serve the rows of a table that `conjury label` draws."""
    from conjury.inference.panel.view.row_labelling import serve_rows

    from ..reading_options import TableOptions
    from .judges.label_command import LabelColumns, LabelSession, open_labelling, report_labels
    from .judges.queued_rows import QueuedRows

    queue, close = open_labelling(path, LabelColumns(), TableOptions(), LabelSession(annotator=name))
    try:
        serve_rows(QueuedRows(queue, name), port, console.print)
    finally:
        close()
    report_labels(queue, path)


def _run_of(folder: Path, roots: Sequence[Path]) -> int | None:
    """Number of the run in whose folder a results folder is; None where it is in none or several."""
    place = folder.resolve()
    run_numbers = [number for number, root in enumerate(roots) if place.is_relative_to(root)]
    return run_numbers[0] if len(run_numbers) == 1 else None


def _checks_with_evidence(folder: Path, run: int | None, named: bool) -> Iterator[CheckAlarm]:
    """Yield the checks of a run with evidence in a results folder, or in one below the folder of the run."""
    places = [folder] if named else [folder, *sorted(path for path in folder.glob("*/") if path.is_dir())]
    batteries = [place / "tables" / "battery.parquet" for place in places]
    files = [battery for battery in batteries if battery.is_file()]
    if named and not files:
        raise InputError(
            f"--checks {folder} contains no checks (tables/battery.parquet); write them with "
            f"`conjury check RUN --out {folder}`."
        )
    if not files:
        return
    from conjury.analysis.figures.note_labels import texts_in_words
    from conjury.analysis.pipeline.manifest import results_of
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.report.report_data import labels_of
    from conjury.inference.panel.view.filters import CheckAlarm
    from conjury.inference.tables.files import read_table

    for battery in files:
        manifest = ResultsFolder(battery.parent.parent).manifest
        settings = next((each.settings for each in results_of(manifest) if each.name == "battery"), {})
        table = texts_in_words(read_table(battery), settings, labels_of(manifest))
        for row in table.to_dict("records"):
            path = battery.with_name(f"{CHECKED}{row['name']}{EVIDENCE}.parquet")
            if path.is_file():
                code, title, finding = (str(row[name]) for name in ("code", "title", "finding"))
                yield CheckAlarm(code, title, finding, read_table(path), run)
