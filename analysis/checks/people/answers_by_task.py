"""People's answers by task, and how far a person is from what the other people do."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import betaln, gammaln

from conjury.inference.tables.columns import as_text

from ..judged import NotApplicableError

NO_PEOPLE = "There are no judgments of people with an item."
LEAST_SPREAD = 0.1  # intraclass correlation of people's habits that is assumed at least


def answers_of_people(judgments: pd.DataFrame) -> pd.DataFrame:
    """Answers of people in their order: ``judge, item, sample, dimension, value``."""
    return _answers(judgments, "human", NO_PEOPLE)


def answers_of_models(judgments: pd.DataFrame) -> pd.DataFrame:
    """Answers of models: ``judge, item, sample, dimension, value``."""
    return _answers(judgments, "model", "There are no judgments of models.")


def _answers(judgments: pd.DataFrame, kind: str, otherwise: str) -> pd.DataFrame:
    if "item_id" not in judgments:
        raise NotApplicableError(otherwise)
    mask = (
        (as_text(judgments["judge_kind"]) == kind) & judgments["item_id"].notna() & judgments["value"].notna()
    )
    if "status" in judgments:
        mask &= as_text(judgments["status"]) == "ok"
    rows = judgments[mask.fillna(False).to_numpy(dtype=bool)]
    if rows.empty:
        raise NotApplicableError(otherwise)
    order = next((name for name in ("started", "created", "position", "ended") if name in rows), None)
    if order is not None and rows[order].notna().all():
        rows = rows.sort_values(order, kind="stable")
    return pd.DataFrame(
        {
            "judge": as_text(rows["judge_id"]),
            "item": as_text(rows["item_id"]),
            "sample": rows.get("sample", 1),
            "dimension": as_text(rows["dimension"]) if "dimension" in rows else "rating",
            "value": as_text(rows["value"]),
        }
    ).reset_index(drop=True)


def spread_of(x: np.ndarray, n: np.ndarray) -> float:
    """Intraclass correlation of counts x of n by person, shape (people,), by the analysis of variance."""
    # At least `LEAST_SPREAD`: people differ in how they use a scale, and few people say little about it.
    k, total = len(n), float(n.sum())
    if k < 2 or total <= k:
        return LEAST_SPREAD
    share, mean = x / n, float(x.sum() / total)
    between = float((n * (share - mean) ** 2).sum()) / (k - 1)
    within = float((n * share * (1 - share)).sum()) / (total - k)
    size = (total - float((n**2).sum()) / total) / (k - 1)
    bottom = between + (size - 1) * within
    return float(np.clip((between - within) / bottom if bottom > 0 else 0.0, LEAST_SPREAD, 0.95))


def upper_tail(x: int, n: int, share: float, spread: float) -> float:
    """Probability of x or more of n where the share varies between people as a beta distribution."""
    # Beta-binomial with mean `share` and intraclass correlation `spread`.
    if x <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    a, b = share * (1 / spread - 1), (1 - share) * (1 / spread - 1)
    at = np.arange(x, n + 1)
    choose = gammaln(n + 1) - gammaln(at + 1) - gammaln(n - at + 1)
    return float(min(1.0, np.exp(choose + betaln(at + a, n - at + b) - betaln(a, b)).sum()))


def tail_beyond_others(x: int, n: int, others_x: np.ndarray, others_n: np.ndarray, share: float) -> float:
    """Upper tail of a person's x of n, given counts of the others and their share on the same items."""
    # The share is shrunk by one answer towards one half, since few others say little of a rare answer.
    if len(others_n) < 2:
        return 1.0
    total = float(others_n.sum())
    shrunk = (share * total + 0.5) / (total + 1)
    return upper_tail(x, n, shrunk, spread_of(others_x, others_n))
