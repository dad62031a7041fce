"""Equivalence tests: their decisions are those of intervals, their size is alpha, their words fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conjury.analysis.conjoint import amce, equivalence, mm
from conjury.analysis.conjoint.comparisons.equivalence import VERDICTS, two_one_sided
from conjury.inference.errors import InputError


def choices(n: int = 400, effect: float = 0.0, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    a = pd.Categorical(random.choice(list("xyz"), n))
    return pd.DataFrame(
        {"a": a, "id": random.integers(0, 25, n), "y": effect * (a == "y") + random.normal(size=n)}
    )


def test_both_tests_equal_those_of_scipy() -> None:
    random = np.random.default_rng(2)
    one, two = random.normal(size=40), random.normal(size=40) + 0.1
    difference = one - two
    found = two_one_sided(
        np.array([difference.mean()]), np.array([stats.sem(difference)]), np.array([39.0]), (-0.5, 0.5), 0.05
    )
    above = stats.ttest_rel(one, two - 0.5, alternative="greater").pvalue
    below = stats.ttest_rel(one, two + 0.5, alternative="less").pvalue
    assert found.p[0] == pytest.approx(max(above, below))


@pytest.mark.parametrize("vcov", ["survey", "CR1"])
def test_the_interval_decides_as_the_test_does(vcov: str) -> None:
    fit = amce(choices(), "y ~ a", id="id", vcov=vcov)
    for bound in np.linspace(0.02, 0.6, 30):
        frame = equivalence(fit, float(bound)).frame.dropna(subset="p")
        within = (frame["equivalence_lower"] > -bound) & (frame["equivalence_upper"] < bound)
        assert (within == (frame["p_equivalence"] < 0.05)).all()


def test_degrees_of_freedom_widen_the_interval() -> None:
    wide = equivalence(amce(choices(), "y ~ a", id="id", vcov="CR1"), 0.2).frame.iloc[1]
    narrow = equivalence(amce(choices(), "y ~ a", id="id"), 0.2).frame.iloc[1]
    half = wide["equivalence_upper"] - wide["estimate"]
    assert half == pytest.approx(stats.t.ppf(0.95, 24) * wide["std_error"])
    assert half > narrow["equivalence_upper"] - narrow["estimate"]


def test_the_four_verdicts() -> None:
    table = pd.DataFrame(
        {"estimate": [0.001, 0.1, 0.008, 0.03, 0.0], "std_error": [0.004, 0.01, 0.002, 0.03, np.nan]}
    )
    table["p"] = 2 * stats.norm.sf(abs(table["estimate"] / table["std_error"]))
    verdict = equivalence(table, 0.02)["verdict"]
    assert verdict.tolist()[:4] == ["equivalent", "different", "different, too small to matter", "undecided"]
    assert verdict.isna().tolist() == [False] * 4 + [True]
    assert tuple(verdict.cat.categories) == VERDICTS


def test_bounds_of_means_are_counted_from_the_null_value() -> None:
    data = choices().assign(y=lambda d: (d["y"] > 0).astype(float))
    found = equivalence(mm(data, "y ~ a", id="id", h0=0.5), 0.1).frame
    assert found[["bound_lower", "bound_upper"]].iloc[0].tolist() == [0.4, 0.6]
    plain = equivalence(mm(data.assign(y=data["y"] - 0.5), "y ~ a", id="id"), 0.1).frame
    np.testing.assert_allclose(found["p_equivalence"], plain["p_equivalence"], rtol=1e-9)


def test_asymmetric_bounds_and_another_level() -> None:
    fit = amce(choices(), "y ~ a", id="id")
    found = equivalence(fit, (-0.1, 0.4), alpha=0.1)
    assert found.provenance.extra["equivalence"] == {"bound": [-0.1, 0.4], "alpha": 0.1}
    row = found.frame.iloc[1]
    assert row["equivalence_upper"] - row["estimate"] == pytest.approx(stats.norm.ppf(0.9) * row["std_error"])


@pytest.mark.long
def test_an_effect_at_the_bound_is_called_equivalent_at_rate_alpha() -> None:
    called = 0
    for seed in range(200):
        frame = equivalence(amce(choices(300, 0.5, seed), "y ~ a"), 0.5).frame
        called += frame[frame["level"] == "y"]["p_equivalence"].iloc[0] < 0.05
    assert 3 <= called <= 19


@pytest.mark.parametrize("bound", [0, -0.02, float("nan"), (0.1, 0.2), (0.1,), "wide"])
def test_bounds_that_enclose_nothing_are_refused(bound: object) -> None:
    with pytest.raises(InputError, match="smallest effect that would matter"):
        equivalence(amce(choices(), "y ~ a"), bound)  # type: ignore[call-overload]


def test_tables_without_errors_and_wild_levels_are_refused() -> None:
    with pytest.raises(InputError, match="no column 'std_error'"):
        equivalence(pd.DataFrame({"estimate": [0.1]}), 0.02)
    with pytest.raises(InputError, match=r"below 0\.5"):
        equivalence(amce(choices(), "y ~ a"), 0.02, alpha=0.6)
