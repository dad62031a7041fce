"""Ratings of five steps by three people and a model: coefficients, means, the replacement test."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from ...numerics.types import Floats
from ..trial_registry import Drawn, method, process
from .worlds import (
    ItemSample,
    all_combinations,
    draw_clustered_patterns,
    numbers,
    population_patterns,
    population_values,
    sample_of,
)

STEPS = 5
PEOPLE = ("p1", "p2", "p3")
RATERS = ("a", *PEOPLE)
SPREAD = 0.8  # of a rater around the quality of an item, in steps
# quantities about means over a panel, whose population value is another one where ratings are missing
OF_COMPLETE = (
    r"icc\dk|g_relative|g_absolute|kendall|winning_rate|advantage_probability"
    r"|interval: (?:answered|icc|pearson|spearman|absolute_error)|a pearson|a spearman"
)
SHIFT = {"a": 0.4}  # the model is more generous


def shares_of(prevalence: float) -> Floats:
    """Shares of the qualities 1 to 5; the best is as rare as ``prevalence``, others fall towards it."""
    weights = np.array([4.0, 3.0, 2.0, 1.0]) / 10
    return (
        np.append((1 - prevalence) * weights, prevalence) if prevalence < 0.2 else np.full(STEPS, 1 / STEPS)
    )


def patterns(prevalence: float) -> tuple[np.ndarray, Floats]:
    """Ratings of the four raters, 1 to 5, with the probability of each pattern."""
    codes = all_combinations([STEPS] * (1 + len(RATERS)))
    probability = shares_of(prevalence)[codes[:, 0]]
    steps = np.arange(STEPS)
    for column, name in enumerate(RATERS, start=1):
        distance = steps - steps[:, None] - SHIFT.get(name, 0.0)
        kernel = np.exp(-((distance / SPREAD) ** 2) / 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        probability = probability * kernel[codes[:, 0], codes[:, column]]
    return codes[:, 1:] + 1, probability


def table_of(ratings: np.ndarray, cluster: np.ndarray) -> pd.DataFrame:
    """One row per item with a rating of each rater."""
    frame = pd.DataFrame(ratings.astype(float), columns=list(RATERS))
    return frame.assign(item_id=[f"i{k}" for k in range(len(frame))], group=[f"g{k}" for k in cluster])


@lru_cache(maxsize=8)
def truth_of(prevalence: float) -> pd.DataFrame:
    """Population values of every quantity."""
    ratings, probability = patterns(prevalence)
    items = ratings[population_patterns(probability, 30_000)]
    return population_values(DOORS, ItemSample(table_of(items, np.arange(len(items))), draws=0))


@process("passport_ratings")
def ratings(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.2,
    clusters: int = 0,
    shape: str = "equal",
    missing: float = 0.0,
    icc: float = 0.2,
) -> Drawn:
    """Items with many ties; ``prevalence`` is the share of the best quality."""
    every, probability = patterns(prevalence)
    pattern, cluster = draw_clustered_patterns(rng, probability, n, clusters, shape, icc)
    items = every[pattern].astype(float)
    truth = truth_of(prevalence)
    if missing:
        items[rng.random(items.shape) < missing] = np.nan
        truth = truth[~truth["quantity"].str.contains(OF_COMPLETE)]
    return Drawn(sample_of(table_of(items, cluster), clusters), truth)


def judgments(sample: ItemSample) -> pd.DataFrame:
    """One row per rating."""
    long = sample.frame.melt(["item_id", "group"], list(RATERS), "judge_id", "value").dropna(subset=["value"])
    kind = np.where(long["judge_id"] == "a", "model", "human")
    return long.assign(judge_kind=kind, dimension="quality")


def options(sample: ItemSample, alpha: float) -> dict[str, Any]:
    """Options of the doors: level, draws, clusters."""
    draws: dict[str, Any] = {} if sample.draws is None else {"draws": sample.draws}
    return {"alpha": alpha, "cluster": sample.cluster, **draws}


@method("passport_rating_agreement")
def coefficients_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every coefficient of `agreement` for numbers, with the variance components of its designs."""
    from ...raters import agreement

    result = agreement(judgments(data), scale=range(1, STEPS + 1), **options(data, alpha))
    estimates = result.frame
    weights = np.where(
        estimates["weights"].astype(str).isin(["", "nan"]), "", " " + estimates["weights"].astype(str)
    )
    side = np.where(estimates["against"].isna(), "among people: ", "with people: ")
    names = pd.Series(side + estimates["coefficient"].astype(str) + weights, index=estimates.index)
    tables = (
        [numbers(estimates, names)]
        if data.draws == 0
        else [numbers(estimates[estimates["lower"].notna()], names[estimates["lower"].notna()])]
    )
    tables.append(numbers(estimates, names + ", bootstrap", "boot_lower", "boot_upper"))
    variances = result.extra.get("variance_components")
    if variances is not None:
        tables.append(
            numbers(variances, "variance of the " + variances["component"], "boot_lower", "boot_upper")
        )
    return pd.concat(tables, ignore_index=True)


@method("passport_rating_judge")
def judge_of(data: ItemSample, *, scale: str = "interval", alpha: float = 0.05) -> pd.DataFrame:
    """Every quantity of `judge` for ratings, or for ordered labels."""
    from ...raters.validation import judge

    estimates = judge(data.frame, "a", list(PEOPLE), id=data.cluster, scale=scale, alpha=alpha).frame
    estimates = estimates[estimates["class"].isna() | (estimates["class"] == "")]
    return numbers(estimates, f"{scale}: " + estimates["name"].astype(str))


@method("passport_means")
def means_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Mean ratings of people and the model."""
    from ...raters import means

    estimates = means(judgments(data), **options(data, alpha)).frame
    spread = numbers(
        estimates.assign(estimate=estimates["sd"]),
        "spread of " + estimates["group"].astype(str),
        "sd_lower",
        "sd_upper",
    )
    return pd.concat(
        [numbers(estimates, "mean of " + estimates["group"].astype(str)), spread], ignore_index=True
    )


@method("passport_correlations")
def correlations_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Correlations of the model with people, by every coefficient."""
    from ...raters import correlations

    estimates = correlations(judgments(data), **options(data, alpha)).frame
    return numbers(estimates, _named(estimates))


@method("passport_biases")
def biases_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Mean differences of the model from people."""
    from ...raters import biases

    estimates = biases(judgments(data), **options(data, alpha)).frame
    return numbers(estimates, _named(estimates))


@method("passport_alt_test")
def replacement_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Winning rate and advantage probability of the replacement test."""
    from ...raters import alt_test

    estimates = alt_test(judgments(data), model="a", **options(data, alpha)).frame
    return pd.concat(
        [
            numbers(estimates.assign(estimate=estimates[name]), [name], f"{name}_lower", f"{name}_upper")
            for name in ("winning_rate", "advantage_probability")
        ],
        ignore_index=True,
    )


def _named(frame: pd.DataFrame) -> pd.Series[Any]:
    keys = [
        name
        for name in frame
        if frame[name].dtype == object or str(frame[name].dtype) in ("string", "category", "str")
    ]
    return frame[keys].astype(str).agg(" ".join, axis=1)


DOORS = (
    coefficients_of,
    judge_of,
    partial(judge_of, scale="ordinal"),
    means_of,
    correlations_of,
    biases_of,
    replacement_of,
)
