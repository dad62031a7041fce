"""Power, type S and type M error of two-sided tests, and sizes at which a function reaches a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(96)
TAIL = 1e-14  # probability left off at either end of the distribution of standard errors
STEPS = 80  # halvings, more than exhaust the digits of a double
MANY = 1e7  # degrees of freedom from which the normal distribution stands for t


@dataclass(frozen=True)
class OperatingCharacteristics:
    """How a test behaves; every array has shape (m,)."""

    power: np.ndarray  # probability that the estimate is significant, whatever its sign
    right: np.ndarray  # probability that it is significant with the right sign
    type_s: np.ndarray  # share of significant estimates with the wrong sign
    type_m: np.ndarray  # mean of the absolute significant estimates, divided by the absolute effect


def satterthwaite(parts: tuple[np.ndarray, ...], dfs: tuple[np.ndarray, ...]) -> np.ndarray:
    """Degrees of freedom of a sum of independent variance estimates with their own degrees of freedom."""
    denominator = np.zeros(np.broadcast_shapes(*(np.shape(part) for part in parts)))
    for part, df in zip(parts, dfs, strict=True):
        denominator = denominator + part**2 / df
    with np.errstate(divide="ignore", invalid="ignore"):
        total_df: np.ndarray = np.where(denominator > 0, sum(parts) ** 2 / denominator, np.inf)
    return total_df


def operating(
    effect: np.ndarray, std_error: np.ndarray, alpha: np.ndarray | float, df: np.ndarray
) -> OperatingCharacteristics:
    """Power, type S and type M error of a two-sided test."""
    effect, std_error, alpha, df = (
        np.asarray(part, dtype=float) for part in np.broadcast_arrays(effect, std_error, alpha, df)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(effect) / std_error
    exact = df > MANY
    student = scipy.special.stdtrit(np.where(exact, 1.0, df), 1 - alpha / 2)
    critical = np.where(exact, scipy.special.ndtri(1 - alpha / 2), student)
    sums = _tails(z, critical)
    if not exact.all():
        nodes, weights = _error_nodes(df[~exact])
        averaged = _tails(z[~exact][:, None], critical[~exact][:, None] * nodes)
        for total, values in zip(sums, averaged, strict=True):
            total[~exact] = (values * weights).sum(axis=1)
    right, wrong, size = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return OperatingCharacteristics(
            right + wrong, right, wrong / (right + wrong), size / (z * (right + wrong))
        )


def solve_increasing(
    reached: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Solve ``reached(x) = 0`` for m increasing functions at once by bisection on the log scale."""
    never = ~(reached(high) >= 0)
    below, above = np.log(low), np.log(high)
    for _ in range(STEPS):
        middle = (below + above) / 2
        exhausted = (middle == below) | (middle == above)
        enough = reached(np.exp(middle)) >= 0
        below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        if exhausted.all():
            break
    return np.where(never, np.inf, np.exp(above))


def _tails(z: np.ndarray, critical: np.ndarray) -> list[np.ndarray]:
    """Right-signed and wrong-signed rejections, and mean absolute significant z, of a normal z."""
    right, wrong = scipy.special.ndtr(z - critical), scipy.special.ndtr(-z - critical)
    size = z * (right - wrong) + _density(z - critical) + _density(z + critical)
    return [np.array(right), np.array(wrong), np.array(size)]


def _density(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


def _error_nodes(df: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of estimated over true standard errors, both of shape (m, nodes)."""
    low = np.sqrt(2 * scipy.special.gammaincinv(df / 2, TAIL))
    high = np.sqrt(2 * scipy.special.gammainccinv(df / 2, TAIL))
    values = low[:, None] + (POINTS + 1) * (high - low)[:, None] / 2
    log_density = (df[:, None] - 1) * np.log(values) - values**2 / 2
    mass = WEIGHTS * np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return values / np.sqrt(df)[:, None], mass / mass.sum(axis=1, keepdims=True)
