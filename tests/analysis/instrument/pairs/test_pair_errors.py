"""Standard errors of rates and strengths from verdicts: those of leaving out one prompt after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from conjury.analysis.instrument.pairs.paired_models import fit_strengths
from conjury.analysis.instrument.pairs.verdict_reading import PairedVerdicts
from conjury.analysis.instrument.pairs.win_rates import bounded_rate, rate_at_peoples_length, win_rate

PROMPTS = 40


def verdicts(n_systems: int) -> PairedVerdicts:
    """Verdicts with ties on six pairs per prompt, of which the first systems win most; half in each order."""
    rng = np.random.default_rng(5)
    n = 6 * PROMPTS
    low, high = np.sort([rng.permutation(n_systems)[:2] for _ in range(n)], axis=1).T
    order, lengths = np.where(rng.random(n) < 0.6, 1.0, -1.0), rng.lognormal(5, 0.5, (2, n))
    gap = np.log(lengths[0] / lengths[1])
    effect = np.repeat(rng.normal(0, 0.7, PROMPTS), 6)  # of the prompt

    def points(eta: np.ndarray) -> np.ndarray:
        latent = eta + rng.logistic(size=n)
        return np.select([latent > 0.4, latent < -0.4], [1.0, 0.0], 0.5)

    people = points(effect + 0.3 * (high - low))
    judged = points(effect + 0.3 * (high - low) + 0.5 * order + 0.8 * gap)
    names = tuple("abcd"[:n_systems])
    return PairedVerdicts(
        names, low, high, judged, order, lengths, people, np.arange(n), np.repeat(np.arange(PROMPTS), 6)
    )


def jackknife(of: Callable[[PairedVerdicts], np.ndarray | float], data: PairedVerdicts) -> np.ndarray:
    values = np.array([of(data.rows(data.cluster != prompt)) for prompt in range(PROMPTS)])
    return np.sqrt((PROMPTS - 1) / PROMPTS * ((values - values.mean(axis=0)) ** 2).sum(axis=0))


@pytest.mark.parametrize("ties", ["half", "out", "modelled"])
def test_a_win_rate_and_that_at_peoples_length_have_the_error_of_leaving_prompts_out(ties: str) -> None:
    data = verdicts(2)
    rate = bounded_rate(win_rate(data, ties), data, 0.05)
    assert rate.std_error == pytest.approx(
        jackknife(lambda part: win_rate(part, ties).estimate[0], data), rel=0.03
    )

    def at_length(part: PairedVerdicts) -> float:
        bound = rate_at_peoples_length(win_rate(part, ties), part, 0.05)
        assert bound is not None
        return bound.estimate

    bound = rate_at_peoples_length(win_rate(data, ties), data, 0.05)
    assert bound is not None
    assert bound.std_error == pytest.approx(jackknife(at_length, data), rel=0.03)
    assert abs(bound.estimate - rate.estimate) > 1e-4


@pytest.mark.parametrize("ties", ["half", "out", "modelled"])
def test_strengths_and_rates_against_others_have_the_error_of_leaving_prompts_out(ties: str) -> None:
    data = verdicts(4)
    fit = fit_strengths(data, ties)
    rates, of_rates = fit.win_rates()
    assert rates.mean() == pytest.approx(0.5)
    assert (np.diff(rates) < 0).all()

    def numbers(part: PairedVerdicts) -> np.ndarray:
        found = fit_strengths(part, ties)
        further = [found.order, found.ties] if ties == "modelled" else [found.order]
        return np.concatenate([found.strength, further, found.win_rates()[0]])

    columns = 6 if ties == "modelled" else 5
    influence = np.column_stack([fit.influence[:, :columns], of_rates])
    sums = np.add.reduceat(influence, np.arange(0, len(influence), 6))
    error = np.sqrt((sums**2).sum(axis=0) * PROMPTS / (PROMPTS - 1))
    assert error == pytest.approx(jackknife(numbers, data), rel=0.06)
