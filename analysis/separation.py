"""Which cells a logistic regression can only fit with an infinite logit. Arrays in, arrays out.

A cell is extreme where its outcomes are all 0 or all 1. The likelihood has no maximum if there is a direction
d of the coefficients along which x'd is zero in cells of both outcomes, not negative in cells of ones, not
positive in cells of zeros, and not zero everywhere (Albert and Anderson 1984). Whether there is one follows
from which cells are extreme and from the design. Both are integers, so that the answer does not depend on the
scale of weights, on the order of rows or on the processor.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array

EDGE = 1e-9
_LEAST = 1e-9
_LARGEST_DENOMINATOR = 1_000
_CLEAR = 1e-6


def sides(weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Flag cells of ones by 1, of zeros by -1 and others by 0, shape (C,); cells without weight are 0.

    A share within 1e-9 of 0 or 1 counts as 0 or 1.
    """
    ones = (weight - total <= EDGE * weight) & (weight > 0)
    zeros = (total <= EDGE * weight) & (weight > 0)
    return np.asarray(ones.astype(int) - zeros.astype(int))


def is_overlapping(side: np.ndarray, weight: np.ndarray, fitted: np.ndarray, linear_step: np.ndarray) -> bool:
    """Whether a fit proves that no cell is separated; False where it proves nothing.

    By Farkas' lemma nothing is separated if positive multiples of the extreme cells' rows, with any of the
    others, add up to zero. Weighted residuals are such multiples, but for what the next Newton step
    would still change; they stay positive where it moves no residual of an extreme cell by half.

    Parameters
    ----------
    side : ndarray, shape (C,)
        As `sides` gives it.
    weight, fitted, linear_step : ndarray, shape (C,)
        Weight and fitted share of each cell, and the change of its logit by the next Newton step.
    """
    extreme = side != 0
    if not np.isfinite(linear_step).all():
        return False
    away = np.where(side > 0, 1 - fitted, fitted)[extreme]
    moved = np.abs(linear_step[extreme]) * (1 - away)
    large = weight[extreme] * away > _LEAST * weight.sum()
    return bool(large.all() and (moved < 0.5).all())


def separated(design: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Flag cells that one direction separates, shape (C,); none where no direction does.

    Solves a linear program on the distinct rows of the design. Its solution, a vertex with rational
    coordinates, is checked in integers. The cells left may be separated in turn: call it again for them.

    Parameters
    ----------
    design : ndarray of whole numbers, shape (C, k)
    side : ndarray, shape (C,)
        As `sides` gives it.

    References
    ----------
    Albert, A., & Anderson, J. A. (1984). On the existence of maximum likelihood estimates in logistic
    regression models. Biometrika 71(1), 1-10. doi:10.1093/biomet/71.1.1

    Konis, K. (2007). Linear programming algorithms for detecting separated data in binary logistic
    regression models. DPhil thesis, University of Oxford.
    """
    rows, pattern = _distinct(design)
    most, least = np.full(len(rows), -1), np.full(len(rows), 1)
    np.maximum.at(most, pattern, side)
    np.minimum.at(least, pattern, side)
    shared = np.where(most == least, most, 0)
    extreme = shared != 0
    signed: Any = diags_array(shared[extreme].astype(float)) @ csr_array(rows[extreme])
    both: Any = csr_array(rows[~extreme])
    found = linprog(
        -np.asarray(signed.sum(axis=0)).ravel(),
        A_ub=-signed,
        b_ub=np.zeros(signed.shape[0]),
        A_eq=both if both.shape[0] else None,
        b_eq=np.zeros(both.shape[0]) if both.shape[0] else None,
        bounds=(-1, 1),
        method="highs",
    )
    if found.x is None:
        raise ArithmeticError(f"The linear program that looks for separation has no answer: {found.message}")
    ahead = np.zeros(len(rows))
    direction = _whole(found.x)
    ahead[extreme] = signed @ direction
    if (ahead < 0).any() or (both @ direction != 0).any():
        ahead[extreme] = np.where(signed @ found.x > _CLEAR, 1.0, 0.0)
    return np.asarray(ahead[pattern] > 0)


def _whole(coordinates: np.ndarray) -> np.ndarray:
    """Multiply rational coordinates by their common denominator."""
    found = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in coordinates.tolist()]
    common = math.lcm(*(value.denominator for value in found))
    return np.array([float(value * common) for value in found])


def _distinct(design: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that differ, and which of them each row is, shape (C,)."""
    values = np.ascontiguousarray(design + 0.0)
    keys = values.view(np.dtype((np.void, values.shape[1] * values.itemsize))).ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    return design[first], pattern
