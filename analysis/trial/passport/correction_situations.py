"""Few labels by people and many by a judge: rates of classes, scores, means, and effects that use both."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..trial_registry import Drawn, method, process, true_values
from . import choices as conjoint
from . import label_situations as labelled
from .label_situations import CLASSES
from .worlds import ItemSample, cluster_of_items, draw_correlated_patterns, numbers, sample_of

OTHER = 1000  # items or pairs that only the judge has seen
AGREEMENT = 0.6  # share of the answers in which the model copies a person, beyond chance


@process("passport_audit")
def audit(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.2,
    clusters: int = 0,
    shape: str = "equal",
    icc: float = 0.2,
) -> Drawn:
    """``n`` items with gold labels and the answers of a judge, who labelled a thousand others, too."""
    codes, probability = labelled.patterns(prevalence)
    cluster = cluster_of_items(n, clusters, shape)
    # unlabelled items are in clusters of the same mean size, or on their own
    remainder = (
        cluster_of_items(OTHER, round(OTHER * clusters / n), "equal") if clusters else np.arange(OTHER)
    )
    cluster = np.concatenate([cluster, cluster.max() + 1 + remainder])
    labels = codes[draw_correlated_patterns(rng, probability, cluster, icc if clusters else 0.0)]
    frame = labelled.table_of(labels, cluster)
    frame.loc[n:, "gold"] = None
    return Drawn(sample_of(frame, clusters), truth_of(prevalence))


@lru_cache(maxsize=16)
def truth_of(prevalence: float) -> pd.DataFrame:
    """Rates of the classes and scores of the judge in the population."""
    values = labelled.truth_of(prevalence, 0.0).set_index("quantity")["truth"]
    rates = {f"{name}: rate of {CLASSES[0]}": prevalence for name in ("human", *CORRECTED)}
    rates["naive: rate of rare"] = float(values["share_rare"])
    scores = {f"ppi: {name}": float(values[name]) for name in labelled.class_metrics()}
    return true_values(population={**rates, **scores})


CORRECTED = ("rogan_gladen", "efficient", "mle")


@method("passport_rates")
def rates_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """The rate of the rare class by every method of `rates`."""
    from ...correction import rates

    estimates = rates(
        data.frame, gold="gold", judge="a", classes=CLASSES, cluster=data.cluster, alpha=alpha
    ).frame
    estimates = estimates[estimates["class"].astype(str) == CLASSES[0]]
    return numbers(estimates, estimates["method"].astype(str) + f": rate of {CLASSES[0]}")


@method("passport_corrected_scores")
def scores_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every metric of `scores` against people's labels, estimated with a model's labels of all items."""
    from ...benchmark import score, scores

    frame = data.frame
    labelled_items = frame["gold"].notna()
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})[
        labelled_items
    ]
    judged = labelled.judgments(frame, ["a"])
    model_labels = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["b"]})
    by_people, by_model = (
        score(judged, label, classes=list(CLASSES), items=frame[["item_id", "group"]])
        for label in (gold, model_labels)
    )
    estimates = scores(
        by_people,
        metrics=["accuracy", "recall_rare", "precision_rare", "f1_rare", "mcc", "share_rare"],
        missing=["missing"],
        correct="ppi",
        model=by_model,
        cluster=data.cluster or "item_id",
        alpha=alpha,
    ).frame
    estimates = estimates[(estimates["judge"] == "a") & (estimates["source"] == "corrected")]
    return numbers(estimates, "ppi: " + estimates["metric"].astype(str))


@process("passport_people_and_model")
def people_and_model(
    rng: np.random.Generator,
    *,
    n: int = 300,
    prevalence: float = 0.33,
    clusters: int = 30,
    shape: str = "equal",
) -> Drawn:
    """``n`` pairs by people, and a model that judged these and a thousand others, with errors of its own."""
    sample = conjoint.choices(rng, n=n, prevalence=prevalence, clusters=clusters, shape=shape)
    more = conjoint.choices(rng, n=OTHER, prevalence=prevalence)
    people, remainder = sample.data.frame, more.data.frame
    remainder = remainder.assign(pair_id=remainder["pair_id"] + n)
    judged = pd.concat([people, remainder], ignore_index=True)
    first = people["chosen"].to_numpy()[::2] == 1
    errors = rng.random(n + OTHER) < (1 - AGREEMENT) / 2
    model = np.concatenate([first, remainder["chosen"].to_numpy()[::2] == 1]) ^ errors
    judged = judged.assign(
        judge_id="model_1", judge_kind="model", chosen=np.column_stack([model, ~model]).ravel().astype(float)
    )
    share = n / (n + OTHER)
    data = pd.concat([people, judged], ignore_index=True).assign(sampling_probability=share)
    truth = conjoint.truth_of(prevalence)
    differences = truth[~truth["quantity"].str.contains("mean|difference")]
    # the model gives a person's answer, or the other one; so its effects are smaller by the same share
    differences = differences.assign(
        quantity="model minus people: " + differences["quantity"],
        truth=(AGREEMENT - 1) * differences["truth"],
    )
    return Drawn(ItemSample(data, "judge_id"), pd.concat([truth, differences], ignore_index=True))


@method("passport_people_diffs")
def people_diffs_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """AMCEs of a model minus those of people on the same pairs."""
    from ...conjoint import people_diffs

    frame = data.frame.drop(columns="sampling_probability")
    shared = frame["pair_id"].isin(frame.loc[frame["judge_kind"] == "human", "pair_id"])
    estimates = people_diffs(frame[shared], conjoint.FORMULA, alpha=alpha).frame
    return conjoint.effects_by_quantity(estimates, "model minus people: ")


@method("passport_corrected_effects")
def effects_of(
    data: ItemSample, *, correct: Literal["ppi", "dsl", "covariate"], alpha: float = 0.05
) -> pd.DataFrame:
    """AMCEs and marginal means of people, with a model's answers."""
    from ...conjoint import amce, mm

    options: dict[str, Any] = {"id": data.cluster, "correct": correct, "alpha": alpha}
    return pd.concat(
        [
            conjoint.effects_by_quantity(amce(data.frame, conjoint.FORMULA, **options).frame),
            conjoint.effects_by_quantity(mm(data.frame, conjoint.FORMULA, **options).frame, "mean "),
        ],
        ignore_index=True,
    )
