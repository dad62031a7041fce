"""How simulated labels are drawn: probabilities are met, and what is derived from them is so in the draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from conjury.inference.simulation.labels.asking import (
    categories,
    confusion,
    fleiss,
    panel_agreement,
    passes,
    persistent,
    shifted,
    uniforms,
)

N = 40_000


def asked_again(consistency: float, k: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    stays = persistent(rng.standard_normal(N), rng.standard_normal(N), np.full(N, 0.3))
    return np.array([uniforms(stays, rng.standard_normal(N), np.full(N, consistency)) for _ in range(k)])


@pytest.mark.parametrize("consistency", [0.0, 0.5, 0.95, 1.0])
def test_each_answer_is_as_likely_as_the_table_says_however_consistent(consistency):
    table = np.tile([0.3, 0.6, 0.1], (N, 1))
    for uniform in asked_again(consistency, 2):
        shares = np.bincount(categories(uniform, table), minlength=3) / N
        np.testing.assert_allclose(shares, [0.3, 0.6, 0.1], atol=0.015)


@pytest.mark.parametrize("consistency", [0.0, 0.6, 1.0])
def test_passes_are_those_of_draws(consistency):
    right = asked_again(consistency, 3) < 0.4
    lost = np.random.default_rng(4).standard_normal(N)
    fresh = np.random.default_rng(5).standard_normal((3, N))
    there = uniforms(lost, fresh, np.full(N, consistency)) >= 0.2
    found = passes(0.4, 0.2, consistency, 3)
    assert found[0] == pytest.approx((right & there).any(axis=0).mean(), abs=0.012)
    assert found[1] == pytest.approx((right & there).all(axis=0).mean(), abs=0.012)


def test_a_consistent_judge_gains_nothing_by_further_answers():
    assert passes(0.4, 0.0, 1.0, 5) == pytest.approx((0.4, 0.4), abs=0.002)
    assert passes(0.4, 0.0, 0.0, 5)[0] == pytest.approx(1 - 0.6**5, abs=1e-9)


def test_wrong_answers_go_where_the_pull_is():
    made, codes = confusion(np.array([0.5, 0.5]), np.array([[9.0, 3, 1], [9, 3, 0]]), np.array([0, 1]))
    np.testing.assert_allclose(made, [[0.5, 0.375, 0.125], [0.5, 0.5, 0.0]])
    assert codes.tolist() == [[0, 1, 2], [1, 0, 2]]


def test_an_effect_moves_accuracy_on_the_probit_scale_and_keeps_the_rest_in_proportion():
    plain = np.array([[[0.5, 0.4, 0.1]], [[1.0, 0.0, 0.0]]])
    moved = shifted(plain, np.array([-0.25, -0.25]))
    assert moved[0, 0, 0] == pytest.approx(ndtr(ndtri(0.5) - 0.25))
    assert moved[0, 0, 1] / moved[0, 0, 2] == pytest.approx(4)
    np.testing.assert_allclose(moved.sum(axis=2), 1)
    assert moved[1, 0].tolist() == [1, 0, 0]


def test_a_distinction_within_a_class_leaves_out_who_gave_another_answer() -> None:
    # Nine in ten stay out; of 2 people, pairs and single votes follow from the binomial distribution.
    sums = panel_agreement(np.array([0.9, 0.08, 0.02]), 0.0, [[1], [2]], 2)
    np.testing.assert_allclose(sums[1:3], [0.01, 0.19], atol=1e-9)
    observed, kappa = fleiss(sums)
    assert observed == pytest.approx(0.8**2 + 0.2**2)
    assert kappa == pytest.approx(0, abs=1e-9)
