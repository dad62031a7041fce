"""Probabilities that a judge gives, and tiers that ratings put in order."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from ..trial_registry import Drawn, method, process
from .label_situations import CLASSES
from .worlds import ItemSample, cluster_of_items, numbers, population_values, sample_of

DISCRIMINATION = 1.5  # distance of the classes in standard deviations of the judge's signal


def table_of(signal: np.ndarray, rare: np.ndarray, cluster: np.ndarray, prevalence: float) -> pd.DataFrame:
    """One row per item with the judge's label and its probability, by Bayes' rule."""
    odds = prevalence / (1 - prevalence) * np.exp(DISCRIMINATION * signal - DISCRIMINATION**2 / 2)
    p = odds / (1 + odds)
    return pd.DataFrame(
        {
            "item_id": [f"i{k}" for k in range(len(signal))],
            "group": [f"g{k}" for k in cluster],
            "judge_id": "a",
            "judge_kind": "model",
            "dimension": "harm",
            "value": np.where(p > 0.5, *CLASSES),
            "probability": np.where(p > 0.5, p, 1 - p),
            "status": "ok",
            "gold": np.where(rare, *CLASSES),
        }
    )


@process("passport_probabilities")
def probabilities(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.2,
    clusters: int = 0,
    shape: str = "equal",
    icc: float = 0.2,
) -> Drawn:
    """Items of two classes with calibrated probabilities from a normal signal."""
    cluster = cluster_of_items(n, clusters, shape)
    copies = (rng.random(n) < np.sqrt(icc)) & bool(clusters)
    shared, individual = rng.random(n) < prevalence, rng.random(n) < prevalence
    rare = np.where(copies, shared[cluster], individual)
    noise = np.where(copies, rng.normal(size=n)[cluster], rng.normal(size=n))
    frame = table_of(noise + DISCRIMINATION * rare, rare, cluster, prevalence)
    return Drawn(sample_of(frame, clusters), truth_of(prevalence))


@lru_cache(maxsize=16)
def truth_of(prevalence: float) -> pd.DataFrame:
    """Population values from evenly spaced signals of both classes."""
    n = 40_000
    n_rare = round(n * prevalence)
    rare = np.arange(n) < n_rare
    quantile = np.concatenate([(np.arange(m) + 0.5) / m for m in (n_rare, n - n_rare)])
    frame = table_of(ndtri(quantile) + DISCRIMINATION * rare, rare, np.arange(n), prevalence)
    truth = population_values([scores_of, calibration_of], ItemSample(frame, draws=0))
    truth.loc[truth["quantity"] == "auc", "truth"] = float(ndtr(DISCRIMINATION / np.sqrt(2)))
    return truth


def _scored(data: ItemSample) -> Any:
    from ...benchmark import score

    frame = data.frame
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})
    judged = frame.drop(columns=["gold"])
    return score(judged, gold, classes=list(CLASSES), items=frame[["item_id", "group"]])


@method("passport_probability_scores")
def scores_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Log-loss and area under the ROC curve."""
    from ...benchmark import probabilities as door

    options: dict[str, Any] = {} if data.draws is None else {"draws": data.draws}
    estimates = door(_scored(data), cluster=data.cluster or "item_id", alpha=alpha, **options).frame
    estimates = estimates[estimates["judge"] == "a"]
    return numbers(estimates, estimates["metric"].astype(str))


@method("passport_calibration")
def calibration_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every measure of calibration, in five bins."""
    from ...benchmark import calibration

    options: dict[str, Any] = {} if data.draws is None else {"draws": data.draws}
    estimates = calibration(
        _scored(data), bins=5, cluster=data.cluster or "item_id", alpha=alpha, **options
    ).frame
    return numbers(estimates, estimates["metric"].astype(str))


TIERS = ("high", "middle", "low")


@process("passport_tiers")
def tiers(rng: np.random.Generator, *, clusters: int = 30, apart: float = 0.7) -> Drawn:
    """Topics with an item of each tier, which a model rates in five steps."""
    latent = rng.normal(size=(clusters, 3)) + apart * np.array([1.0, 0.0, -1.0])
    rating = np.clip(np.rint(latent + 3), 1, 5)
    frame = pd.DataFrame(
        {
            "judge_id": "a",
            "judge_kind": "model",
            "item_id": [f"i{k}" for k in range(clusters * 3)],
            "value": rating.ravel(),
            "topic_id": np.repeat([f"t{k}" for k in range(clusters)], 3),
            "tier": np.tile(TIERS, clusters),
        }
    )
    return Drawn(ItemSample(frame, "topic_id"), _tier_truth(apart))


@lru_cache(maxsize=8)
def _tier_truth(distance: float) -> pd.DataFrame:
    from ..trial_registry import true_values

    steps = np.arange(1, 6)
    edges = np.concatenate([[-np.inf], steps[:-1] + 0.5, [np.inf]])
    high, middle, low = (np.diff(ndtr(edges - 3 - distance * place)) for place in (1.0, 0.0, -1.0))
    joint = high[:, None, None] * middle[None, :, None] * low[None, None, :]
    a, b, c = np.meshgrid(steps, steps, steps, indexing="ij")
    values = {}
    for ties, tie in (("wrong", 0.0), ("split", 0.5), ("right", 1.0)):
        pair = [np.where(x == y, tie, x > y) for x, y in ((a, b), (b, c), (a, c))]
        values[f"ordered_pairs {ties}"] = float((joint * sum(pair)).sum() / 3)
    values["complete_order wrong"] = float((joint * ((a > b) & (b > c))).sum())
    values["complete_order right"] = float((joint * ((a >= b) & (b >= c))).sum())
    linear = np.where((a > b) & (b > c), 1.0, 0.0)
    linear = np.where((a == b) & (b > c) | (a > b) & (b == c), 1 / 2, linear)
    linear = np.where((a == b) & (b == c), 1 / 6, linear)
    values["complete_order split"] = float((joint * linear).sum())
    return true_values(population=values)


@method("passport_tiers")
def tiers_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """How often ratings put tiers in their order, however ties count."""
    from ...raters import tier_accuracy

    estimates = tier_accuracy(
        data.frame, levels=TIERS, column="tier", within="topic_id", alpha=alpha, draws=500
    ).frame
    estimates = estimates[estimates["judge"].astype(str) == "a"]
    return numbers(estimates, estimates["quantity"].astype(str) + " " + estimates["ties"].astype(str))
