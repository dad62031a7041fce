"""Performance measures and their Monte Carlo errors against formulas worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from conjury.analysis.numerics import performance
from conjury.analysis.numerics.performance import MEASURES, Draws

# Four draws of an estimator of 1: errors -1, 0, 1, 2.
ESTIMATE = np.array([0.0, 1.0, 2.0, 3.0])
STD_ERROR = np.array([1.0, 1.0, 2.0, 2.0])
HAND = Draws(
    truth=np.ones(4),
    estimate=ESTIMATE,
    std_error=STD_ERROR,
    lower=ESTIMATE - np.array([0.5, 2.0, 1.5, 1.5]),
    upper=ESTIMATE + np.array([0.5, 2.0, 1.5, 1.5]),
    p=np.array([0.9, 0.2, 0.01, 0.04]),
)
# Covered: draw 0 ends at 0.5 (no), 1 at [-1, 3] (yes), 2 at [0.5, 3.5] (yes), 3 begins at 1.5 (no). Moved by
# the bias 0.5, draw 0 ends at 0 (no), 1 is [-1.5, 2.5] (yes), 2 is [0, 3] (yes) and 3 begins at 1 (yes).
BY_HAND = {
    "bias": (0.5, np.sqrt(5 / (4 * 3))),
    "empirical_se": (np.sqrt(5 / 3), np.sqrt(5 / 3) / np.sqrt(6)),
    "model_se": (np.sqrt(2.5), np.sqrt(3 / (4 * 4 * 2.5))),
    "coverage": (0.5, np.sqrt(0.25 / 4)),
    "bias_eliminated_coverage": (0.75, np.sqrt(0.75 * 0.25 / 4)),
    "width": (2.75, np.sqrt((1.75**2 + 1.25**2 + 0.25**2 + 0.25**2) / 3 / 4)),
    "power": (0.5, np.sqrt(0.25 / 4)),
    "type_s": (0.0, 0.0),
    "type_m": (2.5, np.sqrt(0.5 / 2)),
    "failures": (0.0, 0.0),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_measures_and_their_errors_are_those_computed_by_hand(name: str) -> None:
    found = MEASURES[name](HAND)
    assert (found.value, found.mc_error) == pytest.approx(BY_HAND[name])


def test_the_error_of_the_rmse_is_the_jackknife() -> None:
    found = MEASURES["rmse"](HAND)
    squares = [1.0, 0.0, 1.0, 4.0]
    left = [np.sqrt(np.mean(squares[:k] + squares[k + 1 :])) for k in range(4)]
    assert found.value == pytest.approx(np.sqrt(1.5))
    assert found.mc_error == pytest.approx(np.sqrt(3 / 4 * np.sum((left - np.mean(left)) ** 2)))


def test_the_relative_error_of_standard_errors_has_the_error_of_a_ratio() -> None:
    found, empirical, modelled = (
        MEASURES[name](HAND) for name in ("model_se_error", "empirical_se", "model_se")
    )
    ratio = modelled.value / empirical.value
    relative = np.hypot(modelled.mc_error / modelled.value, empirical.mc_error / empirical.value)
    assert (found.value, found.mc_error) == pytest.approx((ratio - 1, ratio * relative))


def test_significant_estimates_exaggerate_as_the_truncated_normal_does() -> None:
    """The winner's curse: power, wrong signs and exaggeration of a weak effect have closed forms."""
    effect, error, n = 1.0, 1.0, 400_000
    estimate = np.random.default_rng(2).normal(effect, error, n)
    limit = norm.isf(0.025) * error
    known = np.full(n, np.nan)
    draws = Draws(np.full(n, effect), estimate, np.full(n, error), estimate - limit, estimate + limit, known)
    high, low = norm.sf(limit - effect), norm.cdf(-limit - effect)
    mean = effect * (high - low) + norm.pdf(limit - effect) + norm.pdf(-limit - effect)
    expected = {"power": high + low, "type_s": low / (high + low), "type_m": mean / (high + low) / effect}
    assert expected["type_m"] > 2
    for name, value in expected.items():
        found = MEASURES[name](draws)
        assert found.value == pytest.approx(value, abs=4 * found.mc_error), name


def test_draws_without_estimates_count_as_failures_alone() -> None:
    known = np.array([1.0, np.nan, 1.0, np.nan])
    draws = Draws(np.ones(4), known, known, known - 1, known + 1, known * 0.5)
    assert MEASURES["failures"](draws).value == 0.5
    assert MEASURES["bias"](draws).value == 0.0
    assert MEASURES["coverage"](draws).mc_error == 0.0
    nothing = Draws(np.ones(2), *[np.full(2, np.nan)] * 5)
    for name in set(MEASURES) - {"failures"}:
        assert np.isnan(MEASURES[name](nothing).value), name


def test_without_a_true_value_power_is_known_and_bias_is_not_and_without_p_intervals_decide() -> None:
    draws = replace(HAND, truth=np.full(4, np.nan))
    assert MEASURES["power"](draws).value == 0.5
    for name in ("bias", "coverage", "bias_eliminated_coverage", "type_s", "type_m"):
        assert np.isnan(MEASURES[name](draws).value), name
    draws = replace(HAND, p=np.full(4, np.nan))
    assert MEASURES["power"](draws).value == 0.5  # draws 2 and 3 exclude 0
    assert performance.share(draws.rejects).value == 0.5


def test_one_draw_has_no_spread() -> None:
    draws = Draws(*[np.ones(1)] * 6)
    assert np.isnan(MEASURES["empirical_se"](draws).value)
    assert np.isnan(MEASURES["bias"](draws).mc_error)
