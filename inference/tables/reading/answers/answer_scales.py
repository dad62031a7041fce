"""The scale of answers, as stated or as their cells are, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError, as_argument, listed, quoted
from ..account import MOST_CELLS, AccountEntry
from ..cell_rules import far_numbers, has_unit, key_of, number_of
from ..reading_rules import ReadingRules
from .answer_classes import MOST_CLASSES
from .distinct_texts import DistinctTexts
from .missing_answers import refuse_few_words

Floats = NDArray[np.float64]
_WHOLE = re.compile(r"(?<![\w.,])\d{1,3}(?![\w,]|\.\d)")  # a whole number in a label, as in "4 - good"
_DENIALS = ("no", "not", "non", "nicht", "kein", "keine", "pas", "sin", "sem", "niet", "geen")
MANY_ZEROS = 0.2  # share of zeros that another column of the same scale would have, too
FEW_NUMBERS = 5  # whole numbers with more distinct values are measured, not counted as classes


def scale_of(
    texts: Sequence[DistinctTexts], options: ReadingRules, source: str, entries: list[AccountEntry]
) -> str:
    """The scale that is stated, else the one that the cells have."""
    if options.scale in (None, "interval") and not any(options.order_of(column.name) for column in texts):
        _refuse_scores_with_labels(texts, source)
    if options.scale is not None:
        return options.scale
    orders = [column.order for column in texts if column.order]
    has_levels = any(options.order_of(column.name) for column in texts)
    if orders and not has_levels:
        entries.append(AccountEntry("types", f"Ordered labels: {', '.join(orders[0])}."))
        return "ordinal"
    if has_levels:
        return _scale_of_levels(options, texts, entries)
    refuse_few_words(texts, source)
    values = [number_of(text) for column in texts for text in column.texts]
    numbers = {value for value in values if value is not None}
    if None in values or not numbers:
        _refuse_units(texts, source)
        entries.extend(_order_entries(texts))
        return "nominal"
    if len(numbers) > FEW_NUMBERS or any(not value.is_integer() for value in numbers):
        sentence = "Answers are numbers, and are compared as measurements (interval scale)"
        sentence += f"{_few_fractions(texts)}."
        entries.append(AccountEntry("types", sentence, option="--scale"))
        return "interval"
    if len(numbers) > 2:
        span = f"{min(numbers):g} to {max(numbers):g}"
        sentence = f"Answers are whole numbers from {span}, and are compared as ordered classes."
        entries.append(AccountEntry("types", sentence, option="--scale"))
        return "ordinal"
    return "nominal"


def stated_order(levels: Sequence[str]) -> AccountEntry:
    """What the account says of labels whose stated order counts though nobody stated the scale."""
    return AccountEntry("types", f"Labels are compared in the order of --levels: {', '.join(levels)}.")


def _scale_of_levels(
    options: ReadingRules, texts: Sequence[DistinctTexts], entries: list[AccountEntry]
) -> str:
    """The scale of stated labels: numbers have an order; that of words is used where it is asked for."""
    levels = next(order for column in texts if (order := options.order_of(column.name)))
    if len(levels) < 3:
        return "nominal"
    is_ordered = all(number_of(level) is not None for level in levels)
    what = "Answers are compared as ordered classes" if is_ordered else "Labels are compared without an order"
    sentence = f"{what}; --scale {'nominal ignores' if is_ordered else 'ordinal uses'} that of --levels."
    entries.append(AccountEntry("types", sentence))
    return "ordinal" if is_ordered else "nominal"


def _few_fractions(texts: Sequence[DistinctTexts]) -> str:
    """Name the numbers between whole ones without which answers would be ordered classes, and the remedy."""
    cells: list[tuple[float, int, str]] = []
    for column in texts:
        numbers = [number_of(text) for text in column.texts]
        cells += [
            (value, int(n), f"column '{column.name}', {column.where(place)}")
            for place, (value, n) in enumerate(zip(numbers, column.counts, strict=True))
            if value is not None
        ]
    between = [cell for cell in cells if not cell[0].is_integer()]
    n_between, n = sum(cell[1] for cell in between), sum(cell[1] for cell in cells)
    classes = {cell[0] for cell in cells if cell[0].is_integer()}
    if not between or 2 * n_between >= n or not 2 < len(classes) <= FEW_NUMBERS:
        return ""
    values = list(dict.fromkeys(f"{cell[0]:g}" for cell in between))
    return (
        f", since {n_between:,} of {n:,} are between whole numbers: {listed(values, MOST_CELLS)} (first in "
        f"{between[0][2]}). Correct or round them, such as --relabel {values[0]}={round(between[0][0])}, to "
        "compare ordered classes; or --scale ordinal makes each a class of its own"
    )


def numbers_of(column: DistinctTexts, source: str) -> Floats:
    """The numbers of all cells, (n,); refuse a text that is none."""
    values = []
    for place, text in enumerate(column.texts):
        value = number_of(text)
        if value is None:
            raise InputError(
                f"{source}: column '{column.name}' contains {quoted(text)} in {column.where(place)}, "
                f"which is no number; state it as --missing {as_argument(text)} if it is no answer, correct "
                "it, or use --scale nominal."
            )
        values.append(value)
    return np.array([*values, np.nan])[column.code]


def far_number_entries(texts: Sequence[DistinctTexts], values: Floats) -> list[AccountEntry]:
    """Name few whole numbers that are far from all others of their column, such as 70 on a scale to 10."""
    entries = []
    for column, numbers in zip(texts, values, strict=True):
        for far, low, high in far_numbers(numbers):
            cells = [f"{value:g}" for value in far]
            where = column.where([number_of(text) for text in column.texts].index(far[0]))
            sentence = (
                f"Column '{column.name}' has {listed(map(quoted, cells), MOST_CELLS)} (first in {where}), "
                f"far from all others ({low:g} to {high:g}): correct it, or state --missing '{cells[0]}'."
            )
            entries.append(AccountEntry("types", sentence, column.name, tuple(cells), len(far)))
    return [*entries, *_zero_entries(texts, values)]


def _zero_entries(texts: Sequence[DistinctTexts], values: Floats) -> list[AccountEntry]:
    """Name zeros in many cells of a column, next to columns whose whole numbers begin with 1 or above."""
    present = values[np.isfinite(values)]
    lowest = [numbers[np.isfinite(numbers)].min(initial=np.inf) for numbers in values]
    if (present % 1 != 0).any() or (present < 0).any() or max(lowest, default=0) in (0, np.inf):
        return []
    shares = [float((numbers == 0).sum() / np.isfinite(numbers).sum()) for numbers in values]
    return [
        AccountEntry(
            "missing",
            f"Column '{column.name}' has 0 in {share:.0%} of its answers, and the numbers next to it begin "
            f"with {max(lowest):g}: if 0 is no answer, state --missing 0.",
            column.name,
            ("0",),
        )
        for column, share in zip(texts, shares, strict=True)
        if share >= MANY_ZEROS
    ]


def _refuse_scores_with_labels(texts: Sequence[DistinctTexts], source: str) -> None:
    """Refuse columns of measurements next to columns of labels: how they compare is not in the table."""
    kinds: dict[bool, list[DistinctTexts]] = {True: [], False: []}
    for column in texts:
        values = [number_of(text) for text in column.texts]
        numbers = [value for value in values if value is not None]
        if not values or (numbers and len(numbers) < len(values)):
            continue
        is_score = len(numbers) > FEW_NUMBERS or any(not value.is_integer() for value in numbers)
        if is_score or not numbers:
            kinds[is_score].append(column)
    if not kinds[True] or not kinds[False] or any(column.order for column in kinds[False]):
        return
    labels = sorted({text for column in kinds[False] for text in column.texts})
    examples = " ".join(f"--relabel {as_argument(f'{label}=NUMBER')}" for label in labels[:MOST_CELLS])
    scores = {number_of(text) or 0.0 for column in kinds[True] for text in column.texts}
    raise InputError(
        f"{source}: column '{kinds[True][0].name}' contains numbers from {min(scores):g} to "
        f"{max(scores):g}, and '{kinds[False][0].name}' labels such as {quoted(labels[0])}; state the number "
        f"that each label means, as {examples}, or name a column with the same labels."
    )


def _order_entries(texts: Sequence[DistinctTexts]) -> list[AccountEntry]:
    """Name labels that nobody ordered though they have numbers, or degrees such as "agree" in two of them."""
    labels = {key_of(text): text for column in texts for text in column.texts}
    if len(labels) > MOST_CLASSES:
        return []
    matches = {text: _WHOLE.findall(text) for text in labels.values()}
    numbers = {text: digits[0] for text, digits in matches.items() if len(digits) == 1}
    if 2 < len(labels) == len(numbers) == len(set(numbers.values())):
        ordered = sorted(numbers, key=lambda text: int(numbers[text]))
        remedy = " ".join(f"--relabel {as_argument(f'{text}={numbers[text]}')}" for text in ordered[:2])
        label, what = ordered[0], "have a number each"
        remedy += " ... compares the numbers"
    elif degree := _degree_of(list(labels)):
        label, what = labels[degree], "are degrees"
        remedy = "--levels with all of them from the lowest to the highest, and --scale ordinal, orders them"
    else:
        return []
    sentence = f"Labels such as {quoted(label)} {what}, and are compared without an order; {remedy}."
    return [AccountEntry("order", sentence, option="--scale")]


def _degree_of(keys: Sequence[str]) -> str | None:
    """A label that is another one behind a word that is before a second one, too: "very good", "very bad"."""
    prefixes: dict[str, list[str]] = {}
    for key in keys:
        for base in keys:
            if key.endswith(f" {base}"):
                prefixes.setdefault(key.removesuffix(base).strip(), []).append(key)
    degrees = (alike[0] for word, alike in prefixes.items() if len(alike) > 1 and word not in _DENIALS)
    return next(degrees, None)


def _refuse_units(texts: Sequence[DistinctTexts], source: str) -> None:
    """Refuse columns whose cells are numbers with units: as labels they would have no order."""
    for column in texts:
        if len(column.texts) > 2 and all(has_unit(text) for text in column.texts):
            raise InputError(
                f"{source}: column '{column.name}' contains numbers with units, such as "
                f"{quoted(column.texts[0])}; write the numbers alone, or compare them as labels with --scale "
                "nominal."
            )
