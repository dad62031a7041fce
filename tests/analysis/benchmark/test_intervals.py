"""Intervals of scores and of labels: coverage, clusters, and where percentiles of draws are uninformative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.labels import answers_to, gold_of
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.benchmark import by_label, confusion, score, scores
from conjury.analysis.numerics.metrics.label_metrics import OVERALL
from conjury.analysis.results import Result


def table(right: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judgments that are right where ``right`` is true, and gold of two classes in turn."""
    items = [f"j{number:03d}" for number in range(len(right))]
    labels = np.where(np.arange(len(right)) % 2, "a", "b")
    answers = np.where(right, labels, np.where(labels == "a", "b", "a"))
    return answers_to(items, answers), gold_of(items, labels)


def five_times(judged: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([judged.assign(sample=number) for number in range(1, 6)])


def row(result: Result, metric: str = "accuracy", judge: str = "gpt") -> pd.Series:
    frame = result.frame
    (found,) = np.flatnonzero(
        (frame["metric"] == metric) & (frame["judge"] == judge) & (frame["missing"] == "wrong")
    )
    return frame.iloc[found]


def accuracy(judged: pd.DataFrame, labels: pd.DataFrame, items: pd.DataFrame | None = None, **options: Any
             ) -> Result:  # fmt: skip
    return scores(score(judged, labels, items=items), metrics=["accuracy"], **options)


def test_of_a_constant_answer_only_metrics_that_rest_on_the_gold_labels_have_intervals() -> None:
    """The majority of 61 items is the class of 31."""
    metrics = ["accuracy", "precision_b", "recall_b", "share_b", "balanced_accuracy"]
    found = scores(score(*table(np.ones(61, bool))), metrics=metrics, draws=50)
    always = [row(found, name, "majority class") for name in metrics]
    assert [one["estimate"] for one in always] == pytest.approx([31 / 61, 31 / 61, 1, 1, 0.5])
    limits = [one[["lower", "upper"]].tolist() for one in always]
    assert limits[:2] == [pytest.approx(proportion_confint(31, 61, method="wilson"))] * 2
    assert np.isnan(limits[2:]).all()


def test_clusters_of_alike_items_widen_the_interval_by_the_design_effect() -> None:
    judged, labels = table(np.repeat(np.random.default_rng(2).random(100) < 0.6, 5))
    topics = pd.DataFrame({"item_id": judged["item_id"], "topic": np.repeat(np.arange(100), 5).astype(str)})
    alone, together = (
        row(accuracy(judged, labels, topics, cluster=cluster)) for cluster in ("item_id", "topic")
    )
    assert together["std_error"] / alone["std_error"] == pytest.approx(np.sqrt(5), rel=0.08)
    assert (alone["n_clusters"], together["n_clusters"]) == (500, 100)


def test_copied_samples_do_not_narrow_the_interval() -> None:
    judged, labels = table(np.random.default_rng(3).random(100) < 0.5)
    one, many = (row(accuracy(given, labels)) for given in (judged, five_times(judged)))
    numbers = ["estimate", "lower", "upper"]
    assert many[numbers].to_list() == pytest.approx(one[numbers].to_list())
    assert (many["n_answers"], many["n_units"]) == (500, 100)


@pytest.mark.parametrize(("share", "limits"), [(0.0, (0.0, 0.0369935)), (1.0, (0.9630065, 1.0))])
def test_shares_of_none_and_all_have_wilsons_interval(share: float, limits: tuple[float, float]) -> None:
    found = row(scores(score(*table(np.full(100, share == 1.0)))))
    assert (found["lower"], found["upper"]) == pytest.approx(limits, abs=1e-6)  # 3.8415 / 103.8415 of 100
    assert found["interval"] == "wilson"


@pytest.mark.parametrize(
    ("name", "trials"),
    [("accuracy", 40), ("recall_a", 20), ("precision_b", 10), ("specificity_b", 30), ("specificity_a", 20)],
)
def test_trials_of_wilson_are_the_clusters_of_the_denominator(name: str, trials: int) -> None:
    judged, labels = table([True] * 40)  # a and b in turn, 20 each
    labels.loc[::4, "label"] = judged.loc[::4, "value"] = "c"  # of which 10 b become c
    found = row(scores(score(judged, labels), metrics=[name]), name)
    assert found["lower"] == pytest.approx(trials / (trials + 3.8414588), abs=1e-6)


def test_constant_statistics_single_items_and_no_draws_give_no_interval() -> None:
    drawn = scores(score(*table([True] * 30)), interval="bootstrap")
    all_right = row(drawn, "macro_f1")
    assert all_right[["estimate", "interval"]].to_list() == [1.0, "none"]
    assert np.isnan(all_right["lower"])
    assert any("No interval" in note for note in drawn.notes)
    one = scores(score(*table([True])))
    assert row(one, "macro_f1")["interval"] == "none"
    assert row(one)["interval"] == "wilson"
    found = scores(score(*table([True] * 30)), draws=0)
    assert set(found.frame["interval"]) == {"none"}
    assert "No intervals: there were no draws." in found.notes


@pytest.mark.parametrize("interval", [None, "bootstrap"])
@pytest.mark.parametrize("right", [[True] * 10, [True] * 9 + [False], [False] * 10, [True] * 3])
def test_no_interval_of_any_metric_has_no_width(right: list[bool], interval: Any) -> None:
    judged, labels = table(right)
    labels["label"] = judged["value"] = ["b"] * (len(right) - 2) + ["a"] * 2
    judged.loc[~np.array(right), "value"] = "b"
    found = scores(score(judged, labels), draws=400, interval=interval).frame
    known = found.dropna(subset=["lower"])
    assert (known["upper"] - known["lower"] > 0.01).all()
    assert known["estimate"].between(known["lower"], known["upper"]).all()
    assert known["upper"].le(1).all()
    assert known["lower"].ge(np.where(known["metric"] == "mcc", -1, 0)).all()
    if interval is None:
        judge = found[(found["judge"] == "gpt") & found["estimate"].notna()]
        assert judge["lower"].notna().all()


def test_missing_answers_only_are_wrong_or_give_no_number() -> None:
    judged, labels = table([True] * 10)
    found = scores(score(judged.assign(value=None, status="refused"), labels)).frame
    found = found[found["judge"] == "gpt"].set_index(["missing", "metric"])
    assert found.loc[("wrong", "accuracy"), "estimate"] == 0
    assert np.isnan(found.loc[("missing", "accuracy"), "estimate"])
    assert found.loc[("missing", "accuracy"), "n_answers"] == 0
    assert found.loc[("missing", "missing_rate"), "estimate"] == 1


def test_every_task_and_stratum_has_baselines_where_all_judges_have_the_same_units() -> None:
    judged, labels = table(np.arange(60) % 3 > 0)
    items = pd.DataFrame({"item_id": judged["item_id"], "language": np.repeat(["en", "es"], 30)})
    found = scores(score(judged, labels, items=items), by=["language"]).frame
    counts = found.groupby(["language", "judge"])["metric"].nunique()
    assert (counts == len(OVERALL)).all()
    assert len(counts) == 6
    random = found[found["judge"] == "random"]
    assert random["lower"].isna().all()
    assert (random.loc[random["metric"] == "accuracy", "estimate"] == 0.5).all()
    judged.loc[::5, "value"] = None
    result = accuracy(judged, labels, draws=0)
    held = result.frame.groupby("judge_kind")["missing"].unique().map(list)
    assert held.to_dict() == {"baseline": ["wrong"], "model": ["wrong", "missing", "study"]}
    over = result.extra["over_baseline"].set_index("missing")
    assert over.loc["missing", "n_units"] == 48


def test_labels_given_too_often_have_a_ratio_above_one() -> None:
    rng = np.random.default_rng(4)
    judged, labels = table(rng.random(200) < 0.5)
    judged["value"] = np.where(rng.random(200) < 0.9, "a", judged["value"])
    found = by_label(score(judged, labels)).frame.set_index("label")
    assert found.loc["a", "ratio"] == found.loc["a", "n_predicted"] / found.loc["a", "n_gold"] > 1.5
    assert found.loc["a", "ratio_lower"] > 1 > found.loc["b", "ratio_upper"]
    assert found.loc["a", "recall"] > found.loc["a", "precision"]


def test_a_label_that_is_never_given_has_no_precision() -> None:
    judged, labels = table([True] * 20)
    found = by_label(score(judged.assign(value="a"), labels)).frame.set_index("label")
    assert np.isnan(found.loc["b", "precision"])
    assert found.loc["b", ["recall", "ratio", "recall_interval"]].to_list() == [0.0, 0.0, "wilson"]


def test_gold_units_are_counted_once_and_answers_of_all_samples() -> None:
    judged, labels = table(np.arange(40) % 3 > 0)
    found = by_label(score(five_times(judged), labels), draws=50).frame.set_index("label")
    assert found.loc["a", ["n_gold", "n_answers"]].to_list() == [20, 100]
    assert found.loc["a", "ratio"] == found.loc["a", "n_predicted"] / 100


def test_use_of_labels_is_tested_with_adjustment_for_all_labels_and_judges_of_a_task() -> None:
    judged, labels = table(np.random.default_rng(5).random(100) < 0.6)
    judged.loc[:20, "value"] = "a"
    many = pd.concat([judged.assign(judge_id=f"m{number}") for number in range(10)])
    one, ten = (by_label(score(given, labels), draws=400).frame for given in (judged, many))
    assert one["p_adjusted"].tolist() == pytest.approx((one["p"] * 2).clip(upper=1).tolist())
    assert ten["p_adjusted"].min() == pytest.approx(min(1, ten["p"].min() * 20))


def test_shares_of_a_confusion_matrix_sum_to_one_in_each_row() -> None:
    judged, labels = table(np.arange(50) % 4 > 0)
    judged.loc[::7, ["value"]] = None
    found = confusion(score(judged, labels)).frame
    assert found.groupby("gold")["share"].sum().to_list() == pytest.approx([1.0, 1.0])
    assert found["n"].sum() == 50
    assert found.loc[found["predicted"] == "no answer", "n"].sum() == 8


@pytest.mark.parametrize("other", ["es", None])
def test_the_most_frequent_label_of_each_stratum_is_a_baseline_of_pooled_scores(other: str | None) -> None:
    """Gold is mostly a in English and mostly b in other items; the judge is right in half of each."""
    judged, labels = table([True] * 80)
    language = np.repeat(["en", other], 40)
    labels["label"] = np.where((language == "en") != (np.arange(80) % 10 == 0), "a", "b")
    labels.loc[0, "label"] = "a"  # so that no label is as frequent as the other
    judged["value"] = np.where(np.arange(80) % 2, labels["label"], np.where(labels["label"] == "a", "b", "a"))
    items = pd.DataFrame({"item_id": judged["item_id"], "language": language})
    found = accuracy(judged, labels, items, strata=["language"], draws=200)
    reached = found.frame[found.frame["missing"] == "wrong"].set_index("judge")["estimate"]
    assert reached["majority class by stratum"] == 73 / 80
    assert reached["majority class"] == 41 / 80
    over = found.extra["over_baseline"].query("missing == 'wrong'").iloc[0]
    assert over["estimate"] == pytest.approx(40 / 80 - 73 / 80)
    assert "majority class by stratum" not in set(accuracy(judged, labels, items, draws=0).frame["judge"])


def test_accuracy_over_the_baseline_is_drawn_with_the_same_units() -> None:
    judged, labels = table([True] * 90)
    labels["label"] = np.where(np.arange(90) % 4 > 0, "a", "b")
    judged["value"] = "a"
    judged.loc[[1, 2], "value"] = "b"
    found = accuracy(judged, labels, missing=["wrong"], draws=500)
    over = found.extra["over_baseline"].iloc[0]
    assert over["estimate"] == pytest.approx(-2 / 90)
    assert over["std_error"] < row(found)["std_error"] / 2  # all other answers are those of the baseline
