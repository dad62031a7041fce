"""Metrics and their expectations under random answers, against scikit-learn and by enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from conjury.analysis.benchmark import scores
from conjury.analysis.figures.benchmark.benchmark_labels import metric_in_words
from conjury.analysis.numerics.metrics.label_metrics import (
    METRIC_NAMES,
    METRICS,
    OVERALL,
    Metric,
    contributions,
    metric_of,
    metric_values,
    random_expectation,
)
from conjury.analysis.numerics.metrics.margins import Margins, cluster_margins, margins_of
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
    return float(metric_values(name, m, names, NAMES[: m.gold.shape[1]])[0])


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
    assert {name: metric_values(name, m, classes, levels)[0] for name in expected} == pytest.approx(expected)


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
    assert [metric.name for metric in OVERALL.values() if metric.is_share] == ["accuracy", "missing_rate"]


EVERY = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.of}-{metric.name}")


def of_class(metric: Metric) -> tuple[str, int]:
    """The name of a metric, of class a, or of class b where other classes decide it; and the class."""
    place = int(metric.denominator == "other classes")
    return metric.name if metric.of == "all" else f"{metric.name}_{NAMES[place]}", place


@pytest.mark.parametrize("gold", [(0, 0, 1, 2), (0, 1, 1, 1), (0, 0, 0, 0)])
@EVERY
def test_random_baseline_is_the_mean_over_all_random_answers(metric: Metric, gold: tuple[int, ...]) -> None:
    counts, names = np.bincount(gold, minlength=3).astype(float), NAMES[:3]
    (name, _), levels = of_class(metric), names if metric.of == "label" else ()
    every = [margins(gold, answers, 3) for answers in product(range(3), repeat=len(gold))]
    mean = np.mean([metric_values(name, m, names, levels)[0] for m in every])
    expected = random_expectation(name, counts, levels, names)
    assert expected == pytest.approx(mean, abs=1e-12, nan_ok=True)


@EVERY
def test_linear_metrics_are_sums_of_contributions_and_fixed_ones_do_not_depend_on_gold(
    metric: Metric,
) -> None:
    names = NAMES[:3]
    (name, place), levels = of_class(metric), names if metric.of == "label" else ()

    def value_of(gold: Any, answers: Any) -> float:
        return float(metric_values(name, margins(gold, answers, 3), names, levels)[0])

    level = np.array([0, 0, 0, 1, 1, 2])
    added = contributions(name, level, np.arange(3), names, levels)
    several = np.random.default_rng(4).integers(0, 3, (20, 6))
    sums = [abs(added[level, answers].sum() - value_of(level, answers)) < 1e-9 for answers in several]
    assert all(sums) == metric.is_linear
    always = [place] * 6
    assert (abs(value_of(level, always) - value_of([0, 1, 1, 1, 2, 2], always)) < 1e-9) == metric.is_fixed


def test_every_metric_is_named_in_the_documentation_and_has_a_label() -> None:
    assert all(name in str(scores.__doc__) for name in METRIC_NAMES)
    assert {metric_in_words(name) for name in OVERALL} == {metric.label for metric in OVERALL.values()}
    with pytest.raises(InputError, match="did you mean 'macro_f1'"):
        metric_of("macr_f1")


@pytest.mark.parametrize("units", [1e4, 1e7])
def test_random_f1_of_many_units_is_near_that_of_mean_counts(units: float) -> None:
    """A tenth of the units is of class a; of four classes, each is given to a quarter."""
    found = random_expectation("f1_a", units * np.array([0.1, 0.3, 0.3, 0.3]), NAMES, NAMES)
    assert found == pytest.approx(2 * 0.1 * 0.25 / (0.1 + 0.25), rel=2e-3)
