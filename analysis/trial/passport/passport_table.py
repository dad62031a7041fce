"""The passport: measured coverage and width of every interval in every situation, one table of all trials."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.files import PASSPORT, PASSPORT_TABLE, shipped_names
from conjury.inference.tables.frames import any_frame

from ...frames.passport import LEAST_COVERAGE
from ...numerics.intervals import wilson
from ...numerics.performance import Draws
from ...numerics.rating_panel import effective_clusters
from ...results import Result
from ..trial_file import Trial, load_trial
from ..trial_registry import find
from ..trial_runner import Execution, draws_of_trial
from ..trial_summary import CellDraws, by_quantity
from .worlds import cluster_of_items

# parameters of processes that make a situation, with what they are where a process has none
USUAL = {"n": 0, "prevalence": np.nan, "clusters": 0, "shape": "equal", "missing": 0.0}
ALPHA = 0.05  # of all trials of the passport
MONTE_CARLO = 0.05  # one minus the level of Monte Carlo intervals
SAME = 1e-12  # width below which an interval is a point
EXPECTED = "winning_rate"  # whose interval is for the mean of studies of this size

Progress = Callable[[str, int, int], None]  # of a trial, its draws done and all its draws


def passport_trials() -> list[str]:
    """List the trials that make up the passport.

    Returns
    -------
    list of str
        Names of the trials, in alphabetical order.

    Examples
    --------
    >>> "labels" in passport_trials()
    True
    """
    return shipped_names(PASSPORT)


def run_passport(
    out: str | Path | None = None,
    *,
    draws: int | None = None,
    only: Sequence[str] = (),
    workers: int = 1,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Measure every interval; finished blocks of draws in ``out`` are not made again.

    Parameters
    ----------
    out : str or Path, optional
        Folder in which finished blocks of draws are kept.
    draws : int, optional
        Draws in each situation, in place of those of the trials.
    only : sequence of str
        Names of trials, as `passport_trials` lists them; by default all.
    workers : int
        Processes on this machine.
    progress : callable, optional
        Called with the name of a trial, its draws made, and all its draws.

    Returns
    -------
    DataFrame
        One row per quantity, method and situation, with the columns of `passport`.

    Raises
    ------
    InputError
        For trials that the passport does not have.

    Examples
    --------
    >>> from conjury.analysis.trial.passport import run_passport
    >>> table = run_passport(draws=2, only=["dimensions"])
    >>> table["situation"].tolist()
    ['10 items', '100 items, best rating of 5%']
    """
    trials = passport_trials()
    for name in only:
        if name not in trials:
            raise InputError(
                f"The passport has no trial '{name}'{did_you_mean(name, trials)}; it has "
                f"{listed(trials, 40)}."
            )
    tables = []
    for name in only or trials:
        trial = load_trial(PASSPORT / f"{name}.yaml")
        counter = None if progress is None else _named(progress, name)
        blocks, _ = draws_of_trial(trial, out, Execution(draws=draws, workers=workers, progress=counter))
        tables.append(rows_of(trial, blocks))
    return pd.concat(tables, ignore_index=True)


def _named(progress: Progress, name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def rows_of(trial: Trial, blocks: Sequence[CellDraws]) -> pd.DataFrame:
    """Coverage, width and what else a passport has of every quantity, method and situation of a trial."""
    # `without` is the share of draws with an estimate and no interval, `point` that of intervals without
    # width. The truth of a winning rate is the rate expected of a study of this size.
    rows = []
    for block in blocks:
        cell, tried = trial.cells[block.cell], trial.tried[block.method]
        function = find("process", cell.process, trial.folder)
        where = situation_of({**defaults(function), **cell.parameters})
        for _, quantity, draws in by_quantity(block.frame, trial.alpha):
            bounded = np.isfinite(draws.lower) | np.isfinite(draws.upper)
            if quantity.endswith(EXPECTED) and draws.known.any():
                draws = replace(draws, truth=np.full_like(draws.truth, np.nanmean(draws.estimate)))
            if np.isfinite(draws.truth).any() and bounded.any():
                keys = {"trial": trial.name, "method": tried.label, "quantity": quantity}
                rows.append({**keys, "situation": cell.label, **where, **_measured(draws)})
    return pd.DataFrame(rows)


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Parameters of a process with what they are by default."""
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
    }


def situation_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a process draws: items, the share of the rare class, clusters, and their effective number."""
    where = {name: parameters.get(name, usual) for name, usual in USUAL.items()}
    if "n" not in parameters:  # topics with an item of each tier
        where["n"] = where["clusters"]
    n, clusters = int(where["n"]), int(where["clusters"])
    return {**where, "effective": effective_clusters(cluster_of_items(n, clusters, where["shape"]))}


def _measured(draws: Draws) -> dict[str, float]:
    lower, upper, truth = draws.lower, draws.upper, draws.truth
    bounded = draws.known & ~(np.isnan(lower) | np.isnan(upper)) & np.isfinite(truth)
    n = int(bounded.sum())
    # a rounding error is no miss
    near = SAME * np.maximum(1.0, np.abs(truth))
    below, above = (upper < truth - near)[bounded], (lower > truth + near)[bounded]
    width = (upper - lower)[bounded]
    covered = np.array([1 - (below | above).mean() if n else np.nan])
    low, high = wilson(covered, np.array([float(n)]), MONTE_CARLO)
    finite = width[np.isfinite(width)]
    return {
        "draws": int(draws.known.sum()),
        "coverage": float(covered[0]),
        "coverage_lower": float(low[0]),
        "coverage_upper": float(high[0]),
        "width": float(finite.mean()) if len(finite) else np.nan,
        "without": float(1 - n / max(int(draws.known.sum()), 1)),
        "point": float((width <= SAME).mean()) if n else np.nan,
        "below": float(below.mean()) if n else np.nan,
        "above": float(above.mean()) if n else np.nan,
    }


@any_frame
def write_passport(table: pd.DataFrame, path: str | Path) -> None:
    """Write the passport as CSV, numbers to four digits.

    Parameters
    ----------
    table : DataFrame
        As `run_passport` returns it.
    path : str or Path
        The file.

    Examples
    --------
    >>> from conjury.analysis.trial.passport import passport, write_passport
    >>> write_passport(passport().frame, "passport.csv")  # doctest: +SKIP
    """
    table.round(4).to_csv(path, index=False, lineterminator="\n")


def passport() -> Result:
    """The shipped passport: coverage and width of every interval in sparse situations.

    Returns
    -------
    Result
        Kind "passport": one row per ``trial, method, quantity, situation`` with what the situation consists
        of (``n`` items or pairs; ``prevalence`` of the rare class or level; ``clusters``, 0 where rows are
        independent; their ``shape`` and ``effective`` number; ``missing``), and, of nominal 95% intervals,
        ``coverage`` with its 95% Monte Carlo interval ``coverage_lower, coverage_upper``, the mean ``width``,
        the shares of estimates ``without`` an interval, of intervals that are a ``point``, and of those
        ``below`` and ``above`` the true value.

    Examples
    --------
    >>> table = passport().frame
    >>> bool((table["coverage"].dropna() <= 1).all())
    True
    """
    frame = pd.read_csv(PASSPORT_TABLE)
    notes = (
        "Coverage is that of draws with an interval. Monte Carlo intervals are Wilson's; coverage is below "
        f"{LEAST_COVERAGE:.0%} where such an interval lies below it.",
    )
    return Result(frame, "passport", notes, {"alpha": ALPHA})
