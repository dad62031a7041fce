"""What unanswered choices may do to means and effects: worst-case bounds, their intervals, tipping shares."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ..correction.bounds import (
    ASSUMED,
    Direction,
    EstimateErrors,
    answered,
    check_direction,
    columns_by_errors,
    worst_outcomes,
)
from ..frames.cells import forced_choices
from ..frames.notes import noted_warnings
from ..frames.variables import Formula, numeric_column
from ..numerics.intervals import UNBOUNDED, Support
from ..numerics.linear import one_thread
from ..numerics.types import Codes, Floats
from ..results import Result
from .engines import native
from .engines.completed_outcomes import solve_completed
from .engines.coverage import notes_of_coverage
from .engines.few_clusters import warn_of_few_clusters
from .engines.solution import assemble, estimable, infer, solve
from .estimands import plan_of
from .estimates import Estimates, FittedPlan
from .estimation_plan import EstimationPlan
from .request import MEANS, EstimateRequest, make_request, with_null
from .rows import Data, frame_of

_NO_WEIGHT = 1e-12  # relative to the largest: cells that an estimate does not rest on, up to rounding
BOUNDED = ("amce", "mm", "amce_diffs", "mm_diffs", "amce_by_reference")


@dataclass(frozen=True)
class _Answers:
    """The n rows of a table, answered or not."""

    missing: np.ndarray  # (n,): whether the outcome is missing
    outcome: Floats  # (n,): 0 where it is missing
    limits: Support
    choice: Codes | None  # (n,): choice of each row; None where choices are not forced
    n_profiles: int  # of a choice


@any_frame
def bounds(
    estimator: Callable[..., Estimates],
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    limits: tuple[float, float] | None = None,
    forced: bool | None = None,
    direction: Direction | None = None,
    alpha: float = 0.05,
    **options: Any,
) -> Result:
    """Bound means and effects over everything that the missing answers could have been.

    An estimate is a linear function of the outcomes, with weights that follow from the profiles shown alone.
    So its least and largest value over all completions of the table are exact. In a forced choice the rows
    move together: one profile is chosen, and the others are not. Other outcomes may be anything between their
    ``limits``. Intervals cover the estimand of all tasks asked, answered or not, wherever it lies between the
    bounds (Imbens and Manski 2004).

    Parameters
    ----------
    estimator : function
        `amce`, `mm`, `amce_diffs`, `mm_diffs` or `amce_by_reference`.
    data : DataFrame or path
        One row per profile of every task asked; the outcome is missing where there was no answer.
    formula, id
        As for the estimator.
    limits : tuple of float, optional
        Least and largest possible outcome; by default 0 and 1 where all outcomes are between them.
    forced : bool, optional
        Whether the outcomes of each choice sum to 1; by default as the answered choices show.
    direction : {"for", "against"}, optional
        Assume that missing answers, taken together, move no estimate down ("for": they are at least as
        favourable to a level, or to the level over its reference, as the answers given), or none up
        ("against"). For a mean this is Manski's "means missing monotonically". One of the bounds is then the
        estimate from the answers given.
    alpha, **options
        As for the estimator; the engine is native, and ``family`` "gaussian".

    Returns
    -------
    Result
        Kind "bounds", with a row for every row of the estimator: ``n_answered, n_asked`` (profiles with the
        level), ``estimate, std_error, lower, upper`` from the answers given, ``bound_lower, bound_upper``,
        ``bound_lower_error, bound_upper_error`` (their standard errors), ``ci_lower, ci_upper`` (the interval
        that covers the estimand), ``tipping_estimate`` and ``tipping_interval``: the smallest share of the
        missing answers that, going the worst way while the others are as those given, moves the estimate, or
        its interval, to the null value; missing where none does. ``conclusion`` is "turns" or "holds" where
        the interval of the answers given excludes the null value, else "none"; answers that are all alike
        have no interval, and it is "holds" where ``ci_lower, ci_upper`` exclude the null value. Shares of
        intervals interpolate standard errors between the two tables, which makes them none too small.

    Raises
    ------
    InputError
        For another estimator, engine or family, an outcome outside the limits, or no limits for an outcome
        that leaves 0 to 1.

    References
    ----------
    Horowitz, J. L., Manski, C. F. (2000). Nonparametric analysis of randomized experiments with missing
    covariate and outcome data. Journal of the American Statistical Association 95(449), 77-84.
    doi:10.1080/01621459.2000.10473902

    Manski, C. F. (2003). Partial Identification of Probability Distributions. Springer. doi:10.1007/b97478

    Imbens, G. W., Manski, C. F. (2004). Confidence intervals for partially identified parameters.
    Econometrica 72(6), 1845-1857. doi:10.1111/j.1468-0262.2004.00555.x

    Examples
    --------
    >>> from conjury.analysis.conjoint import mm
    >>> data = pd.DataFrame({"chosen": [1, 0] * 8 + [None] * 4, "pair_id": [i // 2 for i in range(20)],
    ...                      "tone": ["rude", "kind", "kind", "rude"] * 5})
    >>> found = bounds(mm, data, "chosen ~ tone", id="pair_id").frame
    >>> found[["level", "n_answered", "n_asked", "bound_lower", "bound_upper"]].values.tolist()
    [['kind', 8, 10, 0.4, 0.6], ['rude', 8, 10, 0.4, 0.6]]
    """
    request = _request(estimator, formula, id, alpha, options)
    check_direction(direction)
    frame = frame_of(request, data, full=True)
    answers = _read_answers(request, frame, limits, forced)
    if request.verb in MEANS and request.h0 is None:
        request = _with_null(request, frame, answers, forced)
    filled = frame.assign(**{request.formula.outcome: answers.outcome})
    plan = plan_of(request, filled)
    estimates = _observed_estimates(plan, answers)
    df = estimates["df"].to_numpy() if "df" in estimates else None
    numbers = EstimateErrors(estimates["estimate"].to_numpy(), estimates["std_error"].to_numpy(), df)
    # Answers that are all alike have no standard error; their completions have, unless clusters are too few.
    without = np.isnan(numbers.std_error) & ~np.isnan(numbers.estimate) & ~plan.is_reference
    without[without] = _flag_single_clusters(plan, np.flatnonzero(without))
    least, largest = (
        replace(side, std_error=np.where(without, np.nan, side.std_error))
        for side in _extremes(plan, answers)
    )
    support = answers.limits if request.verb in MEANS else UNBOUNDED
    columns = columns_by_errors(numbers, least, largest, direction, alpha, request.h0 or 0.0, support)
    settings = _settings(plan, answers, direction)
    table = plan.keys.assign(**_counts(plan, answers), **estimates, **columns)
    note = answered(settings["n_asked"] - settings["n_missing"], settings["n_asked"], settings["counted"])
    covered = notes_of_coverage(plan, f"bounds {request.verb}")
    return Result(table, "bounds", (note, ASSUMED[direction], *covered), settings)


def _request(
    estimator: Callable[..., Estimates],
    formula: str | Formula,
    id: str | Sequence[str] | None,
    alpha: float,
    options: Mapping[str, Any],
) -> EstimateRequest:
    name = getattr(estimator, "__name__", repr(estimator))
    if name not in BOUNDED:
        raise InputError(f"{name} has no bounds; the estimators are {', '.join(BOUNDED)}.")
    request = make_request(name, formula, id=id, alpha=alpha, **options)
    if request.engine != "native":
        raise InputError(f"Bounds are computed by engine 'native', not {request.engine!r}; omit it.")
    if request.family != "gaussian":
        raise InputError(f"Bounds need a linear estimate; omit family={request.family!r}.")
    return request


def _read_answers(
    request: EstimateRequest, frame: pd.DataFrame, limits: Support | None, forced: bool | None
) -> _Answers:
    """Which outcomes are missing, and what they may be."""
    outcome = request.formula.outcome
    values = numeric_column(frame, outcome)
    missing = np.isnan(values)
    observed_values = values[~missing]
    choices = None
    if forced is not False:
        # What a status calls a refusal is one for the estimators, too, whose null value rests on it (see
        # `_with_null`); a warning of choices that are not forced would be about another reading.
        with noted_warnings() if "status" in frame else nullcontext():
            outcomes = frame.drop(columns="status", errors="ignore")
            choices = forced_choices(outcomes, outcome, request.clusters, unanswered=bool(forced))
        if forced and choices is None:
            raise InputError(
                f"Outcomes {outcome!r} do not sum to 1 in every choice that is answered, or the table does "
                "not name the choice of a row; correct the column, add pair_id, or leave forced out."
            )
    if choices is not None:
        return _Answers(missing, np.where(missing, 0.0, values), (0.0, 1.0), *choices)
    if limits is None:
        if len(observed_values) and (observed_values.min() < 0 or observed_values.max() > 1):
            raise InputError(
                f"Outcome {outcome!r} leaves the range 0 to 1; give limits=(least, largest) of its values."
            )
        limits = (0.0, 1.0)
    least, largest = limits
    if not least < largest:
        raise InputError(f"limits are {limits!r}; give the least and the largest possible outcome.")
    if len(observed_values) and (observed_values.min() < least or observed_values.max() > largest):
        raise InputError(f"Outcome {outcome!r} leaves its limits {least:g} to {largest:g}; correct either.")
    return _Answers(missing, np.where(missing, 0.0, values), (float(least), float(largest)), None, 1)


def _observed_estimates(plan: EstimationPlan, answers: _Answers) -> pd.DataFrame:
    """Estimates from the answers given, in the rows of the plan; missing where nothing was answered."""
    if answers.missing.all():
        columns = ["estimate", "std_error", "lower", "upper"]
        return pd.DataFrame(np.nan, index=plan.keys.index, columns=columns)
    weight = np.where(answers.missing, 0.0, plan.cells.weight)
    part = replace(plan, cells=replace(plan.cells, weight=weight))
    warn_of_few_clusters(part)
    frame = assemble(part, solve(part, "native")).frame
    return frame[[name for name in ("estimate", "std_error", "df", "lower", "upper") if name in frame]]


def _with_null(
    request: EstimateRequest, frame: pd.DataFrame, answers: _Answers, forced: bool | None
) -> EstimateRequest:
    """A request about means with its null value: chance in a forced choice, else that of the estimator."""
    if answers.choice is not None:
        return replace(request, h0=1 / answers.n_profiles)
    return with_null(request, frame) if forced is None and "status" in frame else replace(request, h0=0.0)


def _flag_single_clusters(plan: EstimationPlan, rows: np.ndarray) -> np.ndarray:
    """Flag m estimates one of whose regressions rests on a single cluster, answered or not, shape (m,)."""
    flags = np.zeros(len(rows), dtype=bool)
    if not len(rows):
        return flags
    cells = plan.cells
    clusterings = list(cells.clusterings.values()) or [cells.clusters]
    with one_thread():
        fits = native.fits_of(plan)
        for part in native.block_directions(plan, fits):
            for place, weight in enumerate(np.abs(part[:, rows].T)):
                touched = weight > _NO_WEIGHT * weight.max()
                mask = touched[cells.cell] & (cells.weight > 0)
                flags[place] |= any(len(np.unique(each.code[mask])) == 1 for each in clusterings)
    return flags


def _extremes(plan: EstimationPlan, answers: _Answers) -> tuple[EstimateErrors, EstimateErrors]:
    """Each estimate with its standard error in the completions that make it least and largest."""
    cells, missing_rows = plan.cells, np.flatnonzero(answers.missing)
    tested = np.flatnonzero(estimable(plan.contrasts, plan.null_space(cells.cell_weight)))
    with one_thread():
        fits = native.fits_of(plan)
        by_cell = np.add.reduce(list(native.block_directions(plan, fits)))[:, tested]
        weights = by_cell[cells.cell[missing_rows]] * cells.weight[missing_rows, None]
    filled = [_extreme_outcomes(answers, missing_rows, weights, sign) for sign in (-1, 1)]
    errors = native.one_way(plan, fits)
    numbers = np.full((2, 3, len(plan.contrasts)), np.nan)
    if errors is None:
        for place, outcomes in enumerate(filled):
            numbers[place][:, tested] = _estimate_completions(plan, tested, missing_rows, outcomes)
    else:
        completions = np.hstack(filled)
        estimate, error = solve_completed(plan, fits, errors, np.tile(tested, 2), missing_rows, completions)
        df = np.nan if errors.df is None else errors.df(plan.contrasts[tested])
        numbers[:, 0, tested], numbers[:, 1, tested] = estimate.reshape(2, -1), error.reshape(2, -1)
        numbers[:, 2, tested] = df
    normal = plan.request.vcov == "survey"
    least, largest = (
        EstimateErrors(estimate, np.where(plan.is_reference, np.nan, error), None if normal else df)
        for estimate, error, df in numbers
    )
    return least, largest


def _extreme_outcomes(answers: _Answers, missing_rows: np.ndarray, weights: Floats, sign: int) -> Floats:
    """Outcomes of the missing rows that make each estimate largest (sign 1) or least, (missing, m)."""
    if answers.choice is None:
        return np.where(sign * weights > 0, *answers.limits[::-1])
    return worst_outcomes(weights, answers.choice[missing_rows], *_remainders(answers, missing_rows), sign)


def _estimate_completions(
    plan: EstimationPlan, tested: np.ndarray, missing_rows: np.ndarray, outcomes: Floats
) -> Floats:
    """Estimates, standard errors and degrees of freedom from the covariance of each completed table."""
    numbers = np.full((3, len(tested)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)  # a covariance may be repaired in every row
        for place, row in enumerate(tested):
            outcome = plan.cells.outcome.copy()
            outcome[missing_rows] = outcomes[:, place]
            part = _part(plan, row)
            completed = replace(part, cells=replace(plan.cells, outcome=outcome))
            result = infer(FittedPlan(completed, solve(completed, "native")), part.contrasts)
            df = np.nan if result.df is None else result.df[0]
            numbers[:, place] = result.estimate[0], result.std_error[0], df
    return numbers


def _part(plan: EstimationPlan, row: int) -> EstimationPlan:
    """The regressions that one estimate is about; all of them for a reference level."""
    touched = [bool(plan.contrasts[row, columns].any()) for columns in plan.slices]
    if not any(touched):
        return replace(plan, contrasts=plan.contrasts[[row]])
    columns = np.concatenate([np.r_[part] for part, flag in zip(plan.slices, touched, strict=True) if flag])
    blocks = tuple(block for block, flag in zip(plan.blocks, touched, strict=True) if flag)
    return replace(plan, blocks=blocks, contrasts=plan.contrasts[[row]][:, columns])


def _remainders(answers: _Answers, missing_rows: np.ndarray) -> tuple[Floats, np.ndarray]:
    """What the missing rows of each choice add up to, and whether its rows are all here, shape (missing,)."""
    assert answers.choice is not None
    totals = np.bincount(answers.choice, np.where(answers.missing, 0.0, answers.outcome))
    is_complete = np.bincount(answers.choice) == answers.n_profiles
    choice = answers.choice[missing_rows]
    return np.clip(1 - totals, 0.0, 1.0)[choice], is_complete[choice]


def _counts(plan: EstimationPlan, answers: _Answers) -> dict[str, np.ndarray]:
    """Profiles with the level of each row that were answered, and that were shown, each (m,)."""
    cells, request = plan.cells, plan.request
    touched = [np.nan_to_num(plan.contrasts[:, columns]).any(axis=1) for columns in plan.slices]
    inside = np.array([block.inside for block in plan.blocks])
    mask = cells.weight > 0
    by_cell = [np.bincount(cells.cell, rows, cells.n_cells) for rows in (mask & ~answers.missing, mask)]
    counts = np.zeros((2, len(plan.contrasts)), dtype=np.int64)
    shown_as = plan.keys[["feature", "level"]].astype(str).to_numpy()
    for name in request.features:
        codes, levels = cells.code(name), [str(level) for level in cells.levels[name]]
        for row in np.flatnonzero(shown_as[:, 0] == request.label(name)):
            code = levels.index(shown_as[row, 1])
            part = np.array([flags[row] for flags in touched])
            shows_level = (codes == code) & (inside[part] if part.any() else inside).any(axis=0)
            counts[:, row] = [cell_counts[shows_level].sum() for cell_counts in by_cell]
    return {"n_answered": counts[0], "n_asked": counts[1]}


def _settings(plan: EstimationPlan, answers: _Answers, direction: str | None) -> dict[str, Any]:
    request = plan.request
    mask = np.logical_or.reduce([block.inside for block in plan.blocks])[plan.cells.cell]
    mask &= plan.cells.weight > 0
    unit = answers.choice if answers.choice is not None else np.arange(len(mask))
    n_asked, n_missing = (int((np.bincount(unit, rows) > 0).sum()) for rows in (mask, mask & answers.missing))
    return {
        "verb": request.verb,
        "formula": str(request.formula),
        "id": request.id,
        "vcov": request.vcov,
        "by": list(request.by),
        "alpha": request.alpha,
        "null": request.h0 or 0.0,
        "forced": answers.choice is not None,
        "counted": "profiles" if answers.choice is None else "choices",
        "limits": list(answers.limits),
        "direction": direction,
        "n_asked": n_asked,
        "n_missing": n_missing,
    }
