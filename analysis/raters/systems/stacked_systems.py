"""Answers of all systems in codes, from one file or one per system, with labels of a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, listed, no_column
from conjury.inference.readers.any_file import read_columns
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.items import prompt_column
from conjury.inference.tables.reading import ReadingRules, TableReading
from conjury.inference.tables.reading.account import AccountEntry
from conjury.inference.tables.row_numbers import row_words, stacked
from conjury.inference.tables.schema import SAMPLING

from ..label_provenance import (
    COLUMNS,
    SAMPLED,
    LabelAccount,
    read_provenance,
    without_labels,
    without_others_labels,
)
from ..validation.coding import CodedRows, CodingOptions, code_table, refuse_columns
from ..validation.tables.item_columns import item_of
from ..validation.tables.judge_versions import refuse_versions

NO_PEOPLE = "none"
MOST_SYSTEMS = 30


@dataclass(frozen=True)
class JudgedSystems:
    """Answers of all systems in codes, the table that they are from, and what became of it in notes."""

    table: pd.DataFrame  # n rows, without labels that are not used as people's
    prompt: str
    options: CodingOptions  # of which ``by`` begins with the column of systems
    source: str
    account: LabelAccount
    data: CodedRows
    has_label: np.ndarray  # (n,)
    notes: list[str]


def read_systems(
    table: Any, labels: Any, options: CodingOptions, labelled: Mapping[str, str] | None, source: str
) -> JudgedSystems:
    """Read answers, scores and labels; InputError for tables in which systems cannot be compared."""
    system = options.by[0]
    reading, notes = stack_systems(table, labels, options.human, system, options.rules, source)
    source = reading.source
    if list(options.human) == [NO_PEOPLE] and labels is None and NO_PEOPLE not in reading.frame:
        options = replace(options, human=())
    table, spelling_notes = merge_spellings(reading.frame, system)
    prompt = _prompt_of(table, reading, options)
    options = replace(options, id=prompt, rules=reading.rules)
    people, answer_columns = options.human, (*options.judges, *options.human)
    refuse_columns(table, options, source)
    refuse_systems(table[system], system, source)
    refuse_versions(table, source)
    notes += [*spelling_notes, *reading.account.notes(), *item_of(table, prompt, answer_columns, source)[1]]
    account = read_provenance(table, people, labelled, source)
    table, provenance_notes = without_others_labels(table, people, account, source)
    table = without_labels(table, people, account.rows(SAMPLED, "chosen"))
    data = systems_in_order(code_table(table, options, source))
    has_label = np.asarray(np.isfinite(data.rated).any(axis=0))
    return JudgedSystems(
        table, prompt, options, source, account, data, has_label, [*notes, *provenance_notes]
    )


def _prompt_of(table: pd.DataFrame, reading: TableReading, options: CodingOptions) -> str:
    """The column of prompts, by its name where none is stated, which the account of the file then has."""
    if reading.rules.id:
        return reading.rules.id
    candidates = table.drop(columns=[options.by[0], *options.judges, *options.human], errors="ignore")
    prompt, source = prompt_column(candidates), reading.source
    if prompt is None:
        raise InputError(f"{source}: no column is called as prompts are; name that of the prompts with --id.")
    guess = f"{source}: column '{prompt}' is that of the prompts"
    reading.account.adding([AccountEntry("roles", guess, option="--id")])
    return prompt


def refuse_unscored(systems: JudgedSystems, needs_labels: bool) -> None:
    """Refuse a judge without any score and, unless levels come from a saved map, people without any label."""
    source, people = systems.source, systems.options.human
    is_unlabelled = not systems.has_label.any() and not systems.account.rows(SAMPLED, "chosen").any()
    if people and needs_labels and is_unlabelled:
        raise InputError(
            f"{source}: {listed(map(repr, people))} contain no labels; add labels of some answers."
        )
    for name, scores in zip(systems.options.judges, systems.data.judged, strict=True):
        if not np.isfinite(scores).any():
            raise InputError(
                f"{source}: column '{name}' of the judge has no score; name another with --judge."
            )


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


def refuse_systems(column: pd.Series[Any], system: str, source: str) -> None:
    """Refuse rows without a system, one system, and a column that cannot be one of systems."""
    if column.isna().any():
        row = row_words(source, column.isna().to_numpy().argmax())
        raise InputError(f"{source}: column '{system}' is empty in row {row}; every answer needs a system.")
    count = column.nunique()
    if count < 2:
        raise InputError(f"{source}: column '{system}' has one value; give answers of two systems or more.")
    if count > MOST_SYSTEMS:
        raise InputError(
            f"{source}: column '{system}' has {count:,} values, and at most {MOST_SYSTEMS} systems are "
            "compared; name the column of the systems with --system, or select some with --where."
        )


def systems_in_order(data: CodedRows) -> CodedRows:
    """Systems in the order in which they appear, so that differences are the later minus the earlier."""
    systems = data.groups[0]
    order = list(dict.fromkeys(systems.code.tolist()))
    place = np.argsort(order)
    ordered = replace(systems, code=place[systems.code], levels=tuple(systems.levels[k] for k in order))
    return replace(data, groups=(ordered, *data.groups[1:]))


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
