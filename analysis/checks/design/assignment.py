"""Items that were not assigned to people at random or in balance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ...frames.vocabulary import HUMAN
from ...numerics.intervals import draw_limits
from ..answers.refusals_by_attribute import strata_of
from ..item_texts import rows_by_item
from ..judge_shares import judge_and_prompt
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, adjusted, check, lowest, show_p
from .design_draws import dependence

ASSIGNMENT = Question(
    code="CJ113",
    name="assignment",
    title="Assignment of items to people",
    text="Did every person judge the strata in the same proportions, up to chance?",
    consequence="Differences between strata contain differences between the people who judged them.",
    remedy="Compare strata within people (a model with raters as a factor); assign items with `conjury "
    "design STUDY --people N` in a further survey.",
    alarms="test",
)
SEVERE = 0.005  # p value below which an imbalance is an error, not a warning
DRAWS = 1999  # with the observed assignment 2,000, so that p has round steps


@check(ASSIGNMENT)
def assignment(
    judgments: pd.DataFrame, items: pd.DataFrame, alpha: float, seed: int, item_study: ItemStudy | None = None
) -> Check:
    """Permutation test of independence between people and strata over the items that each person judged."""
    people = judgments[as_text(judgments["judge_kind"]).eq(HUMAN).to_numpy()]
    strata = strata_of(items, item_study)
    if people.empty or not strata:
        raise NotApplicableError("There are no people, or the items have no strata.")
    by_id = rows_by_item(items)
    pairs = (
        judge_and_prompt(people)
        .assign(item_id=as_text(people["item_id"]))[["judge", "item_id"]]
        .drop_duplicates()
    )
    pairs = pairs[pairs["item_id"].isin(by_id.index).to_numpy(dtype=bool)]
    if pairs["judge"].nunique() < 2:
        raise NotApplicableError("Fewer than two people judged items with strata.")
    rng = np.random.default_rng(seed)
    rows = [("people", "", name, *stratum_imbalance(pairs, as_text(by_id[name]), rng)) for name in strata]
    table = pd.DataFrame(rows, columns=["judge", "prompt", "label", "of", "estimate", "lower", "upper", "p"])
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    worst = lowest(table, table["p_adjusted"])
    p = float(worst["p_adjusted"])
    finding = Note.of(
        "Between people, strata vary {estimate:.2f} times as much as by random assignment "
        "({feature}, {people} people; chance: {lower:.2f} to {upper:.2f}; adjusted {p}).",
        estimate=worst["estimate"],
        feature=worst["label"],
        people=pairs["judge"].nunique(),
        lower=worst["lower"],
        upper=worst["upper"],
        p=show_p(p),
    )
    verdict: Verdict = "error" if p < min(SEVERE, alpha) else "warning" if p < alpha else "pass"
    return ASSIGNMENT.answer(table, verdict, finding, p=p)


def stratum_imbalance(
    pairs: pd.DataFrame, stratum: pd.Series[str], rng: np.random.Generator
) -> tuple[int, float, float, float, float]:
    """Rows, chi-square of people by strata over its mean under permutation of items, its 95% range, and p."""
    # Strata are permuted over items, so that items that several people judged stay together.
    items, item = np.unique(pairs["item_id"].to_numpy(dtype=object), return_inverse=True)
    _, judge = np.unique(pairs["judge"].to_numpy(dtype=object), return_inverse=True)
    levels, level = np.unique(
        stratum.reindex(items).fillna("missing").to_numpy(dtype=object), return_inverse=True
    )
    shape = (int(judge.max()) + 1, len(levels))

    def statistic(of_item: np.ndarray) -> float:
        cells = np.bincount(judge * shape[1] + of_item[item], minlength=shape[0] * shape[1]).reshape(shape)
        return float(dependence(cells.astype(float)))

    observed = statistic(level)
    draws = np.array([statistic(rng.permutation(level)) for _ in range(DRAWS)])
    p = float(((draws >= observed - 1e-9).sum() + 1) / (DRAWS + 1))
    mean = float(draws.mean()) or 1.0
    low, high = draw_limits(draws, 0.05) / mean
    return len(pairs), observed / mean, float(low), float(high), p
