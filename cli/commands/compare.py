"""The command ``conjury compare``: one analysis by several engines, added to a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError

from ..automation import record
from ..options import Alpha, Renames, ResultsPath, StudyName, grouped, read_pairs
from ..printing import console
from ..reading_options import FileReadingOptions

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis


@dataclass(frozen=True)
class ChoiceSelection:
    """Which choices are analysed."""

    results: ResultsPath = Path("results")
    data: Annotated[
        Path | None, typer.Option("--data", help="Choices; by default those of the results folder.")
    ] = None
    judge: Annotated[str | None, typer.Option(help="Judge; by default the first.")] = None
    prompt: Annotated[str | None, typer.Option(help="Prompt; by default the first.")] = None
    rename: Renames = None
    weights: Annotated[
        str | None, typer.Option("--weights", help="Column of survey weights, in place of the study's.")
    ] = None


@dataclass(frozen=True)
class Comparing:
    """What is compared."""

    engines: Annotated[
        str, typer.Option(help="Engines, separated by commas; the first is the reference.")
    ] = "native,survey,cregg,statsmodels,linearmodels"
    analysis: Annotated[str | None, typer.Option(help="Analysis; by default the first.")] = None
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="Column of subgroups of respondents, in place of the study's; the first by it is compared.",
        ),
    ] = None
    alpha: Alpha = 0.05


@grouped
def compare(
    study: StudyName, choices: ChoiceSelection, comparing: Comparing, reading: FileReadingOptions
) -> None:
    """Run one analysis with several engines.

    Their differences are written to the results folder.
    """
    from conjury.analysis.pipeline.engine_comparison import compare_engines
    from conjury.analysis.pipeline.fitting import Addition, add_results
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.pipeline.runner import FittedResults
    from conjury.analysis.pipeline.steps.group_fits import groups
    from conjury.inference.readers.prepare import with_respondents
    from conjury.inference.study import load_study

    loaded_study = with_respondents(
        load_study(study), choices.weights, [comparing.by] if comparing.by else ()
    )
    folder = ResultsFolder(choices.results)
    loaded, source = load_choices_of(loaded_study, choices, reading)
    group = next(groups(loaded.variants), None)
    if group is None:
        raise InputError("The choices contain only repeated tasks, so no estimates can be compared.")
    analysis = _analysis_of(loaded_study, comparing)
    engines = [name.strip() for name in comparing.engines.split(",") if name.strip()]
    console.print(
        f"{analysis.title}: {group.judge} {group.prompt}, {len(group.choices):,} rows of "
        f"{choices.data or choices.results}"
    )
    result = compare_engines(loaded_study, analysis, group, engines, comparing.alpha)
    summary = result.extra["summary"]
    fitted = FittedResults()
    fitted.add("engines", analysis.title, result)
    ran = [str(name) for name in summary.loc[summary["available"], "engine"]]
    added = Addition("compared", loaded, fitted, source=source, engines=ran)
    add_results(folder, added, lambda *args: [])
    record(results=choices.results, rows=len(group.choices), summary=summary, differences=result.frame)
    _print_summary(summary)
    console.print(
        f"Comparison in {choices.results / 'tables'}; render it with `conjury report estimators --results "
        f"{choices.results}`."
    )


def _analysis_of(study: Study, comparing: Comparing) -> Analysis:
    """The analysis that is named, else the first, of --by the first by that column."""
    if comparing.analysis is not None:
        return study.analysis(comparing.analysis)
    analyses = [part for part in study.analyses if comparing.by is None or part.by == [comparing.by]]
    if not analyses:
        raise InputError(
            f"--by {comparing.by}: no analysis of study {study.name} takes subgroups; omit it, or add one."
        )
    return analyses[0]


def load_choices_of(
    study: Study, choices: ChoiceSelection, reading: FileReadingOptions
) -> tuple[LoadedStudy, dict[str, object]]:
    """Read choices from a file, or those of a folder, with what manifests record of them."""
    from conjury.analysis.pipeline.loading import FileSelection, read_choices_of, stored_choices
    from conjury.analysis.pipeline.results_folder import ResultsFolder

    renames = read_pairs("--rename", choices.rename)
    selection = FileSelection(renames, reading.rules(), judge=choices.judge, prompt=choices.prompt)
    if choices.data is not None:
        loaded = read_choices_of(study, [choices.data], None, selection)
        return loaded, loaded.source()
    loaded = stored_choices(study, choices.results, selection)
    files = ResultsFolder(choices.results).manifest.get("data", [])
    return loaded, {**loaded.source(), "data": [file for file in files if file.get("variant") == ""]}


def _print_summary(summary: pd.DataFrame) -> None:
    for row in summary.itertuples():
        if row.available:
            estimate, error = row.max_abs_difference_estimate, row.max_rel_difference_std_error
            console.print(
                f"  {row.engine:13} {row.seconds:8.3f} s   estimates within {estimate:.1e}"
                f"   standard errors within {error:.1e} (relative)"
            )
        else:
            console.print(f"  {row.engine:13} not available: {row.note}")
