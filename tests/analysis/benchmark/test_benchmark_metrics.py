"""Metrics and their expectations under random answers, against scikit-learn and by enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from conjury.analysis.benchmark.metrics import (
    OVERALL,
    Margins,
    cluster_margins,
    contributions,
    is_share,
    margins_of,
    metric,
    random_expectation,
)
from conjury.inference.errors import InputError

NAMES = ("a", "b", "c", "d")


def margins(gold: Any, predicted: Any, k: int, class_of: Any = None) -> Margins:
    """Margins of units that are one cluster."""
    level = np.asarray(gold, dtype=np.int64)
    owner = np.arange(k) if class_of is None else np.asarray(class_of)
    zeros = np.zeros(len(level), dtype=np.int64)
    return margins_of(
        cluster_margins(level, np.asarray(predicted, dtype=np.int64), owner, k, zeros, 1), owner
    )


def value(name: str, m: Margins) -> float:
    names = NAMES[: m.given.shape[1] - 1]
    return float(metric(name, m, names, NAMES[: m.gold.shape[1]])[0])


def sample(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20260101)
    gold = rng.choice(4, 200, p=[0.5, 0.3, 0.15, 0.05])
    predicted = np.where(rng.random(200) < 0.5, gold, rng.integers(0, 4, 200))
    if kind == "some missing":
        predicted[::7] = -1
    if kind == "some outside":
        predicted[::9] = 4
    changed = {
        "a class never predicted": (gold, np.where(predicted == 2, 0, predicted)),
        "a class not in gold": (np.where(gold == 3, 0, gold), predicted),
        "one answer": (gold, np.ones_like(predicted)),
        "all missing": (gold, -np.ones_like(predicted)),
        "one class in gold": (np.zeros_like(gold), predicted),
        "one item": (gold[:1], predicted[:1]),
    }
    return changed.get(kind, (gold, predicted))


KINDS = (
    *("plain", "some missing", "some outside", "a class never predicted", "a class not in gold"),
    *("one answer", "all missing", "one class in gold", "one item"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_equal_scikit_learn(kind: str) -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    gold, predicted = sample(kind)
    m = margins(gold, predicted, 4)
    held = np.unique(gold).tolist()
    of_gold = {"labels": held, "zero_division": 0}
    answers = sorted({*range(5), *predicted.tolist()} - {-1})  # no answer is no class of micro averages
    expected = {
        "accuracy": theirs.accuracy_score(gold, predicted),
        "balanced_accuracy": theirs.recall_score(gold, predicted, average="macro", **of_gold),
        "macro_f1": theirs.f1_score(gold, predicted, average="macro", **of_gold),
        "weighted_f1": theirs.f1_score(gold, predicted, average="weighted", **of_gold),
        "micro_f1": theirs.f1_score(gold, predicted, average="micro", labels=answers, zero_division=0),
        "mcc": theirs.matthews_corrcoef(gold, predicted),
        "missing_rate": (predicted == -1).mean(),
    }
    for name, number in expected.items():
        assert value(name, m) == pytest.approx(number, abs=1e-12), name
    each = theirs.precision_recall_fscore_support(gold, predicted, labels=range(4), zero_division=0)
    for code, label in enumerate(NAMES):
        assert value(f"precision_{label}", m) == pytest.approx(each[0][code], abs=1e-12)
        assert value(f"f1_{label}", m) == pytest.approx(each[2][code], abs=1e-12)
        if code in held:
            assert value(f"recall_{label}", m) == pytest.approx(each[1][code], abs=1e-12)
        else:
            assert np.isnan(value(f"recall_{label}", m))


@pytest.mark.parametrize("kind", ["plain", "some outside", "a class never predicted", "one answer"])
def test_specificity_of_answered_units_is_recall_of_the_other_classes_by_scikit_learn(kind: str) -> None:
    theirs = pytest.importorskip("sklearn.metrics")
    gold, predicted = sample(kind)
    m = margins(gold, predicted, 4)
    for code, label in enumerate(NAMES):
        number = theirs.recall_score(gold != code, predicted != code, zero_division=0)
        assert value(f"specificity_{label}", m) == pytest.approx(number, abs=1e-12)


def test_no_answer_lowers_specificity_and_one_class_or_no_units_give_no_number() -> None:
    m = margins([0, 0, 1, 1], [0, -1, 1, 0], 2)
    for name in ("specificity_a", "specificity_b", "specificity"):  # of both a, one is answered with a
        assert value(name, m) == 0.5
    assert np.isnan(value("specificity", margins([0, 0], [0, 1], 2)))
    assert all(np.isnan(value(name, margins([], [], 3))) for name in OVERALL)


def test_recall_of_a_gold_label_counts_answers_with_the_class_that_covers_it() -> None:
    safe, harmful = 0, 1
    level = [0, 1, 1, 2, 2, 2]  # safe, implicit, explicit
    m = margins(level, [safe, harmful, safe, harmful, harmful, -1], 2, class_of=[safe, harmful, harmful])
    levels, classes = ("safe", "implicit", "explicit"), ("safe", "harmful")
    expected = {"recall_implicit": 1 / 2, "recall_explicit": 2 / 3, "recall_harmful": 3 / 5}
    expected |= {"specificity_harmful": 1.0, "accuracy": 4 / 6}
    assert {name: metric(name, m, classes, levels)[0] for name in expected} == pytest.approx(expected)


def test_weighted_margins_are_those_of_repeated_units() -> None:
    gold, predicted = sample("some missing")
    cluster = np.arange(len(gold)) % 10
    sums = cluster_margins(gold, predicted, np.arange(4), 4, cluster, 10)
    times = np.arange(10)
    weighted = margins_of(times[None, :] @ sums, np.arange(4))
    again = np.repeat(np.arange(len(gold)), times[cluster])
    repeated = margins(gold[again], predicted[again], 4)
    for name in OVERALL:
        assert value(name, weighted) == pytest.approx(value(name, repeated), abs=1e-12)


def test_unknown_metrics_are_refused_with_a_near_name_and_shares_of_units_are_known() -> None:
    with pytest.raises(InputError, match="did you mean 'macro_f1'"):
        value("makro_f1", margins([0], [0], 2))
    with pytest.raises(InputError, match="no metric 'recall_z'"):
        value("recall_z", margins([0], [0], 2))
    # shares of units, which have Wilson intervals
    assert [name for name in OVERALL if is_share(name)] == ["accuracy", "missing_rate"]


@pytest.mark.parametrize("gold", [(0, 0, 1, 2), (0, 1, 1, 1), (0, 0, 0, 0)])
def test_random_baseline_is_the_mean_over_all_random_answers(gold: tuple[int, ...]) -> None:
    counts = np.bincount(gold, minlength=3).astype(float)
    names = NAMES[:3]
    every = [margins(gold, answers, 3) for answers in product(range(3), repeat=len(gold))]
    metrics = ["accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "weighted_f1", "mcc", "specificity"]
    for name in [*metrics, "f1_a", "precision_a", "recall_a", "specificity_b"]:
        mean = np.mean([metric(name, m, names, names)[0] for m in every])
        found = random_expectation(name, counts, names, names)
        assert found == pytest.approx(mean, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("units", [1e4, 1e7])
def test_random_f1_of_many_units_is_near_that_of_mean_counts(units: float) -> None:
    """A tenth of the units is of class a; of four classes, each is given to a quarter."""
    found = random_expectation("f1_a", units * np.array([0.1, 0.3, 0.3, 0.3]), NAMES, NAMES)
    assert found == pytest.approx(2 * 0.1 * 0.25 / (0.1 + 0.25), rel=2e-3)


def test_contributions_of_units_sum_to_the_specificity_of_a_class() -> None:
    level, given = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 1, 2, 0])
    names = ("a", "b", "c")
    added = contributions("specificity_b", level, np.arange(3), names, names)
    assert added[level, given].sum() == pytest.approx(3 / 5)  # of five units that are not b, two are called b
