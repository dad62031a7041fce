"""The command ``conjury power``: detectable effects and sample sizes of a study's design, with their cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import PAIRS, RESPONDENTS, TASKS

from ...automation import record
from ...label_plan import CorrectingModel, PlanRequest, plan_with_model
from ...options import StudyName, at_most, grouped, refuse_typed
from ...printing import print_blocks, wide_console

if TYPE_CHECKING:
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
class FileOptions:
    """Files of a plan."""

    out: Annotated[Path | None, typer.Option("--out", help="Table of all levels (.csv, .parquet).")] = None
    figure: Annotated[Path | None, typer.Option("--figure", help="Figure (.png, .svg, .pdf).")] = None


@grouped
def power(study: StudyName, sizes: Sizes, tests: Tests, model: CorrectingModel, written: FileOptions) -> None:
    """Show minimum detectable effects, the sample sizes required for other effects, and their costs.

    With --with MODEL: how many people are needed if the model's answers correct theirs.
    """
    from conjury.analysis.conjoint.power import planned_study as tables
    from conjury.analysis.conjoint.power.planned_study import find_groups, find_prices
    from conjury.inference.study import load_study
    from conjury.inference.tables.files import write_table

    _check_files(study, written)
    loaded_study = load_study(study)
    if model.with_model is not None:
        plan_with_model(
            loaded_study, model, _plan_request(loaded_study, str(model.with_model), sizes, tests, written)
        )
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
    for note in notes:
        console.print(note)
    if written.out is not None:
        console.print(f"All levels and judges in {written.out}")
    if written.figure is not None:
        console.print(f"Figure in {written.figure}")


def _plan_request(study: Study, model: str, sizes: Sizes, tests: Tests, written: FileOptions) -> PlanRequest:
    """What a plan with a model takes of the other options; those that the choices answer are refused."""
    from conjury.analysis.conjoint.power.planned_study import find_prices

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
    return PlanRequest(
        effects=[*sizes.effect] if sizes.effect else [*EFFECTS],
        respondents=sizes.respondents,
        pairs=sizes.pairs,
        cost_person=prices.per_respondent,
        cost_pair=prices.per_pair.get(model),
        currency=prices.currency,
        power=tests.power,
        alpha=tests.alpha / tests.tests,
        out=written.out,
        figure=written.figure,
    )


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
