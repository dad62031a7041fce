"""Romano-Wolf's step-down, and the draws of t ratios that it compares with."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from conjury.inference.errors import InputError

from ...results import Estimates
from ..engines.native import regress
from ..errors.wild import Wild, draw_ratios, regressions_of
from ..plan import Plan
from ..resample import Bootstrap
from .wald import clusters_of

FEW_CLUSTERS, VERY_FEW = 100, 40
_CLUSTERS_AT_A_TIME = 4_096
_TIE = 1e-9


@dataclass(frozen=True)
class Draws:
    """t ratios of m tested estimates.

    Attributes
    ----------
    statistic : ndarray, shape (m,)
        In the data.
    ratios : ndarray, shape (draws, m)
        Under the null hypothesis.
    kind : str
        "wild", "replicates", "scores" or "normal".
    observed : int
        1 if the data count as one more draw, 0 if they are among the draws.
    """

    statistic: np.ndarray
    ratios: np.ndarray
    kind: str
    observed: int = 1


def draws_of(fit: Estimates, tested: np.ndarray, draws: int, seed: int | None) -> Draws:
    """Draw t ratios of the tested estimates, flags of shape (m,), under the null hypothesis."""
    statistic = fit.frame["z"].to_numpy(float, na_value=np.nan)[tested]
    if isinstance(fit, Wild):
        return Draws(statistic, fit.ratios[:, tested], "wild", int(not fit.provenance.extra["enumerated"]))
    if isinstance(fit, Bootstrap):
        _warn_of_few(fit)
        made = fit.replicates[:, tested]
        estimate = fit.frame["estimate"].to_numpy(float)[tested]
        return Draws(statistic, (made - estimate) / np.nanstd(made, axis=0, ddof=1), "replicates")
    if not isinstance(draws, Integral) or draws < 100:
        raise InputError(f"draws is {draws!r}; give at least 100, and 2000 or more for small p values.")
    fitted = regressions_of(fit)
    clusters = clusters_of(fit)
    few = clusters is not None and clusters < FEW_CLUSTERS
    plan = None if fitted is None else fitted.plan
    crossed = plan is not None and (len(plan.request.clusters) > 1 or plan.request.strata is not None)
    if plan is not None and few and not crossed and plan.request.family == "gaussian":
        value = fit.frame["estimate"].to_numpy(float)[tested] - fit.provenance.null
        found = draw_ratios(plan, plan.contrasts[tested], value, draws, seed)
        return Draws(found.statistic, found.ratios, "wild", found.observed)
    if "df" in fit.frame:
        statistic = -ndtri(fit.frame["p"].to_numpy(float, na_value=np.nan)[tested] / 2)
    elif few:
        _warn_of_few(fit)
    if plan is not None and not crossed and not few:
        ratios = signed_scores(cluster_influence(plan, tested), draws, seed)
        return Draws(statistic, ratios, "scores")
    if fit.vcov is None or fit.vcov.isna().to_numpy().any():
        raise InputError(
            f"The engine {fit.provenance.engine} gives no covariance between all estimates; fit with "
            "engine='native', or adjust within a family by 'holm'."
        )
    return Draws(statistic, normal_ratios(fit.vcov.to_numpy(float), draws, seed), "normal")


def _warn_of_few(fit: Estimates) -> None:
    clusters = clusters_of(fit)
    if clusters is not None and clusters < VERY_FEW:
        warnings.warn(
            f"romano_wolf rests on normal draws and {clusters} clusters, so it rejects too often; adjust "
            "a linear fit by one cluster column, or wild(fit), instead.",
            stacklevel=4,
        )


def romano_wolf(statistic: np.ndarray, ratios: np.ndarray, observed: int = 1) -> np.ndarray:
    """Adjust by step-down over the largest absolute ratio among hypotheses not yet rejected.

    Parameters
    ----------
    statistic : ndarray, shape (m,)
        t ratios in the data.
    ratios : ndarray, shape (draws, m)
        t ratios under the null hypothesis; NaN where a draw has none.
    observed : int
        1 if the data count as one more draw, 0 if they are among the draws.

    Returns
    -------
    ndarray, shape (m,)
        Share of draws at least as large, never falling along the steps; ties count.
    """
    order = np.argsort(-np.abs(statistic), kind="stable")
    sizes = np.nan_to_num(np.abs(ratios[:, order]))
    largest = np.maximum.accumulate(sizes[:, ::-1], axis=1)[:, ::-1]
    exceeding = (largest >= np.abs(statistic[order]) * (1 - _TIE)).sum(axis=0)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate((exceeding + observed) / (len(ratios) + observed))
    return adjusted


def signed_scores(influence: Iterator[np.ndarray], draws: int, seed: int | None) -> np.ndarray:
    """Sum clusters' influence with random signs, each column over the root of its sum of squares.

    Parameters
    ----------
    influence : iterator of ndarray, each of shape (clusters, m)
        Influence of some clusters at a time.
    draws, seed : int

    Returns
    -------
    ndarray, shape (draws, m)
    """
    random = np.random.Generator(np.random.SFC64(seed))
    sums: np.ndarray | float = 0.0
    squares: np.ndarray | float = 0.0
    for part in influence:
        n_bytes = -(-len(part) // 8)
        bits = np.frombuffer(random.bytes(draws * n_bytes), dtype=np.uint8).reshape(draws, n_bytes)
        positive = np.unpackbits(bits, axis=1, count=len(part))
        sums = sums + 2 * (positive.astype(float) @ part) - part.sum(axis=0)
        squares = squares + (part**2).sum(axis=0)
    return np.asarray(sums / np.sqrt(squares))


def cluster_influence(plan: Plan, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the influence of some thousand clusters at a time on estimates, shape (clusters, rows).

    Parameters
    ----------
    plan : Plan
        With one cluster column or none.
    rows : ndarray of bool, shape (m,)
        The estimates wanted.
    """
    cells, contrasts = plan.cells, plan.contrasts[rows]
    entries = cells.entries()
    pieces = []
    for block, columns in zip(plan.blocks, plan.slices, strict=True):
        own = contrasts[:, columns]
        touched = np.flatnonzero((own != 0).any(axis=1))
        if len(touched):
            fit = regress(block, plan.request.family, cells.cell_weight, cells.cell_total)
            inside = np.flatnonzero(block.inside[entries.cell])
            cell = entries.cell[inside]
            residual = entries.total[inside] - entries.weight[inside] * fit.fitted[cell]
            starts = np.searchsorted(inside, entries.starts)
            summed = csr_array((residual, cell, starts), shape=(entries.n_units, entries.n_cells))
            pieces.append((summed, block.design @ (fit.bread @ own[touched].T), touched))
    for first in range(0, entries.n_units, _CLUSTERS_AT_A_TIME):
        last = min(first + _CLUSTERS_AT_A_TIME, entries.n_units)
        influence = np.zeros((last - first, len(contrasts)))
        for summed, direction, touched in pieces:
            influence[:, touched] += summed[first:last] @ direction
        yield influence


def normal_ratios(vcov: np.ndarray, draws: int, seed: int | None) -> np.ndarray:
    """Draw correlated standard normals, shape (draws, m), from a covariance of shape (m, m)."""
    scale = np.sqrt(np.diag(vcov))
    values, vectors = np.linalg.eigh(vcov / scale / scale[:, None])
    root = vectors * np.sqrt(np.clip(values, 0, None))
    return np.asarray(np.random.default_rng(seed).standard_normal((draws, len(vcov))) @ root.T)
