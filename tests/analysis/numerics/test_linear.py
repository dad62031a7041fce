"""The regressions on cells against plain numpy and statsmodels on rows."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from conjury.analysis.numerics.linear import independent_columns, invert_in_order, least_squares, logistic
from conjury.analysis.numerics.sandwich import sandwich, small_sample_scale

RNG = np.random.default_rng(11)
DESIGN = np.column_stack([np.ones(30), RNG.integers(0, 2, (30, 4))]).astype(float)
WEIGHT = RNG.random(30) + 0.5
MEAN = RNG.random(30)


def test_least_squares_solves_the_normal_equations() -> None:
    fit = least_squares(DESIGN, WEIGHT, WEIGHT * MEAN)
    root = np.sqrt(WEIGHT)
    expected, *_ = np.linalg.lstsq(DESIGN * root[:, None], MEAN * root, rcond=None)
    np.testing.assert_allclose(fit.coef, expected, rtol=1e-11)
    np.testing.assert_allclose(fit.bread, np.linalg.inv(DESIGN.T @ (DESIGN * WEIGHT[:, None])), rtol=1e-9)
    np.testing.assert_allclose(fit.fitted, DESIGN @ expected, rtol=1e-11)
    assert fit.null.shape == (5, 0)


def test_logistic_regression_finds_the_maximum_of_the_likelihood() -> None:
    fit = logistic(DESIGN, WEIGHT, WEIGHT * MEAN)
    np.testing.assert_allclose(DESIGN.T @ (WEIGHT * (MEAN - fit.fitted)), 0, atol=1e-9)
    peer = sm.GLM(MEAN, DESIGN, family=sm.families.Binomial(), var_weights=WEIGHT).fit(tol=1e-13)
    np.testing.assert_allclose(fit.coef, peer.params, rtol=1e-8)
    np.testing.assert_allclose(fit.bread, peer.normalized_cov_params, rtol=1e-7)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("solve", [least_squares, logistic])
def test_the_scale_of_weights_moves_no_coefficient(solve, factor: float) -> None:
    plain = solve(DESIGN, WEIGHT, WEIGHT * MEAN)
    scaled = solve(DESIGN, WEIGHT * factor, WEIGHT * factor * MEAN)
    np.testing.assert_allclose(scaled.coef, plain.coef, rtol=1e-9)
    np.testing.assert_allclose(scaled.bread * factor, plain.bread, rtol=1e-9)


def test_a_separated_level_is_set_aside_and_leaves_the_other_logits_alone() -> None:
    level = np.repeat([1.0, 0.0], 15)
    total = np.where(level == 1, 0.0, WEIGHT * MEAN)
    fit = logistic(np.column_stack([DESIGN[:, :2], level]), WEIGHT, total)
    rest = logistic(DESIGN[15:, :2], WEIGHT[15:], total[15:])
    np.testing.assert_array_equal(fit.used, level == 0)
    np.testing.assert_array_equal(fit.fitted[:15], 0)
    np.testing.assert_allclose(fit.coef[:2], rest.coef, rtol=1e-12)
    np.testing.assert_allclose(fit.null.ravel(), [0, 0, 1], atol=1e-12)


def test_dependent_and_empty_columns_are_left_out_and_columns_of_any_size_kept() -> None:
    design = np.column_stack([DESIGN, DESIGN[:, 1] + DESIGN[:, 2], DESIGN[:, 3]])
    gram = design.T @ design
    np.testing.assert_array_equal(independent_columns(gram), [True] * 5 + [False] * 2)
    inverse, null = invert_in_order(gram)
    assert not inverse[5:].any()
    np.testing.assert_allclose(design @ null, 0, atol=1e-10)
    assert null.shape == (7, 2)
    np.testing.assert_array_equal(independent_columns(np.diag([2.0, 0.0, 3.0])), [True, False, True])
    scale = np.array([1e-6, 1, 1e6, 1, 1e-3])
    assert independent_columns((DESIGN * scale).T @ (DESIGN * scale)).all()


def test_the_sandwich_has_the_factor_of_the_survey_package() -> None:
    bread, middle = np.diag([1.0, 2.0]), np.array([[3.0, 1.0], [1.0, 4.0]])
    found = sandwich(bread, middle, small_sample_scale(np.array([5, 5])))
    np.testing.assert_allclose(found, 5 / 4 * bread @ middle @ bread)
    mixed = sandwich(bread, middle, small_sample_scale(np.array([5, 9])))
    np.testing.assert_allclose(mixed[0, 1], np.sqrt(5 / 4 * 9 / 8) * 2)
    np.testing.assert_array_equal(np.isnan(small_sample_scale(np.array([1, 2]))), [True, False])
