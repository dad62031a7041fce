"""Scores that are means over runs or folds: they are no scores of one matrix, and are decided by bounds.

Means of shares over runs on the same items are shares of all runs together, and are decided exactly. Of other
scores, a mean is possible if one matrix has it, or if several matrices with that mean are at hand; it is
impossible if no matrix reaches it from below or from above. Between the two nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import ceil, floor

import numpy as np

from conjury.inference.errors import listed

from ..findings import Finding, Group, Verdict, decide
from ..numbers import ROUNDINGS, Interval, Printed, Rounding
from ..settings import refuse, whole
from .definitions import ScoreDefinition, definitions
from .gold_layout import GoldLayout
from .measures import Measure
from .search import MatrixSearch, search

QUICK = 2_000
LINEAR = ("accuracy", "recall", "label", "macro_recall")


def check_runs(group: Group, runs: int) -> Iterator[Finding]:
    """Whether published scores are possible as means over runs on the same items."""
    definition = next(definitions(group))
    numbers = {role: group.numbers[role] for role in definition.measures}
    if not numbers:
        return
    scores = ", ".join(f"{role} {number.text}" for role, number in numbers.items())
    tried = [("as stated", "nearest"), *((rounding, rounding) for rounding in ROUNDINGS[1:])]
    answers = {
        name: mean_over_runs(
            ScoreDefinition(name, definition.layout, definition.measures, rounding), numbers, runs
        )
        for name, rounding in tried[:1]
    }
    first = answers["as stated"]
    if first is not False:
        verdict: Verdict = "consistent" if first else "untested"
        text = "possible" if first else "not excluded"
        reason = f"{scores}: {text} as means over {runs:,} runs."
        yield Finding("scores", tuple(numbers), verdict, reason, undecided=first is None)
        return
    for name, rounding in tried[1:]:
        alternative = ScoreDefinition(name, definition.layout, definition.measures, rounding)
        answers[name] = mean_over_runs(alternative, numbers, runs)
    answers["scores of all runs together"] = _answer(
        MatrixSearch(definition.layout.times(runs), definition.problem(numbers).needs)
    )
    answers["each run rounded first"] = rounded_first(definition, numbers, runs)
    under = tuple(name for name, answer in answers.items() if answer)
    undecided = [name for name, answer in answers.items() if answer is None]
    verdict = "conditional" if under else "inconsistent"
    reason = f"{scores}: impossible as means over {runs:,} runs of the stated items."
    if undecided:
        reason += f" Not decided under {listed(undecided)}."
    yield Finding("scores", tuple(numbers), verdict, reason, under, n_definitions=len(answers))


def _answer(problem: MatrixSearch) -> bool | None:
    """True if a matrix has the scores, False if none has, None where the search did not decide."""
    result = search(problem, QUICK)
    return True if result.matrix is not None else False if result.exhausted else None


def mean_over_runs(definition: ScoreDefinition, numbers: Mapping[str, Printed], runs: int) -> bool | None:
    """Whether matrices of so many runs exist of which the mean scores are as published."""
    # Returns: None where neither was shown.
    problem = definition.problem(numbers)
    shares = tuple(need for need in problem.needs if need[0].name in LINEAR)
    if shares:
        pooled = _answer(MatrixSearch(problem.layout.times(runs), shares))
        if pooled is not True or len(shares) == len(problem.needs):
            return pooled if pooled is not True or definition.layout.fixed else None
    if any(_is_beyond_scores(problem.layout, measure, at) for measure, at in problem.needs):
        return False
    return True if search(problem, QUICK).matrix is not None else None


def _is_beyond_scores(layout: GoldLayout, measure: Measure, at: Interval) -> bool:
    """Whether all matrices have a score below an interval, or all above it."""
    ends = (
        Interval(at.lower, Fraction(1), at.has_lower),
        Interval(Fraction(-1), at.upper, has_lower=True, has_upper=at.has_upper),
    )
    return any(search(MatrixSearch(layout, ((measure, end),)), QUICK).exhausted for end in ends)


def rounded_first(definition: ScoreDefinition, numbers: Mapping[str, Printed], runs: int) -> bool | None:
    """Whether a single published share can be the mean of shares of runs that were rounded to its digits."""
    [(role, measure), *more_measures] = definition.measures.items()
    if more_measures or measure.name != "accuracy" or not definition.layout.fixed:
        return None
    number, n = numbers[role], definition.layout.n[0]
    sums = possible_sums(n, runs, number)
    units = (number.interval(definition.rounding) * (runs / number.step)).integers()
    return any(units.start <= total < units.stop for total in sums)


def possible_sums(n: int, runs: int, number: Printed) -> set[int]:
    """Sums over runs of shares of n items, each rounded to the digits of a number, in units of the last."""
    shares = {
        whole_number
        for k in range(n + 1)
        for share in [Fraction(k, n) / number.step]
        for whole_number in (ceil(share - Fraction(1, 2)), floor(share + Fraction(1, 2)))
    }
    bits = 1
    for _ in range(runs):
        total = 0
        for units in shares:
            total |= bits << units
        bits = total
    return {int(at) for at in np.flatnonzero(np.frombuffer(f"{bits:b}"[::-1].encode(), np.uint8) == ord("1"))}


def check_folds(group: Group) -> Iterator[Finding]:
    """Whether published shares are possible as means over folds; of other scores nothing is claimed."""
    # Folds of known number are as equal as can be, in all and, for recalls, within each class, as stratified
    # folds are.
    folds = whole(group, "folds") or 1
    definition = next(definitions(group))
    layout = definition.layout
    other_roles = []
    for role, measure in definition.measures.items():
        n = _items(layout, measure)
        if n is None:
            other_roles.append(role)
            continue
        if folds > n:
            raise refuse(group, f"folds is {folds:,}, and there are {n:,} items; correct one of them.")
        yield _fold_finding(role, group.numbers[role], n, folds)
    if other_roles:
        reason = f"Means of such scores over {folds:,} folds can have nearly any value in their range."
        yield Finding("scores", tuple(other_roles), "untested", reason)


def _items(layout: GoldLayout, measure: Measure) -> int | None:
    """The known number of items of a share, or None for other scores."""
    if measure.name == "accuracy" and layout.n[0] == layout.n[1]:
        return layout.n[0]
    if not layout.fixed:
        return None
    if measure.name == "recall":
        return layout.sizes[measure.of]
    return layout.gold[measure.of][0] if measure.name == "label" else None


def _fold_finding(role: str, number: Printed, n: int, folds: int) -> Finding:
    def fits(rounding: Rounding) -> bool:
        return mean_over_folds(number.interval(rounding), n, folds)

    tried: dict[str, Callable[[], bool]] = {
        ("as stated" if rounding == "nearest" else rounding): partial(fits, rounding)
        for rounding in ROUNDINGS
    }
    tried["share of all folds together"] = lambda: bool((number.interval() * n).integers())
    least = n // folds
    reason = f"{number.text} is a mean over {folds:,} folds of {least:,}"
    reason += f" or {least + 1:,} items." if n % folds else " items."
    return decide("scores", (role,), tried, reason, chance=_chance(number, n, folds))


def mean_over_folds(at: Interval, n: int, folds: int) -> bool:
    """Whether shares in folds of n items, as equal as can be, can have a mean in an interval."""
    # The folds have s or s + 1 items, so that the sum of shares is a / s + b / (s + 1) of two whole counts.
    size, larger = divmod(n, folds)
    most = (folds - larger) * size
    for b in range(larger * (size + 1) + 1):
        remainder = at * folds + Interval(-Fraction(b, size + 1), -Fraction(b, size + 1))
        counts = (remainder * size).integers()
        if max(counts.start, 0) < min(counts.stop, most + 1):
            return True
    return False


def _chance(number: Printed, n: int, folds: int) -> float:
    """At most the share of values with as many digits that are means over folds."""
    size, larger = divmod(n, folds)
    sums = ((folds - larger) * size + 1) * (larger * (size + 1) + 1)
    return min(float(sums / (1 / number.step + 1)), 1.0)
