"""The command ``conjury power``: detectable effects and sample sizes of a study's design, with their cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import PAIRS, RESPONDENTS, TASKS

from ...automation import record
from ...options import StudyName, at_most, grouped, refuse_typed
from ...printing import print_blocks, wide_console
from ...wishes import details

if TYPE_CHECKING:
    from conjury.analysis.results import Result
    from conjury.inference.study.models import Study

EFFECTS = (0.01, 0.02, 0.05)
FIGURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".gz", ".parquet")


@dataclass(frozen=True)
class Sizes:
    """Effects and sizes to plan for."""

    effect: Annotated[
        list[float] | None,
        typer.Option(help="Effect to plan for; can be repeated; by default 0.01, 0.02, 0.05."),
    ] = None
    pairs: Annotated[
        int | None,
        typer.Option(help="Pairs that every model judges; else the study's.", callback=at_most(PAIRS)),
    ] = None
    respondents: Annotated[
        int | None,
        typer.Option(help="Size of the human panel; else the study's.", callback=at_most(RESPONDENTS)),
    ] = None
    judge: Annotated[list[str] | None, typer.Option(help="Only this judge; can be repeated.")] = None
    cost_per_pair: Annotated[float | None, typer.Option(help="Cost per pair, for all models.")] = None
    cost_per_respondent: Annotated[
        float | None, typer.Option(help="Cost per respondent, including repeats.")
    ] = None


@dataclass(frozen=True)
class Tests:
    """How effects are tested, and how answers vary."""

    power: Annotated[float, typer.Option(help="Target probability of a significant estimate.")] = 0.8
    alpha: Annotated[float, typer.Option("--alpha", help="Two-sided significance level.")] = 0.05
    tests: Annotated[int, typer.Option(help="Number of tests that share alpha (Bonferroni, Holm).")] = 1
    icc: Annotated[float, typer.Option(help="Correlation of the scores of two tasks of one respondent.")] = (
        0.0
    )
    reliability: Annotated[
        float | None, typer.Option(help="Share of repeated pairs with the same answer of the respondent.")
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeated-tasks",
            help="Repeated tasks per respondent, to correct effects for unreliable answers.",
            callback=at_most(TASKS),
        ),
    ] = None
    stimulus_sd: Annotated[
        float | None,
        typer.Option(help="Standard deviation of choice probabilities between stimuli of a level."),
    ] = None

    @property
    def assumed(self) -> dict[str, Any]:
        """Assumptions about answers, as `find_groups` takes them."""
        names = ("tests", "icc", "reliability", "repeats", "stimulus_sd")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class CorrectingModel:
    """A model whose answers correct those of people, and where both are."""

    with_model: Annotated[
        str | None,
        typer.Option(
            "--with", help="Plan how many people are needed with this model, from choices of both (--data)."
        ),
    ] = None
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="With --with: choices of people and the model; can be repeated."),
    ] = None
    results: Annotated[
        Path | None, typer.Option("--results", help="With --with: results folder whose choices are used.")
    ] = None
    budget: Annotated[
        float | None, typer.Option(help="With --with: total cost, split between people and the model.")
    ] = None
    strata: Annotated[
        str | None,
        typer.Option(help="With --with: column of profiles; its levels define the strata of people's tasks."),
    ] = None


@dataclass(frozen=True)
class FileOptions:
    """Files of a plan."""

    out: Annotated[Path | None, typer.Option("--out", help="Table of all levels (.csv, .parquet).")] = None
    figure: Annotated[Path | None, typer.Option("--figure", help="Write the figure (.png, .svg, .pdf).")] = (
        None
    )


@grouped
def power(study: StudyName, sizes: Sizes, tests: Tests, model: CorrectingModel, written: FileOptions) -> None:
    """Show which effects a design can detect, and its costs.

    Minimum detectable effects, and the sample sizes that other effects require.

    With --with MODEL: how many people are needed if the model's answers correct theirs.
    """
    from conjury.analysis.conjoint.power import planned_study as tables
    from conjury.analysis.conjoint.power.planned_study import find_groups, find_prices
    from conjury.inference.study import load_study
    from conjury.inference.tables.files import write_table

    _check_files(study, written)
    loaded_study = load_study(study)
    if model.with_model is not None:
        _plan_with_model(loaded_study, model, sizes, tests, written)
        return
    refuse_typed("applies to --with; add a model, or omit it.", model)
    prices = find_prices(loaded_study, sizes.cost_per_pair, sizes.cost_per_respondent)
    groups = find_groups(loaded_study, sizes.judge, sizes.pairs, sizes.respondents, tests.assumed)
    effects = [*sizes.effect] if sizes.effect else [*EFFECTS]
    powers = [tables.powers_of(loaded_study, group, effects, (tests.power, tests.alpha)) for group in groups]
    levels = tables.stack_answers(groups, powers, prices)
    plan = tables.PlannedStudy(loaded_study, groups, powers, prices, tests.power)
    notes = tables.notes_of(plan, tests.assumed)
    record(alpha=powers[0][0].setting.level_alpha, power=tests.power, levels=levels)
    record(notes=[note.strip() for note in notes])
    if written.out is not None:
        write_table(levels, written.out)
    if written.figure is not None:
        record(files=[written.figure])
        tables.draw_power(
            loaded_study, powers[-1][2 if sizes.effect else 0], groups[-1].label, written.figure
        )
    console = wide_console()
    console.print(f"{loaded_study.title}\nTwo-sided tests at alpha {powers[0][0].setting.level_alpha:.3g}")
    print_blocks(tables.plan_blocks(plan))
    with details():
        print_blocks(tables.further_blocks(plan))
        for note in notes:
            console.print(note)
    console.print(f"\n{tables.finding_of(plan)}")
    if written.out is not None:
        console.print(f"All levels and judges in {written.out}")
    if written.figure is not None:
        console.print(f"Figure in {written.figure}")


def _plan_with_model(
    study: Study, model: CorrectingModel, sizes: Sizes, tests: Tests, written: FileOptions
) -> None:
    """Plan how many people are needed with a model; options that the choices answer are refused."""
    from conjury.analysis.conjoint.power.planned_study import find_prices
    from conjury.analysis.correction.labelling_plan_text import labelling_blocks, strata_blocks
    from conjury.analysis.pipeline.labelling import LabellingRequest, plan_labelling
    from conjury.inference.tables.columns import companion
    from conjury.inference.tables.files import write_table

    reason = "cannot be combined with --with, which estimates the variation of answers; omit it."
    refuse_typed(reason, sizes, tests, only=("judge", "icc", "reliability", "repeats", "stimulus_sd"))
    for name, size, least in (("--pairs", sizes.pairs, 1), ("--respondents", sizes.respondents, 2)):
        if size is not None and size < least:
            raise InputError(f"{name} is {size}; give a whole number of {least} or more.")
    if 0 in (sizes.effect or ()):
        raise InputError("--effect is 0; give a number other than 0.")
    if tests.tests < 1:
        raise InputError(f"--tests is {tests.tests}; give a whole number above 0.")
    prices = find_prices(study, sizes.cost_per_pair, sizes.cost_per_respondent)
    request = LabellingRequest(
        model=str(model.with_model),
        data=model.data,
        results=model.results,
        strata=model.strata,
        effects=[*sizes.effect] if sizes.effect else [*EFFECTS],
        respondents=sizes.respondents,
        pairs=sizes.pairs,
        cost_person=prices.per_respondent,
        cost_pair=prices.per_pair.get(str(model.with_model)),
        budget=model.budget,
        power=tests.power,
        alpha=tests.alpha / tests.tests,
    )
    labelling = plan_labelling(study, request)
    plan, strata = labelling.plan, labelling.strata
    if written.out is not None:
        keys = ["feature", "level"]
        rows = plan.extra["rows"][[*keys, "rho", "rho_lower", "rho_upper", "saving_limit"]]
        write_table(plan.frame.merge(rows, on=keys, how="left"), written.out)
        if strata is not None:
            write_table(strata, companion(written.out, "strata"))
    if written.figure is not None:
        _draw(study, plan, written.figure)
    tables = {name: plan.extra[name] for name in ("needed", "rows", "split") if name in plan.extra}
    tables |= {} if strata is None else {"strata": strata}
    record(
        alpha=request.alpha,
        power=request.power,
        people=labelling.people,
        levels=plan.frame,
        notes=labelling.notes,
        **tables,
    )
    record(files=[] if written.figure is None else [written.figure])
    print_blocks(labelling_blocks(study, labelling.title, plan, request.effects, prices.currency))
    if strata is not None:
        file = None if written.out is None else companion(written.out, "strata")
        print_blocks(strata_blocks(study, str(request.strata), strata, file))
    console = wide_console()
    for note in labelling.notes:
        console.print(f"Note: {note}")
    if written.out is not None:
        console.print(f"All levels and numbers of people in {written.out}")
    if written.figure is not None:
        console.print(f"Figure in {written.figure}")


def _draw(study: Study, plan: Result, file: Path) -> None:
    from conjury.analysis.figures import save

    judges = {("judges", name): label for name, label in study.judge_labels.items()}
    save(plan.plot(labels=judges), file.with_suffix(""), formats=(file.suffix[1:].lower(),))


def _check_files(study: str, written: FileOptions) -> None:
    from conjury.inference.tables.files import check_ending

    if written.out is not None:
        check_ending(written.out)
    figure = written.figure
    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise InputError(f"{figure}: names of figures end in {', '.join(FIGURES)}; rename it.")
    if Path(study).suffix.lower() in TABLES:
        raise InputError(
            f"{study}: conjury power plans studies, in which all levels combine freely; plan a table of "
            "cells with conjury.analysis.conjoint.power() in Python."
        )
