"""The analyses that judgments of a study with gold labels allow, as steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text

from .. import benchmark
from ..audit.compare import HARM, JOKES
from ..audit.harm_or_humor import compare_harm
from ..audit.multiturn import READ_BY, compare_multiturn
from ..benchmark.data.answered import Answered, in_order, missing_in_words
from ..benchmark.data.units import conditions_of
from ..results import Result
from ..steps import Step, steps_of
from .run import FitOptions, Fitted, Plan, fit

DRAWS = 2_000  # of the bootstrap, where no number is given
BESIDE_PRINT = "beside_print"


def plan_labels(answered: Answered, options: FitOptions) -> Plan:
    """Plan every registered analysis that a study and its judgments allow, in the order of a report."""
    steps = list(steps_of(benchmark, answered, options.with_draws(DRAWS).drawn))
    published = by_published_rules(answered)
    if published and answered.study.name == JOKES:
        call = partial(compare_multiturn, published, answered.labels, answered.items)
        steps.append(Step(BESIDE_PRINT, "Published and recomputed numbers", call))
    ordered = [replace(step, call=partial(_ordered, step, answered)) for step in steps]
    return Plan(tuple(ordered), tuple(_notes(answered)))


def fit_labels(answered: Answered, options: FitOptions) -> Fitted:
    """Run every analysis of the judgments of a study of labels."""
    return fit(plan_labels(answered, options))


def _ordered(step: Step, answered: Answered) -> Result:
    return in_order(step.call(), answered.study)


def _notes(answered: Answered) -> list[str]:
    notes = []
    if len(answered.of_models) < len(answered.judgments):
        notes.append("People are not scored: their votes make gold labels. Models are.")
    if policy := missing_in_words(answered.study):
        notes.append(policy)
    if unused := answered.other_rules[1:]:
        notes.append(f"Answers parsed by {listed(unused)} are not compared.")
    return notes + list(answered.scored.notes) if answered.is_scored else notes


def by_published_rules(answered: Answered) -> dict[str, pd.DataFrame]:
    """Judgments that are the strings of a published evaluation, by its rules, with their condition."""
    rules = {rule: name for name, rule in READ_BY.items()}
    return {
        rules[rule]: table.assign(condition=conditions_of(table, answered.items))
        for rule, table in answered.by_rule.items()
        if rule in rules
    }


def add_printed_numbers(answered: Answered, fitted: Fitted, source: Mapping[str, Any]) -> None:
    """Add the printed numbers of the harm paper on judges and people that are not simulated.

    Notes on printed numbers are about the whole fit.
    """
    study = answered.study
    fitted.notes += [n for one in fitted.results if one.name == BESIDE_PRINT for n in one.result.notes]
    if study.name != HARM:
        return
    asked = answered.judgments.drop_duplicates("judge_id")
    person = dict(zip(as_text(asked["judge_id"]), as_text(asked["judge_kind"]).eq("human"), strict=True))
    real = [str(name) for name in (source["real_judges"] if source["simulated"] else person)]
    if not real:
        return
    people = any(person.get(name) for name in real)
    results = {name: one for name, one in fitted.by_name.items() if people or name != "annotators"}
    labels = {name: study.judge_labels[name] for name in real if name in study.judge_labels}
    try:
        printed = compare_harm(results, labels)
    except InputError as error:
        fitted.notes.append(f"Published numbers: not compared. {error}")
        return
    fitted.add(BESIDE_PRINT, "Published and recomputed numbers", printed)
