"""The rows of a table that may be labelled, the quantities that labels are about, and what a label may be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed, no_column, quoted
from conjury.inference.tables.items import item_column
from conjury.inference.tables.reading import TableReading
from conjury.inference.tables.reading.cell_rules import key_of, number_of
from conjury.inference.tables.row_numbers import row_words
from conjury.inference.tables.schema import SAMPLING

from ...frames.sequences import DIFFERENCE, LEVEL
from ...numerics.types import Codes, Floats
from ..systems.stacked_systems import merge_spellings, refuse_systems, systems_in_order
from ..systems.system_rows import SystemRows, mix_weights, positive_class, system_rows
from ..validation.coding import CodedRows, CodingOptions, Groups, code_table, refuse_columns

EVERYTHING = "all"  # the one system of a table without a column of systems


@dataclass(frozen=True)
class LabelPlan:
    """What is labelled: columns of the table, and what is fixed before the first label."""

    judge: tuple[str, ...]
    human: str = "label"  # column that gets the labels
    system: str | None = None
    id: str | None = None
    certainty: str | None = None
    strata: tuple[str, ...] = ()
    positive: str | None = None
    limits: tuple[float, float] | None = None  # of ratings
    alpha: float = 0.05
    seed: int = 1

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> LabelPlan:
        """The plan that a journal recorded."""
        limits = record["limits"]
        parts = {"judge": tuple(record["judge"]), "strata": tuple(record["strata"])}
        return cls(**{**record, **parts, "limits": None if limits is None else tuple(limits)})

    def record(self) -> dict[str, Any]:
        """The plan as a journal records it."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class LabelPopulation:
    """R rows in U units that are drawn as a whole, and C quantities that are sums over rows."""

    # Without systems each row is a unit and the quantity is the mean over rows; with systems the answers to a
    # prompt are a unit, and the quantities are levels and differences of systems.

    rows: SystemRows
    unit: Codes  # (R,)
    # name of each quantity: (R,): what an answer of a row contributes per point
    contrasts: Mapping[str, Floats]
    least: float  # of labels, as numbers
    greatest: float
    classes: tuple[str, ...]  # that a label may be; empty for ratings
    positive: str | None  # class whose share is estimated
    factors: tuple[Codes, ...]  # each (R,): groups of rows whose labels may vary differently
    uncertainty: Floats  # (R,): from 0.5, where the judge is sure, to 1.5
    table_label: Floats  # (R,): labels that the table has, as numbers; NaN without one
    is_sampled: bool  # whether the table states the probabilities of these labels
    notes: tuple[str, ...]
    relabel: Mapping[str, str] = field(default_factory=dict)  # texts, folded, and the labels that they mean

    @property
    def main(self) -> str:
        """The quantity that rules mean which name none."""
        return next((name for name in self.contrasts if name.startswith(DIFFERENCE)), LEVEL)

    @property
    def share(self) -> Floats:
        """The largest contribution of each row to a quantity, (R,)."""
        return np.asarray(np.abs(np.stack(list(self.contrasts.values()))).max(axis=0))

    def number(self, label: str) -> float:
        """A label as a number; InputError for one that it cannot be."""
        if not self.classes:
            value = number_of(self._meaning(label))
            if value is None or not self.least <= value <= self.greatest:
                raise InputError(
                    f"{quoted(label)} is no rating; give a number from {self.least:g} to {self.greatest:g}."
                )
            return value
        keys = {key_of(name): name for name in self.classes}
        meaning = key_of(self._meaning(label))
        if meaning not in keys:
            raise InputError(
                f"{quoted(label)} is no label{did_you_mean(label, self.classes)}; give one of "
                f"{listed(map(quoted, self.classes), 12)}."
            )
        return float(keys[meaning] == self.positive)

    def spelling(self, label: str) -> str:
        """A label as the judge spells it."""
        keys = {key_of(name): name for name in self.classes}
        meaning = self._meaning(label)
        return keys.get(key_of(meaning), meaning.strip())

    def has_label(self, label: str) -> bool:
        """Whether a text is a label as it stands; texts that are relabelled are none."""
        if not self.classes:
            return number_of(label) is not None
        return key_of(label) in map(key_of, self.classes)

    def _meaning(self, label: str) -> str:
        # What people see are the labels that texts mean, so that these come first.
        return label if self.has_label(label) else self.relabel.get(key_of(label), label)


def population_of(reading: TableReading, plan: LabelPlan) -> LabelPopulation:
    """The population of a table; InputError for what cannot be labelled."""
    table, source, notes = reading.frame, reading.source, list[str]()
    _refuse_plan(table, plan, source)
    people = (plan.human,) if plan.human in table and table[plan.human].notna().any() else ()
    prompt = None
    if plan.system is not None:
        table, notes = merge_spellings(table, plan.system)
        candidates = table.drop(columns=[plan.system, *plan.judge, *people], errors="ignore")
        prompt = plan.id or item_column(candidates)
        if prompt is None:
            raise InputError(
                f"{source}: no column is called as prompts are; name that of the prompts with --id."
            )
    by = (plan.system,) if plan.system is not None else ()
    options = CodingOptions(plan.judge, people, (*by, *plan.strata), prompt, plan.positive, reading.rules)
    refuse_columns(table, options, source)
    if plan.system is not None:
        refuse_systems(table[plan.system], plan.system, source)
    data = code_table(table, options, source)
    data = systems_in_order(data) if plan.system is not None else _in_one_system(data)
    place = positive_class(data, source)
    if place is not None and plan.limits is not None:
        raise InputError(
            f"{source}: answers are classes, and --range is of ratings; omit it, or give --scale interval."
        )
    least, greatest = (0.0, 1.0) if place is not None else _limits(data, plan, source)
    rows = system_rows(data, plan.judge, None, mix_weights(data, {}), source)
    if place is None and np.isfinite(rows.label).any():
        outside = np.isfinite(rows.label) & ((rows.label < least) | (rows.label > greatest))
        if outside.any():
            row = int(outside.argmax())
            raise InputError(
                f"{source}: '{plan.human}' in row {row_words(source, row)} is {rows.label[row]:g}, beyond "
                f"the limits of {least:g} to {greatest:g}; widen --range, or state it with --missing."
            )
    return LabelPopulation(
        rows=rows,
        unit=data.cluster if plan.system is not None else np.arange(data.n),
        contrasts=_contrasts(rows),
        least=least,
        greatest=greatest,
        classes=() if place is None else data.classes,
        positive=None if place is None else data.classes[place],
        factors=_factors(rows, data.groups[1:]),
        uncertainty=_uncertainty(table, plan.certainty, source),
        table_label=rows.label,
        is_sampled=_is_sampled(table, people),
        notes=(*reading.account.notes(), *notes, *data.notes),
        relabel={key_of(text): name for text, name in reading.rules.relabel.items()},
    )


def _is_sampled(table: pd.DataFrame, people: Sequence[str]) -> bool:
    """Whether every label that the table has comes with the probability of its row."""
    return (
        bool(people) and SAMPLING in table and bool(table[SAMPLING][table[people[0]].notna()].notna().all())
    )


def _refuse_plan(table: pd.DataFrame, plan: LabelPlan, source: str) -> None:
    if not plan.judge:
        raise InputError(f"{source}: name at least one column of the judge with --judge.")
    named = [*plan.judge, *plan.strata, *(name for name in (plan.system, plan.certainty) if name is not None)]
    if plan.human in named:
        raise InputError(
            f"{source}: '{plan.human}' is to get the labels, and is named as another column, too; name a new "
            "column with --human."
        )


def _in_one_system(data: CodedRows) -> CodedRows:
    everything = Groups("", np.zeros(data.n, dtype=np.int64), (EVERYTHING,))
    rows = np.arange(data.n, dtype=np.int64)
    return replace(data, groups=(everything, *data.groups), cluster=rows)


def _limits(data: CodedRows, plan: LabelPlan, source: str) -> tuple[float, float]:
    low, high = float(np.nanmin(data.judged)), float(np.nanmax(data.judged))
    if plan.limits is None:
        raise InputError(
            f"{source}: '{plan.judge[0]}' has ratings from {low:g} to {high:g}, and intervals need the "
            "lowest and highest rating that a person can give; state them, such as --range "
            f"{np.floor(low):g},{np.ceil(high):g}."
        )
    least, greatest = plan.limits
    if not (np.isfinite(least) and np.isfinite(greatest) and least < greatest):
        raise InputError(f"--range {least:g},{greatest:g} has no room; give a lower and a higher number.")
    return least, greatest


def _contrasts(rows: SystemRows) -> dict[str, Floats]:
    """Levels of all systems and differences of all pairs, the later minus the earlier."""
    levels = []
    for place in range(len(rows.systems)):
        weight = np.where(rows.system == place, rows.weight, 0.0)
        levels.append(weight / weight.sum())
    if len(levels) == 1:
        return {LEVEL: levels[0]}
    pairs = list(combinations(range(len(levels)), 2))
    differences = {
        DIFFERENCE if len(pairs) == 1 else f"{DIFFERENCE}[{rows.systems[b]} minus {rows.systems[a]}]": levels[
            b
        ]
        - levels[a]
        for a, b in pairs
    }
    named = {f"{LEVEL}[{name}]": level for name, level in zip(rows.systems, levels, strict=True)}
    return differences | named


def _factors(rows: SystemRows, strata: Sequence[Groups]) -> tuple[Codes, ...]:
    """Fifths of the mean score, thirds of the disagreement of judges, systems, and strata."""
    parts = [_parts(rows.score.mean(axis=0), 5)]
    if len(rows.score) > 1:
        parts.append(_parts(rows.score.std(axis=0), 3))
    if len(rows.systems) > 1:
        parts.append(rows.system)
    return (*parts, *(group.code for group in strata))


def _parts(values: Floats, count: int) -> Codes:
    edges = np.unique(np.quantile(values, np.arange(1, count) / count))
    return np.searchsorted(edges, values, side="left").astype(np.int64)


def _uncertainty(table: pd.DataFrame, certainty: str | None, source: str) -> Floats:
    """How uncertain the judge is, by the rank of its certainty; 1 for all rows without such a column."""
    if certainty is None:
        return np.ones(len(table))
    if certainty not in table:
        raise no_column(source, certainty, table)
    values = pd.to_numeric(table[certainty], errors="coerce")
    broken = values.isna() & table[certainty].notna()
    if broken.any():
        row = int(broken.to_numpy(dtype=bool).argmax())
        raise InputError(
            f"{source}: '{certainty}' in row {row_words(source, row)} is no number "
            f"({quoted(str(table[certainty].iloc[row]))}); give how sure the judge is, or state it with "
            "--missing."
        )
    rank = values.rank(method="average", pct=True).fillna(0.0).to_numpy(dtype=float)
    return np.asarray(1.5 - rank)


def fingerprint_of(
    reading: TableReading, plan: LabelPlan, population: LabelPopulation, columns: Sequence[str]
) -> str:
    """Changes where labels would be of other rows, or draws and estimates of another population."""
    parts = (plan.system, plan.id, plan.certainty)
    # Without columns to show, people may see any.
    columns = columns or [str(name) for name in reading.frame if name != plan.human]
    names = [*plan.judge, *plan.strata, *(name for name in parts if name), *columns]
    frame = reading.frame[[name for name in dict.fromkeys(names) if name in reading.frame]]
    texts = frame.astype("string").fillna("").to_csv(index=False)
    bounds = [population.least, population.greatest, population.positive, *population.classes]
    content = json.dumps([texts, population.table_label.tolist(), bounds])
    return hashlib.sha256(content.encode()).hexdigest()


def refuse_unchosen(population: LabelPopulation, human: str, source: str, is_declared: bool) -> None:
    """Refuse labels of the table of which nobody said how their rows were chosen."""
    count = int(np.isfinite(population.table_label).sum())
    if not count or population.is_sampled or is_declared:
        return
    raise InputError(
        f"{source}: {counted(count, 'row')} {'has' if count == 1 else 'have'} a label in '{human}' that was "
        "not drawn here, and how the rows were chosen is unknown; declare them with --hand-picked, and they "
        "count for their own rows alone, or name a new column with --human."
    )
