"""Published classification scores: whether one confusion matrix of two classes can have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from conjury.inference.errors import InputError

from .findings import Finding, Group, arithmetic, decide
from .numbers import ROUNDINGS, Interval, Printed, Rounding
from .settings import as_whole, refuse, whole

SLACK = 1e-9  # error of floating-point scores, by which candidates are found before exact arithmetic decides
RECALL = "recall:"
MOST_CELLS = 20_000_000  # pairs of counts of one search


@dataclass(frozen=True)
class Counts:
    """Gold labels of two classes.

    Attributes
    ----------
    parts : mapping
        Numbers of the labels that make up the positive class, by label.
    negative : int
        Number of all other items.
    name : str
        The positive class.
    """

    parts: Mapping[str, int]
    negative: int
    name: str = "positive"

    @property
    def positive(self) -> int:
        """Items of the positive class."""
        return sum(self.parts.values())

    def times(self, runs: int) -> Counts:
        """The counts of several runs on the same items together."""
        return Counts({label: n * runs for label, n in self.parts.items()}, self.negative * runs, self.name)


Scores = Callable[[Any, Any, int, int], Any]  # of true positives, true negatives, positives, negatives


def _accuracy(tp: Any, tn: Any, p: int, n: int) -> Any:
    return (tp + tn) / (p + n)


def _f1(tp: Any, tn: Any, p: int, n: int) -> Any:
    return 2 * tp / (tp + p + n - tn)


def _f1_negative(tp: Any, tn: Any, p: int, n: int) -> Any:
    return 2 * tn / (tn + n + p - tp)


def _macro_f1(tp: Any, tn: Any, p: int, n: int) -> Any:
    return (_f1(tp, tn, p, n) + _f1_negative(tp, tn, p, n)) / 2


def _weighted_f1(tp: Any, tn: Any, p: int, n: int) -> Any:
    return (p * _f1(tp, tn, p, n) + n * _f1_negative(tp, tn, p, n)) / (p + n)


def _balanced(tp: Any, tn: Any, p: int, n: int) -> Any:
    return (tp / p + tn / n) / 2


def _recall(tp: Any, tn: Any, p: int, n: int) -> Any:
    return tp / p + 0 * tn


def _specificity(tp: Any, tn: Any, p: int, n: int) -> Any:
    return tn / n + 0 * tp


def _precision(tp: Any, tn: Any, p: int, n: int) -> Any:
    return tp / (tp + n - tn)


def _npv(tp: Any, tn: Any, p: int, n: int) -> Any:
    return tn / (tn + p - tp)


def _kappa(tp: Any, tn: Any, p: int, n: int) -> Any:
    total, given = p + n, tp + n - tn
    chance = (p * given + n * (total - given)) / (total * total)
    return ((tp + tn) / total - chance) / (1 - chance)


def _signed_mcc(tp: Any, tn: Any, p: int, n: int) -> Any:
    """Matthews' correlation times its absolute value, which is rational."""
    given = tp + n - tn
    product = p * n * given * (p + n - given)
    cross = tp * tn - (n - tn) * (p - tp)
    return cross * abs(cross) / product


SCORES: dict[str, Scores] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced,
    "recall": _recall,
    "specificity": _specificity,
    "precision": _precision,
    "npv": _npv,
    "f1": _f1,
    "f1_negative": _f1_negative,
    "macro_f1": _macro_f1,
    "micro_f1": _accuracy,
    "weighted_f1": _weighted_f1,
    "kappa": _kappa,
    "mcc": _signed_mcc,
}
OTHER = {  # other definitions of a published score, by role
    "macro_f1": {
        "F1 of the positive class": "f1",
        "F1 of the negative class": "f1_negative",
        "micro F1": "accuracy",
        "weighted F1": "weighted_f1",
    },
    "f1": {"macro F1": "macro_f1", "F1 of the negative class": "f1_negative", "weighted F1": "weighted_f1"},
    "weighted_f1": {"macro F1": "macro_f1", "F1 of the positive class": "f1"},
    "accuracy": {"balanced accuracy": "balanced_accuracy"},
    "balanced_accuracy": {"accuracy": "accuracy"},
    "precision": {"recall in place of precision": "recall"},
    "recall": {"precision in place of recall": "precision"},
}


@arithmetic(
    "scores",
    "Scores of one confusion matrix",
    uses=tuple(name for name in SCORES if name != "f1_negative"),
    settings=("counts", "classes", "positive", "n", "runs", "pooled"),
)
def check_scores(group: Group) -> Iterator[Finding]:
    """Whether a confusion matrix of two classes with the stated gold labels has all published scores.

    ``counts`` are the numbers of gold labels; ``positive`` names the positive class, and ``classes`` the
    labels of which it consists, whose recalls are the roles ``recall:LABEL``. Without counts, ``n`` is the
    number of items. ``runs`` states that scores are means over runs on the same items, of which only shares
    are decided; with ``pooled: true`` all runs are in one matrix. A score without a value (0 / 0) counts as
    0.
    """
    runs = whole(group, "runs", 1) or 1
    counts = _counts(group)
    if counts is None:
        yield from _without_counts(group, runs)
        return
    averaged = runs > 1 and not group.settings.get("pooled")
    roles = [role for role in group.numbers if role in SCORES or role.startswith(RECALL)]
    if averaged:
        roles = [
            role
            for role in roles
            if role in ("accuracy", "recall", "specificity", "balanced_accuracy") or role.startswith(RECALL)
        ]
    if not roles:
        yield Finding(
            "scores",
            tuple(group.numbers),
            "untested",
            "Means of such scores over runs can have any value in their range.",
        )
        return
    counts = counts.times(runs)
    stated = {role: role for role in roles}
    tried: dict[str, Callable[[], bool]] = {"as stated": partial(_exists, group, counts, stated)}
    for role in roles:
        for name, other in OTHER.get(role, {}).items():
            if not averaged:
                label = name if len([r for r in roles if r in OTHER]) == 1 else f"{role}: {name}"
                tried[label] = partial(_exists, group, counts, stated | {role: other})
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = partial(_exists, group, counts, stated, rounding)
    if not any(role.startswith(RECALL) for role in roles):
        swapped = Counts({"negative": counts.negative}, counts.positive, "the other class")
        tried["the other class is positive"] = partial(_exists, group, swapped, stated)
    found = _feasible(group, counts, stated)
    reason = _reason(group, counts, roles, found)
    yield decide(
        "scores",
        roles,
        tried,
        reason,
        nearest=lambda: _nearest(group, counts, roles),
        chance=_chance(group, counts, stated),
    )


def _counts(group: Group) -> Counts | None:
    given = group.settings.get("counts")
    if given is None:
        return None
    if not isinstance(given, Mapping) or any(as_whole(n) is None for n in given.values()):
        raise refuse(group, f"counts is {given!r}; give whole numbers by label.")
    numbers = {str(label): int(as_whole(n) or 0) for label, n in given.items()}
    classes = group.settings.get("classes") or {}
    positive = str(group.settings.get("positive") or (list(numbers)[-1]))
    labels = [str(label) for label in classes.get(positive, [positive])]
    absent = [label for label in labels if label not in numbers]
    if absent:
        raise refuse(group, f"counts has no label {absent[0]!r}; it has {', '.join(numbers)}.")
    n = group.settings.get("n")
    if n is not None and as_whole(n) != sum(numbers.values()):
        raise refuse(group, f"n is {n}, and the counts sum to {sum(numbers.values())}; correct one of them.")
    parts = {label: numbers[label] for label in labels}
    return Counts(parts, sum(numbers.values()) - sum(parts.values()), positive)


def _range_of(at: Interval, n: int) -> range:
    """Counts of n cases whose share lies in an interval."""
    if n == 0:
        return range(1) if Fraction(0) in at else range(0)
    whole_numbers = (at * n).integers()
    return range(max(whole_numbers.start, 0), min(whole_numbers.stop, n + 1))


def _margins(
    group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding
) -> tuple[range, range]:
    """Ranges of true positives and true negatives that recalls and specificity allow.

    Every sum of true positives of the labels between the least and the largest occurs.
    """
    low = high = 0
    for label, n in counts.parts.items():
        role = f"{RECALL}{label}"
        own = _range_of(group.numbers[role].interval(rounding), n) if role in meaning else range(n + 1)
        if not own:
            return range(0), range(0)
        low, high = low + own.start, high + own.stop - 1
    tp, tn = range(low, high + 1), range(counts.negative + 1)
    if meaning.get("recall") == "recall":
        other = _range_of(group.numbers["recall"].interval(rounding), counts.positive)
        tp = range(max(tp.start, other.start), min(tp.stop, other.stop))
    if meaning.get("specificity") == "specificity":
        tn = _range_of(group.numbers["specificity"].interval(rounding), counts.negative)
    return tp, tn


def _feasible(
    group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding = "nearest", but: str = ""
) -> np.ndarray:
    """True positives and true negatives, shape (m, 2), that have the scores up to floating point."""
    tp, tn = _margins(group, counts, meaning, rounding)
    if not tp or not tn:
        return np.empty((0, 2), dtype=np.int64)
    if len(tp) * len(tn) > MOST_CELLS:
        raise InputError(
            f"{group.place}: {len(tp) * len(tn):,} confusion matrices are too many to search; state more "
            "scores or fewer items."
        )
    a, b = np.meshgrid(np.arange(tp.start, tp.stop), np.arange(tn.start, tn.stop), indexing="ij")
    a, b = a.ravel(), b.ravel()
    for role, score in meaning.items():
        if role.startswith(RECALL) or role == but or score not in SCORES:
            continue
        at = (
            _squared(group.numbers[role].interval(rounding))
            if score == "mcc"
            else group.numbers[role].interval(rounding)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.nan_to_num(
                SCORES[score](a.astype(float), b.astype(float), counts.positive, counts.negative),
                posinf=0.0,
                neginf=0.0,
            )
        kept = (value >= float(at.lower) - SLACK) & (value <= float(at.upper) + SLACK)
        a, b = a[kept], b[kept]
    return np.stack([a, b], axis=1)


def _squared(at: Interval) -> Interval:
    """The interval of x |x| for all x in an interval."""
    return Interval(at.lower * abs(at.lower), at.upper * abs(at.upper), at.has_lower, at.has_upper)


def exact_score(score: str, tp: int, tn: int, positive: int, negative: int) -> Fraction:
    """A score as a fraction, 0 where it has no value; of Matthews' correlation its signed square."""
    try:
        return Fraction(SCORES[score](Fraction(tp), Fraction(tn), positive, negative))
    except ZeroDivisionError:
        parts = {"macro_f1": ("f1", "f1_negative")}.get(score)
        if parts is None:
            return Fraction(0)
        return sum((exact_score(part, tp, tn, positive, negative) for part in parts), Fraction(0)) / 2


def _exists(group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding = "nearest") -> bool:
    return next(_exact(group, counts, meaning, rounding), None) is not None


def _exact(
    group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding = "nearest"
) -> Iterator[tuple[int, int]]:
    """Candidates that have the scores in exact arithmetic."""
    for tp, tn in _feasible(group, counts, meaning, rounding).tolist():
        if all(
            exact_score(score, tp, tn, counts.positive, counts.negative)
            in (_squared(at) if score == "mcc" else at)
            for role, score in meaning.items()
            if score in SCORES and not role.startswith(RECALL)
            for at in [group.numbers[role].interval(rounding)]
        ):
            yield tp, tn


def _reason(group: Group, counts: Counts, roles: Sequence[str], found: np.ndarray) -> str:
    size = f"{counts.positive:,} {counts.name} and {counts.negative:,} other items"
    largest = Fraction(max(counts.positive, counts.negative), max(counts.positive + counts.negative, 1))
    scores = f"the {len(roles)} published scores" if len(roles) > 1 else "the published score"
    text = f"Of {size}, {len(found):,} confusion matrices have {scores}."
    accuracy = group.numbers.get("accuracy")
    if accuracy is not None and accuracy.exact < largest:
        text += f" The accuracy is below that of the commonest label ({100 * float(largest):.1f}%)."
    return text


def _nearest(group: Group, counts: Counts, roles: Sequence[str]) -> str:
    """The confusion matrix whose largest deviation from a published score is the least."""
    tp, tn = np.meshgrid(np.arange(counts.positive + 1), np.arange(counts.negative + 1), indexing="ij")
    a, b = tp.ravel().astype(float), tn.ravel().astype(float)
    if len(a) > MOST_CELLS:
        return ""
    worst = np.zeros(len(a))
    for role in roles:
        number = group.numbers[role]
        step = float(number.step)
        if role.startswith(RECALL):
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.nan_to_num(SCORES[role](a, b, counts.positive, counts.negative))
        value = np.sign(value) * np.sqrt(np.abs(value)) if role == "mcc" else value
        worst = np.maximum(worst, np.abs(value - float(number.exact)) / step)
    low = high = 0
    for label, n in counts.parts.items():
        share = group.numbers.get(f"{RECALL}{label}")
        own = (
            range(n + 1)
            if share is None
            else range(int(share.exact * n), min(int(share.exact * n) + 1, n) + 1)
        )
        low, high = low + own.start, high + own.stop - 1
    worst = np.where((a >= low) & (a <= high), worst, np.inf)
    best = int(np.argmin(worst))
    right = f"{int(a[best]):,} of {counts.positive:,} and {int(b[best]):,} of {counts.negative:,} right"
    return f"{right}, {worst[best]:.1f} units of the last digit away"


def _chance(group: Group, counts: Counts, meaning: Mapping[str, str]) -> float | None:
    """Share of all values of the last score that is no recall, with as many decimals, that fit the others."""
    role = next((one for one in reversed(list(meaning)) if one in SCORES and one != "mcc"), None)
    if role is None:
        return None
    found = _feasible(group, counts, meaning, but=role)
    if not len(found):
        return 0.0
    number: Printed = group.numbers[role]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.nan_to_num(
            SCORES[meaning[role]](
                found[:, 0].astype(float), found[:, 1].astype(float), counts.positive, counts.negative
            )
        )
    steps = round(1 / float(number.step))
    return len(np.unique(np.round(value * steps))) / (steps + 1)


def _without_counts(group: Group, runs: int) -> Iterator[Finding]:
    """Shares of n items, and bounds between scores that need no counts."""
    n = whole(group, "n")
    for role in ("accuracy", "micro_f1"):
        if role in group.numbers and n is not None:
            yield _of_grid(group, role, n, runs)
    numbers = group.numbers
    if {"precision", "recall", "f1"} <= set(numbers):
        yield _harmonic(group)
    tested = {"accuracy", "micro_f1"} if n is not None else set()
    tested |= {"precision", "recall", "f1"} if {"precision", "recall", "f1"} <= set(numbers) else set()
    rest = tuple(role for role in numbers if role not in tested)
    if rest:
        yield Finding(
            "scores", rest, "untested", "Without the numbers of gold labels, these scores exclude nothing."
        )


def _of_grid(group: Group, role: str, n: int, runs: int) -> Finding:
    number, units = group.numbers[role], n * runs

    def fits(size: int, rounding: Rounding) -> bool:
        return len(_range_of(number.interval(rounding), size)) > 0

    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: fits(units, "nearest")}
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda r=rounding: fits(units, r)  # type: ignore[misc]
    for other in range(max(n - 5, 1), n + 6):
        if other != n:
            tried[f"n = {other:,}"] = lambda o=other: fits(o * runs, "nearest")  # type: ignore[misc]
    grid = (
        {round(Fraction(k, units) / number.step) for k in range(units + 1)}
        if units <= 100_000
        else range(int(1 / number.step) + 1)
    )
    right = round(number.exact * units)
    over = f" in {runs} runs" if runs > 1 else ""
    reason = f"{number.text} of {n:,} items{over} is nearest to {right:,} of {units:,}."
    nearest = f"{float(Fraction(right, units)):.{number.digits + 2}f}"
    return decide(
        "scores",
        (role,),
        tried,
        reason,
        nearest=lambda: nearest,
        chance=min(len(grid) / (int(1 / number.step) + 1), 1.0),
    )


def _harmonic(group: Group) -> Finding:
    """F1 is the harmonic mean of precision and recall, which rises in both."""

    def fits(rounding: Rounding) -> bool:
        p, r = (group.numbers[role].interval(rounding) for role in ("precision", "recall"))
        low, high = (
            (2 * max(x, Fraction(0)) * max(y, Fraction(0)) / (x + y)) if x + y > 0 else Fraction(0)
            for x, y in ((p.lower, r.lower), (p.upper, r.upper))
        )
        return Interval(low, high).meets(group.numbers["f1"].interval(rounding))

    tried: dict[str, Callable[[], bool]] = {
        ("as stated" if rounding == "nearest" else rounding): partial(fits, rounding)
        for rounding in ROUNDINGS
    }
    tried["mean of F1s over classes or runs"] = lambda: group.numbers["f1"].exact <= 1
    p, r = (group.numbers[role].exact for role in ("precision", "recall"))
    value = float(2 * p * r / (p + r)) if p + r else 0.0
    reason = (
        f"The harmonic mean of precision and recall is {value:.4f}; published F1: {group.numbers['f1'].text}."
    )
    return decide("scores", ("precision", "recall", "f1"), tried, reason, nearest=lambda: f"{value:.4f}")


def confusion_matrices(
    scores: Mapping[str, str], positive: int, negative: int, *, percent: bool = False, limit: int = 100
) -> list[tuple[int, int, int, int]]:
    """Confusion matrices of two classes that have published scores.

    Parameters
    ----------
    scores : mapping of str to str
        Scores as published, by name: ``accuracy, balanced_accuracy, recall, specificity, precision, npv, f1,
        macro_f1, micro_f1, weighted_f1, kappa, mcc``.
    positive, negative : int
        Numbers of gold labels of both classes.
    percent : bool
        Whether scores are in percent.
    limit : int
        How many matrices to return at most.

    Returns
    -------
    list of (int, int, int, int)
        True positives, false negatives, false positives, true negatives.

    Raises
    ------
    InputError
        For an unknown score, or too many matrices to search.

    References
    ----------
    Fazekas, A., & Kovács, G. (2024). Testing the consistency of performance scores reported for binary
    classification problems. Applied Soft Computing, 164, 111993. doi:10.1016/j.asoc.2024.111993

    Examples
    --------
    >>> confusion_matrices({"accuracy": "0.8500", "f1": "0.7273"}, 10, 30)
    [(8, 2, 4, 26)]
    """
    unknown = [name for name in scores if name not in SCORES]
    if unknown:
        raise InputError(f"{unknown[0]!r} is no score; use {', '.join(SCORES)}.")
    group = Group({name: Printed.read(text, percent=percent) for name, text in scores.items()})
    counts = Counts({"positive": positive}, negative)
    found = _exact(group, counts, {name: name for name in scores})
    return [(tp, positive - tp, negative - tn, tn) for (tp, tn), _ in zip(found, range(limit), strict=False)]
