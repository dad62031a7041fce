"""Adjusted p values against R and a naive step-down, their error rates, and the time they take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtr
from scipy.stats import norm

from conjury.analysis.conjoint import adjust, amce, bootstrap, cj, wald, wild
from conjury.analysis.conjoint.comparisons.multiplicity import (
    cluster_influence,
    normal_ratios,
    romano_wolf,
    signed_scores,
)
from conjury.analysis.numerics.significance import adjusted
from conjury.inference.errors import InputError

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
FORMULA = "chosen ~ slur + topic"
LEVELS = {"slur": 4, "topic": 3}


def judged(judges: int, pairs: int, seed: int, levels: dict[str, int] | None = None) -> pd.DataFrame:
    """Judges who see the same pairs and agree with each other on much but the attributes."""
    random = np.random.default_rng(seed)
    levels = levels or LEVELS
    n = 2 * pairs
    codes = {name: random.integers(0, size, n) for name, size in levels.items()}
    columns: dict[str, object] = {
        name: pd.Categorical.from_codes(np.tile(code, judges), [f"{name}{i}" for i in range(levels[name])])
        for name, code in codes.items()
    }
    common = random.normal(size=n)
    chosen = []
    for _ in range(judges):
        score = (1.5 * common + random.normal(size=n)).reshape(-1, 2)
        chosen.append((score == score.max(axis=1, keepdims=True)).ravel())
    judge = pd.Categorical.from_codes(np.repeat(np.arange(judges), n), [f"m{i}" for i in range(judges)])
    pair = np.tile(np.repeat(np.arange(pairs), 2), judges)
    return pd.DataFrame(columns).assign(
        judge=judge, pair_id=pair, chosen=np.concatenate(chosen).astype(float)
    )


DATA = judged(4, 300, 1)


def naive_step_down(statistic: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    left, found, least = list(range(len(statistic))), np.empty(len(statistic)), 0.0
    while left:
        top = max(left, key=lambda i: abs(statistic[i]))
        larger = sum(max(abs(draw[i]) for i in left) >= abs(statistic[top]) for draw in ratios)
        least = max(least, (1 + larger) / (1 + len(ratios)))
        found[top] = least
        left.remove(top)
    return found


def test_holm_and_benjamini_hochberg_equal_those_of_r() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "adjusted.csv")
    p = expected["p"].to_numpy()
    np.testing.assert_allclose(adjusted(p, "holm"), expected["holm"], rtol=1e-9)
    np.testing.assert_allclose(adjusted(p, "bh"), expected["bh"], rtol=1e-9)


def test_the_step_down_equals_a_naive_one() -> None:
    random = np.random.default_rng(2)
    statistic, ratios = random.normal(size=9) * 2, random.normal(size=(300, 9))
    np.testing.assert_allclose(romano_wolf(statistic, ratios), naive_step_down(statistic, ratios), atol=1e-15)


def test_families_are_adjusted_apart() -> None:
    fit = cj(DATA, FORMULA, id="pair_id", by="judge")
    found = adjust(fit, "holm", family=["judge", "feature"]).frame
    for _, rows in found.groupby(["judge", "feature"], observed=True):
        tested = rows[rows["p"].notna()]
        np.testing.assert_allclose(tested["p_adjusted"], adjusted(tested["p"].to_numpy(), "holm"))
    assert found["p_adjusted"].isna().equals(found["p"].isna())
    one = adjust(fit, "romano_wolf", family="judge", seed=1).frame
    whole = adjust(fit, "romano_wolf", seed=1).frame
    assert (one["p_adjusted"].dropna() <= whole["p_adjusted"].dropna() + 1e-12).all()


def test_a_table_is_returned_as_a_table_and_a_result_as_a_result() -> None:
    fit = amce(DATA, FORMULA, id="pair_id")
    table = adjust(fit.frame, "bh")
    result = adjust(fit, "bh")
    pd.testing.assert_frame_equal(table, result.frame)
    assert list(table.columns)[list(table.columns).index("p") + 1] == "p_adjusted"
    assert result.provenance.extra["adjusted"] == {"method": "bh", "family": []}
    assert adjust(result, "holm").frame.columns.tolist().count("p_adjusted") == 1


def test_influence_sums_to_the_covariance() -> None:
    fit = cj(DATA, FORMULA, id="pair_id", by="judge")
    assert fit.fitted is not None
    assert fit.vcov is not None
    tested = fit.frame["std_error"].notna().to_numpy()
    influence = np.vstack(list(cluster_influence(fit.fitted.plan, tested)))
    assert influence.shape == (300, tested.sum())
    np.testing.assert_allclose(influence.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(influence.T @ influence * 300 / 299, fit.vcov, atol=1e-15)


def test_signed_scores_have_the_correlation_of_the_estimates() -> None:
    fit = cj(DATA, FORMULA, id="pair_id", by="judge")
    assert fit.fitted is not None
    assert fit.vcov is not None
    tested = fit.frame["std_error"].notna().to_numpy()
    ratios = signed_scores(cluster_influence(fit.fitted.plan, tested), 20_000, 3)
    scale = np.sqrt(np.diag(fit.vcov))
    correlation = fit.vcov.to_numpy() / np.outer(scale, scale)
    np.testing.assert_allclose(ratios.T @ ratios / len(ratios), correlation, atol=0.04)
    drawn = normal_ratios(fit.vcov.to_numpy(), 20_000, 3)
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), correlation, atol=0.04)


def test_scores_replicates_and_normal_draws_agree() -> None:
    fit = cj(DATA, FORMULA, id="pair_id", by="judge")
    by_scores = adjust(fit, "romano_wolf", draws=4000, seed=1).frame["p_adjusted"]
    drawn = bootstrap(cj, DATA, FORMULA, by="judge", draws=1000, seed=2)
    by_replicates = adjust(drawn, "romano_wolf").frame["p_adjusted"]
    by_normal = adjust(
        type(fit)(fit.frame, fit.vcov, fit.provenance), "romano_wolf", draws=4000, seed=1
    ).frame
    assert (by_scores - by_replicates).abs().max() < 0.09
    assert (by_scores - by_normal["p_adjusted"]).abs().max() < 0.05
    crossed = cj(DATA.assign(text=DATA["pair_id"] % 37), FORMULA, id=["pair_id", "text"], by="judge")
    assert adjust(crossed, "romano_wolf", seed=1).frame["p_adjusted"].notna().sum() == 20


def correlated(tests: int, rho: float, rng: np.random.Generator, samples: int) -> np.ndarray:
    """Statistics that share a part, shape (samples, tests), each standard normal."""
    shared = rng.normal(size=(samples, 1))
    return np.asarray(np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=(samples, tests)))


@pytest.mark.long
def test_familywise_error_is_near_alpha_and_power_above_holm() -> None:
    rng = np.random.default_rng(4)
    samples, ratios = correlated(30, 0.8, rng, 1000), correlated(30, 0.8, rng, 999)
    ours = np.array([romano_wolf(t, ratios).min() < 0.05 for t in samples])
    theirs = np.array([adjusted(2 * norm.sf(np.abs(t)), "holm").min() < 0.05 for t in samples])
    assert 0.03 < ours.mean() < 0.075
    assert theirs.mean() < 0.03
    shift = np.where(np.arange(30) < 10, 2.8, 0.0)
    found = np.array([(romano_wolf(t + shift, ratios) < 0.05)[:10].mean() for t in samples])
    known = np.array([(adjusted(2 * norm.sf(np.abs(t + shift)), "holm") < 0.05)[:10].mean() for t in samples])
    assert found.mean() > known.mean() + 0.1


@pytest.mark.long
def test_familywise_error_of_correlated_judges_is_near_alpha() -> None:
    rejected = 0
    for seed in range(60):
        fit = cj(judged(4, 150, seed), FORMULA, id="pair_id", by="judge")
        rejected += adjust(fit, "romano_wolf", draws=400, seed=seed).frame["p_adjusted"].min() < 0.05
    assert rejected <= 8


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


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Few clusters")
@pytest.mark.parametrize("vcov", ["CR2", "survey"])
def test_familywise_error_is_near_alpha_with_ten_clusters(vcov: str) -> None:
    random = np.random.default_rng(10)
    rejected = 0
    for seed in range(100):
        fit = amce(few_clusters(10, random), "y ~ a + b + c + d", id="id", vcov=vcov)
        found = adjust(fit, "romano_wolf", draws=399, seed=seed).frame.dropna(subset="p")
        assert (found["p_adjusted"] >= found["p"]).all()
        rejected += found["p_adjusted"].min() < 0.05
    assert rejected <= 11


@pytest.mark.filterwarnings("ignore:Few clusters")
def test_wild_bootstraps_are_adjusted_by_their_own_draws() -> None:
    fit = amce(few_clusters(7, np.random.default_rng(2)), "y ~ a + b", id="id", vcov="CR2")
    drawn = wild(fit, draws=499, seed=3)
    result = adjust(drawn, "romano_wolf")
    found = result.frame.dropna(subset="p")
    assert (found["p_adjusted"] >= found["p"]).all()
    first = found["z"].abs().idxmax()
    larger = (np.nanmax(np.abs(drawn.ratios), axis=1) >= abs(found.loc[first, "z"])).sum()
    assert found.loc[first, "p_adjusted"] == pytest.approx((larger + 1) / 500)
    alone = adjust(drawn, "romano_wolf", family=["feature", "level"]).frame.dropna(subset="p")
    np.testing.assert_allclose(alone["p_adjusted"], alone["p"])
    assert result.provenance.extra["adjusted"]["drawn"] == "wild"
    assert result.provenance.extra["adjusted"]["draws"] == 499


@pytest.mark.filterwarnings("ignore:Few clusters")
def test_draws_are_restudentised_below_a_hundred_clusters_only() -> None:
    random = np.random.default_rng(5)
    for clusters, drawn in ((99, "wild"), (100, "scores")):
        fit = amce(few_clusters(clusters, random), "y ~ a", id="id", vcov="CR1")
        made = adjust(fit, "romano_wolf", draws=200, seed=1).provenance
        assert made.extra["adjusted"]["drawn"] == drawn


def test_degrees_of_freedom_count_where_draws_are_normal() -> None:
    fit = amce(DATA, FORMULA, id="pair_id", vcov="CR1")
    few = replace(fit, fitted=None, frame=fit.frame.assign(p=2 * stdtr(5, -fit.frame["z"].abs()), df=5.0))
    found = adjust(few, "romano_wolf", draws=4000, seed=1).frame.dropna(subset="p")
    assert (found["p_adjusted"] >= found["p"]).all()
    normal = adjust(replace(fit, fitted=None), "romano_wolf", draws=4000, seed=1).frame.dropna(subset="p")
    assert (found["p_adjusted"] >= normal["p_adjusted"]).all()
    assert found["p_adjusted"].min() > 1.5 * normal["p_adjusted"].min()


@pytest.mark.filterwarnings("ignore:Few clusters")
def test_normal_draws_of_few_clusters_are_warned_of() -> None:
    data = few_clusters(10, np.random.default_rng(6))
    drawn = bootstrap(amce, data, "y ~ a", unit="id", draws=100, seed=1)
    with pytest.warns(UserWarning, match="normal draws and 10 clusters"):
        found = adjust(drawn, "romano_wolf").frame.dropna(subset="p")
    assert (found["p_adjusted"] >= found["p"]).all()


def test_what_cannot_be_adjusted_is_refused() -> None:
    fit = amce(DATA, FORMULA, id="pair_id")
    with pytest.raises(InputError, match="no method 'bonferroni'"):
        adjust(fit, "bonferroni")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="family names 'judge'"):
        adjust(fit, family="judge")
    with pytest.raises(InputError, match="table alone"):
        adjust(fit.frame, "romano_wolf")
    with pytest.raises(InputError, match="a joint test has none"):
        adjust(wald(fit), "romano_wolf")
    with pytest.raises(InputError, match="at least 100"):
        adjust(fit, "romano_wolf", draws=5)
    with pytest.raises(InputError, match="no column 'p'"):
        adjust(fit.frame[["feature", "level"]])
    with pytest.raises(InputError, match="no covariance"):
        adjust(type(fit)(fit.frame, None, fit.provenance), "romano_wolf")
