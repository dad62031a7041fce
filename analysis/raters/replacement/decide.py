"""From comparisons to a verdict: tests of every annotator, false discoveries bounded, rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr

from conjury.inference.errors import InputError

from ...adjustment import adjusted
from ..ratings import Floats
from .scoring import Mask

Multiplicity = Literal["by", "bh", "holm", "none"]
PASSING = 0.5  # share of annotators to win against
NO_SPREAD = 1e-9  # a standard error below it is rounding


@dataclass(frozen=True)
class Evidence:
    """What the comparisons with each of J annotators say; every array has shape (..., J).

    Attributes
    ----------
    n, clusters : ndarray
        Comparisons, and clusters of items that they come from.
    rho_model, rho_human : ndarray
        Share of items where the model's (the person's) score is at least the other's.
    difference : ndarray
        ``rho_human - rho_model``.
    std_error : ndarray
        Of the difference, robust to clusters; NaN with fewer than two clusters.
    """

    n: Floats
    clusters: Floats
    rho_model: Floats
    rho_human: Floats
    difference: Floats
    std_error: Floats


def evidence(sums: Floats) -> Evidence:
    """Means and standard errors from the sums of `weighted_sums`, shape (..., J, 7).

    Where each item is its own cluster, the standard error is that of the mean of a sample.
    """
    n, wins, apart, apart_squared, apart_n, n_squared, clusters = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference, rho = apart / n, wins / n
        squares = apart_squared - 2 * difference * apart_n + difference**2 * n_squared
        variance = np.maximum(squares, 0.0) * (clusters / (clusters - 1)) / n**2
    std_error = np.where(clusters > 1, np.sqrt(variance), np.nan)
    return Evidence(n, clusters, rho, rho + difference, difference, std_error)


def p_values(found: Evidence, epsilon: float) -> Floats:
    """Test, annotator by annotator, that the person is ahead by ``epsilon`` or more; one-sided t test.

    Without spread in the differences, p is 0 where they are below ``epsilon``, else 1.
    """
    distance = found.difference - epsilon
    spread = found.std_error > NO_SPREAD
    with np.errstate(divide="ignore", invalid="ignore"):
        t = distance / found.std_error
        p = np.where(spread, stdtr(found.clusters - 1, t), (distance > -NO_SPREAD).astype(float))
    return np.where(np.isfinite(found.std_error), p, np.nan)


def adjust(p: Floats, multiplicity: Multiplicity) -> Floats:
    """Adjust p values, shape (..., J), for the J tests of the last axis, as `adjustment.adjusted` does."""
    return p if multiplicity == "none" else adjusted(p, multiplicity)


def check_multiplicity(multiplicity: str) -> None:
    """Refuse a correction that there is not."""
    known = get_args(Multiplicity)
    if multiplicity not in known:
        raise InputError(f"multiplicity is {multiplicity!r}; use one of {', '.join(known)}.")


@dataclass(frozen=True)
class Verdict:
    """Tests of J annotators and what follows; p values (..., J), the rest (...)."""

    p: Floats
    p_adjusted: Floats
    wins: Mask
    winning_rate: Floats


def verdict(found: Evidence, epsilon: float, q_fdr: float, multiplicity: Multiplicity) -> Verdict:
    """Count the annotators against whom the model wins; NaN where no annotator can be tested."""
    p = p_values(found, epsilon)
    adjusted = adjust(p, multiplicity)
    wins = adjusted <= q_fdr
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = wins.sum(axis=-1) / np.isfinite(p).sum(axis=-1)
    return Verdict(p, adjusted, wins, rate)


def smallest_epsilon(found: Evidence, q_fdr: float, multiplicity: Multiplicity) -> Floats:
    """Smallest epsilon with which the model passes, by bisection; NaN where it needs more than 1.

    A negative one says that the model passes with room: people would be allowed an advantage.
    """
    low = np.full(found.difference.shape[:-1], -1.0)
    high = np.full_like(low, 1.0)
    reachable = passes_at(found, high, q_fdr, multiplicity)
    for _ in range(34):
        middle = (low + high) / 2
        passed = passes_at(found, middle, q_fdr, multiplicity)
        high = np.where(passed, middle, high)
        low = np.where(passed, low, middle)
    return np.where(reachable, high, np.nan)


def passes_at(found: Evidence, epsilon: Floats, q_fdr: float, multiplicity: Multiplicity) -> Mask:
    """Whether each of (...) models passes with its epsilon."""
    shifted = Evidence(
        found.n,
        found.clusters,
        found.rho_model,
        found.rho_human,
        found.difference - epsilon[..., None],
        found.std_error,
    )
    return np.asarray(verdict(shifted, 0.0, q_fdr, multiplicity).winning_rate >= PASSING)


def only(found: Evidence, kept: Mask) -> Evidence:
    """Evidence without the annotators that are not ``kept``, shape (..., J)."""
    return Evidence(
        found.n,
        found.clusters,
        *(
            np.where(kept, values, np.nan)
            for values in (found.rho_model, found.rho_human, found.difference, found.std_error)
        ),
    )
