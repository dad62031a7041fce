"""Figures of a panel: who started and finished, times, checks, quotas and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..readers.judgments import strata_of
from ..study.models import ItemStudy, Study
from ..tables.columns import as_text
from ..tables.files import read_table
from ..tables.schema import POSITIONS
from .panel_answers import ACTIVE, FINISHED, LEFT
from .panel_tables import PanelTables, ratings_agree, repeats_agree, straight_lines, tables_of
from .participations import Participations, participations_of
from .plan import PanelPlan
from .storage.database_state import DatabaseState
from .storage.quotas import quota_keys


@dataclass(frozen=True)
class QuotaFigure:
    """People of one quota: those who finished or take part now, and the limit."""

    answers: Mapping[str, str]  # the option of each question
    people: int
    limit: int


@dataclass(frozen=True)
class PanelFigures:
    """Where a panel is."""

    # slots, started, finished, active, left: Participations that are wanted; visits; who finished; who take
    # part within the time limit; who do not and have not ended.
    slots: int
    started: int
    finished: int
    active: int
    left: int
    # visits by how they ended: `finished`, `screened_out`, `full`, `declined`, `failed_checks`,
    # `failed_comprehension`, `withdrawn`, `timed_out` (the slot was given to another)
    ended: Mapping[str, int]
    # median time of those who finished, from the start to the end
    median_minutes: float | None
    # pay of one hour at the median time, in the currency of the pay; None without either
    hourly: float | None
    # checks_answered, checks_failed: Attention checks, over all people.
    checks_answered: int
    checks_failed: int
    quotas: tuple[QuotaFigure, ...]
    # cost, currency: Cost of those who finished, at the stated pay; None where the study states none.
    cost: float | None
    currency: str | None
    # how often each level was shown in answered tasks, by position: `attribute, level, position, shown,
    # share`. Of items by strata, with an empty position
    balance: pd.DataFrame
    # agreement so far: `measure, estimate, units`. With oneself where tasks are repeated ("repeat"), and of
    # items the share of pairs of people who gave an item the same answer, by dimension
    agreement: pd.DataFrame
    # each person's longest series of equal answers: `judge_id, longest, tasks, share`, the longest first
    straight: pd.DataFrame


def figures_of(plan: PanelPlan, stored: DatabaseState, now: float) -> PanelFigures:
    """Compute the figures of one state of the database."""
    participations = participations_of(plan, stored, now)
    states = participations.people["state"]
    finished = participations.people[(states == FINISHED).to_numpy(bool)]
    minutes = (finished["last"].astype(float) - finished["started"].astype(float)) / 60
    minutes = minutes[minutes >= 0]
    median = float(minutes.median()) if len(minutes) else None
    pay, tables = plan.section.pay, tables_of(plan, stored, now)
    failed = int(participations.people["checks_failed"].sum())
    counts = states.value_counts()
    return PanelFigures(
        slots=len(plan.slots),
        started=len(participations.people),
        finished=len(finished),
        active=int(counts.get(ACTIVE, 0)),
        left=int(counts.get(LEFT, 0)),
        ended={str(name): int(n) for name, n in counts.items() if name not in (ACTIVE, LEFT)},
        median_minutes=median,
        hourly=None if pay is None or not median else 60 * float(pay.amount) / median,
        checks_answered=failed + int(participations.people["checks_passed"].sum()),
        checks_failed=failed,
        quotas=tuple(_quotas(plan, stored, participations)),
        cost=None if pay is None else len(finished) * float(pay.amount),
        currency=None if pay is None else pay.currency,
        balance=balance(plan, participations),
        agreement=_agreement(tables),
        straight=_straightlining(participations),
    )


def _quotas(plan: PanelPlan, stored: DatabaseState, participations: Participations) -> list[QuotaFigure]:
    taking_part = participations.people["state"].isin([FINISHED, ACTIVE])
    rows = stored.quotas[stored.quotas["visit"].map(taking_part).fillna(False).to_numpy(bool)]
    people: dict[int, dict[str, str]] = {}
    for visit, question, option in zip(rows["visit"], rows["question"], rows["option"], strict=True):
        people.setdefault(int(visit), {})[str(question)] = str(option)
    return [
        QuotaFigure(
            quota.combination,
            sum(quota_keys(plan.section, quota).items() <= answers.items() for answers in people.values()),
            quota.people,
        )
        for quota in plan.section.quotas
    ]


def balance(plan: PanelPlan, participations: Participations) -> pd.DataFrame:
    """How often each level was shown in answered tasks, by attribute and position."""
    names = participations.tasks()["name"]
    if isinstance(plan.study, Study):
        return _balance_of_pairs(plan, plan.study, names)
    return _balance_of_items(plan, plan.study, names)


def _balance_of_pairs(plan: PanelPlan, study: Study, names: pd.Series[Any]) -> pd.DataFrame:
    assert plan.design is not None
    assert plan.design.panel is not None
    tasks = plan.design.panel.tasks.drop_duplicates(["task_id", "position"])
    counts = names.astype("string").value_counts().rename("n")
    rows = tasks[["task_id", "position", "profile_id"]].merge(counts, left_on="task_id", right_index=True)
    rows = rows.merge(plan.design.profiles, on="profile_id")
    parts = []
    for attribute in study.attributes:
        by = [rows["position"].astype("string"), as_text(rows[attribute.id])]
        levels = [level.id for level in attribute.levels]
        every = pd.MultiIndex.from_product([POSITIONS, levels], names=["position", "level"])
        level_counts = rows["n"].groupby([key.to_numpy() for key in by]).sum()
        parts.append(_shares(attribute.id, level_counts.reindex(every, fill_value=0)))
    return pd.concat(parts, ignore_index=True)


def _balance_of_items(plan: PanelPlan, study: ItemStudy, names: pd.Series[Any]) -> pd.DataFrame:
    items = read_table(study.folder / study.items, "items")
    strata = strata_of(study, items, study.items)
    parts = [_shares("", pd.Series([], index=pd.MultiIndex.from_arrays([[], []]), dtype=int))]
    for stratum in study.strata:
        levels = pd.Series([strata[str(name)].get(stratum.id) for name in names], dtype="string")
        every = pd.MultiIndex.from_product([[""], study.levels(stratum.id)])
        level_counts = levels.value_counts()
        level_counts.index = pd.MultiIndex.from_product([[""], level_counts.index])
        parts.append(_shares(stratum.id, level_counts.reindex(every, fill_value=0)))
    return pd.concat(parts, ignore_index=True)


def _shares(attribute: str, level_counts: pd.Series[Any]) -> pd.DataFrame:
    position, level = (level_counts.index.get_level_values(at) for at in (0, 1))
    count = level_counts.to_numpy(dtype=int)
    total = pd.Series(count).groupby(position.to_numpy()).transform("sum")
    return pd.DataFrame(
        {
            "attribute": pd.array([attribute] * len(level_counts), dtype="string"),
            "level": pd.array(list(level), dtype="string"),
            "position": pd.array(list(position), dtype="string"),
            "shown": count,
            "share": (count / total.where(total > 0)).to_numpy(dtype=float),
        }
    )


def _agreement(tables: PanelTables) -> pd.DataFrame:
    rows: list[tuple[str, float, int]] = []
    if tables.choices is not None:
        same = repeats_agree(tables.choices)["same"]
    else:
        same = ratings_agree(tables.judgments)["same"]
        for dimension, of in tables.judgments.groupby("dimension", sort=False):
            share, pairs = pairwise_agreement(of)
            if pairs:
                rows.append((str(dimension), share, pairs))
    if len(same):
        rows.insert(0, ("repeat", float(same.mean()), len(same)))
    return pd.DataFrame(rows, columns=["measure", "estimate", "units"])


def pairwise_agreement(judgments: pd.DataFrame) -> tuple[float, int]:
    """Share of pairs of people who gave an item the same value, and the number of such pairs."""
    first = judgments[(judgments["sample"] == 1).to_numpy(bool)]
    values = as_text(first["value"])
    by_value = first.groupby(["item_id", values], observed=True).size()
    by_item = first.groupby("item_id", observed=True).size()
    pairs = int((by_item * (by_item - 1) // 2).sum())
    same = int((by_value * (by_value - 1) // 2).sum())
    return (same / pairs if pairs else float("nan")), pairs


def _straightlining(participations: Participations) -> pd.DataFrame:
    lines = straight_lines(participations.tasks())
    frame = lines.assign(judge_id=participations.people["judge_id"].reindex(lines.index))
    frame = frame[["judge_id", "longest", "tasks", "share"]]
    return frame.sort_values(["share", "tasks"], ascending=False, kind="stable").reset_index(drop=True)
