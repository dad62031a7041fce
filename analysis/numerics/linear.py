"""Least squares and logistic regression on attribute cells. Arrays in, arrays out."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from threadpoolctl import ThreadpoolController

_RANK_TOLERANCE = 1e-10  # squared pivot of columns scaled to 1, below which one depends on those before it
_ROUNDING = 1e-10  # relative to the largest of them, numbers that are less apart are the same


def is_constant(values: np.ndarray) -> bool:
    """Whether all values are the same, except for rounding relative to the largest of them."""
    return bool(np.ptp(values) <= _ROUNDING * np.abs(values).max()) if len(values) else True


_LEAST_VARIANCE = 1e-14  # keeps working outcomes finite where a fitted share is 0 or 1


@dataclass(frozen=True)
class Regression:
    """A regression of k columns on C cells."""

    coef: np.ndarray  # (k,): coefficients, 0 for columns that are linear combinations of earlier ones
    bread: np.ndarray  # (k, k): inverse of the weighted cross products, 0 for those columns
    fitted: np.ndarray  # (C,): fitted mean of each cell
    # (k, a): a basis of what the data do not identify; a contrast is estimable if it is orthogonal to it
    null: np.ndarray
    # (C,): cells that determine the coefficients: those with weight, less those that are separated
    used: np.ndarray


def least_squares(design: np.ndarray, weight: np.ndarray, total: np.ndarray) -> Regression:
    """Regress cell means on a design (C, k), from sums of weights and of weighted outcomes (C,)."""
    gram = design.T @ (design * weight[:, None])
    bread, null = invert_in_order(gram)
    coef = bread @ (design.T @ total)
    coef += bread @ (design.T @ (total - weight * (design @ coef)))
    return Regression(coef, bread, design @ coef, null, weight > 0)


def logistic(design: np.ndarray, weight: np.ndarray, total: np.ndarray) -> Regression:
    """Regress cell shares on a design by logistic regression."""
    # Where data are separated the likelihood has no maximum: cells that tend to 0 or 1 get that value and are
    # set aside, so that contrasts with a finite estimate are those that the other cells determine.
    side = sides(weight, total)
    mask = weight > 0
    while True:
        fit, step = _newton(design, np.where(mask, weight, 0.0), np.where(mask, total, 0.0))
        if not side[mask].any() or is_overlapping(side[mask], weight[mask], fit.fitted[mask], step[mask]):
            break
        is_separated = separated_cells(design[mask], side[mask])
        if not is_separated.any():
            break
        mask[mask] = ~is_separated
    aside = (weight > 0) & ~mask
    return replace(fit, fitted=np.where(aside, side > 0, fit.fitted), used=mask)


def _newton(
    design: np.ndarray, weight: np.ndarray, total: np.ndarray, tolerance: float = 1e-12, steps: int = 50
) -> tuple[Regression, np.ndarray]:
    """Newton steps until the deviance stops changing, and how the next would move each logit, shape (C,)."""
    size = weight.mean() or 1.0
    weight, total = weight / size, total / size
    column_mask = independent_columns(design.T @ (design * weight[:, None]))
    share = np.divide(total, weight, out=np.full_like(total, 0.5), where=weight > 0)
    fitted = (share * weight + 0.5) / (weight + 1)
    linear = np.log(fitted / (1 - fitted))
    coef = np.zeros(design.shape[1])
    deviance = _deviance(np.zeros(len(weight)), weight, total)
    for _ in range(steps):
        variance = np.clip(fitted * (1 - fitted), _LEAST_VARIANCE, None)
        working = linear + (share - fitted) / variance
        try:
            bread, _ = invert_in_order(design.T @ (design * (weight * variance)[:, None]), column_mask)
        except np.linalg.LinAlgError:
            break
        before, coef = coef, bread @ (design.T @ (weight * variance * working))
        loss = _deviance(design @ coef, weight, total)
        while loss > deviance * (1 + 1e-9) and np.abs(coef - before).max() > 1e-9:
            coef = (coef + before) / 2
            loss = _deviance(design @ coef, weight, total)
        linear = design @ coef
        fitted = scipy.special.expit(linear)
        if abs(deviance - loss) < tolerance * (abs(loss) + 0.1):
            break
        deviance = loss
    variance = np.clip(fitted * (1 - fitted), _LEAST_VARIANCE, None)
    information = design.T @ (design * (weight * variance)[:, None])
    try:
        bread, null = invert_in_order(information, column_mask)
        step = design @ (bread @ (design.T @ (total - weight * fitted)))
    except np.linalg.LinAlgError:
        bread, null = invert_in_order(information)
        step = np.full(len(weight), np.inf)
    return Regression(coef, bread / size, fitted, null, weight > 0), step


def _deviance(linear: np.ndarray, weight: np.ndarray, total: np.ndarray) -> float:
    return float(2 * (weight @ np.logaddexp(0, linear) - total @ linear))


def invert_in_order(gram: np.ndarray, column_mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Invert cross products (k, k), leaving out columns that depend on earlier ones, as R's ``lm`` does."""
    # The inverse (k, k) is zero in the a rows and columns left out; the second array (k, a) spans the null
    # space. `column_mask`, flags (k,), names the independent columns where they are known already.
    column_mask = independent_columns(gram) if column_mask is None else column_mask
    inverse = np.zeros_like(gram)
    inverse[np.ix_(column_mask, column_mask)] = np.linalg.inv(gram[np.ix_(column_mask, column_mask)])
    left_out = np.flatnonzero(~column_mask)
    null = -inverse @ gram[:, left_out]
    null[left_out, np.arange(len(left_out))] = 1.0
    return inverse, null


def independent_columns(gram: np.ndarray) -> np.ndarray:
    """Flag the columns that do not depend on earlier ones, shape (k,), by Cholesky steps in order."""
    scale = np.sqrt(np.diag(gram))
    column_mask: np.ndarray = scale > 0
    unit = gram / np.where(column_mask, scale, 1.0) / np.where(column_mask, scale, 1.0)[:, None]
    if column_mask.all():
        try:
            if np.diag(np.linalg.cholesky(unit)).min() ** 2 > _RANK_TOLERANCE:
                return column_mask
        except np.linalg.LinAlgError:
            pass
    factor = np.zeros_like(unit)
    for j in np.flatnonzero(column_mask):
        pivot = unit[j, j] - factor[j, :j] @ factor[j, :j]
        if pivot < _RANK_TOLERANCE:
            column_mask[j] = False
            continue
        factor[j, j] = np.sqrt(pivot)
        factor[j + 1 :, j] = (unit[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]) / factor[j, j]
    return column_mask


EDGE = 1e-9  # rounding of sums of weights, as a share of them
_LEAST = 1e-9
_LARGEST_DENOMINATOR = 1_000  # coordinates in a design's null space are ratios of small whole numbers
_CLEAR = 1e-6  # far above what a solver of linear programs leaves of zero


def sides(weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Flag cells of ones (within 1e-9) by 1, of zeros by -1, others and those without weight by 0, (C,)."""
    ones = (weight - total <= EDGE * weight) & (weight > 0)
    zeros = (total <= EDGE * weight) & (weight > 0)
    return np.asarray(ones.astype(int) - zeros.astype(int))


def is_overlapping(side: np.ndarray, weight: np.ndarray, fitted: np.ndarray, linear_step: np.ndarray) -> bool:
    """Whether a fit proves that no cell is separated; False where it proves nothing."""
    # Farkas' lemma: nothing is separated if positive multiples of the extreme cells' rows add up to zero with
    # the others. Weighted residuals are such multiples up to the next Newton step.
    extreme = side != 0
    if not np.isfinite(linear_step).all():
        return False
    away = np.where(side > 0, 1 - fitted, fitted)[extreme]
    moved = np.abs(linear_step[extreme]) * (1 - away)
    large = weight[extreme] * away > _LEAST * weight.sum()
    return bool(large.all() and (moved < 0.5).all())


def separated_cells(design: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Flag cells that one direction separates, shape (C,); none where no direction does."""
    # Solves a linear program on the distinct rows of the design. Its solution, a vertex with rational
    # coordinates, is checked in integers. The cells left may be separated in turn: call it again for them.
    rows, pattern = _distinct(design)
    most, least = np.full(len(rows), -1), np.full(len(rows), 1)
    np.maximum.at(most, pattern, side)
    np.minimum.at(least, pattern, side)
    shared = np.where(most == least, most, 0)
    extreme = shared != 0
    signs: Any = scipy.sparse.diags_array(shared[extreme].astype(float))
    signed = signs @ scipy.sparse.csr_array(rows[extreme])
    mixed_rows: Any = scipy.sparse.csr_array(rows[~extreme])
    from scipy.optimize import linprog  # slow to import, and most fits need none

    solution = linprog(
        -np.asarray(signed.sum(axis=0)).ravel(),
        A_ub=-signed,
        b_ub=np.zeros(signed.shape[0]),
        A_eq=mixed_rows if mixed_rows.shape[0] else None,
        b_eq=np.zeros(mixed_rows.shape[0]) if mixed_rows.shape[0] else None,
        bounds=(-1, 1),
        method="highs",
    )
    if solution.x is None:
        raise ArithmeticError(
            f"The linear program that tests for separation has no solution: {solution.message}"
        )
    ahead = np.zeros(len(rows))
    direction = _integer_coordinates(solution.x)
    ahead[extreme] = signed @ direction
    if (ahead < 0).any() or (mixed_rows @ direction != 0).any():
        ahead[extreme] = np.where(signed @ solution.x > _CLEAR, 1.0, 0.0)
    return np.asarray(ahead[pattern] > 0)


def _integer_coordinates(coordinates: np.ndarray) -> np.ndarray:
    """Multiply rational coordinates by their common denominator."""
    fractions = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in coordinates.tolist()]
    common = math.lcm(*(value.denominator for value in fractions))
    return np.array([float(value * common) for value in fractions])


def _distinct(design: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that differ, and which of them each row is, shape (C,)."""
    values = np.ascontiguousarray(design + 0.0)
    keys = values.view(np.dtype((np.void, values.shape[1] * values.itemsize))).ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    return design[first], pattern


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Context in which BLAS uses a single thread in each of ours."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
