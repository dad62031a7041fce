"""Raw completions of models, from files of other programs, read into judgments."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, listed
from ..readers.aliases import name_judges, name_prompts, rename_columns
from ..readers.judgments import judged_texts, lines_of, strata_of, with_texts
from ..study.asking import LineLabels
from ..study.models import ItemStudy
from ..tables.columns import UNPERTURBED, as_text, coerce, copy_id, refuse
from ..tables.files import load, load_text, read_table
from ..tables.schema import STATUSES, require_columns, validate
from . import Answer, Reading
from .answer_rules import AnswerReader, Parsed, full_rules
from .reasoning import without_reasoning

NEEDED = ("judge_id", "prompt_id", "item_id", "text")


@dataclass(frozen=True)
class Completions:
    """What was read: every completion as it was given, its judgments, and what was found on the way."""

    responses: pd.DataFrame  # one row a completion, in the order of the file
    judgments: pd.DataFrame  # one row a completion and dimension
    notes: list[str]


def read_completions(
    path: str | Path, study: ItemStudy, rule: str = "lenient", items: str | Path | None = None
) -> Completions:
    """Read raw completions by one rule."""
    source = str(path)
    full_rules(study, rule)
    raw = _read(Path(path))
    frame, notes = _with_names(raw, study, source)
    copies = _copies_named_here(raw, frame, study)
    judged_items = _items(study, items, frame, source, notes, copies)
    _check_strata(frame, study, judged_items, source)
    frame = _with_strata(frame, study, judged_items)
    responses = _responses(frame, study, source)
    judgments = read_judgments(frame, responses, study, rule, judged_items)
    return Completions(responses, judgments, [*notes, *_mismatches(judgments)])


def _read(path: Path) -> pd.DataFrame:
    return load(path, {}, {}) if path.name.lower().endswith(".parquet") else load_text(path)


def _with_names(frame: pd.DataFrame, study: ItemStudy, source: str) -> tuple[pd.DataFrame, list[str]]:
    """Bring columns, judges, prompts and samples to the names and types of the contract."""
    frame = rename_columns(frame.reset_index(drop=True), study)
    require_columns(frame, list(NEEDED), source)
    if frame.empty:
        raise InputError(
            f"{source}: the table contains no completion; name a table with one row per completion."
        )
    judges, unknown = name_judges(frame["judge_id"], study, source)
    sample = coerce(frame["sample"], "integer", source) if "sample" in frame else 1
    frame = frame.assign(
        judge_id=judges,
        prompt_id=name_prompts(frame["prompt_id"], study, source),
        item_id=as_text(frame["item_id"]),
        text=as_text(frame["text"]),
        sample=sample,
    )
    _check_complete(frame, source)
    if "position" in frame:
        frame = frame.assign(position=coerce(frame["position"], "integer", source))
    frame = _name_copies(frame, source)
    key = ["judge_id", "prompt_id", "item_id", "sample"]
    is_repeat = frame.duplicated(key).to_numpy(dtype=bool)
    if is_repeat.any():
        cells = frame.loc[int(is_repeat.argmax()), key]
        key_text = ", ".join(f"{name} {value}" for name, value in cells.items())
        refuse(
            source, "item_id", is_repeat, f"repeats an earlier completion ({key_text})", "keep one of them"
        )
    notes = []
    if unknown:
        notes.append(f"Study {study.name} does not name {listed(unknown)}; these judges keep their names.")
    return frame, notes


def _check_complete(frame: pd.DataFrame, source: str) -> None:
    for name, remedy in (("item_id", "name the item"), ("sample", "number the run, from 1")):
        empty = frame[name].isna().to_numpy(dtype=bool)
        if empty.any():
            refuse(source, name, empty, "is empty", f"{remedy} of every completion")


def _name_copies(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Give perturbed copies that carry the name of their original a name of their own."""
    if "condition" not in frame:
        return frame
    condition = as_text(frame["condition"]).fillna(UNPERTURBED)
    frame = frame.assign(condition=condition)
    if "base_item_id" in frame:
        return frame
    copied = (condition != UNPERTURBED).to_numpy(dtype=bool)
    ids = frame["item_id"].where(~copied, copy_id(frame["item_id"], condition))
    return frame.assign(base_item_id=frame["item_id"], item_id=ids)


def _copies_named_here(raw: pd.DataFrame, frame: pd.DataFrame, study: ItemStudy) -> dict[str, str]:
    """State how `_name_copies` named each copy, by its name; empty where the file has names of its own."""
    if "condition" not in frame or "base_item_id" in rename_columns(raw.head(0), study):
        return {}
    names = (name for name in map(str, raw) if study.column_aliases.get(name, name) == "condition")
    column = next(names, "condition")
    copies = frame[frame["condition"] != UNPERTURBED].drop_duplicates("item_id")
    parts = zip(copies["item_id"], copies["base_item_id"], copies["condition"], strict=True)
    return {
        name: f"contains '{base}' with {column} '{condition}': a copy, which is named '{name}' after both"
        for name, base, condition in parts
    }


def _items(
    study: ItemStudy,
    path: str | Path | None,
    frame: pd.DataFrame,
    source: str,
    notes: list[str],
    copies: dict[str, str],
) -> JudgedItems:
    table = read_table(study.file(study.items) if path is None else path, "items")
    item_ids = set(table["item_id"])
    missing = ~frame["item_id"].isin(item_ids).to_numpy(dtype=bool)
    if missing.any():
        if path is not None:
            name = frame["item_id"].iloc[int(missing.argmax())]
            if name in copies:
                remedy = "add a row <item_id>__<condition> with its text for each copy"
                refuse(source, "item_id", missing, f"{copies[name]}, but {path} has no such item", remedy)
            refuse(
                source, "item_id", missing, f"contains '{name}', which is not in {path}", "add the item to it"
            )
        notes.append(
            "The items are not those of the study, so how many lines they have and what answers repeat of "
            "them is not known; name their table with --items."
        )
        if copies:
            notes[-1] += " It needs a row <item_id>__<condition> for each copy."
        return JudgedItems({}, {}, {})
    items = with_texts(rename_columns(table, study))
    lines = lines_of(study, items, str(path or study.items))
    columns = [name for name in study.collect.fields or ("text",) if name in items]
    rows = zip(items["item_id"], *(as_text(items[name]) for name in columns), strict=True)
    texts = {
        str(item): judged_texts([str(text) for text in fields if not pd.isna(text)], bool(lines))
        for item, *fields in rows
    }
    return JudgedItems(lines, texts, strata_of(study, items, str(path or study.items)))


def _check_strata(frame: pd.DataFrame, study: ItemStudy, items: JudgedItems, source: str) -> None:
    """Refuse completions whose prompt is not put to items of their kind."""
    for prompt in study.prompts:
        mask = (frame["prompt_id"] == prompt.id).to_numpy(dtype=bool)
        for column, values in prompt.only.items():
            if column in frame:
                levels = as_text(frame[column])
            else:
                levels = frame["item_id"].map(lambda item, of=column: items.strata.get(item, {}).get(of))
                mask = mask & levels.notna().to_numpy(dtype=bool)
            bad = mask & ~levels.isin(values).to_numpy(dtype=bool)
            if bad.any():
                value = levels.iloc[int(bad.argmax())]
                problem = f"contains '{value}', which prompt '{prompt.id}' does not take"
                remedy = f"use {listed(values)}, or add it to 'only' of the prompt"
                refuse(source, column, bad, problem, remedy)


def _with_strata(frame: pd.DataFrame, study: ItemStudy, items: JudgedItems) -> pd.DataFrame:
    """Add the strata of items that the table of completions does not have."""
    absent_columns = [name for name in study.level_labels if name not in frame] if items.strata else []
    columns = {
        name: [items.strata[item].get(name) for item in frame["item_id"].tolist()] for name in absent_columns
    }
    return frame.assign(**{name: pd.array(column, dtype="string") for name, column in columns.items()})


def _responses(frame: pd.DataFrame, study: ItemStudy, source: str) -> pd.DataFrame:
    first = ["judge_id", "item_id", "prompt_id", "sample", "text"]
    names = zip(*(frame[name].astype("string").fillna("").tolist() for name in first), strict=True)
    columns = {
        "study": study.name,
        "judge_kind": "model",
        "request_key": [hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32] for parts in names],
    }
    other_columns = frame.drop(columns=[*first, *(name for name in columns if name in frame)])
    table = frame[first].assign(**columns)
    if "created" not in other_columns:
        table["created"] = pd.NaT
    return validate(pd.concat([table, other_columns], axis=1), "responses", source)


def _mismatches(judgments: pd.DataFrame) -> list[str]:
    """State how many answers have more or fewer labels than lines."""
    if "labels_given" not in judgments:
        return []
    answers = judgments.drop_duplicates("request_key")
    rows = answers.dropna(subset=["labels_given", "lines_shown"])
    rows = rows[rows["labels_given"] > 0]
    more = int((rows["labels_given"] > rows["lines_shown"]).sum())
    fewer = int((rows["labels_given"] < rows["lines_shown"]).sum())
    if not more and not fewer:
        return []
    return [
        f"Of {len(rows):,} answers with labels for lines, {more:,} have more labels than there are lines and "
        f"{fewer:,} fewer (columns labels_given and lines_shown)."
    ]


ASKED = ("prompt_id", "item_id", "text", "finish_reason", "refusal", "error")


PUBLISHED = "published"  # rules of this name read a completion as it is, reasoning included


@dataclass(frozen=True)
class JudgedItems:
    """What is known of judged items; empty where nothing is."""

    lines: dict[str, dict[str, int]]  # by column that contains lines, the number of lines of each item
    texts: dict[str, list[str]]  # by item, what an answer may repeat of it word for word
    strata: dict[str, dict[str, str]]  # by item, its strata and the columns by which prompts pick items


def read_judgments(
    frame: pd.DataFrame, responses: pd.DataFrame, study: ItemStudy, rule: str, items: JudgedItems
) -> pd.DataFrame:
    """Read every completion; equal ones of an item are read once."""
    reader = AnswerReader(
        study, rule, lambda column, item: items.lines.get(column, {}).get(item), surplus=True
    )
    marks = study.collect.reasoning_marks
    cache: dict[tuple[str, ...], Parsed] = {}
    rows, counts, n_lines = [], [], []
    for cells in zip(*(_texts(frame, name) for name in ASKED), strict=True):
        if cells not in cache:
            prompt, item, text, reason, refusal, error = cells
            keeps_thought = f"/{PUBLISHED}" in reader.rule(prompt)
            answer = Answer(
                text if keeps_thought else without_reasoning(text, marks),
                refusal,
                finish_reason=reason,
                error=error,
            )
            cache[cells] = reader.parse(prompt, item, answer, items.texts.get(item, ()))
        lines, readings = cache[cells]
        rows += readings
        counts.append(len(readings))
        n_lines += [lines] * len(readings)
    places = np.repeat(np.arange(len(frame)), counts)
    columns = [
        name
        for name in ("position", "condition", "base_item_id", "finish_reason", *study.level_labels)
        if name in responses
    ]
    first = ["judge_id", "judge_kind", "item_id", "prompt_id", "sample"]
    table = responses[[*first, *columns, "request_key"]].take(places).reset_index(drop=True)
    read = _columns(rows, any(isinstance(response, LineLabels) for response in study.responses), n_lines)
    return validate(pd.concat([table, read], axis=1), "judgments", "completions")


def _columns(
    rows: Sequence[tuple[str, Reading]], of_lines: bool, n_lines: Sequence[int | None]
) -> pd.DataFrame:
    n_labels = [reading.given for _, reading in rows]
    numbers = {"labels_given": n_labels, "lines_shown": n_lines} if of_lines else {}
    integers: dict[str, Any] = {name: pd.array(counts, dtype="Int64") for name, counts in numbers.items()}
    values = [None if reading.value is None else str(reading.value) for _, reading in rows]
    return pd.DataFrame(
        {
            "dimension": pd.array([dimension for dimension, _ in rows], dtype="string"),
            "value": pd.array(values, dtype="string"),
            "status": pd.Categorical([reading.status for _, reading in rows], categories=list(STATUSES)),
            "rule": pd.array([reading.rule for _, reading in rows], dtype="string"),
            "note": pd.array([reading.note or None for _, reading in rows], dtype="string"),
            **integers,
        }
    )


def _texts(frame: pd.DataFrame, name: str) -> list[str]:
    """Cells of a column as text; empty where they are missing or there is no such column."""
    return as_text(frame[name]).fillna("").tolist() if name in frame else [""] * len(frame)
