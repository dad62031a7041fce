"""The command ``conjury report``: a page on the results of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...automation import record
from ...options import ResultsPath, grouped, not_a_file
from ...printing import console, show_count, warn

Name = Annotated[
    str,
    typer.Argument(
        help="moderation, oogiri, multiturn, harm_or_humor, conjoint (any other conjoint), correction "
        "(estimates by --correct), raters (any judgments), benchmark (any labels with gold), diagnostics, "
        "checks, estimators, trials or published (checks of published tables)."
    ),
]


@dataclass(frozen=True)
class ReportPage:
    """Which results a report shows, and where it goes."""

    results: ResultsPath = Path("results")
    out: Annotated[Path, typer.Option("--out", callback=not_a_file, help="Folder for the report.")] = Path(
        "reports"
    )
    to: Annotated[
        str, typer.Option("--to", help="html, pdf (with Quarto, or the extra pdf), or html,pdf.")
    ] = "html"
    full: Annotated[
        bool, typer.Option("--full", help="The report and its supplement in one file, not in two.")
    ] = False
    registered: Annotated[
        Path | None,
        typer.Option(
            help="The .json of `conjury paper preregister`: the report lists deviations from it; by default "
            "preregistration.json in the results folder or next to the study."
        ),
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(help="With a registration: run with the registered design; by default runs/STUDY."),
    ] = None


@grouped
def report(name: Name, page: ReportPage) -> None:
    """Render a report of results, with a supplement.

    From a results folder, with Quarto where it is installed. The report has the finding, its key figure and
    table, its limits and methods; the supplement, REPORT-supplement beside it, has everything else.
    """
    from conjury.analysis.report.render import render, renderable

    renderable(name, page.results, page.to)
    _compare(page.results, page.registered, page.run)
    with show_count("Parts of the report") as watch:
        rendered = render(name, page.results, page.out, page.to, page.full, watch)
    record(results=page.results, report=rendered.path, files=list(rendered.files), renderer=rendered.renderer)
    record(warnings=list(rendered.warnings))
    console.print(f"{rendered.message} It shows the results in {page.results}.")
    for warning in rendered.warnings:
        warn(f"Quarto warned: {warning}")


def _compare(results: Path, registered: Path | None, run: Path | None) -> None:
    """Add a comparison with a registration to the results, where there is one."""
    from conjury.analysis.frames.analysis_wings import WINGS

    compare = WINGS.get("deviations") if registered is None else WINGS.find("deviations")
    comparison = None if compare is None else compare(results, registered, run)
    if comparison is not None:
        verdicts = comparison.result.frame["verdict"].value_counts().to_dict()
        record(registered=comparison.path, verdicts=verdicts)
        console.print(f"Compared with {comparison.path}: {comparison.sentence}")
