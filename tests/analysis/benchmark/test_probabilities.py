"""Log-loss and AUC, against scikit-learn, and refused for labels alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up.labels import answers_to, gold_of, noted
from made_up.labels import scored_probabilities as scored

from conjury.analysis.benchmark import Scored, probabilities, score
from conjury.analysis.benchmark.probabilities.probability_scores import mean_auc, unit_log_loss, weighted_auc
from conjury.inference.errors import InputError


def draws(k: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    gold = rng.integers(0, k, n)
    logits = np.round(rng.normal(size=(n, k)) + 1.5 * np.eye(k)[gold], 1)  # rounded: ties
    given = np.exp(logits)
    return given / given.sum(axis=1, keepdims=True), gold


def of_judge(made: Scored, **options: object) -> pd.DataFrame:
    frame = probabilities(made, **options).frame
    return frame[frame["judge"] == "gpt"].set_index("metric")


@pytest.mark.parametrize("k", [2, 3])
def test_log_loss_and_auc_equal_scikit_learn(k: int) -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    given, gold = draws(k)
    found = of_judge(scored(given, gold), draws=0)["estimate"]
    assert found["log_loss"] == pytest.approx(theirs.log_loss(gold, given), abs=1e-12)
    options = {"multi_class": "ovr", "average": "macro"} if k > 2 else {}
    expected = theirs.roc_auc_score(gold, given if k > 2 else given[:, 1], **options)
    assert found["auc"] == pytest.approx(expected, abs=1e-12)
    if k == 2:
        own = of_judge(scored(given, gold, own_only=True), draws=0)["estimate"]
        np.testing.assert_allclose(own, found, atol=1e-12)


def test_weights_of_the_auc_are_numbers_of_units_and_one_class_has_no_auc() -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    given, gold = draws(2)
    n = len(gold)
    times = np.random.default_rng(7).integers(0, 4, n)
    again = np.repeat(np.arange(n), times)
    found = weighted_auc(given[:, 1], gold == 1, times[None, :].astype(float), np.arange(n))
    assert found[0] == pytest.approx(theirs.roc_auc_score(gold[again], given[again, 1]), abs=1e-12)
    assert np.isnan(mean_auc(given, np.zeros(n, dtype=np.int64), np.ones((1, n)), np.arange(n))[0])


def test_interval_of_the_auc_is_about_that_of_hanley_and_mcneil() -> None:
    given, gold = draws(2, 300)
    found = of_judge(scored(given, gold)).loc["auc"]
    auc, positive, negative = found["estimate"], (gold == 1).sum(), (gold == 0).sum()
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (positive - 1) * (q1 - auc**2) + (negative - 1) * (q2 - auc**2)
    assert found["std_error"] == pytest.approx(np.sqrt(variance / (positive * negative)), rel=0.15)
    assert found["lower"] < auc < found["upper"]


def test_judges_and_answers_without_probabilities_are_excluded_and_counted() -> None:
    given, gold = draws(2)
    made = scored(given, gold)
    hard = made.frame.assign(judge="hard", probability_a=np.nan, probability_b=np.nan)
    both = pd.concat([made.frame.assign(judge="gpt"), hard], ignore_index=True)
    both = both.astype({"item_id": "category", "judge": "category"})
    found = probabilities(replace(made, frame=both), draws=0)
    assert set(found.frame["judge"]) == {"gpt", "majority class", "random"}
    assert noted(found, "hard, harm: excluded, since no answer has probabilities")
    frame = made.frame.copy()
    frame.loc[:9, ["probability_a", "probability_b"]] = np.nan
    some = replace(made, frame=frame)
    row = of_judge(some, draws=0).loc["log_loss"]
    assert row["estimate"] == pytest.approx(unit_log_loss(given[10:], gold[10:]).mean())
    assert row["n_units"] == len(gold) - 10
    assert noted(probabilities(some, draws=0), "10 of 120 answers have no probabilities")


def test_certain_and_wrong_answers_have_a_bounded_log_loss() -> None:
    loss = unit_log_loss(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    assert loss.tolist() == pytest.approx([0.0, -np.log(1e-15)])


def test_baselines_are_the_shares_of_gold_and_equal_probabilities() -> None:
    given, gold = draws(3)
    frame = probabilities(scored(given, gold), draws=0).frame.set_index(["judge", "metric"])["estimate"]
    shares = np.bincount(gold) / len(gold)
    assert frame["majority class", "log_loss"] == pytest.approx(-(shares * np.log(shares)).sum())
    assert frame["random", "log_loss"] == pytest.approx(np.log(3))
    assert frame["majority class", "auc"] == frame["random", "auc"] == 0.5


def test_invalid_probabilities_are_refused() -> None:
    made, (given, gold) = scored(*draws(2)), draws(3)
    hard = replace(made, frame=made.frame.drop(columns=["probability_a", "probability_b"]))
    for table, message in (
        (hard, "a label alone has neither log-loss nor AUC"),
        (scored(given, gold, own_only=True), "harm has 3 classes and the probability of the label"),
        (scored(given * 1.5, gold), r"sum to 1\.5 in a row"),
    ):
        with pytest.raises(InputError, match=message):
            probabilities(table)


def test_probabilities_without_a_label_are_excluded_with_the_judge_named() -> None:
    items, gold = ["j1", "j2", "j3"], gold_of(["j1", "j2", "j3"], ["safe", "harmful", "safe"])
    given = answers_to(items, ["safe", "harmful", "harmful"], probability=[0.9, 0.6, 0.8], status="ok")
    silent = given.assign(judge_id="pal", value=None, status="refused")
    judged = pd.concat([given, silent], ignore_index=True)
    found = probabilities(score(judged, gold), draws=0)
    assert "pal" not in set(found.frame["judge"])
    assert any(note.startswith("pal") and "excluded" in note for note in found.notes)
    alone = score(silent, gold, classes={"harm": ["safe", "harmful"]})
    with pytest.raises(InputError, match="no answer to harm has a label with its probability"):
        probabilities(alone, draws=0)
