"""Published scores of K classes: whether one confusion matrix with the stated gold labels can have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from conjury.inference.errors import listed

from ..findings import Finding, Group, Verdict
from ..numbers import Interval, Printed
from .definitions import ScoreDefinition, definitions, squared
from .search import MatrixSearch, Search, closest, search

OTHERS = 1_500  # boxes of the search under each definition but the stated one
QUICK = 150  # boxes of a search for a chance or a nearest matrix
HALVINGS = 6  # of the values of a score, from each end
LINEAR = ("accuracy", "micro_f1", "recall", "label", "macro_recall")


def check_classes(group: Group, runs: int = 1) -> Iterator[Finding]:
    """Whether a confusion matrix of the stated items, of all runs, has all published scores of a group."""
    definition, *alternatives = (
        replace(candidate, layout=candidate.layout.times(runs)) for candidate in definitions(group)
    )
    numbers = {role: group.numbers[role] for role in definition.measures}
    if not numbers:
        return
    stated_result = search(definition.problem(numbers))
    scores = ", ".join(f"{role} {number.text}" for role, number in numbers.items())
    items = items_of(definition)
    if not stated_result.exhausted:
        yield _possible_finding(definition, numbers, stated_result, f"{scores}: {{}} for {items}")
        return
    under, undecided, decided = [], [], [definition]
    for alternative in alternatives:
        result = search(alternative.problem(numbers), OTHERS)
        if result.matrix is not None:
            under.append(alternative.name)
        elif not result.exhausted:
            undecided.append(alternative.name)
            continue
        decided.append(alternative)
    reason = f"{scores}: no confusion matrix of {items} has them{culprits(definition, numbers)}."
    verdict: Verdict = "conditional" if under else "inconsistent"
    if undecided:
        reason += f" The search did not decide under {listed(undecided)}."
    passing = chance(decided, numbers)
    yield Finding(
        "scores",
        tuple(numbers),
        verdict,
        reason,
        tuple(under),
        nearest(definition, numbers),
        1 + len(alternatives),
        passing,
    )


def _possible_finding(
    definition: ScoreDefinition, numbers: Mapping[str, Printed], result: Search, reason: str
) -> Finding:
    """The finding where a matrix exists, or where the search did not decide."""
    if result.matrix is None:
        text = reason.format("the search reached its bound on work before a confusion matrix was excluded")
        return Finding("scores", tuple(numbers), "untested", f"{text}.", undecided=True)
    passing = chance([definition], numbers)
    verdict: Verdict = "untested" if passing == 1 else "consistent"
    text = f"{reason.format('possible')}, such as {result.matrix.text(definition.layout)}."
    if verdict == "untested":
        text += " Any numbers of as many digits would be possible."
    return Finding("scores", tuple(numbers), verdict, text, chance=passing)


def items_of(definition: ScoreDefinition) -> str:
    """The items in words."""
    layout = definition.layout
    if layout.fixed:
        parts = [f"{low:,} {name}" for name, (low, _) in zip(layout.labels, layout.gold, strict=True)]
        text = f"{listed(parts, 12)} items"
    else:
        low, high = layout.n
        size = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        text = f"{size} items with {len(layout.classes)} classes"
    low, high = layout.missing
    if high:
        text += f", {high:,} of them missing" if low == high else ", any number of them missing"
    return text


def culprits(definition: ScoreDefinition, numbers: Mapping[str, Printed]) -> str:
    """The single scores without which the others are possible."""
    if len(numbers) < 3:
        return ""
    alone = []
    for role in numbers:
        measures = {name: measure for name, measure in definition.measures.items() if name != role}
        if search(replace(definition, measures=measures).problem(numbers), QUICK).matrix is not None:
            alone.append(role)
    return f"; it would without {' or without '.join(alone)}" if alone else ""


def nearest(definition: ScoreDefinition, numbers: Mapping[str, Printed]) -> str:
    """A matrix with scores near all published ones, and within how many units of the last digit they are."""
    match = closest(definition.problem(numbers)) if definition.layout.fixed else None
    if match is None:
        return ""
    matrix, distance = match
    return f"{matrix.text(definition.layout)}, within {distance:.1f} units of the last digit"


def chance(tried: Sequence[ScoreDefinition], numbers: Mapping[str, Printed]) -> float:
    """The share of values of one score, with as many digits, that are not excluded given the other scores."""
    # The score is the last one that is no share of items. Values are excluded from below and from above, in
    # halves, so that the share is at most too large.
    roles = list(numbers)
    role = next((name for name in reversed(roles) if tried[0].measures[name].name not in LINEAR), roles[-1])
    number = numbers[role]
    first, last = ceil((-1 if role in ("kappa", "mcc") else 0) / number.step), floor(1 / number.step)

    def excluded(low: int, high: int) -> bool:
        at = Interval((low - Fraction(1, 2)) * number.step, (high + Fraction(1, 2)) * number.step)
        return all(_excludes_interval(definition, numbers, role, at) for definition in tried)

    low, high = first, last + 1
    for _ in range(HALVINGS):
        middle = (low + high) // 2
        if middle > low and excluded(first, middle - 1):
            low = middle
        else:
            high = middle
    below, low, high = low, low - 1, last
    for _ in range(HALVINGS):
        middle = (low + high + 1) // 2
        if middle <= high and excluded(middle, last):
            high = middle - 1
        else:
            low = middle
    passing = max(high - below + 1, 0)
    units = _units(tried[0], role, numbers)
    return min(passing, units or passing) / (last - first + 1)


def _units(definition: ScoreDefinition, role: str, numbers: Mapping[str, Printed]) -> int:
    """How many values a share of items can have at most, or 0 for other scores."""
    measure = definition.measures[role]
    n = definition.layout.n[1]
    if len(numbers) > 1 or measure.name not in ("accuracy", "micro_f1") or definition.layout.missing[1]:
        return 0
    return n + 1 if definition.layout.fixed or definition.layout.n[0] == n else 0


def _excludes_interval(
    definition: ScoreDefinition, numbers: Mapping[str, Printed], role: str, at: Interval
) -> bool:
    """Whether no matrix has a score in an interval and all others as published."""
    problem = definition.problem(numbers)
    measure = definition.measures[role]
    place = list(definition.measures).index(role)
    needs = list(problem.needs)
    needs[place] = (measure, squared(at) if measure.name == "mcc" else at)
    return search(MatrixSearch(problem.layout, tuple(needs)), QUICK, walks=False).exhausted
