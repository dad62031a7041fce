"""The command ``conjury diagnose``: checks of a conjoint's choices, with reliability and power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted, did_you_mean

from ..automation import record
from ..options import FigureFormats, StudyName, grouped
from ..printing import console, draw_figures, figure_formats, print_blocks, save_figures, show_steps
from ..reading_options import FileReadingOptions
from ..wishes import details
from .compare import ChoiceSelection, load_choices_of

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.checks import Check
    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.pipeline.runner import FittedResults
    from conjury.inference.study.models import Study

PREFIX = "check_"  # of the names of tables and figures


@dataclass(frozen=True)
class CheckedChoices(ChoiceSelection):
    """Which choices are checked."""

    judge: Annotated[str | None, typer.Option(help="Only this judge.")] = None
    prompt: Annotated[str | None, typer.Option(help="Only this prompt.")] = None


@dataclass(frozen=True)
class CheckingOptions:
    """How choices are checked."""

    filter: Annotated[
        list[str] | None,
        typer.Option(help="Column that records who passed an attention check; can be repeated."),
    ] = None
    alpha: Annotated[float, typer.Option("--alpha", help="Level of the tests.")] = 0.05
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random designs.")] = 1
    figures: FigureFormats = None


@grouped
def diagnose(
    study: StudyName, choices: CheckedChoices, checking: CheckingOptions, reading: FileReadingOptions
) -> None:
    """Check a conjoint's choices and their reliability.

    Adds standard errors, reliability and detectable effects to the results.
    """
    from conjury.analysis.checks.check_runner import OF_CONJOINTS
    from conjury.analysis.checks.check_runner import diagnose as run_checks
    from conjury.analysis.checks.output.check_findings import Findings
    from conjury.analysis.checks.output.check_findings import record as record_of
    from conjury.analysis.checks.output.check_results import summary
    from conjury.analysis.checks.output.checks_text import further_lines, lines
    from conjury.analysis.figures.labels import resolve_labels
    from conjury.analysis.numerics.intervals import check_alpha
    from conjury.analysis.pipeline.fitting import Addition, add_results
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.pipeline.wings.checks_in_folder import tables_of
    from conjury.inference.readers.prepare import with_respondents
    from conjury.inference.study import load_study

    check_alpha(checking.alpha)
    formats = figure_formats(checking.figures)
    loaded_study = with_respondents(load_study(study), choices.weights, ())
    folder = ResultsFolder(choices.results)
    if choices.data is None and not folder.manifest:
        raise InputError(
            f"{choices.results} contains no results (manifest.json is missing); run `conjury fit` first, or "
            "name the choices with --data."
        )
    loaded, source = load_choices_of(loaded_study, choices, reading)
    rows = loaded.variants[""]
    _check_filters(rows, checking.filter)
    with show_steps(len(OF_CONJOINTS)) as step:
        checks = run_checks(
            loaded_study,
            rows,
            alpha=checking.alpha,
            seed=checking.seed,
            filters=checking.filter,
            progress=step,
        )
    fitted = _robustness(loaded, checking)
    reach = dict(fitted.tables)
    settings = {"alpha": checking.alpha, "seed": checking.seed}
    fitted.add("diagnosis", "Checks", summary(checks, settings, "diagnosis"))
    tables = tables_of(checks, PREFIX)
    parameters = {**settings, "checks": [check.name for check in checks]}
    added = Addition("diagnosed", loaded, fitted, tables, source, parameters)
    add_results(folder, added, partial(_draw, loaded_study, checks, formats))
    findings = Findings(
        checks,
        loaded_study.title,
        rows={"choices": len(rows)},
        alpha=checking.alpha,
        seed=checking.seed,
        labels=resolve_labels(loaded_study),
    )
    record(results=choices.results, findings=record_of(findings))
    record(rows={name: len(table) for name, table in reach.items()})
    print_blocks(lines(findings))
    with details():
        print_blocks(further_lines(findings))
        for name, table in reach.items():
            console.print(f"  {name}: {counted(len(table), 'row')}")
    console.print(
        f"Tables and figures of {sum(check.figure for check in checks)} checks in {choices.results}; render "
        f"them with `conjury report diagnostics --results {choices.results}`."
    )


def _check_filters(choices: pd.DataFrame, filters: Sequence[str] | None) -> None:
    stray = next((name for name in filters or () if name not in choices), None)
    if stray is not None:
        raise InputError(
            f"--filter {stray}: choices have no column {stray!r}{did_you_mean(stray, choices.columns)}; "
            "name the column of an attention check."
        )


def _robustness(loaded: LoadedStudy, checking: CheckingOptions) -> FittedResults:
    """Standard errors under every choice, reliability and detectable effects, or why there are none."""
    from conjury.analysis.frames.notes import Note
    from conjury.analysis.pipeline.manifest import NO_ROBUSTNESS
    from conjury.analysis.pipeline.robustness_steps import robustness
    from conjury.analysis.pipeline.runner import FittedResults
    from conjury.inference.readers.prepare import judge_of
    from conjury.inference.study.models import Study as Conjoint

    assert isinstance(loaded.study, Conjoint)
    choices = loaded.variants[""]
    with show_steps(judge_of(choices).nunique() + 1) as step:
        try:
            return robustness(loaded.study, choices, alpha=checking.alpha, seed=checking.seed, progress=step)
        except InputError as error:
            text = "Standard errors, reliability and power were not estimated: {error}"
            return FittedResults([], [Note(text, {"error": error.args[0]}, kind=NO_ROBUSTNESS)])


def _draw(
    study: Study, checks: Sequence[Check], formats: tuple[str, ...], folder: Path, part: str
) -> list[str]:
    """Draw every check that has numbers, and the results on standard errors, reliability and power."""
    from conjury.analysis.checks.output.check_results import drawings
    from conjury.analysis.figures.labels import resolve_labels

    return [
        *save_figures(folder, drawings(checks, resolve_labels(study), PREFIX), formats=formats),
        *draw_figures(folder, part, formats=formats),
    ]
