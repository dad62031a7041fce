"""Error texts of servers that were stored as answers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.reading.cell_rules import ERROR_TEXT

from ....frames.notes import Note
from ....frames.sentences import agreeing
from ...judge_shares import evidence, shares
from ...judged import NotApplicableError
from ...registry import Check, Question, check, highest, who

ERROR_TEXTS = Question(
    code="CJ317",
    name="error_texts",
    title="Error texts parsed as answers",
    text="Are messages of servers, proxies or libraries stored as answers?",
    consequence="An error that is parsed as an answer becomes a judgment, and repeated errors resemble a "
    "preference.",
    remedy="Collect these answers again (`conjury run retry`), and treat those that cannot be collected "
    "again as missing.",
    alarms="never",
)
LONGEST = 20_000  # characters in which an error is looked for


@check(ERROR_TEXTS)
def error_texts(responses: pd.DataFrame, judgments: pd.DataFrame | None = None) -> Check:
    """Count answers that begin as an error does; ordinary text about errors does not."""
    answered = responses[as_text(responses["text"]).notna().to_numpy()]
    if answered.empty:
        raise NotApplicableError("There are no raw answers.")
    flag = (
        as_text(answered["text"])
        .map(lambda text: ERROR_TEXT.match(text[:LONGEST]) is not None)
        .to_numpy(dtype=bool)
    )
    table = shares(answered, flag)
    if not flag.any():
        return ERROR_TEXTS.answer(
            table,
            "pass",
            Note.of("None of {answers} begins like an error text.", answers=counted(len(answered), "answer")),
        )
    most = highest(table, table["n"])
    finding = Note.of(
        "{n:,} of {answers} {verb} error texts, the most {most:,} ({who}); the first begins {text!r}.",
        n=int(flag.sum()),
        answers=counted(len(answered), "answer"),
        verb=agreeing(int(flag.sum()), "is", "are"),
        most=int(most["n"]),
        who=who(most),
        text=as_text(answered["text"])[flag].iloc[0].strip()[:60],
    )
    notes = []
    if judgments is not None and "request_key" in judgments:
        keys = as_text(answered.loc[flag, "request_key"]).unique()
        rows = judgments[as_text(judgments["request_key"]).isin(keys).to_numpy(dtype=bool)]
        read = int(rows["status"].astype("string").eq("ok").sum()) if len(rows) else 0
        notes = [Note.of("{read:,} judgments with status ok were parsed from them.", read=read)]
    return ERROR_TEXTS.answer(
        table, "error", finding, notes, rows=evidence(answered, np.asarray(flag), ("text",))
    )
