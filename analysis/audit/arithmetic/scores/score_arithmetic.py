"""Published classification scores: which search decides them, all matrices of two classes, missing counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from conjury.inference.errors import InputError

from ..findings import Finding, Group, arithmetic, decide
from ..numbers import ROUNDINGS, Interval, Printed, Rounding
from ..settings import whole
from .averages import check_folds, check_runs
from .classes import check_classes
from .definitions import label_counts, refuse_absent, several_classes, squared
from .score_formulas import LABELS, OTHER, SCORES, exact_score

SLACK = 1e-9  # error of floating-point scores, by which candidates are found before exact arithmetic decides
RECALL = "recall:"
MOST_CELLS = 20_000_000  # pairs of counts of one search


@dataclass(frozen=True)
class Counts:
    """Gold labels of two classes."""

    parts: Mapping[str, int]  # numbers of the labels that make up the positive class, by label
    negative: int  # number of all other items
    # the positive class
    name: str = "positive"

    @property
    def positive(self) -> int:
        """Items of the positive class."""
        return sum(self.parts.values())

    def times(self, runs: int) -> Counts:
        """The counts of several runs on the same items together."""
        return Counts({label: n * runs for label, n in self.parts.items()}, self.negative * runs, self.name)


@arithmetic(
    "scores",
    "Scores of one confusion matrix",
    uses=(
        *(name for name in SCORES if name != "f1_negative"),
        *("macro_recall", "macro_precision", "weighted_precision"),
    ),
    settings=(
        *("counts", "classes", "positive", "n", "labels", "runs", "pooled", "folds"),
        *("missing", "missing_as", "answered"),
    ),
)
def check_scores(group: Group) -> Iterator[Finding]:
    """Whether a confusion matrix has all scores (or ``recall:LABEL``, ``precision:LABEL``, ``f1:LABEL``)."""
    # Means over `runs` are decided exactly for shares alone; with `pooled` all runs are one matrix, `folds`
    # are averaged. A score without a value (0 / 0) counts as 0.
    runs = whole(group, "runs", 1) or 1
    if "folds" in group.settings:
        yield from check_folds(group)
        return
    if several_classes(group):
        pooled = runs == 1 or group.settings.get("pooled")
        yield from check_classes(group, runs) if pooled else check_runs(group, runs)
        return
    counts = _counts(group)
    if counts is None:
        yield from without_counts(group, runs)
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
    meaning = {role: role for role in roles}
    tried: dict[str, Callable[[], bool]] = {"as stated": partial(_exists, group, counts, meaning)}
    for role in roles:
        for score in OTHER.get(role, ()):
            if not averaged:
                name = LABELS[score]
                label = name if len([r for r in roles if r in OTHER]) == 1 else f"{role}: {name}"
                tried[label] = partial(_exists, group, counts, meaning | {role: score})
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = partial(_exists, group, counts, meaning, rounding)
    if not any(role.startswith(RECALL) for role in roles):
        swapped = Counts({"negative": counts.negative}, counts.positive, "the other class")
        tried["the other class is positive"] = partial(_exists, group, swapped, meaning)
    candidates = _feasible(group, counts, meaning)
    reason = _reason(group, counts, roles, candidates)
    yield decide(
        "scores",
        roles,
        tried,
        reason,
        nearest=lambda: _nearest(group, counts, roles),
        chance=_chance(group, counts, meaning),
    )


def _counts(group: Group) -> Counts | None:
    numbers = label_counts(group)
    if numbers is None:
        return None
    classes = group.settings.get("classes") or {}
    positive = str(group.settings.get("positive") or (list(numbers)[-1]))
    labels = [str(label) for label in classes.get(positive, [positive])]
    refuse_absent(group, labels, numbers)
    parts = {label: numbers[label] for label in labels}
    return Counts(parts, sum(numbers.values()) - sum(parts.values()), positive)


def _margins(
    group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding
) -> tuple[range, range]:
    """Ranges of true positives and true negatives that recalls and specificity allow."""
    # Every sum of true positives of the labels between the least and the largest occurs.
    low = high = 0
    for label, n in counts.parts.items():
        role = f"{RECALL}{label}"
        hits = counts_of_share(group.numbers[role].interval(rounding), n) if role in meaning else range(n + 1)
        if not hits:
            return range(0), range(0)
        low, high = low + hits.start, high + hits.stop - 1
    tp, tn = range(low, high + 1), range(counts.negative + 1)
    if meaning.get("recall") == "recall":
        recalls = counts_of_share(group.numbers["recall"].interval(rounding), counts.positive)
        tp = range(max(tp.start, recalls.start), min(tp.stop, recalls.stop))
    if meaning.get("specificity") == "specificity":
        tn = counts_of_share(group.numbers["specificity"].interval(rounding), counts.negative)
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
            squared(group.numbers[role].interval(rounding))
            if score == "mcc"
            else group.numbers[role].interval(rounding)
        )
        value = SCORES[score](a.astype(float), b.astype(float), counts.positive, counts.negative)
        mask = (value >= float(at.lower) - SLACK) & (value <= float(at.upper) + SLACK)
        a, b = a[mask], b[mask]
    return np.stack([a, b], axis=1)


def _exists(group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding = "nearest") -> bool:
    return next(_exact(group, counts, meaning, rounding), None) is not None


def _exact(
    group: Group, counts: Counts, meaning: Mapping[str, str], rounding: Rounding = "nearest"
) -> Iterator[tuple[int, int]]:
    """Candidates that have the scores in exact arithmetic."""
    for tp, tn in _feasible(group, counts, meaning, rounding).tolist():
        if all(
            exact_score(score, tp, tn, counts.positive, counts.negative)
            in (squared(at) if score == "mcc" else at)
            for role, score in meaning.items()
            if score in SCORES and not role.startswith(RECALL)
            for at in [group.numbers[role].interval(rounding)]
        ):
            yield tp, tn


def _reason(group: Group, counts: Counts, roles: Sequence[str], candidates: np.ndarray) -> str:
    size = f"{counts.positive:,} {counts.name} and {counts.negative:,} other items"
    largest = Fraction(max(counts.positive, counts.negative), max(counts.positive + counts.negative, 1))
    scores = f"the {len(roles)} published scores" if len(roles) > 1 else "the published score"
    text = f"Of {size}, {len(candidates):,} confusion matrices have {scores}."
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
        value = SCORES[role](a, b, counts.positive, counts.negative)
        value = np.sign(value) * np.sqrt(np.abs(value)) if role == "mcc" else value
        worst = np.maximum(worst, np.abs(value - float(number.exact)) / step)
    low = high = 0
    for label, n in counts.parts.items():
        share = group.numbers.get(f"{RECALL}{label}")
        hits = (
            range(n + 1)
            if share is None
            else range(int(share.exact * n), min(int(share.exact * n) + 1, n) + 1)
        )
        low, high = low + hits.start, high + hits.stop - 1
    worst = np.where((a >= low) & (a <= high), worst, np.inf)
    best = int(np.argmin(worst))
    right = f"{int(a[best]):,} of {counts.positive:,} and {int(b[best]):,} of {counts.negative:,} right"
    return f"{right}, {worst[best]:.1f} units of the last digit away"


def _chance(group: Group, counts: Counts, meaning: Mapping[str, str]) -> float | None:
    """Share of all values of the last score that is no recall, with as many decimals, that fit the others."""
    role = next((score for score in reversed(list(meaning)) if score in SCORES and score != "mcc"), None)
    if role is None:
        return None
    candidates = _feasible(group, counts, meaning, but=role)
    if not len(candidates):
        return 0.0
    number: Printed = group.numbers[role]
    tp, tn = candidates.astype(float).T
    value = SCORES[meaning[role]](tp, tn, counts.positive, counts.negative)
    steps = round(1 / float(number.step))
    return len(np.unique(np.round(value * steps))) / (steps + 1)


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
    pairs = _exact(group, counts, {name: name for name in scores})
    return [(tp, positive - tp, negative - tn, tn) for (tp, tn), _ in zip(pairs, range(limit), strict=False)]


def counts_of_share(at: Interval, n: int) -> range:
    """Counts of n cases whose share lies in an interval."""
    if n == 0:
        return range(1) if Fraction(0) in at else range(0)
    whole_numbers = (at * n).integers()
    return range(max(whole_numbers.start, 0), min(whole_numbers.stop, n + 1))


def without_counts(group: Group, runs: int) -> Iterator[Finding]:
    """Shares of n items, and bounds between scores that need no counts."""
    n = whole(group, "n")
    for role in ("accuracy", "micro_f1"):
        if role in group.numbers and n is not None:
            yield _share_finding(group, role, n, runs)
    numbers = group.numbers
    if {"precision", "recall", "f1"} <= set(numbers):
        yield _harmonic_finding(group)
    tested = {"accuracy", "micro_f1"} if n is not None else set()
    tested |= {"precision", "recall", "f1"} if {"precision", "recall", "f1"} <= set(numbers) else set()
    roles = tuple(role for role in numbers if role not in tested)
    if roles:
        yield Finding(
            "scores", roles, "untested", "Without the numbers of gold labels, these scores exclude nothing."
        )


def _share_finding(group: Group, role: str, n: int, runs: int) -> Finding:
    number, units = group.numbers[role], n * runs

    def fits(size: int, rounding: Rounding) -> bool:
        return len(counts_of_share(number.interval(rounding), size)) > 0

    tried: dict[str, Callable[[], bool]] = {"as stated": lambda: fits(units, "nearest")}
    for rounding in ROUNDINGS[1:]:
        tried[rounding] = lambda r=rounding: fits(units, r)  # type: ignore[misc]
    for other_n in range(max(n - 5, 1), n + 6):
        if other_n != n:
            tried[f"n = {other_n:,}"] = lambda o=other_n: fits(o * runs, "nearest")  # type: ignore[misc]
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


def _harmonic_finding(group: Group) -> Finding:
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
