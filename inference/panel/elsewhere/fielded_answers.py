"""Answers of people from other programs as tables: choices or judgments, and respondents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ...collecting.run_tables import choices_from_judgments
from ...design.profiles import factor
from ...errors import InputError, did_you_mean
from ...humans.exclusion_rules import counts
from ...study.asking import Choice, Ratings
from ...study.panel_section import FIELDED_COLUMNS, PanelSection
from ...tables.schema import JUDGE_KINDS, POSITIONS, SAMPLING, STATUSES, validate
from ..panel_answers import (
    CHOICE,
    FAILED,
    FINISHED,
    LEFT,
    STATES,
    WITHDRAWN,
    task_questions_of,
    with_further_answer,
)
from ..panel_tables import ratings_agree, repeats_agree, typed_answers
from ..plan import PanelPlan, PlannedTask, Slot, panel_name_of
from .task_html import AnswerField, answers_of, options_of, plan_name

HUMAN = JUDGE_KINDS[0]
NOT_PEOPLE = ("preview", "test", "spam")  # marks of responses that are no answers of people to the survey


@dataclass(frozen=True)
class Visit:
    """What one person answered to the tasks of one slot."""

    where: str  # where it is in the export, for errors
    person: str  # id in the other program; it is in none of the tables
    slot: str
    plan: str | None
    # answers as they are in the export, by task (from 0) and id of the answer
    answers: Mapping[tuple[int, str], str]
    # how long tasks took
    seconds: Mapping[int, float] = field(default_factory=dict)
    # where the answers are, for errors, as `answers`
    columns: Mapping[tuple[int, str], str] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    started: pd.Timestamp | None = None
    ended: pd.Timestamp | None = None
    duration: float | None = None
    finished: bool = True
    failed_checks: bool = False  # as many as end a participation
    comprehension_attempts: int | None = None
    withdrawn: bool = False
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True)
class FieldedTables:
    """Tables of a study that was fielded with another program."""

    # `choices` of a conjoint, one row per profile that was seen; `judgments` of items; of people who finished
    answers: pd.DataFrame
    # one row per visit: state, slot, times, checks, and answers to the questions of the study
    respondents: pd.DataFrame
    notes: tuple[str, ...]


def tables_of(plan: PanelPlan, visits: Sequence[Visit], source: str, coded: bool = False) -> FieldedTables:
    """Turn the answers of visits into tables, by who sees what."""
    slots = {slot.name: slot for slot in plan.slots}
    for visit in visits:
        _check(visit, plan, slots, source)
    real = [visit for visit in visits if not set(visit.excluded) & set(NOT_PEOPLE)]
    people = first_of_each_slot([_checked(plan.section, visit, coded) for visit in real])
    judges = judge_names(people)
    finished = [visit for visit in people if visit.finished]
    rows = [
        row
        for visit, judge in zip(people, judges, strict=True)
        for row in _answer_rows(plan, visit, judge, slots[visit.slot], source, coded)
        if visit.finished
    ]
    if not rows:
        raise InputError(
            f"{source}: nobody answered the tasks to the end; export the answers once people have finished."
        )
    judgments = _judgments(plan, rows)
    withdrawn = sum(visit.withdrawn for visit in people)
    choices = None
    if plan.design is not None:
        choices = _choices(plan, judgments, people, judges, coded)
    respondents = _respondents(plan, people, judges, slots, source, coded)
    same = ratings_agree(judgments) if choices is None else repeats_agree(choices)
    consistent = same.groupby("judge_id", sort=False)["same"].mean()
    respondents["consistent"] = respondents["judge_id"].map(consistent).astype(float)
    answers = judgments if choices is None else choices
    kind = "judgments" if choices is None else "choices"
    table_note = f"(in the table of respondents, not in {kind})"
    failed = sum(visit.failed_checks for visit in people)
    several = sum(count > 1 for count in Counter(visit.slot for visit in finished).values())
    notes = counts(
        {
            "Responses that are previews, tests or spam (left out)": len(visits) - len(real),
            "Further answers of people to a slot that they had finished (left out)": len(real) - len(people),
            f"People who failed too many attention checks {table_note}": failed,
            "People who withdrew (their answers are left out)": withdrawn,
            f"People who did not finish {table_note}": len(people) - len(finished) - failed - withdrawn,
            "Slots with more than one person who finished": several,
            "Slots that nobody finished": len(plan.slots) - len({visit.slot for visit in finished}),
        }
    )
    return FieldedTables(validate(answers, kind, source), respondents, tuple(notes))


def _checked(section: PanelSection, visit: Visit, coded: bool) -> Visit:
    """The visit, which is not finished where the person withdrew or failed too many attention checks."""
    if visit.withdrawn:
        emptied: dict[str, Any] = {"answers": {}, "questions": {}, "checks": {}, "seconds": {}}
        return replace(visit, finished=False, comprehension_attempts=None, **emptied)
    limit = section.fail_limit
    if limit is None or _checks(section, visit, coded)[1] < limit:
        return visit
    return replace(visit, finished=False, failed_checks=True)


def first_of_each_slot(visits: Sequence[Visit]) -> list[Visit]:
    """Drop what a person answered to a slot that they had finished before, as after reloading the page."""
    # The first is that which ended first; where no times are known, that which comes first.
    first: dict[tuple[str, str], Visit] = {}
    for visit in visits:
        before = first.get((visit.person, visit.slot))
        if visit.finished and (before is None or _ended_before(visit, before)):
            first[visit.person, visit.slot] = visit
    return [visit for visit in visits if not visit.finished or first[visit.person, visit.slot] is visit]


def _ended_before(visit: Visit, reference: Visit) -> bool:
    return visit.ended is not None and reference.ended is not None and visit.ended < reference.ended


def judge_names(visits: Sequence[Visit]) -> list[str]:
    """Name each person by their first slot, with a number where another person has that name."""
    # People who finished are named first, so that they have the names of the design.
    names: dict[str, str] = {}
    people_per_slot: Counter[str] = Counter()
    for visit in sorted(visits, key=lambda visit: not visit.finished):
        if visit.person not in names:
            people_per_slot[visit.slot] += 1
            number = people_per_slot[visit.slot]
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


def _answer_rows(
    plan: PanelPlan, visit: Visit, judge: str, slot: Slot, source: str, coded: bool
) -> Iterator[dict[str, Any]]:
    """One row per answer that a task asks for; none of tasks without any answer."""
    for number, task in enumerate(slot.tasks):
        answers = answers_of(plan.study, plan.shown.of(task.subjects[0]))
        texts = {answer.id: visit.answers.get((number, answer.id)) for answer in answers}
        if all(text is None for text in texts.values()):
            continue
        for answer in answers:
            text = texts[answer.id]
            value = None if text is None else answer.read(text, coded)
            if text is not None and value is None:
                raise _invalid_answer(visit, (number, answer.id), answer, text, source)
            yield {
                "judge_id": judge,
                "task": number + 1,
                "planned": task,
                "dimension": answer.id,
                "value": value,
                "status": "missing" if value is None else "ok",
                "seconds": visit.seconds.get(number, np.nan),
                "excluded": "; ".join(visit.excluded) or None,
            }


def _invalid_answer(
    visit: Visit, key: tuple[int, str], answer: AnswerField, text: str, source: str
) -> InputError:
    column = visit.columns.get(key)
    where = visit.where if column is None else f"{visit.where} of column '{column}'"
    labels = ", ".join(repr(option.label) for option in answer.options[:12])
    remedy = f"use one of {labels}" if answer.options else f"give {answer.minimum} to {answer.maximum}"
    return InputError(f"{source}: {where} contains '{text}', which is no answer to '{answer.id}'; {remedy}.")


def _judgments(plan: PanelPlan, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per answer; a second answer about an item by the same person is its second sample."""
    response = plan.study.response
    tasks: list[PlannedTask] = [row["planned"] for row in rows]
    values: list[str | None] = [row["value"] for row in rows]
    if isinstance(response, Choice):
        words = dict(zip(POSITIONS, response.options, strict=True))
        values = [None if value is None else words[value] for value in values]
    subject = "item_id" if plan.design is None else "task_id"
    text = pd.Series(values, dtype="string")
    frame = pd.DataFrame(
        {
            "judge_id": pd.array([row["judge_id"] for row in rows], dtype="string"),
            "judge_kind": factor(np.full(len(rows), JUDGE_KINDS.index(HUMAN)), JUDGE_KINDS),
            subject: pd.array([task.name for task in tasks], dtype="string"),
            "prompt_id": pd.array([None] * len(rows), dtype="string"),
            "dimension": pd.array([row["dimension"] for row in rows], dtype="string"),
            "sample": pd.array([1] * len(rows), dtype="Int64"),
            "value": pd.to_numeric(text).astype("Int64") if isinstance(response, Ratings) else text,
            "status": factor(np.array([STATUSES.index(row["status"]) for row in rows]), STATUSES),
            "task": pd.array([row["task"] for row in rows], dtype="Int64"),
            "seconds": np.array([row["seconds"] for row in rows], dtype=float),
            "panel": pd.array([panel_name_of(plan.study)] * len(rows), dtype="string"),
            "excluded": pd.array([row["excluded"] for row in rows], dtype="string"),
        }
    )
    before = frame.groupby(["judge_id", subject, "dimension"], sort=False).cumcount()
    frame["sample"] = (before + 1).astype("Int64")
    if plan.design is None:
        frame["repeat"] = pd.array([task.repeat_of is not None for task in tasks], dtype="boolean")
    return frame


def _choices(
    plan: PanelPlan, judgments: pd.DataFrame, people: Sequence[Visit], judges: Sequence[str], coded: bool
) -> pd.DataFrame:
    """Two rows per task, one for each profile that was seen, as a panel has them."""
    design, response = plan.design, plan.study.response
    assert design is not None
    assert design.panel is not None
    assert isinstance(response, Choice)
    tasks = design.panel.tasks.drop_duplicates(["task_id", "position"])
    if tasks[SAMPLING].isna().all():
        tasks = tasks.drop(columns=SAMPLING)
    dimension = judgments["dimension"]
    main = judgments[dimension.eq(CHOICE).to_numpy(dtype=bool)]
    answers = main.assign(probability=np.nan, origin=pd.array([None] * len(main), dtype="string"))
    choices = choices_from_judgments(answers, tasks, design.profiles, response.options)
    keys = ["judge_id", "task_id", "sample"]
    measured = main[[*keys, "task", "seconds", "panel"]].rename(columns={"task_id": "pair_id"})
    choices = choices.merge(measured, on=["judge_id", "pair_id", "sample"], how="left", sort=False)
    for question in task_questions_of(plan.study):
        further = judgments[dimension.eq(question.id).to_numpy(dtype=bool)]
        choices = with_further_answer(choices, further, question.id, response.options)
    if plan.section.attention:
        failed: Counter[str] = Counter()
        for visit, judge in zip(people, judges, strict=True):
            failed[judge] += _checks(plan.section, visit, coded)[1] if visit.finished else 0
        choices["attention_passed"] = choices["judge_id"].map(failed.__getitem__).eq(0).astype("boolean")
    return choices


def _respondents(
    plan: PanelPlan,
    people: Sequence[Visit],
    judges: Sequence[str],
    slots: Mapping[str, Slot],
    source: str,
    coded: bool,
) -> pd.DataFrame:
    """One row per visit: state, times, checks, and answers to the questions of the study."""
    rows = []
    for visit, judge in zip(people, judges, strict=True):
        passed, failed = _checks(plan.section, visit, coded)
        row: dict[str, Any] = {
            "judge_id": judge,
            "judge_kind": HUMAN,
            "panel": panel_name_of(plan.study),
            "slot": slots[visit.slot].name,
            "state": _state(visit),
            "started": visit.started,
            "finished": visit.ended if visit.finished else None,
            "seconds": visit.duration if visit.finished else None,
            "tasks": len({number for number, _ in visit.answers}),
            "task_seconds": sum(visit.seconds.values()),
            "attention_passed": passed,
            "attention_failed": failed,
            "comprehension_attempts": visit.comprehension_attempts,
            "consistent": np.nan,
            "excluded": "; ".join(visit.excluded) or None,
        }
        rows.append(row | _background(plan.section, visit, source, coded))
    stored = pd.DataFrame(rows)
    frame = stored[list(FIELDED_COLUMNS)].convert_dtypes()
    frame["comprehension_attempts"] = frame["comprehension_attempts"].astype("Int64")
    for question in plan.section.questions:
        frame = frame.assign(**typed_answers(question, stored[question.id].astype("string")))
    kinds = pd.CategoricalDtype(list(JUDGE_KINDS))
    return frame.astype({"judge_kind": kinds, "state": pd.CategoricalDtype(list(STATES))})


def _state(visit: Visit) -> str:
    if visit.withdrawn:
        return WITHDRAWN
    return FAILED if visit.failed_checks else FINISHED if visit.finished else LEFT


def _background(section: PanelSection, visit: Visit, source: str, coded: bool) -> dict[str, str | None]:
    """Answers to the questions of the study; InputError for an answer that is none of the options."""
    answers: dict[str, str | None] = {}
    for question in section.questions:
        text = visit.questions.get(question.id)
        if text is not None and question.form != "text":
            low, high = question.minimum, question.maximum
            answer = AnswerField(
                question.id,
                question.label,
                options_of(question.options),
                -(10**18) if low is None else low,
                10**18 if high is None else high,
            )
            read = answer.read_several if question.form == "several" else answer.read
            value = read(text, coded)
            if value is None:
                raise _invalid_answer(visit, (-1, question.id), answer, text, source)
            text = value
        answers[question.id] = text
    return answers


def _checks(section: PanelSection, visit: Visit, coded: bool) -> tuple[int, int]:
    """How many attention checks were passed and failed."""
    answers = [
        (
            check,
            AnswerField(check.id, check.text, options_of(check.options)).read(visit.checks[check.id], coded),
        )
        for check in section.attention
        if check.id in visit.checks
    ]
    passed = sum(value == check.right for check, value in answers)
    return passed, len(answers) - passed
