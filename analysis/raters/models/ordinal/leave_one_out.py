"""How well rater models predict the ratings of an item that they did not see, by PSIS-LOO."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ....numerics.intervals import check_alpha, inference
from ....numerics.types import Floats
from ....results import Result
from ..posterior_sampling import library
from .ordinal_data import OrdinalData, RatingCells, cells
from .ordinal_draws import ParameterDraws, QuadratureGrid, grid, grid_step, posterior_draws
from .rater_model import RaterFit
from .rater_tables import log_cell_chances, log_prior, nodes_of, of_models

DRAWS = 1000  # at most, evenly spaced
UNRELIABLE = 0.7  # Pareto k above which an item's importance weights cannot be trusted


@any_frame
def compare_rater_models(fits: Mapping[str, RaterFit], *, alpha: float = 0.05) -> Result:
    """Compare rater models of the same ratings by how well they predict items that are left out.

    The expected log predictive density is a sum over items: the log probability of all ratings of an item
    given those of the others, its quality summed out. Leaving out is approximated by Pareto-smoothed
    importance sampling of the posterior draws (PSIS-LOO).

    Parameters
    ----------
    fits : mapping of str to RaterFit
        Fits of `rater_model` by name, such as of both links, with and without covariates, or other priors.
    alpha : float
        One minus the level of the intervals of differences.

    Returns
    -------
    Result
        Kind "compared_models", the best model first: ``model, estimate`` (the density), ``std_error,
        effective_parameters, difference`` (to the best, from the same items), ``difference_std_error, lower,
        upper, n_items, n_unreliable`` (items whose Pareto k is above 0.7). ``extra["items"]`` has ``item_id,
        model, elpd, pareto_k``.

    Raises
    ------
    InputError
        For fewer than two fits, and fits of other ratings.

    References
    ----------
    Vehtari, A., Gelman, A., Gabry, J. (2017). Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC. Statistics and Computing 27(5), 1413-1432. doi:10.1007/s11222-016-9696-4

    Examples
    --------
    >>> from conjury.analysis.raters import rater_model
    >>> rng = np.random.default_rng(1)
    >>> rows = [(name, "human", item, float(np.clip(round(quality + rng.normal(0, 0.5)), 0, 4)))
    ...         for item, quality in enumerate(rng.normal(2, 1, 30)) for name in ("ann", "bob", "cy")]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> options = {"draws": 20, "tune": 20, "seed": 1}
    >>> both = {link: rater_model(table, link=link, **options) for link in ("logit", "probit")}
    >>> sorted(compare_rater_models(both).frame["model"])
    ['logit', 'probit']
    """
    check_alpha(alpha)
    if len(fits) < 2:
        raise InputError("A comparison needs two fits of rater_model at least; give another.")
    first = _data(next(iter(fits.values())))
    for name, fit in fits.items():
        data = _data(fit)
        if list(data.items) != list(first.items) or not np.array_equal(data.category, first.category):
            raise InputError(f"The fit {name!r} is of other ratings than the first; fit both to one table.")
    by_item = {name: _left_out(fit) for name, fit in fits.items()}
    totals = {name: float(items["elpd"].sum()) for name, items in by_item.items()}
    order = sorted(totals, key=lambda name: -totals[name])
    best, n = by_item[order[0]], len(first.items)
    rows = []
    for name in order:
        items = by_item[name]
        gap = (items["elpd"] - best["elpd"]).to_numpy()
        rows.append(
            {
                "model": name,
                "estimate": totals[name],
                "std_error": np.sqrt(n * items["elpd"].var()),
                "effective_parameters": float((items["log_density"] - items["elpd"]).sum()),
                "difference": gap.sum(),
                "difference_std_error": np.sqrt(n * gap.var(ddof=1)),
            }
        )
    frame = pd.DataFrame(rows)
    limits = inference(frame["difference"].to_numpy(), frame["difference_std_error"].to_numpy(), alpha)
    unreliable = [int((by_item[name]["pareto_k"] > UNRELIABLE).sum()) for name in order]
    frame = frame.assign(lower=limits.lower, upper=limits.upper, n_items=n, n_unreliable=unreliable)
    tables = [by_item[name].assign(model=name, item_id=list(first.items)) for name in order]
    each = pd.concat(tables, ignore_index=True)[["item_id", "model", "elpd", "pareto_k"]]
    return Result(frame, "compared_models", (), {"alpha": alpha}, {"items": each})


def _data(fit: RaterFit) -> OrdinalData:
    if fit.arrays is None or fit.data is None:
        raise InputError("A fit without its draws cannot be compared; fit it again by rater_model.")
    return fit.arrays


def _left_out(fit: RaterFit) -> pd.DataFrame:
    """Log predictive density of each item, with and without it in the data, and Pareto k."""
    data = _data(fit)
    every = posterior_draws(fit.data["posterior"], data, str(fit.settings["link"])).some(DRAWS)
    rating_cells, at = cells(data), grid(grid_step(data))
    nodes = nodes_of(every, at)
    number = len(every.slope)
    logs = np.stack([item_log_likelihoods(every, rating_cells, d, nodes, at) for d in range(number)], axis=1)
    weights, pareto_k = library("arviz_stats.base").array_stats.psislw(logs)  # of the reciprocals
    table = pd.DataFrame(
        {
            "elpd": logsumexp(logs + weights, axis=1),
            "log_density": logsumexp(logs, axis=1) - np.log(number),
            "pareto_k": pareto_k,
        }
    )
    return table.iloc[rating_cells.item].reset_index(drop=True)


def item_log_likelihoods(
    draws: ParameterDraws, rating_cells: RatingCells, d: int, nodes: Floats, at: QuadratureGrid
) -> Floats:
    """Log probability of all ratings of each item in a draw, its quality summed out, shape (I,)."""
    # Models rate what people see: given people's ratings, those of each model are independent.
    each = log_cell_chances(draws, rating_cells, d, nodes, at)[rating_cells.item_cell]
    by_models = of_models(rating_cells)
    prior = log_prior(draws, d, nodes)
    prior = (prior - logsumexp(prior, axis=1, keepdims=True))[rating_cells.item_stratum]
    of_people = np.where(by_models[:, None], 0.0, each)
    joint = np.add.reduceat(of_people, rating_cells.item_start[:-1], axis=0) + prior
    value = logsumexp(joint, axis=1)
    item = np.repeat(np.arange(len(value)), np.diff(rating_cells.item_start))[by_models]
    given_people = logsumexp(each[by_models] + (joint - value[:, None])[item], axis=1)
    return np.asarray(value + np.bincount(item, given_people, minlength=len(value)))
