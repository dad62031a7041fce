"""Checks of a conjoint's choices in a results folder, with reliability, standard errors and power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, did_you_mean

from ..options import Renames
from ..printing import draw_figures, save_figures, show_steps
from ..reading_options import FileReadingOptions
from .compare import ChoiceSelection, load_choices_of

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.checks import Check
    from conjury.analysis.checks.output.check_findings import Findings
    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.pipeline.runner import FittedResults
    from conjury.inference.study.models import Study

PREFIX = "check_"  # of the names of tables and figures


@dataclass(frozen=True)
class FittedChoices:
    """The choices of a conjoint whose results are added to."""

    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            help="Results folder that `conjury fit` wrote: its choices are checked, and checks, reliability, "
            "standard errors and detectable effects are added to it.",
        ),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option("--data", help="With --results: choices; by default those of the results folder."),
    ] = None
    rename: Renames = None
    weights: Annotated[
        str | None,
        typer.Option("--weights", help="With --results: column of weights, in place of the study's."),
    ] = None


@dataclass(frozen=True)
class CheckSettings:
    """Which checks are run on choices, at which level, and what is drawn."""

    codes: tuple[str, ...] | None
    ignore: Mapping[str, str]
    filters: Sequence[str] | None
    alpha: float
    seed: int
    figures: tuple[str, ...]


def check_results(
    name: str, chosen: FittedChoices, settings: CheckSettings, reading: FileReadingOptions
) -> Findings:
    """Check the choices of a conjoint and add what was found to its results folder."""
    from conjury.analysis.checks.check_runner import OF_CONJOINTS, run_checks
    from conjury.analysis.checks.output.check_findings import Findings
    from conjury.analysis.checks.output.check_results import summary
    from conjury.analysis.figures.labels import resolve_labels
    from conjury.analysis.numerics.intervals import check_alpha
    from conjury.analysis.pipeline.fitting import Addition, add_results
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.pipeline.wings.checks_in_folder import tables_of
    from conjury.inference.readers.collected import CollectedData
    from conjury.inference.readers.prepare import with_respondents
    from conjury.inference.study import load_study

    assert chosen.results is not None
    check_alpha(settings.alpha)
    study = with_respondents(load_study(name), chosen.weights, ())
    folder = ResultsFolder(chosen.results)
    if chosen.data is None and not folder.manifest:
        raise InputError(
            f"{chosen.results} contains no results (manifest.json is missing); run `conjury fit` first, or "
            "name the choices with --data."
        )
    selection = ChoiceSelection(chosen.results, chosen.data, rename=chosen.rename, weights=chosen.weights)
    loaded, source = load_choices_of(study, selection, reading)
    rows = loaded.variants[""]
    _check_filters(rows, settings.filters)
    codes = settings.codes or OF_CONJOINTS
    with show_steps(len(codes)) as step:
        checks = run_checks(
            CollectedData(study=study, choices=rows),
            checks=codes,
            ignore=settings.ignore,
            alpha=settings.alpha,
            seed=settings.seed,
            filters=settings.filters,
            progress=step,
        )
    fitted = _robustness(loaded, settings)
    parameters = {"alpha": settings.alpha, "seed": settings.seed}
    fitted.add("diagnosis", "Checks", summary(checks, parameters, "diagnosis"))
    recorded = {**parameters, "checks": [check.name for check in checks]}
    added = Addition("diagnosed", loaded, fitted, tables_of(checks, PREFIX), source, recorded)
    add_results(folder, added, partial(_draw, study, checks, settings.figures))
    return Findings(
        checks,
        study.title,
        sources=(name, str(chosen.data or chosen.results)),
        rows={"choices": len(rows)},
        alpha=settings.alpha,
        seed=settings.seed,
        labels=resolve_labels(study),
    )


def _check_filters(choices: pd.DataFrame, filters: Sequence[str] | None) -> None:
    stray = next((name for name in filters or () if name not in choices), None)
    if stray is not None:
        raise InputError(
            f"--filter {stray}: choices have no column {stray!r}{did_you_mean(stray, choices.columns)}; "
            "name the column of an attention check."
        )


def _robustness(loaded: LoadedStudy, settings: CheckSettings) -> FittedResults:
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
            return robustness(loaded.study, choices, alpha=settings.alpha, seed=settings.seed, progress=step)
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
        *save_figures(folder, drawings(checks, resolve_labels(study), PREFIX), quiet=True, formats=formats),
        *draw_figures(folder, part, quiet=True, formats=formats),
    ]
