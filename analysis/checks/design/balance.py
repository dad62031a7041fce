"""Balance of attributes over positions and over respondents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest, chi2, gamma

from ...numerics.intervals import inference
from ..judged import Judged, codes, designs, people_of, tidy
from ..registry import (
    Check,
    Question,
    Verdict,
    adjusted,
    adjusted_by_feature,
    check,
    highest,
    lowest,
    said_p,
    who,
)

POSITION_BALANCE = Question(
    "CJ102",
    "position_balance",
    "Balance over positions",
    "Does every level occur in position A as often as in position B?",
    "Effects of levels are mixed with the preference for a position.",
    "Find out how positions were assigned; where they are not random, add position to the model "
    "(AMCEs by position) or show every pair in both orders.",
    "test",
)
SEVERE = 0.001


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


@check(POSITION_BALANCE)
def position_balance(judged: Sequence[Judged], alpha: float) -> Check:
    """Compare levels between positions for every design."""
    groups = designs(judged)
    tables = adjusted_by_feature([_position_rows(members[0], alpha) for members in groups])
    n_tests = sum(table["feature"].nunique() for table in tables)
    table = tidy((g, t) for members, t in zip(groups, tables, strict=True) for g in members)
    smallest = lowest(table, table["p_adjusted"].fillna(1))
    largest = highest(table, table["estimate"].abs())
    p = float(smallest["p_adjusted"])
    finding = (
        f"The largest standardised difference between A and B is {largest['estimate']:+.3f} "
        f"({largest['feature']} = {largest['level']}, {who(largest)}); over {n_tests} tests the smallest "
        f"adjusted {said_p(p)} ({smallest['feature']})."
    )
    verdict: Verdict = "error" if p < min(SEVERE, alpha) else "warning" if p < alpha else "pass"
    return POSITION_BALANCE.answer(table, verdict, finding)


def _position_rows(group: Judged, alpha: float) -> pd.DataFrame:
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


RESPONDENT_BALANCE = Question(
    "CJ103",
    "respondent_balance",
    "Balance over respondents",
    "Does every respondent see the levels as often as expected by chance?",
    "Differences between respondents are mixed with effects of levels.",
    "Look for blocks, quotas or a broken random generator in the assignment of tasks; report AMCEs "
    "with standard errors clustered by respondent, and compare them with respondent fixed effects.",
    "test",
)
MODELS = "A model sees all pairs of the design, so there are no respondents to balance over."


@dataclass(frozen=True)
class Spread:
    """Chi-square statistic of a units-by-levels table, against its exact moments under permutation.

    ``lower`` and ``upper`` hold the middle 95% of statistics, as multiples of the expected one.
    """

    statistic: float
    expected: float
    lower: float
    upper: float
    p: float


def spread_over_units(unit: np.ndarray, level: np.ndarray) -> Spread:
    """Test whether levels depend on units, both margins given."""
    known = level >= 0
    _, unit = np.unique(unit[known], return_inverse=True)
    _, level = np.unique(level[known], return_inverse=True)
    rows, columns, n = int(unit.max(initial=0)) + 1, int(level.max(initial=0)) + 1, len(unit)
    if rows < 2 or columns < 2 or n < 4:
        return Spread(np.nan, np.nan, np.nan, np.nan, np.nan)
    table = np.bincount(unit * columns + level, minlength=rows * columns).reshape(rows, columns)
    by_row, by_column = table.sum(axis=1), table.sum(axis=0)
    statistic = n * float((table**2 / np.outer(by_row, by_column)).sum() - 1)
    mean = n / (n - 1) * (rows - 1) * (columns - 1)
    v1, v2 = ((k - 1) * (n - k) / (n - 1) for k in (rows, columns))
    w1, w2 = ((n * float((1 / m).sum()) - k**2) / (n - 2) for m, k in ((by_row, rows), (by_column, columns)))
    variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
    if variance <= 0:
        return Spread(statistic, mean, np.nan, np.nan, np.nan)
    null = gamma(mean**2 / variance, scale=variance / mean)
    low, high = null.ppf([0.025, 0.975]) / mean
    return Spread(statistic, mean, float(low), float(high), float(null.sf(statistic)))


@check(RESPONDENT_BALANCE)
def respondent_balance(judged: Sequence[Judged], alpha: float) -> Check:
    """Compare levels between the respondents of every panel."""
    panels = people_of(judged, MODELS)
    table = tidy((group, _respondent_rows(group)) for group in panels)
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    if table["p"].isna().all():
        return RESPONDENT_BALANCE.answer(table, "warning", "There are too few respondents to test balance.")
    worst = lowest(table, table["p_adjusted"])
    p = float(worst["p_adjusted"])
    finding = (
        f"Between-respondent variation of levels is {worst['estimate']:.2f} times that expected by chance "
        f"({worst['feature']}, {who(worst)}; chance: {worst['lower']:.2f} to {worst['upper']:.2f}), "
        f"adjusted {said_p(p)} over {table['p'].notna().sum()} tests."
    )
    verdict: Verdict = "error" if p < min(0.001, alpha) else "warning" if p < alpha else "pass"
    return RESPONDENT_BALANCE.answer(table, verdict, finding)


def _respondent_rows(group: Judged) -> pd.DataFrame:
    unit = codes(group.shown["judge_id"])
    found = {name: spread_over_units(unit, codes(group.shown[name])) for name in group.attributes}
    return pd.DataFrame(
        {
            "feature": list(found),
            "respondents": int(unit.max()) + 1,
            "statistic": [each.statistic for each in found.values()],
            "expected": [each.expected for each in found.values()],
            "estimate": [each.statistic / each.expected for each in found.values()],
            "lower": [each.lower for each in found.values()],
            "upper": [each.upper for each in found.values()],
            "p": [each.p for each in found.values()],
        }
    )
