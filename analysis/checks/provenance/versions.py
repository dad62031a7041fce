"""Versions of servers and models that changed within a run."""

from __future__ import annotations

import pandas as pd

from conjury.inference.readers.choices import SIMULATED
from conjury.inference.tables.columns import as_text

from ...frames.vocabulary import HUMAN
from ..judged import NotApplicableError
from ..registry import Check, Question, check, highest
from ..shares import judge_and_prompt

VERSIONS = Question(
    "CJ505",
    "versions",
    "Versions within a run",
    "Did one version of the server answer each judge's requests, within a short time?",
    "Differences between early and late answers can be due to another version of the model.",
    "Compare answers by version; ask anchors again (`conjury collect --occasion 2`) to separate drift from "
    "items.",
    "rule",
)
DAYS = 30


@check(VERSIONS)
def versions(responses: pd.DataFrame) -> Check:
    """Count fingerprints by judge, and the days between the first and the last answer."""
    rows = responses[
        as_text(responses["text"]).notna().to_numpy() & as_text(responses["judge_kind"]).ne(HUMAN).to_numpy()
    ]
    if "model_returned" in rows:
        rows = rows[as_text(rows["model_returned"]).fillna("").ne(SIMULATED).to_numpy(dtype=bool)]
    if rows.empty or "created" not in rows:
        raise NotApplicableError("There are no dated answers of models.")
    fingerprint = (
        as_text(rows["system_fingerprint"])
        if "system_fingerprint" in rows
        else pd.Series(pd.NA, index=rows.index, dtype="string")
    )
    frame = judge_and_prompt(rows).assign(
        fingerprint=fingerprint, created=pd.to_datetime(rows["created"], utc=True)
    )
    table = (
        frame.groupby("judge", sort=False)
        .agg(
            estimate=("fingerprint", "nunique"),
            n=("created", "size"),
            first=("created", "min"),
            last=("created", "max"),
        )
        .reset_index()
    )
    table.insert(1, "prompt", pd.Series("", index=table.index, dtype="string"))
    days = (table["last"] - table["first"]).dt.total_seconds() / 86_400
    table = table.assign(days=days.fillna(0.0))
    most, longest = highest(table, table["estimate"]), highest(table, table["days"])
    alarm = int(most["estimate"]) > 1 or float(longest["days"]) > DAYS
    finding = (
        f"At most {int(most['estimate'])} fingerprints of servers under one judge ({most['judge']}); the "
        "longest time between "
        f"the first and the last answer is {longest['days']:.1f} days ({longest['judge']})."
    )
    return VERSIONS.answer(table, "warning" if alarm else "pass", finding)
