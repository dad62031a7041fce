"""Confidence sequences: the boundary of the published formula, and coverage at all sample sizes together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats

from conjury.analysis.conjoint import amce
from conjury.analysis.conjoint import sequential as sequential_effects
from conjury.analysis.numerics.intervals.confidence_sequences import (
    FEWEST,
    half_widths,
    mixture_scale,
    p_values,
)
from conjury.analysis.raters import means, sequential

RUNS, UNITS = 800, 3_000


def mixture_ratio(mean: float, units: float, rho: float) -> float:
    """Likelihood ratio of a N(0, rho^2) mixture of means against mean 0, at unit variance, by integration."""
    total = mean * units

    def density(effect: float) -> float:
        return float(
            np.exp(min(effect * total - units * effect**2 / 2, 700)) * stats.norm.pdf(effect, scale=rho)
        )

    near, spread = total / (units + 1 / rho**2), 12 / np.sqrt(units)
    return integrate.quad(density, near - spread, near + spread, points=[near], epsabs=0, epsrel=1e-10)[0]


@pytest.mark.parametrize(
    ("units", "target", "alpha"), [(120, 500, 0.05), (500, 500, 0.05), (4_000, 300, 0.1)]
)
def test_the_limit_is_the_mean_at_which_the_mixture_reaches_one_over_alpha(units, target, alpha):
    rho = mixture_scale(target, alpha)
    limit = optimize.brentq(lambda mean: np.log(mixture_ratio(mean, units, rho)) + np.log(alpha), 0.0, 1.0)
    assert half_widths(1.0, units, alpha, target) == pytest.approx(limit, rel=1e-6)
    assert half_widths(9.0, units, alpha, target) == pytest.approx(3 * limit, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_no_other_mixture_is_narrower_at_the_target(alpha):
    target = 400
    grid = np.array([float(half_widths(1.0, target, alpha, other)) for other in range(50, 3_000, 5)])
    found = float(half_widths(1.0, target, alpha, target))
    assert grid.min() * (1 - 1e-12) <= found <= grid.min() * 1.001
    assert min(grid[0], grid[-1]) > found * 1.02


def test_p_values_are_the_level_at_which_the_interval_ends_at_zero():
    estimate, variance, units, target = np.array([0.3, 0.1]), np.array([1.2, 0.8]), np.array([150, 900]), 500
    p = p_values(estimate, variance, units, target, 0.05)
    rho = mixture_scale(target, 0.05)
    means = estimate / np.sqrt(variance)
    ratios = [mixture_ratio(mean, n, rho) for mean, n in zip(means, units, strict=True)]
    assert p == pytest.approx(1 / np.array(ratios), rel=1e-6)
    excluded = np.abs(estimate) > half_widths(variance, units, 0.05, target)
    assert (excluded == (p < 0.05)).all()


def test_few_units_have_no_limits():
    units, few = np.array([0, 1, FEWEST - 1, FEWEST]), [True, True, True, False]
    assert np.isinf(half_widths(1.0, units, 0.05, 500)).tolist() == few
    assert (p_values(np.full(4, 9.0), np.ones(4), units, 500, 0.05) == 1).tolist() == few


@pytest.mark.parametrize("share", [0.5, 0.15])
def test_sequences_cover_at_all_sample_sizes_and_fixed_intervals_do_not(share):
    draws = (np.random.default_rng(3).random((RUNS, UNITS)) < share).astype(float)
    units = np.arange(1, UNITS + 1)
    mean = np.cumsum(draws, axis=1) / units
    variance = mean * (1 - mean)
    off = np.abs(mean - share)
    sequence = half_widths(variance, units, 0.05, 500)
    seen = units >= FEWEST
    missed = (off > sequence)[:, seen].any(axis=1).mean()
    peeked = (off > 1.96 * np.sqrt(variance / units))[:, seen].any(axis=1).mean()
    assert missed <= 0.05
    assert peeked > 0.25


def test_sequences_of_an_outcome_with_two_values_begin_at_twenty_of_the_rarer_one() -> None:
    rows = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "dimension": "d", "item_id": range(600)})
    rows = rows.assign(value=(np.arange(600) % 20 == 0).astype(int), tone=np.tile(["a", "b", "b", "a"], 150))
    path = sequential(means, rows, looks=[300, 600], draws=50).frame
    assert np.isfinite(path["upper"]).tolist() == [False, True]
    rows["tone"] = pd.Categorical(np.where(np.arange(600) // 20 % 2, "x", "y"))
    effects = sequential_effects(amce, rows, "value ~ tone", id="item_id", looks=[300, 600]).frame
    assert not np.isfinite(effects["upper"][effects["level"] == "y"]).any()  # 15 of each level at most
    often = rows.assign(value=(np.arange(600) % 5 == 0).astype(int))
    effects = sequential_effects(amce, often, "value ~ tone", id="item_id", looks=[300, 600]).frame
    assert np.isfinite(effects["upper"][effects["level"] == "y"]).all()
