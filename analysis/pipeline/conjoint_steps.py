"""A conjoint study's analyses as steps: one per analysis, and the comparisons of models with people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import PROBABILITY

from .. import conjoint
from ..conjoint.estimates import Estimates
from ..conjoint.prediction_powered import PredictionPowered
from ..conjoint.preferences.by_formula import PREFERENCES
from ..conjoint.request import is_independent
from ..conjoint.verbs.people_diffs import PairCounts, people_diffs
from ..correction.correction_methods import PredictThenDebias
from ..correction.sources import AT_MOST_HALF
from ..frames.notes import Note, excluding, noted_warnings
from ..frames.participation import sample_sizes
from ..frames.vocabulary import AGAINST_PEOPLE, HUMAN
from ..results import AnalysisStep, Result, stack
from .correction_steps import check_sources, title_of
from .runner import (
    FitOptions,
    JudgeGroup,
    StudySteps,
    arguments_of,
    is_grouped,
    name_groups,
    settings_of,
    traits_of,
    unused_name,
)
from .steps.bounds_steps import bounds_steps
from .steps.group_fits import BOOT_COLUMNS, estimate_each, fit_all

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis


def plan_conjoint(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> StudySteps:
    """Plan every analysis of a study for the groups of its choices."""
    options = options.with_draws(study.bootstrap.draws)
    options.check_clusters(options.vcov or study.clusters.vcov)
    answered = [group for group in split if group.choices[study.outcome].notna().any()]
    silent = [group.who for group in split if group.choices[study.outcome].isna().all()]
    quantity = "probability" if study.outcome == PROBABILITY else "choice"
    without = "{groups}: excluded, since no answer has a {quantity}."
    notes = [excluding(without, groups=silent, quantity=quantity)] if silent else []
    if not answered:
        raise InputError(
            f"No judge has an answer in column {study.outcome!r} outside of repeated tasks; "
            "check that column and the statuses, or choose another refusal policy."
        )
    steps = [
        AnalysisStep(
            part.name,
            part.title,
            partial(fit_all, study, part, answered, options),
            required=part.verb not in PREFERENCES,
        )
        for part in study.analyses
        if not part.crosses_groups
    ]
    prompts = prompt_steps(study, answered, options)
    compared = people_steps(study, answered, options)
    corrected = correction_steps(study, split, options)
    bounded = bounds_steps(study, split, options)
    every_step = (*corrected, *steps, *prompts.steps, *compared.steps, *bounded)
    return StudySteps(every_step, (*notes, *prompts.notes, *compared.notes))


_CORRECTED = ("amce", "mm", "amce_diffs", "mm_diffs")


def correction_steps(
    study: Study, split: Sequence[JudgeGroup], options: FitOptions
) -> tuple[AnalysisStep, ...]:
    """Plan the estimates among people with the help of models, for every analysis that has them."""
    # The first of them is required, since what the data lack for one they most often lack for all.
    if options.correct is None:
        return ()
    vcov = options.vcov or study.clusters.vcov
    if is_independent(vcov):
        raise InputError(
            f"vcov {vcov} treats rows as independent, but a correction by models needs clusters of people; "
            "choose survey, CV3 or one of CR0 to CR2."
        )
    choices = pd.concat([group.choices for group in split if not group.variant])
    remedy = "add them with --data, or include them with --judge"
    check_sources(choices, options.correct, "choices", remedy)
    parts = [
        part
        for part in study.analyses
        if part.verb in _CORRECTED
        and not part.crosses_groups
        and not is_grouped(part)
        and not traits_of(study, part)  # models have none
    ]
    if not parts:
        raise InputError(
            f"The study {study.name} has no analysis for which a correction by models is defined "
            f"({', '.join(_CORRECTED)}); add one to the study file."
        )
    repeats = sum(group.repeats for group in split if group.kind == HUMAN and not group.variant)
    return tuple(
        AnalysisStep(
            unused_name(study, f"{part.name}_corrected"),
            title_of(part.title),
            partial(_correct, study, part, choices, repeats, options),
            required=part is parts[0],
        )
        for part in parts
    )


def _correct(
    study: Study, analysis: Analysis, choices: pd.DataFrame, repeats: int, options: FitOptions
) -> Result:
    """Run one analysis on people's answers with the help of models; ``repeats`` of people are excluded."""
    method = options.correct
    if isinstance(method, PredictThenDebias):
        method = replace(method, seed=options.seed)
    rows = analysis.select(choices)
    verb: Callable[..., PredictionPowered] = getattr(conjoint, analysis.verb)
    with noted_warnings() as warned:
        result = verb(
            rows,
            analysis.formula,
            **arguments_of(study, analysis, HUMAN, options),
            alpha=options.alpha,
            correct=method,
        )
    provenance = result.provenance.extra
    people = JudgeGroup("", ", ".join(provenance["human"]), "", HUMAN, rows, repeats)
    settings = settings_of(study, analysis, [(people, result)], replace(options, draws=0))
    notes: list[str] = [replace(warning, result=analysis.name) for warning in warned]
    notes += [
        note if note == AT_MOST_HALF else Note("corrected: {note}", {"note": note}, analysis.name)
        for note in result.notes
        if note not in warned
    ]
    return Result(result.frame, result.kind, tuple(notes), settings | provenance, result.extra)


def prompt_analyses(study: Study) -> list[Analysis]:
    """Comparisons of prompts: those of the study, or one that every study gets."""
    compared = [part for part in study.analyses if part.compares_prompts]
    first = next((part for part in study.analyses if part.verb == "amce" and not part.by), None)
    if compared or first is None:
        return compared
    changed = {
        "name": unused_name(study, "amce_prompts"),
        "verb": "amce_diffs",
        "title": f"{first.title}: differences between prompts",
        "by": ["prompt_id"],
    }
    return [first.model_copy(update=changed)]


def prompt_steps(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> StudySteps:
    """Plan how far the effects of each judge under one prompt are from those under its first."""
    order = {prompt.id: place for place, prompt in enumerate(study.prompts)}
    by_judge: dict[tuple[str, str], list[JudgeGroup]] = {}
    for group in split:
        if group.kind != HUMAN:
            by_judge.setdefault((group.variant, group.judge), []).append(group)
    several = []
    for (variant, judge), parts in by_judge.items():
        parts.sort(key=lambda group: order.get(group.prompt, len(order)))
        choices = pd.concat([group.choices for group in parts])
        names = pd.CategoricalDtype(list(dict.fromkeys(group.prompt for group in parts)))
        choices = choices.assign(prompt_id=choices["prompt_id"].astype("string").astype(names))
        if len(parts) > 1:
            repeats = sum(group.repeats for group in parts)
            several.append(JudgeGroup(variant, judge, "", parts[0].kind, choices, repeats))
    if not several:
        text = "{result}: excluded, since choices of a model under several prompts are needed."
        parts_of_study = (part for part in study.analyses if part.compares_prompts)
        return StudySteps((), tuple(excluding(text, result=part.name) for part in parts_of_study))
    steps = [
        AnalysisStep(part.name, part.title, partial(_compare_prompts, study, part, several, options))
        for part in prompt_analyses(study)
    ]
    return StudySteps(tuple(steps))


def _compare_prompts(
    study: Study, analysis: Analysis, several: Sequence[JudgeGroup], options: FitOptions
) -> Result:
    """Each prompt of each judge minus its first; the column ``prompt`` has the one that is compared."""
    result = fit_all(study, analysis, several, replace(options, draws=0))
    frame = result.frame.drop(columns=["by", "prompt_id", *(f"boot_{name}" for name in BOOT_COLUMNS)])
    frame["prompt"] = result.frame["prompt_id"].astype("string")
    against = dict.fromkeys(str(group.choices["prompt_id"].cat.categories[0]) for group in several)
    settings = {**result.settings, "against": " or ".join(against), "adjusted": "holm"}
    return Result(frame, kind_of_result(analysis), result.notes, settings, result.extra)


def kind_of_result(analysis: Analysis) -> str:
    """The kind of result that an analysis of a study gives."""
    if analysis.compares_prompts:
        return "prompt_diffs"
    if analysis.compares_people:
        return "people_by" if analysis.by[1:] else "people"
    return analysis.verb


POOLED = "The panels {judges} are pooled as one group of people for the comparison with models."
_DEFAULTS = {"amce": "amce_diffs", "mm": "mm_diffs"}


def people_analyses(study: Study) -> list[Analysis]:
    """Comparisons of models with people: those of the study, and those that every study gets."""
    # Unless the study has its own, these are one of effects and one of means, about the formula of its first
    # analysis of either that excludes no level, and of effects one more for whatever the study asks besides.
    compared = [analysis for analysis in study.analyses if analysis.compares_people]
    verbs = {part.verb for part in compared if len(part.by) == 1}
    for verb, difference in _DEFAULTS.items():
        candidates = sorted(
            (part for part in study.analyses if part.verb == verb and not part.by),
            key=lambda part: bool(part.exclude),
        )
        if not candidates or difference in verbs:
            continue
        asked_of = [[part for part in candidates if name in part.features] for name in study.focus]
        further = [parts[0] for parts in asked_of if parts] if verb == "amce" else []
        for part in {part.name: part for part in (candidates[0], *further)}.values():
            name = unused_name(study, f"{verb if part is candidates[0] else part.name}_people")
            changed = {"name": name, "verb": difference, "title": f"{part.title}: models minus people"}
            compared.append(part.model_copy(update={**changed, "by": ["judge_id"], "h0": None}))
    return compared


def people_steps(study: Study, split: Sequence[JudgeGroup], options: FitOptions) -> StudySteps:
    """Plan what each model minus people comes to, under each prompt in each variant."""
    humans = [group for group in split if group.kind == "human"]
    people = {
        variant: pd.concat([group.choices for group in humans if group.variant == variant])
        for variant in dict.fromkeys(group.variant for group in humans)
    }
    models = [group for group in split if group.kind != "human" and group.variant in people]
    if not models:
        notes = [
            excluding(
                "{result}: excluded, since choices of both people and models are needed.",
                result=analysis.name,
            )
            for analysis in study.analyses
            if analysis.compares_people
        ]
        return StudySteps((), tuple(notes))
    panels = list(dict.fromkeys(group.judge for group in humans))
    notes = [Note.of(POOLED, judges=panels)] if len(panels) > 1 else []
    steps = [
        AnalysisStep(part.name, part.title, partial(_compare_all, study, part, people, models, options))
        for part in people_analyses(study)
    ]
    return StudySteps(tuple(steps), tuple(notes))


def _compare_all(
    study: Study,
    analysis: Analysis,
    people: Mapping[str, pd.DataFrame],
    models: Sequence[JudgeGroup],
    options: FitOptions,
) -> Result:
    """Compare every model with the people of its variant; those that cannot be compared are noted."""
    compared = estimate_each(
        models, analysis, lambda group: _compare(study, analysis, people[group.variant], group, options)
    )
    if not compared.estimated:
        raise InputError(" ".join(compared.refused))
    settings = _settings(study, analysis, people, compared.estimated, options)
    return Result(stack(compared.frames), kind_of_result(analysis), compared.notes, settings)


def _compare(
    study: Study, analysis: Analysis, people: pd.DataFrame, group: JudgeGroup, options: FitOptions
) -> tuple[pd.DataFrame, Estimates]:
    estimates = people_diffs(
        analysis.select(pd.concat([people, group.choices])),
        analysis.formula,
        estimate="amce" if analysis.verb == "amce_diffs" else "mm",
        human=options.id or study.clusters.of("human"),
        model=options.id or study.clusters.of("model"),
        profile=[attribute.id for attribute in study.attributes],
        engine=options.engine,
        vcov=options.vcov or study.clusters.vcov,  # type: ignore[arg-type]
        alpha=options.alpha,
        weights=study.weights,
        by=next(iter(analysis.by[1:]), None),
    )
    return name_groups(estimates.frame, group), estimates


def _settings(
    study: Study,
    analysis: Analysis,
    people: Mapping[str, pd.DataFrame],
    compared: Sequence[tuple[JudgeGroup, Estimates]],
    options: FitOptions,
) -> dict[str, Any]:
    """Settings of a comparison; rows of people count in every group, whose sides have their own sizes."""
    settings = settings_of(study, analysis, compared, replace(options, draws=0))

    def sizes(rows: pd.DataFrame, kind: str) -> dict[str, Any]:
        return asdict(sample_sizes(analysis.select(rows), study.outcome, kind, study.weights))

    of_people = {
        variant: sizes(people[variant], HUMAN) for variant in {group.variant for group, _ in compared}
    }
    for entry, (group, estimates) in zip(settings["groups"], compared, strict=True):
        counts: PairCounts = estimates.provenance.extra["pairs"]
        entry["pairs"] = asdict(counts)
        entry |= {"people": of_people[group.variant], "model": sizes(group.choices, group.kind)}
    kinds = () if is_independent(options.vcov or study.clusters.vcov) else ("human", "model")
    clusters = {kind: list(options.id or study.clusters.of(kind)) for kind in kinds}
    return settings | {"against": AGAINST_PEOPLE, "adjusted": "holm", "clusters": clusters}
