"""Exports of the programs in which a study was fielded, read back as visits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import InputError, did_you_mean
from ...humans.jspsych import read_trials
from ...humans.label_studio import read_works
from ...humans.qualtrics import SKIPPED, TIMES, exclusion_marks, read_responses
from ...humans.rating_columns import Layout
from ...humans.text_tables import read_times, require_column
from ...study.panel_section import PanelSection, columns_of_question
from ...tables.reading.cell_rules import number_of
from ..plan import PanelPlan
from .fielded_answers import HUMAN, FieldedTables, Visit, tables_of
from .qualtrics_survey import WITHDRAWAL
from .task_html import FOLDER, PLAN, AnswerField, AnswerOption, answers_of, catalogue_of
from .task_segments import (
    SLOT,
    TIMING,
    column_of_attention,
    column_of_comprehension,
    column_of_question,
    segments,
)

UNFINISHED = "unfinished"
TASK, ANSWERS = "task", "answers."


def read_elsewhere(path: str | Path, program: str, plan: PanelPlan) -> FieldedTables:
    """Read the answers of people to a study that `conjury export` wrote for a program.

    Parameters
    ----------
    path : str or Path
        A CSV of Qualtrics, data of jsPsych (or a folder of them), or a JSON export of Label Studio.
    program : {"qualtrics", "jspsych", "label-studio"}
        The program that people answered in.
    plan : PanelPlan
        The plan that was exported.

    Returns
    -------
    FieldedTables
        The same tables as those of `conjury panel`: choices or judgments, and respondents. People are named
        by their slots; ids of other programs are in none of the tables.

    Raises
    ------
    InputError
        The file is no such export, or belongs to another plan.

    Examples
    --------
    >>> import json, tempfile
    >>> from conjury.inference.panel.elsewhere.study_export import export_study
    >>> run = Path(tempfile.mkdtemp())
    >>> written = export_study("moderation", "label-studio", people=2, out=run)
    >>> tasks = json.loads((run / "elsewhere" / "label-studio" / "tasks.json").read_text())
    >>> choice = {"from_name": "choice", "to_name": "item_A", "type": "choices", "value": {"choices": ["A"]}}
    >>> for number, task in enumerate(tasks):
    ...     person = int(task["data"]["slot"][-4:])
    ...     task["annotations"] = [{"id": number, "completed_by": person, "result": [choice]}]
    >>> _ = (run / "export.json").write_text(json.dumps(tasks))
    >>> fielded = read_elsewhere(run / "export.json", "label-studio", written.plan)
    >>> fielded.answers.groupby("position", observed=True)["chosen"].mean().to_dict()
    {'A': 1.0, 'B': 0.0}
    """
    check_program(program, plan.folder)
    visits = list(READERS[program](Path(path), plan))
    return tables_of(plan, visits, str(path), coded=program == "qualtrics")


def check_program(program: str, run: Path) -> None:
    """Refuse a program that has no answers to tasks, and a run that was not exported for it."""
    if program not in READERS:
        raise InputError(
            f"--format {program}{did_you_mean(program, READERS)} cannot be combined with --study; use "
            f"{', '.join(READERS)}, or omit --format to read completions of models."
        )
    if not (run / FOLDER / program).is_dir():
        raise InputError(
            f"{run} has not been exported for {program}; name the run that was exported with --run."
        )


def _qualtrics_visits(path: Path, plan: PanelPlan) -> Iterator[Visit]:
    read = read_responses(path, "ResponseId")
    table, source = read.table, read.source
    require_column(table, SLOT, source, "the survey that `conjury export` wrote")
    times, _ = read_times(table, TIMES, read.zone or "UTC")
    marks = exclusion_marks(table)
    cells = table.replace(SKIPPED, pd.NA)
    places = _answer_columns(plan)
    missing = [column for column in places.values() if column not in table]
    if len(missing) == len(places):
        require_column(table, missing[0], source, "the survey that `conjury export` wrote")
    section = plan.section
    for row, record in enumerate(cells.to_dict("records")):
        row_cells = {str(name): str(cell) for name, cell in record.items() if pd.notna(cell)}
        if SLOT not in row_cells:  # left before a slot was drawn
            continue
        reasons = [str(name) for name in marks if marks[name].iloc[row]]
        at = {name: times[name].iloc[row] if name in times else None for name in TIMES}
        seconds = {
            number: float(row_cells[column])
            for number, column in _timings(plan)
            if number_of(row_cells.get(column, "")) is not None
        }
        yield Visit(
            where=f"row {row + 1}",
            person=row_cells.get(section.recruiting.person) or row_cells.get("ResponseId", str(row)),
            slot=row_cells[SLOT],
            plan=row_cells.get(PLAN),
            answers={key: row_cells[column] for key, column in places.items() if column in row_cells},
            seconds=seconds,
            columns=places,
            questions=_cells_by_name(
                row_cells, {question.id: column_of_question(question.id) for question in section.questions}
            ),
            checks=_cells_by_name(
                row_cells, {check.id: column_of_attention(check.id) for check in section.attention}
            ),
            comprehension_attempts=_attempts(section, row_cells),
            withdrawn=_is_withdrawn(plan, row_cells.get(WITHDRAWAL)),
            started=_valid_time(at["started"]),
            ended=_valid_time(at["ended"]),
            duration=None if pd.isna(at["duration"]) else float(at["duration"]),
            finished=UNFINISHED not in reasons,
            excluded=tuple(reasons),
        )


def _attempts(section: PanelSection, row_cells: Mapping[str, str]) -> int | None:
    """How often the questions about the instructions were answered."""
    if section.comprehension is None:
        return None
    first, attempts = section.comprehension.questions[0].id, range(1, section.comprehension.attempts + 1)
    return sum(column_of_comprehension(first, attempt) in row_cells for attempt in attempts)


def _is_withdrawn(plan: PanelPlan, text: str | None) -> bool:
    words = catalogue_of(plan)
    options = (
        AnswerOption("no", words("debriefing.submit")),
        AnswerOption("yes", words("debriefing.withdraw")),
    )
    return text is not None and AnswerField(WITHDRAWAL, "", options).read(text, coded=True) == "yes"


def _answer_columns(plan: PanelPlan) -> dict[tuple[int, str], str]:
    """Columns of a Qualtrics export, by task and id of the answer."""
    return {
        (number, answer.id): segment.column(number, answer.id)
        for segment in segments(plan)
        for number in range(segment.first, segment.after)
        for answer in answers_of(plan.study)
    }


def _timings(plan: PanelPlan) -> Iterator[tuple[int, str]]:
    for segment in segments(plan):
        for number in range(segment.first, segment.after):
            yield number, f"{segment.column(number, TIMING)}_Page Submit"


def _jspsych_visits(path: Path, plan: PanelPlan) -> Iterator[Visit]:
    trials = read_trials(path)
    table, source = trials.table, trials.source
    for column in ("visit", SLOT, "part"):
        require_column(table, column, source, "the experiment that `conjury export` wrote")
    counts = {slot.name: len(slot.tasks) for slot in plan.slots}
    for visit, visit_rows in table[table["visit"].notna()].groupby("visit", sort=False):
        rows = [
            {str(name): str(cell) for name, cell in row.items() if pd.notna(cell)}
            for row in visit_rows.to_dict("records")
        ]
        tasks = {_task(row, f"{source}: visit {visit}"): row for row in rows if row.get("part") == "task"}
        last = rows[-1]
        slot = rows[0].get(SLOT, "")
        started, ended = _time(rows[0].get("started")), _time(last.get("time"))
        question_ids = {name for question in plan.section.questions for name in columns_of_question(question)}
        questions = {
            name.removeprefix(ANSWERS): cell
            for row in rows
            if row.get("part") == "questions"
            for name, cell in row.items()
            if name.startswith(ANSWERS) and name.removeprefix(ANSWERS) in question_ids
        }
        checks = {
            row.get("name", ""): row[f"{ANSWERS}answer"]
            for row in rows
            if row.get("part") == "attention" and f"{ANSWERS}answer" in row
        }
        if not tasks and not questions:
            continue
        for question in plan.section.questions:
            if question.form == "several":
                boxes = dict(zip(columns_of_question(question), question.options, strict=True))
                names = [option.id for column, option in boxes.items() if questions.pop(column, None)]
                if names:
                    questions[question.id] = ",".join(names)
        last_asked = {question.id for question in plan.section.last_questions if question.required}
        finished = len(tasks) == counts.get(slot, 0) and last_asked <= set(questions)
        yield Visit(
            where=f"visit {visit}",
            person=rows[0].get(plan.section.recruiting.person, str(visit)),
            slot=slot,
            plan=rows[0].get(PLAN),
            answers={
                (number, name.removeprefix(ANSWERS)): cell
                for number, row in tasks.items()
                for name, cell in row.items()
                if name.startswith(ANSWERS)
            },
            seconds={
                number: float(row["rt"]) / 1000
                for number, row in tasks.items()
                if number_of(row.get("rt", "")) is not None
            },
            questions=questions,
            checks=checks,
            comprehension_attempts=sum(row.get("part") == "comprehension" for row in rows) or None,
            started=started,
            ended=ended,
            duration=(ended - started).total_seconds() if started and ended and started <= ended else None,
            finished=finished,
        )


def _label_studio_visits(path: Path, plan: PanelPlan) -> Iterator[Visit]:
    _, works = read_works(path, Layout())
    source = str(path)
    works_by_slot: dict[tuple[str, str], dict[int, Any]] = {}
    plans: dict[tuple[str, str], str] = {}
    for work in works:
        if work.kind != HUMAN or work.cancelled:
            continue
        for name in (SLOT, TASK):
            if name not in work.data:
                raise InputError(
                    f"{source}: task {work.task} has no '{name}' among its data; import tasks.json of "
                    "`conjury export` into Label Studio, and export its annotations."
                )
        key = (work.judge, str(work.data[SLOT]))
        plans[key] = str(work.data.get(PLAN, ""))
        number = _task(work.data, f"{source}: task {work.task}")
        if number in works_by_slot.setdefault(key, {}):
            raise InputError(
                f"{source}: task {work.task} has two annotations by annotator {work.judge}; keep one of them."
            )
        works_by_slot[key][number] = work
    sizes = {slot.name: len(slot.tasks) for slot in plan.slots}
    for (judge, slot), tasks in works_by_slot.items():
        times = [_time(work.ended) for work in tasks.values()]
        ends = [time for time in times if time is not None]
        yield Visit(
            where=f"annotator {judge}",
            person=judge,
            slot=slot,
            plan=plans[judge, slot] or None,
            answers={
                (number, name): answer
                for number, work in sorted(tasks.items())
                for name, answer in work.answers.items()
            },
            seconds={
                number: float(work.seconds) for number, work in tasks.items() if work.seconds is not None
            },
            started=min(ends, default=None),
            ended=max(ends, default=None),
            finished=len(tasks) == sizes.get(slot, 0),
        )


READERS: dict[str, Callable[[Path, PanelPlan], Iterator[Visit]]] = {
    "qualtrics": _qualtrics_visits,
    "jspsych": _jspsych_visits,
    "label-studio": _label_studio_visits,
}


def _cells_by_name(cells: dict[str, str], columns: dict[str, str]) -> dict[str, str]:
    return {name: cells[column] for name, column in columns.items() if column in cells}


def _valid_time(value: Any) -> pd.Timestamp | None:
    return None if value is None or pd.isna(value) else pd.Timestamp(value)


def _time(text: str | None) -> pd.Timestamp | None:
    if text is None:
        return None
    time = pd.to_datetime(text, utc=True, errors="coerce")
    return None if pd.isna(time) else pd.Timestamp(time)


def _task(row: Mapping[str, Any], where: str) -> int:
    """Number of a task, from 0."""
    text = str(row.get(TASK, ""))
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"{where}: '{text}' is no number of a task; export the answers again.")
    return int(text) - 1


__all__ = ["read_elsewhere"]
