"""Labels and ratings of items in two languages, one of them rare: gaps between groups of items."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from ...numerics.types import Codes, Floats
from ..trial_registry import Drawn, method, process
from . import label_situations, rating_situations
from .worlds import (
    ItemSample,
    draw_clustered_patterns,
    numbers,
    population_patterns,
    population_values,
    sample_of,
)

LANGUAGES = ("large", "small")
LARGEST, SMALLEST = 0.5, 0.1  # share of items in the small language at either end of what is judged


def small_share(code: Codes, n_codes: int) -> Floats:
    """Probability that an item is in the small language, which has more of what is rare or bad."""
    return np.asarray(LARGEST + (SMALLEST - LARGEST) * code / (n_codes - 1))


def _with_language(frame: pd.DataFrame, is_small: np.ndarray) -> pd.DataFrame:
    return frame.assign(language=np.array(LANGUAGES)[is_small.astype(int)])


def _in_shares(code: Codes, share: Floats) -> np.ndarray:
    """Whether each item of a population, sorted by pattern, is in the small language."""
    place = pd.Series(code).groupby(code).cumcount().to_numpy()
    return np.floor((place + 1) * share) > np.floor(place * share)


@lru_cache(maxsize=8)
def truth_of_labels(prevalence: float) -> pd.DataFrame:
    """Population values of the gaps of scores."""
    codes, probability = label_situations.patterns(prevalence)
    pattern = population_patterns(probability)
    items = codes[pattern]
    is_small = _in_shares(items[:, 0], small_share(items[:, 0], 2))
    frame = _with_language(label_situations.table_of(items, np.arange(len(items))), is_small)
    return population_values([score_gaps_of], ItemSample(frame, draws=0))


@process("passport_labels_by_language")
def labels(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.5,
    clusters: int = 0,
    shape: str = "equal",
    icc: float = 0.2,
) -> Drawn:
    """Items of two classes in two languages; half of the rare class is in the small one."""
    codes, probability = label_situations.patterns(prevalence)
    pattern, cluster = draw_clustered_patterns(rng, probability, n, clusters, shape, icc)
    items = codes[pattern]
    is_small = rng.random(n) < small_share(items[:, 0], 2)
    frame = _with_language(label_situations.table_of(items, cluster), is_small)
    return Drawn(sample_of(frame, clusters), truth_of_labels(prevalence))


@lru_cache(maxsize=8)
def truth_of_ratings(prevalence: float) -> pd.DataFrame:
    """Population values of the gaps of means."""
    ratings_of, probability = rating_situations.patterns(prevalence)
    pattern = population_patterns(probability, 30_000)
    quality = _quality(pattern)
    is_small = _in_shares(quality, small_share(quality, rating_situations.STEPS))
    frame = _with_language(rating_situations.table_of(ratings_of[pattern], np.arange(len(pattern))), is_small)
    return population_values([rating_gaps_of], ItemSample(frame, draws=0))


def _quality(pattern: Codes) -> Codes:
    """The quality of items of a pattern, which is its first and slowest code."""
    return np.asarray(pattern // rating_situations.STEPS ** len(rating_situations.RATERS))


@process("passport_ratings_by_language")
def ratings(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.2,
    clusters: int = 0,
    shape: str = "equal",
    icc: float = 0.2,
) -> Drawn:
    """Items in two languages; the worse an item, the more likely is it in the small one."""
    every, probability = rating_situations.patterns(prevalence)
    pattern, cluster = draw_clustered_patterns(rng, probability, n, clusters, shape, icc)
    is_small = rng.random(n) < small_share(_quality(pattern), rating_situations.STEPS)
    frame = _with_language(rating_situations.table_of(every[pattern], cluster), is_small)
    return Drawn(sample_of(frame, clusters), truth_of_ratings(prevalence))


@method("passport_score_gaps")
def score_gaps_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every metric of `score_gaps` between two languages."""
    from ...benchmark import score_gaps

    estimates = score_gaps(
        label_situations.scored(data, ["a"], ["language"]),
        between="language",
        metrics=[name for name in label_situations.class_metrics() if name != "missing_rate"],
        missing="missing",
        cluster=data.cluster or "item_id",
        alpha=alpha,
        **label_situations.draw_options(data),
    ).frame
    return _from_large(estimates, "gap of " + estimates["metric"].astype(str))


@method("passport_rating_gaps")
def rating_gaps_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Gaps of `rating_gaps` between two languages, of people and the model."""
    from ...raters import rating_gaps

    items = data.frame[["item_id", "language"]]
    estimates = rating_gaps(
        rating_situations.judgments(data), items, between="language", **rating_situations.options(data, alpha)
    ).frame
    return _from_large(estimates, "gap of means of " + estimates["judge"].astype(str))


def _from_large(estimates: pd.DataFrame, names: pd.Series[str]) -> pd.DataFrame:
    """Gaps as the large language minus the small one; functions take the language first that occurs first."""
    is_turned = (estimates["left"].astype(str) == LANGUAGES[1]).to_numpy()
    turned = -estimates[["estimate", "upper", "lower"]]
    straight = estimates[["estimate", "lower", "upper"]].to_numpy(float)
    values = np.where(is_turned[:, None], turned.to_numpy(float), straight)
    return numbers(pd.DataFrame(values, columns=["estimate", "lower", "upper"]), names)
