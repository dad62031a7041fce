"""Balance of attributes over positions A and B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest, chi2

from ..numerics.intervals import inference
from .check import Check, Question, Verdict, adjusted, highest, lowest, said_p, who
from .judged import Judged, codes, designs, tidy

QUESTION = Question(
    "position_balance",
    "Balance over positions",
    "Does every level stand in position A as often as in position B?",
    "Find out how sides were assigned; where position is not random, put position into the model "
    "(AMCEs by position) or show every pair in both orders.",
)
SEVERE = 0.001


@dataclass(frozen=True)
class Homogeneity:
    """Marginal homogeneity of two positions.

    Attributes
    ----------
    share : ndarray, shape (2, levels)
        Shares of levels in A and in B.
    std_difference, std_error : ndarray, shape (levels,)
        Difference of shares (A - B) in standard deviations of the level, and its error under random sides.
    statistic, p : float
    df : int
    """

    share: np.ndarray
    std_difference: np.ndarray
    std_error: np.ndarray
    statistic: float
    df: int
    p: float


def marginal_homogeneity(first: np.ndarray, second: np.ndarray, levels: int) -> Homogeneity:
    """Test whether sides were assigned at random, given which two levels met in each pair."""
    known = (first >= 0) & (second >= 0)
    first, second = first[known], second[known]
    table = np.bincount(first * levels + second, minlength=levels**2).reshape(levels, levels)
    n = max(len(first), 1)
    difference = table.sum(axis=1) - table.sum(axis=0)
    covariance = np.diag(table.sum(axis=1) + table.sum(axis=0)) - table - table.T
    share = np.stack([table.sum(axis=1), table.sum(axis=0)]) / n
    spread = np.sqrt((share * (1 - share)).mean(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        std_difference = difference / n / spread
        std_error = np.sqrt(np.diag(covariance)) / n / spread
    df = int(np.linalg.matrix_rank(covariance, rtol=1e-9, hermitian=True))
    statistic = float(difference @ np.linalg.pinv(covariance, rtol=1e-9, hermitian=True) @ difference)
    if levels == 2 and df:
        p = float(binomtest(int(table[0, 1]), int(table[0, 1] + table[1, 0])).pvalue)
    else:
        p = float(chi2.sf(statistic, df)) if df else np.nan
    return Homogeneity(share, std_difference, std_error, statistic, df, p)


def position_balance(judged: Sequence[Judged], alpha: float) -> Check:
    """Compare levels between positions for every design."""
    groups = designs(judged)
    tables = [_of_design(members[0], alpha) for members in groups]
    tested = pd.concat(
        [table.drop_duplicates("feature").assign(design=k) for k, table in enumerate(tables)]
    ).reset_index(drop=True)
    tested["p_adjusted"] = adjusted(tested["p"].to_numpy())
    tables = [
        table.merge(tested.loc[tested["design"] == k, ["feature", "p_adjusted"]], on="feature")
        for k, table in enumerate(tables)
    ]
    table = tidy((g, t) for members, t in zip(groups, tables, strict=True) for g in members)
    smallest = lowest(table, table["p_adjusted"].fillna(1))
    largest = highest(table, table["estimate"].abs())
    p = float(smallest["p_adjusted"])
    finding = (
        f"The largest standardised difference between A and B is {largest['estimate']:+.3f} "
        f"({largest['feature']} = {largest['level']}, {who(largest)}); over {len(tested)} tests the smallest "
        f"adjusted {said_p(p)} ({smallest['feature']})."
    )
    verdict: Verdict = "fail" if p < min(SEVERE, alpha) else "look" if p < alpha else "pass"
    return QUESTION.answer(table, verdict, finding)


def _of_design(group: Judged, alpha: float) -> pd.DataFrame:
    frames = []
    for name in group.attributes:
        levels = group.shown[name].astype("category").cat.categories
        first, second = codes(group.shown[name].astype("category")).reshape(-1, 2).T
        found = marginal_homogeneity(first, second, len(levels))
        limits = inference(found.std_difference, found.std_error, alpha)
        frames.append(
            pd.DataFrame(
                {
                    "feature": name,
                    "level": levels.astype(str),
                    "share_a": found.share[0],
                    "share_b": found.share[1],
                    "estimate": found.std_difference,
                    "std_error": found.std_error,
                    "lower": limits.lower,
                    "upper": limits.upper,
                    "statistic": found.statistic,
                    "df": found.df,
                    "p": found.p,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
