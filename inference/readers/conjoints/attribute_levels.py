"""Levels of the attributes of a conjoint: spellings merged, the reference first, empty pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...errors import InputError, did_you_mean, listed
from ...tables.reading import ReadingRules, read_answers
from ...tables.reading.account import AccountEntry
from ...tables.reading.answers.distinct_texts import distinct_texts
from ...tables.reading.cell_rules import is_code, is_nothing, key_of, number_codes, number_of
from .column_roles import MOST_LEVELS
from .level_order import in_usual_order

LEAST_EXPECTED = 5.0  # rows of a pair of levels by chance, from which their absence is a restriction
NONE = {"none", "(none)"}  # a level of many attributes, and no answer elsewhere


@dataclass(frozen=True)
class EmptyPairs:
    """Pairs of levels of two attributes that no profile shows, and how many would by chance."""

    first: str
    second: str
    pairs: tuple[tuple[str, str], ...]
    expected: float  # rows, of all pairs together

    def sentence(self) -> str:
        """The restriction in words."""
        texts = (f"{self.first} '{level}' with {self.second} '{partner}'" for level, partner in self.pairs)
        return (
            f"Never shown together: {listed(texts, 6)}; effects of {self.first} and {self.second} are "
            "averaged over the levels of the other that occur with both compared levels."
        )


def read_levels_of(
    frame: pd.DataFrame,
    attributes: Sequence[str],
    rules: ReadingRules,
    source: str,
    references: Mapping[str, str],
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """Attributes as categories with the reference first, and what was merged and guessed."""
    for name in references:
        if name not in attributes:
            raise InputError(
                f"{source}: --reference names '{name}', which is no attribute"
                f"{did_you_mean(name, attributes)}; there are {listed(attributes)}."
            )
    entries: list[AccountEntry] = []
    columns: dict[str, pd.Series[Any]] = {}
    guessed: dict[str, list[str]] = {}
    for name in attributes:
        order, rule = _order_of(frame[name], name, rules)
        ordered_rules = rules if order is None else replace(rules, levels={name: order})
        cells = (
            frame[name].astype(object) if isinstance(frame[name].dtype, pd.CategoricalDtype) else frame[name]
        )
        answers = read_answers(
            {name: cells}, replace(ordered_rules, scale="nominal", relabel={}), source=source
        )
        entries += [entry for entry in answers.entries if entry.subject not in ("types", "order")]
        levels = [
            level for level, is_present in zip(answers.classes, _present(answers), strict=True) if is_present
        ]
        if len(levels) < 2 or len(levels) > MOST_LEVELS:
            problem = "one level only" if len(levels) < 2 else f"{len(levels)} different levels"
            remedy = "leave it out of --attributes" + (", or group its cells" if len(levels) > 1 else "")
            raise InputError(f"{source}: attribute '{name}' has {problem}; {remedy}.")
        if name in references:
            levels, rule = _from(levels, references[name], name, source), "as stated"
        if rule:
            guessed.setdefault(rule, []).append(f"{name} '{levels[0]}'")
        texts = np.array([*answers.classes, None], dtype=object)[answers.codes[0]]
        columns[name] = pd.Series(pd.Categorical(texts, categories=levels), index=frame.index)
    if guessed:
        texts = (text for group in guessed.values() for text in group)
        sentence = f"Reference levels: {listed(texts, 30)} ({'; '.join(guessed)})."
        is_guess = bool({*guessed} - {"as stated"})
        entries.append(
            AccountEntry("order", sentence, option="--reference or --levels" if is_guess else None)
        )
    return pd.DataFrame(columns), entries


def _present(answers: Any) -> list[bool]:
    counts = np.bincount(answers.codes[0][answers.codes[0] >= 0], minlength=len(answers.classes))
    return [bool(count) for count in counts]


def _order_of(column: pd.Series[Any], name: str, rules: ReadingRules) -> tuple[list[str] | None, str]:
    """The order of levels and the rule that gives it; the rule is empty where the order is stated."""
    if rules.levels.get(name):
        return list(rules.levels[name]), ""
    cells = distinct_texts(name, column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = [str(value) for value in column.cat.categories if str(value).strip()]
        if len({key_of(text) for text in categories}) == len(categories):
            return categories, ""
    spelled: dict[str, Counter[str]] = {}
    for text, count in zip(cells.texts, cells.counts.tolist(), strict=True):
        if text != "" and count:
            spelled.setdefault(key_of(text), Counter())[text] += count
    stated_missing = {key_of(text) for text in rules.missing}
    texts = [counts.most_common(1)[0][0] for key, counts in spelled.items() if key not in stated_missing]
    numbers = [value for text in texts if (value := number_of(text)) is not None]
    doubtful = [text for text in texts if is_nothing(text) or (is_code(text) and key_of(text) not in NONE)]
    ordered, rule = in_usual_order(texts)
    return (None if doubtful or number_codes(numbers) else ordered), rule


def _from(levels: list[str], reference: str, name: str, source: str) -> list[str]:
    """Levels with the stated reference first."""
    first = next((level for level in levels if key_of(level) == key_of(reference)), None)
    if first is None:
        raise InputError(
            f"{source}: --reference {name}={reference} names no level of '{name}'"
            f"{did_you_mean(reference, levels)}; it has {listed(map(repr, levels))}."
        )
    return [first, *(level for level in levels if level != first)]


def find_empty_pairs(frame: pd.DataFrame, attributes: Sequence[str]) -> tuple[EmptyPairs, ...]:
    """All pairs of levels that never occur although chance would show them."""
    restrictions = []
    for first, second in combinations(attributes, 2):
        names, partners = frame[first].cat.categories, frame[second].cat.categories
        first_codes, second_codes = (
            frame[name].cat.codes.to_numpy(dtype=np.int64) for name in (first, second)
        )
        cells = (first_codes * len(partners) + second_codes)[(first_codes >= 0) & (second_codes >= 0)]
        shape = len(names), len(partners)
        counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        rows, columns = counts.sum(axis=1), counts.sum(axis=0)
        expected = np.outer(rows, columns) / max(counts.sum(), 1.0)
        is_empty = (counts == 0) & (expected >= LEAST_EXPECTED)
        if is_empty.any():
            pairs = tuple((str(names[row]), str(partners[column])) for row, column in np.argwhere(is_empty))
            restrictions.append(EmptyPairs(first, second, pairs, float(expected[is_empty].sum())))
    return tuple(restrictions)
