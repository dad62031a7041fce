"""Records of annotation programs: several choices as one indicator for each, and cells of CSV as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import InputError, counted
from ..tables.limits import parse_json
from ..tables.reading.cell_rules import number_of
from .rating_columns import Layout

MOST_CHOICES = 50  # choices of one control that become indicators
YES, NO = "1", "0"
SECONDS = "lead_time"  # field of Label Studio
JOINT = ": "  # between a control and one of its choices
Row = dict[str, Any]


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
    """Rows of a table of text as records; cells with JSON become what they state, empty cells None."""
    return [
        {
            str(name): None if pd.isna(cell) else number_of(cell) if name == SECONDS else _value(str(cell))
            for name, cell in row.items()
        }
        for row in table.to_dict("records")
    ]


def _value(text: str) -> Any:
    if not text.startswith(("[", "{")):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text
