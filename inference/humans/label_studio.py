"""Label Studio exports (JSON, JSON-MIN, CSV): choices, ratings, numbers by annotators and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.reading.containers import open_content
from ..tables.reading.json_rows import parsed_json
from ..tables.reading.reading_rules import ReadingRules
from .annotation_records import records_of, split_choices, with_choices
from .exclusion_rules import Rules, counts
from .imported_ratings import TAKEN, Imported, finish_log_import
from .rating_columns import Layout
from .text_tables import read_export_table

CONTROLS = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}
RECORDED = (
    *("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"),
    *("inner_id", "comment_count", "unresolved_comment_count", "comment_authors"),
)
EXPECTED: Mapping[str, tuple[tuple[type, ...], str]] = {  # by kind: types, and what an error asks for
    "fields": ((dict,), "fields with values belong there; export from Label Studio again"),
    "list": ((list,), "a list belongs there; export from Label Studio again"),
    "seconds": ((int, float), "seconds belong there; correct it"),
    "time": ((str,), "a text such as 2026-01-31T12:00:00Z belongs there; correct it"),
}
FEW_WORDS = 20  # distinct words of a field that may be one of choices
Task = dict[str, Any]


@dataclass(frozen=True)
class TaskAnnotation:
    """One annotation or prediction of one task: its answers by control, and how it came about."""

    task: int
    judge: str
    kind: str
    data: Mapping[str, Any]
    answers: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]  # the answers that are several choices, which `answers` joins
    cancelled: bool = False
    seconds: float | None = None
    ended: str | None = None
    truth: bool = False

    @property
    def user(self) -> str:
        """Who shares controls: all people, and each model by itself."""
        return "human" if self.kind == "human" else f"model {self.judge}"


def read_label_studio(path: str | Path, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    r"""Read judgments from an export of Label Studio.

    The names of the controls (``from_name``) are the dimensions. Each annotation gives one row per dimension;
    those that were cancelled, and empty answers, have status missing. Predictions become judgments of a
    model named by ``model_version``.

    Parameters
    ----------
    path : str or Path
        A file exported as JSON (with all annotations), JSON-MIN or CSV, or such a file with .gz.
    layout : Layout, optional
        ``dimensions`` (which controls to read), ``item`` (field of a task's data that names the item; by
        default the id of the task), ``judge`` (field of the annotator, such as email), ``items``, and
        ``covariates`` (fields of a task's data to keep).
    rules : Rules, optional
        Anchors, check items and marks.

    Returns
    -------
    Imported
        Judgments, and what was assumed in reading them.

    Raises
    ------
    InputError
        The file is no such export, or a control contains text, regions or several results.

    Examples
    --------
    >>> import json, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "export.json"
    >>> result = {"from_name": "wit", "type": "rating", "value": {"rating": 4}}
    >>> task = {"id": 7, "data": {}, "annotations": [{"id": 1, "completed_by": 2, "result": [result]}]}
    >>> _ = file.write_text(json.dumps([task]))
    >>> read_label_studio(file).judgments[["judge_id", "item_id", "dimension", "value"]].to_numpy().tolist()
    [['2', '7', 'wit', 4]]
    """
    source, layout = str(path), layout or Layout()
    tasks, works = read_works(path, layout, None if rules is None else rules.reading.encoding)
    names = _dimensions(works, source)
    rows = [row for work in works for row in _rows(work, names[work.user], layout, source)]
    rows, by_control, of_choices = split_choices(rows, source)
    layout, long = with_choices(layout, by_control), pd.DataFrame(rows)
    if not any(work.truth for work in works):
        long = long.drop(columns="ground_truth")
    notes = (
        []
        if layout.item
        else ["Items are named by the ids of tasks; --item uses a field of their data instead."]
    )
    notes += [*of_choices, *_unread(tasks, every_control(works))]
    notes += counts(
        {
            "Annotations that were cancelled (status missing)": sum(work.cancelled for work in works),
            "Drafts (excluded)": sum(len(task.get("drafts") or ()) for task in tasks),
            "Annotations marked as ground truth (column ground_truth)": sum(work.truth for work in works),
            "Predictions with nothing but an id (excluded)": sum(
                not isinstance(prediction, dict)
                for task in tasks
                for prediction in task.get("predictions") or ()
            ),
            "Tasks without an annotation": sum(
                "annotations" in task and not task["annotations"] for task in tasks
            ),
        }
    )
    return finish_log_import(long, layout, rules, source, notes)


def read_works(
    path: str | Path, layout: Layout, encoding: str | None = None
) -> tuple[list[Task], list[TaskAnnotation]]:
    """Read the tasks of an export, and their annotations and predictions one by one."""
    source = str(path)
    tasks = _tasks(path, layout, source, encoding)
    works = list(_works(tasks, layout, source))
    if not works:
        raise InputError(f"{source}: no task has an annotation or a prediction; export the annotated tasks.")
    return tasks, works


def _tasks(path: str | Path, layout: Layout, source: str, encoding: str | None) -> list[Task]:
    """Tasks with their annotations; those of a JSON-MIN export in the form of the whole export."""
    file = open_content(path)
    if file.form in ("json", "jsonl"):
        content = parsed_json(file.data, file.form == "jsonl", source, encoding)
    else:
        content = records_of(read_export_table(file, ReadingRules(encoding=encoding)).table)
    remedy = "export from Label Studio as JSON, JSON-MIN or CSV"
    if not isinstance(content, list) or not content:
        raise InputError(f"{source}: this is not a list of tasks; {remedy}.")
    for number, task in enumerate(content, start=1):
        if not isinstance(task, dict) or not ("annotations" in task or "annotator" in task):
            raise InputError(
                f"{source}: task {number} has neither 'annotations' nor 'annotator', so this is not an "
                f"export of annotations; {remedy}."
            )
    if any("annotations" in task for task in content):
        return content
    names = list(layout.dimensions) or _controls(content, source)
    for name in layout.dimensions:
        if not any(name in task for task in content):
            fields = _fields(content)
            raise InputError(
                f"{source}: no task has a field '{name}'{did_you_mean(name, fields)}; correct --dimensions "
                f"(there are: {listed(fields)})."
            )
    return [_full_task(task, names) for task in content]


def _full_task(task: Task, names: list[str]) -> Task:
    """A task of a JSON-MIN export, which has one annotation, in the form of the whole export."""
    results = []
    for name in names:
        content = task.get(name)
        for value in content if isinstance(content, list) else [content]:
            if not isinstance(value, dict):  # a word or a number by itself
                value = {"choices": value}
            kind = next((kind for kind, key in CONTROLS.items() if key in value), listed(value))
            results.append({"from_name": name, "type": kind, "value": value})
    annotation = {
        "id": task.get("annotation_id"),
        "completed_by": task.get("annotator"),
        "result": results,
        **{key: task.get(key) for key in ("lead_time", "updated_at", "created_at")},
    }
    return {"id": task.get("id"), "data": task, "annotations": [annotation]}


def _controls(tasks: list[Task], source: str) -> list[str]:
    """Fields of a JSON-MIN or CSV export that are results by their form, or differ within a task."""

    def is_result(value: Any) -> bool:
        first = value[0] if isinstance(value, list) and value else value
        return isinstance(first, dict) and any(key in first for key in CONTROLS.values())

    fields = _fields(tasks)
    data: dict[tuple[Any, str], set[str]] = {}
    for task in tasks:
        for name in fields:
            if task.get(name) is not None:
                data.setdefault((str(task.get("id")), name), set()).add(str(task[name]))
    differing = {name for (_, name), values in data.items() if len(values) > 1}
    names = [name for name in fields if name in differing or any(is_result(task.get(name)) for task in tasks)]
    if not names:
        raise InputError(
            f"{source}: a JSON-MIN or CSV export does not state which fields are judgments; name them with "
            f"--dimensions (there are: {listed(fields)})."
        )
    return names


def _fields(tasks: list[Task]) -> list[str]:
    return list(dict.fromkeys(key for task in tasks for key in task if key not in RECORDED))


def _check_type(value: Any, kind: str, what: str, where: str) -> Any:
    """A value of the expected kind or None; InputError for anything else."""
    types, remedy = EXPECTED[kind]
    if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
        raise InputError(f"{where}: {what} is {shorten(repr(value), 60)}, and {remedy}.")
    return value


def _works(tasks: list[Task], layout: Layout, source: str) -> Iterator[TaskAnnotation]:
    for number, task in enumerate(tasks, start=1):
        where = f"{source}: task {number}"
        data = {
            "id": task.get("id", number),
            **(_check_type(task.get("data"), "fields", "data", where) or {}),
        }
        data["id"] = task.get("id", data["id"])
        _check_type(task.get("drafts"), "list", "drafts", where)
        where = f"{where} (id {task.get('id')})"
        for annotation in _check_type(task.get("annotations"), "list", "annotations", where) or ():
            annotation = _check_type(annotation, "fields", "an annotation", where) or {}
            here = f"{where}, annotation {annotation.get('id')}"
            yield TaskAnnotation(
                number,
                _annotator(annotation.get("completed_by"), layout, here),
                "human",
                data,
                *_answers(annotation.get("result"), layout, here),
                bool(annotation.get("was_cancelled")),
                _check_type(annotation.get("lead_time"), "seconds", "lead_time", here),
                _end_time(annotation, here),
                bool(annotation.get("ground_truth")),
            )
        for prediction in _check_type(task.get("predictions"), "list", "predictions", where) or ():
            if isinstance(prediction, dict):
                here = f"{where}, prediction {prediction.get('id')}"
                judge = _name(prediction.get("model_version") or "prediction", "model_version", here)
                answers = _answers(prediction.get("result"), layout, here)
                yield TaskAnnotation(
                    number, judge, "model", data, *answers, ended=_end_time(prediction, here)
                )


def _end_time(entry: Task, where: str) -> str | None:
    time: str | None = _check_type(
        entry.get("updated_at") or entry.get("created_at"), "time", "the time", where
    )
    return time


def _annotator(annotator: Any, layout: Layout, where: str) -> str:
    field = layout.judge or "id"
    if isinstance(annotator, dict):
        if annotator.get(field) in (None, ""):
            raise InputError(
                f"{where} has no '{field}' of its annotator{did_you_mean(field, annotator)}; name another "
                f"field with --judge (there are: {listed(annotator)})."
            )
        return _name(annotator[field], f"'{field}' of the annotator", where)
    if annotator is None:
        raise InputError(f"{where} does not state its annotator (completed_by); export with annotators.")
    if layout.judge:
        raise InputError(f"{where} has only the id of its annotator; omit --judge.")
    return _name(annotator, "the annotator (completed_by)", where)


def _name(value: Any, what: str, where: str) -> str:
    """A name or id as text; InputError for a list, a truth value or what is not finite."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool | float) or not isinstance(value, str | int) or not str(value).strip():
        raise InputError(
            f"{where}: {what} is {shorten(repr(value), 60)}, and a name or a whole number belongs there; "
            "correct it."
        )
    return str(value)


def _answers(results: Any, layout: Layout, where: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The answer of each control as text, and those that are several choices."""
    answers: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    remedy = "but a judgment is one value; give other controls by --dimensions"
    for result in _check_type(results, "list", "result", where) or ():
        result = _check_type(result, "fields", "a result", where) or {}
        name, kind = str(result.get("from_name")), str(result.get("type"))
        if kind == "relation" or (layout.dimensions and name not in layout.dimensions):
            continue
        if kind not in CONTROLS:
            what = "free text" if kind == "textarea" else f"'{kind}'"
            raise InputError(
                f"{where}: '{name}' contains {what}, and a judgment is a choice, a rating or a number; name "
                "the controls to read with --dimensions."
            )
        if name in answers:
            raise InputError(f"{where}: '{name}' has several results, {remedy}.")
        fields = _check_type(result.get("value"), "fields", f"the value of '{name}'", where) or {}
        value = fields.get(CONTROLS[kind])
        if isinstance(value, list):
            if len(value) > 1:
                choices[name] = tuple(dict.fromkeys(str(choice).strip() for choice in value))
            value = ", ".join(map(str, value)) if value else None
        if value is not None and str(value).strip() != "":
            answers[name] = str(value).strip()
    return answers, choices


def _rows(work: TaskAnnotation, names: list[str], layout: Layout, source: str) -> Iterator[dict[str, Any]]:
    item = layout.item or "id"
    for option, name in (("--item", item), *(("--covariates", name) for name in layout.covariates)):
        if name not in work.data or (option == "--item" and work.data[name] in (None, "")):
            raise InputError(
                f"{source}: task {work.task} has no '{name}' among its data{did_you_mean(name, work.data)}; "
                f"correct {option} (there are: {listed(work.data)})."
            )
    further = {
        (f"item_{name}" if name in TAKEN else name): str(work.data[name]) for name in layout.covariates
    }
    for name in names:
        yield {
            "judge_id": work.judge,
            "judge_kind": work.kind,
            "item_id": _name(work.data[item], f"'{item}'", f"{source}: task {work.task}"),
            "dimension": name,
            "raw": None if work.cancelled else work.choices.get(name, work.answers.get(name)),
            "cancelled": work.cancelled,
            "status": "missing" if work.cancelled or name not in work.answers else None,
            "row": work.task,
            "column": name,
            "duration": work.seconds,
            "ended": work.ended,
            "ground_truth": work.truth,
            **further,
        }


def every_control(works: list[TaskAnnotation]) -> set[str]:
    """Names of all controls that an annotation or a prediction has used."""
    return {name for work in works for name in work.answers}


def _unread(tasks: list[Task], controls: set[str]) -> list[str]:
    """Fields of a JSON-MIN or CSV export whose few words may be choices, and that were not read."""
    data = [task["data"] for task in tasks if task.get("data") and "annotator" in task["data"]]
    names = []
    for name in _fields(data):
        words = [record[name] for record in data if isinstance(record.get(name), str)]
        is_id = len(set(words)) >= len({str(record.get("id")) for record in data})
        if name not in controls and not is_id and 1 < len(set(words)) <= FEW_WORDS:
            names.append(name)
    text = f"Fields that were not read, and may be choices: {listed(names)}; name controls with --dimensions."
    return [text] if names else []


def _dimensions(works: list[TaskAnnotation], source: str) -> dict[str, list[str]]:
    """Controls that people, or one model, have used anywhere, in order of appearance."""
    controls_by_user: dict[str, dict[str, None]] = {}
    for work in works:
        controls_by_user.setdefault(work.user, {}).update(dict.fromkeys(work.answers))
    every = dict.fromkeys(name for names in controls_by_user.values() for name in names)
    if not every:
        raise InputError(
            f"{source}: no annotation contains a choice, a rating or a number; export the annotated tasks, "
            "or correct --dimensions."
        )
    return {user: list(names or every) for user, names in controls_by_user.items()}
