"""Answers that ended at the limit of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.parsing.finish_reasons import CUT, usual_reason
from conjury.inference.parsing.reasoning import reasoning_is_open
from conjury.inference.tables.columns import as_text, by_distinct

from ....frames.notes import Note
from ....frames.rounding import percentage
from ...judge_shares import answers_of_models, evidence, graded, shares
from ...registry import Check, Question, check, highest, who

TRUNCATION = Question(
    code="CJ315",
    name="truncation",
    title="Answers cut at the token limit",
    text="Did answers, or the reasoning before them, end at the token limit?",
    consequence="Truncated answers are missing or parsed incorrectly, more often for long items and for "
    "judges that reason.",
    remedy="Raise the token limit (`max_tokens` of the judge), and collect into another folder with `--out`: "
    "a run keeps the settings it began with.",
    alarms="rule",
)
SHORT = 16  # a limit up to this is meant to end the answer after its verdict
SOME, MANY = 0.005, 0.05  # shares of answers beyond which the verdict is a warning, or an error


@check(TRUNCATION)
def truncation(responses: pd.DataFrame, asked: Mapping[str, Mapping[str, Any]]) -> Check:
    """Count answers that ended at their limit, unless it leaves room for a verdict alone."""
    answered = answers_of_models(responses)
    text = as_text(answered["text"]).fillna("")
    judges = as_text(answered["judge_id"])
    limit = by_distinct(judges, lambda judge: _limit(asked.get(judge) or {})).to_numpy(dtype=float)
    tokens = _numbers(answered, "completion_tokens")
    ended = (
        as_text(answered["finish_reason"]).fillna("").map(usual_reason).eq(CUT).to_numpy(dtype=bool)
        if "finish_reason" in answered
        else np.zeros(len(answered), dtype=bool)
    )
    ended = ended | (tokens >= limit)
    short = (limit <= SHORT) | (tokens <= SHORT)
    unclosed = text.map(reasoning_is_open).to_numpy(dtype=bool)
    empty = text.str.strip().eq("").to_numpy(dtype=bool)
    cut = (ended & (~short | empty)) | unclosed
    table = shares(answered, cut).assign(reasoning=shares(answered, unclosed | (ended & empty))["n"])
    most = highest(table, table["estimate"])
    finding = Note.of(
        "{n:,} of {answers} ended at the token limit, at most {share} of {of:,} ({who}); "
        "{unclosed:,} of them ended before any verdict.",
        n=int(cut.sum()),
        answers=counted(len(answered), "answer"),
        share=percentage(most["estimate"], 1),
        of=int(most["of"]),
        who=who(most),
        unclosed=int((unclosed | ended & empty).sum()),
    )
    verdict = graded(float(most["estimate"]), SOME, MANY)
    return TRUNCATION.answer(
        table, verdict, finding, rows=evidence(answered, cut, ("finish_reason", "completion_tokens", "text"))
    )


def _limit(settings: Mapping[str, Any]) -> float:
    inner = settings.get("settings") or {}
    limit = settings.get("max_tokens", inner.get("max_tokens", inner.get("max_completion_tokens")))
    return float(limit) if limit else np.inf


def _numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    if name not in frame:
        return np.full(len(frame), np.nan)
    return pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
