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
    _refuse(
        _questions([(column, places) for column, (_, places) in zip(columns, parts, strict=True)]), source
    )
    return [column.without(blank) for column, (blank, _) in zip(columns, parts, strict=True)]


def refuse_few_words(columns: Sequence[DistinctTexts], source: str) -> None:
    """Refuse cells that are no numbers in columns where most are: they would turn all into labels."""
    _refuse(_few_words(columns), source)


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


def _questions(doubtful: Sequence[tuple[DistinctTexts, Sequence[int]]]) -> list[str]:
    """What texts at places of columns are, labels or no answers; columns with the same texts together."""
    alike: dict[tuple[frozenset[str], bool], list[tuple[DistinctTexts, Sequence[int]]]] = {}
    for column, places in doubtful:
        if places:
            texts = frozenset(key_of(column.texts[place]) for place in places)
            alike.setdefault((texts, _has_numbers_alone(column, places)), []).append((column, places))
    return [_question(columns, are_numbers) for (_, are_numbers), columns in alike.items()]


def _has_numbers_alone(column: DistinctTexts, places: Sequence[int]) -> bool:
    """Whether the texts of a column that are not at places are numbers, and whether there are any."""
    answers = [text for place, text in enumerate(column.texts) if place not in places]
    return bool(answers) and all(number_of(text) is not None for text in answers)


def _question(columns: Sequence[tuple[DistinctTexts, Sequence[int]]], are_numbers: bool) -> str:
    """What the same texts of columns are, labels or no answers, with both remedies."""
    first, first_places = columns[0]
    texts = [first.texts[place] for place in first_places]
    total = sum(int(column.counts[list(places)].sum()) for column, places in columns)
    answers = {
        key_of(text): text
        for column, places in columns
        for place, text in enumerate(column.texts)
        if place not in places
    }
    missing = " ".join(f"--missing {as_argument(text)}" for text in texts[:MOST_CELLS])
    phrase = f"which may be no {'answers' if len(texts) > 1 else 'answer'}; if so, state {missing}"
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
    where = first.where(first_places[0]) + (f" of '{first.name}'" if columns[1:] else "")
    return (
        f"{_contain([column for column, _ in columns])} {listed(map(quoted, texts), MOST_CELLS)} in "
        f"{counted(total, 'cell')} (first in {where}), {phrase}, {remedy}"
    )


def _contain(columns: Sequence[DistinctTexts]) -> str:
    """The subject and the verb of what one or more columns contain."""
    names = listed([f"'{column.name}'" for column in columns], MOST_CELLS)
    return f"column{'s' * bool(columns[1:])} {names} contain{'s' * (not columns[1:])}"


def _few_words(columns: Sequence[DistinctTexts]) -> list[str]:
    """What is wrong with the words of columns of numbers; columns with the same words together."""
    alike: dict[frozenset[str], list[DistinctTexts]] = {}
    for column in columns:
        is_number = np.array([number_of(text) is not None for text in column.texts], dtype=bool)
        if not is_number.all() and mostly_numbers(is_number, column.counts):
            words = [text for text, number in zip(column.texts, is_number, strict=True) if not number]
            alike.setdefault(frozenset(words), []).append(column)
    problems = []
    for same in alike.values():
        text, *further = [word for word in same[0].texts if number_of(word) is None]
        more = f" (and {listed(map(quoted, further), 4)})" if further else ""
        where = same[0].where(same[0].texts.index(text)) + (f" of '{same[0].name}'" if same[1:] else "")
        problems.append(
            f"{_contain(same)} {quoted(text)} in {where}{more}, while most of its cells are numbers; if "
            f"it is no answer, state it as --missing {as_argument(text)}, else correct it, or compare all "
            "answers as labels with --scale nominal"
        )
    return problems


def _refuse(problems: Sequence[str], source: str) -> None:
    """Refuse what is wrong with columns in one message."""
    text = "; ".join(filter(None, problems))
    if text:
        raise InputError(f"{source}: {text}.")
