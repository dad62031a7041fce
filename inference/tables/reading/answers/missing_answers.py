"""Texts that are no answer, those that may be none, and words among numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ....errors import InputError, as_argument, counted, listed, option_of, quoted
from ..account import MOST_CELLS, AccountEntry
from ..cell_rules import (
    is_code,
    is_date,
    is_nothing,
    is_refusal,
    key_of,
    mostly_numbers,
    number_codes,
    number_of,
)
from ..reading_rules import ReadingRules
from .distinct_texts import DistinctTexts


def drop_missing(columns: Sequence[DistinctTexts], options: ReadingRules, source: str) -> list[DistinctTexts]:
    """Columns without cells that are no answer; refuse all texts of which nobody said what they are."""
    parts = [_blank_texts(column, options) for column in columns]
    _refuse([_question(column, places) for column, (_, places) in zip(columns, parts, strict=True)], source)
    return [column.without(blank) for column, (blank, _) in zip(columns, parts, strict=True)]


def refuse_few_words(columns: Sequence[DistinctTexts], source: str) -> None:
    """Refuse cells that are no numbers in columns where most are: they would turn all into labels."""
    _refuse([_few_words(column) for column in columns], source)


def doubtful_entries(columns: Sequence[DistinctTexts], options: ReadingRules) -> list[AccountEntry]:
    """Name words that may be no answer, which stay labels until their columns are compared."""
    counts: dict[str, int] = {}
    names = []
    for column in columns:
        texts = {place: column.texts[place] for place in _blank_texts(column, options)[1]}
        words = {
            place: text for place, text in texts.items() if number_of(text) is None and not is_date(text)
        }
        for place, text in words.items():
            counts[text] = counts.get(text, 0) + int(column.counts[place])
        names += [column.name] if words else []
    if not names:
        return []
    cells = ", ".join(f"{quoted(text)} ({n:,})" for text, n in list(counts.items())[:MOST_CELLS])
    missing = " ".join(f"--missing {as_argument(text)}" for text in list(counts)[:MOST_CELLS])
    sentence = f"Cells of {listed(map(quoted, names))} may be no answers: {cells}; if so, state {missing}."
    return [AccountEntry("missing", sentence, cells=tuple(counts)[:MOST_CELLS], count=sum(counts.values()))]


def _blank_texts(column: DistinctTexts, options: ReadingRules) -> tuple[set[int], list[int]]:
    """The places of texts that are no answer, and of those that may be none."""
    missing_keys = {key_of(text) for text in options.missing}
    labels = {key_of(label) for label in (*options.order_of(column.name), *column.order)}
    blank = {
        place
        for place, text in enumerate(column.texts)
        if text == "" or key_of(text) in missing_keys - labels
    }
    doubtful = [
        place
        for place, text in enumerate(column.texts)
        if place not in blank and key_of(text) not in labels and (is_nothing(text) or is_code(text))
    ]
    if not labels:
        dates = [place for place, text in enumerate(column.texts) if place not in blank and is_date(text)]
        doubtful += dates if len(dates) + len(blank) < len(column.texts) else []
        doubtful += _doubtful_numbers(column, {*blank, *doubtful})
    return blank, doubtful


def _doubtful_numbers(column: DistinctTexts, places: Collection[int]) -> list[int]:
    """Texts that are numbers, and probably codes for no answer."""
    values = {
        place: value
        for place, text in enumerate(column.texts)
        if place not in places and (value := number_of(text)) is not None
    }
    codes = set(number_codes(list(values.values())))
    return [place for place, value in values.items() if value in codes]


def _question(column: DistinctTexts, places: Sequence[int]) -> str:
    """What texts at places are, labels or no answers, with both remedies; empty without any."""
    if not places:
        return ""
    texts = [column.texts[place] for place in places]
    total = int(column.counts[list(places)].sum())
    answers = {key_of(text): text for place, text in enumerate(column.texts) if place not in places}
    missing = " ".join(f"--missing {as_argument(text)}" for text in texts[:MOST_CELLS])
    phrase = f"which may be no {'answers' if len(texts) > 1 else 'answer'}; if so, state {missing}"
    are_numbers = bool(answers) and all(number_of(text) is not None for text in answers)
    if any(is_refusal(text) for text in texts) or (
        are_numbers and any(number_of(text) is None for text in texts)
    ):
        remedy = "else correct it"
    else:
        labels = [*list(answers.values())[:3], *(["..."] if len(answers) > 3 else []), *texts[:MOST_CELLS]]
        if are_numbers and all(number_of(text) is not None for text in texts):  # whose order counts
            numbers = sorted([*answers, *map(key_of, texts)], key=float)
            labels = [*numbers[:3], "...", numbers[-1]] if len(numbers) > 4 else numbers
        remedy = f"and if they are labels, name all labels with --levels {as_argument(option_of(labels))}"
    return (
        f"column '{column.name}' contains {listed(map(quoted, texts), MOST_CELLS)} in "
        f"{counted(total, 'cell')} (first in {column.where(places[0])}), {phrase}, {remedy}"
    )


def _few_words(column: DistinctTexts) -> str:
    """What is wrong with the words of a column of numbers; empty where nothing is."""
    is_number = np.array([number_of(text) is not None for text in column.texts], dtype=bool)
    if is_number.all() or not mostly_numbers(is_number, column.counts):
        return ""
    words = [place for place, number in enumerate(is_number) if not number]
    text = column.texts[words[0]]
    further = [quoted(column.texts[place]) for place in words[1:]]
    more = f" (and {listed(further, 4)})" if further else ""
    return (
        f"column '{column.name}' contains {quoted(text)} in {column.where(words[0])}{more}, "
        f"while most of its cells are numbers; if it is no answer, state it as --missing "
        f"{as_argument(text)}, else correct it, or compare all answers as labels with --scale nominal"
    )


def _refuse(problems: Sequence[str], source: str) -> None:
    """Refuse what is wrong with columns in one message."""
    text = "; ".join(filter(None, problems))
    if text:
        raise InputError(f"{source}: {text}.")
