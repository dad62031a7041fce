"""Further tables of labels and ratings: recalls, robustness, odds ratios, dimensions, corrected means."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from ..trial_registry import Drawn, method, process, true_values
from . import label_situations as labelled
from . import rating_situations as rated
from .label_situations import CLASSES
from .worlds import ItemSample, draw_correlated_patterns, numbers

OTHER = 500  # items that only the model rated
SLOPE = 0.3  # of a model's ratings on an attribute of items, beyond quality
LOG_ODDS = 0.7  # of a right answer of the second judge, against the first
DIFFICULTY = 1.5  # standard deviation of items


@process("passport_conditions")
def conditions(rng: np.random.Generator, *, n: int = 100, prevalence: float = 0.3) -> Drawn:
    """Items as they are, and with misspellings, under which a judge answers as the weaker of two models."""
    dataset = labelled.labels(rng, n=n, prevalence=prevalence)
    values = labelled.truth_of(prevalence, 0.0).set_index("quantity")["truth"]
    change = {f"change of {name}": -float(values[f"difference of {name}"]) for name in CHANGED}
    recalls = {f"recall of {name}": float(values[f"recall_{name}"]) for name in CLASSES}
    return Drawn(dataset.data, true_values(population={**change, **recalls}))


CHANGED = ("accuracy", "macro_f1", "mcc", "recall_rare")


@method("passport_robustness")
def robustness_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Changes of scores under a perturbation of the same items."""
    from ...benchmark import robustness, score

    frame = data.frame
    baseline = labelled.judgments(frame, ["a"]).assign(base_item_id=lambda t: t["item_id"], condition="none")
    typos = labelled.judgments(frame, ["b"]).assign(base_item_id=lambda t: t["item_id"], condition="typos")
    typos = typos.assign(judge_id="a", item_id=typos["item_id"] + "x")
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})
    judged = pd.concat([baseline, typos], ignore_index=True).drop(columns="group")
    estimates = robustness(
        score(judged, gold, classes=list(CLASSES)), metrics=list(CHANGED), alpha=alpha
    ).frame
    return numbers(estimates, "change of " + estimates["metric"].astype(str))


@method("passport_by_label")
def by_label_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Recall of each gold label."""
    from ...benchmark import by_label

    estimates = by_label(labelled.scored(data, ["a"]), alpha=alpha).frame
    estimates = estimates.assign(estimate=estimates["recall"])
    return numbers(estimates, "recall of " + estimates["label"].astype(str), "recall_lower", "recall_upper")


@process("passport_difficulties")
def difficulties(rng: np.random.Generator, *, n: int = 100) -> Drawn:
    """Two judges answer items whose difficulties are normal."""
    item = rng.normal(0, DIFFICULTY, n)
    right = [rng.random(n) < 1 / (1 + np.exp(-(item + shift))) for shift in (0.5, 0.5 + LOG_ODDS)]
    name = [f"i{k}" for k in range(n)]
    frame = pd.concat(
        [
            pd.DataFrame(
                {
                    "judge_id": judge,
                    "judge_kind": "model",
                    "item_id": name,
                    "dimension": "harm",
                    "value": np.where(answers, "yes", "no"),
                }
            )
            for judge, answers in zip(("a", "b"), right, strict=True)
        ],
        ignore_index=True,
    )
    return Drawn(ItemSample(frame), true_values(population={"log odds": LOG_ODDS}))


@method("passport_mixed_logit")
def odds_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Log odds ratio of a right answer, with an intercept for each item."""
    from ...benchmark import score
    from ...benchmark.answer_odds import mixed_logit

    items = data.frame["item_id"].unique()
    gold = pd.DataFrame({"item_id": items, "label_set": "harm", "label": "yes"})
    estimates = mixed_logit(score(data.frame, gold, classes=["yes", "no"]), reference="a", alpha=alpha).frame
    return numbers(estimates.iloc[[0]], ["log odds"])


@process("passport_dimensions")
def dimensions(rng: np.random.Generator, *, n: int = 100, prevalence: float = 0.2) -> Drawn:
    """A person rates items on two dimensions that have a quality in common; few items are good."""
    every, probability = rated.patterns(prevalence)
    codes = every[draw_correlated_patterns(rng, probability, np.arange(n), 0.0)]
    return Drawn(ItemSample(rated.table_of(codes, np.arange(n))), _dimension_truth(prevalence))


@lru_cache(maxsize=8)
def _dimension_truth(prevalence: float) -> pd.DataFrame:
    every, probability = rated.patterns(prevalence)
    from scipy.stats import rankdata

    codes = every[np.searchsorted(np.cumsum(probability), (np.arange(40_000) + 0.5) / 40_000)]
    ranks = [rankdata(codes[:, column]) for column in (1, 2)]
    value = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    return true_values(population={"correlation of dimensions": value})


@method("passport_dimension_correlations")
def dimension_correlations_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Spearman's correlation of two dimensions of one person."""
    from ...raters import dimension_correlations

    frame = data.frame
    judged = pd.concat(
        [
            pd.DataFrame(
                {
                    "judge_id": "ann",
                    "judge_kind": "human",
                    "item_id": frame["item_id"],
                    "dimension": name,
                    "value": frame[column],
                }
            )
            for name, column in (("first", "p1"), ("second", "p2"))
        ],
        ignore_index=True,
    )
    estimates = dimension_correlations(judged, alpha=alpha).frame
    return numbers(estimates.iloc[[0]], ["correlation of dimensions"])


@process("passport_few_ratings")
def few_ratings(rng: np.random.Generator, *, n: int = 50, prevalence: float = 0.2) -> Drawn:
    """People rate ``n`` items, a model these and five hundred others."""
    every, probability = rated.patterns(prevalence)
    size = n + OTHER
    codes = every[draw_correlated_patterns(rng, probability, np.arange(size), 0.0)].astype(float)
    codes[n:, 1:] = np.nan
    mean = float(probability @ every[:, 1:].mean(axis=1))
    attribute = rng.normal(size=n)
    frame = rated.table_of(codes, np.arange(size))
    frame.loc[: n - 1, "words"] = attribute
    truth = {"corrected mean": mean, "unadjusted": SLOPE, "people": 0.0}
    truth |= dict.fromkeys(("beyond people", "matched", "adjusted"), SLOPE)
    return Drawn(ItemSample(frame), true_values(population=truth))


@method("passport_corrected_means")
def corrected_means_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Mean ratings of people, with a model's ratings of more items."""
    from ...raters import means

    estimates = means(rated.judgments(data), correct="ppi", alpha=alpha).frame
    estimates = estimates[estimates["source"].astype(str) == "corrected"]
    return numbers(estimates, ["corrected mean"] * len(estimates))


@method("passport_beyond_quality")
def beyond_quality_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """How far a model follows an attribute beyond what people see in the items."""
    from ...instrument import preferences_beyond_quality

    frame = data.frame[data.frame["words"].notna()]
    table = pd.DataFrame(
        {
            "judge_id": "a",
            "judge_kind": "model",
            "item_id": frame["item_id"],
            "words": frame["words"],
            "people": frame[list(rated.PEOPLE)].mean(axis=1),
            "value": frame["a"] + SLOPE * frame["words"],
        }
    )
    estimates = preferences_beyond_quality(table, "words", "people", alpha=alpha).frame
    return numbers(estimates, estimates["comparison"].astype(str))
