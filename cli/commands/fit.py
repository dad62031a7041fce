"""The command ``conjury fit``: all analyses of a study on its data, into a results folder."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError, counted
from conjury.inference.tables.limits import DRAWS

from ..automation import record
from ..options import (
    Alpha,
    FigureFormats,
    Renames,
    StudyName,
    at_most,
    grouped,
    not_a_file,
    read_pairs,
    refuse_typed,
    split_names,
)
from ..printing import console, print_finding, print_notes, print_place, show_steps
from ..reading_options import FileReadingOptions
from ..wishes import details

if TYPE_CHECKING:
    from conjury.analysis.correction.correction_methods import CovariateAdjustment, PredictThenDebias
    from conjury.analysis.pipeline.fitting import PlannedFit, Tables
    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.pipeline.runner import FittedResults
    from conjury.inference.study.models import ItemStudy, Study

Data = Annotated[
    list[Path] | None,
    typer.Option(
        "--data", help="Table of answers, in any format of `conjury read`; repeat to stack several."
    ),
]

CORRECTIONS = ("ppi", "covariate")
OF_CONJOINT = ("variant", "id", "vcov", "outcome", "judge", "prompt", "engine", "interval", "weights", "by")


@dataclass(frozen=True)
class FitFiles:
    """Which data are read, and where results go."""

    out: Annotated[
        Path, typer.Option("--out", callback=not_a_file, help="Results folder; created if missing.")
    ] = Path("results")
    variant: Annotated[
        list[str] | None, typer.Option(help="A second version of the data as NAME=FILE; can be repeated.")
    ] = None
    rename: Renames = None
    judge: Annotated[
        str | None,
        typer.Option(help="Only this judge, or the name of the only judge in a file without a judge column."),
    ] = None
    prompt: Annotated[
        str | None,
        typer.Option(
            help="Only this prompt, or the name of the only prompt in a file without a prompt column."
        ),
    ] = None
    items: Annotated[
        Path | None, typer.Option("--items", help="Items of a study of items, with their strata.")
    ] = None
    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="Gold labels (item_id, label_set, label); by default the study's."),
    ] = None
    reading: Annotated[
        list[Path] | None,
        typer.Option("--reading", help="The same answers parsed by another rule; can be repeated."),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this analysis, by the name of its table; of several with commas, those that the data "
            "allow. Can be repeated."
        ),
    ] = None
    figures: FigureFormats = None


@dataclass(frozen=True)
class EstimationOptions:
    """How analyses are fitted."""

    engine: Annotated[str, typer.Option(help="native, survey, cregg, statsmodels or linearmodels.")] = (
        "native"
    )
    id: Annotated[
        list[str] | None,
        typer.Option(help="Cluster column in place of the study's; repeat it for crossed clusters."),
    ] = None
    vcov: Annotated[
        str | None,
        typer.Option(help="Standard errors: survey (as cregg), CR0, CR1, CR1S, CR2, CV3, HC0 to HC3."),
    ] = None
    alpha: Alpha = 0.05
    draws: Annotated[
        int | None, typer.Option(help="Bootstrap draws; 0 for none.", callback=at_most(DRAWS))
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 1
    interval: Annotated[str, typer.Option(help="percentile, basic, bca or studentized.")] = "percentile"
    outcome: Annotated[
        str | None, typer.Option(help="Outcome of the analyses: chosen, or probability (of being chosen).")
    ] = None
    weights: Annotated[
        str | None, typer.Option("--weights", help="Column of survey weights, in place of the study's.")
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", help="Column of subgroups of respondents, in place of the study's; can be repeated."
        ),
    ] = None
    epsilon: Annotated[
        float,
        typer.Option(help="Margin of the replacement test: 0.1 crowd, 0.15 skilled people, 0.2 experts."),
    ] = 0.1


@dataclass(frozen=True)
class CorrectionOptions:
    """Estimates among people, made more precise by models."""

    correct: Annotated[
        str | None,
        typer.Option(
            help="Correct estimates among people by answers of models, for more precision: ppi uses answers "
            "to people's tasks and to others; covariate uses answers to people's tasks alone."
        ),
    ] = None
    human: Annotated[
        list[str] | None,
        typer.Option(
            help="With --correct: people whose answers are corrected, a panel or judge; by "
            "default all; can be repeated."
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option(help="With --correct: models that are used; by default all; can be repeated."),
    ] = None
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="With --correct ppi: use a monotone map of models' answers to people's, too.",
        ),
    ] = False

    @property
    def method(self) -> PredictThenDebias | CovariateAdjustment | None:
        """The method of the correction; None without one."""
        from conjury.analysis.correction.correction_methods import CovariateAdjustment, PredictThenDebias

        if self.correct is None:
            refuse_typed("applies to --correct; give both, or omit it.", self)
            return None
        if self.correct not in CORRECTIONS:
            raise InputError(
                f"--correct {self.correct}: there is no such correction; use {' or '.join(CORRECTIONS)}."
            )
        raters: dict[str, Any] = {
            name: tuple(names) for name in ("human", "model") if (names := getattr(self, name))
        }
        if self.correct == CORRECTIONS[0]:
            return PredictThenDebias(**raters, calibration=self.calibration)
        refuse_typed("applies to --correct ppi; omit it.", self, only=("calibration",))
        return CovariateAdjustment(**raters)


@grouped
def fit(
    study: StudyName,
    files: FitFiles,
    fitting: EstimationOptions,
    correcting: CorrectionOptions,
    reading: FileReadingOptions,
    data: Data = None,
) -> None:
    """Run a study's analyses: tables, figures, the finding.

    They are run on choices or judgments, and a manifest says how.
    """
    from conjury.analysis.pipeline.fitting import add_notes, fit_manifest, work_of, write_fit
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.pipeline.runner import FitOptions
    from conjury.inference.readers.prepare import with_respondents
    from conjury.inference.study import load_any_study
    from conjury.inference.study.models import ItemStudy

    from ..printing import draw_figures, figure_formats

    formats, loaded_study = figure_formats(files.figures), load_any_study(study)
    if not data:
        raise InputError(
            "--data is missing; give the table of answers, as `conjury collect` or `conjury import` wrote it."
        )
    _refuse_stray(loaded_study, files, fitting, correcting, reading)
    settings = vars(fitting) | {"id": tuple(fitting.id or ()), "correct": correcting.method}
    outcome, weights, by = (settings.pop(name) for name in ("outcome", "weights", "by"))
    if not isinstance(loaded_study, ItemStudy):
        loaded_study = with_respondents(loaded_study, weights, split_names(by))
    options = FitOptions(**settings)
    loaded = _load(loaded_study, data, files, reading).about(outcome)
    loaded.require("--id", options.id)
    work = work_of(loaded, options, files.gold, files.reading or ()).limited(
        [split_names([text]) for text in files.only or ()]
    )
    _print_plan(work)
    folder = ResultsFolder(files.out)
    before = folder.origin
    with folder.replaced(work.loaded.paths) as draft:
        with show_steps(len(work.plan.steps)) as step:
            fitted, extra_tables = work.run(step)
        manifest = fit_manifest(work, fitted, options.engine)
        write_fit(draft, work.loaded, fitted.tables | extra_tables, manifest)
        _print_tables(work, fitted, extra_tables)
        figure_notes = draw_figures(draft.path, "fit", formats=formats)
        add_notes(draft, figure_notes)
    # notes on single results of items are many; reports print them with the results
    notes = [*manifest["notes"], *(fitted.all_notes if work.groups else ()), *figure_notes]
    print_notes(list(dict.fromkeys(notes)), files.out)
    print_place(files.out, before)
    print_finding(files.out)


def _refuse_stray(
    study: Study | ItemStudy,
    files: FitFiles,
    fitting: EstimationOptions,
    correcting: CorrectionOptions,
    reading: FileReadingOptions,
) -> None:
    """Refuse options that the kind of study does not take."""
    from conjury.analysis.pipeline.fitting import has_gold
    from conjury.inference.study.models import ItemStudy

    of_labels = files.gold is not None or bool(files.reading)
    if not isinstance(study, ItemStudy):
        if of_labels:
            raise InputError(
                "--gold and --reading apply to studies of labels, and this is a conjoint; omit them."
            )
        if correcting.correct and fitting.outcome not in (None, study.outcome):
            raise InputError(
                f"--correct needs choices of people, and --outcome {fitting.outcome} applies to models only; "
                "omit one of the two."
            )
        return
    reason = f"applies to conjoint studies, and {study.name} is a study of items; omit it."
    refuse_typed(reason, files, fitting, only=OF_CONJOINT)
    refuse_typed(f"does not apply to {study.name}, whose labels are in its file.", reading, only=("levels",))
    if correcting.correct not in (None, "ppi"):
        raise InputError(
            f"--correct {correcting.correct} applies to conjoint studies, and {study.name} is a study of "
            "items; use --correct ppi."
        )
    if of_labels and not has_gold(study, files.gold):
        raise InputError(
            f"--gold and --reading apply to studies of labels, and {study.name} is not one; omit them."
        )


def _load(
    study: Study | ItemStudy, data: list[Path], files: FitFiles, reading: FileReadingOptions
) -> LoadedStudy:
    from conjury.analysis.pipeline.loading import FileSelection, read_choices_of, read_judgments_of
    from conjury.inference.study.models import ItemStudy

    renames = read_pairs("--rename", files.rename)
    if isinstance(study, ItemStudy):
        return read_judgments_of(study, data, files.items, FileSelection(renames, reading.rules()))
    variants = {name: Path(file) for name, file in read_pairs("--variant", files.variant).items()}
    selection = FileSelection(renames, reading.rules(), judge=files.judge, prompt=files.prompt)
    return read_choices_of(study, data, variants, selection)


def _print_plan(work: PlannedFit) -> None:
    """Print how much there is to compute."""
    loaded = work.loaded
    steps = counted(len(work.plan.steps), "analysis", "analyses")
    if work.groups:
        rows = f"{sum(map(len, loaded.variants.values())):,} rows"
        unit = "judge and prompt" if len(work.groups) == 1 else "combinations of judge, prompt and variant"
        data = f"{rows}, {len(work.groups)} {unit}"
    else:
        data = f"{len(loaded.judgments):,} judgments"
        if "labels" in loaded.tables:
            data += f", {len(loaded.tables['labels']):,} gold labels"
    title = work.described["title"]
    record(title=title, analyses=len(work.plan.steps), groups=len(work.groups), draws=work.draws)
    console.print(f"{title}: {data}, {steps}, {work.draws:,} bootstrap draws each.")


def _print_tables(work: PlannedFit, fitted: FittedResults, extra_tables: Tables) -> None:
    """Print the rows of each table, how many groups an analysis could not use, and what models add."""
    from conjury.analysis.figures.labels import ColumnNames
    from conjury.analysis.report.exhibits.conjoint.bounds_exhibit import summary as of_bounds
    from conjury.analysis.report.exhibits.correction_exhibits import summary
    from conjury.analysis.report.report_data import CORRECTIONS, labels_of

    group_counts = {
        name: len(result.settings["groups"])
        for name, result in fitted.by_name.items()
        if work.groups
        and "groups" in result.settings
        and result.kind not in ("people", "people_by", "prompt_diffs", "bounds", *CORRECTIONS)
    }
    tables = {name: result.frame for name, result in fitted.by_name.items()}
    if work.groups:
        tables |= extra_tables
    names = ColumnNames(labels_of(work.described))
    for name, table in tables.items():
        result = fitted.by_name.get(name)
        of_people = result is not None and bool(result.settings.get("traits"))
        n_groups = sum(group.kind == "human" for group in work.groups) if of_people else len(work.groups)
        absent = max(n_groups - group_counts[name], 0) if name in group_counts else 0
        left_out = f", {absent} of {n_groups} groups EXCLUDED" if absent else ""
        summary_text = ""
        if result and result.kind in ("bounds", *CORRECTIONS):
            summary_text = of_bounds(result) if result.kind == "bounds" else summary(result, names)
        record(rows={name: len(table)}, groups_excluded={name: absent} if absent else {})
        record(summaries={name: summary_text} if summary_text else {})
        if result is not None:
            record(estimates={name: result.frame})
        line = f"  {name}: {counted(len(table), 'row')}{left_out}{summary_text and f'. {summary_text}'}"
        with nullcontext() if absent or summary_text else details():
            console.print(line)
    console.print(f"  {counted(len(tables), 'table')}")
