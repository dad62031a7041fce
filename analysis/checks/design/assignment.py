"""Which items people and models were given: balance of strata, and tasks that were lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ..judged import NotApplicableError
from ..registry import Check, Question, adjusted, check, lowest, said_p
from ..texts import bases, conditions, judge_and_prompt, strata_columns

ASSIGNMENT = Question(
    "CJ113",
    "assignment",
    "Assignment of items",
    "Did each judge get items of all strata alike, and were tasks lost in all strata alike?",
    "Differences between strata are partly differences between the judges who had them, and means over "
    "judges "
    "weight strata unequally.",
    "Include judges (or judges and items) as effects, weight judges equally within strata, and collect "
    "the tasks "
    "that were lost.",
    "test",
)
NOTHING = "There are no strata of items by which an assignment could be unbalanced."
PEOPLE, LOST = "items of people", "lost tasks"
DRAWS = 4999
ENOUGH = 50  # draws as large as the statistic after which no more are needed


@check(ASSIGNMENT)
def assignment(
    judgments: pd.DataFrame, items: pd.DataFrame, seed: int, alpha: float, item_study: ItemStudy | None = None
) -> Check:
    """Test by permutation whether judges had, or lost, more items of some strata than of others."""
    if "item_id" not in judgments:
        raise NotApplicableError(NOTHING)
    frame = judge_and_prompt(judgments).assign(
        kind=as_text(judgments["judge_kind"]), item=as_text(judgments["item_id"])
    )
    frame = frame[frame["item"].notna()].drop_duplicates(["judge", "prompt", "item"])
    by_item = items.set_index(as_text(items["item_id"]).rename("item"))
    by_item = by_item[~by_item.index.duplicated()]
    by_item = by_item.assign(condition=conditions(by_item.reset_index(drop=True)).to_numpy())
    base = bases(items)
    base.index = as_text(items["item_id"])
    base = base[~base.index.duplicated()]
    columns = [*dict.fromkeys([*strata_columns(items, item_study), "condition"])]
    rng = np.random.default_rng(seed)
    rows = []
    for column in columns:
        stratum = as_text(by_item[column])
        if stratum.nunique() < 2:
            continue
        rows += list(_of_people(frame, str(column), stratum, base, rng))
        rows += list(_of_models(frame, str(column), stratum, rng))
    if not rows:
        raise NotApplicableError(NOTHING)
    table = pd.DataFrame(rows)
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=float))
    table = table.assign(label=table["stratum"], panel=table["what"])
    p = float(table["p_adjusted"].min())
    flagged = table[table["p_adjusted"] < alpha]
    if flagged.empty:
        finding = f"Judges had items of all strata alike, as far as chance goes (least adjusted {said_p(p)})."
        return ASSIGNMENT.answer(table, "pass", finding, p=p)
    worst = lowest(flagged, flagged["p"])
    said = (
        f"The share of {worst['level']} among a person's items ranges from {100 * worst['least']:.0f}% to "
        f"{100 * worst['most']:.0f}% ({worst['stratum']}, {counted(int(worst['n']), 'person', 'people')})"
        if worst["what"] == PEOPLE
        else f"{worst['judge']} lost {100 * worst['most']:.1f}% of the items of {worst['level']}, and "
        f"{100 * worst['least']:.1f}% where it lost fewest ({worst['stratum']}, {int(worst['n']):,} items)"
    )
    finding = f"{said}, more than chance explains (adjusted {said_p(float(worst['p_adjusted']))})."
    return ASSIGNMENT.answer(table, "warning", finding, p=p, rows=flagged.iloc[:, :8].reset_index(drop=True))


def _of_people(
    frame: pd.DataFrame, column: str, stratum: pd.Series, unit: pd.Series, rng: np.random.Generator
) -> Iterator[dict[str, object]]:
    """Whether people's items differ in their strata by more than batches that are assigned at random do."""
    mine = frame[(frame["kind"] == "human") & frame["item"].isin(stratum.dropna().index)]
    if mine["judge"].nunique() < 2:
        return
    judge, judges = pd.factorize(mine["judge"])
    item, names = pd.factorize(mine["item"])
    level, levels = pd.factorize(stratum.reindex(names))
    batch = batches(judge, item, pd.factorize(unit.reindex(names))[0])
    incidence = csr_array((np.ones(len(judge)), (judge, item)), shape=(len(judges), len(names)))
    statistic, p = imbalance_p(incidence, level, batch, rng)
    counts = incidence @ np.eye(len(levels))[level]
    shares = counts / counts.sum(axis=1, keepdims=True)
    enough = counts.sum(axis=1) >= 5
    spread = np.ptp(shares[enough], axis=0) if enough.any() else np.zeros(len(levels))
    most = int(spread.argmax())
    picked = shares[enough][:, most] if enough.any() else np.zeros(1)
    yield {
        "judge": "people",
        "prompt": "",
        "what": PEOPLE,
        "stratum": column,
        "level": str(levels[most]),
        "n": len(judges),
        "least": float(picked.min()),
        "most": float(picked.max()),
        "statistic": statistic,
        "p": p,
        "estimate": float(spread.max()),
    }


def batches(judge: np.ndarray, item: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Number the batches of items given out together, shape (items,): of the same judges or of one unit.

    ``judge`` and ``item`` have one entry per task, ``unit`` one per item.
    """
    order = np.lexsort((judge, item))
    edges = np.flatnonzero(np.diff(item[order], prepend=-1))
    signature = pd.Series([tuple(part) for part in np.split(judge[order], edges[1:])])
    same_judges = pd.factorize(signature)[0]
    n = len(unit)
    rows = np.concatenate([np.arange(n), np.arange(n)])
    columns = np.concatenate([n + same_judges, n + same_judges.max() + 1 + unit])
    size = int(columns.max()) + 1
    return connected_components(
        csr_array((np.ones(2 * n), (rows, columns)), shape=(size, size)), directed=False
    )[1][:n]


def imbalance_p(
    incidence: csr_array, level: np.ndarray, batch: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Pearson's statistic of judges by strata, and its p when batches of one size exchange their strata.

    ``incidence`` has shape (judges, items), ``level`` and ``batch`` have shape (items,). All items of a
    batch went to judges together, so batches are exchanged as wholes.
    """
    observed = _pearson(incidence, level)
    order = np.argsort(batch, kind="stable")
    sizes = np.bincount(batch)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])[:-1]
    sizes = sizes[sizes > 0]
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    if all(len(group) == 1 for group in groups):
        return observed, 1.0
    within = np.arange(len(level)) - np.repeat(starts, sizes)
    reached, sorted_level = 0, level[order]
    for draw in range(1, DRAWS + 1):
        source = np.arange(len(sizes))
        for group in groups:
            source[group] = rng.permutation(group)
        taken = np.repeat(starts[source], sizes) + within
        mixed = np.empty_like(level)
        mixed[order] = sorted_level[taken]
        reached += _pearson(incidence, mixed) >= observed * (1 - 1e-12)
        if reached >= ENOUGH:
            return observed, reached / draw
    return observed, (reached + 1) / (DRAWS + 1)


def _pearson(incidence: csr_array, level: np.ndarray) -> float:
    counts = incidence @ np.eye(int(level.max()) + 1)[level]
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    return float(((counts - expected) ** 2 / np.where(expected > 0, expected, 1)).sum())


def _of_models(
    frame: pd.DataFrame, column: str, stratum: pd.Series, rng: np.random.Generator
) -> Iterator[dict[str, object]]:
    """Whether a model lost items of some strata more than of others, under each prompt of several models."""
    models = frame[(frame["kind"] == "model") & frame["item"].isin(stratum.dropna().index)]
    for prompt, mine in models.groupby("prompt", sort=False):
        names = mine["item"].unique()
        level, levels = pd.factorize(stratum.reindex(names))
        if len(levels) < 2 or mine["judge"].nunique() < 2:
            continue
        for judge, of_judge in mine.groupby("judge", sort=False):
            lost = ~np.isin(names, of_judge["item"].to_numpy())
            whole = np.array([lost[level == one].mean() for one in range(len(levels))])
            given = (whole < 1)[level]  # strata that a judge was not asked about at all are no loss
            if not lost[given].any():
                continue
            incidence = csr_array(np.vstack([lost[given], ~lost[given]]).astype(float))
            statistic, p = imbalance_p(incidence, level[given], np.arange(int(given.sum())), rng)
            shares = np.where(whole < 1, whole, np.nan)
            yield {
                "judge": str(judge),
                "prompt": str(prompt),
                "what": LOST,
                "stratum": column,
                "level": str(levels[int(np.nanargmax(shares))]),
                "n": int(given.sum()),
                "least": float(np.nanmin(shares)),
                "most": float(np.nanmax(shares)),
                "statistic": statistic,
                "p": p,
                "estimate": float(lost[given].mean()),
            }
