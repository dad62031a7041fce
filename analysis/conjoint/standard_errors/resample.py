"""The bootstrap of units: the public function, its checks and its table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, unknown_name
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note
from ...frames.stored import is_stored, open_stored
from ...frames.variables import Formula, check_pairs, unit_codes, warn_caller
from ...numerics import intervals
from ...numerics.bootstrap import ResamplingUnits, check_method, cross, pigeonhole_weights, unit_names
from ...numerics.intervals import check_draws, cut, vary
from ...numerics.linear import one_thread
from ...numerics.rating_panel import Entries, RowClusters
from ...results import row_labels
from ..engines.coverage import notes_of_coverage
from ..engines.native import coefficients
from ..engines.replicates import ReplicateEstimates, influence_moments, processors, replicate, standard_errors
from ..engines.solution import estimates, provenance, warn
from ..estimands import PLANS
from ..estimates import Estimates
from ..estimation import plan_for
from ..estimation_plan import CountPlan, EstimationPlan
from ..request import EstimateRequest, make_request
from ..rows import Data, frame_of
from ..verbs.cj import verb_of
from ..verbs.frequencies import counted_cells, freqs_plan, props_plan

Method = Literal["percentile", "basic", "bca", "studentized"]
UNIT_COLUMNS = {"pair": ("pair", "pair_id"), "respondent": ("respondent", "respondent_id", "judge_id")}
_WEIGHTS_AT_A_TIME = 1_500_000  # 12 MB of weights
_DRAWS_AT_A_TIME = 50
_KEPT_COUNTS = 50_000_000  # bytes of counts that analyses share
_COUNTED = {"cj_freqs": freqs_plan, "cj_props": props_plan}


@dataclass(frozen=True)
class Bootstrap(Estimates):
    """Estimates with bootstrap inference.

    ``std_error`` is the standard deviation over draws, ``z`` the estimate (minus the null
    value) over it, ``lower`` and ``upper`` are the interval of the chosen method (missing where
    no draw differs; of means of a 0/1 outcome and of shares cut at 0 and 1), and
    ``p`` inverts that interval: it is below alpha exactly where the interval leaves the
    null value out, up to 1 / (draws + 1). Counts have errors and limits, but no test.

    Parameters
    ----------
    frame : DataFrame
        One row per estimate, as in `conjury.analysis.conjoint.Estimates`.
    vcov : DataFrame or None
        Covariance of the draws.
    provenance : Provenance
        Verb, formula, engine, clusters and counts.
    replicates : ndarray, shape (draws, m)
        Estimates of each draw; NaN where a draw lost a level.
    notes, extra, real_judges, fitted
        As in `conjury.analysis.conjoint.Estimates`.

    Examples
    --------
    >>> from conjury.analysis.conjoint import bootstrap, mm
    >>> rows = pd.DataFrame({"pair_id": [1, 1, 2, 2, 3, 3, 4, 4], "tone": ["kind", "rude"] * 4,
    ...     "chosen": [1, 0, 1, 0, 0, 1, 1, 0]})
    >>> drawn = bootstrap(mm, rows, "chosen ~ tone", draws=200, seed=1)
    >>> drawn.frame[["level", "estimate"]].values.tolist(), drawn.replicates.shape
    ([['kind', 0.75], ['rude', 0.25]], (200, 2))
    """

    replicates: np.ndarray


@any_frame
def bootstrap(
    estimator: Callable[..., Estimates],
    data: Data,
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
    data, formula
        As for the estimator; of a Parquet file all columns are read. The native engine computes all draws. Of
        a table of Ibis, and of a folder, glob or address of Parquet files, the engine sends rows in the order
        of units, and only sums over them are kept. A draw then weighs each unit by a Poisson number with mean
        one, from a hash of its name and the seed: the draws are the same in every engine, for every order of
        rows. Such tables have no studentized intervals, and no unit "row".
    unit : str or sequence of str
        What is drawn: "row", "pair" (column ``pair`` or ``pair_id``; the two profiles of a
        forced choice are one observation), "respondent" (``respondent``, ``respondent_id``
        or ``judge_id``), or the name of any column. Several names, such as
        ["text", "user"], draw each factor on its own, and a row weighs the product (pigeonhole).
        With two factors the noise of single rows then counts three times, with three seven
        times: intervals are too wide where that noise dominates the effects of the factors.
    draws : int
        Number of draws, 2 or more.
    seed : int, optional
        Same seed, same draws, whatever the number of processors.
    method : {"percentile", "basic", "bca", "studentized"}
        Studentized intervals compute a standard error in every draw and take ten times
        as long as the others or more.
    alpha : float
        One minus the confidence level.
    progress : callable, optional
        Called with the number of draws just finished.
    **options : object
        As for the estimator.

    Returns
    -------
    Bootstrap
        Estimates with errors, intervals and p values from the draws.

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
        raise unknown_name("interval", method, intervals.METHODS)
    check_draws(draws, seed, 2, "give at least 2, and 1000 or more for intervals")
    request = _request(estimator, formula, alpha, options)
    names = unit_names(unit)
    if request.verb in _COUNTED and method in ("bca", "studentized"):
        raise InputError(f"Counts have no {method} interval; give method='percentile' or 'basic'.")
    if is_stored(data):
        resamples = _draw_stored(request, data, names, draws, seed, method)
        if progress is not None:
            progress(draws)
    else:
        resamples = _draw_rows(
            request, frame_of(request, data, full=True), names, draws, seed, method, progress
        )
    plan, replicates = resamples.plan, resamples.replicates
    null = plan.request.h0 or 0.0
    if isinstance(plan, CountPlan):
        estimate = plan.estimate(plan.cells.cell_weight)
        tested = ~np.isnan(estimate)
    else:
        estimate = estimates(plan, coefficients(plan))
        tested = ~np.isnan(estimate) & ~plan.is_reference
    replicates[:, np.isnan(estimate)] = np.nan
    if isinstance(plan, EstimationPlan):
        _warn_of_separated_draws(plan, np.isnan(replicates) & tested)
    scale = 1.0 if isinstance(plan, CountPlan) else float(np.abs(plan.cells.span).max())
    varies = vary(replicates, scale)
    sample = intervals.BootstrapSample(estimate, replicates, tested & varies, scale)
    if resamples.moments is not None:
        interval = intervals.bca(sample, resamples.moments, alpha, null)
    elif resamples.errors is not None:
        interval = intervals.studentized(sample, *resamples.errors, alpha, null)
    else:
        interval = (intervals.percentile if method == "percentile" else intervals.basic)(sample, alpha, null)
    warn(plan, (tested & ~varies) | interval.alike, "interval", "its draws do not differ enough.")
    sample = replace(sample, tested=sample.tested & ~interval.alike)
    lower, upper = cut(interval.lower, interval.upper, estimate, plan.support)
    interval = replace(interval, lower=lower, upper=upper)
    record = {
        "unit": ", ".join(names),
        "n_units": resamples.n_units,
        "draws": draws,
        "seed": seed,
        "method": method,
    }
    if resamples.computed_from is not None:
        record["computed_from"] = resamples.computed_from
    return _assemble(resamples, sample, interval, record)


def _draw_rows(
    request: EstimateRequest,
    data: pd.DataFrame,
    names: Sequence[str],
    draws: int,
    seed: int | None,
    method: Method,
    progress: Callable[[int], None] | None,
) -> ReplicateEstimates:
    """Draw units of rows in memory."""
    plan = (
        _COUNTED[request.verb](request, counted_cells(request, data))
        if request.verb in _COUNTED
        else plan_for(request, data)
    )
    units = cross([_factor(data, name) for name in names])
    if units.fewest < 2:
        raise InputError(f"Unit {', '.join(names)!r} has a single value, so it cannot be resampled.")
    check_method(method, len(names))
    entries = plan.cells.entries(units.code, units.n)
    replicates, errors = _draw(plan, entries, draw_weights(units, draws, seed), method, progress)
    resamples = ReplicateEstimates(plan, replicates, units.fewest, None)
    if isinstance(plan, EstimationPlan) and len(names) == 1:
        notes = notes_of_coverage(plan, f"bootstrap {request.verb}", method, cluster=units.code)
        resamples = replace(resamples, notes=tuple(notes))
    if method == "bca" and isinstance(plan, EstimationPlan):
        return replace(resamples, moments=influence_moments(plan, entries))
    if method == "studentized" and isinstance(plan, EstimationPlan):
        return replace(resamples, errors=(standard_errors(plan, entries, np.ones((1, units.n)))[0], errors))
    return resamples


def _draw_stored(
    request: EstimateRequest, data: Data, names: Sequence[str], draws: int, seed: int | None, method: Method
) -> ReplicateEstimates:
    """Draw units of a table that stays in its engine."""
    from ...frames.unit_batches import limit_memory
    from ..engines.unit_sums import check_stored_pairs, draw_stored

    if method == "studentized":
        raise InputError(
            "Studentized intervals need a standard error in every draw, and so rows in memory; give "
            "method='percentile', 'basic' or 'bca'."
        )
    check_method(method, len(names))
    if "row" in names:
        raise InputError(
            "Rows of a table in an engine have no names to draw by; give a column that numbers them."
        )
    stored = open_stored(data)
    if isinstance(data, str | Path):
        limit_memory(stored.table)
    units = [_unit_column(stored.table.columns, name) for name in names]
    for name in set(units) & set(UNIT_COLUMNS["pair"]):
        check_stored_pairs(stored, name)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    make_counts = _COUNTED.get(request.verb)
    return draw_stored(
        request, stored, units, draws, seed, acceleration=method == "bca", make_counts=make_counts
    )


def draw_weights(units: ResamplingUnits, draws: int, seed: int | None) -> Iterator[Callable[[], np.ndarray]]:
    """Yield a function per block of draws, with a generator of its own, for weights of shape (draws, U)."""
    size = max(1, min(_DRAWS_AT_A_TIME, _WEIGHTS_AT_A_TIME // units.n))
    starts = range(0, draws, size)
    streams = np.random.SeedSequence(seed).spawn(len(starts))
    is_shared = seed is not None and len(units.factors) == 1 and draws * units.n <= _KEPT_COUNTS
    by_block = _kept_counts(units.n, draws, seed) if is_shared else None
    for number, (start, stream) in enumerate(zip(starts, streams, strict=True)):
        random = np.random.Generator(np.random.SFC64(stream))
        draw = partial(pigeonhole_weights, units, min(size, draws - start), random)
        yield draw if by_block is None else partial(_shared_counts, by_block, number, draw)


@lru_cache(maxsize=2)
def _kept_counts(n_units: int, draws: int, seed: int | None) -> dict[int, np.ndarray]:
    """Counts by block, (U, b) each, that analyses and judges with as many units and one seed share."""
    return {}


def _shared_counts(
    by_block: dict[int, np.ndarray], number: int, draw: Callable[[], np.ndarray]
) -> np.ndarray:
    """Counts of a block, shape (b, U), drawn where they are not by_block."""
    if number not in by_block:
        counts = draw()
        fits = counts.max(initial=0) <= np.iinfo(np.uint8).max
        by_block[number] = np.ascontiguousarray(counts.T, dtype=np.uint8 if fits else counts.dtype)
    return by_block[number].T


def _draw(
    plan: EstimationPlan | CountPlan,
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
        values = replicate(plan, weight.T @ columns, chosen.T @ columns)
        errors = values[:0]
        if method == "studentized" and isinstance(plan, EstimationPlan):
            errors = standard_errors(plan, entries, counts)
        if progress is not None:
            progress(len(values))
        return values, errors

    with one_thread(), ThreadPoolExecutor(max_workers=processors()) as pool:
        results = list(pool.map(block, blocks))
    return np.vstack([e for e, _ in results]), np.vstack([s for _, s in results])


def _request(
    estimator: Callable[..., Estimates], formula: str | Formula, alpha: float, options: dict[str, Any]
) -> EstimateRequest:
    if options.get("strata"):
        raise InputError("The bootstrap draws units from the whole sample; omit strata.")
    name = getattr(estimator, "__name__", repr(estimator))
    if options.pop("engine", "native") != "native":
        raise InputError("Only the native engine reweights cells; omit engine in a bootstrap.")
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


def _warn_of_separated_draws(plan: EstimationPlan, missing: np.ndarray) -> None:
    """Warn of logits that are missing in some draws, flags of shape (draws, m)."""
    counts = missing.sum(axis=0)
    if plan.request.family == "quasibinomial" and counts.any():
        levels = plan.keys.loc[counts > 0, ["feature", "level"]].astype(str).drop_duplicates()
        warn_caller(
            Note.of(
                "In {n:,} of {total:,} draws there is no finite logit for {levels:99}. These draws are "
                "excluded, so that standard errors and intervals are too small; merge rare levels, or omit "
                "family='quasibinomial'.",
                n=counts.max(),
                total=len(missing),
                levels=list(levels.itertuples(index=False, name=None)),
            )
        )


def _factor(data: pd.DataFrame, unit: str) -> RowClusters:
    if unit == "row":
        return RowClusters.of_rows(len(data))
    column = _unit_column(data.columns, unit)
    if column in UNIT_COLUMNS["pair"]:
        check_pairs(data, column)
    return RowClusters(*unit_codes(data, column))


def _unit_column(columns: Collection[str], unit: str) -> str:
    candidates = (unit, *UNIT_COLUMNS.get(unit, ()))
    for name in candidates:
        if name in columns:
            return name
    raise InputError(
        f"unit={unit!r} needs a column {' or '.join(map(repr, dict.fromkeys(candidates)))}; "
        "name the column that contains the units, or give unit='row'."
    )


def _assemble(
    resamples: ReplicateEstimates,
    sample: intervals.BootstrapSample,
    interval: intervals.BootstrapInterval,
    record: dict[str, Any],
) -> Bootstrap:
    plan, tested = resamples.plan, sample.tested
    std_error = interval.std_error
    value, z, p = "estimate", np.full(len(tested), np.nan), np.full(len(tested), np.nan)
    if isinstance(plan, CountPlan):
        value = plan.value
    else:
        p = interval.p
        z[tested] = (sample.estimate[tested] - (plan.request.h0 or 0.0)) / std_error[tested]
    numbers = {value: sample.estimate, "std_error": std_error, "z": z, "p": p}
    frame = plan.keys.assign(**numbers, lower=interval.lower, upper=interval.upper)
    vcov = pd.DataFrame(sample.replicates[:, tested], columns=row_labels(plan.keys[tested])).cov()
    made_by = replace(provenance(plan), interval=record["method"], extra=record)
    if resamples.n_clusters is not None:
        made_by = replace(made_by, n_clusters=resamples.n_clusters)
    return Bootstrap(frame, vcov, made_by, sample.replicates, notes=resamples.notes)
