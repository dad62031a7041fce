"""The command ``conjoint``: from an export of a conjoint survey to effects, marginal means and figures."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, listed

from ...automation import record
from ...options import Alpha, grouped, read_pairs, split_names, typed_options
from ...printing import console, print_account, print_table
from ...reading_options import TableOptions
from ...wishes import details

if TYPE_CHECKING:
    from conjury.analysis.conjoint.verbs.survey_effects import SurveyEffects

FIGURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class SurveyColumns:
    """Which columns a conjoint consists of."""

    outcome: Annotated[
        str | None,
        typer.Option(help="Column of the outcome: chosen as 0 or 1, the chosen profile, or a rating."),
    ] = None
    task: Annotated[str | None, typer.Option(help="Column of the task; else guessed.")] = None
    profile: Annotated[str | None, typer.Option(help="Column of the profile in its task; else guessed.")] = (
        None
    )
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attributes", help="Columns of attributes, COL[,COL...]; else guessed."),
    ] = None
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", help="Reference level, as ATTRIBUTE=LEVEL; can be repeated."),
    ] = None
    weights: Annotated[str | None, typer.Option("--weights", help="Column of survey weights.")] = None
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Column of subgroups of respondents; can be repeated.")
    ] = None
    cut: Annotated[
        list[str] | None,
        typer.Option(
            "--cut", help="Groups of numbers of --by, as COLUMN=30,50 (below 30, 30 to below 50, 50 or more)."
        ),
    ] = None

    def limits(self) -> dict[str, list[float]]:
        """The limits between groups of each column of numbers."""
        try:
            pairs = read_pairs("--cut", self.cut)
            return {name: [float(limit) for limit in text.split(",")] for name, text in pairs.items()}
        except ValueError:
            raise InputError(f"--cut {listed(self.cut or (), 2)}: give numbers, as COLUMN=30,50.") from None


@dataclass(frozen=True)
class SurveyOutput:
    """Where results go."""

    alpha: Alpha = 0.05
    vcov: Annotated[
        str, typer.Option("--vcov", help="Standard errors: survey, CR1, CR1S, CR2 (few respondents), CV3.")
    ] = "survey"
    figure: Annotated[Path | None, typer.Option(help="Write the figure (.png, .svg, .pdf).")] = None
    html: Annotated[Path | None, typer.Option("--html", help="Write one HTML page with figures.")] = None
    table: Annotated[
        Path | None, typer.Option(help="Write all estimates as a table (.csv, .parquet, .tex for LaTeX).")
    ] = None
    draft_study: Annotated[
        Path | None,
        typer.Option("--draft-study", help="Draft a study file, for `conjury fit`."),
    ] = None


@grouped
def conjoint(
    file: Annotated[
        Path,
        typer.Argument(
            help="Any table (see `conjury read`) with a row per profile, task or respondent; - for standard "
            "input.",
            show_default=False,
        ),
    ],
    columns: SurveyColumns,
    reading: TableOptions,
    output: SurveyOutput,
) -> None:
    """Estimate the effects of a conjoint survey from its export.

    AMCEs and marginal means, with a table, a figure and a drafted study.

    Exit code 0: done; 2: the file or an option cannot be used.
    """
    from conjury.analysis.conjoint.verbs.survey_effects import survey_effects
    from conjury.analysis.conjoint.verbs.survey_report import summary, tables
    from conjury.analysis.figures.labels import LevelLabels
    from conjury.analysis.report.exhibits.conjoint.conjoint_basis import in_points
    from conjury.analysis.report.finding import largest_effects_table
    from conjury.analysis.report.method_sentences import bounds_name
    from conjury.inference.readers.conjoints import read_conjoint

    _refuse_endings(output)
    by = split_names(columns.by)
    survey = read_conjoint(
        file,
        replace(reading.rules(), weights=columns.weights),
        outcome=columns.outcome,
        task=columns.task,
        profile=columns.profile,
        attributes=split_names(columns.attributes),
        references=read_pairs("--reference", columns.reference),
        further_roles=[name for name in (columns.weights, *by) if name],
    )
    effects = survey_effects(
        survey,
        weights=columns.weights,
        by=by,
        cut=columns.limits(),
        vcov=output.vcov,
        alpha=output.alpha,
    )
    print_account(survey.account)
    console.print()
    for sentence in summary(effects):
        console.print(sentence)
    for note in effects.notes:
        console.print(f"  Note: {note}")
    amce = effects.results["amce"]
    largest = largest_effects_table(
        amce.frame,
        LevelLabels(effects.labels),
        bounds_name(amce.settings, frame=amce.frame),
        in_points=in_points(amce),
    )
    if largest is not None:
        print_table(largest)
    with details():
        for table in tables(effects):
            console.print()
            print_table(table)
    record(
        source=survey.source,
        account=survey.account.as_records(),
        respondents=effects.n_respondents,
        tasks=survey.tasks,
        profiles=survey.profiles,
        rows=effects.n_rows,
        outcome=survey.outcome,
        references={name: str(survey.frame[name].cat.categories[0]) for name in survey.attributes},
        restrictions=survey.empty_pairs,
        design_effect=effects.design_effect,
        estimates={name: result.frame for name, result in effects.results.items()},
        notes=list(effects.notes),
    )
    if output.draft_study is not None:
        _draft(effects, output)
    _write(effects, output, f"Conjoint survey {Path(survey.source).name}")


def _draft(effects: SurveyEffects, output: SurveyOutput) -> None:
    """Write a study file and the choices that `conjury fit` takes with it."""
    from conjury.inference.readers.conjoints.study_draft import draft_of
    from conjury.inference.tables.files import write_table
    from conjury.inference.tables.writing import write_text

    draft, survey = output.draft_study or Path(), effects.table
    choices = draft.with_name(f"{draft.stem}_choices.parquet")
    for path in (draft, choices):
        if path.exists():
            raise InputError(f"{path} exists and is not overwritten; give another file.")
    content = draft_of(survey)
    draft.parent.mkdir(parents=True, exist_ok=True)
    write_text(draft, content.study("survey", Path(survey.source).name))
    write_table(content.choices, choices)
    record(files=[draft, choices])
    words = ["conjury", "fit", str(draft), "--data", str(choices)]
    words += ["--weights", effects.weights] if effects.weights else []
    words += [word for name in effects.by for word in ("--by", name)]
    typed = typed_options(output)
    words += [
        word for name in ("vcov", "alpha") if name in typed for word in (typed[name], f"{vars(output)[name]}")
    ]
    console.print(f"\nDraft of the study in {draft}; continue with `{shlex.join(words)}`.")


def _refuse_endings(output: SurveyOutput) -> None:
    """Refuse files of another kind before anything is computed."""
    of_papers = " Tables for Word: --draft-study, `conjury fit`, `conjury tables`."
    for option, path, endings, hint in (
        ("--figure", output.figure, FIGURES, ""),
        ("--html", output.html, (".html", ".htm"), ""),
        ("--table", output.table, (".csv", ".csv.gz", ".parquet", ".tex"), of_papers),
    ):
        if path is not None and not path.name.lower().endswith(endings):
            raise InputError(f"{option} {path}: name a file that ends in {' or '.join(endings)}.{hint}")


def _write(effects: SurveyEffects, output: SurveyOutput, title: str) -> None:
    """Write the figure, the page and the table that are asked for."""
    from conjury.analysis.conjoint.verbs.survey_report import figure_heading, to_page
    from conjury.analysis.figures.figure_registry import draw
    from conjury.analysis.figures.theme import save
    from conjury.inference.tables.files import write_table
    from conjury.inference.tables.writing import write_text

    if output.figure is not None:
        of_groups = next((name for name in effects.results if name.startswith("amce_by")), "amce")
        title, subtitle = figure_heading(effects, of_groups)
        figure = draw(effects.results[of_groups], labels=effects.labels, title=title, subtitle=subtitle)
        (written,) = save(figure, output.figure.with_suffix(""), formats=(output.figure.suffix.lower()[1:],))
        console.print(f"\nFigure: {written}")
        record(files=[written])
    if output.html is not None:
        write_text(output.html, to_page(effects, title, effects.table.account.lines(30)))
        console.print(f"\nPage with figures: {output.html}")
        record(files=[output.html])
    if output.table is not None:
        written_table = effects.estimates()
        if output.table.suffix.lower() == ".tex":
            write_text(output.table, effects.to_latex())
        else:
            write_table(written_table, output.table)
        console.print(f"\n{len(written_table):,} estimates in {output.table}")
        record(files=[output.table])
