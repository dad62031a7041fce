"""The tables of a run, made from its ledger: responses, judgments, and the choices of a conjoint.

Parsing happens here, from raw answers, and can be run again with other rules at any time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..backends.base import COMPOSED
from ..design.profiles import factor
from ..ledger import Answered
from ..ledger.usage import counted_sound
from ..parsing import Answer, Reading, read_completion
from ..parsing.answer_rules import AnswerReader
from ..study.asking import Choice, LineLabels, Ratings
from ..study.models import ItemStudy, Study
from ..tables.columns import coerce, split_occasion
from ..tables.frames import SIMULATED
from ..tables.parquet import ParquetParts
from ..tables.schema import (
    INSTRUMENT,
    JUDGE_KINDS,
    POSITIONS,
    SAMPLING,
    STATUSES,
    instrument_columns,
    validate,
)
from ..tables.writing import atomic_write
from .prices import Tokens

PART = 10_000  # answers whose tables are made at a time
CHUNK = 1000  # answers that are read at a time

Cost = Callable[[str, Tokens, bool], float | None]

OF_LINES = ("labels_given", "lines_shown")  # columns of judgments where each line takes a label

RESPONSES = {
    **dict.fromkeys(("study", "judge_id", "judge_kind", "item_id", "task_id", "prompt_id"), "string"),
    "sample": "Int64",
    **dict.fromkeys(("text", "finish_reason", "logprobs"), "string"),
    **dict.fromkeys(("model_returned", "system_fingerprint"), "string"),
    **dict.fromkeys(("prompt_tokens", "completion_tokens"), "Int64"),
    **dict.fromkeys(("cost", "latency"), "float64"),
    "request_key": "string",
    "created": "datetime64[us, UTC]",
    **dict.fromkeys(("error", "error_kind", "refusal", "arrangement", "batch"), "string"),
    **dict.fromkeys(("round", "attempts"), "Int64"),
}
JUDGMENTS = {
    **dict.fromkeys(("judge_id", "judge_kind", "item_id", "task_id", "prompt_id"), "string"),
    "sample": "Int64",
    **dict.fromkeys(("dimension", "value", "status"), "string"),
    **dict.fromkeys(("probability", "outside", "expected"), "float64"),
    **dict.fromkeys(("rule", "note", "finish_reason", "request_key", "origin"), "string"),
    **dict.fromkeys(OF_LINES, "Int64"),
}


@dataclass(frozen=True)
class RunTables:
    """Tables of a run; ``choices`` is None where nothing was chosen between."""

    responses: pd.DataFrame
    judgments: pd.DataFrame
    choices: pd.DataFrame | None

    def named(self) -> dict[str, pd.DataFrame]:
        """Tables by name, without ``choices`` where nothing was chosen between."""
        tables = {"responses": self.responses, "judgments": self.judgments}
        return tables if self.choices is None else {**tables, "choices": self.choices}


def run_tables(
    study: Study | ItemStudy, answers: Iterator[list[Answered]], *, rule: str = "default", **content: Any
) -> RunTables:
    """Read all answers of a run by one rule, or by each parser of the study's instrument."""
    # `content` is what `table_parts` takes.
    parts = [part.named() for part in table_parts(study, answers, rule=rule, **content)]
    tables = {name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]}
    return RunTables(tables["responses"], tables["judgments"], tables.get("choices"))


def write_parts(parts: Iterator[RunTables], folder: Path) -> list[Path]:
    """Write tables as Parquet while their parts come; all files appear at the end, or none."""
    with ExitStack() as stack:
        writers: dict[str, ParquetParts] = {}
        for part in parts:
            for name, table in part.named().items():
                if name not in writers:
                    file = stack.enter_context(atomic_write(folder / f"{name}.parquet"))
                    writers[name] = stack.enter_context(ParquetParts(file))
                writers[name].add(table)
    return [folder / f"{name}.parquet" for name in writers]


def table_parts(
    study: Study | ItemStudy,
    answers: Iterator[list[Answered]],
    *,
    rule: str = "default",
    cost: Cost = lambda *_: None,
    tasks: pd.DataFrame | None = None,
    profiles: pd.DataFrame | None = None,
    texts_of: Callable[[str], Sequence[str]] = lambda subject: (),
    lines: Callable[[str, str], int] = lambda column, subject: 0,
) -> Iterator[RunTables]:
    """Yield the tables of some thousand answers after the other, at least once."""
    instrument = study.instrument
    parsers = instrument.facets.parser if instrument is not None and rule == "default" else [rule]
    readers = {name: AnswerReader(study, name, lines) for name in parsers}
    further = {} if instrument is None else dict.fromkeys(INSTRUMENT, "string") | {"occasion": "Int64"}
    put = {name: dtype for name, dtype in further.items() if name != "parser"}
    responses, judgments = _Columns(RESPONSES | put), _Columns(JUDGMENTS | further)
    n_parts = 0

    def finished() -> RunTables:
        """Bring what was gathered to the types of its tables."""
        nonlocal n_parts
        n_parts += 1
        table = judgments.frame()
        table = table.assign(status=pd.Categorical(table["status"], categories=list(STATUSES)))
        kinds = dict.fromkeys(("judge_kind",), pd.CategoricalDtype(list(JUDGE_KINDS)))
        table = table.astype(kinds)
        for name in instrument_columns(table, "judgments"):
            table[name] = coerce(table[name], INSTRUMENT[name].kind, "judgments", INSTRUMENT[name].levels)
        choices = None
        if isinstance(study.response, Choice) and tasks is not None and profiles is not None:
            choices = choices_from_judgments(table, tasks, profiles, study.response.options)
        if all(isinstance(response, Ratings) for response in study.responses):
            table = table.assign(value=pd.to_numeric(table["value"]).astype("Float64"))
        if not any(isinstance(response, LineLabels) for response in study.responses):
            table = table.drop(columns=list(OF_LINES))
        return RunTables(responses.frame().astype(kinds), table, choices)

    for chunk in answers:
        for answered in chunk:
            if answered.kind == "pending":
                continue
            answer = read_completion(answered.body, answered.error, study.collect.reasoning_marks)
            subject, occasion = answered.subject_id, 1
            if instrument is not None:
                subject, occasion = split_occasion(subject)
            shared = _shared_columns(study, answered, answer, subject) | {"occasion": occasion}
            shared |= {name: answered.arrangement.get(name) for name in put if name != "occasion"}
            responses.add(shared | _response(answered, answer, cost))
            arguments = (answered.prompt_id, subject, answer, texts_of(subject), answered.arrangement)
            for parser, reader in readers.items():
                n_lines, readings = reader.parse(*arguments)
                for dimension, reading in readings:
                    judgments.add(shared | {"parser": parser} | _judgment(dimension, reading, n_lines))
        responses.pack()
        judgments.pack()
        if responses.n_rows >= PART:
            yield finished()
    if responses.n_rows or not n_parts:
        yield finished()


def choices_from_judgments(
    judgments: pd.DataFrame, tasks: pd.DataFrame, profiles: pd.DataFrame, options: Sequence[str]
) -> pd.DataFrame:
    """Turn verdicts on tasks into the choices contract, two rows per verdict, each with its probability."""
    columns = ["judge_id", "judge_kind", "prompt_id", "task_id", "sample", "value", "status", "probability"]
    put = instrument_columns(judgments, "judgments")
    verdicts = judgments[[*columns, *put, "origin"]]
    sampling_columns = [SAMPLING] if SAMPLING in tasks else []
    sides = tasks[["task_id", "position", "profile_id", "repeat", "repeat_of", *sampling_columns]]
    rows = verdicts.merge(sides, on="task_id", how="inner")
    first = (rows["position"].astype("string") == POSITIONS[0]).to_numpy(dtype=bool)
    is_first_option = rows["value"].eq(options[0]).fillna(False).to_numpy(dtype=bool)
    chosen = pd.array((is_first_option == first).astype(np.int8), dtype="Int8")
    chosen[(rows["status"] != "ok").to_numpy()] = pd.NA
    rows = rows.assign(
        chosen=chosen,
        probability=rows["probability"].where(first, 1 - rows["probability"]),
        position=factor((~first).astype(np.int64), POSITIONS),
    )
    rows = rows.drop(columns="value").merge(profiles, on="profile_id", how="left")
    rows = rows.rename(columns={"task_id": "pair_id"})
    order = ["judge_id", "judge_kind", "prompt_id", "pair_id", "position", "profile_id"]
    attributes = [name for name in profiles if name not in order]
    tail = [
        "chosen",
        "status",
        "repeat",
        "repeat_of",
        "sample",
        "probability",
        *put,
        *sampling_columns,
        "origin",
    ]
    return validate(rows[[*order, *attributes, *tail]], "choices", "choices of the run")


class _Columns:
    """Rows gathered column by column and packed chunk by chunk."""

    def __init__(self, dtypes: Mapping[str, str]) -> None:
        self._dtypes = dtypes
        self._parts: list[pd.DataFrame] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(tuple(row.get(name) for name in self._dtypes))

    def pack(self) -> None:
        part = pd.DataFrame(self._rows, columns=list(self._dtypes), dtype=object)
        self._parts.append(part.astype(dict(self._dtypes)))
        self._rows = []

    @property
    def n_rows(self) -> int:
        return sum(map(len, self._parts))

    def frame(self) -> pd.DataFrame:
        """Return the rows, and forget them."""
        if not self._parts:
            self.pack()
        parts, self._parts = self._parts, []
        return pd.concat(parts, ignore_index=True)


def _shared_columns(
    study: Study | ItemStudy, answered: Answered, answer: Answer, subject: str
) -> dict[str, Any]:
    """Return what responses and judgments have in common; each table keeps its own columns."""
    paired = isinstance(study, Study) and study.collect.form == "pair"
    return {
        "study": study.name,
        "judge_id": answered.judge_id,
        "judge_kind": "model",
        "task_id" if paired else "item_id": subject,
        "prompt_id": answered.prompt_id,
        "sample": answered.sample,
        "finish_reason": answer.finish_reason or None,
        "request_key": answered.key,
        "origin": SIMULATED if _is_simulated(answered, answer) else None,
    }


def _response(answered: Answered, answer: Answer, cost: Cost) -> dict[str, Any]:
    tokens = Tokens(answer.prompt_tokens or 0, answer.completion_tokens or 0, counted_sound(answered.body))
    return {
        "text": answer.text if answered.body else None,
        "logprobs": json.dumps(list(answer.tokens), ensure_ascii=False) if answer.tokens else None,
        "model_returned": answer.model or None,
        "system_fingerprint": answer.fingerprint or None,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "cost": cost(answered.judge_id, tokens, bool(answered.batch)) if answered.body else None,
        "latency": answered.seconds,
        "created": answered.created,
        "error": answered.error or None,
        "error_kind": answered.kind or None,
        "refusal": answer.refusal or None,
        "arrangement": json.dumps(answered.arrangement),
        "batch": answered.batch or None,
        "round": answered.round,
        "attempts": answered.attempts,
    }


def _judgment(dimension: str, reading: Reading, lines: int | None) -> dict[str, Any]:
    return {
        "dimension": dimension,
        "value": None if reading.value is None else str(reading.value),
        "status": reading.status,
        "probability": reading.probability,
        "outside": reading.outside,
        "expected": reading.expected,
        "rule": reading.rule,
        "note": reading.note or None,
        "labels_given": reading.given,
        "lines_shown": lines,
    }


def _is_simulated(answered: Answered, answer: Answer) -> bool:
    """Whether the simulator gave this answer, now or when it was recorded."""
    name = (answered.body or {}).get("id")
    return answer.model == SIMULATED and isinstance(name, str) and name.startswith(COMPOSED)
