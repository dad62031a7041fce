"""Label Studio exports (JSON and JSON-MIN): choices, ratings and numbers by annotators and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import pandas as pd

from ..errors import InputError
from ..tables.bounded import parse_json
from ..tables.columns import did_you_mean, listed
from .imported import TAKEN, Imported, Rules, finish
from .layout import Layout, renamed
from .texts import decode, read_bytes
from .times import to_utc

READ = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}
RECORDED = (
    *("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"),
    *("inner_id", "comment_count", "unresolved_comment_count", "comment_authors"),
)
Task = dict[str, Any]


@dataclass(frozen=True)
class _Work:
    """One annotation or prediction of one task: what it says by dimension, and how it came about."""

    task: int
    judge: str
    kind: str
    data: Mapping[str, Any]
    held: Mapping[str, str]
    cancelled: bool = False
    seconds: float | None = None
    ended: str | None = None
    truth: bool = False


def read_label_studio(path: str | Path, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    r"""Read judgments from an export of Label Studio.

    The names of the controls (``from_name``) are the dimensions. Each annotation gives one row a dimension;
    those that were cancelled, and what was left empty, have status missing. Predictions become judgments of a
    model named by ``model_version``.

    Parameters
    ----------
    path : a .json file, exported as JSON (with all annotations) or JSON-MIN, or such a file with .gz
    layout : ``dimensions`` (which controls to read), ``item`` (field of a task's data that names the item; by
        default the id of the task), ``judge`` (field of the annotator, such as email), ``items``, and
        ``covariates`` (fields of a task's data to keep)
    rules : anchors, check items and marks

    Raises
    ------
    InputError
        The file is no such export, a control holds text or regions, or several values.

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
    tasks = _tasks(path, layout, source)
    whole = any("annotations" in task for task in tasks)
    works = list(_full(tasks, layout, source) if whole else _minimal(tasks, layout, source))
    if not works:
        raise InputError(f"{source}: no task has an annotation or a prediction; export the annotated tasks.")
    names = _dimensions(works, source)
    rows = [row for work in works for row in _rows(work, names[_user(work)], layout, source)]
    long = pd.DataFrame(rows)
    for name in ("raw", "status", "ended"):
        long[name] = long[name].astype("string")
    long["ended"] = to_utc(long["ended"], "UTC")
    long["duration"] = long["duration"].astype("Float64")
    notes = [] if layout.item else ["Items are the ids of tasks; --item names a field of their data instead."]
    notes += _told(tasks, works)
    if not any(work.truth for work in works):
        long = long.drop(columns="ground_truth")
    return finish(renamed(long, layout, source), rules or Rules(), source, notes)


def _tasks(path: str | Path, layout: Layout, source: str) -> list[Task]:
    text = decode(read_bytes(path), source, layout.encoding)
    try:
        content = parse_json(text)
    except ValueError as error:
        raise InputError(
            f"{source}: this is no JSON ({error}); export from Label Studio as JSON again."
        ) from None
    remedy = "export from Label Studio as JSON or JSON-MIN"
    if not isinstance(content, list) or not content:
        raise InputError(f"{source}: this is no list of tasks; {remedy}.")
    for number, task in enumerate(content, start=1):
        if not isinstance(task, dict) or not ("annotations" in task or "annotator" in task):
            raise InputError(
                f"{source}: task {number} has neither 'annotations' nor 'annotator', so this is no export of "
                f"annotations; {remedy}."
            )
        where = f"{source}: task {number}"
        _mapping(task.get("data"), "data", where)
        for name in ("annotations", "predictions", "drafts"):
            entries = _entries(task.get(name), name, where)
            if name == "annotations":
                for entry in entries:
                    _mapping(entry, "an annotation", where)
    return content


def _mapping(value: Any, what: str, where: str) -> Task:
    """A mapping with its fields; an empty one where nothing is given."""
    if value is not None and not isinstance(value, dict):
        raise InputError(
            f"{where}: {what} is {_shown(value)}, and fields with values belong there; export it from "
            "Label Studio again."
        )
    return value or {}


def _entries(value: Any, what: str, where: str) -> list[Any]:
    """A list; an empty one where nothing is given."""
    if value is not None and not isinstance(value, list):
        raise InputError(
            f"{where}: {what} is {_shown(value)}, and a list belongs there; export from Label Studio again."
        )
    return value or []


def _seconds(value: Any, where: str) -> float | None:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise InputError(f"{where}: lead_time is {_shown(value)}, and seconds belong there; correct it.")


def _time(value: Any, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InputError(
        f"{where}: the time is {_shown(value)}, and a text such as 2026-01-31T12:00:00Z belongs there."
    )


def _shown(value: Any) -> str:
    return shorten(repr(value), 60)


def _full(tasks: list[Task], layout: Layout, source: str) -> Iterator[_Work]:
    for number, task in enumerate(tasks, start=1):
        data = {"id": task.get("id", number), **_mapping(task.get("data"), "data", source)}
        if "id" in task:
            data["id"] = task["id"]
        for annotation in task.get("annotations") or ():
            where = f"task {number} (id {task.get('id')}), annotation {annotation.get('id')}"
            yield _Work(
                number,
                _annotator(annotation.get("completed_by"), layout, f"{source}: {where}"),
                "human",
                data,
                _held(annotation.get("result"), layout, f"{source}: {where}"),
                bool(annotation.get("was_cancelled")),
                _seconds(annotation.get("lead_time"), f"{source}: {where}"),
                _time(annotation.get("updated_at") or annotation.get("created_at"), f"{source}: {where}"),
                bool(annotation.get("ground_truth")),
            )
        for prediction in task.get("predictions") or ():
            if isinstance(prediction, dict):
                where = f"task {number} (id {task.get('id')}), prediction {prediction.get('id')}"
                yield _Work(
                    number,
                    str(prediction.get("model_version") or "prediction"),
                    "model",
                    data,
                    _held(prediction.get("result"), layout, f"{source}: {where}"),
                    ended=_time(
                        prediction.get("updated_at") or prediction.get("created_at"), f"{source}: {where}"
                    ),
                )


def _annotator(given: Any, layout: Layout, where: str) -> str:
    field = layout.judge or "id"
    if isinstance(given, dict):
        if given.get(field) in (None, ""):
            raise InputError(
                f"{where} tells no '{field}' of its annotator{did_you_mean(field, given)}; name another "
                f"field with --judge (there are: {listed(given)})."
            )
        return str(given[field])
    if given is None:
        raise InputError(f"{where} does not tell who made it (completed_by); export with annotators.")
    if layout.judge:
        raise InputError(f"{where} tells only the id of its annotator; leave out --judge.")
    return str(given)


def _held(results: Any, layout: Layout, where: str) -> dict[str, str]:
    """What each control holds, as text."""
    held: dict[str, str] = {}
    for result in _entries(results, "result", where):
        _mapping(result, "a result", where)
        name, kind = str(result.get("from_name")), str(result.get("type"))
        if kind == "relation" or (layout.dimensions and name not in layout.dimensions):
            continue
        if kind not in READ:
            what = "free text" if kind == "textarea" else f"'{kind}'"
            raise InputError(
                f"{where}: '{name}' holds {what}, and a judgment is a choice, a rating or a number; name the "
                "controls to read with --dimensions."
            )
        if name in held:
            raise InputError(
                f"{where}: '{name}' has several results (regions or items of a task), and a judgment is "
                "one; name other controls with --dimensions."
            )
        value = _mapping(result.get("value"), f"the value of '{name}'", where).get(READ[kind])
        text = _one(value, name, where)
        if text is not None:
            held[name] = text
    return held


def _one(value: Any, name: str, where: str) -> str | None:
    if isinstance(value, list):
        if len(value) > 1:
            raise InputError(
                f"{where}: '{name}' holds {len(value)} choices ({listed(value)}), and a judgment is one; "
                "name other controls with --dimensions."
            )
        value = value[0] if value else None
    return None if value is None or str(value).strip() == "" else str(value).strip()


def _minimal(tasks: list[Task], layout: Layout, source: str) -> Iterator[_Work]:
    """Annotations of a JSON-MIN export, which tells content and results apart by their form alone."""
    names = list(layout.dimensions) or _controls(tasks, source)
    for name in layout.dimensions:
        if not any(name in task for task in tasks):
            fields = list(dict.fromkeys(key for task in tasks for key in task if key not in RECORDED))
            raise InputError(
                f"{source}: no task has a field '{name}'{did_you_mean(name, fields)}; correct --dimensions "
                f"(there are: {listed(fields)})."
            )
    for number, task in enumerate(tasks, start=1):
        where = f"{source}: task {number} (id {task.get('id')}), annotation {task.get('annotation_id')}"
        held = {name: text for name in names if (text := _simple(task.get(name), name, where)) is not None}
        judge = _annotator(task.get("annotator"), layout, where)
        ended = _time(task.get("updated_at") or task.get("created_at"), where)
        yield _Work(number, judge, "human", task, held, False, _seconds(task.get("lead_time"), where), ended)


def _controls(tasks: list[Task], source: str) -> list[str]:
    found = dict.fromkeys(
        key for task in tasks for key, value in task.items() if key not in RECORDED and _is_result(value)
    )
    if not found:
        fields = list(dict.fromkeys(key for task in tasks for key in task if key not in RECORDED))
        raise InputError(
            f"{source}: a JSON-MIN export does not tell which fields are judgments; name them with "
            f"--dimensions (there are: {listed(fields)})."
        )
    return list(found)


def _is_result(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and any(key in first for key in READ.values())


def _simple(value: Any, name: str, where: str) -> str | None:
    """One value of a JSON-MIN export: a word, or [{"rating": 4}], or {"choices": [...]}."""
    value = value if isinstance(value, list) else [value]
    if len(value) > 1:
        raise InputError(
            f"{where}: '{name}' has several results, and a judgment is one; name other controls with "
            "--dimensions."
        )
    inner = value[0] if value else None
    if isinstance(inner, dict):
        known = [key for key in READ.values() if key in inner]
        if not known:
            raise InputError(
                f"{where}: '{name}' holds {listed(inner)}, and a judgment is a choice, a rating or a "
                "number; name the controls to read with --dimensions."
            )
        inner = inner[known[0]]
    return _one(inner, name, where)


def _rows(work: _Work, names: list[str], layout: Layout, source: str) -> Iterator[dict[str, Any]]:
    item = layout.item or "id"
    if work.data.get(item) in (None, ""):
        raise InputError(
            f"{source}: task {work.task} has no '{item}' among its data{did_you_mean(item, work.data)}; "
            f"correct --item (there are: {listed(work.data)})."
        )
    for name in layout.covariates:
        if name not in work.data:
            raise InputError(
                f"{source}: task {work.task} has no '{name}' among its data{did_you_mean(name, work.data)}; "
                f"correct --covariates (there are: {listed(work.data)})."
            )
    further = {
        (f"item_{name}" if name in TAKEN else name): str(work.data[name]) for name in layout.covariates
    }
    for name in names:
        yield {
            "judge_id": work.judge,
            "judge_kind": work.kind,
            "item_id": str(work.data[item]),
            "dimension": name,
            "raw": None if work.cancelled else work.held.get(name),
            "status": "missing" if work.cancelled or name not in work.held else None,
            "row": work.task,
            "column": name,
            "duration": work.seconds,
            "ended": work.ended,
            "ground_truth": work.truth,
            **further,
        }


def _user(work: _Work) -> str:
    """Who shares dimensions: all people, and each model by itself."""
    return "human" if work.kind == "human" else f"model {work.judge}"


def _dimensions(works: list[_Work], source: str) -> dict[str, list[str]]:
    """Controls that people, or one model, have used anywhere, in order of appearance."""
    used: dict[str, dict[str, None]] = {}
    for work in works:
        used.setdefault(_user(work), {}).update(dict.fromkeys(work.held))
    every = dict.fromkeys(name for names in used.values() for name in names)
    if not every:
        raise InputError(
            f"{source}: no annotation holds a choice, a rating or a number; export the annotated tasks, or "
            "correct --dimensions."
        )
    return {user: list(names or every) for user, names in used.items()}


def _told(tasks: list[Task], works: list[_Work]) -> list[str]:
    counts = {
        "Annotations that were cancelled (status missing)": sum(work.cancelled for work in works),
        "Drafts, left out": sum(len(task.get("drafts") or ()) for task in tasks),
        "Annotations marked as ground truth (column ground_truth)": sum(work.truth for work in works),
        "Predictions of which only the id is there, left out": sum(
            not isinstance(one, dict) for task in tasks for one in task.get("predictions") or ()
        ),
        "Tasks without an annotation": sum(
            "annotations" in task and not task["annotations"] for task in tasks
        ),
    }
    return [f"{what}: {count:,}." for what, count in counts.items() if count]
