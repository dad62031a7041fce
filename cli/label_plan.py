"""How many people a study needs with the answers of a model, for ``conjury power STUDY --with MODEL``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, did_you_mean, listed

from .automation import record
from .printing import print_blocks, wide_console

if TYPE_CHECKING:
    from conjury.analysis.conjoint.estimates import Estimates
    from conjury.analysis.pipeline.loading import LoadedStudy
    from conjury.analysis.results import Result
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis

SHOWN = (25, 50, 100, 200, 400, 800, 1600)  # numbers of people


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
class PlanRequest:
    """Effects, sizes, costs and test of a plan; costs None where they are not known."""

    effects: Sequence[float]
    respondents: int | None
    pairs: int | None
    cost_person: float | None
    cost_pair: float | None
    currency: str
    power: float
    alpha: float
    out: Path | None
    figure: Path | None


def plan_with_model(study: Study, model: CorrectingModel, request: PlanRequest) -> None:
    """Measure how the model's answers go with people's, and print how many people are needed."""
    from conjury.analysis.correction import label_plan
    from conjury.analysis.correction.labelling_plan_text import labelling_blocks, strata_blocks
    from conjury.analysis.pipeline.robustness_steps import analysis_of_effects
    from conjury.inference.tables.columns import companion
    from conjury.inference.tables.files import write_table

    _check_costs(model, request)
    loaded = _load(study, model)
    if model.strata is not None and model.strata not in loaded.tables["choices"]:
        attribute_ids = [attribute.id for attribute in study.attributes]
        raise InputError(
            f"--strata {model.strata}: the choices have no column {model.strata}"
            f"{did_you_mean(model.strata, attribute_ids)}; name an attribute: {listed(attribute_ids)}."
        )
    analysis = analysis_of_effects(study)
    estimates, notes = _corrected_estimates(study, analysis, loaded, model, request.alpha)
    cost_pair = request.cost_pair
    if cost_pair is None:
        cost_pair, cost_notes = _cost_in_run(loaded.paths, str(model.with_model))
        notes += cost_notes
    if model.budget is not None and (request.cost_person is None or cost_pair is None):
        raise InputError("--budget needs costs; give --cost-per-respondent and --cost-per-pair.")
    people = request.respondents or study.design.respondents
    plan = label_plan(
        estimates,
        sorted({*SHOWN, people}),
        effect=request.effects,
        power=request.power,
        other=request.pairs,
        cost_person=request.cost_person,
        cost_task=cost_pair,
        budget=model.budget,
        choices=loaded.tables["choices"],
        strata=model.strata,
        alpha=request.alpha,
    )
    strata = plan.extra.get("strata")
    if strata is not None:
        strata = strata[strata["people"] == people].reset_index(drop=True)
    if request.out is not None:
        keys = ["feature", "level"]
        rows = plan.extra["rows"][[*keys, "rho", "rho_lower", "rho_upper", "saving_limit"]]
        write_table(plan.frame.merge(rows, on=keys, how="left"), request.out)
        if strata is not None:
            write_table(strata, companion(request.out, "strata"))
    if request.figure is not None:
        _draw(study, plan, request.figure)
    tables = {name: plan.extra[name] for name in ("needed", "rows", "split") if name in plan.extra}
    tables |= {} if strata is None else {"strata": strata}
    noted = list(dict.fromkeys([*plan.notes, *notes]))
    record(alpha=request.alpha, power=request.power, people=people, levels=plan.frame, notes=noted, **tables)
    record(files=[] if request.figure is None else [request.figure])
    print_blocks(labelling_blocks(study, analysis.title, plan, request.effects, request.currency))
    if strata is not None:
        file = None if request.out is None else companion(request.out, "strata")
        print_blocks(strata_blocks(study, str(model.strata), strata, file))
    console = wide_console()
    for note in noted:
        console.print(f"Note: {note}")
    if request.out is not None:
        console.print(f"All levels and numbers of people in {request.out}")
    if request.figure is not None:
        console.print(f"Figure in {request.figure}")


def _check_costs(model: CorrectingModel, request: PlanRequest) -> None:
    """Refuse a budget that buys nobody, or anybody."""
    if model.budget is None:
        return
    if not 0 <= model.budget < math.inf:
        raise InputError(f"--budget is {model.budget:g}; give a cost of 0 or more.")
    if request.cost_person == 0:
        raise InputError(
            "--cost-per-respondent is 0, so --budget buys any number of people; give their cost."
        )
    if request.cost_person is not None and model.budget < 2 * request.cost_person:
        raise InputError(f"--budget {model.budget:g} is enough for fewer than two people; give a larger one.")


def _load(study: Study, model: CorrectingModel) -> LoadedStudy:
    from conjury.analysis.pipeline.loading import FileSelection, read_choices_of, stored_choices
    from conjury.inference.readers.prepare import judge_of
    from conjury.inference.tables.columns import as_text

    if (model.data is None) == (model.results is None):
        raise InputError(
            "--with estimates how a model's answers relate to people's; give choices of both by --data, or "
            "the folder of `conjury fit` by --results."
        )
    if model.results is not None:
        loaded = stored_choices(study, model.results, FileSelection())
    else:
        loaded = read_choices_of(study, list(model.data or ()))
    choices = loaded.tables["choices"]
    model_choices = choices[as_text(choices["judge_kind"]) == "model"]
    models = [str(name) for name in judge_of(model_choices).unique()]
    if model.with_model not in models:
        if not models:
            raise InputError("--with: the choices contain no answers of models; add their file by --data.")
        hint = did_you_mean(str(model.with_model), models)
        raise InputError(
            f"--with {model.with_model}: the choices have no such model{hint}; they have {listed(models)}."
        )
    if len(model_choices) == len(choices):
        raise InputError("--with: the choices contain no answers of people; add their file by --data.")
    return loaded


def _corrected_estimates(
    study: Study, analysis: Analysis, loaded: LoadedStudy, model: CorrectingModel, alpha: float
) -> tuple[Estimates, list[str]]:
    """Effects among people corrected by the model, with what was noted."""
    from conjury.analysis.conjoint import amce
    from conjury.analysis.frames.notes import noted_warnings

    with noted_warnings() as warned:
        estimates = amce(
            analysis.select(loaded.tables["choices"]),
            analysis.formula,
            id=study.clusters.of("human"),
            alpha=alpha,
            correct="ppi",
            model=str(model.with_model),
        )
    return estimates, [*loaded.source()["notes"], *(replace(note, result=analysis.name) for note in warned)]


def _cost_in_run(paths: Sequence[Path], model: str) -> tuple[float | None, list[str]]:
    """What a pair cost in the run beside the choices, with all prompts, samples and repeats, and notes."""
    # Pairs with an answer whose cost is not stated do not count.
    from conjury.inference.tables.columns import responses_beside
    from conjury.inference.tables.files import read_table

    for path in paths:
        file = responses_beside(path)
        if file is None:
            continue
        table = read_table(file, "responses")
        responses = table[(table["judge_id"].astype("string") == model).to_numpy(bool)]
        if responses.empty or "cost" not in responses or responses["cost"].isna().all():
            continue
        pair = responses["task_id"].astype("string").str.removesuffix("_swapped")
        has_cost = ~pair.isin(pair[responses["cost"].isna()])
        pairs = pair[has_cost].nunique()
        if not pairs:
            return None, [
                f"Every pair has an answer of {model} without a cost in {file.name}, so the cost per pair "
                "is not known; give it by --cost-per-pair."
            ]
        cost = float(responses["cost"][has_cost].sum()) / pairs
        notes = [f"A pair of the model costs {cost:.4g}, as in the run."]
        if pairs < pair.nunique():
            notes.append(
                f"{pair.nunique() - pairs:,} of {pair.nunique():,} pairs have an answer of {model} without a "
                "cost and are excluded from this cost."
            )
        return cost, notes
    return None, []


def _draw(study: Study, plan: Result, file: Path) -> None:
    from conjury.analysis.figures import save

    judges = {("judges", name): label for name, label in study.judge_labels.items()}
    save(plan.plot(labels=judges), file.with_suffix(""), formats=(file.suffix[1:].lower(),))
