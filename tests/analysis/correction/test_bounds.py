"""Intervals for a parameter between two bounds, and tipping shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from conjury.analysis.correction import covering_interval, tipping_share
from conjury.analysis.correction.bounds import critical_value
from conjury.inference.errors import InputError


@pytest.mark.parametrize(
    ("width", "alpha"), [(0.0, 0.05), (0.01, 0.05), (0.05, 0.1), (0.2, 0.01), (3.0, 0.05)]
)
def test_the_critical_value_solves_the_equation_of_imbens_and_manski(width, alpha):
    lower, upper, errors = np.array([0.3]), np.array([0.3 + width]), (np.array([0.04]), np.array([0.02]))
    low, high = covering_interval(lower, upper, *errors, alpha=alpha)
    critical = (lower - low) / errors[0]
    assert (high - upper) / errors[1] == pytest.approx(critical)
    assert norm.cdf(critical + width / 0.04) - norm.cdf(-critical) == pytest.approx(1 - alpha, abs=1e-10)


def test_the_interval_is_two_sided_where_bounds_coincide_and_one_sided_where_they_are_far_apart():
    zero, far, one = np.zeros(1), np.full(1, 100.0), np.ones(1)
    assert covering_interval(zero, zero, one, one)[1] == pytest.approx(norm.ppf(0.975))
    assert covering_interval(zero, far, one, one)[0] == pytest.approx(-norm.ppf(0.95))
    df = np.full(1, 4.0)
    assert covering_interval(zero, zero, one, one, df=df)[1] == pytest.approx(t.ppf(0.975, 4))
    assert covering_interval(zero, 1e9 * one, one, one, df=df)[0] == pytest.approx(-t.ppf(0.95, 4))


def test_an_interval_without_a_standard_error_is_missing_and_one_without_error_ends_at_the_bounds():
    ends = np.array([0.2, 0.2]), np.array([0.5, 0.5]), np.array([np.nan, 0.0]), np.array([0.1, 0.0])
    lower, upper = covering_interval(*ends)
    assert np.isnan(lower[0])
    assert (lower[1], upper[1]) == (0.2, 0.5)


def test_exchanged_bounds_are_refused():
    with pytest.raises(InputError, match="lower bound exceeds its upper bound"):
        covering_interval(np.ones(1), np.zeros(1), np.ones(1), np.ones(1))


def test_tipping_shares_interpolate_to_the_worst_completion():
    answered = np.array([0.2, -0.2, 0.2, 0.0, 0.6])
    least, largest = np.array([-0.2, -0.4, 0.1, -1, 0.4]), np.array([0.4, 0.6, 0.3, 1, 0.7])
    found = tipping_share(answered, least, largest, np.array([0, 0, 0, 0, 0.5]))
    np.testing.assert_allclose(found, [0.5, 0.25, np.nan, 0.0, 0.5])


def test_bounds_that_coincide_without_error_have_the_two_sided_critical_value():
    one, zero = np.ones(1), np.zeros(1)
    assert critical_value(one, one, zero, zero) == pytest.approx(norm.ppf(0.975))
    assert critical_value(zero, one, zero, zero) == pytest.approx(norm.ppf(0.95))
