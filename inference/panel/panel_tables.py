"""What comes out of a panel: responses, judgments, choices and respondents, as for models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..design.profiles import factor
from ..study.models import Study
from ..study.panel_section import AFTER_ANSWERS, RESPONDENT_COLUMNS, SEVERAL, Question, columns_of_question
from ..tables.columns import as_text
from ..tables.files import write_table
from ..tables.schema import JUDGE_KINDS, validate
from .panel_answers import (
    FINISHED,
    MS,
    answered_tasks,
    choices_of,
    judgments_of,
    responses_of,
    state_column,
    text_column,
)
from .participations import Participations, participations_of
from .plan import PanelPlan, panel_name_of
from .storage.database_state import DatabaseState


@dataclass(frozen=True)
class PanelTables:
    """Tables of a panel."""

    # one row per answered task, also of people who did not finish; `state` is that of the person
    responses: pd.DataFrame
    judgments: pd.DataFrame  # one row per answer and dimension, of people who finished
    respondents: pd.DataFrame  # one row per visit
    # one row per profile that was seen by people who finished, of a conjoint; None of items
    choices: pd.DataFrame | None = None

    def write(self, folder: Path) -> list[Path]:
        """Write each as Parquet, for their owner alone; return the files."""
        files = []
        for name, table in vars(self).items():
            if table is not None:
                files.append(folder / f"{name}.parquet")
                write_table(table, files[-1], private=True)
        return files


def tables_of(plan: PanelPlan, stored: DatabaseState, now: float, origin: str | None = None) -> PanelTables:
    """Make the tables of one state of the database; ``origin`` is "simulated" for simulated people."""
    participations = participations_of(plan, stored, now)
    answered = answered_tasks(plan.study, participations.tasks(), origin)
    judgments = judgments_of(plan.study, answered[(answered["state"] == FINISHED).to_numpy()])
    choices = None
    if isinstance(plan.study, Study):
        choices = _choices(plan, plan.study, judgments, participations)
    return PanelTables(
        responses_of(plan.study, answered),
        validate(judgments, "judgments", "judgments of the panel"),
        _respondents(plan, participations, choices, judgments, origin),
        choices,
    )


def _choices(
    plan: PanelPlan, study: Study, judgments: pd.DataFrame, participations: Participations
) -> pd.DataFrame:
    assert plan.design is not None
    assert plan.design.panel is not None
    tasks = plan.design.panel.tasks.drop_duplicates(["task_id", "position"])
    choices = choices_of(study, tasks, plan.design.profiles, judgments)
    if plan.section.attention:
        failed = participations.people.set_index("judge_id")["checks_failed"]
        passed = choices["judge_id"].map(failed).eq(0).astype("boolean")
        choices = choices.assign(attention_passed=passed)
    return validate(choices, "choices", "choices of the panel")


def _respondents(
    plan: PanelPlan,
    participations: Participations,
    choices: pd.DataFrame | None,
    judgments: pd.DataFrame,
    origin: str | None,
) -> pd.DataFrame:
    """One row per visit: state, times, device, checks, consistency, and answers to questions."""
    people, tasks = participations.people.reset_index(drop=True), participations.tasks()
    by_visit = tasks.groupby("visit", sort=False)
    of_tasks = by_visit[["response_ms", "focus_lost", "focus_lost_ms"]].sum().reindex(people["number"])
    of_tasks = of_tasks.reset_index(drop=True).astype(float)
    finished = (people["state"] == FINISHED).to_numpy()
    seconds = people["last"].to_numpy(dtype=float) - people["started"].to_numpy(dtype=float)
    timed = finished & (seconds >= 0)  # earlier versions stored times of a clock that had been set back
    columns: dict[str, Any] = {
        "judge_id": people["judge_id"],
        "judge_kind": factor(np.zeros(len(people), dtype=np.int64), JUDGE_KINDS),
        "panel": text_column(panel_name_of(plan.study), len(people)),
        "slot": people["slot_name"],
        "state": state_column(people["state"]),
        "language": people["language"].astype("string"),
        "started": pd.to_datetime(people["started"], unit="s", utc=True),
        "finished": pd.to_datetime(people["last"].where(timed), unit="s", utc=True),
        "seconds": np.where(timed, seconds, np.nan),
        "tasks": people["number"].map(by_visit.size()).fillna(0).astype("Int64"),
        "task_seconds": of_tasks["response_ms"] / MS,
        "focus_lost": of_tasks["focus_lost"].astype("Int64"),
        "focus_lost_seconds": of_tasks["focus_lost_ms"] / MS,
        "device": people["device"].astype("string"),
        "width": people["width"].astype("Int64"),
        "height": people["height"].astype("Int64"),
        "touch": people["touch"].astype("boolean"),
        "attention_passed": people["checks_passed"].astype("Int64"),
        "attention_failed": people["checks_failed"].astype("Int64"),
        "comprehension_attempts": people["number"].map(_attempts(participations)).astype("Int64"),
        "consistent": people["judge_id"].map(_consistency(choices, judgments)).astype(float),
        "straight": people["number"].map(straight_lines(tasks)["share"]).astype(float),
        "origin": text_column(origin, len(people)),
    }
    answers = _answers_to_questions(plan, participations, people["number"])
    return pd.DataFrame(columns | answers)[[*RESPONDENT_COLUMNS, *answers, *AFTER_ANSWERS]]


def _answers_to_questions(
    plan: PanelPlan, participations: Participations, numbers: pd.Series[int]
) -> dict[str, pd.Series[Any]]:
    """Columns of background questions: categories in the order of their options, numbers, or texts."""
    rows = participations.answers[participations.answers["kind"] == "questions"]
    merged: dict[int, dict[str, str]] = {}
    for visit, fields in zip(rows["visit"], rows["fields"], strict=True):
        merged.setdefault(int(visit), {}).update(fields)
    columns: dict[str, pd.Series[Any]] = {}
    for question in plan.section.questions:
        texts = pd.Series([merged.get(int(n), {}).get(question.id) for n in numbers], dtype="string")
        columns |= typed_answers(question, texts)
    return columns


def typed_answers(question: Question, texts: pd.Series[str]) -> dict[str, pd.Series[Any]]:
    """Answers to a background question as columns; of several options, whether each was chosen."""
    if question.form == "options":
        levels = pd.CategoricalDtype([option.id for option in question.options])
        return {question.id: texts.astype(levels)}
    if question.form == "number":
        return {question.id: pd.to_numeric(texts).astype("Int64")}
    if question.form == "text":
        return {question.id: texts}
    chosen = [None if pd.isna(text) else {*str(text).split(SEVERAL)} for text in texts]
    options = zip(columns_of_question(question), question.options, strict=True)
    return {
        column: pd.Series(
            [None if names is None else option.id in names for names in chosen], texts.index, dtype="boolean"
        )
        for column, option in options
    }


def _attempts(participations: Participations) -> pd.Series[int]:
    """How often each visit answered the questions about the instructions."""
    rows = participations.answers[participations.answers["kind"] == "comprehension"]
    return rows.groupby("visit").size()


def _consistency(choices: pd.DataFrame | None, judgments: pd.DataFrame) -> pd.Series[Any]:
    """Share of repeated tasks that a person answered as the first time, by judge."""
    same = repeats_agree(choices) if choices is not None else ratings_agree(judgments)
    return same.groupby("judge_id", sort=False)["same"].mean()


def repeats_agree(choices: pd.DataFrame) -> pd.DataFrame:
    """Whether the profile that was chosen is the same when a task is repeated: ``judge_id, same``."""
    chosen = choices[choices["chosen"].eq(1).fillna(False).to_numpy(bool)]
    repeat = chosen["repeat"].to_numpy(bool)
    first, repeats = chosen[~repeat], chosen[repeat].drop(columns="pair_id")
    keys = ["judge_id", "pair_id"]
    pairs = repeats.rename(columns={"repeat_of": "pair_id"})[[*keys, "profile_id"]].merge(
        first[[*keys, "profile_id"]], on=keys, suffixes=("", "_first")
    )
    return pd.DataFrame(
        {"judge_id": pairs["judge_id"], "same": pairs["profile_id"] == pairs["profile_id_first"]}
    )


def ratings_agree(judgments: pd.DataFrame) -> pd.DataFrame:
    """Whether a repeated item was given the same value on each dimension: ``judge_id, same``."""
    keys = ["judge_id", "item_id", "dimension"]
    first, repeats = (judgments.loc[judgments["sample"] == n, [*keys, "value"]] for n in (1, 2))
    pairs = repeats.merge(first, on=keys, suffixes=("", "_first"))
    same = as_text(pairs["value"]) == as_text(pairs["value_first"])
    return pd.DataFrame({"judge_id": pairs["judge_id"], "same": same.to_numpy(dtype=bool)})


def straight_lines(tasks: pd.DataFrame) -> pd.DataFrame:
    """Longest series of equal answers of each visit: ``longest, tasks, share``, in the order of tasks."""
    texts = [json.dumps(fields, sort_keys=True) for fields in tasks["fields"]]
    ordered = pd.DataFrame({"visit": tasks["visit"], "task": tasks["task"], "text": texts})
    ordered = ordered.sort_values(["visit", "task"], kind="stable")
    new = (ordered["text"] != ordered["text"].shift()) | (ordered["visit"] != ordered["visit"].shift())
    runs = ordered.assign(run=new.cumsum()).groupby(["visit", "run"], sort=False).size()
    longest = runs.groupby(level="visit", sort=False).max()
    tasks_of = runs.groupby(level="visit", sort=False).sum()
    return pd.DataFrame({"longest": longest, "tasks": tasks_of, "share": longest / tasks_of})
