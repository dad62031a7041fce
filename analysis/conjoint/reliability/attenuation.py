"""Undo the attenuation of contrasts by swapping errors, with errors. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engines.native import regress
from ..plan import Plan


@dataclass(frozen=True)
class Pieces:
    """Reported rows as sums of J pieces, each attenuated by one of T swapping errors."""

    contrasts: np.ndarray  # (J, m, K): what each piece is of K coefficients
    # (J, m): 1 where a piece is a share chosen (a swapping error pulls it to 1/2), -1 where it is one to be
    # taken away, 0 where it is a difference (pulled to 0)
    share: np.ndarray
    error: np.ndarray  # (J, m): number of the swapping error


@dataclass(frozen=True)
class Taus:
    """T swapping errors."""

    value: np.ndarray  # (T,)
    vcov: np.ndarray  # (T, T)
    with_coef: np.ndarray  # (K, T): covariance with the K coefficients


@dataclass(frozen=True)
class Slopes:
    """Corrected rows and their derivatives."""

    estimate: np.ndarray  # (m,)
    by_coef: np.ndarray  # (m, K)
    by_tau: np.ndarray  # (m, T)


def undo(pieces: Pieces, coef: np.ndarray, tau: np.ndarray) -> Slopes:
    """Correct m rows: a share becomes ``(share - tau) / (1 - 2 tau)``, a difference ``d / (1 - 2 tau)``."""
    own = tau[pieces.error]
    kept = 1 - 2 * own
    observed = pieces.contrasts @ coef
    by_tau = np.zeros((observed.shape[1], len(tau)))
    for piece, slope in enumerate((2 * observed - pieces.share) / kept**2):
        by_tau[np.arange(len(slope)), pieces.error[piece]] += slope
    return Slopes(
        ((observed - pieces.share * own) / kept).sum(axis=0),
        (pieces.contrasts / kept[..., None]).sum(axis=0),
        by_tau,
    )


def joint_vcov(scaled: np.ndarray, slopes: Slopes, taus: Taus) -> np.ndarray:
    """Covariance (m, m) of corrected rows."""
    cross = slopes.by_coef @ taus.with_coef @ slopes.by_tau.T
    return np.asarray(scaled + cross + cross.T + slopes.by_tau @ taus.vcov @ slopes.by_tau.T)


def covariance_with_coef(plan: Plan, of_row: np.ndarray) -> np.ndarray:
    """Sum over clusters the influence on the coefficients times that on something else, shape (K, T)."""
    cells = plan.cells
    fits = [regress(b, plan.request.family, cells.cell_weight, cells.cell_total) for b in plan.blocks]
    found = np.zeros((plan.contrasts.shape[1], of_row.shape[1]))
    for number, influence in enumerate(of_row.T):
        weight = np.bincount(cells.cell, cells.weight * influence, cells.n_cells)
        total = np.bincount(cells.cell, cells.weight * cells.outcome * influence, cells.n_cells)
        for block, fit, columns in zip(plan.blocks, fits, plan.slices, strict=True):
            score = np.where(block.inside, total - weight * fit.fitted, 0.0)
            found[columns, number] = fit.bread @ (block.design.T @ score)
    return found
