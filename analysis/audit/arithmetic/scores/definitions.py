"""What a description states about scores of K classes, and the other definitions that are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conjury.inference.errors import did_you_mean, listed

from ....numerics.metrics.label_metrics import OVERALL as METRICS
from ..findings import Group
from ..numbers import Interval, Printed, Rounding
from ..settings import as_whole, one_of, refuse, whole
from .gold_layout import Bounds, GoldLayout, layout_of
from .measures import OVERALL, RATIOS, Measure
from .search import MatrixSearch

SAME = {"balanced_accuracy": "macro_recall"}  # other names of scores
OF_TWO = ("recall", "precision", "f1", "specificity", "npv")  # of the positive or the other class
TREATMENTS = ("wrong", "excluded")
OTHER = {  # other definitions of a score, by name
    "macro_f1": ("weighted_f1", "micro_f1", "f1_of_averages"),
    "weighted_f1": ("macro_f1", "micro_f1"),
    "macro_precision": ("weighted_precision",),
    "weighted_precision": ("macro_precision",),
    "accuracy": ("macro_recall",),
    "macro_recall": ("accuracy",),
}
LABELS = {name: metric.phrase for name, metric in METRICS.items()} | {
    "macro_recall": METRICS["balanced_accuracy"].phrase,
    "macro_precision": "macro precision",
    "weighted_precision": "weighted precision",
    "f1_of_averages": "F1 of macro precision and macro recall",
}


@dataclass(frozen=True)
class ScoreDefinition:
    """One way in which published scores may have been computed."""

    name: str  # in words
    layout: GoldLayout  # gold labels of the items that scores are about
    measures: Mapping[str, Measure]  # the score of each role
    rounding: Rounding = "nearest"

    def problem(self, numbers: Mapping[str, Printed]) -> MatrixSearch:
        """The scores as the intervals of the rounding."""
        needs = []
        for role, measure in self.measures.items():
            at = numbers[role].interval(self.rounding)
            needs.append((measure, squared(at) if measure.name == "mcc" else at))
        return MatrixSearch(self.layout, tuple(needs))


def squared(at: Interval) -> Interval:
    """The interval of x |x| for all x in an interval."""
    return Interval(at.lower * abs(at.lower), at.upper * abs(at.upper), at.has_lower, at.has_upper)


def several_classes(group: Group) -> bool:
    """Whether scores need the search over matrices of K classes, instead of that of two complete ones."""
    settings = group.settings
    if any(name in settings for name in ("labels", "missing", "answered", "folds")):
        return True
    if settings.get("counts") is None:
        return False
    layout, positive = read_layout(group)
    if len(layout.classes) > 2 and positive is None:
        return True
    of_two = {"recall": layout.labels if positive is None else _labels_of(layout, positive)}
    for role in group.numbers:
        name, _, label = role.partition(":")
        general = name in ("macro_recall", "macro_precision", "weighted_precision")
        if general or (label and label not in of_two.get(name, ())):
            return True
    return False


def _labels_of(layout: GoldLayout, positive: str) -> tuple[str, ...]:
    return tuple(layout.labels[i] for i in layout.members(layout.classes.index(positive)))


def label_counts(group: Group) -> dict[str, int] | None:
    """Items by gold label, if they are stated."""
    counts = group.settings.get("counts")
    if counts is None:
        return None
    if not isinstance(counts, Mapping) or any(as_whole(n) is None for n in counts.values()):
        raise refuse(group, f"counts is {counts!r}; give whole numbers by label.")
    numbers = {str(label): int(as_whole(n) or 0) for label, n in counts.items()}
    if not sum(numbers.values()):
        raise refuse(group, "counts has no items; give at least one label with 1 or more.")
    n = group.settings.get("n")
    if n is not None and as_whole(n) != sum(numbers.values()):
        raise refuse(group, f"n is {n}, and the counts sum to {sum(numbers.values())}; correct one of them.")
    return numbers


def refuse_absent(group: Group, labels: Iterable[str], numbers: Mapping[str, int]) -> None:
    """Refuse a label that has no count."""
    absent = next((label for label in labels if label not in numbers), None)
    if absent is not None:
        raise refuse(group, f"counts has no label {absent!r}; it has {', '.join(numbers)}.")


def read_layout(group: Group) -> tuple[GoldLayout, str | None]:
    """Gold labels, and the positive class of two if it is stated; with it, all other labels are one class."""
    numbers = label_counts(group)
    if numbers is None:
        return _unknown_counts(group), None
    classes = {
        str(name): [str(label) for label in of] for name, of in (group.settings.get("classes") or {}).items()
    }
    setting = group.settings.get("positive")
    positive = None if setting is None else str(setting)
    named = [label for of in classes.values() for label in of]
    refuse_absent(group, named if positive is None or positive in classes else [*named, positive], numbers)
    layout = layout_of(numbers, classes)
    if positive is not None and len(layout.classes) > 2:
        other_labels = [label for label in numbers if label not in classes.get(positive, [positive])]
        layout = layout_of(numbers, {positive: classes.get(positive, [positive]), "other": other_labels})
    return layout, positive


def _unknown_counts(group: Group) -> GoldLayout:
    """Labels of which only the number is known."""
    n, number = whole(group, "n"), whole(group, "labels")
    if n is None or number is None or number < 2:
        raise refuse(group, "counts is missing; give it, or n and labels (how many there are, 2 or more).")
    names = tuple(f"label {k + 1}" for k in range(number))
    return GoldLayout(names, names, tuple(range(number)), ((1, n),) * number, (n, n))


def read_measures(group: Group, layout: GoldLayout, positive: str | None) -> dict[str, Measure]:
    """The score of each published role."""
    skipped = ("n", "answered", "missing")
    return {role: _measure(group, role, layout, positive) for role in group.numbers if role not in skipped}


def _measure(group: Group, role: str, layout: GoldLayout, positive: str | None) -> Measure:
    name, _, label = role.partition(":")
    name = SAME.get(name, name)
    if label:
        if name in RATIOS and label in layout.classes:
            return Measure(name, layout.classes.index(label))
        if name == "recall" and label in layout.labels:
            return Measure("label", layout.labels.index(label))
        labels = list(dict.fromkeys([*layout.classes, *layout.labels]))
        raise refuse(
            group, f"'{role}' has no label of the counts{did_you_mean(label, labels)}; use {listed(labels)}."
        )
    if name in OVERALL and name != "f1_of_averages":
        return Measure(name)
    if name in OF_TWO and len(layout.classes) == 2:
        at = layout.classes.index(positive) if positive is not None else 1
        same = {"specificity": "recall", "npv": "precision"}
        return Measure(same.get(name, name), 1 - at if name in same else at)
    if name in OF_TWO:
        raise refuse(
            group,
            f"'{role}' of {len(layout.classes)} classes is of one of them; name it, as in {role}:LABEL.",
        )
    raise refuse(
        group, f"there is no score '{role}'{did_you_mean(name, OVERALL)}; use {listed(OVERALL, 20)}."
    )


def missing_of(group: Group, n: int) -> Bounds | None:
    """The least and the largest number of items without an answer, if something is stated about them."""
    if "answered" in group.settings or "answered" in group.numbers:
        number = whole(group, "answered") or 0
        if number > n:
            raise refuse(group, f"answered is {number:,}, and there are {n:,} items; correct one of them.")
        return n - number, n - number
    value: Any = group.settings.get("missing")
    if value is None:
        return None
    if value == "unknown":
        return 0, n - 1
    count = as_whole(value)
    if count is None or not 0 <= count < n:
        raise refuse(group, f"missing is {value!r}; give a whole number below {n:,}, or unknown.")
    return count, count


def with_missing(layout: GoldLayout, missing: Bounds | None, treatment: str) -> GoldLayout:
    """Gold labels of the items that scores are about."""
    if missing is None or missing == (0, 0):
        return layout
    if treatment == "wrong":
        return replace(layout, missing=missing)
    return layout.answered(layout.n[0] - missing[1], layout.n[1] - missing[0])


def definitions(group: Group) -> Iterator[ScoreDefinition]:
    """The stated definition and all that differ from it in one respect."""
    layout, positive = read_layout(group)
    missing = missing_of(group, layout.n[1])
    treatment = one_of(group, "missing_as", TREATMENTS, "wrong")
    scored_layout = with_missing(layout, missing, treatment)
    measures = read_measures(group, layout, positive)
    definition = ScoreDefinition("as stated", scored_layout, measures)
    yield definition
    for role, measure in measures.items():
        for option in OTHER.get(measure.name, ()):
            same = (
                option == "micro_f1"
                and Measure("accuracy") in measures.values()
                and not scored_layout.missing[1]
            )
            if not same or measures.get("accuracy") is not None:
                yield replace(
                    definition, name=f"{role}: {LABELS[option]}", measures={**measures, role: Measure(option)}
                )
        if len(layout.classes) == 2 and measure.name == "macro_f1":
            for k, name in enumerate(layout.classes):
                yield replace(
                    definition, name=f"{role}: F1 of {name}", measures={**measures, role: Measure("f1", k)}
                )
    exchanged = {
        role: Measure(_EXCHANGED[m.name], m.of) for role, m in measures.items() if m.name in _EXCHANGED
    }
    if len({m.name for m in exchanged.values()}) > 1:
        yield replace(definition, name="precision and recall exchanged", measures={**measures, **exchanged})
    yield replace(definition, name="truncated", rounding="truncated")
    yield replace(definition, name="rounded up", rounding="rounded up")
    if missing is not None and missing[1]:
        option = TREATMENTS[treatment == "wrong"]
        words = "excluded" if option == "excluded" else "counted as wrong"
        yield replace(
            definition, name=f"missing answers {words}", layout=with_missing(layout, missing, option)
        )
        yield replace(definition, name="no missing answers", layout=layout)
        if treatment == "wrong":
            yield replace(
                definition,
                name="missing answers as one more class",
                layout=_with_missing_class(layout, missing),
            )


_EXCHANGED = {
    "recall": "precision",
    "precision": "recall",
    "macro_recall": "macro_precision",
    "macro_precision": "macro_recall",
}


def _with_missing_class(layout: GoldLayout, missing: Bounds) -> GoldLayout:
    """The gold labels with a class that no item has and that missing answers are given."""
    return GoldLayout(
        (*layout.classes, "missing"),
        (*layout.labels, "missing"),
        (*layout.of, len(layout.classes)),
        (*layout.gold, (0, 0)),
        layout.n,
    )
