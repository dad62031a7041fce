"""Detectable effects, sample sizes and costs of a planned study, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.table import Table

from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import advice

from .planned import UNKNOWN, Judged, Prices, paid_for, size_of, whole

if TYPE_CHECKING:
    from rich.console import Console

    from conjury.analysis.conjoint.power.result import Power


@dataclass(frozen=True)
class Planned:
    """A study, its groups of judges with their three answers each, prices, and the wanted power."""

    study: Study
    groups: Sequence[Judged]
    found: Sequence[tuple[Power, Power, Power]]
    prices: Prices
    wanted: float


def powers_of(
    study: Study, group: Judged, effects: list[float], level: tuple[float, float]
) -> tuple[Power, Power, Power]:
    """Detectable effects and powers of the plan, between them the sizes that the effects need."""
    from conjury.analysis.conjoint.power.closed_form import power
    from conjury.analysis.conjoint.power.design_card import joins

    joined, (wanted, alpha) = joins(study), level
    detectable = power(
        study, pairs=group.pairs, power=wanted, alpha=alpha, restrictions=joined, **group.options
    )
    sizes = detectable.at(effect=effects, power=wanted)
    return detectable, sizes, detectable.at(effect=effects, pairs=group.pairs)


def _hardest(found: Power, column: str) -> pd.DataFrame:
    """The hardest level of each attribute and effect."""
    keys = ["feature"] if found.solved == "effect" else ["feature", "effect"]
    frame = found.frame.assign(feature=found.frame["feature"].astype(str))
    by = "min" if column == "power" else "max"
    worst = frame.groupby(keys, sort=False)[column].agg(by)
    return worst.rename("value").reset_index()


def print_detectable(console: Console, plan: Planned) -> None:
    """Print the minimum detectable effects of the plan."""
    study, groups = plan.study, plan.groups
    console.print(f"\nMinimum detectable effect at power {plan.wanted:g}, hardest level of each attribute")
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("Attribute")
    table.add_column("Levels", justify="right")
    for group in groups:
        table.add_column(f"{group.label}\n{size_of(group)}", justify="right")
    values = [_hardest(answer, "effect").set_index("feature")["value"] for answer, _, _ in plan.found]
    for feature in values[0].index:
        cells = [f"{value[feature]:.4f}" if np.isfinite(value[feature]) else "none" for value in values]
        table.add_row(study.feature_labels[feature], str(len(study.levels(feature))), *cells)
    console.print(table)


def print_plan_costs(console: Console, plan: Planned) -> None:
    """Print the cost of the plan for each judge."""
    study, groups, prices = plan.study, plan.groups, plan.prices
    console.print("\nCost of the plan")
    for group in groups:
        unknown = []
        for judge in group.judges:
            cost = group.cost(prices, group.pairs, judge)
            label = study.judge_labels.get(judge, group.label)
            if cost is None:
                unknown.append(label)
            else:
                console.print(f"  {label}: {prices.tell(cost)}{paid_for(study, judge, prices)}")
        if unknown:
            remedy = "--cost-per-pair" if group.kind == "model" else "--cost-per-respondent"
            console.print(f"  {', '.join(unknown)}: {UNKNOWN}, give {remedy}")


def print_sizes(console: Console, plan: Planned) -> None:
    """Print the sizes that effects need, with their cost and the power of the plan."""
    study, groups, found, prices = plan.study, plan.groups, plan.found, plan.prices
    console.print(
        f"\nSizes needed for power {plan.wanted:g}, what they cost, and the power that the plan has"
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("Effect")
    table.add_column("Attribute")
    priced = [_priced(group, prices) for group in groups]
    for group, judges in zip(groups, priced, strict=True):
        unit = "respondents" if group.kind == "human" else "pairs"
        titles = [f"{group.label}\n{unit}"]
        for judge in judges:
            notes = study.judge_labels.get(judge, "") if len(group.judges) > 1 else ""
            titles.append(f"{notes}\n{prices.currency or 'cost'}")
        for title in (*titles, "\npower"):
            table.add_column(title, justify="right", no_wrap=True)
    sizes = [_hardest(answers[1], "pairs") for answers in found]
    plans = [_hardest(answers[2], "power") for answers in found]
    rows: dict[tuple[str, ...], list[str]] = {}
    for index in sizes[0].sort_values("effect", kind="stable").index:
        cells = [f"{sizes[0]['effect'][index]:g}"]
        for group, size, planned, judges in zip(groups, sizes, plans, priced, strict=True):
            pairs = float(size["value"][index])
            unit_pairs = group.tasks if group.kind == "human" else 1
            cells.append(f"{whole(pairs / unit_pairs):,}" if math.isfinite(pairs) else "no number")
            costs = [group.cost(prices, pairs, judge) for judge in judges]
            cells += ["" if cost is None else f"{cost:,.0f}" for cost in costs]
            cells.append(f"{planned['value'][index]:.2f}")
        rows.setdefault(tuple(cells), []).append(study.feature_labels[str(sizes[0]["feature"][index])])
    for row, labels in rows.items():
        table.add_row(row[0], ", ".join(labels), *row[1:])
    console.print(table)


def _priced(group: Judged, prices: Prices) -> list[str]:
    """The judges of a group with a known price, one for each price."""
    known: dict[float, str] = {}
    for judge in group.judges:
        cost = group.cost(prices, 1000.0, judge)
        if cost is not None:
            known.setdefault(cost, judge)
    return list(known.values())


def notes_of(plan: Planned, options: dict[str, Any]) -> list[str]:
    """Notes on a plan: its assumptions, and what it does not cover."""
    study, groups, found = plan.study, plan.groups, plan.found
    notes = [
        f"{group.label}: {note}"
        for group, answers in zip(groups, found, strict=True)
        for note in dict.fromkeys((*answers[0].notes, *answers[1].notes))
    ]
    notes += [
        f"{group.label}: effects are those without response error, estimated with a reliability from "
        f"{group.repeats} repeated tasks of each respondent."
        for group in groups
        if group.options.get("estimand") == "corrected"
    ]
    if groups[0].kind == "human" and not options["icc"]:
        notes.append("Respondents count as alike in their effects; give --icc if they are not.")
    notes += advice(study)
    joined = [analysis.name for analysis in study.analyses if "*" in analysis.formula]
    if joined and not study.design.restrictions:
        notes.append(
            f"AMCEs average over the design here, but analysis {' and '.join(joined)} joins features by *; "
            "plan it with restrictions in conjury.analysis.conjoint.power()."
        )
    if study.stimuli and options["stimulus_sd"] is None:
        held = " and ".join(f"{part.count} of each {part.attribute}" for part in study.stimuli)
        notes.append(
            f"Stimuli ({held}) count as fixed; give --stimulus-sd for conclusions about others like them."
        )
    return [f"\n{notes[0]}", *notes[1:]] if notes else []


def stacked(
    groups: Sequence[Judged], found: Sequence[tuple[Power, Power, Power]], prices: Prices
) -> pd.DataFrame:
    """All levels, questions and judges in one table."""
    questions = ("detectable effect", "size", "power")
    parts = []
    for group, answers in zip(groups, found, strict=True):
        for judge in group.judges:
            for question, answer in zip(questions, answers, strict=True):
                cost = [group.cost(prices, pairs, judge) for pairs in answer.frame["pairs"]]
                named = answer.frame.assign(
                    cost=pd.array(cost, dtype="Float64"), currency=prices.currency or None
                )
                for position, value in enumerate((judge, group.kind, question)):
                    named.insert(position, ("judge", "judge_kind", "question")[position], value)
                parts.append(named.astype({"feature": "string", "level": "string"}))
    return pd.concat(parts, ignore_index=True)


def draw_power(study: Study, found: Power, title: str, file: Path) -> None:
    """Draw a plan and save the figure."""
    from conjury.analysis.figures import save

    labels = {**study.feature_labels}
    save(found.plot(labels=labels, title=title), file.with_suffix(""), formats=(file.suffix[1:].lower(),))
