"""Potato and Doccano: files of each annotator, alone or in a folder, and tables of all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, counted, listed
from ...readers.programs.recognised_files import DOCCANO, INSTANCES, POTATO, read_records
from ...readers.programs.record_shapes import MARK
from ...tables.reading.containers import FileContent
from ..annotation_records import Row, finish_records, judgment_row
from ..exclusion_rules import Rules
from ..imported_ratings import Imported
from ..rating_columns import Layout

Source = str | Path | FileContent
ENDINGS = (".jsonl", ".json", ".csv", ".tsv")  # the first that a folder has is read
USERS = ("user_id", "user", "username", "annotator")
UNCHOSEN, CHOSEN = ("", "false", "none", "null"), ("true", "on", "yes")
FREE = ("text_box", "textbox", "free_response")  # labels of schemas of free text
LABEL = "label"  # dimension of Doccano, which has one
_SPENT = re.compile(r"(\d+)d (\d+)h (\d+)m (\d+)s")


def read_potato(path: Source, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    """Read judgments from annotated instances of Potato: a file, or the folder with one of each person."""
    layout, rules = layout or Layout(), rules or Rules()
    rows: list[Row] = []
    free: dict[str, None] = {}
    n_spans = 0
    for file, folder in _files(path, *INSTANCES):
        records, source = read_records(file, rules.reading)
        for number, record in enumerate(records, 1):
            n_spans += bool(record.get("span_annotations"))
            where = f"{source}: record {number}"
            judge = _user(record, folder, where)
            item = _item(record, layout, ("instance_id", "id"), where)
            for schema, labels in _schemas(record, where):
                if layout.dimensions and schema not in layout.dimensions:
                    continue
                if set(labels) & set(FREE):
                    free[schema] = None
                    continue
                spent = _seconds(record.get("behavioral_data"))
                rows.append(
                    judgment_row(judge, "human", item, schema, _answer(labels), number, duration=spent)
                )
    notes = [f"Free texts of Potato were left out: {listed(free)}."] if free else []
    notes += [f"Labels of spans in {counted(n_spans, 'instance')} were left out."] if n_spans else []
    return finish_records(_some(rows, path, POTATO), layout, rules, str(path), notes)


def _schemas(record: Mapping[str, Any], where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and labels of each schema, as objects, lists or columns ``schema:::label`` have them."""
    columns: dict[str, dict[str, Any]] = {}
    for name, value in record.items():
        if MARK in name:
            schema, _, label = name.partition(MARK)
            columns.setdefault(schema, {})[label] = value
    yield from columns.items()
    schemas = record.get("label_annotations", record.get("annotation"))
    if schemas is None and not columns:
        raise InputError(f"{where} has no 'label_annotations'; export the annotations of Potato again.")
    for schema, labels in schemas.items() if isinstance(schemas, Mapping) else ():
        if isinstance(labels, list):
            labels = dict.fromkeys(map(str, labels), True)
        yield schema, labels if isinstance(labels, Mapping) else {str(labels): labels}


def _answer(labels: Mapping[str, Any]) -> Any:
    """The label or the number that was chosen, a list of several, None where none was."""
    answers = []
    for label, value in labels.items():
        text = "" if value is None else str(value).strip()
        if text.casefold() not in UNCHOSEN:
            answers.append(label if text.casefold() in CHOSEN else text)
    return None if not answers else answers[0] if len(answers) == 1 else answers


def _seconds(behaviour: Any) -> float | None:
    """Seconds that were spent on an instance, as ``Time spent: 0d 0h 1m 5s`` or a number."""
    about = behaviour if isinstance(behaviour, Mapping) else {}
    spent = about.get("time_spent", about.get("time_string"))
    if isinstance(spent, int | float) and not isinstance(spent, bool):
        return float(spent)
    match = _SPENT.search(str(spent))
    days, hours, minutes, seconds = map(int, match.groups()) if match else (0, 0, 0, 0)
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds) if match else None


def read_doccano(path: Source, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    """Read judgments from examples of Doccano: a file of one person, or the folder with one of each."""
    layout, rules = layout or Layout(), rules or Rules()
    rows: list[Row] = []
    after_file: dict[str, None] = {}
    for file, _ in _files(path, "*"):
        records, source = read_records(file, rules.reading)
        member = file.member if isinstance(file, FileContent) else ""
        stem = Path(member or source).name.partition(".")[0]
        for number, record in enumerate(records, 1):
            where = f"{source}: record {number}"
            item = (
                str(number)
                if layout.item is None and "id" not in record
                else _item(record, layout, ("id",), where)
            )
            by_user = _labels_by_user(record, where)
            if by_user is None:
                after_file[stem] = None
                by_user = {stem: _texts(record.get("label"), where)}
            for user, labels in by_user.items():
                value = None if not labels else labels[0] if len(labels) == 1 else labels
                rows.append(judgment_row(user, "human", item, LABEL, value, number))
    notes = [f"Annotators are named after their files: {listed(after_file)}."] if after_file else []
    return finish_records(_some(rows, path, DOCCANO), layout, rules, str(path), notes)


def _labels_by_user(record: Mapping[str, Any], where: str) -> dict[str, list[str]] | None:
    """Labels of each person, where a record names people; else None."""
    annotations = record.get("annotations")
    if not isinstance(annotations, list):
        return None
    labels: dict[str, list[str]] = {}
    for part in annotations:
        if not isinstance(part, Mapping) or part.get("user") is None or "start_offset" in part:
            raise InputError(
                f"{where} has an annotation without a user, or of a span; export labels of whole texts."
            )
        user = str(part.get("user_name") or part["user"])
        labels.setdefault(user, []).append(str(part.get("label_name") or part.get("label")))
    return labels


def _texts(labels: Any, where: str) -> list[str]:
    """Labels of a whole text; InputError for those of spans."""
    labels = [] if labels is None else labels if isinstance(labels, list) else [labels]
    if any(isinstance(label, list | dict) for label in labels):
        raise InputError(
            f"{where} has labels of spans, which are no judgments; export labels of whole texts."
        )
    return [str(label) for label in labels]


def _files(path: Source, *patterns: str) -> list[tuple[Source, str]]:
    """The files of a folder that fit the first pattern of any, or the only one, with their folders."""
    if isinstance(path, FileContent) or not Path(path).is_dir():
        return [(path, Path(str(path)).resolve().parent.name)]
    for pattern in patterns:
        for ending in ENDINGS:
            files = sorted(file for file in Path(path).rglob(pattern) if file.suffix.lower() == ending)
            if files:
                return [(file, file.parent.name) for file in files]
    raise InputError(f"{path}: there is no file of annotations in this folder; name another one.")


def _user(record: Mapping[str, Any], folder: str, where: str) -> str:
    """Who annotated an instance: as it says, else the name of the folder of the file."""
    user = next((record[name] for name in USERS if record.get(name) not in (None, "")), None)
    if user is None and not folder:
        raise InputError(
            f"{where} does not say who annotated it; name the folder that has one for each person."
        )
    return str(folder if user is None else user)


def _item(record: Mapping[str, Any], layout: Layout, names: tuple[str, ...], where: str) -> str:
    fields = [layout.item] if layout.item is not None else list(names)
    item = next((record[name] for name in fields if record.get(name) not in (None, "")), None)
    if item is None:
        raise InputError(f"{where} has no '{fields[0]}'; correct --item (there are: {listed(record)}).")
    return str(item)


def _some(rows: list[Row], path: Source, program: str) -> list[Row]:
    if not rows:
        raise InputError(f"{path}: no record of {program} has a label; export annotated ones.")
    return rows
