"""Tables of answers that people gave on pages: responses, judgments and choices, as those of models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..collecting.run_tables import choices_from_judgments
from ..design.profiles import factor
from ..study.asking import Choice, Label, LineLabels, Ratings
from ..study.models import ItemStudy, Study
from ..study.panel_section import TaskQuestion
from ..tables.schema import JUDGE_KINDS, POSITIONS, SAMPLING, STATUSES, validate
from .pages.reading_answers import line_field
from .plan import panel_name_of

FOLDER = "people"  # of the folder of a run: models have tables of the same names beside it
CHOICE = "choice"
MS = 1000.0
PERSONAL = ("seconds", "focus_lost", "focus_lost_seconds")  # measurements of an answer in all tables
FINISHED, ACTIVE, LEFT, FAILED = "finished", "active", "left", "failed_checks"
WITHDRAWN = "withdrawn"
STATES = (
    *(FINISHED, ACTIVE, LEFT),
    *("timed_out", FAILED, "failed_comprehension", "screened_out", "full", "declined", WITHDRAWN),
)


def answered_tasks(study: Study | ItemStudy, tasks: pd.DataFrame, origin: str | None) -> pd.DataFrame:
    """Columns that responses and judgments share, one row per answered task."""
    # `tasks` are `visit, page, judge_id, name, task, state, fields, at` and the times of
    # `Participations.tasks`.
    everywhere = np.zeros(len(tasks), dtype=np.int64)
    conjoint = isinstance(study, Study)
    subject = "task_id" if conjoint else "item_id"
    keys = [
        hashlib.sha256(f"{study.name}/{visit}/{page}".encode()).hexdigest()
        for visit, page in zip(tasks["visit"], tasks["page"], strict=True)
    ]
    before = tasks.groupby(["visit", "name"], sort=False).cumcount().to_numpy(dtype=np.int64)
    columns: dict[str, Any] = {
        "judge_id": tasks["judge_id"].astype("string"),
        "judge_kind": factor(everywhere + JUDGE_KINDS.index("human"), JUDGE_KINDS),
        subject: tasks["name"].astype("string"),
        "prompt_id": text_column(None, len(tasks)),
        "sample": pd.array(before + 1, dtype="Int64"),
        "task": tasks["task"].astype("Int64"),
        "seconds": tasks["response_ms"].to_numpy(dtype=float, na_value=np.nan) / MS,
        "focus_lost": tasks["focus_lost"].astype("Int64"),
        "focus_lost_seconds": tasks["focus_lost_ms"].to_numpy(dtype=float, na_value=np.nan) / MS,
        "request_key": pd.array(keys, dtype="string"),
        "panel": text_column(panel_name_of(study), len(tasks)),
        "origin": text_column(origin, len(tasks)),
    }
    if not conjoint:
        columns["repeat"] = pd.array(before > 0, dtype="boolean")
    raw_columns = {name: tasks[name] for name in ("state", "fields", "at", "first_input_ms")}
    return pd.DataFrame({**columns, **raw_columns}).reset_index(drop=True)


def text_column(value: str | None, rows: int) -> Any:
    """One text as a column of so many rows."""
    return pd.array([value], dtype="string").take(np.zeros(rows, dtype=np.int64))


def responses_of(study: Study | ItemStudy, answered: pd.DataFrame) -> pd.DataFrame:
    """One row per answered task, as a text in the form that is asked of models."""
    frame = answered.assign(
        study=text_column(study.name, len(answered)),
        text=pd.array([_raw(study, fields) for fields in answered["fields"]], dtype="string"),
        latency=answered["seconds"],
        first_input_seconds=answered["first_input_ms"].to_numpy(dtype=float, na_value=np.nan) / MS,
        created=pd.to_datetime(answered["at"], unit="s", utc=True),
        state=state_column(answered["state"]),
    )
    other_columns = frame.columns.difference(["study", "fields", "at", "first_input_ms"], sort=False)
    return validate(frame[["study", *other_columns]], "responses", "responses of the panel")


def _raw(study: Study | ItemStudy, fields: dict[str, str]) -> str:
    """An answer as a text, in the form that is asked of models."""
    response = study.response
    if isinstance(response, Choice):
        return response.options[POSITIONS.index(fields[CHOICE])]
    if isinstance(response, Label):
        return fields["label"]
    if isinstance(response, LineLabels):
        return json.dumps(list(_line_labels(fields)))
    return json.dumps({name: int(value) for name, value in fields.items()})


def _line_labels(fields: dict[str, str]) -> list[str]:
    """Labels of all lines, in their order."""
    numbers = range(1, len(fields) + 1)
    return [fields[line_field(number)] for number in numbers if line_field(number) in fields]


def judgments_of(study: Study | ItemStudy, answered: pd.DataFrame) -> pd.DataFrame:
    """One row per answer and dimension."""
    values = [_by_dimension(study, fields) for fields in answered["fields"]]
    counts = [len(row_values) for row_values in values]
    dimension = [name for row_values in values for name in row_values]
    value: list[Any] = [answer for row_values in values for answer in row_values.values()]
    long = answered.drop(columns=["fields", "at", "first_input_ms", "state"])
    long = long.iloc[np.repeat(np.arange(len(long)), counts)].reset_index(drop=True)
    ok = np.zeros(len(long), dtype=np.int64) + STATUSES.index("ok")
    kind: Any = "Int64" if isinstance(study.response, Ratings) else "string"
    further = {
        "dimension": pd.array(dimension, dtype="string"),
        "value": pd.array(value, dtype=kind),
        "status": factor(ok, STATUSES),
        "rule": text_column("page", len(long)),
    }
    long = long.assign(**further)
    first = ["judge_id", "judge_kind", "task_id", "item_id", "prompt_id", "dimension", "sample", *further]
    first = [name for name in dict.fromkeys(first) if name in long]
    return long[[*first, *long.columns.difference(first, sort=False)]]


def _by_dimension(study: Study | ItemStudy, fields: dict[str, str]) -> dict[str, str | int]:
    """Values of one answer by dimension, those of further questions last."""
    response = study.response
    further: dict[str, str | int] = {
        question.id: fields[question.id] for question in task_questions_of(study)
    }
    if isinstance(response, Choice):
        names = (CHOICE, *further)
        return {name: response.options[POSITIONS.index(fields[name])] for name in names}
    if isinstance(response, Label):
        return {response.id: fields["label"], **further}
    if isinstance(response, LineLabels):
        labels = _line_labels(fields)
        return {f"line_{at}": label for at, label in enumerate(labels, start=1)} | further
    assert isinstance(response, Ratings)
    return {scale.id: int(fields[scale.id]) for scale in response.scales}


def task_questions_of(study: Study | ItemStudy) -> Sequence[TaskQuestion]:
    """Further questions that people are asked about each task."""
    return () if study.panel is None else study.panel.task_questions


def choices_of(
    study: Study, tasks: pd.DataFrame, profiles: pd.DataFrame, judgments: pd.DataFrame
) -> pd.DataFrame:
    """One row per profile that a person saw; ``tasks`` have two rows each, with ``profiles`` by number."""
    assert isinstance(study.response, Choice)
    if SAMPLING in tasks and tasks[SAMPLING].isna().all():
        tasks = tasks.drop(columns=SAMPLING)
    dimension = judgments["dimension"]
    answers = judgments[dimension.eq(CHOICE).to_numpy(dtype=bool)].assign(probability=np.nan)
    choices = choices_from_judgments(answers, tasks, profiles, study.response.options)
    keys = ["judge_id", "task_id"]
    measured = answers[[*keys, "task", *PERSONAL, "panel"]].rename(columns={"task_id": "pair_id"})
    choices = choices.merge(measured, on=["judge_id", "pair_id"], how="left", sort=False)
    for question in task_questions_of(study):
        further = judgments[dimension.eq(question.id).to_numpy(dtype=bool)]
        choices = with_further_answer(choices, further, question.id, study.response.options)
    return choices


def with_further_answer(
    choices: pd.DataFrame, judgments: pd.DataFrame, name: str, options: Sequence[str]
) -> pd.DataFrame:
    """Add a column after ``chosen``: whether each profile is the answer to a further question, 1 or 0."""
    keys = ["judge_id", "pair_id"]
    answers = judgments.rename(columns={"task_id": "pair_id", "value": name})[[*keys, name]]
    merged = choices.merge(answers, on=keys, how="left", sort=False)[name]
    position = merged.map(dict(zip(options, POSITIONS, strict=True)))
    chosen = (position == choices["position"].astype("string")).astype("Int8").mask(position.isna())
    columns = list(choices)
    place = columns.index("chosen") + 1
    return choices.assign(**{name: chosen.array})[[*columns[:place], name, *columns[place:]]]


def state_column(values: pd.Series[Any]) -> Any:
    """States of people as a column with all of them as levels."""
    return pd.Categorical(values, categories=list(STATES))
