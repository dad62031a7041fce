"""What ``conjury power`` does: detectable effects and sample sizes of a study's design, with their cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from conjury.inference.errors import InputError
from conjury.inference.study.load import load_study
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import advice

from .planned import UNKNOWN, Judged, Prices, find_groups, find_prices, paid_for, size_of, whole

if TYPE_CHECKING:
    from conjury.analysis.conjoint.power.result import Power

EFFECTS = (0.01, 0.02, 0.05)
FIGURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".gz", ".parquet")


def plan_study(
    study: str,
    effects: Sequence[float] | None,
    pairs: int | None,
    respondents: int | None,
    wanted: float,
    alpha: float,
    judges: Sequence[str] | None,
    options: dict[str, Any],
    costs: tuple[float | None, float | None],
    out: Path | None,
    figure: Path | None,
) -> None:
    """Print detectable effects, sample sizes and costs; write them and draw them where asked to."""
    from conjury.inference.tables.files import write_table

    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise InputError(f"{figure}: figures are files that end in {', '.join(FIGURES)}; rename it.")
    if Path(study).suffix.lower() in TABLES:
        raise InputError(
            f"{study}: conjury power plans studies, in which all levels combine freely; plan a table of "
            "cells with conjury.analysis.conjoint.power() in Python."
        )
    known = load_study(study)
    prices = find_prices(known, *costs)
    groups = find_groups(known, judges, pairs, respondents, options)
    asked = [*effects] if effects else [*EFFECTS]
    found = [_analyse(known, group, asked, wanted, alpha) for group in groups]
    if out is not None:
        write_table(_stacked(groups, found, prices), out)
    if figure is not None:
        _draw(known, found[-1][2 if effects else 0], groups[-1].label, figure)
    console = Console(highlight=False, markup=False)
    console.print(f"{known.title}\nTwo-sided tests at alpha {found[0][0].setting.level_alpha:.3g}")
    _print_detectable(console, known, groups, [answers[0] for answers in found], wanted)
    _print_plan_costs(console, known, groups, prices)
    _print_sizes(console, known, groups, found, prices, wanted)
    for note in _notes(known, groups, found, options):
        console.print(note)
    if out is not None:
        console.print(f"All levels and judges in {out}")
    if figure is not None:
        console.print(f"Figure in {figure}")


def _analyse(
    study: Study, group: Judged, effects: list[float], wanted: float, alpha: float
) -> tuple[Power, Power, Power]:
    """Detectable effects and powers of the plan, between them the sizes that the effects need."""
    from conjury.analysis.conjoint.power.closed_form import power
    from conjury.analysis.conjoint.power.design_card import joins

    joined = joins(study)
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


def _print_detectable(
    console: Console, study: Study, groups: Sequence[Judged], found: Sequence[Power], wanted: float
) -> None:
    console.print(f"\nMinimum detectable effect at power {wanted:g}, hardest level of each attribute")
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("Attribute")
    table.add_column("Levels", justify="right")
    for group in groups:
        table.add_column(f"{group.label}\n{size_of(group)}", justify="right")
    values = [_hardest(answer, "effect").set_index("feature")["value"] for answer in found]
    for feature in values[0].index:
        cells = [f"{value[feature]:.4f}" if np.isfinite(value[feature]) else "none" for value in values]
        table.add_row(study.feature_labels[feature], str(len(study.levels(feature))), *cells)
    console.print(table)


def _print_plan_costs(console: Console, study: Study, groups: Sequence[Judged], prices: Prices) -> None:
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


def _print_sizes(
    console: Console,
    study: Study,
    groups: Sequence[Judged],
    found: Sequence[tuple[Power, Power, Power]],
    prices: Prices,
    wanted: float,
) -> None:
    console.print(f"\nSizes needed for power {wanted:g}, what they cost, and the power that the plan has")
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("Effect")
    table.add_column("Attribute")
    priced = [_priced(group, prices) for group in groups]
    for group, judges in zip(groups, priced, strict=True):
        unit = "respondents" if group.kind == "human" else "pairs"
        titles = [f"{group.label}\n{unit}"]
        for judge in judges:
            told = study.judge_labels.get(judge, "") if len(group.judges) > 1 else ""
            titles.append(f"{told}\n{prices.currency or 'cost'}")
        for title in (*titles, "\npower"):
            table.add_column(title, justify="right", no_wrap=True)
    sizes = [_hardest(answers[1], "pairs") for answers in found]
    plans = [_hardest(answers[2], "power") for answers in found]
    rows: dict[tuple[str, ...], list[str]] = {}
    for index in sizes[0].sort_values("effect", kind="stable").index:
        cells = [f"{sizes[0]['effect'][index]:g}"]
        for group, size, plan, judges in zip(groups, sizes, plans, priced, strict=True):
            pairs = float(size["value"][index])
            unit_pairs = group.tasks if group.kind == "human" else 1
            cells.append(f"{whole(pairs / unit_pairs):,}" if math.isfinite(pairs) else "no number")
            costs = [group.cost(prices, pairs, judge) for judge in judges]
            cells += ["" if cost is None else f"{cost:,.0f}" for cost in costs]
            cells.append(f"{plan['value'][index]:.2f}")
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


def _notes(
    study: Study,
    groups: Sequence[Judged],
    found: Sequence[tuple[Power, Power, Power]],
    options: dict[str, Any],
) -> list[str]:
    told = [
        f"{group.label}: {note}"
        for group, answers in zip(groups, found, strict=True)
        for note in dict.fromkeys((*answers[0].notes, *answers[1].notes))
    ]
    told += [
        f"{group.label}: effects are those without response error, estimated with a reliability from "
        f"{group.repeats} repeated tasks of each respondent."
        for group in groups
        if group.options.get("estimand") == "corrected"
    ]
    if groups[0].kind == "human" and not options["icc"]:
        told.append("Respondents count as alike in their effects; give --icc if they are not.")
    told += advice(study)
    joined = [analysis.name for analysis in study.analyses if "*" in analysis.formula]
    if joined and not study.design.restrictions:
        told.append(
            f"AMCEs average over the design here, but analysis {' and '.join(joined)} joins features by *; "
            "plan it with restrictions in conjury.analysis.conjoint.power()."
        )
    if study.stimuli and options["stimulus_sd"] is None:
        held = " and ".join(f"{part.count} of each {part.attribute}" for part in study.stimuli)
        told.append(
            f"Stimuli ({held}) count as fixed; give --stimulus-sd for conclusions about others like them."
        )
    return [f"\n{told[0]}", *told[1:]] if told else []


def _stacked(
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


def _draw(study: Study, found: Power, title: str, file: Path) -> None:
    from conjury.analysis.figures import save

    labels = {**study.feature_labels}
    save(found.plot(labels=labels, title=title), file.with_suffix(""), formats=(file.suffix[1:].lower(),))
