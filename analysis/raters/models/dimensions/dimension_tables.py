"""What draws of covariance matrices say: correlations, the strongest correlate, differences of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ....numerics.types import Codes, Floats
from ..model_checks import convergence, posterior_table
from ..posterior_sampling import library
from .dimension_data import GroupRatings
from .sampler import GroupDraws

LEVELS = ("between", "within", "total")
MANY_RATERS = 10  # below this, correlations of severities are little but their prior


def correlations(cov: Floats) -> Floats:
    """Correlation matrices of covariance matrices, shape (..., D, D)."""
    sd = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1))
    matrices: Floats = cov / (sd[..., :, None] * sd[..., None, :])
    return matrices


def correlations_by_level(data: GroupRatings, posterior: GroupDraws) -> dict[str, Floats]:
    """Correlation matrices by level, shape (chains, draws, D, D), as far as ratings identify them."""
    # "between": of items' effects; "within": of residuals, one judge's single rating of an item around what
    # ratings of it share; "total": of ratings of different items by one judge, both together.
    matrices = {}
    if data.has_items:
        matrices["between"] = correlations(posterior.between)
        matrices["within"] = posterior.within
        matrices["total"] = correlations(posterior.between + posterior.within)
    else:
        matrices["total"] = posterior.within
    if data.has_judges and data.n_judges >= MANY_RATERS:
        matrices["raters"] = correlations(posterior.spread)
    return matrices


def correlation_table(groups: Sequence[tuple[GroupRatings, GroupDraws]], alpha: float) -> pd.DataFrame:
    """Every correlation, share of variance between items, and standard deviation of severities."""
    parts = []
    for data, posterior in groups:
        rows: list[tuple[str | None, ...]] = []
        values = []
        for level, matrix in correlations_by_level(data, posterior).items():
            for a, b in combinations(range(len(data.dimensions)), 2):
                rows.append((data.group, level, data.dimensions[a], data.dimensions[b], "correlation"))
                values.append(matrix[..., a, b])
        for d, name in enumerate(data.dimensions):
            variance = posterior.between[..., d, d]
            if data.has_items:
                rows.append((data.group, "between", name, None, "item_share"))
                values.append(variance / (1 + variance))
            if data.has_judges:
                total = 1 + variance if data.has_items else np.ones_like(variance)
                rows.append((data.group, "raters", name, None, "severity_sd"))
                values.append(np.sqrt(posterior.spread[..., d, d] / total))
        keys = pd.DataFrame(rows, columns=["group", "level", "dimension", "other_dimension", "quantity"])
        table = posterior_table(keys, np.stack(values, axis=-1), alpha)
        parts.append(table.assign(n_items=data.n_items, n_judges=data.n_judges, n_ratings=data.n_ratings))
    return pd.concat(parts, ignore_index=True)


def strongest_table(
    groups: Sequence[tuple[GroupRatings, GroupDraws]], mains: Sequence[str], alpha: float
) -> pd.DataFrame:
    """Posterior probability of each dimension of being the strongest correlate of a main dimension."""
    parts = []
    for data, posterior in groups:
        for level, matrix in correlations_by_level(data, posterior).items():
            for main, correlates, with_main in _with_mains(data, matrix, mains):
                top = np.abs(with_main).argmax(axis=-1)
                keys = pd.DataFrame(
                    {"group": data.group, "level": level, "main": main, "dimension": list(correlates)}
                )
                keys["probability"] = [(top == k).mean() for k in range(len(correlates))]
                parts.append(posterior_table(keys, with_main, alpha))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def pair_table(
    groups: Sequence[tuple[GroupRatings, GroupDraws]], mains: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Joint probabilities of the strongest correlates of two groups, and the probability that they differ."""
    joint, differ = [], []
    for first, second, level, a, b in pairs_of_groups(groups):
        of_two = {main: (names, rho) for main, names, rho in _with_mains(second, b, mains)}
        for main, names, rho in _with_mains(first, a, mains):
            if main not in of_two:
                continue
            other_names, other_rho = of_two[main]
            # Posteriors of different groups are independent, so joint probabilities are products.
            p, q = _shares_of_top(rho), _shares_of_top(other_rho)
            same = sum(p[names.index(n)] * q[other_names.index(n)] for n in names if n in other_names)
            differ.append((first.group, second.group, level, main, 1 - same))
            joint += [
                (first.group, second.group, level, main, x, y, p[i] * q[j])
                for i, x in enumerate(names)
                for j, y in enumerate(other_names)
            ]
    keys = ["group", "other_group", "level", "main"]
    return (
        pd.DataFrame(joint, columns=[*keys, "strongest", "other_strongest", "probability"]),
        pd.DataFrame(differ, columns=[*keys, "probability"]),
    )


def difference_table(groups: Sequence[tuple[GroupRatings, GroupDraws]], alpha: float) -> pd.DataFrame:
    """Correlations of one group less those of another at the same level."""
    rows, values = [], []
    for first, second, level, a, b in pairs_of_groups(groups):
        for x, y in combinations([name for name in first.dimensions if name in second.dimensions], 2):
            mine = a[..., first.dimensions.index(x), first.dimensions.index(y)]
            theirs = b[..., second.dimensions.index(x), second.dimensions.index(y)]
            rows.append((first.group, second.group, level, x, y))
            values.append(mine - theirs)
    keys = ["group", "other_group", "level", "dimension", "other_dimension"]
    if not rows:
        return pd.DataFrame(columns=keys)
    differences = np.stack(values, axis=-1)
    table = posterior_table(pd.DataFrame(rows, columns=keys), differences, alpha)
    return table.assign(probability_above=(differences > 0).mean(axis=(0, 1)))


def pairs_of_groups(
    groups: Sequence[tuple[GroupRatings, GroupDraws]],
) -> Iterator[tuple[GroupRatings, GroupRatings, str, Floats, Floats]]:
    """Pairs of groups with their correlations at each level that both have."""
    # People are compared with people and with models; models with each other where there are no people.
    people = any(data.human for data, _ in groups)
    for (first, first_posterior), (second, second_posterior) in combinations(groups, 2):
        if first.human or not people:
            of_one, of_two = (
                correlations_by_level(first, first_posterior),
                correlations_by_level(second, second_posterior),
            )
            for level in LEVELS:
                if level in of_one and level in of_two:
                    yield first, second, level, of_one[level], of_two[level]


def posterior_data(
    groups: Sequence[tuple[GroupRatings, GroupDraws]], dimensions: Sequence[str], settings: dict[str, Any]
) -> Any:
    """Draws as ArviZ data; missing where a group has no such dimension, effect or cut-point."""
    xarray = library("xarray")
    chains, draws = groups[0][1].within.shape[:2]
    size, width = len(dimensions), max(int(data.n_cuts.max()) for data, _ in groups)
    arrays = {
        name: np.full((chains, draws, len(groups), size, size), np.nan)
        for name in ("within", "between", "severity")
    }
    cut = np.full((chains, draws, len(groups), size, width), np.nan)
    terms = groups[0][0].terms
    beta = np.full((chains, draws, len(groups), len(terms), size), np.nan)
    for g, (data, posterior) in enumerate(groups):
        at = np.array([list(dimensions).index(name) for name in data.dimensions])
        _fill(arrays["within"][:, :, g], at, posterior.within)
        if data.has_items:
            _fill(arrays["between"][:, :, g], at, posterior.between)
        if data.has_judges:
            _fill(arrays["severity"][:, :, g], at, posterior.spread)
        cut[:, :, g, :, : posterior.cut.shape[-1]][:, :, at] = posterior.cut
        beta[:, :, g][..., at] = posterior.beta
    axes = ("chain", "draw", "group", "dimension", "other_dimension")
    variables = {name: (axes, values) for name, values in arrays.items()}
    variables["cut"] = ((*axes[:4], "threshold"), cut)
    if terms:
        variables["covariate"] = (("chain", "draw", "group", "term", "dimension"), beta)
    coords = {
        "chain": range(chains),
        "draw": range(draws),
        "group": [data.group for data, _ in groups],
        "dimension": list(dimensions),
        "other_dimension": list(dimensions),
        "threshold": range(1, width + 1),
    } | ({"term": list(terms)} if terms else {})
    table = xarray.Dataset(variables, coords, attrs=settings)
    return xarray.DataTree.from_dict({"posterior": table})


def _fill(target: Floats, at: Codes, matrices: Floats) -> None:
    """Put matrices in the rows and columns ``at`` of larger ones."""
    target[..., at[:, None], at] = matrices


def parameter_table(groups: Sequence[tuple[GroupRatings, GroupDraws]]) -> pd.DataFrame:
    """R-hat and effective sample sizes of what was sampled: ``parameter, rhat, ess_bulk, ess_tail``."""
    names, values = [], []
    for data, posterior in groups:
        matrices = {"within": posterior.within}
        if data.has_items:
            matrices["between"] = posterior.between
        if data.has_judges:
            matrices["severity"] = posterior.spread
        for name, matrix in matrices.items():
            for a, b in combinations(range(len(data.dimensions)), 2):
                names.append(f"{name}[{data.group}, {data.dimensions[a]}, {data.dimensions[b]}]")
                values.append(matrix[..., a, b])
            if name != "within":
                for d, dimension in enumerate(data.dimensions):
                    names.append(f"{name}[{data.group}, {dimension}, {dimension}]")
                    values.append(matrix[..., d, d])
        for d, dimension in enumerate(data.dimensions):
            for k in range(int(data.n_cuts[d])):
                names.append(f"cut[{data.group}, {dimension}, {k + 1}]")
                values.append(posterior.cut[..., d, k])
            for c, term in enumerate(data.terms):
                names.append(f"covariate[{data.group}, {term}, {dimension}]")
                values.append(posterior.beta[..., c, d])
    parameters = pd.DataFrame({"parameter": names})
    return pd.concat([parameters, convergence(np.stack(values, axis=-1))], axis=1)


def _shares_of_top(with_main: Floats) -> Floats:
    """Share of draws in which each of the last axis is greatest in absolute value."""
    top = np.abs(with_main).argmax(axis=-1).ravel()
    shares: Floats = np.bincount(top, minlength=with_main.shape[-1]) / top.size
    return shares


def _with_mains(
    data: GroupRatings, matrix: Floats, mains: Sequence[str]
) -> Iterator[tuple[str, list[str], Floats]]:
    """For each main dimension that the group has: the others, and their correlations with it."""
    for main in mains:
        if main in data.dimensions:
            at = data.dimensions.index(main)
            correlates = [d for d in range(len(data.dimensions)) if d != at]
            yield main, [data.dimensions[d] for d in correlates], matrix[..., at, :][..., correlates]
