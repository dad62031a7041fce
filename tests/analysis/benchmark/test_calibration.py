"""Calibration of probabilities: against R, closed forms and simulated truth; degenerate cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up.labels import answers_to, gold_of, noted
from made_up.labels import scored_probabilities as scored
from scipy.special import expit
from scipy.stats import binom

from conjury.analysis.benchmark import Scored, calibration, score
from conjury.analysis.benchmark.probabilities import recalibration
from conjury.analysis.benchmark.probabilities.calibration import logits
from conjury.inference.errors import InputError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "calibration"


def judged() -> pd.DataFrame:
    return pd.read_csv(FIXTURES / "judged.csv")


def reference() -> pd.Series:
    return pd.read_csv(FIXTURES / "reference.csv", index_col="quantity")["value"]


def of_events(p: np.ndarray, y: np.ndarray) -> Scored:
    """Probabilities of the second of two classes."""
    return scored(np.stack([1 - p, p], axis=1), y.astype(int))


def sums(codes: np.ndarray, p: np.ndarray, y: np.ndarray, n_bins: int) -> list[np.ndarray]:
    return [np.bincount(codes, w, n_bins)[None, :] for w in (np.ones(len(p)), p, y)]


def simulated(n: int, seed: int, intercept: float = 0.0, slope: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 1.5, n)
    return expit(logit), (rng.random(n) < expit(intercept + slope * logit)).astype(float)


def test_slope_and_intercepts_are_those_of_glm_in_r() -> None:
    table, theirs = judged(), reference()
    made = calibration(of_events(table["probability"].to_numpy(), table["event"].to_numpy()), draws=0)
    found = made.frame.set_index("metric")["estimate"]
    for name in ("calibration_intercept", "calibration_slope", "calibration_in_the_large"):
        assert found[name] == pytest.approx(theirs[name], rel=1e-8)


def parts_of(table: pd.DataFrame) -> dict[str, float]:
    """Parts of the Brier score in ten equidistant bins."""
    p, y = table["probability"].to_numpy(), table["event"].to_numpy(float)
    found = recalibration.binned(*sums(np.ceil(p * 10).astype(int) - 1, p, y, 10))
    return {name: float(found[name][0]) for name in ("reliability", "resolution", "uncertainty")}


def test_the_parts_of_the_brier_score_are_those_of_specs_verification_but_for_keeping_them_in_range() -> None:
    theirs = reference()
    for name, value in parts_of(judged()).items():
        assert value == pytest.approx(theirs[name], rel=1e-10)
        assert value != pytest.approx(theirs[f"{name}_biased"], rel=1e-3)
    ours = parts_of(judged()[:8])
    whole = ours["reliability"] - ours["resolution"] + ours["uncertainty"]
    kept = {name: theirs[f"{name}_first_eight"] for name in ours}
    assert whole == pytest.approx(kept["reliability"] - kept["resolution"] + kept["uncertainty"], abs=1e-12)
    assert ours["uncertainty"] > 0.25 >= kept["uncertainty"]


def test_the_isotonic_curve_is_that_of_isoreg_and_splits_the_brier_score() -> None:
    table = judged()
    p, y = table["probability"].to_numpy(), table["event"].to_numpy(float)
    values, fitted = recalibration.isotonic(p, y)
    assert fitted[np.searchsorted(values, p)] == pytest.approx(table["isotonic"].to_numpy(), abs=1e-12)
    miscalibration, discrimination = recalibration.corp(p, y)
    assert miscalibration >= 0 <= discrimination
    whole = miscalibration - discrimination + y.mean() * (1 - y.mean())
    assert whole == pytest.approx(np.mean((p - y) ** 2), abs=1e-14)


def test_bins_have_about_as_many_answers_and_keep_ties_together() -> None:
    p = np.r_[np.full(50, 0.2), np.linspace(0.3, 0.9, 50)]
    codes = recalibration.equal_bins(p, 10)
    assert len(set(codes[:50])) == 1
    assert np.bincount(codes).tolist() == [50, 10, 10, 10, 10, 10]
    assert recalibration.equal_bins(np.full(7, 0.4), 10).tolist() == [0] * 7


def test_weights_of_the_logistic_fit_are_numbers_of_answers() -> None:
    p, y = simulated(150, 3)
    times = np.random.default_rng(1).integers(0, 4, 150)
    again = np.repeat(np.arange(150), times)
    x = np.column_stack([np.ones(150), logits(p)])
    weighted = recalibration.logistic(x, np.zeros(150), y, times[None, :].astype(float))
    repeated = recalibration.logistic(x[again], np.zeros(len(again)), y[again], np.ones((1, len(again))))
    assert weighted[0] == pytest.approx(repeated[0], abs=1e-9)
    gradient = x.T @ (times * (y - expit(x @ weighted[0])))
    assert gradient == pytest.approx([0, 0], abs=1e-6)


def test_corrected_calibration_errors_have_less_bias_than_plain_ones() -> None:
    plain, debiased, squares = [], [], []
    for seed in range(300):
        p, y = simulated(200, seed, 0.3)
        truth = np.abs(expit(0.3 + logits(p)) - p)
        found = recalibration.binned(*sums(recalibration.equal_bins(p, 10), p, y, 10))
        plain.append(found["ece"][0] - truth.mean())
        debiased.append(found["ece_debiased"][0] - truth.mean())
        calm, event = simulated(200, seed)
        squares.append(
            recalibration.binned(*sums(recalibration.equal_bins(calm, 10), calm, event, 10))["reliability"][0]
        )
    assert np.mean(plain) > 0.02
    assert abs(np.mean(debiased)) < 0.5 * np.mean(plain)
    assert np.mean(squares) < 0.002  # uncorrected: 10 bins of variance .15 / 20, on average .0075


def test_answers_about_one_unit_share_their_outcome_in_the_band() -> None:
    p, _ = simulated(100, 1)
    once = np.subtract(*recalibration.consistency_band(p, np.arange(100), 0.1, 200, 1)[::-1])
    many = np.repeat(p, 4) + np.tile(np.arange(4) * 1e-9, 100)
    copied = np.subtract(
        *recalibration.consistency_band(many, np.repeat(np.arange(100), 4), 0.1, 200, 1)[::-1]
    )
    alone = np.subtract(*recalibration.consistency_band(many, np.arange(400), 0.1, 200, 1)[::-1])
    assert copied.mean() == pytest.approx(once.mean(), rel=0.15)
    assert alone.mean() < 0.8 * once.mean()


def test_ends_of_the_band_of_equal_probabilities_are_quantiles_of_a_binomial_share() -> None:
    lower, upper = recalibration.consistency_band(np.full(100, 0.5), np.arange(100), 0.1, 2000, 1)
    assert [lower[0], upper[0]] == pytest.approx(binom.ppf([0.05, 0.95], 100, 0.5) / 100, abs=0.011)


def test_several_classes_are_judged_by_the_probability_of_the_given_label() -> None:
    rng = np.random.default_rng(5)
    given = rng.dirichlet([1, 1, 1], 200)
    gold = np.array([rng.choice(3, p=row) for row in given])
    full, own = (
        calibration(scored(given, gold), draws=0),
        calibration(scored(given, gold, own_only=True), draws=0),
    )
    assert set(full.frame["event"]) == {"given label"}
    assert full.frame["estimate"].tolist() == pytest.approx(own.frame["estimate"].tolist(), abs=1e-12)
    brier = full.frame.set_index("metric").loc["brier", "estimate"]
    assert brier == pytest.approx(np.mean((given.max(axis=1) - (given.argmax(axis=1) == gold)) ** 2))


def test_extra_tables_are_the_curve_the_bins_and_the_parts_without_bins() -> None:
    p, y = simulated(150, 8)
    made = calibration(of_events(p, y), draws=50, bins=5)
    curve, bins, parts = (made.extra[name] for name in ("curve", "bins", "corp"))
    assert curve["estimate"].is_monotonic_increasing
    assert (curve["lower"] <= curve["upper"]).all()
    assert bins["n_answers"].tolist() == [30] * 5
    assert bins["lower"].le(bins["estimate"]).all()
    one = parts.iloc[0]
    assert one["brier"] == pytest.approx(one["miscalibration"] - one["discrimination"] + one["uncertainty"])
    frame = made.frame.set_index("metric")
    assert frame.loc["brier", "estimate"] == pytest.approx(one["brier"])
    assert (frame["lower"] <= frame["upper"]).all()
    assert frame.loc["ece_debiased", "lower"] >= 0


@pytest.mark.long
def test_degenerate_probabilities_and_outcomes_have_what_is_defined() -> None:
    p, y = simulated(80, 2)
    constant = calibration(of_events(p, np.ones(80)), draws=20)
    found = constant.frame.set_index("metric")["estimate"]
    assert found[["calibration_slope", "calibration_intercept", "calibration_in_the_large"]].isna().all()
    assert found["uncertainty"] == 0 == found["resolution"]
    assert found["brier"] == pytest.approx(np.mean((1 - p) ** 2))
    assert noted(constant, "no calibration slope, since all outcomes are equal")
    equal = calibration(of_events(np.full(80, 0.5), y), draws=20)
    found = equal.frame.set_index("metric")["estimate"]
    assert np.isnan(found["calibration_slope"])
    assert found["calibration_in_the_large"] == pytest.approx(np.log(y.mean() / (1 - y.mean())))
    assert noted(equal, "the probabilities separate outcomes, or are equal")
    assert len(equal.extra["curve"]) == 1 == len(equal.extra["bins"])
    sure = calibration(of_events(y, y), draws=20)
    found = sure.frame.set_index("metric")["estimate"]
    assert found["brier"] == 0 == found["ece_debiased"]
    assert np.isnan(found["calibration_slope"])
    assert noted(sure, "80 of 80 probabilities are closer to 0 or 1 than 1e-06")
    assert calibration(of_events(p[:1], y[:1]), draws=20).frame["lower"].isna().all()


def test_labels_without_probabilities_and_impossible_options_are_refused() -> None:
    p, y = simulated(30, 2)
    made = of_events(p, y)
    with pytest.raises(InputError, match="bins is 1; give 2 or more"):
        calibration(made, bins=1)
    for columns, message in (({}, "no"), ({"probability": [0.5, 1.2]}, "must be between 0 and 1")):
        with pytest.raises(InputError, match=message):
            calibration(score(answers_to("ab", "x", **columns), gold_of("ab", ["x", "y"])))
