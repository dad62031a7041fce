"""Records of annotation programs: several choices as one indicator for each, and cells of CSV as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from ..errors import InputError, counted, listed
from ..readers.programs.recognised_files import read_records, table_records
from ..readers.programs.record_shapes import listed_questions
from ..tables.reading.cell_rules import number_of
from ..tables.reading.containers import FileContent
from .exclusion_rules import Rules
from .imported_ratings import Imported, finish_log_import
from .rating_columns import Layout

MOST_CHOICES = 50  # choices of one control that become indicators
YES, NO = "1", "0"
SECONDS = "lead_time"  # field of Label Studio
JOINT = ": "  # between a control and one of its choices
RESPONSES, SUGGESTION = ".responses", "suggestion"  # ends of columns of Argilla
LEFT_OUT = ("discarded", "draft")  # statuses of responses that are no answers
Row = dict[str, Any]
Response = tuple[str, str, Any, Any, Any]


def split_choices(rows: Sequence[Row], source: str) -> tuple[list[Row], dict[str, list[str]], list[str]]:
    """Rows with one indicator per choice where a control allows several; their choices by control; notes."""
    # `raw` is a tuple of choices, or a text; `cancelled` tells an annotation without any answer from one in
    # which nothing was chosen.
    choices: dict[str, dict[str, None]] = {}
    for row in rows:
        if isinstance(row["raw"], tuple) and len(row["raw"]) > 1:
            choices[row["dimension"]] = {}
    for row in rows:
        if row["dimension"] in choices and row["raw"] is not None:
            answers = row["raw"] if isinstance(row["raw"], tuple) else (row["raw"],)
            choices[row["dimension"]].update(dict.fromkeys(answers))
    for control, texts in choices.items():
        if len(texts) > MOST_CHOICES:
            raise InputError(
                f"{source}: '{control}' has {len(texts):,} different choices, and at most {MOST_CHOICES} can "
                "be indicators; name other controls with --dimensions."
            )
    by_control = {control: list(texts) for control, texts in choices.items()}
    n_without = sum(
        row["dimension"] in by_control and row["raw"] is None and not row["cancelled"] for row in rows
    )
    notes = [
        f"'{control}' allows several choices: each of its {counted(len(texts), 'choice')} is a dimension, "
        f"such as '{control}{JOINT}{texts[0]}', with 1 where it was chosen and 0 where not."
        for control, texts in by_control.items()
    ]
    if n_without:
        notes.append(f"Annotations without any of these choices, with 0 for each: {n_without:,}.")
    return [part for row in rows for part in _split(row, by_control)], by_control, notes


def _split(row: Row, by_control: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    content = {name: value for name, value in row.items() if name != "cancelled"}
    raw, control = row["raw"], row["dimension"]
    if control not in by_control:
        yield content | {"raw": raw[0] if isinstance(raw, tuple) else raw}
        return
    answers = raw if isinstance(raw, tuple) else () if raw is None else (raw,)
    for choice in by_control[control]:
        value = None if row["cancelled"] else YES if choice in answers else NO
        status = "missing" if row["cancelled"] else None
        yield content | {"dimension": f"{control}{JOINT}{choice}", "raw": value, "status": status}


def with_choices(layout: Layout, by_control: Mapping[str, Sequence[str]]) -> Layout:
    """The layout with the indicators of its controls among its dimensions."""
    names: dict[str, str] = {}
    for name, label in layout.dimensions.items():
        texts = by_control.get(name)
        names |= (
            {name: label}
            if texts is None
            else {f"{name}{JOINT}{text}": f"{label}{JOINT}{text}" for text in texts}
        )
    return replace(layout, dimensions=names)


def records_of(table: pd.DataFrame) -> list[Row]:
    """Rows of a table of text as records; seconds become numbers."""
    return [
        {
            name: number_of(str(value)) if name == SECONDS and value is not None else value
            for name, value in record.items()
        }
        for record in table_records(table)
    ]


def finish_records(
    rows: Sequence[Row], layout: Layout, rules: Rules, source: str, notes: Sequence[str] = ()
) -> Imported:
    """Turn rows of records, whose answers may be several choices, into judgments."""
    split, by_control, of_choices = split_choices(rows, source)
    long = pd.DataFrame(split)
    if rules.ignore:
        long["excluded"] = long["excluded"].where(~long["excluded"].isin(list(rules.ignore)), None)
    return finish_log_import(long, with_choices(layout, by_control), rules, source, [*of_choices, *notes])


def judgment_row(
    judge: object, kind: str, item: object, dimension: str, value: Any, number: int, **further: Any
) -> Row:
    """One answer of a record as the row of a judgment, of which nothing is known but what is given."""
    raw = tuple(map(str, value)) if isinstance(value, list) else None if value is None else str(value)
    return {
        "judge_id": str(judge),
        "judge_kind": kind,
        "item_id": str(item),
        "dimension": dimension,
        "raw": raw or None,
        "cancelled": value is None,
        "status": None if raw else "missing",
        "excluded": None,
        "duration": None,
        "row": number,
        "column": dimension,
        **further,
    }


def read_argilla(
    path: str | Path | FileContent, layout: Layout | None = None, rules: Rules | None = None
) -> Imported:
    """Read judgments from records of Argilla: responses to each question, and suggestions."""
    # Records are flat (`label.responses`, `.responses.users`, `.responses.status`, `label.suggestion`),
    # nested (`responses: {label: [{value, user_id, status}]}`) or those of version 1 (`label: [{value,
    # user_id, status}]`, `label-suggestion`), in JSON, JSON lines, Parquet or a table of text.
    layout, rules = layout or Layout(), rules or Rules()
    records, source = read_records(path, rules.reading)
    for name in rules.ignore:
        if name not in LEFT_OUT:
            raise InputError(f"--ignore '{name}' is not a reason of Argilla; use {listed(LEFT_OUT)}.")
    rows = [
        row
        for number, record in enumerate(records, 1)
        for row in _argilla_rows(record, number, layout, source)
    ]
    if not rows:
        raise InputError(
            f"{source}: no record has responses or suggestions of Argilla, such as 'label.responses'; export "
            "the records with their responses."
        )
    return finish_records(rows, layout, rules, source)


def _argilla_rows(record: Mapping[str, Any], number: int, layout: Layout, source: str) -> Iterator[Row]:
    where = f"{source}: record {number}"
    parts = [part for name in ("fields", "metadata") if isinstance(part := record.get(name), Mapping)]
    fields = {**record, **{name: value for part in parts for name, value in part.items()}}
    item = fields.get(layout.item or "id", number if layout.item is None else None)
    if item is None:
        raise InputError(f"{where} has no '{layout.item}'; correct --item (there are: {listed(fields)}).")
    for question, kind, judge, value, status in [*_responses(record, where), *_suggestions(record)]:
        if not layout.dimensions or question in layout.dimensions:
            excluded = status if status in LEFT_OUT else None
            yield judgment_row(judge, kind, item, question, value, number, excluded=excluded)


def _responses(record: Mapping[str, Any], where: str) -> Iterator[Response]:
    """Question, kind, person, value and status of each response of a record."""
    nested = record.get("responses")
    nested = nested if isinstance(nested, dict) else {}
    lists = {name: record[name] for name in listed_questions(record) if isinstance(record[name], list)}
    for question, parts in [*nested.items(), *lists.items()]:
        for part in parts if isinstance(parts, list) else [parts]:
            if not isinstance(part, Mapping):
                raise InputError(
                    f"{where}: a response to '{question}' is no object; export the records again."
                )
            person = part.get("user_id", part.get("user"))
            yield (
                question,
                "human",
                person or _no_person(where, question),
                part.get("value"),
                part.get("status"),
            )
    for name, values in record.items():
        if name.endswith(RESPONSES) and isinstance(values, list):
            question = name.removesuffix(RESPONSES)
            people, statuses = (
                record.get(f"{name}.users"),
                record.get(f"{name}.status") or [None] * len(values),
            )
            if not isinstance(people, list) or not len(people) == len(values) == len(statuses):
                _no_person(where, question)
            for person, value, status in zip(people or (), values, statuses, strict=True):
                yield question, "human", person, value, status


def _suggestions(record: Mapping[str, Any]) -> Iterator[Response]:
    nested = record.get("suggestions")
    for question, part in nested.items() if isinstance(nested, dict) else ():
        yield question, "model", part.get("agent") or SUGGESTION, part.get("value"), None
    for name, value in record.items():
        if name.endswith(f".{SUGGESTION}") and value is not None:
            judge = record.get(f"{name}.agent") or SUGGESTION
            yield name.removesuffix(f".{SUGGESTION}"), "model", judge, value, None
        elif name.endswith(f"-{SUGGESTION}") and value is not None:  # version 1
            about = record.get(f"{name}-metadata")
            judge = (about.get("agent") if isinstance(about, Mapping) else None) or SUGGESTION
            yield name.removesuffix(f"-{SUGGESTION}"), "model", judge, value, None


def _no_person(where: str, question: str) -> NoReturn:
    raise InputError(
        f"{where} does not say who gave each response to '{question}' ('{question}.responses.users'); export "
        "the records with their users."
    )
