"""Romano-Wolf's step-down, and the draws of t ratios that it compares with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import ndtri

from conjury.inference.errors import InputError, listed, unknown_name
from conjury.inference.tables.columns import names_of

from ...frames.variables import warn_caller
from ...numerics.intervals import check_draws
from ...numerics.significance import adjust_p_values
from ..engines.native import regress
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan
from ..standard_errors.resample import Bootstrap
from ..standard_errors.wild import WildEstimates, draw_ratios, regressions_of
from .wald import clusters_of

# Clusters: below the first, draws are those of the wild bootstrap; below the second, normal ones mislead.
FEW_CLUSTERS, VERY_FEW = 100, 40
_CLUSTERS_AT_A_TIME = 4_096  # whose influence is in memory together
_TIE = 1e-9  # draws that equal the observed ratio but for rounding count as exceeding it


@dataclass(frozen=True)
class TestRatios:
    """t ratios of m tested estimates."""

    statistic: np.ndarray  # (m,): in the data
    ratios: np.ndarray  # (draws, m): under the null hypothesis
    kind: str  # "wild", "replicates", "scores" or "normal"
    observed: int = 1  # 1 if the data count as one more draw, 0 if they are among the draws


def draws_of(fit: Estimates, tested: np.ndarray, draws: int, seed: int | None) -> TestRatios:
    """Draw t ratios of the tested estimates, flags of shape (m,), under the null hypothesis."""
    statistic = fit.frame["z"].to_numpy(float, na_value=np.nan)[tested]
    if isinstance(fit, WildEstimates):
        return TestRatios(
            statistic, fit.ratios[:, tested], "wild", int(not fit.provenance.extra["enumerated"])
        )
    if isinstance(fit, Bootstrap):
        _warn_of_few(fit)
        replicates = fit.replicates[:, tested]
        estimate = fit.frame["estimate"].to_numpy(float)[tested]
        return TestRatios(
            statistic, (replicates - estimate) / np.nanstd(replicates, axis=0, ddof=1), "replicates"
        )
    check_draws(draws, seed, 100, "give at least 100, and 2000 or more for small p values")
    fitted = regressions_of(fit)
    clusters = clusters_of(fit)
    has_few_clusters = clusters is not None and clusters < FEW_CLUSTERS
    plan = None if fitted is None else fitted.plan
    is_complex = plan is not None and (
        len(plan.request.clusters) > 1 or plan.request.strata is not None or plan.cells.is_aggregated
    )
    if plan is not None and has_few_clusters and not is_complex and plan.request.family == "gaussian":
        value = fit.frame["estimate"].to_numpy(float)[tested] - fit.provenance.null
        wild_draws = draw_ratios(plan, plan.contrasts[tested], value, draws, seed)
        return TestRatios(wild_draws.statistic, wild_draws.ratios, "wild", wild_draws.observed)
    if "df" in fit.frame:
        statistic = -ndtri(fit.frame["p"].to_numpy(float, na_value=np.nan)[tested] / 2)
    elif has_few_clusters:
        _warn_of_few(fit)
    if plan is not None and not is_complex and not has_few_clusters:
        ratios = signed_scores(cluster_influence(plan, tested), draws, seed)
        return TestRatios(statistic, ratios, "scores")
    if fit.vcov is None or fit.vcov.isna().to_numpy().any():
        raise InputError(
            f"The engine {fit.provenance.engine} gives no covariance between all estimates; fit with "
            "engine='native', or adjust within a family by 'holm'."
        )
    return TestRatios(statistic, normal_ratios(fit.vcov.to_numpy(float), draws, seed), "normal")


def _warn_of_few(fit: Estimates) -> None:
    clusters = clusters_of(fit)
    if clusters is not None and clusters < VERY_FEW:
        warn_caller(
            f"romano_wolf uses normal draws, and with {clusters} clusters it rejects too often; adjust "
            "a linear fit by one cluster column, or wild(fit), instead.",
        )


def romano_wolf(statistic: np.ndarray, ratios: np.ndarray, observed: int = 1) -> np.ndarray:
    """Adjust by step-down over the largest absolute ratio among hypotheses not yet rejected."""
    order = np.argsort(-np.abs(statistic), kind="stable")
    sizes = np.nan_to_num(np.abs(ratios[:, order]))
    largest = np.maximum.accumulate(sizes[:, ::-1], axis=1)[:, ::-1]
    exceeding = (largest >= np.abs(statistic[order]) * (1 - _TIE)).sum(axis=0)
    stepped = np.empty(len(order))
    stepped[order] = np.maximum.accumulate((exceeding + observed) / (len(ratios) + observed))
    return stepped


def signed_scores(influence: Iterator[np.ndarray], draws: int, seed: int | None) -> np.ndarray:
    """Sum clusters' influence with random signs, each column over the root of its sum of squares."""
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


def cluster_influence(plan: EstimationPlan, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the influence of some thousand clusters at a time on estimates, shape (clusters, rows)."""
    cells, contrasts = plan.cells, plan.contrasts[rows]
    entries = cells.entries()
    pieces = []
    for block, columns in zip(plan.blocks, plan.slices, strict=True):
        block_contrasts = contrasts[:, columns]
        touched = np.flatnonzero((block_contrasts != 0).any(axis=1))
        if len(touched):
            fit = regress(block, plan.request.family, cells.cell_weight, cells.cell_total)
            inside = np.flatnonzero(block.inside[entries.cell])
            cell = entries.cell[inside]
            residual = entries.total[inside] - entries.weight[inside] * fit.fitted[cell]
            starts = np.searchsorted(inside, entries.starts)
            summed = csr_array((residual, cell, starts), shape=(entries.n_units, entries.n_cells))
            pieces.append((summed, block.design @ (fit.bread @ block_contrasts[touched].T), touched))
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


Method = Literal["holm", "bh", "romano_wolf"]
METHODS = ("holm", "bh", "romano_wolf")
Fit = TypeVar("Fit", Estimates, pd.DataFrame)


def adjust(
    fit: Fit,
    method: Method = "holm",
    family: str | Sequence[str] | None = None,
    *,
    draws: int = 2000,
    seed: int | None = None,
) -> Fit:
    """Adjust p values for the number of effects that are tested together.

    Holm bounds the probability of any false rejection in a family under every
    dependence; Benjamini-Hochberg bounds the expected share of false rejections;
    Romano-Wolf bounds the same probability as Holm, and gains power from the
    correlation between estimates, which it takes from resampling.

    Parameters
    ----------
    fit : Estimates or DataFrame
        A result with p values; "romano_wolf" needs the result itself, not its table.
    method : {"holm", "bh", "romano_wolf"}
    family : str or sequence of str, optional
        Columns that set families apart: "feature", "judge", or several; by default
        all rows are one family.
    draws : int
        Draws of "romano_wolf". A `Bootstrap` or `WildEstimates` brings its own, which are used instead;
        where signs have no more combinations, each is used once.
    seed : int, optional
        Same seed, same draws.

    Returns
    -------
    Estimates or DataFrame
        As given, with a column ``p_adjusted`` after ``p``; missing where ``p`` is.

    Raises
    ------
    InputError
        For an unknown method or column, a table without p values, and where
        "romano_wolf" has nothing to resample.

    Warns
    -----
    UserWarning
        Where "romano_wolf" must take normal draws with fewer than 40 clusters.

    Notes
    -----
    "romano_wolf" steps down through the largest absolute t ratios, and never goes below ``p``. Its
    draws are, on record in ``provenance.extra["adjusted"]["drawn"]``:

    - "wild", for linear fits with one cluster column of fewer than 100 clusters: restricted wild
      draws, whose t ratios have errors of their own, with a factor G/(G-1), whatever the fit's
      errors. Weights are signs, or Webb's six points with fewer than 8 clusters. A `WildEstimates`
      brings its own.
    - "scores", for fits with more clusters or none: sums of the clusters' influence with
      random signs, over the root of its sum of squares, which is the same in every draw.
    - "replicates" of a `Bootstrap`, centred and over their standard deviation.
    - "normal", for any other fit: normal draws with the correlation of its estimates.

    For "scores" and "normal", t ratios with degrees of freedom are put on the normal scale by their p.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure.
    Scandinavian Journal of Statistics 6(2), 65-70.

    Benjamini, Y., Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B
    57(1), 289-300. doi:10.1111/j.2517-6161.1995.tb02031.x

    Romano, J. P., Wolf, M. (2016). Efficient computation of adjusted p-values for
    resampling-based stepdown multiple testing. Statistics & Probability Letters 113,
    38-40. doi:10.1016/j.spl.2016.02.012

    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2008). Bootstrap-based improvements for inference
    with clustered errors. Review of Economics and Statistics 90(3), 414-427.
    doi:10.1162/rest.90.3.414

    Examples
    --------
    >>> table = pd.DataFrame({"feature": ["slur", "slur", "topic"], "p": [0.01, 0.04, 0.03]})
    >>> adjust(table)["p_adjusted"].tolist(), adjust(table, family="feature")["p_adjusted"].tolist()
    ([0.03, 0.06, 0.06], [0.02, 0.04, 0.03])
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    frame = fit if isinstance(fit, pd.DataFrame) else fit.frame
    if "p" not in frame:
        raise InputError("The table has no column 'p'; give a result that tests its estimates.")
    families = list(_families(frame, family))
    made_by: TestRatios | None = None
    corrected = np.full(len(frame), np.nan)
    p = frame["p"].to_numpy(float, na_value=np.nan)
    if method == "romano_wolf":
        if isinstance(fit, pd.DataFrame):
            raise InputError("A table alone has no correlations; give romano_wolf the result of the table.")
        if "z" not in frame:
            raise InputError("romano_wolf resamples estimates, and a joint test has none; use method='holm'.")
        tested = ~np.isnan(p)
        made_by = draws_of(fit, tested, draws, seed)
        column = np.cumsum(tested) - 1
        for rows in families:
            rows = rows[tested[rows]]
            columns = column[rows]
            stepped = romano_wolf(made_by.statistic[columns], made_by.ratios[:, columns], made_by.observed)
            corrected[rows] = np.maximum(stepped, p[rows])
    else:
        for rows in families:
            rows = rows[~np.isnan(p[rows])]
            corrected[rows] = adjust_p_values(p[rows], method)
    table = _with_adjusted_p(frame, corrected)
    if isinstance(fit, pd.DataFrame):
        return table
    record: dict[str, Any] = {"method": method, "family": names_of(family)}
    if made_by is not None:
        record |= {"draws": len(made_by.ratios), "drawn": made_by.kind, "seed": seed}
    extra = fit.provenance.extra | {"adjusted": record}
    return replace(fit, frame=table, provenance=replace(fit.provenance, extra=extra))


def _families(frame: pd.DataFrame, family: str | Sequence[str] | None) -> Iterator[np.ndarray]:
    names = names_of(family)
    for name in names:
        if name not in frame:
            raise InputError(f"family names {name!r}; the columns are {listed(map(repr, frame.columns))}.")
    if not names:
        yield np.arange(len(frame))
        return
    keys = frame[names].astype("string").fillna("")
    codes = keys.groupby(names, sort=False).ngroup().to_numpy()
    yield from (np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1))


def _with_adjusted_p(frame: pd.DataFrame, values: np.ndarray) -> pd.DataFrame:
    table = frame.drop(columns="p_adjusted", errors="ignore")
    table.insert(list(table.columns).index("p") + 1, "p_adjusted", values)
    return table
