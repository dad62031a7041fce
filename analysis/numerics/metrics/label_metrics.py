"""Metrics of labels: one record each, from which names, labels, intervals, bounds and baselines follow.

A metric of one label a unit is a function of margins of the confusion matrix: how often each gold label
occurs, is met and is not answered, and how often each class is given. A part that is undefined (a class
neither gold nor given) counts as zero, as in scikit-learn with ``zero_division=0``; means run over the
classes that gold contains, in each draw anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from conjury.inference.entry_registry import Registry
from conjury.inference.errors import InputError, listed, unknown_name

from ..intervals.bounded import BoundedEstimate, Flags, f1, share
from ..types import Codes, Floats
from .margins import LabelledAnswers, Margins, expected_f1


def accuracy(m: Margins) -> Floats:
    """Share of units whose answer is right, shape (B,)."""
    return _ratio(m.hits.sum(axis=1), m.n, np.nan)


def missing_rate(m: Margins) -> Floats:
    """Share of units without an answer, shape (B,)."""
    return _ratio(m.unanswered.sum(axis=1), m.n, np.nan)


def level_recall(m: Margins) -> Floats:
    """Share of the units with each gold label that get the class that covers it, shape (B, L)."""
    return _ratio(m.hits, m.gold, np.nan)


def class_recall(m: Margins) -> Floats:
    """Share of the units of each class that get it, shape (B, K)."""
    return _ratio(m.class_hits, m.class_gold)


def class_precision(m: Margins) -> Floats:
    """Share of the answers with each class that are right, shape (B, K)."""
    return _ratio(m.class_hits, m.given[:, :-1])


def class_f1(m: Margins) -> Floats:
    """Harmonic mean of precision and recall of each class, shape (B, K)."""
    return _ratio(2 * m.class_hits, m.class_gold + m.given[:, :-1])


def class_specificity(m: Margins) -> Floats:
    """Share of the units of other classes that get an answer other than each class, shape (B, K)."""
    # A unit without an answer is a failure here too, so that no metric rewards silence.
    negatives = m.n[:, None] - m.class_gold
    falsely = m.given[:, :-1] - m.class_hits
    silent = m.unanswered.sum(axis=1, keepdims=True) - m.unanswered @ m.covers
    return _ratio(negatives - falsely - silent, negatives)


def class_share(m: Margins) -> Floats:
    """Share of units that are answered with each class, shape (B, K)."""
    return _ratio(m.given[:, :-1], m.n[:, None], np.nan)


def balanced_accuracy(m: Margins) -> Floats:
    """Mean recall of the classes in gold, shape (B,)."""
    return _mean_over_classes(class_recall(m), m)


def macro_f1(m: Margins) -> Floats:
    """Mean F1 of the classes in gold, shape (B,)."""
    return _mean_over_classes(class_f1(m), m)


def micro_f1(m: Margins) -> Floats:
    """F1 of all answers together, shape (B,): accuracy, where every unit is answered."""
    return _ratio(2 * m.hits.sum(axis=1), m.n + m.given.sum(axis=1), np.nan)


def weighted_f1(m: Margins) -> Floats:
    """Mean F1 of the classes, weighted by their units in gold, shape (B,)."""
    return _ratio((class_f1(m) * m.class_gold).sum(axis=1), m.n, np.nan)


def specificity(m: Margins) -> Floats:
    """Mean specificity of the classes in gold, shape (B,); missing where gold contains one class."""
    return np.where((m.class_gold > 0).sum(axis=1) > 1, _mean_over_classes(class_specificity(m), m), np.nan)


def mcc(m: Margins) -> Floats:
    """Matthews correlation of gold and answers, shape (B,), for any number of classes."""
    # No answer, and a label that is no class, are categories of the answers.
    gold, predicted = m.class_gold, np.column_stack([m.given, m.unanswered.sum(axis=1)])
    n = m.n
    met = n * m.hits.sum(axis=1) - (gold * predicted[:, : gold.shape[1]]).sum(axis=1)
    spread = (n**2 - (predicted**2).sum(axis=1)) * (n**2 - (gold**2).sum(axis=1))
    return np.where(n > 0, _ratio(met, np.sqrt(np.maximum(spread, 0))), np.nan)


def _mean_over_classes(of: Floats, m: Margins) -> Floats:
    """Mean over the classes that the gold of each weighting contains."""
    has_gold = m.class_gold > 0
    return _ratio(np.where(has_gold, of, 0).sum(axis=1), has_gold.sum(axis=1), np.nan)


def _ratio(numerator: Floats, denominator: Floats, undefined: float = 0.0) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, undefined)


def _random_share(gold: Floats) -> float:
    return 1 / len(gold)


def _random_mean_specificity(gold: Floats) -> float:
    return 1 - 1 / len(gold) if (gold > 0).sum() > 1 else np.nan


def _random_precision(gold: Floats) -> Floats:
    """The share of each class, as long as it is given at all, shape (K,)."""
    n = float(gold.sum())
    return np.asarray(gold / n * (1 - (1 - 1 / len(gold)) ** n))


def _random_f1(gold: Floats) -> Floats:
    return np.array([expected_f1(int(n_class), int(gold.sum()), len(gold)) for n_class in gold])


def _random_macro_f1(gold: Floats) -> float:
    return float(_random_f1(gold)[gold > 0].mean())


def _random_weighted_f1(gold: Floats) -> float:
    return float((_random_f1(gold) * gold).sum() / gold.sum())


@dataclass(frozen=True)
class NamedMetric:
    """The name of a metric with its label."""

    name: str
    label: str

    @property
    def phrase(self) -> str:
        """The label within a sentence, where proper names and abbreviations keep their capitals."""
        is_word = self.label[1:2].islower() and not self.label.startswith(("Brier", "Matthews"))
        return self.label[:1].lower() + self.label[1:] if is_word else self.label


@dataclass(frozen=True)
class Metric(NamedMetric):
    """A metric of labels: of all classes together, or one of each class or gold label."""

    values: Callable[[Margins], Floats]  # shape (B,); of each class (B, K), of each gold label (B, L)
    # expected under random answers, from the units of each of K classes: one number, or one of each class
    random: Callable[[Floats], float | Floats]
    # what it is one of: of a class or gold label X it is called NAME_X
    of: Literal["all", "class", "label"] = "all"
    denominator: Literal["units", "class", "label", "other classes", "answers"] = "units"
    # of a share: which answers it counts; of others None
    counted: Literal["right", "class", "other class", "missing"] | None = None
    # whether it is F1, which rises with the share of right answers among units of a class or answers with it
    is_f1: bool = False
    # whether it is a sum of what each unit contributes, whatever the answers to others are
    is_linear: bool = False
    is_fixed: bool = False  # whether that of a constant answer is known before any unit is seen
    least: float = 0.0

    @property
    def is_share(self) -> bool:
        """Whether the metric is a share of units, so that Wilson's interval applies to it."""
        return self.counted is not None and not self.is_f1


METRICS = [
    Metric("accuracy", "Accuracy", accuracy, _random_share, counted="right", is_linear=True),
    Metric("balanced_accuracy", "Balanced accuracy", balanced_accuracy, _random_share, is_linear=True,
           is_fixed=True),
    Metric("macro_f1", "Macro-F1", macro_f1, _random_macro_f1),
    Metric("micro_f1", "Micro-F1", micro_f1, _random_share),
    Metric("weighted_f1", "Weighted F1", weighted_f1, _random_weighted_f1),
    Metric("specificity", "Specificity", specificity, _random_mean_specificity, is_linear=True,
           is_fixed=True),
    Metric("mcc", "Matthews correlation", mcc, lambda _: 0.0, is_fixed=True, least=-1.0),
    Metric("missing_rate", "No label", missing_rate, lambda _: 0.0, counted="missing", is_fixed=True),
    Metric("recall", "Recall", level_recall, _random_share, "label", "label", "right", is_linear=True,
           is_fixed=True),
    Metric("recall", "Recall", class_recall, _random_share, "class", "class", "right", is_linear=True,
           is_fixed=True),
    Metric("precision", "Precision", class_precision, _random_precision, "class", "answers", "right"),
    Metric("f1", "F1", class_f1, _random_f1, "class", "class", "right", is_f1=True),
    Metric("specificity", "Specificity", class_specificity, lambda gold: 1 - 1 / len(gold), "class",
           "other classes", "other class", is_linear=True, is_fixed=True),
    Metric("share", "Share of answers", class_share, _random_share, "class", "units", "class", is_linear=True,
           is_fixed=True),
]  # fmt: skip
OVERALL, OF_A_CLASS, OF_A_LABEL = (
    {metric.name: metric for metric in METRICS if metric.of == of} for of in ("all", "class", "label")
)
# as `scores` takes them; X is a class or, of recall, a gold label
METRIC_NAMES = {metric.name if metric.of == "all" else f"{metric.name}_X": metric for metric in METRICS}


def add_metric(metric: Metric) -> None:
    """Add a metric of all classes together, from a module that an entry point of `conjury.metrics` names."""
    if metric.of != "all" or metric.name in METRIC_NAMES:
        raise InputError(
            f"The metric {metric.name!r} cannot be added; give one of all classes (of='all') with a name of "
            f"its own, none of {listed(METRIC_NAMES, 20)}."
        )
    METRICS.append(metric)
    OVERALL[metric.name] = METRIC_NAMES[metric.name] = metric


def metric_of(name: str) -> Metric:
    """The record of a metric, whatever the classes are called."""
    metric = OVERALL.get(name) or OF_A_CLASS.get(name.partition("_")[0])
    if metric is None:
        raise unknown_name("metric", name, METRIC_NAMES, 40)
    return metric


def find_metric(name: str, classes: Sequence[str], levels: Sequence[str]) -> tuple[Metric, int]:
    """The record of a metric, and the place of its class or gold label, which is 0 of all classes."""
    kind, _, label = name.partition("_")
    if name in OVERALL:
        return OVERALL[name], 0
    for metrics, labels in ((OF_A_LABEL, levels), (OF_A_CLASS, classes)):
        if kind in metrics and label in labels:
            return metrics[kind], list(labels).index(label)
    of_labels = [f"{kind}_{of}" for kind in OF_A_CLASS for of in dict.fromkeys([*classes, *levels])]
    raise unknown_name("metric", name, [*OVERALL, *of_labels], 40)


def metric_values(name: str, m: Margins, classes: Sequence[str], levels: Sequence[str]) -> Floats:
    """Values of a metric by its name, shape (B,)."""
    metric, place = find_metric(name, classes, levels)
    values = metric.values(m)
    return values if metric.of == "all" else values[:, place]


def rests_on(name: str, answers: LabelledAnswers) -> Flags:
    """Which answers are in the denominator of a metric, shape (n,)."""
    metric, place = find_metric(name, answers.classes, answers.levels)
    match metric.denominator:
        case "label":
            return np.equal(answers.level, place)
        case "class":
            return np.equal(answers.gold, place)
        case "other classes":
            return np.not_equal(answers.gold, place)
        case "answers":
            return np.equal(answers.predicted, place)
        case _:
            return np.ones(len(answers.level), dtype=bool)


def bounded_share(name: str, answers: LabelledAnswers, alpha: float) -> BoundedEstimate:
    """A share of units, or F1 of a class, with its interval."""
    metric, place = find_metric(name, answers.classes, answers.levels)
    predicted, among = answers.predicted, rests_on(name, answers)
    if metric.is_f1:
        among = among | (predicted == place)
    match metric.counted:
        case "right":
            is_counted = answers.gold == predicted
        case "class":
            is_counted = predicted == place
        case "other class":
            is_counted = (predicted != place) & (predicted >= 0)
        case "missing":
            is_counted = predicted < 0
        case None:
            raise ValueError(f"{name} is no share of units.")
    result = share(is_counted[among].astype(float), answers.cluster[among], alpha)
    return f1(result) if metric.is_f1 else result


def contributions(
    name: str, level: Codes, class_of: Codes, classes: Sequence[str], levels: Sequence[str]
) -> Floats:
    """What one answer with each class to a unit of each gold label adds to a linear metric, shape (L, K)."""
    # It is the metric where this unit alone is answered. The last row of margins has no answer at all.
    gold, k = np.bincount(level, minlength=len(class_of)).astype(float), len(classes)
    added = np.zeros((len(gold), k))
    for place in np.flatnonzero(gold):
        unit = np.zeros((k + 1, len(gold)))
        unit[:k, place] = 1
        answered = np.eye(k + 1) * (np.arange(k + 1) < k)
        right = unit * (np.arange(k + 1) == class_of[place])[:, None]
        margins = Margins(np.tile(gold, (k + 1, 1)), right, gold - unit, answered, class_of)
        values = metric_values(name, margins, classes, levels)
        added[place] = values[:k] - values[k]
    # Of answers that add as much the first is chosen, whatever the order in which numbers were added up.
    largest = np.nanmax(np.abs(added), initial=0) or 1.0
    return np.round(added / largest, 12) * largest


def random_expectation(name: str, gold: Floats, levels: Sequence[str], classes: Sequence[str]) -> float:
    """Expected value of a metric under random answers."""
    metric, place = find_metric(name, classes, levels)
    expected = metric.random(gold) if gold.sum() else np.nan
    return float(expected[place] if isinstance(expected, np.ndarray) else expected)


Registry[Metric]("conjury.metrics").complete()
