"""Labels by three people and two models beside gold labels: scores, agreement, differences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ...benchmark import Scored

CLASSES = ("rare", "common")
PEOPLE = ("p1", "p2", "p3")
MODELS = ("a", "b")
RATERS = (*MODELS, *PEOPLE)
# of each rater: share of the rare items that get this label, and of the common ones per rare item
RECALL = {"a": 0.8, "b": 0.7, "p1": 0.85, "p2": 0.85, "p3": 0.85}
FALSE = {"a": 0.25, "b": 0.4, "p1": 0.2, "p2": 0.2, "p3": 0.2}


def patterns(prevalence: float) -> tuple[np.ndarray, Floats]:
    """Labels of gold and the raters, 0 for the rare class, with the probability of each pattern."""
    codes = all_combinations([2] * (1 + len(RATERS)))
    gold = codes[:, 0]
    probability = np.where(gold == 0, prevalence, 1 - prevalence)
    for column, name in enumerate(RATERS, start=1):
        rare = np.where(gold == 0, RECALL[name], FALSE[name] * prevalence)
        probability = probability * np.where(codes[:, column] == 0, rare, 1 - rare)
    return codes, probability


def table_of(codes: np.ndarray, cluster: np.ndarray) -> pd.DataFrame:
    """One row per item with the labels of gold and the raters, missing where NaN."""
    names = np.array([*CLASSES, None], dtype=object)
    frame = pd.DataFrame(names[codes], columns=["gold", *RATERS])
    return frame.assign(item_id=[f"i{k}" for k in range(len(frame))], group=[f"g{k}" for k in cluster])


@lru_cache(maxsize=8)
def truth_of(prevalence: float, missing: float) -> pd.DataFrame:
    """Population values of every quantity."""
    codes, probability = patterns(prevalence)
    items = codes[population_patterns(probability)]
    if missing:
        gaps = np.random.default_rng(1).random((len(items), len(RATERS))) < missing
        items[:, 1:][gaps] = len(CLASSES)
    truth = population_values(DOORS, ItemSample(table_of(items, np.arange(len(items))), draws=0))
    truth.loc[truth["quantity"] == "missing_rate", "truth"] = missing
    bounds = truth[truth["quantity"].isin(class_metrics())]
    return pd.concat([truth, bounds.assign(quantity="bounds of " + bounds["quantity"])], ignore_index=True)


@process("passport_labels")
def labels(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.5,
    clusters: int = 0,
    shape: str = "equal",
    missing: float = 0.0,
    icc: float = 0.2,
) -> Drawn:
    """Items of two classes; ``missing`` is the share of labels, of people and models, that are not there."""
    codes, probability = patterns(prevalence)
    pattern, cluster = draw_clustered_patterns(rng, probability, n, clusters, shape, icc)
    items = codes[pattern]
    if missing:
        items[:, 1:][rng.random((n, len(RATERS))) < missing] = len(CLASSES)
    return Drawn(sample_of(table_of(items, cluster), clusters), truth_of(prevalence, missing))


def judgments(frame: pd.DataFrame, raters: Sequence[str]) -> pd.DataFrame:
    """One row per label of some raters."""
    long = frame.melt(["item_id", "group"], list(raters), "judge_id", "value")
    status = np.where(long["value"].isna(), "refused", "ok")
    kind = np.where(long["judge_id"].isin(MODELS), "model", "human")
    return long.assign(judge_kind=kind, dimension="harm", status=status)


def scored(sample: ItemSample, raters: Sequence[str], columns: Sequence[str] = ()) -> Scored:
    """Labels of models beside gold, and columns of items."""
    from ...benchmark import score

    frame = sample.frame
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})
    items = frame[["item_id", "group", *columns]]
    return score(judgments(frame, raters), gold, classes=list(CLASSES), items=items)


def draw_options(sample: ItemSample) -> dict[str, Any]:
    """Draws of the bootstrap, where they are not the door's default."""
    return {} if sample.draws is None else {"draws": sample.draws}


def class_metrics() -> list[str]:
    """Every metric that `scores` knows, of both classes."""
    from ...numerics.metrics.label_metrics import OF_A_CLASS, OVERALL

    return [*OVERALL, *(f"{kind}_{name}" for kind in OF_A_CLASS for name in CLASSES)]


@method("passport_scores")
def metrics_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every metric of `scores`, answers that are missing excluded."""
    from ...benchmark import scores

    estimates = scores(
        scored(data, ["a"]),
        metrics=class_metrics(),
        missing=["missing"],
        cluster=data.cluster or "item_id",
        alpha=alpha,
        draws=data.draws,
    ).frame
    estimates = estimates[estimates["judge"] == "a"]
    return numbers(estimates, estimates["metric"])


@method("passport_differences")
def differences_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every metric of `differences` of two models on the same items."""
    from ...benchmark import differences

    estimates = differences(
        scored(data, MODELS),
        metrics=[name for name in class_metrics() if name != "missing_rate"],
        tests=["bootstrap"],
        missing="missing",
        cluster=data.cluster or "item_id",
        alpha=alpha,
        **draw_options(data),
    ).frame
    return numbers(estimates, "difference of " + estimates["metric"])


@method("passport_judge")
def judge_of(data: ItemSample, *, people: Sequence[str] = ("gold",), alpha: float = 0.05) -> pd.DataFrame:
    """Every quantity of `judge`, beside one label per item or three people."""
    from ...raters.validation import judge

    estimates = judge(
        data.frame, "a", list(people), id=data.cluster, classes=CLASSES, positive=CLASSES[0], alpha=alpha
    ).frame
    prefix = "" if tuple(people) == ("gold",) else "people's "
    return numbers(estimates, prefix + estimates["name"].astype(str))


@method("passport_compare_runs")
def runs_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every quantity of `compare_runs` of two models beside one label per item."""
    from ...raters.validation import compare_runs

    columns = ["item_id", "group", "gold"]
    estimates = compare_runs(
        data.frame[[*columns, "a"]],
        data.frame[[*columns, "b"]],
        ("a", "b"),
        "gold",
        id="item_id",
        cluster=data.cluster,
        classes=CLASSES,
        positive=CLASSES[0],
        alpha=alpha,
    ).frame
    return numbers(estimates, "runs: " + estimates["name"].astype(str))


@method("passport_agreement")
def coefficients_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every coefficient of `agreement` for labels, among people and of people with a model."""
    from ...raters import agreement

    estimates = agreement(
        judgments(data.frame, ["a", *PEOPLE]),
        items=data.frame[["item_id", "group"]],
        cluster=data.cluster,
        alpha=alpha,
        **draw_options(data),
    ).frame
    among = np.where(estimates["against"].isna(), "among people: ", "with people: ")
    names = pd.Series(among + estimates["coefficient"].astype(str), index=estimates.index)
    bootstrapped = numbers(estimates, names + ", bootstrap", "boot_lower", "boot_upper")
    return pd.concat([numbers(estimates, names), bootstrapped], ignore_index=True)


DOORS = (
    metrics_of,
    differences_of,
    judge_of,
    partial(judge_of, people=PEOPLE),
    runs_of,
    coefficients_of,
)


@method("passport_score_bounds")
def bounds_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Bounds of the scores that are linear in the answers, whatever the missing answers were."""
    from ...benchmark import bounds

    estimates = bounds(
        scored(data, ["a"]), missing="missing", cluster=data.cluster or "item_id", alpha=alpha
    ).frame
    return numbers(estimates, "bounds of " + estimates["metric"].astype(str), "ci_lower", "ci_upper")
