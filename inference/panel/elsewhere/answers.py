"""Answers of people from other programs as tables: choices or judgments, and respondents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...design.profiles import factor
from ...errors import InputError, did_you_mean
from ...humans.rules import counts
from ...study.asking import Choice, LabelLevel, Ratings
from ...study.panel import PanelSection
from ...tables.schema import JUDGE_KINDS, POSITIONS, SAMPLING, validate
from ..plan import PanelPlan, PlannedTask, Slot
from .asked import Answer, Option, answers_of, plan_name

HUMAN = JUDGE_KINDS[0]
NOT_PEOPLE = ("preview", "test", "spam")  # marks of responses that are no answers of people to the survey


@dataclass(frozen=True)
class Visit:
    """What one person answered to the tasks of one slot.

    Attributes
    ----------
    where : str
        Where it is in the export, for errors.
    person : str
        Id in the other program; it is in none of the tables.
    answers : mapping
        Answers as they are in the export, by task (from 0) and id of the answer.
    seconds : mapping
        How long tasks took.
    columns : mapping
        Where the answers are, for errors, as ``answers``.
    """

    where: str
    person: str
    slot: str
    plan: str | None
    answers: Mapping[tuple[int, str], str]
    seconds: Mapping[int, float] = field(default_factory=dict)
    columns: Mapping[tuple[int, str], str] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    started: pd.Timestamp | None = None
    ended: pd.Timestamp | None = None
    duration: float | None = None
    finished: bool = True
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fielded:
    """Tables of a study that was fielded with another program.

    Attributes
    ----------
    answers : DataFrame
        ``choices`` of a conjoint, one row per profile that was seen; ``judgments`` of items.
    respondents : DataFrame
        One row per person: slot, times, checks, and answers to the questions of the study.
    notes : tuple of str
    """

    answers: pd.DataFrame
    respondents: pd.DataFrame
    notes: tuple[str, ...]


def tables_of(plan: PanelPlan, visits: Sequence[Visit], source: str, numbered: bool = False) -> Fielded:
    """Turn the answers of visits into tables, by who sees what.

    Parameters
    ----------
    plan : PanelPlan
    visits : sequence of Visit
    source : str
        Name of the export, for errors.
    numbered : bool
        Whether an answer may be the number of an option, as in exports of numeric values.

    Raises
    ------
    InputError
        Where answers belong to another plan, to a slot or an option that there is not.
    """
    slots = {slot.name: slot for slot in plan.slots}
    for visit in visits:
        _check(visit, plan, slots, source)
    people = [visit for visit in visits if not set(visit.excluded) & set(NOT_PEOPLE)]
    judges = judge_names(people)
    rows = [
        row
        for visit, judge in zip(people, judges, strict=True)
        for row in _rows(plan, visit, judge, slots[visit.slot], source, numbered)
    ]
    if not rows:
        raise InputError(f"{source}: nobody answered a task; export the answers again.")
    pair = isinstance(plan.study.response, Choice)
    answers = _choices(plan, rows, source) if pair else _judgments(plan, rows, source)
    respondents = pd.DataFrame(
        [
            _respondent(plan, visit, judge, slots[visit.slot], source, numbered)
            for visit, judge in zip(people, judges, strict=True)
        ]
    ).convert_dtypes()
    several = sum(count > 1 for count in Counter(visit.slot for visit in people).values())
    unanswered = len(plan.slots) - len({visit.slot for visit in people})
    notes = counts(
        {
            "Responses that are previews, tests or spam (left out)": len(visits) - len(people),
            "People who did not finish (what they answered is kept)": sum(not one.finished for one in people),
            "Slots with more than one person": several,
            "Slots without anybody": unanswered,
        }
    )
    return Fielded(answers, respondents, tuple(notes))


def judge_names(visits: Sequence[Visit]) -> list[str]:
    """Name each person by their first slot, with a number where an earlier person has that name."""
    names: dict[str, str] = {}
    used: Counter[str] = Counter()
    for visit in visits:
        if visit.person not in names:
            used[visit.slot] += 1
            number = used[visit.slot]
            names[visit.person] = visit.slot if number == 1 else f"{visit.slot}_{number}"
    return [names[visit.person] for visit in visits]


def _check(visit: Visit, plan: PanelPlan, slots: Mapping[str, Slot], source: str) -> None:
    if visit.plan is not None and visit.plan != plan_name(plan):
        raise InputError(
            f"{source}: {visit.where} answers another plan ({visit.plan}) than that of {plan.folder} "
            f"({plan_name(plan)}); name the run that was exported with --run."
        )
    if visit.slot not in slots:
        raise InputError(
            f"{source}: {visit.where} has slot '{visit.slot}', which is none of "
            f"{plan.folder}{did_you_mean(visit.slot, slots)}; name the run that was exported with --run."
        )


def _rows(
    plan: PanelPlan, visit: Visit, judge: str, slot: Slot, source: str, numbered: bool
) -> Iterator[dict[str, Any]]:
    """One row per answer that a task asks for; none of tasks without any answer."""
    for number, task in enumerate(slot.tasks):
        asked = answers_of(plan.study, plan.shown.of(task.subjects[0]))
        given = {one.id: visit.answers.get((number, one.id)) for one in asked}
        if all(text is None for text in given.values()):
            continue
        for one in asked:
            text = given[one.id]
            value = None if text is None else one.read(text, numbered)
            if text is not None and value is None:
                raise _no_answer(visit, (number, one.id), one, text, source)
            yield {
                "judge_id": judge,
                "task": number + 1,
                "planned": task,
                "dimension": one.id,
                "value": value,
                "status": "missing" if value is None else "ok",
                "duration": visit.seconds.get(number, np.nan),
                "excluded": "; ".join(visit.excluded) or None,
            }


def _no_answer(visit: Visit, key: tuple[int, str], asked: Answer, text: str, source: str) -> InputError:
    column = visit.columns.get(key)
    where = visit.where if column is None else f"{visit.where} of column '{column}'"
    known = ", ".join(repr(option.label) for option in asked.options[:12])
    remedy = f"use one of {known}" if asked.options else f"give {asked.minimum} to {asked.maximum}"
    return InputError(f"{source}: {where} contains '{text}', which is no answer to '{asked.id}'; {remedy}.")


def _choices(plan: PanelPlan, rows: Sequence[Mapping[str, Any]], source: str) -> pd.DataFrame:
    """Two rows per task, one for each profile that was seen; positions are those in which they were seen."""
    assert plan.design is not None
    sides = range(len(POSITIONS))
    both = [(row, row["planned"], side) for row in rows for side in sides]
    chosen = [None if row["value"] is None else int(row["value"] == POSITIONS[side]) for row, _, side in both]
    frame = pd.DataFrame(
        {
            "judge_id": [row["judge_id"] for row, _, _ in both],
            "judge_kind": HUMAN,
            "pair_id": [task.name for _, task, _ in both],
            "task": [row["task"] for row, _, _ in both],
            "position": factor(np.tile(list(sides), len(rows)), POSITIONS),
            "profile_id": pd.array([int(task.subjects[side]) for _, task, side in both], dtype="Int64"),
        }
    )
    profiles = plan.design.profiles
    known = pd.Index(profiles["profile_id"].astype("int64")).get_indexer(frame["profile_id"].astype("int64"))
    for name in profiles.columns.difference(["profile_id"], sort=False):
        frame[name] = profiles[name].iloc[known].array
    frame["chosen"] = pd.array(chosen, dtype="Int8")
    frame["status"] = [row["status"] for row, _, _ in both]
    frame["repeat"] = pd.array([task.repeat_of is not None for _, task, _ in both], dtype="boolean")
    frame["repeat_of"] = pd.array([task.repeat_of for _, task, _ in both], dtype="string")
    frame["sample"] = _samples(frame, ["judge_id", "pair_id", "repeat", "position"])
    frame[SAMPLING] = pd.array([task.sampling for _, task, _ in both], dtype="float64")
    frame["duration"] = [row["duration"] for row, _, _ in both]
    return validate(frame, "choices", source)


def _judgments(plan: PanelPlan, rows: Sequence[Mapping[str, Any]], source: str) -> pd.DataFrame:
    """One row per answer; a second answer about an item by the same person is its second sample."""
    tasks: list[PlannedTask] = [row["planned"] for row in rows]
    values: Any = pd.array([row["value"] for row in rows], dtype="string")
    frame = pd.DataFrame(
        {
            "judge_id": [row["judge_id"] for row in rows],
            "judge_kind": HUMAN,
            "item_id": [task.subjects[0] for task in tasks],
            "task": pd.array([row["task"] for row in rows], dtype="Int64"),
            "dimension": [row["dimension"] for row in rows],
            "value": pd.to_numeric(values) if isinstance(plan.study.response, Ratings) else values,
            "status": [row["status"] for row in rows],
            "repeat": pd.array([task.repeat_of is not None for task in tasks], dtype="boolean"),
            "excluded": pd.array([row["excluded"] for row in rows], dtype="string"),
            "duration": [row["duration"] for row in rows],
        }
    )
    frame.insert(5, "sample", _samples(frame, ["judge_id", "item_id", "dimension"]))
    return validate(frame, "judgments", source)


def _samples(frame: pd.DataFrame, key: list[str]) -> Any:
    """Number the answers of one person to the same question, in the order of the tasks."""
    return pd.array(frame.groupby(key, sort=False, observed=True).cumcount() + 1, dtype="Int64")


def _respondent(
    plan: PanelPlan, visit: Visit, judge: str, slot: Slot, source: str, numbered: bool
) -> dict[str, Any]:
    section = plan.section
    passed, failed = _checks(section, visit, numbered)
    answered = {number for number, _ in visit.answers}
    row: dict[str, Any] = {
        "judge_id": judge,
        "judge_kind": HUMAN,
        "slot": slot.name,
        "state": "finished" if visit.finished else "left",
        "started": visit.started,
        "finished": visit.ended if visit.finished else None,
        "seconds": visit.duration,
        "tasks": len(answered),
        "attention_passed": passed,
        "attention_failed": failed,
        "excluded": "; ".join(visit.excluded) or None,
    }
    for question in section.questions:
        text = visit.questions.get(question.id)
        if text is not None and question.form == "options":
            asked = Answer(question.id, question.label, _options(question.options))
            value = asked.read(text, numbered)
            if value is None:
                raise _no_answer(visit, (-1, question.id), asked, text, source)
            text = value
        row[question.id] = text
    return row


def _checks(section: PanelSection, visit: Visit, numbered: bool) -> tuple[int, int]:
    """How many attention checks were passed and failed."""
    given = [
        (check, Answer(check.id, check.text, _options(check.options)).read(visit.checks[check.id], numbered))
        for check in section.attention
        if check.id in visit.checks
    ]
    passed = sum(value == check.right for check, value in given)
    return passed, len(given) - passed


def _options(levels: Sequence[LabelLevel]) -> tuple[Option, ...]:
    return tuple(Option(level.id, level.label) for level in levels)


__all__ = ["Fielded", "Visit", "tables_of"]
