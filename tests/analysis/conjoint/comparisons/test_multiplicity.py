"""Adjusted p values against R and a naive step-down, equivalence tests, and the error rates of both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference_tables import FIXTURES
from scipy import stats
from scipy.special import stdtr

from conjury.analysis.conjoint import adjust, amce, bootstrap, cj, equivalence, mm, wald, wild
from conjury.analysis.conjoint.comparisons.equivalence import VERDICTS, two_one_sided
from conjury.analysis.conjoint.comparisons.multiplicity import (
    cluster_influence,
    normal_ratios,
    romano_wolf,
    signed_scores,
)
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.numerics.significance import adjust_p_values
from conjury.inference.errors import InputError

FORMULA = "chosen ~ slur + topic"
LEVELS = {"slur": 4, "topic": 3}
pytestmark = pytest.mark.filterwarnings("ignore:Few clusters")


def judged(judges: int, pairs: int, seed: int) -> pd.DataFrame:
    """Judges who see the same pairs and agree with each other on much but the attributes."""
    random = np.random.default_rng(seed)
    n = 2 * pairs
    codes = {name: np.tile(random.integers(0, size, n), judges) for name, size in LEVELS.items()}
    common = random.normal(size=n)
    score = np.stack([1.5 * common + random.normal(size=n) for _ in range(judges)]).reshape(judges, -1, 2)
    names = {name: [f"{name}{i}" for i in range(size)] for name, size in LEVELS.items()}
    return pd.DataFrame(
        {
            **{name: pd.Categorical.from_codes(code, names[name]) for name, code in codes.items()},
            "judge": pd.Categorical.from_codes(
                np.repeat(np.arange(judges), n), [f"m{i}" for i in range(judges)]
            ),
            "pair_id": np.tile(np.repeat(np.arange(pairs), 2), judges),
            "chosen": (score == score.max(axis=2, keepdims=True)).ravel().astype(float),
        }
    )


DATA = judged(4, 300, 1)
FIT = cj(DATA, FORMULA, id="pair_id", by="judge")


def naive_step_down(statistic: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    left, found, least = list(range(len(statistic))), np.empty(len(statistic)), 0.0
    while left:
        top = max(left, key=lambda i: abs(statistic[i]))
        larger = sum(max(abs(draw[i]) for i in left) >= abs(statistic[top]) for draw in ratios)
        least = max(least, (1 + larger) / (1 + len(ratios)))
        found[top] = least
        left.remove(top)
    return found


def with_p(result: Estimates | pd.DataFrame) -> pd.DataFrame:
    return getattr(result, "frame", result).dropna(subset="p")


def test_adjusted_p_values_equal_those_of_r_and_of_a_naive_step_down() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "adjusted.csv")
    for method in ("holm", "bh"):
        np.testing.assert_allclose(
            adjust_p_values(expected["p"].to_numpy(), method), expected[method], rtol=1e-9
        )
    random = np.random.default_rng(2)
    statistic, ratios = random.normal(size=9) * 2, random.normal(size=(300, 9))
    np.testing.assert_allclose(romano_wolf(statistic, ratios), naive_step_down(statistic, ratios), atol=1e-15)


def test_families_are_adjusted_apart() -> None:
    found = adjust(FIT, "holm", family=["judge", "feature"]).frame
    for _, rows in with_p(found).groupby(["judge", "feature"], observed=True):
        np.testing.assert_allclose(rows["p_adjusted"], adjust_p_values(rows["p"].to_numpy(), "holm"))
    assert found["p_adjusted"].isna().equals(found["p"].isna())
    one, whole = (with_p(adjust(FIT, "romano_wolf", seed=1, **o)) for o in ({"family": "judge"}, {}))
    assert (one["p_adjusted"] <= whole["p_adjusted"] + 1e-12).all()


def test_a_table_is_returned_as_a_table_and_a_result_as_a_result() -> None:
    fit = amce(DATA, FORMULA, id="pair_id")
    table, result = adjust(fit.frame, "bh"), adjust(fit, "bh")
    pd.testing.assert_frame_equal(table, result.frame)
    assert list(table.columns)[list(table.columns).index("p") + 1] == "p_adjusted"
    assert result.provenance.extra["adjusted"] == {"method": "bh", "family": []}
    assert adjust(result, "holm").frame.columns.tolist().count("p_adjusted") == 1


def test_scores_and_draws_have_the_covariance_of_the_estimates() -> None:
    keep = FIT.frame["std_error"].notna().to_numpy()
    influence = np.vstack(list(cluster_influence(FIT.fitted.plan, keep)))
    assert influence.shape == (300, keep.sum())
    np.testing.assert_allclose(influence.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(influence.T @ influence * 300 / 299, FIT.vcov, atol=1e-15)
    scale = np.sqrt(np.diag(FIT.vcov))
    correlation = FIT.vcov.to_numpy() / np.outer(scale, scale)
    signed = signed_scores(cluster_influence(FIT.fitted.plan, keep), 20_000, 3)
    for drawn in (signed, normal_ratios(FIT.vcov.to_numpy(), 20_000, 3)):
        np.testing.assert_allclose(drawn.T @ drawn / len(drawn), correlation, atol=0.04)


def test_scores_replicates_and_normal_draws_agree() -> None:
    by_scores = adjust(FIT, "romano_wolf", draws=4000, seed=1).frame["p_adjusted"]
    drawn = bootstrap(cj, DATA, FORMULA, by="judge", draws=1000, seed=2)
    by_replicates = adjust(drawn, "romano_wolf").frame["p_adjusted"]
    bare = Estimates(FIT.frame, FIT.vcov, FIT.provenance)
    by_normal = adjust(bare, "romano_wolf", draws=4000, seed=1).frame["p_adjusted"]
    assert (by_scores - by_replicates).abs().max() < 0.09
    assert (by_scores - by_normal).abs().max() < 0.05
    crossed = cj(DATA.assign(text=DATA["pair_id"] % 37), FORMULA, id=["pair_id", "text"], by="judge")
    assert adjust(crossed, "romano_wolf", seed=1).frame["p_adjusted"].notna().sum() == 20


def few_clusters(clusters: int, random: np.random.Generator) -> pd.DataFrame:
    """Effects of four features that differ between clusters, and are zero on average."""
    rows = clusters * 40
    cluster = np.repeat(np.arange(clusters), 40)
    outcome = random.normal(size=rows)
    columns = {}
    for name in "abcd":
        code = random.integers(0, 3, rows)
        outcome = outcome + 0.8 * random.normal(size=(clusters, 3))[cluster, code]
        columns[name] = pd.Categorical.from_codes(code, list("xyz"))
    return pd.DataFrame(columns).assign(y=outcome, id=cluster)


@pytest.mark.slow
@pytest.mark.parametrize("vcov", ["CR2", "survey"])
def test_familywise_error_is_near_alpha_with_ten_clusters(vcov: str) -> None:
    random, rejected = np.random.default_rng(10), 0
    for seed in range(100):
        fit = amce(few_clusters(10, random), "y ~ a + b + c + d", id="id", vcov=vcov)
        found = with_p(adjust(fit, "romano_wolf", draws=399, seed=seed))
        assert (found["p_adjusted"] >= found["p"]).all()
        rejected += found["p_adjusted"].min() < 0.05
    assert rejected <= 11


def test_wild_bootstraps_are_adjusted_by_their_own_draws() -> None:
    fit = amce(few_clusters(7, np.random.default_rng(2)), "y ~ a + b", id="id", vcov="CR2")
    drawn = wild(fit, draws=499, seed=3)
    result = adjust(drawn, "romano_wolf")
    found = with_p(result)
    assert (found["p_adjusted"] >= found["p"]).all()
    first = found["z"].abs().idxmax()
    larger = (np.nanmax(np.abs(drawn.ratios), axis=1) >= abs(found.loc[first, "z"])).sum()
    assert found.loc[first, "p_adjusted"] == pytest.approx((larger + 1) / 500)
    alone = with_p(adjust(drawn, "romano_wolf", family=["feature", "level"]))
    np.testing.assert_allclose(alone["p_adjusted"], alone["p"])
    assert (result.provenance.extra["adjusted"]["drawn"], result.provenance.extra["adjusted"]["draws"]) == (
        "wild",
        499,
    )


def test_draws_are_restudentised_below_a_hundred_clusters_and_normal_draws_of_few_are_warned_of() -> None:
    random = np.random.default_rng(5)
    for clusters, drawn in ((99, "wild"), (100, "scores")):
        fit = amce(few_clusters(clusters, random), "y ~ a", id="id", vcov="CR1")
        made = adjust(fit, "romano_wolf", draws=200, seed=1).provenance
        assert made.extra["adjusted"]["drawn"] == drawn
    few = bootstrap(amce, few_clusters(10, random), "y ~ a", unit="id", draws=100, seed=1)
    with pytest.warns(UserWarning, match="normal draws, and with 10 clusters"):
        found = with_p(adjust(few, "romano_wolf"))
    assert (found["p_adjusted"] >= found["p"]).all()


def test_degrees_of_freedom_count_where_draws_are_normal() -> None:
    fit = replace(amce(DATA, FORMULA, id="pair_id", vcov="CR1"), fitted=None)
    few = replace(fit, frame=fit.frame.assign(p=2 * stdtr(5, -fit.frame["z"].abs()), df=5.0))
    found, normal = (with_p(adjust(one, "romano_wolf", draws=4000, seed=1)) for one in (few, fit))
    assert (found["p_adjusted"] >= found["p"]).all()
    assert (found["p_adjusted"] >= normal["p_adjusted"]).all()
    assert found["p_adjusted"].min() > 1.5 * normal["p_adjusted"].min()


def ratings(n: int = 400, effect: float = 0.0, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    a = pd.Categorical(random.choice(list("xyz"), n))
    return pd.DataFrame(
        {"a": a, "id": random.integers(0, 25, n), "y": effect * (a == "y") + random.normal(size=n)}
    )


RATED = amce(ratings(), "y ~ a", id="id")
RATED_T = amce(ratings(), "y ~ a", id="id", vcov="CR1")


def test_both_one_sided_tests_equal_those_of_scipy() -> None:
    random = np.random.default_rng(2)
    one, two = random.normal(size=40), random.normal(size=40) + 0.1
    difference = one - two
    mean, error = np.array([difference.mean()]), np.array([stats.sem(difference)])
    found = two_one_sided(mean, error, np.array([39.0]), (-0.5, 0.5), 0.05)
    above = stats.ttest_rel(one, two - 0.5, alternative="greater").pvalue
    below = stats.ttest_rel(one, two + 0.5, alternative="less").pvalue
    assert found.p[0] == pytest.approx(max(above, below))


@pytest.mark.long
def test_the_interval_decides_as_the_equivalence_test_does_and_widens_with_few_degrees_of_freedom() -> None:
    for bound in np.linspace(0.02, 0.6, 30):
        for fit in (RATED, RATED_T):
            frame = with_p(equivalence(fit, float(bound)))
            within = (frame["equivalence_lower"] > -bound) & (frame["equivalence_upper"] < bound)
            assert (within == (frame["p_equivalence"] < 0.05)).all()
    for fit, critical in ((RATED, stats.norm.ppf(0.95)), (RATED_T, stats.t.ppf(0.95, 24))):
        row = equivalence(fit, 0.2).frame.iloc[1]
        assert row["equivalence_upper"] - row["estimate"] == pytest.approx(critical * row["std_error"])
    found = equivalence(RATED, (-0.1, 0.4), alpha=0.1)
    assert found.provenance.extra["equivalence"] == {"bound": [-0.1, 0.4], "alpha": 0.1}
    row = found.frame.iloc[1]
    assert row["equivalence_upper"] - row["estimate"] == pytest.approx(stats.norm.ppf(0.9) * row["std_error"])


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
    data = ratings().assign(y=lambda d: (d["y"] > 0).astype(float))
    found = equivalence(mm(data, "y ~ a", id="id", h0=0.5), 0.1).frame
    assert found[["bound_lower", "bound_upper"]].iloc[0].tolist() == [0.4, 0.6]
    plain = equivalence(mm(data.assign(y=data["y"] - 0.5), "y ~ a", id="id"), 0.1).frame
    np.testing.assert_allclose(found["p_equivalence"], plain["p_equivalence"], rtol=1e-9)


BARE = Estimates(FIT.frame, None, FIT.provenance)
MATTER = "smallest relevant effect"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: adjust(FIT, "bonferroni"), "no method 'bonferroni'"),
        (lambda: adjust(FIT, family="prompt"), "family names 'prompt'"),
        (lambda: adjust(FIT.frame, "romano_wolf"), "table alone"),
        (lambda: adjust(wald(FIT), "romano_wolf"), "a joint test has none"),
        (lambda: adjust(FIT, "romano_wolf", draws=5), "at least 100"),
        (lambda: adjust(FIT.frame[["feature", "level"]]), "no column 'p'"),
        (lambda: adjust(BARE, "romano_wolf"), "no covariance"),
        (lambda: equivalence(pd.DataFrame({"estimate": [0.1]}), 0.02), "no column 'std_error'"),
        (lambda: equivalence(RATED, 0.02, alpha=0.6), r"below 0\.5"),
        *(
            (lambda b=b: equivalence(RATED, b), MATTER)
            for b in (0, -0.02, np.nan, (0.1, 0.2), (0.1,), "wide")
        ),
    ],
)
def test_what_cannot_be_adjusted_or_called_equivalent_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
