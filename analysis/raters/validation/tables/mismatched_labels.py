"""Labels of people that are about other answers than those of the judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import plain

from ....numerics.intervals.bounded import difference
from ....numerics.types import Floats
from ..coding import CodedRows, keys_of

ANSWERS = ("answer", "output", "response", "completion", "generation", "reply", "model output", "candidate")
SURELY = 1e-4  # p of either of two differences in opposite directions
REMEDY = "compare the systems by `conjury compare-systems`"


def refuse_other_answers(
    judges: Sequence[str], people: Sequence[str], columns: Iterable[str], source: str
) -> None:
    """Refuse columns of people that are called after different judges, such as v3_human and v4_human."""
    by_parts = {frozenset(_parts(name)): name for name in columns}
    for judge in judges:
        mine = _parts(judge)
        for first in people:
            for second in people:
                marks = _parts(first) - _parts(second), _parts(second) - _parts(first)
                if not (marks[0] and marks[1] and marks[0] <= mine) or _is_number(marks):
                    continue
                twin = by_parts.get(frozenset(mine - marks[0] | marks[1]))
                if twin is not None and twin != judge:
                    raise InputError(
                        f"{source}: '{first}' and '{second}' are called after '{judge}' and '{twin}', so "
                        f"they are labels of different answers, not two people's labels of one; {REMEDY}."
                    )


def refuse_labels_of_one_judge_each(data: CodedRows, names: tuple[str, str]) -> None:
    """Refuse people of whom one agrees with the first judge and another with the second, by far."""
    # Of people who labelled the same answers, whoever one judge agrees with more is agreed with more by it.
    ahead: dict[int, tuple[str, float]] = {}
    for person, rated in zip(data.people_names, data.rated, strict=True):
        mask = np.isfinite(data.judged).all(axis=0) & np.isfinite(rated)
        if mask.sum() < 2:
            continue
        advantage = _closeness(data.judged[1, mask], rated[mask]) - _closeness(
            data.judged[0, mask], rated[mask]
        )
        result = difference(float(advantage.mean()), advantage - advantage.mean(), data.cluster[mask], 0.05)
        if result.p < SURELY:
            ahead.setdefault(int(result.estimate > 0), (person, result.estimate))
    if len(ahead) == 2:
        raise InputError(
            f"{names[0]} and {names[1]}: {names[0]} agrees far more with '{ahead[0][0]}' and {names[1]} with "
            f"'{ahead[1][0]}', as where these are labels of two systems' answers; {REMEDY}."
        )


def _closeness(judged: Floats, rated: Floats) -> Floats:
    """How close answers of a judge are to a person's, shape (n,): of labels 1 for the same."""
    return -np.abs(judged - rated) if len(np.unique(rated)) > 2 else (judged == rated).astype(float)


def notes_on_other_answers(first: pd.DataFrame, second: pd.DataFrame, names: tuple[str, str]) -> list[str]:
    """Note columns of answers that differ in most pairs: labels of the one may not be about the other."""
    notes = []
    for name in map(str, first):
        if plain(name) in ANSWERS and name in second:
            first_keys, second_keys = keys_of(first[name]), keys_of(second[name])
            has_both = (first_keys != "") & (second_keys != "")
            unlike = int((has_both & (first_keys != second_keys)).sum())
            if 2 * unlike > has_both.sum():
                notes.append(
                    f"'{name}' differs between {names[0]} and {names[1]} in {unlike:,} of {has_both.sum():,} "
                    "pairs: if it contains the answers that were judged, labels of the one are not about the "
                    f"other; then {REMEDY}."
                )
    return notes


def _parts(name: str) -> set[str]:
    return set(plain(name).replace(".", " ").split())


def _is_number(marks: tuple[set[str], set[str]]) -> bool:
    """Whether names differ by numbers or letters, as those of several raters do."""
    return any(part.isdigit() or len(part) == 1 for mark in marks for part in mark)
