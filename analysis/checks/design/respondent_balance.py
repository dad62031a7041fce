"""Balance of levels over respondents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import gamma

from ...frames.notes import Note
from ..judged import JudgedChoices, codes, people_of, tidy
from ..registry import Check, Question, Verdict, adjusted, check, lowest, show_p, who

RESPONDENT_BALANCE = Question(
    code="CJ103",
    name="respondent_balance",
    title="Balance over respondents",
    text="Does every respondent see the levels as often as expected by chance?",
    consequence="Estimated effects of levels contain differences between respondents.",
    remedy="Check the assignment of tasks for blocks, quotas or a faulty random generator; report AMCEs "
    "with standard errors clustered by respondent, and compare them with respondent fixed effects.",
    alarms="test",
)
MODELS = "A model sees all pairs of the design, so there are no respondents to balance over."


@dataclass(frozen=True)
class BalanceTest:
    """Chi-square statistic of a units-by-levels table, against its exact moments under permutation."""

    # `lower` and `upper` hold the middle 95% of statistics, as multiples of the expected one.

    statistic: float
    expected: float
    lower: float
    upper: float
    p: float


def spread_over_units(unit: np.ndarray, level: np.ndarray) -> BalanceTest:
    """Test whether levels depend on units, both margins given."""
    mask = level >= 0
    _, unit = np.unique(unit[mask], return_inverse=True)
    _, level = np.unique(level[mask], return_inverse=True)
    rows, columns, n = int(unit.max(initial=0)) + 1, int(level.max(initial=0)) + 1, len(unit)
    if rows < 2 or columns < 2 or n < 4:
        return BalanceTest(np.nan, np.nan, np.nan, np.nan, np.nan)
    table = np.bincount(unit * columns + level, minlength=rows * columns).reshape(rows, columns)
    by_row, by_column = table.sum(axis=1), table.sum(axis=0)
    statistic = n * float((table**2 / np.outer(by_row, by_column)).sum() - 1)
    mean = n / (n - 1) * (rows - 1) * (columns - 1)
    v1, v2 = ((k - 1) * (n - k) / (n - 1) for k in (rows, columns))
    w1, w2 = ((n * float((1 / m).sum()) - k**2) / (n - 2) for m, k in ((by_row, rows), (by_column, columns)))
    variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
    if variance <= 0:
        return BalanceTest(statistic, mean, np.nan, np.nan, np.nan)
    null = gamma(mean**2 / variance, scale=variance / mean)
    low, high = null.ppf([0.025, 0.975]) / mean
    return BalanceTest(statistic, mean, float(low), float(high), float(null.sf(statistic)))


@check(RESPONDENT_BALANCE)
def respondent_balance(judged: Sequence[JudgedChoices], alpha: float) -> Check:
    """Compare levels between the respondents of every panel."""
    panels = people_of(judged, MODELS)
    table = tidy((group, _respondent_rows(group)) for group in panels)
    table["p_adjusted"] = adjusted(table["p"].to_numpy())
    if table["p"].isna().all():
        return RESPONDENT_BALANCE.not_applicable("There are too few respondents to test balance.")
    worst = lowest(table, table["p_adjusted"])
    p = float(worst["p_adjusted"])
    finding = Note.of(
        "Between-respondent variation of levels is {estimate:.2f} times that expected by "
        "chance ({feature}, {who}; chance: {lower:.2f} to {upper:.2f}), adjusted {p} over {n} "
        "tests.",
        estimate=worst["estimate"],
        feature=worst["feature"],
        who=who(worst),
        lower=worst["lower"],
        upper=worst["upper"],
        p=show_p(p),
        n=table["p"].notna().sum(),
    )
    verdict: Verdict = "error" if p < min(0.001, alpha) else "warning" if p < alpha else "pass"
    return RESPONDENT_BALANCE.answer(table, verdict, finding, p=p)


def _respondent_rows(group: JudgedChoices) -> pd.DataFrame:
    unit = codes(group.shown["judge_id"])
    spreads = {name: spread_over_units(unit, codes(group.shown[name])) for name in group.attributes}
    return pd.DataFrame(
        {
            "feature": list(spreads),
            "respondents": int(unit.max()) + 1,
            "statistic": [each.statistic for each in spreads.values()],
            "expected": [each.expected for each in spreads.values()],
            "estimate": [each.statistic / each.expected for each in spreads.values()],
            "lower": [each.lower for each in spreads.values()],
            "upper": [each.upper for each in spreads.values()],
            "p": [each.p for each in spreads.values()],
        }
    )
