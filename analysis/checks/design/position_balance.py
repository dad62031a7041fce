"""Balance of levels over positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest, chi2

from ...frames.notes import Note
from ...numerics.intervals import inference
from ..judged import JudgedChoices, codes, designs, tidy
from ..registry import (
    Check,
    Question,
    Verdict,
    adjusted_by_feature,
    check,
    highest,
    level_of,
    lowest,
    show_p,
    who,
)

POSITION_BALANCE = Question(
    code="CJ102",
    name="position_balance",
    title="Balance over positions",
    text="Does every level occur in position A as often as in position B?",
    consequence="Estimated effects of levels contain the preference for a position.",
    remedy="Check how positions were assigned; where they are not random, add position to the model "
    "(AMCEs by position) or show every pair in both orders.",
    alarms="test",
)
SEVERE = 0.001  # p value below which an imbalance is an error, not a warning


@dataclass(frozen=True)
class Homogeneity:
    """Marginal homogeneity of two positions."""

    share: np.ndarray  # (2, levels): shares of levels in A and in B
    # std_difference, std_error: (levels,): difference of shares (A - B) in standard deviations of the level,
    # and its error under random sides
    std_difference: np.ndarray
    std_error: np.ndarray
    statistic: float
    df: int
    p: float


def marginal_homogeneity(first: np.ndarray, second: np.ndarray, levels: int) -> Homogeneity:
    """Test whether sides were assigned at random, given which two levels met in each pair."""
    mask = (first >= 0) & (second >= 0)
    first, second = first[mask], second[mask]
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


@check(POSITION_BALANCE)
def position_balance(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Compare levels between positions for every design."""
    groups = designs(judged)
    tables = adjusted_by_feature([_position_rows(members[0], alpha) for members in groups])
    n_tests = sum(table["feature"].nunique() for table in tables)
    table = tidy((g, t) for members, t in zip(groups, tables, strict=True) for g in members)
    smallest = lowest(table, table["p_adjusted"].fillna(1))
    largest = highest(table, table["estimate"].abs())
    p = float(smallest["p_adjusted"])
    finding = Note.of(
        "The largest standardised difference between A and B is {estimate:+.3f} ({level}, "
        "{who}); over {n_tests} tests the smallest adjusted {p} ({feature}).",
        estimate=largest["estimate"],
        level=level_of(largest),
        who=who(largest),
        n_tests=n_tests,
        p=show_p(p),
        feature=smallest["feature"],
    )
    verdict: Verdict = "error" if p < min(SEVERE, alpha) else "warning" if p < alpha else "pass"
    return POSITION_BALANCE.answer(table, verdict, finding, p=p)


def _position_rows(group: JudgedChoices, alpha: float) -> pd.DataFrame:
    frames = []
    for name in group.attributes:
        levels = group.shown[name].astype("category").cat.categories
        first, second = codes(group.shown[name].astype("category")).reshape(-1, 2).T
        result = marginal_homogeneity(first, second, len(levels))
        limits = inference(result.std_difference, result.std_error, alpha)
        frames.append(
            pd.DataFrame(
                {
                    "feature": name,
                    "level": levels.astype(str),
                    "share_a": result.share[0],
                    "share_b": result.share[1],
                    "estimate": result.std_difference,
                    "std_error": result.std_error,
                    "lower": limits.lower,
                    "upper": limits.upper,
                    "statistic": result.statistic,
                    "df": result.df,
                    "p": result.p,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
