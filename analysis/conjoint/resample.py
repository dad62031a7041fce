"""Estimates of many draws at once, from the draws' sums by cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ..frames.variables import Formula, check_pairs, unit_codes, warn_caller
from ..numerics import intervals
from ..numerics.bootstrap import Units, check_method, cross, names_of, pigeonhole_weights
from ..numerics.intervals import Moments, check_draws, cut, vary
from ..numerics.linear import independent_columns, invert_in_order, logistic, one_thread
from ..numerics.panel import Clusters, Entries
from ..results import row_labels
from .engines.native import coefficients, regress
from .engines.solution import estimable, estimates, provenance, warn
from .estimands import PLANS
from .estimates import Estimates
from .plan import Block, CountPlan, Plan
from .request import Request, make_request, require_frame
from .run import frame_of, plan_for
from .verbs.cj import verb_of
from .verbs.frequencies import counted_cells, freqs_plan, props_plan

_SINGULAR = 1e-10


def replicate(plan: Plan | CountPlan, weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Estimate from each of B draws."""
    if isinstance(plan, CountPlan):
        return plan.estimate(weight).T
    solve = _logistic_draws if plan.request.family == "quasibinomial" else _least_squares_draws
    parts = [solve(block, plan.cells.cell_weight, weight, total) for block in plan.blocks]
    coef = np.hstack([coef for coef, _, _ in parts])
    estimates = np.asarray(coef @ np.nan_to_num(plan.contrasts).T)
    estimates[:, np.isnan(plan.contrasts).any(axis=1)] = np.nan
    used = np.stack([used for _, _, used in parts])
    for draw in np.flatnonzero(np.logical_or.reduce([lost for _, lost, _ in parts])):
        known = estimable(plan.contrasts, plan.null_space(weight[:, draw] * used[..., draw]))
        estimates[draw, ~known] = np.nan
    return estimates


def influence_moments(plan: Plan, entries: Entries) -> Moments:
    """Second and third moments of the units' influence on each estimate, by linearisation."""
    influence = _influence(plan, entries, entries.matrices(), plan.cells.cell_weight, plan.cells.cell_total)
    return Moments((influence**2).sum(axis=0), (influence**3).sum(axis=0))


def standard_errors(plan: Plan, entries: Entries, counts: np.ndarray) -> np.ndarray:
    """Linearised standard errors of each draw, units as clusters."""
    matrices = entries.matrices()
    errors = []
    for count in counts:
        weight, total = (count @ matrix for matrix in matrices)
        influence = _influence(plan, entries, matrices, weight, total)
        errors.append(np.sqrt(count @ influence**2))
    return np.array(errors)


def _influence(
    plan: Plan,
    entries: Entries,
    matrices: tuple[csr_array, csr_array],
    weight: np.ndarray,
    total: np.ndarray,
) -> np.ndarray:
    """Influence of each unit on each estimate at given sums by cell, shape (U, m)."""
    influence = np.zeros((entries.n_units, len(plan.contrasts)))
    for block, columns in zip(plan.blocks, plan.slices, strict=True):
        fit = regress(block, plan.request.family, weight, total)
        direction = block.design @ (fit.bread @ np.nan_to_num(plan.contrasts[:, columns]).T)
        influence += matrices[1] @ direction - matrices[0] @ (fit.fitted[:, None] * direction)
    return influence


def _least_squares_draws(
    block: Block, full: np.ndarray, weight: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of each draw, shape (B, k), which draws lost a column, and cells in use, shape (C, B)."""
    design = block.design[block.inside]
    n_draws, k = weight.shape[1], design.shape[1]
    first, second = np.triu_indices(k)
    gram = np.empty((n_draws, k, k))
    gram[:, first, second] = gram[:, second, first] = (block.products @ weight[block.inside]).T
    kept = np.flatnonzero(independent_columns(design.T @ (design * full[block.inside, None])))
    gram = gram[:, kept[:, None], kept]
    moments = (design[:, kept].T @ total[block.inside]).T[..., None]
    lost = _singular(gram)
    coef = np.zeros((n_draws, k))
    coef[np.ix_(~lost, kept)] = np.linalg.solve(gram[~lost], moments[~lost])[..., 0]
    for draw in np.flatnonzero(lost):
        inverse, _ = invert_in_order(gram[draw])
        coef[draw, kept] = inverse @ moments[draw, :, 0]
    return coef, lost, np.broadcast_to(block.inside[:, None], weight.shape)


def _logistic_draws(
    block: Block, full: np.ndarray, weight: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of each draw, shape (B, k), which draws lost a column, and cells in use, shape (C, B)."""
    fits = [
        logistic(block.design, np.where(block.inside, n, 0.0), np.where(block.inside, t, 0.0))
        for n, t in zip(weight.T, total.T, strict=True)
    ]
    design = block.design[block.inside]
    kept = independent_columns(design.T @ (design * full[block.inside, None]))
    lost = np.array([fit.null.shape[1] > (~kept).sum() for fit in fits])
    return np.array([fit.coef for fit in fits]), lost, np.stack([fit.used for fit in fits], axis=1)


def _singular(gram: np.ndarray) -> np.ndarray:
    """Flag the cross-product matrices, shape (B, k, k), that have dependent columns."""
    scale = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    flags = np.asarray((scale == 0).any(axis=1))
    whole = ~flags
    unit = gram[whole] / scale[whole, :, None] / scale[whole, None, :]
    try:
        pivots = np.diagonal(np.linalg.cholesky(unit), axis1=1, axis2=2)
        flags[whole] = (pivots**2).min(axis=1) < _SINGULAR
    except np.linalg.LinAlgError:
        flags[whole] = np.linalg.eigvalsh(unit)[:, 0] < _SINGULAR
    return flags


Method = Literal["percentile", "basic", "bca", "studentized"]
UNIT_COLUMNS = {"pair": ("pair", "pair_id"), "respondent": ("respondent", "respondent_id", "judge_id")}
_WEIGHTS_AT_A_TIME = 1_500_000
_DRAWS_AT_A_TIME = 50
_COUNTED = {"cj_freqs": freqs_plan, "cj_props": props_plan}


@dataclass(frozen=True)
class Bootstrap(Estimates):
    """Estimates with bootstrap inference.

    ``std_error`` is the standard deviation over draws, ``z`` the estimate (minus the null
    value) over it, ``lower`` and ``upper`` are the interval of the chosen method (missing where
    no draw differs; of means of a 0/1 outcome and of shares cut at 0 and 1), and
    ``p`` inverts that interval: it is below alpha exactly where the interval leaves the
    null value out, up to 1 / (draws + 1). Counts have errors and limits, but no test.

    Attributes
    ----------
    replicates : ndarray, shape (draws, m)
        Estimates of each draw; NaN where a draw lost a level.
    """

    replicates: np.ndarray


@any_frame
def bootstrap(
    estimator: Callable[..., Estimates],
    data: pd.DataFrame,
    formula: str | Formula,
    *,
    unit: str | Sequence[str] = "pair",
    draws: int = 1000,
    seed: int | None = None,
    method: Method = "percentile",
    alpha: float = 0.05,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Bootstrap:
    """Bootstrap any estimator of this package that makes estimates.

    Parameters
    ----------
    estimator : function
        `amce`, `mm`, `amce_diffs`, `mm_diffs`, `amce_by_reference`, `cj`, `cj_freqs` or `cj_props`.
    data, formula, **options
        As for the estimator. The native engine computes all draws.
    unit : str or sequence of str
        What is drawn: "row", "pair" (column ``pair`` or ``pair_id``; the two profiles of a
        forced choice are one observation), "respondent" (``respondent``, ``respondent_id``
        or ``judge_id``), or the name of any column. Several names, such as
        ["text", "user"], draw each factor on its own, and a row weighs the product (pigeonhole).
        With two factors the noise of single rows then counts three times, with three seven
        times: intervals are too wide where that noise dominates the effects of the factors.
    draws : int
    seed : int, optional
        Same seed, same draws, whatever the number of processors.
    method : {"percentile", "basic", "bca", "studentized"}
        Studentized intervals compute a standard error in every draw and take ten times
        as long as the others or more.
    alpha : float
    progress : callable, optional
        Called with the number of draws just finished.

    Returns
    -------
    Bootstrap

    Raises
    ------
    InputError
        For an unknown unit, method or estimator, or fewer than two units or draws.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA 82(397), 171-185.
    doi:10.1080/01621459.1987.10478410

    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1(2), 386-411.
    doi:10.1214/07-AOAS122

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"chosen": [1, 0] * 20, "pair_id": [i // 2 for i in range(40)],
    ...                      "tone": ["rude", "kind", "kind", "rude", "rude", "kind"] * 6 + ["rude"] * 4})
    >>> bootstrap(amce, data, "chosen ~ tone", draws=50, seed=1).replicates.shape
    (50, 2)
    """
    if method not in intervals.METHODS:
        raise InputError(f"There is no interval {method!r}; there are {', '.join(intervals.METHODS)}.")
    check_draws(draws, seed, 2, "give at least 2, and 1000 or more for intervals")
    request = _request(estimator, formula, alpha, options)
    data = frame_of(request, require_frame(data))
    plan = (
        _COUNTED[request.verb](request, counted_cells(request, data))
        if request.verb in _COUNTED
        else plan_for(request, data)
    )
    counting = isinstance(plan, CountPlan)
    if counting and method in ("bca", "studentized"):
        raise InputError(f"Counts have no {method} interval; give method='percentile' or 'basic'.")
    names = names_of(unit)
    units = cross([_factor(data, name) for name in names])
    if units.fewest < 2:
        raise InputError(f"Unit {unit!r} has a single value; there is nothing to draw from.")
    check_method(method, units)
    entries = plan.cells.entries(units.code, units.n)
    replicates, errors = _draw(plan, entries, draw_weights(units, draws, seed), method, progress)
    null = plan.request.h0 or 0.0
    if isinstance(plan, CountPlan):
        estimate = plan.estimate(plan.cells.cell_weight)
        tested = ~np.isnan(estimate)
    else:
        estimate = estimates(plan, coefficients(plan))
        tested = ~np.isnan(estimate) & ~plan.is_reference
    replicates[:, np.isnan(estimate)] = np.nan
    if isinstance(plan, Plan):
        _warn_of_separated_draws(plan, np.isnan(replicates) & tested)
    scale = 1.0 if isinstance(plan, CountPlan) else float(np.abs(plan.cells.outcome).max())
    varies = vary(replicates, scale)
    warn(plan, tested & ~varies, "interval", "it is the same in every draw that has it.")
    tested &= varies
    sample = intervals.Sample(estimate, replicates, tested, scale)
    if method == "bca" and not isinstance(plan, CountPlan):
        made = intervals.bca(sample, influence_moments(plan, entries), alpha, null)
    elif method == "studentized" and not isinstance(plan, CountPlan):
        own = standard_errors(plan, entries, np.ones((1, units.n)))[0]
        made = intervals.studentized(sample, own, errors, alpha, null)
    else:
        made = (intervals.percentile if method == "percentile" else intervals.basic)(sample, alpha, null)
    lower, upper = cut(made.lower, made.upper, estimate, plan.support)
    made = replace(made, lower=lower, upper=upper)
    counts = {"unit": ", ".join(names), "n_units": units.fewest, "draws": draws}
    return _assemble(plan, sample, made, counts | {"seed": seed, "method": method})


def draw_weights(units: Units, draws: int, seed: int | None) -> Iterator[Callable[[], np.ndarray]]:
    """Yield a function per block of draws, with a generator of its own, for weights of shape (draws, U)."""
    size = max(1, min(_DRAWS_AT_A_TIME, _WEIGHTS_AT_A_TIME // units.n))
    starts = range(0, draws, size)
    streams = np.random.SeedSequence(seed).spawn(len(starts))
    for start, stream in zip(starts, streams, strict=True):
        random = np.random.Generator(np.random.SFC64(stream))
        yield partial(pigeonhole_weights, units, min(size, draws - start), random)


def _draw(
    plan: Plan | CountPlan,
    entries: Entries,
    blocks: Iterator[Callable[[], np.ndarray]],
    method: Method,
    progress: Callable[[int], None] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of all draws, (draws, m), and their standard errors where the method needs them."""
    weight, total = entries.matrices()
    chosen = total.copy()
    chosen.eliminate_zeros()

    def block(draw: Callable[[], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        counts = draw()
        columns = counts.T.astype(float, order="C")
        found = replicate(plan, weight.T @ columns, chosen.T @ columns)
        errors = found[:0]
        if method == "studentized" and isinstance(plan, Plan):
            errors = standard_errors(plan, entries, counts)
        if progress is not None:
            progress(len(found))
        return found, errors

    with one_thread(), ThreadPoolExecutor(max_workers=_processors()) as pool:
        found = list(pool.map(block, blocks))
    return np.vstack([e for e, _ in found]), np.vstack([s for _, s in found])


def _processors() -> int:
    """Processors that this process may use, eight at most, since each has a block of draws."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, 8)


def _request(
    estimator: Callable[..., Estimates], formula: str | Formula, alpha: float, options: dict[str, Any]
) -> Request:
    if options.get("strata"):
        raise InputError("The bootstrap draws units from the whole sample; leave strata out.")
    name = getattr(estimator, "__name__", repr(estimator))
    if options.pop("engine", "native") != "native":
        raise InputError("Only the native engine reweights cells; leave engine out of a bootstrap.")
    if name == "cj":
        name = verb_of(options.pop("estimate", "amce"), options.get("by"))
    if name in _COUNTED:
        return make_request(name, formula, **options)
    if name not in PLANS:
        raise InputError(
            f"{name} cannot be bootstrapped; the estimators are amce, mm, amce_diffs, mm_diffs, "
            "amce_by_reference, cj, cj_freqs and cj_props."
        )
    return make_request(name, formula, alpha=alpha, **options)


def _warn_of_separated_draws(plan: Plan, missing: np.ndarray) -> None:
    """Warn of logits that are missing in some draws, flags of shape (draws, m)."""
    counts = missing.sum(axis=0)
    if plan.request.family == "quasibinomial" and counts.any():
        named = plan.keys.loc[counts > 0, ["feature", "level"]].astype(str).agg("=".join, axis=1)
        warn_caller(
            f"In {counts.max():,} of {len(missing):,} draws there is no finite logit for "
            f"{', '.join(dict.fromkeys(named))}. These draws are excluded, so that standard errors and "
            "intervals are too small; merge rare levels, or omit family='quasibinomial'.",
        )


def _factor(data: pd.DataFrame, unit: str) -> Clusters:
    if unit == "row":
        return Clusters.of_rows(len(data))
    candidates = (unit, *UNIT_COLUMNS.get(unit, ()))
    column = next((name for name in candidates if name in data.columns), None)
    if column in UNIT_COLUMNS["pair"]:
        check_pairs(data, column)
    if column is None:
        raise InputError(
            f"unit={unit!r} needs a column {' or '.join(map(repr, dict.fromkeys(candidates)))}; "
            "name the column that contains the units, or give unit='row'."
        )
    return Clusters(*unit_codes(data, column))


def _assemble(
    plan: Plan | CountPlan, sample: intervals.Sample, made: intervals.Interval, drawn: dict[str, Any]
) -> Bootstrap:
    tested = sample.tested
    std_error = made.std_error
    value, z, p = "estimate", np.full(len(tested), np.nan), np.full(len(tested), np.nan)
    if isinstance(plan, CountPlan):
        value = plan.value
    else:
        p = made.p
        z[tested] = (sample.estimate[tested] - (plan.request.h0 or 0.0)) / std_error[tested]
    numbers = {value: sample.estimate, "std_error": std_error, "z": z, "p": p}
    frame = plan.keys.assign(**numbers, lower=made.lower, upper=made.upper)
    vcov = pd.DataFrame(sample.replicates[:, tested], columns=row_labels(plan.keys[tested])).cov()
    made_by = replace(provenance(plan), interval=drawn["method"], extra=drawn)
    return Bootstrap(frame, vcov, made_by, sample.replicates)
