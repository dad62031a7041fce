"""How many people a study needs if the answers of a model correct theirs, from choices of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.readers.prepare import judge_of
from conjury.inference.study.models import Study
from conjury.inference.study.study_fields import Analysis
from conjury.inference.tables.columns import as_text, responses_beside
from conjury.inference.tables.files import read_table

from ..conjoint import amce
from ..conjoint.estimates import Estimates
from ..correction import label_plan
from ..frames.notes import excluding, noted_warnings
from ..results import Result
from .loading import FileSelection, LoadedStudy, read_choices_of, stored_choices
from .robustness_steps import analysis_of_effects

SHOWN = (25, 50, 100, 200, 400, 800, 1600)  # numbers of people


@dataclass(frozen=True)
class LabellingRequest:
    """The model and choices of both, effects, sizes, costs and test of a plan; None where not known."""

    model: str
    data: Sequence[Path] | None
    results: Path | None
    strata: str | None
    effects: Sequence[float]
    respondents: int | None
    pairs: int | None
    cost_person: float | None
    cost_pair: float | None
    budget: float | None
    power: float
    alpha: float


@dataclass(frozen=True)
class StudyLabelling:
    """A plan of labels of a study: of which analysis, for how many people, and their strata if asked for."""

    title: str
    plan: Result
    people: int
    strata: pd.DataFrame | None
    notes: Sequence[str]


def plan_labelling(study: Study, request: LabellingRequest) -> StudyLabelling:
    """Measure how the model's answers go with people's, and plan how many people are needed."""
    _check_costs(request)
    loaded = _load(study, request)
    if request.strata is not None and request.strata not in loaded.tables["choices"]:
        attribute_ids = [attribute.id for attribute in study.attributes]
        raise InputError(
            f"--strata {request.strata}: the choices have no column {request.strata}"
            f"{did_you_mean(request.strata, attribute_ids)}; name an attribute: {listed(attribute_ids)}."
        )
    analysis = analysis_of_effects(study)
    estimates, notes = _corrected_estimates(study, analysis, loaded, request)
    cost_pair = request.cost_pair
    if cost_pair is None:
        cost_pair, cost_notes = _cost_in_run(loaded.paths, request.model)
        notes += cost_notes
    if request.budget is not None and (request.cost_person is None or cost_pair is None):
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
        budget=request.budget,
        choices=loaded.tables["choices"],
        strata=request.strata,
        alpha=request.alpha,
    )
    strata = plan.extra.get("strata")
    if strata is not None:
        strata = strata[strata["people"] == people].reset_index(drop=True)
    notes = list(dict.fromkeys([*plan.notes, *notes]))
    return StudyLabelling(analysis.title, plan, people, strata, notes)


def _check_costs(request: LabellingRequest) -> None:
    """Refuse a budget that buys nobody, or anybody."""
    if request.budget is None:
        return
    if not 0 <= request.budget < math.inf:
        raise InputError(f"--budget is {request.budget:g}; give a cost of 0 or more.")
    if request.cost_person == 0:
        raise InputError(
            "--cost-per-respondent is 0, so --budget buys any number of people; give their cost."
        )
    if request.cost_person is not None and request.budget < 2 * request.cost_person:
        raise InputError(
            f"--budget {request.budget:g} is enough for fewer than two people; give a larger one."
        )


def _load(study: Study, request: LabellingRequest) -> LoadedStudy:
    if (request.data is None) == (request.results is None):
        raise InputError(
            "--with estimates how a model's answers relate to people's; give choices of both by --data, or "
            "the folder of `conjury fit` by --results."
        )
    if request.results is not None:
        loaded = stored_choices(study, request.results, FileSelection())
    else:
        loaded = read_choices_of(study, list(request.data or ()))
    choices = loaded.tables["choices"]
    model_choices = choices[as_text(choices["judge_kind"]) == "model"]
    models = [str(name) for name in judge_of(model_choices).unique()]
    if request.model not in models:
        if not models:
            raise InputError("--with: the choices contain no answers of models; add their file by --data.")
        hint = did_you_mean(request.model, models)
        raise InputError(
            f"--with {request.model}: the choices have no such model{hint}; they have {listed(models)}."
        )
    if len(model_choices) == len(choices):
        raise InputError("--with: the choices contain no answers of people; add their file by --data.")
    return loaded


def _corrected_estimates(
    study: Study, analysis: Analysis, loaded: LoadedStudy, request: LabellingRequest
) -> tuple[Estimates, list[str]]:
    """Effects among people corrected by the model, with what was noted."""
    with noted_warnings() as warned:
        estimates = amce(
            analysis.select(loaded.tables["choices"]),
            analysis.formula,
            id=study.clusters.of("human"),
            alpha=request.alpha,
            correct="ppi",
            model=request.model,
        )
    return estimates, [*loaded.source()["notes"], *(replace(note, result=analysis.name) for note in warned)]


def _cost_in_run(paths: Sequence[Path], model: str) -> tuple[float | None, list[str]]:
    """What a pair cost in the run beside the choices, with all prompts, samples and repeats, and notes."""
    # Pairs with an answer whose cost is not stated do not count.
    for path in paths:
        file = responses_beside(path)
        if file is None:
            continue
        table = read_table(file, "responses")
        responses = table[(table["judge_id"].astype("string") == model).to_numpy(bool)]
        if responses.empty or "cost" not in responses or responses["cost"].isna().all():
            continue
        pair = responses["task_id"].astype("string").str.removesuffix("_swapped")
        has_cost = ~pair.isin(pair[responses["cost"].isna()].unique())
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
                excluding(
                    "{n:,} of {of:,} pairs have an answer of {judge} without a cost and are excluded from "
                    "this cost.",
                    n=pair.nunique() - pairs,
                    of=pair.nunique(),
                    judge=model,
                )
            )
        return cost, notes
    return None, []
