"""One table of the answers of all systems, from one file or one per system, with labels of a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, counted, listed, no_column
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.items import prompt_column
from conjury.inference.tables.reading import ReadingRules, TableReading
from conjury.inference.tables.row_numbers import row_words, stacked
from conjury.inference.tables.schema import SAMPLING

from ..label_provenance import COLUMNS


def stack_systems(
    table: Any, labels: Any, people: Sequence[str], system: str, rules: ReadingRules, source: str
) -> tuple[TableReading, list[str]]:
    """Read one table or one per system, and join labels of a second table; what became of it in notes."""
    reading, notes = (
        _stacked(table, system, rules, source)
        if isinstance(table, Mapping)
        else (read_columns(table, rules, source), [])
    )
    if labels is None:
        return reading, notes
    label_rules = replace(rules, where={}, exclude={})
    return _joined(reading, read_columns(labels, label_rules, "labels"), people, system, notes)


def merge_spellings(frame: pd.DataFrame, system: str) -> tuple[pd.DataFrame, list[str]]:
    """Count systems that differ in case or in blanks around them as one, and say so."""
    if system not in frame or pd.api.types.is_numeric_dtype(frame[system]):
        return frame, []
    names = as_text(frame[system])
    first: dict[str, str] = {}
    for name in names.dropna().unique():
        first.setdefault(name.strip().casefold(), name.strip())
    spellings = {name: first[name.strip().casefold()] for name in names.dropna().unique()}
    spellings = {name: as_name for name, as_name in spellings.items() if name != as_name}
    if not spellings:
        return frame, []
    pairs = listed((f"'{name}' and '{as_name}'" for name, as_name in spellings.items()), 6)
    note = f"Systems that differ in case or blanks alone count as one: {pairs}."
    return frame.assign(**{system: names.replace(spellings)}), [note]


def _stacked(
    tables: Mapping[str, Any], system: str, rules: ReadingRules, source: str
) -> tuple[TableReading, list[str]]:
    readings = {str(name): read_columns(part, rules, str(name)) for name, part in tables.items()}
    if len(readings) < 2:
        raise InputError(
            f"{source}: there is one table; give one per system, at least two, or name their column."
        )
    parts, notes = [], list[str]()
    for name, part in readings.items():
        if system in part.frame:
            raise InputError(
                f"{part.source}: the table has a column '{system}', and systems are named by their tables; "
                "give one table, or rename the column."
            )
        parts.append(part.frame.assign(**{system: name}))
        notes += part.account.notes()
    shared = set.intersection(*(set(part) for part in parts))
    lacking = sorted({str(name) for part in parts for name in part} - set(map(str, shared)))
    if lacking:
        notes.append(f"Not in all tables: {listed(map(repr, lacking), 6)}.")
    first = next(iter(readings.values()))
    prompt = rules.id or prompt_column(parts[0])
    if prompt in shared and len({part[prompt].dtype for part in parts}) > 1:
        # A prompt 7 of one table is the '7' of another.
        parts = [part.assign(**{str(prompt): as_text(part[prompt]).str.strip()}) for part in parts]
    frame = pd.concat(parts, ignore_index=True)
    return replace(
        first, frame=frame, source=stacked((part.source, len(part.frame)) for part in readings.values())
    ), notes


def _joined(
    reading: TableReading, labels: TableReading, people: Sequence[str], system: str, notes: list[str]
) -> tuple[TableReading, list[str]]:
    """Add the columns of people from a second table by prompt, and by system where it has them."""
    frame, label_frame = reading.frame, labels.frame
    prompt = reading.rules.id or prompt_column(frame)
    if prompt is None:
        raise InputError(
            f"{reading.source}: no column is called as prompts are; name that of the prompts with --id."
        )
    keys = [prompt, system]
    if system not in label_frame:
        raise InputError(
            f"{labels.source}: there is no column '{system}', so it is unknown which system's answer a "
            "label is about; add it."
        )
    for name in (*keys, *people):
        if name not in label_frame:
            raise no_column(labels.source, name, label_frame)
    overlap = [name for name in people if name in frame]
    if overlap:
        raise InputError(
            f"{reading.source} and {labels.source} both have {listed(map(repr, overlap))}; keep the labels "
            "in one."
        )
    for key in keys:
        if label_frame[key].isna().any():
            row = row_words(labels.source, label_frame[key].isna().to_numpy().argmax())
            raise InputError(
                f"{labels.source}: row {row} has no '{key}', so it is unknown which answer a label is "
                "about; fill it or drop the row."
            )
    sides = [
        pd.MultiIndex.from_arrays(
            [as_text(part[prompt]).str.strip(), as_text(part[system]).str.strip().str.casefold()]
        )
        for part in (frame, label_frame)
    ]
    if sides[1].has_duplicates:
        row = row_words(labels.source, sides[1].duplicated().argmax())
        raise InputError(
            f"{labels.source}: row {row} repeats the {' and '.join(keys)} of an earlier one; give one row "
            "per answer, with a column per person."
        )
    if sides[0].has_duplicates and sides[0][sides[0].duplicated()].isin(sides[1]).any():
        raise InputError(
            f"{reading.source}: a system has several answers to one prompt, and {labels.source} does not say "
            "which of them a label is about; put the labels into the same table."
        )
    at = sides[1].get_indexer(sides[0])
    if not (at >= 0).any():
        raise InputError(
            f"{labels.source}: no row has the {' and '.join(keys)} of an answer; labels are about "
            f"{_first(label_frame, keys)}, and answers as {_first(frame, keys)}; write them alike, or name "
            "the column that both tables share."
        )
    # What is known of labels goes with them.
    provenance = [name for name in (*COLUMNS, SAMPLING) if name in label_frame and name not in frame]
    columns = label_frame[[*people, *provenance]].astype(object).take(at).reset_index(drop=True)
    columns[at < 0] = pd.NA
    unmatched = len(label_frame) - int((at >= 0).sum())
    note = (
        f"{labels.source}: {counted(int((at >= 0).sum()), 'answer')} of {len(frame):,} have a row of labels"
    )
    note += f", and {counted(unmatched, 'row')} of labels match no answer." if unmatched else "."
    return replace(reading, frame=pd.concat([frame.reset_index(drop=True), columns], axis=1)), [*notes, note]


def _first(frame: pd.DataFrame, keys: Sequence[str]) -> str:
    return " of ".join(f"'{as_text(frame[key]).iloc[0]}'" for key in keys)
