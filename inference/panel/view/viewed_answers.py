"""All answers of runs in one table, with their judgments beside them: what lists and filters work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...tables.columns import as_text
from ...tables.schema import STATUSES
from .run_sources import FolderTables, RunSource

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
PUT = ("option_order", "option_labels", "scale_direction", "occasion")  # how an instrument put a question
JUDGED = ("dimension", "value", "status", "rule", "note", "probability", "outside", "expected", "parser")


@dataclass(frozen=True)
class Answers:
    """Answers of all judges, in the order of their tables."""

    # one row per answer: `run` (number), `key`, `judge_id`, `judge_kind`, `prompt_id`, `subject` (the task or
    # item), `task` (the same, but different for tasks of one name in different designs), `sample`, and what
    # the responses state besides
    frame: pd.DataFrame
    # one row per judgment, those of one answer together: `answer` (row of `frame`), `dimension`, `value` (as
    # text), `status`, `rule`, `note` and others
    judged: pd.DataFrame
    # shape (n + 1,): judgments of answer `k` are the rows from `starts[k]` to `starts[k + 1]`
    starts: Numbers

    def __len__(self) -> int:
        return len(self.frame)

    def judgments(self, number: int) -> pd.DataFrame:
        """Judgments of one answer."""
        return self.judged.iloc[self.starts[number] : self.starts[number + 1]]

    @cached_property
    def statuses(self) -> Numbers:
        """Which statuses the judgments of each answer have, as bits in the order of ``STATUSES``."""
        bits = np.zeros(len(self.frame), dtype=np.int64)
        codes = pd.Categorical(self.judged["status"], categories=list(STATUSES)).codes.astype(np.int64)
        has_status = codes >= 0
        np.bitwise_or.at(bits, self.judged["answer"].to_numpy()[has_status], 1 << codes[has_status])
        return bits

    @cached_property
    def first(self) -> pd.DataFrame:
        """Valid judgments by the first parser of each answer, with who gave them: what marks compare."""
        rows = self.judged[~self.judged.duplicated(["answer", "dimension"]).to_numpy()]
        rows = rows[(rows["status"] == "ok").to_numpy(dtype=bool)]
        names = ["run", "subject", "task", "judge_id", "judge_kind", "prompt_id", "sample"]
        names += put_columns(self.frame)
        who = self.frame[names].take(rows["answer"].to_numpy()).reset_index(drop=True)
        return pd.concat([rows[["answer", "dimension", "value"]].reset_index(drop=True), who], axis=1)

    @cached_property
    def by_task(self) -> dict[str, Numbers]:
        """Numbers of the answers to each task."""
        groups = self.frame.groupby("task", sort=False).indices
        return {str(task): np.asarray(numbers, dtype=np.int64) for task, numbers in groups.items()}


def put_columns(table: pd.DataFrame, without: str = "") -> list[str]:
    """Columns that state how an instrument put the question, one of them left out."""
    return [name for name in PUT if name in table and name != without]


def gather(runs: Sequence[RunSource]) -> Answers:
    """Put the answers of runs into one table."""
    shared = len({run.identity for run in runs}) == 1
    frames, judged, before = [], [], 0
    for number, run in enumerate(runs):
        for tables in run.tables:
            frame, rows = _answers_of(tables)
            task = frame["subject"] if shared else frame["subject"] + f" ({run.name})"
            frames.append(frame.assign(run=number, task=task))
            judged.append(rows.assign(answer=rows["answer"] + before))
            before += len(frame)
    every = pd.concat(frames, ignore_index=True)
    rows = pd.concat(judged, ignore_index=True).sort_values("answer", kind="stable", ignore_index=True)
    starts = np.searchsorted(rows["answer"].to_numpy(), np.arange(len(every) + 1))
    return Answers(every, rows, starts.astype(np.int64))


def _answers_of(tables: FolderTables) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers of one folder and their judgments; an answer without a response has what judgments state."""
    responses, judgments = tables.responses, tables.judgments
    if judgments is None:
        assert responses is not None
        return _with_keys(responses), _judgment_columns(responses.iloc[:0], np.zeros(0, dtype=np.int64))
    named = _with_keys(judgments)
    if responses is None:
        frame = named[~named["key"].duplicated().to_numpy()]
    else:
        frame = _with_keys(responses)
        frame = frame[~frame["key"].duplicated(keep="last").to_numpy()]
        new = named[pd.Index(frame["key"]).get_indexer(pd.Index(named["key"])) < 0]
        if len(new):
            new = new[~new["key"].duplicated().to_numpy()]
            frame = pd.concat([frame, new.drop(columns=[name for name in JUDGED if name in new])])
    frame = frame.reset_index(drop=True)
    answer = pd.Index(frame["key"]).get_indexer(pd.Index(named["key"]))
    return frame.drop(columns=[name for name in JUDGED if name in frame]), _judgment_columns(
        judgments, answer
    )


def _with_keys(table: pd.DataFrame) -> pd.DataFrame:
    """Add ``subject`` and ``key`` to a table, and bring the columns that name an answer to text."""
    subjects = [as_text(table[name]) for name in ("task_id", "item_id") if name in table]
    subject = subjects[0].fillna(subjects[1]) if len(subjects) > 1 else subjects[0]
    columns: dict[str, Any] = {"subject": subject}
    for name in ("judge_id", "judge_kind", "prompt_id"):
        text = as_text(table[name]) if name in table else pd.Series("", index=table.index, dtype="string")
        columns[name] = text.fillna("")
    columns["sample"] = table["sample"].astype("Int64").fillna(1).astype("int64")
    columns["key"] = as_text(table["request_key"]) if "request_key" in table else None
    if columns["key"] is None or columns["key"].isna().any():
        parts = [columns["judge_id"], columns["prompt_id"], subject, columns["sample"].astype("string")]
        composed = parts[0].str.cat(parts[1:], sep="/", na_rep="")
        columns["key"] = composed if columns["key"] is None else columns["key"].fillna(composed)
    return table.assign(**columns)


def _judgment_columns(judgments: pd.DataFrame, answer: Numbers) -> pd.DataFrame:
    columns: dict[str, Any] = {"answer": answer.astype(np.int64)}
    for name in JUDGED:
        if name in ("probability", "outside", "expected"):
            values = judgments[name] if name in judgments else pd.Series(np.nan, index=judgments.index)
            columns[name] = values.to_numpy(dtype=float, na_value=np.nan)
        elif name in judgments:
            columns[name] = as_text(judgments[name]).array
        else:
            columns[name] = pd.array([None] * len(judgments), dtype="string")
    return pd.DataFrame(columns)
