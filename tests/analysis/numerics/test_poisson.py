"""Weights from hashes: Poisson, alike everywhere, and independent of each other."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import scipy.stats

from conjury.analysis.numerics.poisson import STEPS, crossed_weights, poisson_weights, states_of

NAMES = [str(number) for number in range(20_000)]


def test_numbers_are_those_of_splitmix64() -> None:
    # The first number of the generator whose state is 0: 0xE220A8397B1DCDAF, its low half first.
    first = np.array([0x7B1DCDAF, 0xE220A839])
    expected = [int((half >= STEPS).sum()) for half in first]
    assert poisson_weights(np.zeros(1, np.uint64), 2).tolist() == [expected]


def test_weights_of_a_name_never_change() -> None:
    weights = poisson_weights(states_of(["1", "anna", "Zoë"], seed=1), 12)
    assert weights.tolist() == PINNED
    np.testing.assert_array_equal(poisson_weights(states_of(["anna"], seed=1), 5)[0], weights[1, :5])


PINNED = [
    [0, 1, 2, 1, 1, 1, 1, 0, 1, 1, 2, 0],
    [2, 1, 1, 3, 2, 0, 3, 2, 0, 0, 2, 0],
    [0, 1, 0, 1, 1, 3, 1, 0, 0, 0, 3, 1],
]


def test_steps_are_the_distribution_function_of_a_poisson_variable_to_32_bits() -> None:
    getcontext().prec = 50
    term, total, expected = Decimal(1), Decimal(0), []
    for k in range(len(STEPS)):
        term = term / k if k else term
        total += term
        expected.append(int((total * Decimal(-1).exp() * 2**32).to_integral_value()))
    assert STEPS.tolist() == expected


def test_weights_are_poisson_and_uncorrelated_between_units_and_draws() -> None:
    weights = poisson_weights(states_of(NAMES, seed=3), 100).astype(float)
    counts = np.bincount(weights.ravel().astype(int), minlength=8)
    expected = scipy.stats.poisson.pmf(np.arange(7), 1) * weights.size
    observed, expected = [*counts[:7], counts[7:].sum()], [*expected, weights.size - expected.sum()]
    assert scipy.stats.chisquare(observed, expected).pvalue > 1e-4
    between_draws = np.corrcoef(weights.T)[np.triu_indices(100, 1)]
    between_units = np.corrcoef(weights[:400])[np.triu_indices(400, 1)]
    assert abs(between_draws * np.sqrt(20_000)).max() < 5
    assert abs(np.std(between_units) * np.sqrt(99) - 1) < 0.02


def test_seeds_and_factors_have_weights_of_their_own() -> None:
    one = poisson_weights(states_of(NAMES, seed=1), 3)
    for other in (states_of(NAMES, seed=2), states_of(NAMES, seed=1, factor=1)):
        assert abs(np.corrcoef(one[:, 0], poisson_weights(other, 3)[:, 0])[0, 1]) < 5 / np.sqrt(20_000)


def test_crossed_units_weigh_the_product_of_their_factors() -> None:
    states = np.stack([states_of(NAMES[:50], 1), states_of(NAMES[:50], 1, factor=1)], axis=1)
    expected = poisson_weights(states[:, 0], 7).astype(int) * poisson_weights(states[:, 1], 7)
    np.testing.assert_array_equal(crossed_weights(states, 7), expected)
