"""A study's models compared with its people, as steps: one per comparison, over all models and prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.study.parts import Analysis
from conjury.inference.study.problems import RESERVED_TABLES

from ..conjoint.estimates import Estimates
from ..conjoint.request import is_independent
from ..conjoint.verbs.people import PairCounts, people_diffs
from ..results import Result, stack
from ..steps import Step
from .run import FitOptions, Plan
from .settings import Group, name_groups, settings_of, warnings_noted

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

_DEFAULTS = {"amce": "amce_diffs", "mm": "mm_diffs"}


def people_analyses(study: Study) -> list[Analysis]:
    """Comparisons of models with people: those of the study, and two that every study gets.

    These two are one of effects and one of means, unless the study has its own: about the formula of its
    first analysis of either that excludes no level.
    """
    compared = [analysis for analysis in study.analyses if analysis.compares_people]
    verbs = {part.verb for part in compared}
    taken = {analysis.name for analysis in study.analyses} | set(RESERVED_TABLES)
    for verb, difference in _DEFAULTS.items():
        candidates = sorted(
            (part for part in study.analyses if part.verb == verb), key=lambda part: bool(part.exclude)
        )
        if not candidates or difference in verbs:
            continue
        first, name = candidates[0], f"{verb}_people"
        while name in taken:
            name += "_2"
        changed = {"name": name, "verb": difference, "title": f"{first.title}: models minus people"}
        compared.append(first.model_copy(update={**changed, "by": ["judge_id"], "h0": None}))
    return compared


def people_steps(study: Study, split: Sequence[Group], options: FitOptions) -> Plan:
    """Plan what each model minus people comes to, under each prompt in each variant."""
    humans = [group for group in split if group.kind == "human"]
    people = {
        variant: pd.concat([group.choices for group in humans if group.variant == variant])
        for variant in dict.fromkeys(group.variant for group in humans)
    }
    models = [group for group in split if group.kind != "human" and group.variant in people]
    if not models:
        notes = [
            f"{analysis.name}: excluded, the choices are not by people and by models."
            for analysis in study.analyses
            if analysis.compares_people
        ]
        return Plan((), tuple(notes))
    panels = list(dict.fromkeys(group.judge for group in humans))
    notes = (
        [f"The panels {listed(panels)} count as one group of people with which models are compared."]
        if len(panels) > 1
        else []
    )
    steps = [
        Step(part.name, part.title, partial(_compare_all, study, part, people, models, options))
        for part in people_analyses(study)
    ]
    return Plan(tuple(steps), tuple(notes))


def _compare_all(
    study: Study,
    analysis: Analysis,
    people: Mapping[str, pd.DataFrame],
    models: Sequence[Group],
    options: FitOptions,
) -> Result:
    """Compare every model with the people of its variant; those that cannot be compared are noted."""
    compared: list[tuple[Group, Estimates]] = []
    notes: list[str] = []
    refused: list[str] = []
    for group in models:
        where = f"{analysis.name}, {group.name}"
        with warnings_noted(notes, where):
            try:
                compared.append((group, _compare(study, analysis, people[group.variant], group, options)))
            except InputError as error:
                refused.append(f"{where}: {error}")
    if not compared:
        raise InputError(" ".join(refused))
    notes += [f"{reason} It was excluded." for reason in refused]
    frame = stack([name_groups(estimates.frame, group) for group, estimates in compared])
    return Result(frame, "people", tuple(notes), _settings(study, analysis, compared, options))


def _compare(
    study: Study, analysis: Analysis, people: pd.DataFrame, group: Group, options: FitOptions
) -> Estimates:
    return people_diffs(
        analysis.select(pd.concat([people, group.choices])),
        analysis.formula,
        estimate="amce" if analysis.verb == "amce_diffs" else "mm",
        human=options.id or study.clusters.of("human"),
        model=options.id or study.clusters.of("model"),
        profile=[attribute.id for attribute in study.attributes],
        engine=options.engine,
        vcov=options.vcov or study.clusters.vcov,  # type: ignore[arg-type]
        alpha=options.alpha,
    )


def _settings(
    study: Study, analysis: Analysis, compared: Sequence[tuple[Group, Estimates]], options: FitOptions
) -> dict[str, Any]:
    """Settings of a comparison; rows of people count in every group."""
    settings = settings_of(study, analysis, compared, replace(options, draws=0))
    for entry, (_, estimates) in zip(settings["groups"], compared, strict=True):
        counts: PairCounts = estimates.provenance.extra["pairs"]
        entry["pairs"] = asdict(counts)
    kinds = () if is_independent(options.vcov or study.clusters.vcov) else ("human", "model")
    clusters = {kind: list(options.id or study.clusters.of(kind)) for kind in kinds}
    return settings | {"against": "people", "adjusted": "holm", "clusters": clusters}
