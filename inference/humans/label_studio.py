"""Label Studio exports (JSON and JSON-MIN): choices, ratings and numbers by annotators and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.limits import parse_json
from .exclusion_rules import Rules, counts
from .imported_ratings import TAKEN, Imported, finish_log_import
from .rating_columns import Layout
from .text_tables import read_export_text

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
Task = dict[str, Any]


@dataclass(frozen=True)
class TaskAnnotation:
    """One annotation or prediction of one task: its answers by control, and how it came about."""

    task: int
    judge: str
    kind: str
    data: Mapping[str, Any]
    answers: Mapping[str, str]
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
        A .json file, exported as JSON (with all annotations) or JSON-MIN, or such a file with .gz.
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
        The file is no such export, a control contains text or regions, or several values.

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
    long = pd.DataFrame([row for work in works for row in _rows(work, names[work.user], layout, source)])
    if not any(work.truth for work in works):
        long = long.drop(columns="ground_truth")
    notes = (
        []
        if layout.item
        else ["Items are named by the ids of tasks; --item uses a field of their data instead."]
    )
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
    text = read_export_text(path, encoding)
    try:
        content = parse_json(text)
    except ValueError as error:
        raise InputError(
            f"{source}: this is not valid JSON ({error}); export from Label Studio as JSON again."
        ) from None
    remedy = "export from Label Studio as JSON or JSON-MIN"
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
    """Fields of a JSON-MIN export that are results by their form."""

    def is_result(value: Any) -> bool:
        first = value[0] if isinstance(value, list) and value else value
        return isinstance(first, dict) and any(key in first for key in CONTROLS.values())

    fields = _fields(tasks)
    names = [name for name in fields if any(is_result(task.get(name)) for task in tasks)]
    if not names:
        raise InputError(
            f"{source}: a JSON-MIN export does not state which fields are judgments; name them with "
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
                _answers(annotation.get("result"), layout, here),
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
                yield TaskAnnotation(number, judge, "model", data, answers, ended=_end_time(prediction, here))


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


def _answers(results: Any, layout: Layout, where: str) -> dict[str, str]:
    """The answer of each control, as text."""
    answers: dict[str, str] = {}
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
                raise InputError(
                    f"{where}: '{name}' contains {len(value)} choices ({listed(value)}), {remedy}."
                )
            value = value[0] if value else None
        if value is not None and str(value).strip() != "":
            answers[name] = str(value).strip()
    return answers


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
            "raw": None if work.cancelled else work.answers.get(name),
            "status": "missing" if work.cancelled or name not in work.answers else None,
            "row": work.task,
            "column": name,
            "duration": work.seconds,
            "ended": work.ended,
            "ground_truth": work.truth,
            **further,
        }


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
