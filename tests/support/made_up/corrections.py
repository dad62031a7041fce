"""Corrections by models on small untidy data: a call for each method, statistic and kind of data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from conjury.analysis.benchmark import score, scores
from conjury.analysis.conjoint import amce, amce_diffs, interaction, mm
from conjury.analysis.correction import CovariateAdjustment, DesignBased, PredictThenDebias, SwappingErrors
from conjury.analysis.raters import means, prediction_powered

from .choices import panel_and_model


def answers() -> pd.DataFrame:
    """People and two models: missing answers, rows of the second in another order."""
    table = panel_and_model(5, people=40, other=300, rho=0.95)
    gpt = table[table["judge_kind"] == "model"]
    two = gpt.iloc[::-1].assign(
        judge_id="two", chosen=lambda rows: rows["chosen"].where(rows["topic"] != "law", 1 - rows["chosen"])
    )
    table = pd.concat([table, two.iloc[: len(two) - 8]], ignore_index=True)
    number = np.arange(len(table))
    table["chosen"] = table["chosen"].astype("Float64").mask((number // 2) % 17 == 3)
    return table.assign(half=np.where(table["pair_id"].str[-1].isin(list("02468")), "even", "odd"))


def judged(labels: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ratings or labels of 90 items in topics: people answer 30, two models all, with refusals."""
    rng = np.random.default_rng(7)
    quality, rows = rng.normal(3, 1, 90), []
    for judge, kind, n in (
        ("ann", "human", 30),
        ("bob", "human", 20),
        ("gpt", "model", 90),
        ("two", "model", 88),
    ):
        value = np.clip(np.round(quality[:n] + rng.normal(0, 0.7, n)), 1, 5)
        for sample in (1, 2) if judge == "gpt" else (1,):
            text = np.array(["low", "mid", "high"])[np.digitize(value, [2.5, 3.5])] if labels else value
            rows.append(
                pd.DataFrame(
                    {"judge_id": judge, "judge_kind": kind, "item_id": [f"i{k:02d}" for k in range(n)],
                     "dimension": "fun", "sample": sample, "value": text, "status": "ok"}
                )
            )  # fmt: skip
    table = pd.concat(rows, ignore_index=True)
    refused = (np.arange(len(table)) % 13) == 5
    table["value"] = table["value"].astype(object).mask(refused, None)
    table["status"] = np.where(refused, "refused", "ok")
    described = pd.DataFrame({"item_id": [f"i{k:02d}" for k in range(90)]})
    return table, described.assign(
        topic=[f"t{k % 14}" for k in range(90)], block=[f"g{k % 2}" for k in range(90)]
    )


def sampled() -> pd.DataFrame:
    """Choices of one model and of one person for each task, sampled with known probabilities."""
    table = answers().query("judge_id != 'two'")
    table = table.assign(sampling_probability=np.where(table["half"] == "odd", 0.2, 0.5))
    people = table[table["judge_kind"].eq("human") & table["chosen"].notna()]
    return pd.concat([people.drop_duplicates(["pair_id", "position"]), table[table["judge_kind"] == "model"]])


def effects(verb: Any, *groups: str, data: Callable[[], pd.DataFrame] = answers, **options: Any) -> Any:
    """Effects or means by a verb, clustered by people."""
    return verb(data(), "chosen ~ tone + topic", *groups, **{"id": "judge_id", **options})


def scored(**options: Any) -> Any:
    """Scores of one model against labels of a person, corrected by those of another model."""
    table, items = judged(labels=True)
    names = {"dimension": "label_set", "value": "label"}
    by_judge = table.dropna(subset="value").drop_duplicates(["judge_id", "item_id"]).rename(columns=names)
    human, model = (
        score(
            table[table["judge_id"] == "two"],
            by_judge[by_judge["judge_id"] == name][["item_id", "label_set", "label"]],
            items=items,
            classes=["low", "mid", "high"],
        )
        for name in ("ann", "gpt")
    )
    return scores(human, correct="ppi", model={"gpt": model}, **options)


def rated(verb: Any = prediction_powered, labels: bool = False, **options: Any) -> Any:
    """Ratings or shares of labels among people."""
    return verb(*judged(labels), **options)


CORRECTIONS: dict[str, Callable[[], Any]] = {
    "ppi amce": partial(effects, amce, correct="ppi"),
    "ppi amce of one model": partial(
        effects, amce, correct="ppi", tuning="scalar", folds=3, seed=4, model="gpt"
    ),
    "ppi mm": partial(effects, mm, correct="ppi", tuning="matrix", vcov="CR1", model="gpt"),
    "ppi mm of two ways": partial(effects, mm, correct="ppi", id=["judge_id", "pair_id"], tuning="none"),
    "ppi amce_diffs": partial(effects, amce_diffs, "half", correct="ppi", folds=2),
    "ppi interaction": partial(effects, interaction, "tone", "topic", correct="ppi", model="gpt"),
    "ppi amce sampled": partial(effects, amce, data=sampled, correct="ppi"),
    "covariate amce": partial(effects, amce, correct="covariate"),
    "covariate mm": partial(effects, mm, correct="covariate", model="gpt"),
    "dsl amce": partial(effects, amce, data=sampled, correct="dsl"),
    "tau amce": partial(effects, amce, correct=0.1),
    "ppi means": partial(rated, means, correct="ppi", by="block", overall=True, cluster="topic"),
    "ppi mean of two ways": partial(rated, cluster=["topic", "judge_id"], folds=2, tuning="none"),
    "ppi quantile": partial(rated, statistic="quantile", q=[0.25, 0.5], folds=1),
    "ppi proportion": partial(rated, statistic="proportion", at_least=[3, 4], tuning="scalar", model="gpt"),
    "ppi share": partial(rated, labels=True, statistic="share", tuning="matrix", cluster="topic"),
    "ppi scores": partial(scored, metrics=["accuracy", "macro_f1", "mcc", "recall_high"], cluster="topic"),
    "ppi scores by": partial(scored, metrics=["accuracy"], missing=["wrong"], tuning="none", by=["block"]),
}
BY_RECORD: dict[str, Callable[[], Any]] = {
    "ppi amce of one model": partial(
        effects, amce, correct=PredictThenDebias(model="gpt", tuning="scalar", folds=3, seed=4)
    ),
    "covariate mm": partial(effects, mm, correct=CovariateAdjustment(model="gpt")),
    "dsl amce": partial(effects, amce, data=sampled, correct=DesignBased()),
    "tau amce": partial(effects, amce, correct=SwappingErrors(0.1)),
    "ppi means": partial(
        rated, means, correct=PredictThenDebias(), by="block", overall=True, cluster="topic"
    ),
}
