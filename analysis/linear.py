"""Least squares and logistic regression on attribute cells. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Regression:
    """A regression of k columns on C cells.

    Attributes
    ----------
    coef : ndarray, shape (k,)
        Coefficients, 0 for columns that are linear combinations of earlier ones.
    bread : ndarray, shape (k, k)
        Inverse of the weighted cross products, 0 for those columns.
    fitted : ndarray, shape (C,)
        Fitted mean of each cell.
    null : ndarray, shape (k, a)
        A basis of what the data cannot tell apart; a contrast is estimable if it is orthogonal to it.
    """

    coef: np.ndarray
    bread: np.ndarray
    fitted: np.ndarray
    null: np.ndarray


def least_squares(design: np.ndarray, weight: np.ndarray, total: np.ndarray) -> Regression:
    """Regress cell means on a design by weighted least squares.

    Parameters
    ----------
    design : ndarray, shape (C, k)
        One row a cell.
    weight : ndarray, shape (C,)
        Sum of weights in each cell.
    total : ndarray, shape (C,)
        Weighted sum of outcomes in each cell.
    """
    gram = design.T @ (design * weight[:, None])
    bread, null = invert_in_order(gram)
    coef = bread @ (design.T @ total)
    coef += bread @ (design.T @ (total - weight * (design @ coef)))
    return Regression(coef, bread, design @ coef, null)


def logistic(
    design: np.ndarray, weight: np.ndarray, total: np.ndarray, tolerance: float = 1e-12, steps: int = 50
) -> Regression:
    """Regress cell shares on a design by logistic regression (Newton steps to convergence).

    Parameters are those of `least_squares`; outcomes lie between 0 and 1. Where a
    level is always or never chosen the likelihood has no maximum: coefficients
    grow until the deviance stops changing.
    """
    size = weight.mean() or 1.0
    weight, total = weight / size, total / size
    kept = independent_columns(design.T @ (design * weight[:, None]))
    share = np.divide(total, weight, out=np.full_like(total, 0.5), where=weight > 0)
    fitted = (share * weight + 0.5) / (weight + 1)
    linear = np.log(fitted / (1 - fitted))
    deviance = np.inf
    for _ in range(steps):
        variance = np.clip(fitted * (1 - fitted), 1e-300, None)
        working = linear + (share - fitted) / variance
        bread, null = invert_in_order(design.T @ (design * (weight * variance)[:, None]), kept)
        coef = bread @ (design.T @ (weight * variance * working))
        linear = design @ coef
        fitted = 1 / (1 + np.exp(-linear))
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = -2 * np.nansum(total * np.log(fitted) + (weight - total) * np.log1p(-fitted))
        if abs(deviance - loss) < tolerance * (abs(loss) + 0.1):
            break
        deviance = loss
    bread, null = invert_in_order(design.T @ (design * (weight * fitted * (1 - fitted))[:, None]), kept)
    return Regression(coef, bread / size, fitted, null)


def invert_in_order(gram: np.ndarray, kept: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Invert a cross-product matrix, leaving out columns that depend on earlier ones, as R's ``lm`` does.

    Parameters
    ----------
    gram : ndarray, shape (k, k)
        Symmetric, positive semi-definite.
    kept : ndarray of bool, shape (k,), optional
        Columns that are known to be independent, if they are known already.

    Returns
    -------
    inverse : ndarray, shape (k, k)
        Zero in the rows and columns left out.
    null : ndarray, shape (k, a)
        Basis of the null space; a columns were left out.
    """
    kept = independent_columns(gram) if kept is None else kept
    inverse = np.zeros_like(gram)
    inverse[np.ix_(kept, kept)] = np.linalg.inv(gram[np.ix_(kept, kept)])
    left_out = np.flatnonzero(~kept)
    null = -inverse @ gram[:, left_out]
    null[left_out, np.arange(len(left_out))] = 1.0
    return inverse, null


def independent_columns(gram: np.ndarray) -> np.ndarray:
    """Flag the columns that do not depend on earlier ones, shape (k,), by Cholesky steps in order."""
    scale = np.sqrt(np.diag(gram))
    kept: np.ndarray = scale > 0
    unit = gram / np.where(kept, scale, 1.0) / np.where(kept, scale, 1.0)[:, None]
    if kept.all():
        try:
            if np.diag(np.linalg.cholesky(unit)).min() ** 2 > _RANK_TOLERANCE:
                return kept
        except np.linalg.LinAlgError:
            pass
    factor = np.zeros_like(unit)
    for j in np.flatnonzero(kept):
        left = unit[j, j] - factor[j, :j] @ factor[j, :j]
        if left < _RANK_TOLERANCE:
            kept[j] = False
            continue
        factor[j, j] = np.sqrt(left)
        factor[j + 1 :, j] = (unit[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]) / factor[j, j]
    return kept
