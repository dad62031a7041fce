"""Completions of a study's prompts, read into judgments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..study.asking import Label, LineLabels, Response
from ..study.models import ItemStudy
from ..tables.columns import as_text
from ..tables.schema import STATUSES, validate
from . import Answer, Reading, ResponseSpec, read_answer
from .completion import without_thought
from .reader import full_rules, response_spec

ASKED = ("prompt_id", "item_id", "text", "finish_reason", "refusal", "error")
PUBLISHED = "published"  # rules of this name read a completion as it is, reasoning included


@dataclass(frozen=True)
class JudgedItems:
    """What is known of judged items; empty where nothing is.

    Attributes
    ----------
    lines : dict of str to dict of str to int
        By column that holds lines, the number of lines of each item.
    texts : dict of str to list of str
        By item, what an answer may repeat of it word for word.
    strata : dict of str to dict of str to str
        By item, its strata and the columns by which prompts pick items.
    """

    lines: dict[str, dict[str, int]]
    texts: dict[str, list[str]]
    strata: dict[str, dict[str, str]]


def read_judgments(
    frame: pd.DataFrame, responses: pd.DataFrame, study: ItemStudy, rule: str, known: JudgedItems
) -> pd.DataFrame:
    """Read every completion; equal ones of an item are read once."""
    responses_of = {prompt.id: prompt.response or study.response for prompt in study.prompts}
    readers = {name: _reader(response, study, rule, known) for name, response in responses_of.items()}
    seen: dict[tuple[str, ...], tuple[int | None, list[tuple[str, Reading]]]] = {}
    rows, counts, shown = [], [], []
    for asked in zip(*(_texts(frame, name) for name in ASKED), strict=True):
        if asked not in seen:
            prompt, item, text, *said = asked
            seen[asked] = readers[prompt](item, text, *said)
        lines, readings = seen[asked]
        rows += readings
        counts.append(len(readings))
        shown += [lines] * len(readings)
    places = np.repeat(np.arange(len(frame)), counts)
    kept = [
        name
        for name in ("position", "condition", "base_item_id", "finish_reason", *study.level_labels)
        if name in responses
    ]
    first = ["judge_id", "judge_kind", "item_id", "prompt_id", "sample"]
    table = responses[[*first, *kept, "request_key"]].take(places).reset_index(drop=True)
    read = _columns(rows, any(isinstance(response, LineLabels) for response in study.responses), shown)
    return validate(pd.concat([table, read], axis=1), "judgments", "completions")


def _reader(
    response: Response, study: ItemStudy, rule: str, known: JudgedItems
) -> Callable[..., tuple[int | None, list[tuple[str, Reading]]]]:
    """Make the reader of a prompt's answers: number of lines, and readings by dimension of judgments."""
    by_form = {name.partition("/")[0]: name for name in full_rules(study, rule)}
    name = "default" if rule == "default" else by_form[response.form]
    as_it_is = f"/{PUBLISHED}" in name
    asked = replace(response_spec(response, study.collect.noun), surplus=True)

    def read(
        item: str, text: str, reason: str, refusal: str, error: str
    ) -> tuple[int | None, list[tuple[str, Reading]]]:
        spec: ResponseSpec = asked
        lines = None
        if isinstance(response, LineLabels):
            lines = known.lines.get(response.lines, {}).get(item)
            spec = replace(asked, lines=lines or 0)
        said = text if as_it_is else without_thought(text)
        filtered = reason == "content_filter"
        answer = Answer(said, refusal, finish_reason=reason, filtered=filtered, error=error)
        readings = read_answer(answer, spec, {}, name, known.texts.get(item, ()))
        if isinstance(response, Label):
            return lines, [(response.id, reading) for reading in readings]
        return lines, [(reading.dimension, reading) for reading in readings]

    return read


def _columns(
    rows: Sequence[tuple[str, Reading]], of_lines: bool, shown: Sequence[int | None]
) -> pd.DataFrame:
    given = [reading.given for _, reading in rows]
    numbers = {"labels_given": given, "lines_shown": shown} if of_lines else {}
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
