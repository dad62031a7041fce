"""The likelihood of paired choices, its gradient, and effects averaged from it, against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from conjury.analysis.conjoint.bayes.engine import Part, averages, thinned
from conjury.analysis.conjoint.bayes.paired import ChoiceDraws, Pairs, unpacked

Floats = NDArray[np.float64]


def _pairs(rng: np.random.Generator, n: int = 40, raters: int = 3) -> Pairs:
    """Two attributes: of three levels (dummies 0 and 1) and of two (dummy 2)."""
    sides = []
    for _ in range(2):
        level = rng.integers(0, 3, n)
        sides.append(np.column_stack([level == 1, level == 2, rng.integers(0, 2, n)]).astype(float))
    rater = rng.integers(0, raters, n) if raters else np.full(n, -1)
    return Pairs(
        sides[0],
        sides[1],
        rng.random(n) < 0.5,
        rater,
        ("a1", "a2", "b1"),
        tuple(map(str, range(raters))),
        True,
    )


@pytest.mark.parametrize("raters", [0, 3])
def test_likelihood_and_gradient_are_those_of_the_logit(raters: int) -> None:
    pytest.importorskip("numba")
    from conjury.analysis.conjoint.bayes.kernel import log_likelihood

    rng = np.random.default_rng(raters)
    pairs = _pairs(rng, raters=raters)
    position, mean, own = 0.3, rng.normal(size=3), rng.normal(size=(raters, 3))
    difference = pairs.first - pairs.second
    sign = np.where(pairs.chosen, 1, -1)

    def by_hand(position: float, mean: Floats, own: Floats) -> float:
        worth = mean + (own[pairs.rater] if raters else 0.0)
        probability = expit(position + (difference * worth).sum(axis=1))
        return float(np.log(np.where(pairs.chosen, probability, 1 - probability)).sum())

    value, by_position, by_mean, by_own = log_likelihood(
        np.array([position]), mean, own, difference, sign, pairs.rater
    )
    assert value == pytest.approx(by_hand(position, mean, own), rel=1e-12)
    step = 1e-6
    moved = (by_hand(position + step, mean, own) - by_hand(position - step, mean, own)) / (2 * step)
    assert by_position[0] == pytest.approx(moved, rel=1e-6, abs=1e-7)
    for k in range(3):
        e = step * np.eye(3)[k]
        moved = (by_hand(position, mean + e, own) - by_hand(position, mean - e, own)) / (2 * step)
        assert by_mean[k] == pytest.approx(moved, rel=1e-6, abs=1e-7)
        for r in range(raters):
            change = np.zeros_like(own)
            change[r, k] = step
            moved = (by_hand(position, mean, own + change) - by_hand(position, mean, own - change)) / (
                2 * step
            )
            assert by_own[r, k] == pytest.approx(moved, rel=1e-6, abs=1e-7)


def test_likelihood_of_extreme_utilities_stays_finite() -> None:
    pytest.importorskip("numba")
    from conjury.analysis.conjoint.bayes.kernel import log_likelihood

    design = np.array([[1.0], [1.0]])
    value, _, slope, _ = log_likelihood(
        np.zeros(1), np.array([900.0]), np.zeros((0, 1)), design, np.array([1, -1]), np.array([-1, -1])
    )
    assert value == pytest.approx(-900.0)
    assert slope[0] == pytest.approx(-1.0)


def _counterfactual(
    pairs: Pairs, worth: Floats, position: float, columns: list[int], values: list[float]
) -> float:
    """Mean probability of being chosen with some dummies replaced, profile by profile."""
    total = []
    for i in range(len(pairs.chosen)):
        for side in (0, 1):
            shown = [pairs.first[i].copy(), pairs.second[i].copy()]
            shown[side][columns] = values
            first = expit(position + shown[0] @ worth - shown[1] @ worth)
            total.append(first if side == 0 else 1 - first)
    return float(np.mean(total))


def test_amces_are_mean_changes_over_both_profiles_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    pairs = _pairs(rng, raters=0)
    worth, position = np.array([0.8, -1.2, 0.5]), np.array([0.4, -0.2])
    draws = ChoiceDraws(position[None], np.stack([worth, 2 * worth])[None], None)
    effects = [
        [Part(1.0, (0, 1), (0.0, 1.0)), Part(-1.0, (0, 1), (0.0, 0.0))],
        [
            Part(sign / 2, (0, 1, 2), (level, 0.0, b))
            for sign, level in ((1, 1.0), (-1, 0.0))
            for b in (0.0, 1.0)
        ],
    ]
    found = averages(draws, pairs, effects, rng)[0]
    for number, scale in enumerate((1, 2)):
        own = scale * worth
        at = float(position[number])
        first = _counterfactual(pairs, own, at, [0, 1], [0, 1]) - _counterfactual(
            pairs, own, at, [0, 1], [0, 0]
        )
        assert found[number, 0] == pytest.approx(first, rel=1e-12)
        second = np.mean(
            [
                _counterfactual(pairs, own, at, [0, 1, 2], [1, 0, b])
                - _counterfactual(pairs, own, at, [0, 1, 2], [0, 0, b])
                for b in (0, 1)
            ]
        )
        assert found[number, 1] == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize("correlated", [False, True])
def test_effects_are_averaged_over_raters_drawn_from_the_population(correlated: bool) -> None:
    rng = np.random.default_rng(7)
    pairs = _pairs(rng, n=60, raters=2)
    mean, spread = np.array([0.8, -1.2, 0.5]), np.array([1.5, 0.2, 1.0])
    factor = np.diag(spread)
    if correlated:
        factor[2, 0] = 1.2
    stacked = np.broadcast_to(
        factor if correlated else spread, (1, 400, *(factor if correlated else spread).shape)
    )
    draws = ChoiceDraws(np.zeros((1, 400)), np.broadcast_to(mean, (1, 400, 3)), stacked)
    effect = [[Part(1.0, (0, 1), (1.0, 0.0)), Part(-1.0, (0, 1), (0.0, 0.0))]]
    found = averages(draws, pairs, effect, rng).mean()
    people = mean + np.random.default_rng(8).standard_normal((4000, 3)) @ factor.T
    each = [
        _counterfactual(pairs, own, 0.0, [0, 1], [1, 0]) - _counterfactual(pairs, own, 0.0, [0, 1], [0, 0])
        for own in people[:400]
    ]
    assert found == pytest.approx(np.mean(each), abs=4 * np.std(each) / 20)


def test_thinning_takes_draws_of_every_chain() -> None:
    draws = ChoiceDraws(np.arange(20.0).reshape(2, 10), np.zeros((2, 10, 1)), None)
    assert thinned(draws, 8).position.tolist() == [[0, 2, 4, 6, 8], [10, 12, 14, 16, 18]]
    assert thinned(draws, 100).position.shape == (2, 10)


def test_packed_factors_fill_the_lower_triangle_row_by_row() -> None:
    assert unpacked(np.arange(1.0, 7.0), 3).tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
