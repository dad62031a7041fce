"""What comes out of a panel: responses, judgments, choices and respondents, as for models."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..collecting.run_tables import choices_from_judgments
from ..design.profiles import factor
from ..study.asking import Choice, Label, LineLabels, Ratings
from ..study.models import ItemStudy, Study
from ..study.panel import AFTER_ANSWERS, RESPONDENT_COLUMNS
from ..tables.columns import as_text
from ..tables.files import write_table
from ..tables.schema import JUDGE_KINDS, POSITIONS, SAMPLING, STATUSES, validate
from .participations import FINISHED, STATES, Participations, participations_of
from .plan import PanelPlan, panel_name_of
from .reading_answers import line_field
from .storage.reading import Stored

FOLDER = "people"  # of the folder of a run: models have tables of the same names beside it
CHOICE = "choice"
MS = 1000.0
PERSONAL = ("seconds", "focus_lost", "focus_lost_seconds")  # measurements of an answer in all tables


@dataclass(frozen=True)
class PanelTables:
    """Tables of a panel.

    Attributes
    ----------
    responses : DataFrame
        One row per answered task, also of people who did not finish; ``state`` is that of the person.
    judgments : DataFrame
        One row per answer and dimension, of people who finished.
    respondents : DataFrame
        One row per visit.
    choices : DataFrame or None
        One row per profile that was seen by people who finished, of a conjoint; None of items.
    """

    responses: pd.DataFrame
    judgments: pd.DataFrame
    respondents: pd.DataFrame
    choices: pd.DataFrame | None = None

    def write(self, folder: Path) -> list[Path]:
        """Write each as Parquet; return the files."""
        files = []
        for name, table in vars(self).items():
            if table is not None:
                files.append(folder / f"{name}.parquet")
                write_table(table, files[-1])
        return files


def tables_of(plan: PanelPlan, stored: Stored, now: float, origin: str | None = None) -> PanelTables:
    """Make the tables of one state of the database; ``origin`` is "simulated" for simulated people."""
    known = participations_of(plan, stored, now)
    answered = _answered(plan, known.tasks(), origin)
    judgments = _judgments(plan, answered[(answered["state"] == FINISHED).to_numpy()])
    choices = None
    if isinstance(plan.study, Study):
        choices = _choices(plan, plan.study, judgments, known)
    return PanelTables(
        _responses(plan, answered),
        validate(judgments, "judgments", "judgments of the panel"),
        _respondents(plan, known, choices, judgments, origin),
        choices,
    )


def _answered(plan: PanelPlan, tasks: pd.DataFrame, origin: str | None) -> pd.DataFrame:
    """Columns that responses and judgments share, one row per answered task."""
    everywhere = np.zeros(len(tasks), dtype=np.int64)
    conjoint = isinstance(plan.study, Study)
    subject = "task_id" if conjoint else "item_id"
    keys = [
        hashlib.sha256(f"{plan.study.name}/{visit}/{page}".encode()).hexdigest()
        for visit, page in zip(tasks["visit"], tasks["page"], strict=True)
    ]
    before = tasks.groupby(["visit", "name"], sort=False).cumcount().to_numpy(dtype=np.int64)
    columns: dict[str, Any] = {
        "judge_id": tasks["judge_id"].astype("string"),
        "judge_kind": factor(everywhere + JUDGE_KINDS.index("human"), JUDGE_KINDS),
        subject: tasks["name"].astype("string"),
        "prompt_id": _text(None, len(tasks)),
        "sample": pd.array(before + 1, dtype="Int64"),
        "task": tasks["task"].astype("Int64"),
        "seconds": tasks["response_ms"].to_numpy(dtype=float, na_value=np.nan) / MS,
        "focus_lost": tasks["focus_lost"].astype("Int64"),
        "focus_lost_seconds": tasks["focus_lost_ms"].to_numpy(dtype=float, na_value=np.nan) / MS,
        "request_key": pd.array(keys, dtype="string"),
        "panel": _text(panel_name_of(plan.study), len(tasks)),
        "origin": _text(origin, len(tasks)),
    }
    if not conjoint:
        columns["repeat"] = pd.array(before > 0, dtype="boolean")
    kept = {name: tasks[name] for name in ("state", "fields", "at", "first_input_ms")}
    return pd.DataFrame({**columns, **kept}).reset_index(drop=True)


def _text(value: str | None, rows: int) -> Any:
    return pd.array([value], dtype="string").take(np.zeros(rows, dtype=np.int64))


def _responses(plan: PanelPlan, answered: pd.DataFrame) -> pd.DataFrame:
    frame = answered.assign(
        study=_text(plan.study.name, len(answered)),
        text=pd.array([_raw(plan.study, one) for one in answered["fields"]], dtype="string"),
        latency=answered["seconds"],
        first_input_seconds=answered["first_input_ms"].to_numpy(dtype=float, na_value=np.nan) / MS,
        created=pd.to_datetime(answered["at"], unit="s", utc=True),
        state=_state(answered["state"]),
    )
    rest = frame.columns.difference(["study", "fields", "at", "first_input_ms"], sort=False)
    return validate(frame[["study", *rest]], "responses", "responses of the panel")


def _raw(study: Study | ItemStudy, fields: dict[str, str]) -> str:
    """An answer as a text, in the form that is asked of models."""
    response = study.response
    if isinstance(response, Choice):
        return response.options[POSITIONS.index(fields[CHOICE])]
    if isinstance(response, Label):
        return fields["label"]
    if isinstance(response, LineLabels):
        return json.dumps([fields[name] for name in sorted(fields)])
    return json.dumps({name: int(value) for name, value in fields.items()})


def _judgments(plan: PanelPlan, answered: pd.DataFrame) -> pd.DataFrame:
    """One row per answer and dimension."""
    values = [_by_dimension(plan, fields) for fields in answered["fields"]]
    counts = [len(of) for of in values]
    dimension = [name for of in values for name in of]
    value: list[Any] = [one for of in values for one in of.values()]
    long = answered.drop(columns=["fields", "at", "first_input_ms", "state"])
    long = long.iloc[np.repeat(np.arange(len(long)), counts)].reset_index(drop=True)
    ok = np.zeros(len(long), dtype=np.int64) + STATUSES.index("ok")
    kind: Any = "Int64" if isinstance(plan.study.response, Ratings) else "string"
    further = {
        "dimension": pd.array(dimension, dtype="string"),
        "value": pd.array(value, dtype=kind),
        "status": factor(ok, STATUSES),
        "rule": _text("page", len(long)),
    }
    long = long.assign(**further)
    first = ["judge_id", "judge_kind", "task_id", "item_id", "prompt_id", "dimension", "sample", *further]
    first = [name for name in dict.fromkeys(first) if name in long]
    return long[[*first, *long.columns.difference(first, sort=False)]]


def _by_dimension(plan: PanelPlan, fields: dict[str, str]) -> dict[str, str | int]:
    """Values of one answer by dimension."""
    response = plan.study.response
    if isinstance(response, Choice):
        return {CHOICE: response.options[POSITIONS.index(fields[CHOICE])]}
    if isinstance(response, Label):
        return {response.id: fields["label"]}
    if isinstance(response, LineLabels):
        return {f"line_{at}": fields[line_field(at)] for at in range(1, len(fields) + 1)}
    assert isinstance(response, Ratings)
    return {scale.id: int(fields[scale.id]) for scale in response.scales}


def _choices(plan: PanelPlan, study: Study, judgments: pd.DataFrame, known: Participations) -> pd.DataFrame:
    design, response = plan.design, study.response
    assert design is not None
    assert design.panel is not None
    assert isinstance(response, Choice)
    tasks = design.panel.tasks.drop_duplicates(["task_id", "position"])
    if tasks[SAMPLING].isna().all():
        tasks = tasks.drop(columns=SAMPLING)
    asked = judgments.assign(probability=np.nan)
    choices = choices_from_judgments(asked, tasks, design.profiles, response.options)
    keys = ["judge_id", "task_id"]
    measured = asked[[*keys, "task", *PERSONAL, "panel"]].rename(columns={"task_id": "pair_id"})
    choices = choices.merge(measured, on=["judge_id", "pair_id"], how="left", sort=False)
    if plan.section.attention:
        failed = known.people.set_index("judge_id")["checks_failed"]
        passed = choices["judge_id"].map(failed).eq(0).astype("boolean")
        choices = choices.assign(attention_passed=passed)
    return validate(choices, "choices", "choices of the panel")


def _respondents(
    plan: PanelPlan,
    known: Participations,
    choices: pd.DataFrame | None,
    judgments: pd.DataFrame,
    origin: str | None,
) -> pd.DataFrame:
    """One row per visit: state, times, device, checks, consistency, and answers to questions."""
    people, tasks = known.people.reset_index(drop=True), known.tasks()
    by_visit = tasks.groupby("visit", sort=False)
    of_tasks = by_visit[["response_ms", "focus_lost", "focus_lost_ms"]].sum().reindex(people["number"])
    of_tasks = of_tasks.reset_index(drop=True).astype(float)
    finished = (people["state"] == FINISHED).to_numpy()
    last = people["last"].to_numpy(dtype=float)
    columns: dict[str, Any] = {
        "judge_id": people["judge_id"],
        "judge_kind": factor(np.zeros(len(people), dtype=np.int64), JUDGE_KINDS),
        "panel": _text(panel_name_of(plan.study), len(people)),
        "slot": people["slot_name"],
        "state": _state(people["state"]),
        "language": people["language"].astype("string"),
        "started": pd.to_datetime(people["started"], unit="s", utc=True),
        "finished": pd.to_datetime(people["last"].where(finished), unit="s", utc=True),
        "seconds": np.where(finished, last - people["started"].to_numpy(dtype=float), np.nan),
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
        "consistent": people["judge_id"].map(_consistency(choices, judgments)).astype(float),
        "straight": people["number"].map(straight_lines(tasks)["share"]).astype(float),
        "origin": _text(origin, len(people)),
    }
    answers = _answers_to_questions(plan, known, people["number"])
    return pd.DataFrame(columns | answers)[[*RESPONDENT_COLUMNS, *answers, *AFTER_ANSWERS]]


def _state(values: pd.Series[Any]) -> Any:
    return pd.Categorical(values, categories=list(STATES))


def _answers_to_questions(
    plan: PanelPlan, known: Participations, numbers: pd.Series[int]
) -> dict[str, pd.Series[Any]]:
    """Columns of background questions: categories in the order of their options, numbers, or texts."""
    asked = known.answers[known.answers["kind"] == "questions"]
    merged: dict[int, dict[str, str]] = {}
    for visit, fields in zip(asked["visit"], asked["fields"], strict=True):
        merged.setdefault(int(visit), {}).update(fields)
    columns: dict[str, pd.Series[Any]] = {}
    for question in plan.section.questions:
        texts = pd.Series([merged.get(int(n), {}).get(question.id) for n in numbers], dtype="string")
        if question.form == "options":
            columns[question.id] = texts.astype(
                pd.CategoricalDtype([option.id for option in question.options])
            )
        else:
            columns[question.id] = (
                pd.to_numeric(texts).astype("Int64") if question.form == "number" else texts
            )
    return columns


def _consistency(choices: pd.DataFrame | None, judgments: pd.DataFrame) -> pd.Series[Any]:
    """Share of repeated tasks that a person answered as the first time, by judge."""
    same = repeats_agree(choices) if choices is not None else ratings_agree(judgments)
    return same.groupby("judge_id", sort=False)["same"].mean()


def repeats_agree(choices: pd.DataFrame) -> pd.DataFrame:
    """Whether the profile that was chosen is the same when a task is repeated: ``judge_id, same``."""
    chosen = choices[choices["chosen"].eq(1).fillna(False).to_numpy(bool)]
    repeat = chosen["repeat"].to_numpy(bool)
    first, again = chosen[~repeat], chosen[repeat].drop(columns="pair_id")
    keys = ["judge_id", "pair_id"]
    both = again.rename(columns={"repeat_of": "pair_id"})[[*keys, "profile_id"]].merge(
        first[[*keys, "profile_id"]], on=keys, suffixes=("", "_first")
    )
    return pd.DataFrame(
        {"judge_id": both["judge_id"], "same": both["profile_id"] == both["profile_id_first"]}
    )


def ratings_agree(judgments: pd.DataFrame) -> pd.DataFrame:
    """Whether a repeated item was given the same value on each dimension: ``judge_id, same``."""
    keys = ["judge_id", "item_id", "dimension"]
    first, again = (judgments.loc[judgments["sample"] == n, [*keys, "value"]] for n in (1, 2))
    both = again.merge(first, on=keys, suffixes=("", "_first"))
    same = as_text(both["value"]) == as_text(both["value_first"])
    return pd.DataFrame({"judge_id": both["judge_id"], "same": same.to_numpy(dtype=bool)})


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
