"""Rows of profiles as answered choices between two, and draws of a hierarchical logit of these choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed

from ....frames.variables import numeric_column, require_column, warn_caller
from ....numerics.types import Codes, Floats
from ....raters.models.model_fit import Prior, Priors, override_priors
from ....raters.models.posterior_sampling import library, sample

PAIR = "pair_id"
WITHIN = ("judge_id", "prompt_id", "sample")  # what may share pairs
MOST_KEPT = 20_000_000  # numbers of single raters' part-worths that are kept


@dataclass(frozen=True)
class PairRows:
    """n answered forced choices among the rows of a table."""

    # (n,); rows of the profiles in positions A and B; in table order where there is no column ``position``
    first: np.ndarray
    second: np.ndarray
    chosen: np.ndarray  # (n,); whether the first was chosen
    positioned: bool  # Whether there is a column ``position``


def find_pairs(data: pd.DataFrame, outcome: str, complete: np.ndarray, pair: str = PAIR) -> PairRows:
    """Find the pairs with exactly one chosen profile."""
    if pair not in data:
        raise InputError(
            f"The engine bayes models choices within pairs, and the data have no column {pair!r}; add one "
            "that the two rows of a choice share."
        )
    require_column(data, outcome)
    values = numeric_column(data, outcome)
    odd = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
    if odd.any():
        raise InputError(
            f"Column {outcome!r} contains {values[odd][0]:g} in row {int(odd.argmax()) + 1}; the engine "
            "bayes models choices, which are 0 or 1."
        )
    keys = [pair, *(name for name in WITHIN if name in data)]
    code = data.groupby(keys, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    size = np.bincount(code)
    if size.max() > 2:
        row = int((size[code] > 2).argmax())
        raise InputError(
            f"Pair {data[pair].iloc[row]!r} has {size.max()} rows in column {pair!r}; a choice has two, so "
            "number pairs across judges and tasks."
        )
    positioned = "position" in data
    rank = data["position"].astype("string").to_numpy() if positioned else np.arange(len(data))
    order = np.lexsort([rank, code])
    pairs = order[size[code[order]] == 2].reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    if positioned and (rank[first] == rank[second]).any():
        row = int(first[rank[first] == rank[second]][0])
        raise InputError(
            f"Both profiles of pair {data[pair].iloc[row]!r} have position {rank[row]!r}; correct it."
        )
    with np.errstate(invalid="ignore"):
        answered = values[first] + values[second] == 1
    usable = answered & complete[first] & complete[second]
    if not usable.any():
        raise InputError(
            f"No pair has two complete profiles of which one is chosen; check column {outcome!r}."
        )
    _warn_of_exclusion(len(size) - len(pairs), "have a single row", pair)
    _warn_of_exclusion(
        int((~answered & ~np.isnan(values[first] + values[second])).sum()),
        "have no or two chosen profiles",
        pair,
    )
    first, second = first[usable], second[usable]
    return PairRows(first, second, values[first] == 1, positioned)


def rater_codes(
    data: pd.DataFrame, pairs: PairRows, column: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Number the raters of n pairs, shape (n,), and name them; -1 and nobody where each made one choice."""
    nobody = np.full(len(pairs.first), -1, dtype=np.int64), ()
    if column is None:
        return nobody
    require_column(data, column)
    code, names = pd.factorize(data[column])
    first, second = code[pairs.first], code[pairs.second]
    if (first != second).any() or (first < 0).any():
        raise InputError(
            f"Column {column!r} differs between the two profiles of a pair, or is empty; the engine bayes "
            "takes one column as id, that of the raters (or of the pairs, where one judge made all choices)."
        )
    raters, number = np.unique(first, return_inverse=True)
    if len(raters) == len(first):
        return nobody
    if len(raters) == 1:
        return nobody
    return number.astype(np.int64), tuple(str(names[place]) for place in raters)


def raters_of(data: pd.DataFrame) -> str | None:
    """Name the column of raters: people who differ, or None for one model."""
    if "judge_id" not in data:
        return None
    kinds = set(data["judge_kind"].dropna().astype(str)) if "judge_kind" in data else {"human"}
    if kinds == {"human"}:
        return "judge_id"
    keys = [name for name in ("judge_id", "prompt_id") if name in data]
    judges = data[keys].astype("string").fillna("").drop_duplicates()
    if len(judges) > 1:
        names = listed(judges.agg(" ".join, axis=1).str.strip(), 6)
        raise InputError(
            f"The choices are by several judges ({names}) that are not a sample of people; keep one model "
            "under one prompt, or only people, or give in raters the column by which part-worths differ."
        )
    return None


def _warn_of_exclusion(count: int, what: str, pair: str) -> None:
    if count:
        warn_caller(f"{count:,} pairs in {pair!r} {what} and are excluded.")


@dataclass(frozen=True)
class PairedChoices:
    """n answered choices between two profiles, described by p dummies, made by J raters."""

    first: Floats  # (n, p); dummies of the profile in position A and of that in position B
    second: Floats  # (n, p)
    chosen: NDArray[np.bool_]  # (n,); whether the first was chosen
    rater: Codes  # (n,); -1 throughout where raters have no part-worths of their own
    terms: tuple[str, ...]  # length p
    raters: tuple[str, ...]  # length J
    positioned: bool  # Whether first and second are positions on the screen, which may have an advantage


@dataclass(frozen=True)
class ChoiceDraws:
    """Draws of the population: C chains, D draws, p part-worths."""

    position: Floats  # (C, D); 0 throughout where positions are unknown
    mean: Floats  # (C, D, p)
    # (C, D, p, p) or (C, D, p), or None; lower Cholesky factor of the covariance between raters, or
    # standard deviations where part-worths are uncorrelated; None without raters
    factor: Floats | None


def default_priors() -> dict[str, Prior]:
    """Priors on the logit scale."""
    return {
        "position": Prior("normal", (0.0, 0.5), "advantage of the profile in position A"),
        "mean": Prior("normal", (0.0, 2.0), "each part-worth in the population"),
        "spread": Prior("half_normal", (1.0,), "SD of each part-worth between raters"),
        "correlation": Prior("lkj", (2.0,), "correlations of part-worths between raters"),
    }


def priors_in_use(
    pairs: PairedChoices, correlated: bool, changes: Mapping[str, Any] | None
) -> dict[str, Prior]:
    """The priors that a fit uses; InputError for a family that correlated part-worths cannot have."""
    priors = override_priors(default_priors(), changes)
    for name in ("spread", "correlation") if correlated else ():
        needed = default_priors()[name].family
        if priors[name].family != needed:
            raise InputError(
                f"Prior '{name}' of correlated part-worths must be {needed}; change its numbers."
            )
    unused = [] if pairs.raters else ["spread", "correlation"]
    unused += ["position"] if not pairs.positioned else []
    unused += ["correlation"] if not correlated else []
    return {name: prior for name, prior in priors.items() if name not in unused}


def draw_population(pairs: PairedChoices, priors: Priors, rng: np.random.Generator, size: int) -> ChoiceDraws:
    """Draw the population's parameters from the priors, as draws of one chain."""
    p = len(pairs.terms)
    position = priors["position"].draws(rng, (1, size)) if pairs.positioned else np.zeros((1, size))
    mean = priors["mean"].draws(rng, (1, size, p))
    factor = None
    if pairs.raters:
        factor = priors["spread"].draws(rng, (1, size, p))
        if "correlation" in priors:
            factor = factor[..., None] * lkj_factors(rng, priors["correlation"].values[0], p, size)
    return ChoiceDraws(position, mean, factor)


def lkj_factors(rng: np.random.Generator, eta: float, p: int, size: int) -> Floats:
    """Lower Cholesky factors, shape (size, p, p), of correlation matrices with density |R|^(eta - 1)."""
    # Partial correlations given the columns before are drawn one by one.
    factor = np.zeros((size, p, p))
    residual = np.ones((size, p))  # of each row's variance
    for column in range(p):
        factor[:, column, column] = np.sqrt(residual[:, column])
        below = slice(column + 1, p)
        shape = eta + (p - 2 - column) / 2
        if column < p - 1:
            partial = 2 * rng.beta(shape, shape, (size, p - 1 - column)) - 1
            factor[:, below, column] = partial * np.sqrt(residual[:, below])
            residual[:, below] *= 1 - partial**2
    return factor


def draw(pairs: PairedChoices, priors: Priors, *, raters: bool, **options: Any) -> Any:
    """Sample the model; ``raters`` states whether to keep the part-worths of single raters."""
    keep = ["position"] if pairs.positioned else []
    keep += ["mean"]
    if pairs.raters:
        keep += ["factor", "factor_corr", "factor_stds"] if "correlation" in priors else ["spread"]
        keep += ["noise"] if raters else []
    return sample(build(pairs, priors), what="Choice model", keep=keep, **options)


def can_keep(pairs: PairedChoices, draws: int, chains: int) -> bool:
    """Whether part-worths of single raters fit into memory at this number of draws."""
    return len(pairs.raters) * len(pairs.terms) * draws * chains <= MOST_KEPT


def population(posterior: Any) -> ChoiceDraws:
    """The population's parameters from draws."""
    mean = np.asarray(posterior["mean"], dtype=float)
    position = np.zeros(mean.shape[:2])
    if "position" in posterior:
        position = np.asarray(posterior["position"], dtype=float)
    factor = None
    if "spread" in posterior:
        factor = np.asarray(posterior["spread"], dtype=float)
    elif "factor" in posterior:
        factor = lower_triangular(np.asarray(posterior["factor"], dtype=float), mean.shape[-1])
    return ChoiceDraws(position, mean, factor)


def lower_triangular(packed: Floats, size: int) -> Floats:
    """Lower triangular matrices (..., p, p) from their rows one after the other, (..., p (p + 1) / 2)."""
    matrix = np.zeros((*packed.shape[:-1], size, size))
    rows, columns = np.tril_indices(size)
    matrix[..., rows, columns] = packed
    return matrix


def rater_part_worths(posterior: Any, chosen: Sequence[int] | Codes) -> Floats:
    """Part-worths of single raters at some draws (numbers among all C D), shape (S, J, p)."""
    draws = population(posterior)
    size = draws.mean.shape[-1]
    noise = np.asarray(posterior["noise"], dtype=float)
    noise = noise.reshape(-1, *noise.shape[2:])[chosen]
    mean = draws.mean.reshape(-1, size)[chosen]
    factor = draws.factor
    assert factor is not None
    if factor.ndim == 3:
        return np.asarray(mean[:, None] + noise * factor.reshape(-1, size)[chosen][:, None])
    return np.asarray(mean[:, None] + noise @ np.swapaxes(factor.reshape(-1, size, size)[chosen], 1, 2))


def build(pairs: PairedChoices, priors: Priors) -> Any:
    """The PyMC model; raters' part-worths are not centred, as each rater makes few choices."""
    pm, pt = library("pymc"), library("pytensor.tensor")
    from ....raters.models.operation import LogLikelihood
    from .choice_kernel import log_likelihood

    size = len(pairs.terms)
    with pm.Model(coords={"term": pairs.terms, "rater": pairs.raters}) as model:
        position = priors["position"].variable("position") if pairs.positioned else pt.zeros(())
        mean = priors["mean"].variable("mean", dims="term")
        deviations = pt.zeros((0, size))
        if pairs.raters:
            noise = pm.Normal("noise", dims=("rater", "term"))
            if "correlation" in priors:
                factor, _, _ = pm.LKJCholeskyCov(
                    "factor",
                    n=size,
                    eta=priors["correlation"].values[0],
                    sd_dist=pm.HalfNormal.dist(priors["spread"].values[0], shape=size),
                )
                deviations = noise @ factor.T
            else:
                deviations = noise * priors["spread"].variable("spread", dims="term")
        value, *_ = LogLikelihood(log_likelihood, 3)(
            pt.atleast_1d(position),
            mean,
            deviations,
            np.ascontiguousarray(pairs.first - pairs.second),
            np.where(pairs.chosen, 1, -1).astype(np.int64),
            pairs.rater.astype(np.int64),
        )
        pm.Potential("choices", value)
    return model
