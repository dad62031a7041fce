"""Times of people's judgments that cannot be."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import listed
from conjury.inference.tables.columns import as_text

from ...frames.vocabulary import HUMAN
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest
from ..shares import evidence

IMPOSSIBLE_TIMES = Question(
    "CJ206",
    "impossible_times",
    "Impossible times",
    "Could people have read the items in the time that their judgments took?",
    "Judgments without reading are noise; times that cannot be measured point to a script or a broken clock.",
    "Report results without these people; look at their answers to checks of attention.",
    "rule",
)
SECONDS = ("seconds", "response_time", "duration")
FASTEST = 0.3  # seconds in which nobody reads and answers
WORDS = 25.0  # words per second that nobody reads
SAME, FEWEST = 0.9, 10  # share of one time to the hundredth of a second, and of how many
MANY = 0.1


@check(IMPOSSIBLE_TIMES)
def impossible_times(judgments: pd.DataFrame, items: pd.DataFrame | None = None) -> Check:
    """Count judgments of people with a negative or too short time, and people whose times are all alike."""
    column = next((name for name in SECONDS if name in judgments), None)
    if column is None:
        raise NotApplicableError("The judgments have no column of times (seconds).")
    people = judgments[as_text(judgments["judge_kind"]).eq(HUMAN).to_numpy()]
    seconds = pd.to_numeric(people[column], errors="coerce")
    people, seconds = people[seconds.notna().to_numpy()], seconds.dropna()
    if people.empty:
        raise NotApplicableError("No judgment of a person has a time.")
    least = pd.Series(FASTEST, index=people.index)
    if items is not None and "text" in items and "item_id" in people:
        texts = pd.Series(
            as_text(items["text"]).fillna("").str.split().map(len).to_numpy(), index=as_text(items["item_id"])
        )
        words = (
            as_text(people["item_id"]).map(texts[~texts.index.duplicated()]).fillna(0).to_numpy(dtype=float)
        )
        least = pd.Series(np.maximum(FASTEST, words / WORDS), index=people.index)
    flag = ((seconds <= 0) | (seconds < least)).to_numpy(dtype=bool)
    judge = as_text(people["judge_id"])
    table = (
        pd.DataFrame({"judge": judge, "flag": flag})
        .groupby("judge", sort=False)["flag"]
        .agg(n="sum", of="size")
        .reset_index()
    )
    table.insert(1, "prompt", pd.Series("", index=table.index, dtype="string"))
    rounded = (
        seconds.round(2)
        .groupby(judge.to_numpy(), sort=False)
        .agg(lambda own: own.value_counts(normalize=True).iloc[0])
    )
    table = table.assign(
        estimate=table["n"] / table["of"], commonest=rounded.reindex(table["judge"]).to_numpy()
    )
    alike = table[
        (table["commonest"] >= SAME) & (table["of"] >= FEWEST) & (table["commonest"] * table["of"] > 1)
    ]
    share, most = float(flag.mean()), highest(table, table["estimate"])
    finding = (
        f"{int(flag.sum()):,} of {len(people):,} judgments of people took less time than reading the item, "
        "the most "
        f"{int(most['n'])} of {int(most['of'])} by {most['judge']}."
    )
    if len(alike):
        finding += f" All times of {listed(alike['judge'], 5)} are alike to the hundredth of a second."
    negative = bool((seconds <= 0).any())
    verdict: Verdict = (
        "error" if share > MANY or negative else "warning" if flag.any() or len(alike) else "pass"
    )
    return IMPOSSIBLE_TIMES.answer(
        table, verdict, finding, rows=evidence(people, flag, (column,)) if flag.any() else None
    )
