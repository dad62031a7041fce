"""Raters who give one value, or the same value on every dimension."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from conjury.inference.errors import counted

from ..judged import NotApplicableError
from ..labelled import answers_of
from ..registry import Check, Question, adjusted, check, highest
from ..shares import MOST

CONSTANT_RATERS = Question(
    "CJ205",
    "constant_raters",
    "Constant raters",
    "Does every rater distinguish between items, and between dimensions of an item?",
    "Such ratings pull agreement and correlations towards zero, and means towards the value that is always "
    "given.",
    "Report results with and without these raters; set the rule for excluding them before looking at "
    "results.",
    "rule",
)
FEWEST = 10  # ratings of one rater
IMPROBABLE = 1e-4  # after Holm's adjustment; raters differ in severity, which the null model does not know
DIMENSIONS = 3  # of one item, from which the same value on all of them is noticed


@check(CONSTANT_RATERS)
def constant_raters(judgments: pd.DataFrame) -> Check:
    """Probability that a rater's constant values occur if items were rated as the other raters rated them."""
    answers = answers_of(judgments).dropna(subset=["value"])
    first = answers.sort_values("sample", kind="stable").drop_duplicates(
        ["judge", "prompt", "task", "item_id"]
    )
    rows = [*_over_items(first), *_over_dimensions(first)]
    if not rows:
        raise NotApplicableError(f"No rater has {FEWEST} ratings of items that others rated.")
    table = pd.DataFrame(rows, columns=["judge", "prompt", "panel", "label", "of", "estimate", "p"])
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    constant = table[table["p_adjusted"] < IMPROBABLE]
    most = highest(table, table["estimate"])
    raters = constant["judge"].nunique()
    finding = (
        f"{counted(raters, 'rater')} of {table['judge'].nunique()} give constant values where the others do "
        "not; the highest share of "
        f"one value is {100 * most['estimate']:.1f}% of {int(most['of'])} ({most['judge']}, {most['panel']})."
    )
    share = raters / table["judge"].nunique()
    return CONSTANT_RATERS.answer(
        table,
        "error" if share > 0.1 and raters > 1 else "warning" if raters else "pass",
        finding,
        rows=constant.head(MOST) if raters else None,
    )


Row = tuple[str, str, str, str, int, float, float]


def _over_items(first: pd.DataFrame) -> Iterator[Row]:
    """Raters with one value for all items: p is the product of the other raters' shares of that value."""
    for task, of_task in first.groupby("task", sort=False):
        values = sorted(of_task["value"].unique())
        if len(values) < 2:
            continue
        counts = of_task.pivot_table(
            index="item_id", columns="value", values="judge", aggfunc="size", fill_value=0
        )
        totals = counts.sum(axis=1)
        overall = counts.sum() / counts.to_numpy().sum()
        for (judge, prompt), own in of_task.groupby(["judge", "prompt"], sort=False):
            rated = own[totals.loc[own["item_id"]].to_numpy() > 1]
            if len(rated) < FEWEST:
                continue
            share = rated["value"].value_counts(normalize=True)
            value, p = str(share.index[0]), 1.0
            if share.iloc[0] == 1.0:
                others = counts.loc[rated["item_id"], value].to_numpy() - 1
                # The overall share counts as one more rater: an item with few raters excludes nothing.
                q = (others + overall[value]) / totals.loc[rated["item_id"]].to_numpy()
                p = float(np.exp(np.log(q).sum())) * len(values)
            yield (
                str(judge),
                str(prompt),
                str(task),
                f"value {value}",
                len(rated),
                float(share.iloc[0]),
                min(p, 1.0),
            )


def _over_dimensions(first: pd.DataFrame) -> Iterator[Row]:
    """Raters with one value on all dimensions of every item, given how often others do so."""
    sizes = (
        first.groupby(["judge", "prompt", "item_id"], sort=False)["value"]
        .agg(["size", "nunique"])
        .reset_index()
    )
    several = sizes[sizes["size"] >= DIMENSIONS].assign(same=lambda table: table["nunique"] == 1)
    for (judge, prompt), own in several.groupby(["judge", "prompt"], sort=False):
        rest = several[several["judge"] != judge]
        if len(own) < FEWEST or len(rest) < FEWEST:
            continue
        k, n, rate = int(own["same"].sum()), len(own), (rest["same"].sum() + 1) / (len(rest) + 1)
        # Raters differ in how alike they rate; only somebody who never distinguishes is noticed.
        p = float(rate**n) if k == n else 1.0
        yield str(judge), str(prompt), "all dimensions", "one value on all", n, k / n, p
