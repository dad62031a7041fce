"""Intervals end where values end, and there is none where no bootstrap draw differs."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from scipy.stats import nct, t
from shared_folder import REPOSITORY

from conjury.analysis.conjoint import amce, bootstrap, cj, cj_props, mm, wild
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.numerics.intervals import CORRELATION, SHARE, cut, inference, interval_limits, wilson
from conjury.analysis.numerics.intervals.bounded import bounded, detectable_differences
from conjury.analysis.numerics.intervals.interval_limits import _quantiles
from conjury.analysis.numerics.intervals.weighted_items import items_of, limits, sums_of, weights_of
from conjury.analysis.pipeline.recovery import rating_recovery as recovery
from conjury.analysis.pipeline.recovery import recovery_summary
from conjury.analysis.raters import (
    agreement,
    alt_test,
    biases,
    correlations,
    means,
    rating_lines,
    tier_accuracy,
)

Z = 1.959964
ALIKE_NOTE = "1 row has no interval: bootstrap draws do not differ enough."
pytestmark = pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")


def sixty_pairs(chosen: int = 1) -> pd.DataFrame:
    """Sixty forced choices; a level shown in ten of them is chosen ``chosen`` times."""
    rows = []
    for pair in range(60):
        first = pair < chosen if pair < 10 else pair % 2 == 0
        rows.append((pair, "rare" if pair < 10 else "b", "u" if pair % 3 else "v", float(first)))
        rows.append((pair, "a", "v" if pair % 4 else "u", 1 - float(first)))
    frame = pd.DataFrame(rows, columns=["pair_id", "tone", "topic", "chosen"])
    return frame.astype({"tone": "category", "topic": "category"})


def rare(verb: Any, data: pd.DataFrame | None = None, formula: str = "chosen ~ tone", **options: Any) -> Any:
    """The row of the rare level."""
    found = verb if isinstance(verb, Estimates) else verb(data, formula, "pair_id", **options)
    return found.frame[found.frame["level"].astype(str) == "rare"].iloc[0]


def test_means_of_a_choice_end_at_0_and_keep_all_other_numbers() -> None:
    row = rare(mm, sixty_pairs(), "chosen ~ tone + topic")
    assert row["estimate"] - Z * row["std_error"] < 0
    assert row["lower"] == 0
    assert row["upper"] == pytest.approx(row["estimate"] + Z * row["std_error"], abs=1e-6)
    assert row["z"] == pytest.approx((row["estimate"] - 0.5) / row["std_error"])
    assert rare(mm, sixty_pairs(9))["upper"] == 1
    assert rare(cj, sixty_pairs().assign(who="gpt"), estimate="mm", by="who")["lower"] == 0


def test_only_means_of_outcomes_from_0_to_1_are_bounded() -> None:
    points = rare(mm, sixty_pairs().assign(chosen=lambda x: 100 * x["chosen"]))
    assert points["lower"] == pytest.approx(points["estimate"] - Z * points["std_error"], abs=1e-4)
    assert points["lower"] < 0
    effect = rare(amce, sixty_pairs())
    assert effect["lower"] == pytest.approx(effect["estimate"] - Z * effect["std_error"], abs=1e-6)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca", "studentized", "wild"])
def test_drawn_limits_of_shares_stay_between_0_and_1(method: str) -> None:
    data, options = sixty_pairs(), {"draws": 200, "seed": 1, "method": method}
    if method == "wild":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made: Any = wild(mm(data, "chosen ~ tone", "pair_id"), draws=199, seed=1)
    else:
        made = bootstrap(mm, data, "chosen ~ tone", **options)
    row = rare(made)
    assert 0 <= row["lower"] <= row["estimate"] <= row["upper"] <= 1
    if method in ("percentile", "basic"):
        found = bootstrap(cj_props, data.iloc[:12], "~ tone", **options).frame
        assert ((found["lower"] >= 0) & (found["upper"] <= 1) | found["lower"].isna()).all()


def test_shares_that_every_draw_gives_have_no_interval() -> None:
    pairs = pd.DataFrame({"tone": pd.Categorical(["a", "b"] * 6), "pair_id": np.repeat(range(6), 2)})
    with pytest.warns(UserWarning, match="No interval for"):
        found = bootstrap(cj_props, pairs, "~ tone", draws=50, seed=1).frame
    assert found[["std_error", "lower", "upper"]].isna().all(axis=None)
    assert found["proportion"].tolist() == [0.5, 0.5]


def rated(values: dict[str, list[float]]) -> pd.DataFrame:
    table = by_judge(values)
    item = table["item_id"].str[1:].astype(int)
    return table.assign(topic=item // 3, tier=item.mod(3).map(dict(enumerate("hml"))))


FALLING = [4.0, 3, 2] * 8
ALIKE = {"ann": FALLING, "bob": FALLING, "gpt": [4.0] * 24}


def test_means_that_every_draw_gives_have_no_interval_and_are_not_counted_as_misses() -> None:
    found = means(rated(ALIKE), draws=100)
    gpt = found.frame[found.frame["group"] == "gpt"].iloc[0]
    assert gpt["estimate"] == 4
    assert np.isnan(gpt[["std_error", "lower", "upper", "sd_lower", "sd_upper"]].astype(float)).all()
    assert ALIKE_NOTE in found.notes
    truth = pd.DataFrame({"quantity": "expected_rating", "judge": ["human", "gpt"], "value": [3.0, 3.9]})
    truth = truth.assign(dimension="", other="", response_type="")
    summary = recovery_summary(recovery({"means": found}, truth)).set_index("judge")
    assert summary["n_intervals"].to_dict() == {"human": 1, "gpt": 0}
    table = rated({"ann": [5.0] * 23 + [1], "gpt": [5.0] * 24})
    assert means(table, draws=200).frame.iloc[0]["upper"] > 5
    assert means(table, draws=200, scale=[1, 2, 3, 4, 5]).frame.iloc[0]["upper"] == 5


def test_differences_correlations_and_slopes_that_every_draw_gives_have_no_interval() -> None:
    same = rated({"ann": FALLING, "gpt": FALLING, "gpt_2": [5.0, 4, 3] * 8})
    for found in (biases(same, by=(), draws=50), correlations(same, draws=50), rating_lines(same, draws=50)):
        known = found.frame[found.frame["estimate"].notna()]
        known = known[known["quantity"] == "difference"] if "bias" in known else known
        assert len(known)
        assert known[["lower", "upper"]].isna().all(axis=None)
        assert any("bootstrap draws do not differ enough" in note for note in found.notes)


@pytest.mark.long
def test_perfect_orders_and_perfect_agreement_have_limits_although_no_draw_differs() -> None:
    people = rated(ALIKE).query("judge_id != 'gpt'")
    found = tier_accuracy(people, column="tier", within="topic", levels=["h", "m", "l"], draws=50).frame
    human = found[(found["judge"] == "human") & (found["quantity"] == "complete_order")].iloc[0]
    assert human["estimate"] == human["upper"] == 1
    assert 0.6 < human["lower"] < 1
    agreed = agreement(rated(ALIKE), coefficients=["percent", "gwet"], draws=50)
    people = agreed.frame[agreed.frame["against"].isna()]
    assert (people["estimate"] == 1).all()
    assert people["std_error"].isna().all()
    assert (people["lower"] < 0.9).all()
    assert (people["upper"] == 1).all()
    drawn = agreement(rated(ALIKE), coefficients=["percent", "gwet"], draws=50, interval="bootstrap")
    assert drawn.frame["lower"][drawn.frame["against"].isna()].isna().all()
    assert any("no interval of percent, gwet" in note for note in drawn.notes)


def test_limits_of_agreement_lie_between_0_and_1_and_those_of_kappa_between_minus_1_and_1() -> None:
    table = rated({"ann": [1.0, 2, 1, 2], "bob": [2.0, 1, 2, 2], "cem": [1.0, 2, 2, 2]})
    found = agreement(table, coefficients=["percent", "cohen"], draws=50)
    for frame in (found.frame, found.extra["pairs"]):
        for name, least in (("percent", 0.0), ("cohen", -1.0)):
            own = frame[frame["coefficient"] == name]
            assert own["lower"].min() >= least
            assert own["upper"].max() <= 1


@pytest.mark.parametrize("error", [0.3, 0.19])  # every draw gives 1; all but a few do
def test_winning_rates_that_nearly_every_draw_gives_have_no_interval(error: float) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60)
    noisy = {
        name: np.where(rng.random(60) < error, 1 - truth, truth).tolist() for name in ("ann", "bob", "cem")
    }
    found = alt_test(rated(noisy | {"gpt": truth.tolist()}), "gpt", draws=50)
    [only] = found.frame.to_dict("records")
    assert only["winning_rate"] == 1
    assert np.isnan(only["winning_rate_lower"])
    assert only["advantage_probability_lower"] < only["advantage_probability_upper"] <= 1
    assert f"Winning rates: {ALIKE_NOTE}" in found.notes


@pytest.mark.parametrize(
    ("estimate", "ends"),
    [(-0.02, (-0.02, 0.17599640)), (0.01, (0.0, 0.20599640)), (1.03, (0.83400360, 1.03))],
)
def test_limits_end_at_possible_values_but_never_short_of_an_estimate_beyond_them(
    estimate: float, ends: tuple[float, float]
) -> None:
    found = inference(np.array([estimate]), np.array([0.1]), support=SHARE)
    assert (found.lower[0], found.upper[0]) == pytest.approx(ends, abs=1e-8)


@pytest.mark.parametrize("trials", [3.0, 20.0, 1117.0])
def test_wilsons_limits_of_shares_of_zero_and_one_end_there_exactly(trials: float) -> None:
    lower, upper = wilson(np.array([0.0, 1.0]), np.array([trials, trials]), 0.05)
    assert (lower[0], upper[1]) == (0.0, 1.0)
    assert 0 < upper[0] < 1
    assert 0 < lower[1] < 1


def test_p_of_percentiles_counts_draws_beyond_the_null_ties_by_half_and_one_draw_more() -> None:
    drawn = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, np.nan])[:, None]  # 1.5 of 5 lie below 0
    sample = interval_limits.BootstrapSample(np.array([1.2]), drawn, np.array([True]))
    assert interval_limits.percentile(sample, 0.05).p[0] == pytest.approx(2 * (1.5 + 0.5) / (5 + 1))
    ends = interval_limits.percentile(sample, 0.3)  # the fifth values lie at levels 0, 1/4, ..., 1
    assert [ends.lower[0], ends.upper[0]] == pytest.approx([-0.4, 2.4])
    # reflected at the estimate, 0 is 2.4, below which 4 lie
    assert interval_limits.basic(sample, 0.05).p[0] == pytest.approx(2 * (1 - (4 + 0.5) / (5 + 1)))


def test_rows_of_one_cluster_have_one_degree_of_freedom_and_no_error() -> None:
    for clusters, df in ((1, 1.0), (2, 1.0), (3, 2.0)):
        result = bounded(0.5, np.array([0.3, -0.1, -0.2, 0.1, -0.1, 0.4]), np.arange(6) % clusters)
        assert (result.clusters, result.df) == (clusters, df)
        assert np.isnan(result.std_error) == (clusters == 1)


def test_nothing_is_detectable_without_a_standard_error_above_zero() -> None:
    errors = np.array([0.0, 0.1, np.nan, np.inf])
    found = detectable_differences(errors, np.full(4, 10.0), 0.05)
    assert np.isnan(found).tolist() == [True, False, True, True]
    effect, critical = found[1] / 0.1, t.ppf(0.975, 10)
    power = nct.sf(critical, 10, effect) + nct.cdf(-critical, 10, effect)
    assert power == pytest.approx(0.8, abs=0.01)


def test_quantiles_of_draws_are_those_of_numpy_however_few_are_known() -> None:
    values = np.random.default_rng(4).normal(size=(5, 4))
    values[1:, 0] = values[2:, 1] = np.nan
    for level in (0.0, 0.025, 0.4, 1.0):
        np.testing.assert_allclose(_quantiles(values, level), np.nanquantile(values, level, axis=0))


def test_limits_of_a_curved_statistic_are_those_of_all_draws_of_which_few_are_computed() -> None:
    x = np.random.default_rng(2).lognormal(size=(202, 2))
    prior = np.repeat([0, 1e-4], [200, 2])  # two patterns that no item has, which move a few draws by far
    settings = items_of(np.arange(200), 202, np.arange(200)), prior, prior[::-1].copy(), 0.05
    draws, sums = weights_of(*settings), sums_of(x, *settings)
    np.testing.assert_allclose(sums.lower[:, 0] / sums.lower[:, 1], np.divide(*(draws.lower @ x).T))
    n_computed = []

    def ratios(weights: Any) -> Any:
        n_computed.append(len(weights))
        means = weights @ x / weights.sum(axis=1, keepdims=True)
        return np.stack([means[:, 0] / means[:, 1], means[:, 1] ** 3], axis=1)

    first, second = x[:200].mean(axis=0)
    influence = np.array([x[:200, 0] / second - x[:200, 1] * first / second**2, 3 * x[:200, 1] * second**2]).T
    expected = limits(ratios, draws, np.ones(2))
    for guess, most in ((influence, len(draws.lower)), (0 * influence, 3 * len(draws.lower))):
        n_computed.clear()
        np.testing.assert_allclose(limits(ratios, draws, np.ones(2), guess), expected, rtol=1e-13)
        assert 0 < min(n_computed) <= sum(n_computed) < most


def test_limits_of_correlations_end_at_minus_one_and_one() -> None:
    lower, upper = cut(np.array([-1.3, -0.9]), np.array([1.4, 0.7]), np.array([0.2, -0.85]), CORRELATION)
    assert (lower.tolist(), upper.tolist()) == ([-1, -0.9], [1, 0.7])


def test_quantiles_and_resampled_counts_are_computed_in_one_place() -> None:
    elsewhere = {
        "raters/scales.py": "quartiles of ratings",
        "raters/labelling/label_population.py": "edges of strata",
        "pipeline/steps/participants.py": "middle half of the minutes that people took",
        "raters/validation/weighted/answer_strata.py": "edges of strata",
        "instrument/specifications.py": "critical value of the largest of several t ratios",
        "checks/design/design_draws.py": "tables of a design drawn anew",
    }
    folder = REPOSITORY / "analysis"
    for file in folder.rglob("*.py"):
        name = file.relative_to(folder).as_posix()
        if not name.startswith(("numerics/intervals/", "numerics/bootstrap.py")) and name not in elsewhere:
            calls = re.search(r"np\.(nan)?(quantile|percentile)\(|\.multinomial\(", file.read_text("utf-8"))
            assert calls is None, f"{name}: use draw_limits of numerics.intervals, or numerics.bootstrap"
