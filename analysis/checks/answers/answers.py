"""Pairs by what was answered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import STATUSES

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import JudgedChoices, tidy
from ..registry import Check, Question, check, exceeds, groups, highest, who

ANSWERS = Question(
    code="CJ301",
    name="answers",
    title="Answers, ties and refusals",
    text="Does every pair have exactly one chosen profile?",
    consequence="Pairs without exactly one choice are treated as missing, so estimates describe answered "
    "pairs only.",
    remedy="Collect unanswered pairs again where the reason is technical; state the refusal policy, and "
    "report estimates under the other policy (missing or not chosen) for comparison.",
    alarms="rule",
)
SOME, MANY_LOST = 0.01, 0.1  # shares of pairs that are significantly exceeded
TIE = "tie"


@check(ANSWERS)
def answers(judged: Sequence[JudgedChoices]) -> Check:
    """Count pairs by status, for every judge and prompt."""
    table = tidy((group, _answer_rows(group)) for group in judged)
    without = table[table["answer"] != "ok"].groupby(["judge", "prompt"], sort=False)["n"].sum()
    total = table.groupby(["judge", "prompt"], sort=False)["n"].sum()
    share = (without.reindex(total.index).fillna(0) / total).rename("share").reset_index()
    worst = highest(share, share["share"])
    rate = float(worst["share"])
    if rate == 0:
        return ANSWERS.answer(
            table, "pass", Note.of("All {n:,} pairs have one chosen profile.", n=int(total.sum()))
        )
    rows = table[(table["judge"] == worst["judge"]) & (table["prompt"] == worst["prompt"])]
    text = ", ".join(f"{row.n:,} {row.answer}" for row in rows.itertuples() if row.answer != "ok")
    finding = Note.of(
        "{share} of pairs have no single choice ({who}: {text}), the largest share of {groups}.",
        share=percentage(rate, 2),
        who=who(worst),
        text=text,
        groups=groups(len(share)),
    )
    sizes = [(int(without.get(key, 0)), int(n)) for key, n in total.items()]
    if any(exceeds(n_lost, n, MANY_LOST) for n_lost, n in sizes):
        return ANSWERS.answer(table, "error", finding)
    some = any(exceeds(n_lost, n, SOME) for n_lost, n in sizes)
    return ANSWERS.answer(table, "warning" if some else "pass", finding)


def answer_of_pairs(status: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """What became of each pair, shape (pairs,)."""
    reason = np.where(status[:, 0] != "ok", status[:, 0], status[:, 1])
    single = chosen.sum(axis=1) == 1
    failure = np.where(np.isnan(chosen).any(axis=1), "missing", TIE)
    return np.where(reason != "ok", reason, np.where(single, "ok", failure))


def _answer_rows(group: JudgedChoices) -> pd.DataFrame:
    status = as_text(group.rows["status"]).to_numpy(dtype=str).reshape(-1, 2)
    chosen = group.rows[group.outcome].to_numpy(dtype=float, na_value=np.nan).reshape(-1, 2)
    counted = pd.Series(answer_of_pairs(status, chosen)).value_counts()
    order = [name for name in (*STATUSES, TIE) if name in counted]
    n = counted[order].to_numpy()
    return pd.DataFrame({"answer": order, "n": n, "share": n / n.sum()})
