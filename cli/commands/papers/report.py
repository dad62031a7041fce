"""The command ``conjury report``: a page on the results of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError

from ...options import ResultsPath, grouped
from ...printing import console, warn

Name = Annotated[
    str,
    typer.Argument(
        help="moderation, oogiri, multiturn, harm_or_humor, conjoint (any other conjoint), correction "
        "(estimates by --correct), raters (any judgments), benchmark (any labels with gold), diagnostics, "
        "checks, estimators, trials or published (checks of published tables)."
    ),
]


@dataclass(frozen=True)
class Page:
    """Which results a report shows, and where it goes."""

    results: ResultsPath = Path("results")
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("reports")
    to: Annotated[str, typer.Option("--to", help="html, or pdf (needs Quarto).")] = "html"


@grouped
def report(name: Name, page: Page) -> None:
    """Render a report from a results folder, with Quarto where it is installed."""
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.report.render import render, reports

    if name in reports() and not (page.results.is_dir() and ResultsFolder(page.results).manifest):
        raise InputError(
            f"{page.results} contains no results (manifest.json is missing); run `conjury fit` first or name "
            "another folder with --results."
        )
    rendered = render(name, page.results, page.out, page.to)  # type: ignore[arg-type]
    console.print(f"{rendered.message} It shows the results in {page.results}.")
    for warning in rendered.warnings:
        warn(f"Quarto warned: {warning}")
