"""Importance, rates of substitution and shares of profiles against closed forms and known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.choices import tasks
from scipy.special import expit, logit, softmax, stdtrit

from conjury.analysis.conjoint import (
    amce,
    bootstrap,
    choice_shares,
    importance,
    mm,
    share_preferring,
    substitution,
)
from conjury.inference.errors import InputError

LEVELS = {"rent": ["500", "700", "900"], "noise": ["low", "high"], "view": ["park", "street"]}
RENT = {"500": 500.0, "700": 700.0, "900": 900.0}
F = "chosen ~ rent + noise + view"
pytestmark = pytest.mark.filterwarnings("ignore:Few clusters")


def utility(side: Any) -> np.ndarray:
    return -0.4 * side["rent"] - 0.6 * side["noise"] - 0.2 * side["view"]


def linear(one: Any, other: Any) -> np.ndarray:
    return 0.5 + 0.4 * (utility(one) - utility(other)) / 2


def logistic(one: Any, other: Any) -> np.ndarray:
    return expit(utility(one) - utility(other))


LINEAR = tasks(LEVELS, linear, 6_000, seed=1)
LOGISTIC = tasks(LEVELS, logistic, 8_000, seed=2)
FIT = amce(LINEAR, F, id="judge_id", vcov="CR1")
PROFILES = {
    "cheap": {"rent": "500", "noise": "high", "view": "street"},
    "quiet": {"rent": "900", "noise": "low", "view": "park"},
    "middle": {"rent": "700", "noise": "high", "view": "park"},
}
CODES = np.array([[0, 1, 1], [2, 0, 0], [1, 1, 0]])


def test_importance_is_the_share_of_the_ranges() -> None:
    found = importance(FIT).frame.set_index("feature")
    effects = FIT.frame.groupby("feature", observed=True)["estimate"]
    ranges = effects.max() - effects.min()
    np.testing.assert_allclose(found["range"], ranges[found.index])
    np.testing.assert_allclose(found["estimate"], (ranges / ranges.sum())[found.index])
    truth = pd.Series({"rent": 0.5, "noise": 0.375, "view": 0.125})
    assert (np.abs(found["estimate"] - truth) < 3 * found["std_error"]).all()
    assert found.loc["rent", ["best", "worst"]].tolist() == ["500", "900"]
    assert found["estimate"].sum() == pytest.approx(1)


def test_errors_of_importance_are_those_of_slopes_of_the_shares() -> None:
    found = importance(FIT).frame
    tested = FIT.frame["std_error"].notna().to_numpy()
    frame = FIT.frame

    def shares(estimate: np.ndarray) -> np.ndarray:
        values = frame["estimate"].to_numpy(float).copy()
        values[tested] = estimate
        ranges = pd.Series(values).groupby(frame["feature"].astype(str).to_numpy(), sort=False).agg(np.ptp)
        return (ranges / ranges.sum()).to_numpy()

    at, step = frame["estimate"].to_numpy(float)[tested], 1e-6
    slopes = np.array([(shares(at + d) - shares(at - d)) / (2 * step) for d in step * np.eye(len(at))]).T
    errors = np.sqrt(np.diag(slopes @ FIT.vcov.to_numpy() @ slopes.T))
    np.testing.assert_allclose(found["std_error"], errors, rtol=1e-6)


def test_a_bootstrap_gives_percentile_intervals_of_importance() -> None:
    drawn = bootstrap(amce, LINEAR, F, unit="pair", draws=200, seed=1)
    found, delta = importance(drawn), importance(FIT).frame
    assert found.settings["interval"] == "percentile"
    np.testing.assert_allclose(found.frame["estimate"], delta["estimate"])
    np.testing.assert_allclose(found.frame["std_error"], delta["std_error"], rtol=0.25)


def test_rates_of_substitution_are_near_the_truth_and_limits_agree_between_methods() -> None:
    found = substitution(FIT, "rent", RENT)
    row = found.frame.set_index("level").loc["high"]
    assert abs(row["estimate"] + 300) < 3 * row["std_error"]
    assert row["shape"] == "bounded"
    assert (row["lower"], row["upper"]) == pytest.approx((row["delta_lower"], row["delta_upper"]), abs=8)
    assert found.extra["slope"]["estimate"].iloc[0] == pytest.approx(-0.0004, abs=0.00005)


def test_fieller_limits_are_where_the_level_and_its_price_do_not_differ_significantly() -> None:
    found = substitution(FIT, "rent", RENT).frame.iloc[0]
    effects = FIT.frame.set_index("level")
    labels = [("rent", "700"), ("rent", "900"), ("noise", "high")]
    vcov = FIT.vcov.loc[labels, labels].to_numpy()
    values = effects.loc[["700", "900", "high"], "estimate"].to_numpy(float)
    for limit in (found["lower"], found["upper"]):
        weights = np.array([0.0, limit / 400, 1.0])  # the slope of three equidistant levels: last minus first
        t = weights @ values / np.sqrt(weights @ vcov @ weights)
        assert abs(t) == pytest.approx(stdtrit(FIT.frame["df"].min(), 0.975), rel=1e-6)


def test_an_attribute_without_an_effect_has_no_finite_rates() -> None:
    fit = amce(tasks(LEVELS, lambda one, other: 0.5 + 0 * one["rent"], 300, seed=3), F, id="judge_id")
    found = substitution(fit, "rent", RENT)
    assert not (found.frame["shape"] == "bounded").any()
    assert np.isinf(found.frame[["lower", "upper"]]).all().all()
    assert "no finite limits" in found.notes[0]


def test_two_clusters_are_enough_and_one_is_not() -> None:
    for clusters, known in ((2, True), (1, False)):
        data = LOGISTIC.assign(half=LOGISTIC["pair_id"] % clusters)
        if known:
            assert choice_shares(data, F, PROFILES, id="half").frame["std_error"].notna().all()
        else:
            with pytest.raises(InputError, match="single cluster"):
                choice_shares(data, F, PROFILES, id="half")


def test_the_logit_is_that_of_statsmodels_on_differences() -> None:
    import statsmodels.api as sm

    wide = [LOGISTIC[LOGISTIC["position"] == side].reset_index(drop=True) for side in "AB"]
    dummies = [pd.get_dummies(one[list(LEVELS)], drop_first=True).astype(float) for one in wide]
    fit = sm.Logit(wide[0]["chosen"], dummies[0] - dummies[1]).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": wide[0]["judge_id"], "use_correction": False}
    )
    beta = fit.params.to_numpy()
    x = np.array([[0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 1, 0]], dtype=float)
    share = softmax(x @ beta)
    slope = share[:, None] * (x - share @ x)
    found = choice_shares(LOGISTIC, F, PROFILES, id="judge_id", vcov="CR0").frame
    np.testing.assert_allclose(found["estimate"], share, rtol=1e-6)
    errors = np.sqrt(np.diag(slope @ fit.cov_params().to_numpy() @ slope.T))
    np.testing.assert_allclose(found["std_error"], errors, rtol=1e-5)
    half = stdtrit(found["df"], 0.975) * errors / (share * (1 - share))
    ends = [expit(logit(share) + sign * half) for sign in (-1, 1)]
    np.testing.assert_allclose(found[["lower", "upper"]].T, ends, rtol=1e-5)
    assert found["rent"].tolist() == ["500", "900", "700"]


def test_average_shares_cover_those_of_linear_judges_and_are_means_over_rivals() -> None:
    found = choice_shares(LINEAR, F, PROFILES, id="judge_id", rule="average", vcov="CR2")
    worth = 0.2 * CODES @ [-0.4, -0.6, -0.2]
    truth = 1 / 3 + (worth - worth.mean())
    frame = found.frame
    assert ((frame["lower"] < truth) & (truth < frame["upper"])).all()
    means = found.extra["pairs"].groupby("profile")["estimate"].mean() * 2 / 3
    np.testing.assert_allclose(frame["estimate"], means[frame["profile"]])
    assert (frame["df"] > 10).all()
    assert found.notes == ()


def test_two_profiles_have_the_probability_of_the_pair_under_both_rules() -> None:
    two = {name: PROFILES[name] for name in ("cheap", "quiet")}
    for rule in ("average", "logit"):
        found = choice_shares(LOGISTIC, F, two, rule=rule)
        np.testing.assert_allclose(found.frame["estimate"], found.extra["pairs"]["estimate"])
        np.testing.assert_allclose(found.frame["std_error"], found.extra["pairs"]["std_error"])


def test_interactions_are_part_of_the_utilities() -> None:
    def fond(one: Any, other: Any) -> np.ndarray:
        return expit(2.0 * (one["noise"] * one["view"] - other["noise"] * other["view"]))

    data = tasks(LEVELS, fond, 6_000, seed=5)
    both = [{"rent": "500", "noise": n, "view": v} for n, v in (("high", "street"), ("low", "park"))]
    found = choice_shares(data, "chosen ~ rent + noise * view", both).frame
    assert found["lower"].iloc[0] < expit(2.0) < found["upper"].iloc[0]


@pytest.mark.parametrize(
    ("profiles", "options", "words"),
    [
        ([PROFILES["cheap"]], {}, "at least one competitor"),
        ([{"rent": "500"}, PROFILES["cheap"]], {}, "has no 'noise'"),
        ([PROFILES["cheap"] | {"rent": "5"}, PROFILES["quiet"]], {}, "'5' is no level"),
        ([PROFILES["cheap"] | {"lift": "yes"}, PROFILES["quiet"]], {}, "not an attribute of the formula"),
        (PROFILES, {"rule": "first"}, "give 'logit' or 'average'"),
        (PROFILES, {"vcov": "CR2", "id": "judge_id"}, "CR2 is defined for family='gaussian'"),
    ],
)
def test_profiles_that_cannot_be_compared_are_refused(profiles: Any, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        choice_shares(LINEAR, F, profiles, **options)


def test_levels_that_always_win_or_never_occur_have_no_logit() -> None:
    certain = tasks(LEVELS, lambda one, other: 0.5 + 0.5 * (other["noise"] - one["noise"]), 300, seed=1)
    with pytest.raises(InputError, match="always or never chosen"):
        choice_shares(certain, F, PROFILES)
    absent = LINEAR[np.repeat((LINEAR["rent"] != "900").to_numpy().reshape(-1, 2).all(axis=1), 2)]
    with pytest.raises(InputError, match="do not determine"):
        choice_shares(absent, F, PROFILES, rule="average")


def test_other_results_than_effects_are_refused() -> None:
    for call in (importance, share_preferring, lambda fit: substitution(fit, "rent", RENT)):
        with pytest.raises(InputError, match="effects of one fit by amce"):
            call(mm(LINEAR, F))
    with pytest.raises(InputError, match="no number for '900'"):
        substitution(FIT, "rent", {"500": 5, "700": 7})
    with pytest.raises(InputError, match="no attribute 'size'"):
        substitution(FIT, "size", RENT)
    with pytest.raises(InputError, match="that differ"):
        substitution(FIT, "rent", dict.fromkeys(RENT, 1.0))


def test_a_constant_outcome_leaves_no_importance() -> None:
    level = pd.Categorical(np.tile(["low", "high", "middle"], 40))
    data = pd.DataFrame({"chosen": 0.1, "pair_id": np.repeat(range(60), 2), "price": level})
    fit = amce(
        data.assign(size=pd.Categorical(np.repeat(["a", "b"], 60))), "chosen ~ price + size", id="pair_id"
    )
    with pytest.raises(InputError, match="no relative importance"):
        importance(fit)
