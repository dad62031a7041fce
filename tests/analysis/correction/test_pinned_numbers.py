"""Numbers of every correction on small untidy data, pinned: no change of the code moves one of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.choices import panel_and_model

from conjury.analysis.benchmark import score, scores
from conjury.analysis.conjoint import amce, amce_diffs, interaction, mm
from conjury.analysis.correction import CovariateAdjustment, DesignBased, PredictThenDebias, SwappingErrors
from conjury.analysis.raters import means, prediction_powered

PINNED = Path(__file__).parents[2] / "fixtures" / "correction" / "pinned.csv"
NUMBERS = [
    "estimate",
    "std_error",
    "df",
    "lower",
    "upper",
    "rho",
    "weight",
    "weight_gpt",
    "weight_two",
    "gain",
]
FORMULA = "chosen ~ tone + topic"


def choices() -> pd.DataFrame:
    """People and two models: missing answers, rows of the second in another order, people in two panels."""
    table = panel_and_model(5, people=40, other=300, rho=0.95)
    gpt = table[table["judge_kind"] == "model"]
    two = gpt.iloc[::-1].assign(
        judge_id="two", chosen=lambda rows: rows["chosen"].where(rows["topic"] != "law", 1 - rows["chosen"])
    )
    table = pd.concat([table, two.iloc[: len(two) - 8]], ignore_index=True)
    number = np.arange(len(table))
    table["chosen"] = table["chosen"].astype("Float64").mask((number // 2) % 17 == 3)
    digit = table["judge_id"].str[-1].where(table["judge_kind"] == "human")
    return table.assign(
        half=np.where(table["pair_id"].astype(str).str[-1].isin(list("02468")), "even", "odd"), panel=digit
    )


def items(labels: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
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


def scored(**options: Any) -> pd.DataFrame:
    table, described = items(labels=True)
    usable = table.dropna(subset="value")
    people, gpt = (
        usable[usable["judge_id"] == name].drop_duplicates("item_id").rename(
            columns={"dimension": "label_set", "value": "label"}
        )[["item_id", "label_set", "label"]]
        for name in ("ann", "gpt")
    )  # fmt: skip
    judged = table[table["judge_id"] == "two"]
    human, model = (
        score(judged, labels, items=described, classes=["low", "mid", "high"]) for labels in (people, gpt)
    )
    return scores(human, correct="ppi", model={"gpt": model}, **options).frame


def rated(
    verb: Callable[..., Any] = prediction_powered, labels: bool = False, **options: Any
) -> pd.DataFrame:
    return verb(*items(labels), **options).frame


def effects(verb: Callable[..., Any] = amce, *more: Any, **options: Any) -> pd.DataFrame:
    fit = verb(choices(), FORMULA, *more, **{"id": "judge_id", **options})
    gains = getattr(fit, "gains", None)
    return (
        fit.frame if gains is None else fit.frame.join(gains.drop(columns=fit.frame.columns, errors="ignore"))
    )


def sampled(**options: Any) -> pd.DataFrame:
    table = choices().query("judge_id != 'two'")
    table = table.assign(sampling_probability=np.where(table["half"] == "odd", 0.2, 0.5))
    people = (table["judge_kind"] == "human") & ~table["chosen"].isna()
    table = table[
        people & ~table[people].duplicated(["pair_id", "position"]).reindex(table.index, fill_value=False)
        | (table["judge_kind"] == "model")
    ]
    fit = amce(table, FORMULA, id="judge_id", **options)
    return fit.frame.join(fit.gains[["rho", "gain"]])


ONE = {"model": "gpt"}
CALLS: dict[str, Callable[[], pd.DataFrame]] = {
    "amce ppi": lambda: effects(correct="ppi"),
    "amce ppi, one model, all together": lambda: effects(
        correct="ppi", tuning="scalar", folds=3, seed=4, **ONE
    ),
    "mm ppi, matrix": lambda: effects(mm, correct="ppi", tuning="matrix", vcov="CR1", **ONE),
    "mm ppi, crossed clusters": lambda: effects(mm, correct="ppi", id=["judge_id", "pair_id"], tuning="none"),
    "amce_diffs ppi": lambda: effects(amce_diffs, "half", correct="ppi", folds=2),
    "interaction ppi": lambda: effects(interaction, "tone", "topic", correct="ppi", **ONE),
    "amce covariate": lambda: effects(correct="covariate"),
    "mm covariate": lambda: effects(mm, correct="covariate", **ONE),
    "amce dsl": lambda: sampled(correct="dsl"),
    "amce ppi, sampled": lambda: sampled(correct="ppi"),
    "amce tau": lambda: effects(correct=0.1),
    "means ppi": lambda: rated(means, correct="ppi", by="block", overall=True, cluster="topic"),
    "mean, crossed clusters": lambda: rated(cluster=["topic", "judge_id"], folds=2, tuning="none"),
    "quantile": lambda: rated(statistic="quantile", q=[0.25, 0.5], folds=1),
    "proportion": lambda: rated(statistic="proportion", at_least=[3, 4], tuning="scalar", model="gpt"),
    "share": lambda: rated(labels=True, statistic="share", tuning="matrix", cluster="topic"),
    "scores": lambda: scored(metrics=["accuracy", "macro_f1", "mcc", "recall_high"], cluster="topic"),
    "scores, not tuned": lambda: scored(metrics=["accuracy"], missing=["wrong"], tuning="none", by=["block"]),
}


def numbers(call: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = CALLS[call]()
    return frame.reindex(columns=NUMBERS).astype(float).reset_index(drop=True)


@pytest.mark.parametrize("call", CALLS)
def test_no_number_of_a_correction_moves(call: str) -> None:
    pinned = pd.read_csv(PINNED)
    expected = pinned[pinned["call"] == call][NUMBERS].astype(float).reset_index(drop=True)
    pd.testing.assert_frame_equal(numbers(call), expected, rtol=1e-10, atol=1e-12)


RECORDS: dict[str, Callable[[], pd.DataFrame]] = {
    "amce ppi, one model, all together": lambda: effects(
        correct=PredictThenDebias(model="gpt", tuning="scalar", folds=3, seed=4)
    ),
    "mm covariate": lambda: effects(mm, correct=CovariateAdjustment(model="gpt")),
    "amce dsl": lambda: sampled(correct=DesignBased()),
    "amce tau": lambda: effects(correct=SwappingErrors(0.1)),
    "means ppi": lambda: rated(means, correct=PredictThenDebias(), by="block", overall=True, cluster="topic"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", RECORDS)
def test_a_record_gives_the_numbers_of_its_string(call: str) -> None:
    pd.testing.assert_frame_equal(RECORDS[call](), CALLS[call]())


if __name__ == "__main__" and os.environ.get("CONJURY_SNAPSHOTS") == "write":
    pd.concat([numbers(call).assign(call=call) for call in CALLS]).to_csv(PINNED, index=False)
