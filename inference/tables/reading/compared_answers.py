"""Columns of answers as codes: what is missing, which spellings are one label, which scale, what order."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import InputError, counted, did_you_mean, listed
from ..columns import visible
from ..row_numbers import row_words
from ..safe_text import printable
from .account import MOST_CELLS, AccountEntry, ReadingAccount
from .cell_rules import (
    far_numbers,
    has_unit,
    is_code,
    is_date,
    is_nothing,
    is_refusal,
    key_of,
    mostly_numbers,
    number_codes,
    number_of,
)
from .reading_rules import ReadingRules

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

FEW_NUMBERS = 5  # whole numbers with more distinct values are measured, not counted as classes
MOST_CLASSES = 50
LONGEST = 60  # characters of a cell that a sentence quotes
WITHOUT_ANSWER = -1
STRANGER = -2  # code of a text that is none of the stated levels, until it is refused


@dataclass(frozen=True)
class DistinctTexts:
    """The distinct texts of a column of n cells, and which of them each cell has."""

    name: str
    texts: tuple[str, ...]
    code: Codes  # (n,): position in `texts`, -1 for a cell without content
    order: tuple[str, ...]  # what the column itself declares: ordered categories, else empty
    source: str = ""  # the table, which knows the numbers of its rows
    rows: Codes | None = None  # (n,): places of the rows in that table, from 0; by default 0 to n - 1
    cell_columns: Sequence[str] | None = None  # (n,): columns of the file from which the cells were taken

    @property
    def counts(self) -> Codes:
        """How many cells have each text."""
        return np.bincount(self.code[self.code >= 0], minlength=len(self.texts)).astype(np.int64)

    def where(self, place: int) -> str:
        """The first row with a text, and its column where the cells are of several."""
        at = int((self.code == place).argmax())
        column = "" if self.cell_columns is None else f" of column '{self.cell_columns[at]}'"
        return f"row {row_words(self.source, at if self.rows is None else self.rows[at])}{column}"

    def without(self, places: Collection[int]) -> DistinctTexts:
        """The column without some of its texts."""
        remaining = [place for place in range(len(self.texts)) if place not in places]
        position = np.full(len(self.texts) + 1, WITHOUT_ANSWER, dtype=np.int64)
        position[remaining] = np.arange(len(remaining))
        texts = tuple(self.texts[place] for place in remaining)
        return replace(self, texts=texts, code=position[self.code])


@dataclass(frozen=True)
class ComparedAnswers:
    """Answers in C columns of n rows, on one scale.

    Parameters
    ----------
    names : tuple of str
        The columns.
    codes : ndarray of int, shape (C, n)
        Place of each answer in ``classes``, 0 for a number of an interval scale; -1 where there is none.
    values : ndarray of float, shape (C, n)
        Numbers; of labels on an ordinal scale the numbers that they are, else their places; NaN without one.
    classes : tuple of str
        Labels in their order; empty for an interval scale.
    scale : str
        ``nominal``, ``ordinal`` or ``interval``.
    entries : tuple of AccountEntry
        What was folded, taken as missing and guessed.

    Examples
    --------
    >>> table = {"gpt": pd.Series(["yes", "No ", None]), "ann": pd.Series(["yes", "no", "no"])}
    >>> read_answers(table, ReadingRules(), source="table").codes.tolist()
    [[1, 0, -1], [1, 0, 0]]
    """

    names: tuple[str, ...]
    codes: Codes
    values: Floats
    classes: tuple[str, ...]
    scale: str
    entries: tuple[AccountEntry, ...]


def read_answers(
    columns: Mapping[str, pd.Series[Any]],
    options: ReadingRules,
    *,
    source: str,
    reference: Collection[str] = (),
    rows: Codes | None = None,
    cell_columns: Sequence[str] | None = None,
) -> ComparedAnswers:
    """Bring columns of answers that are compared with each other to one scale and one set of labels.

    Parameters
    ----------
    columns : mapping of str to Series of n cells
        The answers by column; of any type.
    options : ReadingRules
        What is stated about missing cells, labels, their order and the scale.
    source : str
        What errors call the table.
    reference : collection of str
        Columns whose spelling of a label is used where columns differ.
    rows : ndarray of int, shape (n,), optional
        Numbers of these rows in their table, from 0, which errors name.
    cell_columns : sequence of n str, optional
        Columns of the file from which the cells were taken, where they are of several.

    Returns
    -------
    ComparedAnswers
        Codes, values, classes, scale, and the account.

    Raises
    ------
    InputError
        A text may be a label or nothing; most cells are numbers and one is not; a label is none of the
        stated levels; there are too many labels; something is guessed and the rules are strict.

    Examples
    --------
    >>> numbers = {"gpt": pd.Series([1, 2, 5, 4]), "ann": pd.Series([1, 3, 5, 4])}
    >>> read_answers(numbers, ReadingRules(), source="table").scale
    'ordinal'
    """
    entries: list[AccountEntry] = []
    distinct = [distinct_texts(name, column) for name, column in columns.items()]
    distinct = [replace(column, source=source, rows=rows, cell_columns=cell_columns) for column in distinct]
    texts = [_relabel(column, options) for column in distinct]
    _refuse_unused(texts, columns, options, source)
    texts = _drop_missing(texts, options, source)
    scale = _scale_of(texts, options, source, entries)
    if scale == "interval":
        values = np.stack([_numbers(column, source) for column in texts])
        entries = [*_far_numbers(texts, values), *entries]
        codes = np.where(np.isnan(values), WITHOUT_ANSWER, 0).astype(np.int64)
        account = ReadingAccount(strict=options.strict).adding(entries)
        return ComparedAnswers(tuple(columns), codes, values, (), scale, account.entries)
    codes, classes = _classes(texts, options, scale, source, reference, entries)
    numbers = [number_of(name) for name in classes]
    is_numeric = scale == "ordinal" and None not in numbers
    places = np.array([value or 0.0 for value in numbers] if is_numeric else range(len(classes)), dtype=float)
    values = np.where(codes >= 0, np.append(places, np.nan)[codes], np.nan)
    entries = [*(_far_numbers(texts, values) if is_numeric else []), *entries]
    account = ReadingAccount(strict=options.strict).adding(entries)
    return ComparedAnswers(tuple(columns), codes, values, classes, scale, account.entries)


def _far_numbers(texts: Sequence[DistinctTexts], values: Floats) -> list[AccountEntry]:
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
    return entries


def refuse_doubtful(columns: Mapping[str, pd.Series[Any]], options: ReadingRules, source: str) -> None:
    """Refuse cells of which nobody said what they are while they have the columns and rows of their table."""
    distinct = [replace(distinct_texts(name, column), source=source) for name, column in columns.items()]
    texts = _drop_missing([_relabel(column, options) for column in distinct], options, source)
    if options.scale is None:
        free = [column for column in texts if not (column.order or options.order_of(column.name))]
        _refuse_few_words(free, source)


def distinct_texts(name: str, column: pd.Series[Any]) -> DistinctTexts:
    """The distinct texts of a column of any type; whole numbers have no decimal point."""
    order: tuple[str, ...] = ()
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = [_text_of(value) for value in column.cat.categories]
        order = tuple(categories) if column.cat.ordered else ()
        column = column.astype(object)
    try:
        codes, uniques = pd.factorize(column)
    except TypeError:  # lists and other nested values
        codes, uniques = pd.factorize(column.map(str, na_action="ignore"))
    place: dict[str, int] = {}
    position = [place.setdefault(_text_of(value), len(place)) for value in uniques]
    code = np.array([*position, WITHOUT_ANSWER], dtype=np.int64)[codes]
    return DistinctTexts(name, tuple(place), code, order)


def quoted(text: str) -> str:
    """A cell as a sentence quotes it, cut where it is long."""
    return f"'{text}'" if len(text) <= LONGEST else f"'{text[:LONGEST]}...'"


def as_argument(text: str) -> str:
    """A text as an argument of a command: whole, in quotes that a shell understands."""
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if not set(text) & set('"$`\\!') else shlex.quote(text)


def _text_of(value: object) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return printable(" ".join(visible(value).split()) if isinstance(value, str) else value)


def _relabel(column: DistinctTexts, options: ReadingRules) -> DistinctTexts:
    """The column with the labels that are stated for its texts."""
    if not options.relabel:
        return column
    new = {key_of(text): label for text, label in options.relabel.items()}
    place: dict[str, int] = {}
    position = [place.setdefault(printable(new.get(key_of(text), text)), len(place)) for text in column.texts]
    code = np.array([*position, WITHOUT_ANSWER], dtype=np.int64)[column.code]
    order = tuple(dict.fromkeys(new.get(key_of(text), text) for text in column.order))
    return replace(column, texts=tuple(place), code=code, order=order)


def _refuse_unused(
    texts: Sequence[DistinctTexts],
    columns: Mapping[str, pd.Series[Any]],
    options: ReadingRules,
    source: str,
) -> None:
    """Refuse a text to relabel that no cell has: it is misspelt, and its label would not be merged."""
    if not options.relabel:
        return
    before = {
        key_of(text): text for name, column in columns.items() for text in distinct_texts(name, column).texts
    }
    for text in options.relabel:
        if key_of(text) not in before:
            raise InputError(
                f"{source}: no compared cell contains {quoted(text)}{did_you_mean(text, before.values())}, "
                f"so it cannot be relabelled; {_names(texts)} "
                f"{listed(map(quoted, before.values()), MOST_CELLS)}."
            )


def _names(texts: Sequence[DistinctTexts]) -> str:
    names = listed(f"'{column.name}'" for column in texts)
    return f"column {names} has" if len(texts) == 1 else f"columns {names} have"


def _drop_missing(
    columns: Sequence[DistinctTexts], options: ReadingRules, source: str
) -> list[DistinctTexts]:
    """Columns without cells that are no answer; refuse all texts of which nobody said what they are."""
    parts = [_blank_texts(column, options) for column in columns]
    _refuse([_question(column, places) for column, (_, places) in zip(columns, parts, strict=True)], source)
    return [column.without(blank) for column, (blank, _) in zip(columns, parts, strict=True)]


def _refuse(problems: Sequence[str], source: str) -> None:
    """Refuse what is wrong with columns in one message."""
    text = "; ".join(filter(None, problems))
    if text:
        raise InputError(f"{source}: {text}.")


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
        remedy = f"and if they are labels, name all labels with --levels {as_argument(','.join(labels))}"
    return (
        f"column '{column.name}' contains {listed(map(quoted, texts), MOST_CELLS)} in "
        f"{counted(total, 'cell')} (first in {column.where(places[0])}), {phrase}, {remedy}"
    )


def _scale_of(
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
        return "nominal"
    _refuse_few_words(texts, source)
    values = [number_of(text) for column in texts for text in column.texts]
    numbers = {value for value in values if value is not None}
    if None in values or not numbers:
        _refuse_units(texts, source)
        return "nominal"
    if len(numbers) > FEW_NUMBERS or any(not value.is_integer() for value in numbers):
        sentence = "Answers are numbers, and are compared as measurements (interval scale)."
        entries.append(AccountEntry("types", sentence, option="--scale"))
        return "interval"
    if len(numbers) > 2:
        span = f"{min(numbers):g} to {max(numbers):g}"
        sentence = f"Answers are whole numbers from {span}, and are compared as ordered classes."
        entries.append(AccountEntry("types", sentence, option="--scale"))
        return "ordinal"
    return "nominal"


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


def _refuse_few_words(columns: Sequence[DistinctTexts], source: str) -> None:
    """Refuse cells that are no numbers in columns where most are: they would turn all into labels."""
    _refuse([_few_words(column) for column in columns], source)


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


def _refuse_units(texts: Sequence[DistinctTexts], source: str) -> None:
    """Refuse columns whose cells are numbers with units: as labels they would have no order."""
    for column in texts:
        if len(column.texts) > 2 and all(has_unit(text) for text in column.texts):
            raise InputError(
                f"{source}: column '{column.name}' contains numbers with units, such as "
                f"{quoted(column.texts[0])}; write the numbers alone, or compare them as labels with --scale "
                "nominal."
            )


def _numbers(column: DistinctTexts, source: str) -> Floats:
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


def _classes(
    texts: Sequence[DistinctTexts],
    options: ReadingRules,
    scale: str,
    source: str,
    reference: Collection[str],
    entries: list[AccountEntry],
) -> tuple[Codes, tuple[str, ...]]:
    """Codes of all columns, shape (C, n), and the classes in their order."""
    spelled: dict[str, Counter[str]] = {}
    for column in texts:
        if len(column.texts) > MOST_CLASSES and not options.order_of(column.name):
            raise InputError(
                f"{source}: column '{column.name}' has {len(column.texts):,} different labels, and at most "
                f"{MOST_CLASSES} can be compared; name a column of labels, or the scale interval for numbers."
            )
        weight = 1 + 10**9 * (column.name in reference)
        for text, count in zip(column.texts, column.counts.tolist(), strict=True):
            spelled.setdefault(key_of(text), Counter())[text] += count * weight
    labels = {
        key: spellings.most_common(1)[0][0] if number_of(key) is None else key
        for key, spellings in spelled.items()
    }
    merged = [sorted(spellings) for spellings in spelled.values() if len(spellings) > 1]
    if merged:
        # That two spellings are one number is no guess.
        examples = [
            f"--relabel {as_argument(f'{text}={labels[key]}')}"
            for key, spellings in spelled.items()
            for text in list(spellings)[:2]
            if number_of(key) is None and text != labels[key]
        ]
        entries.append(
            AccountEntry(
                "merged",
                "Spellings treated as one label: "
                + f"{listed(' and '.join(map(quoted, spellings)) for spellings in merged)}.",
                cells=tuple(text for spellings in merged for text in spellings)[:MOST_CELLS],
                count=len(merged),
                option=" ".join(examples) or None,
            )
        )
    order = _order_of(labels, texts, options, scale, source)
    place = {key: number for number, key in enumerate(order)}
    codes = np.stack(
        [
            np.array([*(place.get(key_of(text), STRANGER) for text in column.texts), WITHOUT_ANSWER])[
                column.code
            ]
            for column in texts
        ]
    ).astype(np.int64)
    _refuse_strangers(codes, texts, tuple(order.values()), source)
    return codes, tuple(order.values())


def _order_of(
    labels: Mapping[str, str],
    texts: Sequence[DistinctTexts],
    options: ReadingRules,
    scale: str,
    source: str,
) -> dict[str, str]:
    """Names of the classes by their keys, in order: as stated, as declared, by number, by alphabet."""
    levels = next((order for column in texts if (order := options.order_of(column.name))), ())
    declared = levels or next((column.order for column in texts if column.order), ())
    if declared:
        return {key_of(name): name for name in declared}
    values = {key: number_of(text) for key, text in labels.items()}
    for column in texts:
        by_value = {key_of(name): name for name in options.value_labels.get(column.name, ())}
        if labels and labels.keys() <= by_value.keys():
            return by_value if scale == "ordinal" else {key: labels[key] for key in by_value if key in labels}
    if labels and None not in values.values():
        return {key: labels[key] for key in sorted(labels, key=lambda key: values[key] or 0.0)}
    if scale == "ordinal":
        raise InputError(
            f"{source}: these labels have no order ({listed(sorted(labels.values()))}); give all of them "
            "from the lowest to the highest with --levels."
        )
    return {key: labels[key] for key in sorted(labels)}


def _refuse_strangers(
    codes: Codes, texts: Sequence[DistinctTexts], classes: Sequence[str], source: str
) -> None:
    for column, code in zip(texts, codes, strict=True):
        if (code == STRANGER).any():
            place = int(column.code[int((code == STRANGER).argmax())])
            text = column.texts[place]
            raise InputError(
                f"{source}: column '{column.name}' contains {quoted(text)} in {column.where(place)}, "
                f"which is none of the levels ({listed(classes)}){did_you_mean(text, classes)}; add it "
                "to --levels, state it as --missing, or correct it."
            )
