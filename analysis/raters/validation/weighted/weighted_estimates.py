"""Agreement, rates, errors and subgroups over all judged rows, weighted by the judge's answer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....numerics.intervals.bounded import NOTHING, BoundedEstimate, Flags
from ....numerics.types import Floats
from ..coding import CodedRows, GoldCoding, counts_of
from ..error_rates import MOST_RECALLS, classes_first, complement_of_level, levels_of, tested_classes
from ..label_agreement import ACCURACY, headline_of, measures_of
from ..validation_rows import AGREEMENT, ERRORS, RATES, SUBGROUPS, TestRows
from .answer_strata import strata_of
from .weighted_tables import WeightedTables, by_chance, coefficient, tables_of


def add_weighted(rows: TestRows, coded: CodedRows, gold: GoldCoding, seed: int, notes: list[str]) -> None:
    """Add what `judge` reports of labels, as it is among all judged rows."""
    strata = strata_of(coded)
    tables = tables_of(coded, strata, _everyone(coded), rows.alpha, seed)
    for measure in measures_of(coded.scale):
        scale = 1.0 if measure == ACCURACY else 2.0
        result = tables.bounded(coefficient(measure, coded, tables.n), tables.right, scale)
        rows.add(AGREEMENT, measure, result, chance=by_chance(measure, coded, tables.shares))
    most = float(tables.shares.sum(axis=0).max())
    rows.number(AGREEMENT, "always_most_frequent", most, tables.n)
    _add_rates(rows, coded, tables)
    _add_errors(rows, coded, tables_of(coded, strata, _gold(coded, gold), rows.alpha, seed))
    _add_subgroups(rows, coded, gold, seed, notes)


def drawn_rate(coded: CodedRows, place: int, alpha: float, seed: int) -> BoundedEstimate:
    """The rate of a class among people over all judged rows, by labels drawn with known probabilities."""
    tables = tables_of(coded, strata_of(coded), _everyone(coded), alpha, seed)
    return tables.bounded(partial(_rate, place=place, axis=1), tables.of_class(place))


def _everyone(coded: CodedRows) -> Floats:
    """Share of the labels of each row in each class, shape (n, q)."""
    counts = counts_of(coded.people, coded.q)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def _gold(coded: CodedRows, gold: GoldCoding) -> Floats:
    """The same of labels that count as right."""
    labels = np.zeros((coded.n, coded.q))
    np.add.at(labels, (gold.row, gold.label), 1.0)
    return np.asarray(labels / np.maximum(labels.sum(axis=1, keepdims=True), 1.0))


def _add_rates(rows: TestRows, coded: CodedRows, tables: WeightedTables) -> None:
    for place in tested_classes(coded):
        name, of_class = coded.classes[place], tables.of_class(place)
        judge, people = partial(_rate, place=place, axis=2), partial(_rate, place=place, axis=1)
        estimates = tables.bounded(judge, of_class), tables.bounded(people, of_class)
        model_based = (rows.bounds.get(f"{key}_rate[{name}]") for key in ("judge_only", "corrected"))
        for measure, estimate, corrected in zip(
            ("judge_rate", "people_rate"), estimates, model_based, strict=True
        ):
            rows.add(RATES, measure, corrected or estimate, label=name)

        def rate_difference(shares: Floats, sides: tuple[Any, Any] = (judge, people)) -> Floats:
            return np.asarray(sides[0](shares) - sides[1](shares))

        difference = tables.bounded(rate_difference, 1 - of_class, 0.0)
        rows.add(RATES, "rate_difference", difference, label=name, family="rates")


def _rate(shares: Floats, place: int, axis: int) -> Floats:
    return np.asarray(shares.sum(axis=axis)[:, place])


def _among(shares: Floats, place: int, kind: str) -> Floats:
    """Recall, precision or F1 of a class."""
    right, judge, people = shares[:, place, place], _rate(shares, place, 2), _rate(shares, place, 1)
    of = {"recall": people, "precision": judge, "f1": (judge + people) / 2}[kind]
    return np.asarray(np.divide(right, of, out=np.full(len(right), np.nan), where=of > 0))


def _add_errors(rows: TestRows, coded: CodedRows, right: WeightedTables) -> None:
    for place in classes_first(coded):
        for measure in ("recall", "precision", "f1"):
            rows.add(ERRORS, measure, _error(right, place, measure), label=coded.classes[place])


def _error(right: WeightedTables, place: int, kind: str) -> BoundedEstimate:
    """Recall, precision or F1 of a class, with the labelled rows that it rests on."""
    counts = right.counts * right.n / right.counts.sum()
    judge, people = counts[place].sum(), counts[:, place].sum()
    n = {"recall": people, "precision": judge, "f1": judge + people - counts[place, place]}[kind]
    result = right.bounded(partial(_among, place=place, kind=kind), right.right)
    return replace(result, n=round(float(n)), clusters=min(result.clusters, round(float(n))))


def _add_subgroups(rows: TestRows, coded: CodedRows, gold: GoldCoding, seed: int, notes: list[str]) -> None:
    everyone, right = _everyone(coded), _gold(coded, gold)
    judged = np.isfinite(coded.judged[0])
    lacking: list[str] = []
    for group in coded.groups:
        for level, inside in levels_of(group, judged):
            keys: dict[str, Any] = {"by": group.name, "level": level}
            subgroup = _part(coded, inside, everyone, rows.alpha, seed)
            if subgroup is None:
                lacking.append(f"{group.name} {level!r}")
                continue
            main = headline_of(coded.scale)
            rows.add(SUBGROUPS, ACCURACY, subgroup.bounded(_accuracy, subgroup.right), **keys)
            rows.add(
                SUBGROUPS,
                main,
                subgroup.bounded(coefficient(main, coded, subgroup.n), subgroup.right, 2.0),
                **keys,
            )
            is_complement = complement_of_level(group, level, judged)
            complement = (
                None if is_complement is None else _part(coded, is_complement, everyone, rows.alpha, seed + 1)
            )
            if complement is not None:
                family = f"subgroups {group.name}"
                rows.add(
                    SUBGROUPS,
                    "accuracy_difference",
                    _accuracy_difference(subgroup, complement),
                    family=family,
                    **keys,
                )
            errors = _part(coded, inside, right, rows.alpha, seed)
            for place in classes_first(coded) if coded.q <= MOST_RECALLS and errors is not None else ():
                recall = _error(errors, place, "recall") if errors is not None else NOTHING
                rows.add(SUBGROUPS, "recall", recall, label=coded.classes[place], **keys)
    if lacking:
        notes.append(
            f"Without estimates, since people labelled too few rows of some answer of the judge: "
            f"{', '.join(lacking)}."
        )


def _part(coded: CodedRows, inside: Flags, labels: Floats, alpha: float, seed: int) -> WeightedTables | None:
    part = coded.rows(inside)
    strata = strata_of(part)
    return None if strata.sparse else tables_of(part, strata, labels[inside], alpha, seed)


def _accuracy(shares: Floats) -> Floats:
    return np.asarray(np.trace(shares, axis1=1, axis2=2))


def _accuracy_difference(subgroup: WeightedTables, complement: WeightedTables) -> BoundedEstimate:
    least = subgroup if subgroup.clusters <= complement.clusters else complement
    wrong = (1 - subgroup.right) / max(len(subgroup.right) - 1, 1)
    draws = [
        [_accuracy(part.drawn(further)) for further in (wrong, subgroup.right)]
        for part in (subgroup, complement)
    ]
    size = min(len(part) for sides in draws for part in sides)
    sides = [draws[0][k][:size] - draws[1][1 - k][:size] for k in range(2)]
    estimate = float(np.trace(subgroup.shares) - np.trace(complement.shares))
    return least.limited(estimate, sides, 0.0)
