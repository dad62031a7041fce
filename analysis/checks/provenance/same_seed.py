"""Samples that were asked with one seed."""

from __future__ import annotations

import pandas as pd

from conjury.inference.tables.columns import as_text

from ..judged import NotApplicableError
from ..registry import Check, Question, check, highest, who
from ..shares import judge_and_prompt

SAME_SEED = Question(
    "CJ503",
    "same_seed",
    "Seeds of samples",
    "Do samples of one judge for one item differ in their seed?",
    "Samples with one seed repeat each other, so they measure no variation of the judge.",
    "Leave the seed out, or give each sample a seed of its own, and ask again.",
    "never",
)


@check(SAME_SEED)
def same_seed(requests: pd.DataFrame) -> Check:
    """Count prompts and items that were asked several times at a temperature above 0 with one seed."""
    if "seed" not in requests or requests["seed"].isna().all():
        raise NotApplicableError("The requests state no seed.")
    subject = pd.Series(pd.NA, index=requests.index, dtype="string")
    for name in ("item_id", "task_id"):
        if name in requests:
            subject = subject.fillna(as_text(requests[name]))
    warm = (
        pd.to_numeric(requests["temperature"], errors="coerce").ne(0)
        if "temperature" in requests
        else pd.Series(True, index=requests.index)
    )
    frame = judge_and_prompt(requests).assign(subject=subject, seed=requests["seed"])[
        warm.to_numpy(dtype=bool, na_value=True)
    ]
    groups = (
        frame.groupby(["judge", "prompt", "subject"], sort=False)["seed"]
        .agg(["size", "nunique", "count"])
        .reset_index()
    )
    groups = groups[groups["size"] > 1]
    if groups.empty:
        raise NotApplicableError("No item was asked several times at a temperature above 0.")
    repeated = (groups["count"] > groups["nunique"]).to_numpy(dtype=bool)
    table = (
        groups.assign(repeated=repeated)
        .groupby(["judge", "prompt"], sort=False)["repeated"]
        .agg(n="sum", of="size")
        .reset_index()
    )
    table = table.assign(estimate=table["n"] / table["of"])
    most = highest(table, table["estimate"])
    finding = (
        f"{int(repeated.sum()):,} of {len(groups):,} items with several samples have one seed twice, at "
        f"most {100 * most['estimate']:.1f}% ({who(most)})."
    )
    rows = groups.loc[repeated, ["judge", "prompt", "subject"]].head(1000) if repeated.any() else None
    return SAME_SEED.answer(table, "error" if repeated.any() else "pass", finding, rows=rows)
