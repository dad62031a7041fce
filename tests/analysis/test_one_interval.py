"""One quantity has one interval: every table in which it is printed gives the same estimate and limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.benchmark import by_label, score, scores
from conjury.analysis.raters import agreement
from conjury.analysis.raters.validation import compare_runs, judge

NUMBERS = ["estimate", "lower", "upper"]


def labels(kind: str) -> pd.DataFrame:
    """Labels of a judge and a person: without faults, with gaps, a rare class, or several rows per item."""
    random = np.random.default_rng(3)
    n = 60
    share = [0.94, 0.04, 0.02] if kind == "rare" else [0.5, 0.3, 0.2]
    person = random.choice(["no", "yes", "unsure"], n, p=share)
    answers = np.where(random.random(n) < 0.75, person, random.choice(["no", "yes", "unsure"], n, p=share))
    table = pd.DataFrame({"item": [f"i{k:02d}" for k in range(n)], "judge": answers, "person": person})
    if kind == "gaps":
        table.loc[random.random(n) < 0.2, "judge"] = None
        table.loc[random.random(n) < 0.2, "person"] = None
    if kind == "same":
        table["judge"] = table["person"]
    if kind == "clusters":
        table["topic"] = [f"t{k:02d}" for k in random.integers(0, 20, n)]
    return table.sample(frac=1, random_state=4, ignore_index=True)


def long_table(table: pd.DataFrame) -> pd.DataFrame:
    """One row per answer, of the judge and of the person."""
    parts = [
        table.assign(judge_id=name, judge_kind=kind, item_id=table["item"], value=table[name], dimension="d")
        for name, kind in (("judge", "model"), ("person", "human"))
    ]
    keep = [
        "judge_id",
        "judge_kind",
        "item_id",
        "value",
        "dimension",
        *(["topic"] if "topic" in table else []),
    ]
    return pd.concat(parts, ignore_index=True)[keep].dropna(subset="value")


def numbers(frame: pd.DataFrame, index: str, name: str) -> list[float]:
    result = frame.set_index(index).loc[name, NUMBERS]
    return [float(value) for value in result]


KINDS = [
    "gaps",
    "clusters",
    *(pytest.param(kind, marks=pytest.mark.long) for kind in ("plain", "rare", "same")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_agreement_coefficients_are_the_same_in_judge_agreement_and_compare_runs(kind: str) -> None:
    table = labels(kind)
    cluster = "topic" if kind == "clusters" else None
    judged = judge(table, "judge", "person", id=cluster).frame
    options: dict[str, Any] = {"between": [("person", "judge")], "draws": 0, "cluster": cluster}
    answers = long_table(table)
    items = table.rename(columns={"item": "item_id"})[["item_id", "topic"]] if cluster else None
    result = agreement(answers.drop(columns="topic", errors="ignore"), items=items, **options).frame
    result = result[result["against"].notna()]
    other = table.drop(columns=["person", *([cluster] if cluster else [])]).assign(judge="no")
    runs = compare_runs(table, other, "judge", "person", id="item", cluster=cluster).frame
    names = {"accuracy": "percent", "kappa": "cohen", "alpha": "krippendorff", "ac1": "gwet"}
    for name, coefficient in names.items():
        expected = numbers(judged, "name", name)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(numbers(result, "coefficient", coefficient), expected, rtol=1e-12)
        if kind != "gaps":
            np.testing.assert_allclose(numbers(runs, "name", f"{name}_a"), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_judge(kind: str) -> None:
    table = labels(kind).dropna()
    cluster = "topic" if kind == "clusters" else None
    judged = judge(table, "judge", "person", id=cluster).frame
    gold = table.rename(columns={"item": "item_id", "person": "label"}).assign(label_set="d")
    answers = long_table(table)
    of_items: dict[str, Any] = {"items": gold[["item_id", cluster]]} if cluster else {}
    answers = answers.drop(columns="topic", errors="ignore")
    scored = score(
        answers[answers["judge_kind"] == "model"], gold[["item_id", "label_set", "label"]], **of_items
    )
    metrics = ["accuracy", "recall_yes", "precision_no", "f1_yes"]
    result = scores(scored, metrics=metrics, missing=["wrong"], cluster=cluster or "item_id").frame
    result = result[result["judge"] == "judge"]
    same = by_label(scored, cluster=cluster or "item_id").frame.set_index("label")
    for name in metrics:
        measure, _, label = name.partition("_")
        expected = numbers(judged, "name", f"{measure}[{label}]" if label else measure)
        np.testing.assert_allclose(numbers(result, "metric", name), expected, rtol=1e-12)
        if label:
            ours = same.loc[label, [measure, f"{measure}_lower", f"{measure}_upper"]].astype(float)
            np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_coefficients_do_not_depend_on_the_order_of_rows_and_people() -> None:
    table = labels("plain").assign(second=labels("plain")["person"].sample(frac=1, random_state=1).to_numpy())
    one = judge(table, "judge", ["person", "second"]).frame
    turned = table.sample(frac=1, random_state=2, ignore_index=True)
    other = judge(turned, "judge", ["second", "person"]).frame
    for name in ("kappa", "people_kappa", "people_alpha", "people_ac1", "people_accuracy"):
        np.testing.assert_allclose(numbers(one, "name", name), numbers(other, "name", name), rtol=1e-9)
    people = agreement(
        pd.concat(
            [
                table.assign(judge_id=name, judge_kind="human", item_id=table["item"], value=table[name])
                for name in ("second", "person")
            ]
        )[["judge_id", "judge_kind", "item_id", "value"]],
        draws=0,
    ).frame
    names = {"people_kappa": "conger", "people_alpha": "krippendorff", "people_ac1": "gwet"}
    for name, coefficient in names.items():
        ours = numbers(people, "coefficient", coefficient)
        np.testing.assert_allclose(ours, numbers(one, "name", name), rtol=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
def test_intraclass_correlations_are_the_same_in_judge_and_agreement(clustered: bool) -> None:
    random = np.random.default_rng(8)
    person = random.integers(1, 8, 50)
    ratings = (person + random.integers(-1, 2, 50)).clip(1, 7)
    table = pd.DataFrame({"item": [f"i{k:02d}" for k in range(50)], "judge": ratings, "person": person})
    cluster = "topic" if clustered else None
    if clustered:
        table["topic"] = [f"t{k}" for k in random.integers(0, 12, 50)]
    judged = judge(table, "judge", "person", id=cluster).frame
    items = table.rename(columns={"item": "item_id"})[["item_id", "topic"]] if clustered else None
    answers = long_table(table).drop(columns="topic", errors="ignore")
    options: dict[str, Any] = {"groups": {"both": ["judge", "person"]}, "between": [], "items": items}
    result = agreement(answers, ["icc2"], cluster=cluster, **options).frame
    expected = numbers(judged, "name", "icc")
    np.testing.assert_allclose(numbers(result, "coefficient", "icc2"), expected, rtol=1e-9)
    assert expected[1] < expected[0] < expected[2]
