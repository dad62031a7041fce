"""Who judges in a planned study, how much and at what price; effects and sample sizes as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import advice
from conjury.inference.study.study_yaml import suggestion

from ...figures import save
from ...frames.word_table import WordTable
from .closed_form import power
from .design_card_numbers import joins
from .result import Power

UNKNOWN = "not known"


@dataclass(frozen=True)
class JudgmentPrices:
    """What a respondent and a pair cost, by judge; None where it is not known."""

    # `tasks_paid` is how many tasks a respondent's price is for, repeats included; None for all of them.

    currency: str
    per_respondent: float | None
    tasks_paid: int | None
    per_pair: dict[str, float | None]

    def tell(self, cost: float | None) -> str:
        """State a cost in words."""
        return UNKNOWN if cost is None else f"{self.currency} {cost:,.2f}".strip()


@dataclass(frozen=True)
class PlannedJudges:
    """A panel, or all models that see the same pairs: their judges and the options of their power."""

    kind: str
    judges: tuple[str, ...]
    label: str
    pairs: float
    tasks: int
    repeats: int
    options: dict[str, Any]

    def cost(self, prices: JudgmentPrices, pairs: float, judge: str) -> float | None:
        """Cost of that many pairs and of their repeats, whole respondents and pairs counted."""
        if not math.isfinite(pairs):
            return None
        if self.kind == "human":
            if prices.per_respondent is None:
                return None
            n_tasks = self.tasks + self.repeats
            share = 1.0 if prices.tasks_paid is None else n_tasks / prices.tasks_paid
            return prices.per_respondent * share * round_up(pairs / self.tasks)
        pair_cost = prices.per_pair[judge]
        return None if pair_cost is None else pair_cost * round_up(pairs)


def round_up(size: float) -> int:
    """Round a size up; differences far below one unit are those of arithmetic."""
    return math.ceil(size - 1e-6)


def find_prices(study: Study, per_pair: float | None, per_respondent: float | None) -> JudgmentPrices:
    """Prices of a study, with those that the user gives in their place."""
    for name, value in (("--cost-per-pair", per_pair), ("--cost-per-respondent", per_respondent)):
        if value is not None and not 0 <= value < math.inf:
            raise InputError(f"{name} is {value:g}; give a cost of 0 or more.")
    costs = study.costs
    models = [judge.id for judge in study.judges if judge.kind == "model"] or ["model"]
    is_override = per_respondent is not None or costs is None
    return JudgmentPrices(
        "" if costs is None else costs.currency,
        per_respondent if is_override or costs is None else costs.per_respondent,
        None if is_override else study.design.tasks + study.design.repeat_first,
        {
            name: per_pair if per_pair is not None or costs is None else costs.per_pair(name)
            for name in models
        },
    )


def find_groups(
    study: Study,
    judges: Sequence[str] | None,
    pairs: int | None,
    respondents: int | None,
    options: dict[str, Any],
) -> list[PlannedJudges]:
    """Panels and models to plan for, at the sizes of the study or those that the user gives."""
    for name in judges or ():
        if name not in study.judge_labels:
            raise InputError(f"--judge: {suggestion(name, study.judge_labels)}")
    for name, size in (("--pairs", pairs), ("--respondents", respondents)):
        if size is not None and size < 1:
            raise InputError(f"{name} is {size}; give a whole number above 0.")
    design, labels = study.design, study.judge_labels
    kinds = {judge.id: judge.kind for judge in study.judges} or {"human": "human", "model": "model"}
    kinds_of_judges = {name: kind for name, kind in kinds.items() if not judges or name in judges}
    test_options = {"tests": options["tests"], "stimulus_sd": options["stimulus_sd"]}
    groups = []
    repeats = int(design.repeat_first) if options["repeats"] is None else options["repeats"]
    panel = {
        "tasks": design.tasks,
        "icc": options["icc"],
        "reliability": options["reliability"],
        "repeats": repeats,
        "estimand": "corrected" if options["repeats"] and options["reliability"] is not None else "observed",
    }
    size = design.respondents if respondents is None else respondents
    for name in (name for name, kind in kinds_of_judges.items() if kind == "human"):
        label = labels.get(name, "Human panel")
        groups.append(
            PlannedJudges(
                "human",
                (name,),
                label,
                float(size * design.tasks),
                design.tasks,
                repeats,
                test_options | panel,
            )
        )
    models = tuple(name for name, kind in kinds_of_judges.items() if kind == "model")
    if models:
        label = labels.get(models[0], "Each model") if len(models) == 1 else "Each model"
        groups.append(
            PlannedJudges("model", models, label, float(pairs or design.pairs), design.tasks, 0, test_options)
        )
    return groups


def size_of(group: PlannedJudges) -> str:
    """State how many pairs a group judges, repeats of respondents apart."""
    if group.kind == "model":
        return f"{group.pairs:,.0f} pairs"
    tasks = f"({group.tasks} + {group.repeats})" if group.repeats else f"{group.tasks}"
    return f"{group.pairs / group.tasks:,.0f} x {tasks} pairs"


def price_note(study: Study, judge: str, prices: JudgmentPrices) -> str:
    """State when and how the price of a judge was paid, where the study file knows."""
    for price in study.costs.judges if study.costs else ():
        if price.judge == judge and price.note and price.per_pair == prices.per_pair.get(judge):
            return f" ({price.note})"
    return ""


@dataclass(frozen=True)
class PlannedStudy:
    """A study, its groups of judges with their three answers each, prices, and the wanted power."""

    study: Study
    groups: Sequence[PlannedJudges]
    powers: Sequence[tuple[Power, Power, Power]]
    prices: JudgmentPrices
    target: float


def powers_of(
    study: Study, group: PlannedJudges, effects: list[float], level: tuple[float, float]
) -> tuple[Power, Power, Power]:
    """Detectable effects and powers of the plan, between them the sizes that the effects need."""
    restrictions, (target_power, alpha) = joins(study), level
    detectable = power(
        study, pairs=group.pairs, power=target_power, alpha=alpha, restrictions=restrictions, **group.options
    )
    sizes = detectable.at(effect=effects, power=target_power)
    return detectable, sizes, detectable.at(effect=effects, pairs=group.pairs)


def _hardest(result: Power, column: str) -> pd.DataFrame:
    """The hardest level of each attribute and effect."""
    keys = ["feature"] if result.solved == "effect" else ["feature", "effect"]
    frame = result.frame.assign(feature=result.frame["feature"].astype(str))
    by = "min" if column == "power" else "max"
    worst = frame.groupby(keys, sort=False)[column].agg(by)
    return worst.rename("value").reset_index()


def detected_in_words(groups: Sequence[PlannedJudges], effects: Sequence[float], target: float) -> str:
    """State which effect each group finds on every attribute, by what its hardest level needs."""
    sizes = [f"{100 * effect:.1f} points" if np.isfinite(effect) else "none" for effect in effects]
    parts = [f"{size} in {group.label} ({size_of(group)})" for group, size in zip(groups, sizes, strict=True)]
    return f"Smallest effect that is found with power {target:g} on every attribute: {listed(parts)}."


def finding_of(plan: PlannedStudy) -> str:
    """What a plan can detect, in a sentence."""
    effects = [float(_hardest(answer, "effect")["value"].max()) for answer, _, _ in plan.powers]
    return detected_in_words(plan.groups, effects, plan.target)


def plan_blocks(plan: PlannedStudy) -> Iterator[str | WordTable]:
    """What is printed of a plan first: detectable effects, and its cost."""
    yield f"\nMinimum detectable effect at power {plan.target:g}, hardest level of each attribute"
    yield _detectable(plan)
    yield "\nCost of the plan"
    yield from _costs(plan)


def further_blocks(plan: PlannedStudy) -> Iterator[str | WordTable]:
    """What else is printed of a plan: sizes that effects need."""
    yield f"\nSample sizes for power {plan.target:g}, their cost, and the power of the plan"
    yield _sizes(plan)


def _detectable(plan: PlannedStudy) -> WordTable:
    """Minimum detectable effects of each group of judges, a row for each attribute."""
    study, answers = plan.study, [answer for answer, _, _ in plan.powers]
    values = [_hardest(answer, "effect").set_index("feature")["value"] for answer in answers]
    rows = []
    for feature in values[0].index:
        cells = [f"{value[feature]:.4f}" if np.isfinite(value[feature]) else "none" for value in values]
        rows.append([study.feature_labels[feature], str(len(study.levels(feature))), *cells])
    heads = [f"{group.label}\n{size_of(group)}" for group in plan.groups]
    return WordTable("", ["Attribute", "Levels", *heads], rows)


def _costs(plan: PlannedStudy) -> Iterator[str]:
    """The cost of the plan for each judge."""
    study, prices = plan.study, plan.prices
    for group in plan.groups:
        unknown = []
        for judge in group.judges:
            cost = group.cost(prices, group.pairs, judge)
            label = study.judge_labels.get(judge, group.label)
            if cost is None:
                unknown.append(label)
            else:
                yield f"  {label}: {prices.tell(cost)}{price_note(study, judge, prices)}"
        if unknown:
            remedy = "--cost-per-pair" if group.kind == "model" else "--cost-per-respondent"
            yield f"  {', '.join(unknown)}: {UNKNOWN}, give {remedy}"


def _sizes(plan: PlannedStudy) -> WordTable:
    """Sizes that effects need, with their cost and the power of the plan; equal attributes share a row."""
    study, groups, prices = plan.study, plan.groups, plan.prices
    judges_of_groups = [_judges_by_price(group, prices) for group in groups]
    heads = ["Effect", "Attribute"]
    for group, judges in zip(groups, judges_of_groups, strict=True):
        labels = [study.judge_labels.get(judge, "") if len(group.judges) > 1 else "" for judge in judges]
        heads.append(f"{group.label}\n{'respondents' if group.kind == 'human' else 'pairs'}")
        heads += [*(f"{label}\n{prices.currency or 'cost'}" for label in labels), "\npower"]
    sizes, plans = (
        [_hardest(answers[question], column) for answers in plan.powers]
        for question, column in ((1, "pairs"), (2, "power"))
    )
    rows: dict[tuple[str, ...], list[str]] = {}
    for index in sizes[0].sort_values("effect", kind="stable").index:
        cells = [f"{sizes[0]['effect'][index]:g}"]
        for group, size, plan_powers, judges in zip(groups, sizes, plans, judges_of_groups, strict=True):
            pairs = float(size["value"][index])
            unit_pairs = group.tasks if group.kind == "human" else 1
            cells.append(f"{round_up(pairs / unit_pairs):,}" if math.isfinite(pairs) else "no number")
            costs = [group.cost(prices, pairs, judge) for judge in judges]
            cells += ["" if cost is None else f"{cost:,.0f}" for cost in costs]
            cells.append(f"{plan_powers['value'][index]:.2f}")
        rows.setdefault(tuple(cells), []).append(study.feature_labels[str(sizes[0]["feature"][index])])
    return WordTable(
        "", heads, [[row[0], ", ".join(names), *row[1:]] for row, names in rows.items()], words=(0, 1)
    )


def _judges_by_price(group: PlannedJudges, prices: JudgmentPrices) -> list[str]:
    """The judges of a group with a known price, one for each price."""
    judge_by_cost: dict[float, str] = {}
    for judge in group.judges:
        cost = group.cost(prices, 1000.0, judge)
        if cost is not None:
            judge_by_cost.setdefault(cost, judge)
    return list(judge_by_cost.values())


def notes_of(plan: PlannedStudy, options: dict[str, Any]) -> list[str]:
    """Notes on a plan: its assumptions, and what it does not cover."""
    study, groups, powers = plan.study, plan.groups, plan.powers
    notes = [
        f"{group.label}: {note}"
        for group, answers in zip(groups, powers, strict=True)
        for note in dict.fromkeys((*answers[0].notes, *answers[1].notes))
    ]
    notes += [
        f"{group.label}: effects are corrected for response error by a reliability estimated from "
        f"{group.repeats} repeated tasks per respondent."
        for group in groups
        if group.options.get("estimand") == "corrected"
    ]
    if groups[0].kind == "human" and not options["icc"]:
        notes.append("Effects are assumed to be equal across respondents; give --icc otherwise.")
    notes += advice(study)
    names = [analysis.name for analysis in study.analyses if "*" in analysis.formula]
    if names and not study.design.restrictions:
        notes.append(
            f"AMCEs are planned as averages over the whole design, but analysis {' and '.join(names)} uses "
            "interactions (*); plan it with restrictions in conjury.analysis.conjoint.power()."
        )
    if study.stimuli and options["stimulus_sd"] is None:
        stimuli = " and ".join(f"{part.count} of each {part.attribute}" for part in study.stimuli)
        notes.append(
            f"Stimuli ({stimuli}) are treated as fixed; to generalise to new stimuli, give --stimulus-sd."
        )
    return [f"\n{notes[0]}", *notes[1:]] if notes else []


def stack_answers(
    groups: Sequence[PlannedJudges], powers: Sequence[tuple[Power, Power, Power]], prices: JudgmentPrices
) -> pd.DataFrame:
    """All levels, questions and judges in one table."""
    questions = ("detectable effect", "size", "power")
    parts = []
    for group, answers in zip(groups, powers, strict=True):
        for judge in group.judges:
            for question, answer in zip(questions, answers, strict=True):
                cost = [group.cost(prices, pairs, judge) for pairs in answer.frame["pairs"]]
                table = answer.frame.assign(
                    cost=pd.array(cost, dtype="Float64"), currency=prices.currency or None
                )
                for position, value in enumerate((judge, group.kind, question)):
                    table.insert(position, ("judge", "judge_kind", "question")[position], value)
                parts.append(table.astype({"feature": "string", "level": "string"}))
    return pd.concat(parts, ignore_index=True)


def draw_power(study: Study, result: Power, title: str, file: Path) -> None:
    """Draw a plan and save the figure."""
    labels = {**study.feature_labels}
    save(result.plot(labels=labels, title=title), file.with_suffix(""), formats=(file.suffix[1:].lower(),))
