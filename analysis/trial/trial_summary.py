"""The tidy table of a trial: performance by cell, estimand, quantity and method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..numerics.performance import MEASURES, Draws, Measure
from ..results import Result
from .trial_file import ProcessCell, Trial
from .trial_registry import find

CENTILES = 100  # intervals of each method that a zip plot shows
LEAST = 0.5  # pseudo-draws on each side where a share is 0 or 1


@dataclass(frozen=True)
class CellDraws:
    """The draws of a method in a cell, and its seconds per draw."""

    cell: int
    method: int
    frame: pd.DataFrame
    seconds: float


def measures_of(trial: Trial) -> dict[str, Measure]:
    """The performance measures of a trial by name, those of users included."""
    return {name: MEASURES.get(name) or find("measure", name, trial.folder) for name in trial.performance}


def draws_of(frame: pd.DataFrame, alpha: float) -> Draws:
    """Columns of a table of draws of one quantity as arrays."""
    names = ("truth", "estimate", "std_error", "lower", "upper", "p")
    truth, estimate, std_error, lower, upper, p = (frame[name].to_numpy(float) for name in names)
    return Draws(truth, estimate, std_error, lower, upper, p, alpha)


def by_quantity(frame: pd.DataFrame, alpha: float) -> Iterator[tuple[str, str, Draws]]:
    """Estimand, quantity and draws, in order of appearance."""
    for (estimand, quantity), rows in frame.groupby(["estimand", "quantity"], sort=False):
        yield str(estimand), str(quantity), draws_of(rows, alpha)


def performance(draws: Draws, measures: Mapping[str, Measure] = MEASURES) -> pd.DataFrame:
    """Performance measures of an estimator over draws.

    Parameters
    ----------
    draws : Draws
        True values and estimates, each of shape (R,).
    measures : mapping of str to callable
        By default all: bias, empirical and model standard error, relative error of the latter, RMSE,
        coverage, bias-eliminated coverage, width, power, type S and M error, failures.

    Returns
    -------
    DataFrame
        ``measure, estimate, mc_error``.

    References
    ----------
    Morris, T. P., White, I. R., Crowther, M. J. (2019). Using simulation studies to evaluate statistical
    methods. Statistics in Medicine 38(11), 2074-2102. doi:10.1002/sim.8086

    Examples
    --------
    >>> one = np.ones(4)
    >>> draws = Draws(one, np.array([0.8, 1.2, 1.1, 0.9]), one / 5, one * 0.7, one * 1.3, one * 0.01)
    >>> performance(draws).set_index("measure")["estimate"].round(3)["rmse"]
    np.float64(0.158)
    """
    results = {name: compute(draws) for name, compute in measures.items()}
    return pd.DataFrame(
        {
            "measure": list(results),
            "estimate": [result.value for result in results.values()],
            "mc_error": [result.mc_error for result in results.values()],
        }
    )


def is_precise_enough(trial: Trial, frame: pd.DataFrame) -> bool:
    """Whether all Monte Carlo errors are at most those at which the trial stops."""
    # A share of 0 or 1 counts as if half a draw were on the other side, since its error is not 0.
    rules = {name: MEASURES.get(name) or find("measure", name, trial.folder) for name in trial.until}
    for _, _, draws in by_quantity(frame, trial.alpha):
        for name, bound in trial.until.items():
            result = rules[name](draws)
            error, n = result.mc_error, len(draws.truth)
            if error == 0 and result.value in (0.0, 1.0):
                error = float(np.sqrt(LEAST / n * (1 - LEAST / n) / n))
            if np.isfinite(result.value) and not error <= bound:
                return False
    return True


def result_of(trial: Trial, blocks: Sequence[CellDraws], notes: tuple[str, ...]) -> Result:
    """The result of a trial from the draws of every method in every cell."""
    measures, rows, zipped, seconds = measures_of(trial), [], [], []
    names = list(dict.fromkeys(name for process in trial.processes for name in process.expand))
    failed: dict[str, int] = {}
    for block in blocks:
        keys = _keys(trial.cells[block.cell], names)
        label = trial.tried[block.method].label
        seconds.append({**keys, "method": label, "seconds": block.seconds})
        reasons = block.frame.loc[
            block.frame["failure"].fillna("") != "", ["draw", "failure"]
        ].drop_duplicates()
        if len(reasons):
            text = f"{label}, in {len(reasons):,} draws: {reasons['failure'].iloc[0]}"
            failed[text] = failed.get(text, 0) + 1
        for estimand, quantity, draws in by_quantity(block.frame, trial.alpha):
            if not draws.known.any() and reasons.empty:
                continue  # not a quantity of this method
            where = {**keys, "estimand": estimand, "quantity": quantity, "method": label}
            counts = {"draws": len(draws.truth), "failures": int((~draws.known).sum())}
            table = performance(draws, measures)
            rows += [{**where, **row, **counts} for row in table.to_dict("records")]
            zipped.append(zip_rows(draws).assign(**where))
    labels = {
        "process": {process.name: process.label or process.name for process in trial.processes},
        "estimand": dict(trial.estimands),
        "quantity": dict(trial.quantities),
        "parameter": dict(trial.labels),
    }
    settings = {
        "title": trial.title,
        "aims": trial.aims,
        "parameters": names,
        "fixed": {process.name: dict(process.parameters) for process in trial.processes},
        "seed": trial.seed,
        "alpha": trial.alpha,
        "processor_seconds": round(sum(block.seconds * block.frame["draw"].nunique() for block in blocks), 1),
        "until": dict(trial.until),
        "labels": labels,
    }
    every = (*notes, *(f"Failed: {text}" for text in failed))
    extra = {"zip": pd.concat(zipped, ignore_index=True), "seconds": pd.DataFrame(seconds)}
    return Result(pd.DataFrame(rows), "trial", every, settings, extra)


def _keys(cell: ProcessCell, names: Sequence[str]) -> dict[str, Any]:
    """Process and expanded parameters of a cell; lists as text."""
    values = {name: cell.parameters.get(name) for name in names}
    return {
        "process": cell.name,
        **{name: str(value) if isinstance(value, list | dict) else value for name, value in values.items()},
    }


def zip_rows(draws: Draws) -> pd.DataFrame:
    """Errors of interval limits at percentiles of the absolute error in standard errors."""
    # Columns: `centile` (0 to 100), `lower` and `upper` minus the true value, `covers`.
    mask = draws.known & np.isfinite(draws.lower) & np.isfinite(draws.upper)
    lower, upper = (draws.lower - draws.truth)[mask], (draws.upper - draws.truth)[mask]
    half = np.where(upper > lower, (upper - lower) / 2, np.nan)
    order = np.argsort(np.abs((lower + upper) / 2 / half), kind="stable")
    n = len(order)
    if n == 0:
        return pd.DataFrame({"centile": [], "lower": [], "upper": [], "covers": []})
    places = np.unique(np.linspace(0, n - 1, min(n, CENTILES)).round().astype(int))
    rows = order[places]
    return pd.DataFrame(
        {
            "centile": 100 * (places + 0.5) / n,
            "lower": lower[rows],
            "upper": upper[rows],
            "covers": (lower[rows] <= 0) & (upper[rows] >= 0),
        }
    )
