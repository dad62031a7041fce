"""A table with columns of a judge and of people as codes: which labels are the same, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed
from conjury.inference.tables.columns import fold
from conjury.inference.tables.safe_text import printable

from ...numerics.types import Codes, Floats

MISSING = ("", "na", "nan", "<na>", "none", "null")  # labels that are none, folded
MOST_CLASSES = 50
MOST_LEVELS = 50
PANEL = 3  # people from which on the label of most of them counts as right
FEW_NUMBERS = 5  # numbers with more distinct values are ratings, unless a scale is named
SCALES = ("nominal", "ordinal", "interval")
NO_LEVEL = "(missing)"


@dataclass(frozen=True)
class Groups:
    """A column of subgroups."""

    name: str
    code: Codes  # (n,)
    levels: tuple[str, ...]


@dataclass(frozen=True)
class CodedRows:
    """n rows with the answers of one or more judges and of P people."""

    # shape (J, n): class of each judge's answer, -1 where there is none; of ratings 0 where there is an
    # answer
    judges: Codes
    people: Codes  # shape (P, n): the same of people
    # judged, rated: shapes (J, n) and (P, n): Answers as numbers, NaN where there are none; of labels without
    # an order their codes.
    judged: Floats
    rated: Floats
    # in rising order for numbers, in the order given, else alphabetical; empty for ratings
    classes: tuple[str, ...]
    scale: str  # nominal, ordinal or interval
    cluster: Codes  # shape (n,): item of each row
    groups: tuple[Groups, ...]
    positive: str | None
    people_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.judges.shape[1])

    @property
    def q(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def rows(self, mask: np.ndarray) -> CodedRows:
        """The rows where ``mask`` is true, or those at its places."""
        groups = tuple(replace(group, code=group.code[mask]) for group in self.groups)
        parts = {name: getattr(self, name)[:, mask] for name in ("judges", "people", "judged", "rated")}
        cluster = np.unique(self.cluster[mask], return_inverse=True)[1].astype(np.int64)
        return replace(self, **parts, cluster=cluster, groups=groups)


@dataclass(frozen=True)
class CodingOptions:
    """Which columns there are, and how they are read; attributes as the arguments of `judge`."""

    judges: tuple[str, ...]
    human: tuple[str, ...]
    by: tuple[str, ...] = ()
    id: str | None = None
    scale: str | None = None
    classes: tuple[str, ...] = ()
    positive: str | None = None
    relabel: Mapping[str, str] | None = None


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of columns, of which one may come alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def code_table(table: pd.DataFrame, options: CodingOptions, source: str = "table") -> CodedRows:
    """Bring the columns of a table to codes; InputError for what cannot be compared."""
    refuse_columns(table, options, source)
    if not len(table):
        raise InputError(f"{source}: the table has no rows; give one with judged items.")
    names = (*options.judges, *options.human)
    columns = [_read(table[name], options.relabel if name in options.judges else None) for name in names]
    scale = _scale(columns, options, source)
    notes: list[str] = []
    classes: tuple[str, ...] = ()
    if scale == "interval":
        values = np.stack(
            [_numbers(column, name, source) for column, name in zip(columns, names, strict=True)]
        )
        codes = np.where(np.isnan(values), -1, 0)
    else:
        codes, classes = _classes(columns, options, source, notes)
        values = np.where(codes >= 0, _values(classes, scale)[codes], np.nan)
    count = len(options.judges)
    return CodedRows(
        judges=codes[:count],
        people=codes[count:].reshape(len(options.human), len(table)),
        judged=values[:count],
        rated=values[count:].reshape(len(options.human), len(table)),
        classes=classes,
        scale=scale,
        cluster=_clusters(table, options.id, source),
        groups=tuple(_groups(table[name], source) for name in options.by),
        positive=_positive(options.positive, classes, source),
        people_names=options.human,
        notes=tuple(notes),
    )


def refuse_columns(table: pd.DataFrame, options: CodingOptions, source: str) -> None:
    """Refuse columns that do not exist, or have two parts."""
    if options.scale is not None and options.scale not in SCALES:
        raise InputError(
            f"scale is {options.scale!r}{did_you_mean(options.scale, SCALES)}; use {listed(SCALES)}."
        )
    named = [*options.judges, *options.human, *options.by, *([options.id] if options.id is not None else [])]
    names = [str(name) for name in table.columns]
    for name in named:
        if name not in names:
            raise InputError(
                f"{source}: there is no column '{name}'{did_you_mean(name, names)}; there are "
                f"{listed(names)}."
            )
        if names.count(name) > 1:
            raise InputError(f"{source}: column '{name}' occurs twice; rename one of them.")
    answers = [*options.judges, *options.human]
    for name, count in Counter([*answers, *options.by]).items():
        if count > 1:
            raise InputError(f"{source}: column '{name}' is given twice; give it once.")
    if options.id in answers:
        raise InputError(f"{source}: column '{options.id}' contains answers, so it cannot name items.")


@dataclass(frozen=True)
class _Column:
    """The distinct texts of a column, and the text of each row as a position, -1 for none."""

    texts: tuple[str, ...]
    code: Codes

    @property
    def numbers(self) -> list[float] | None:
        """The texts as numbers; None where one is none."""
        values = [number_of(text) for text in self.texts]
        return None if None in values else [value for value in values if value is not None]


def _read(column: pd.Series[Any], relabel: Mapping[str, str] | None) -> _Column:
    series = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:  # lists and other nested values
        codes, uniques = pd.factorize(series.map(str, na_action="ignore"))
    renamed = {fold(source.strip()): target for source, target in (relabel or {}).items()}
    place: dict[str, int] = {}
    at = []
    for value in uniques:
        text = printable(value)
        text = renamed.get(fold(text), text)
        at.append(-1 if fold(text) in MISSING else place.setdefault(text, len(place)))
    return _Column(tuple(place), np.array([*at, -1], dtype=np.int64)[codes])


def keys_of(column: pd.Series[Any]) -> np.ndarray:
    """What tells the labels of a column apart, shape (n,), whatever their spelling; empty where none is."""
    read = _read(column, None)
    return np.array([*map(_key, read.texts), ""], dtype=object)[read.code]


def number_of(text: str) -> float | None:
    """A label as a number; None where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and "_" not in text else None


def _scale(columns: Sequence[_Column], options: CodingOptions, source: str) -> str:
    """The scale that is named, else ratings for many numbers."""
    if options.scale is not None:
        return options.scale
    if options.classes or options.positive is not None or any(column.numbers is None for column in columns):
        return "nominal"
    distinct = {value for column in columns for value in column.numbers or ()}
    return "interval" if len(distinct) > FEW_NUMBERS else "nominal"


def _numbers(column: _Column, name: str, source: str) -> Floats:
    values = []
    for place, text in enumerate(column.texts):
        value = number_of(text)
        if value is None:
            row = int((column.code == place).argmax()) + 1
            raise InputError(
                f"{source}: column '{name}' contains '{_short(text)}' in row {row:,}, which is no number; "
                "correct it, or use the scale nominal."
            )
        values.append(value)
    return np.array([*values, np.nan])[column.code]


def _classes(
    columns: Sequence[_Column], options: CodingOptions, source: str, notes: list[str]
) -> tuple[Codes, tuple[str, ...]]:
    """Codes of all columns, shape (columns, n), and the classes."""
    spelled: dict[str, Counter[str]] = {}
    for name, column in zip((*options.judges, *options.human), columns, strict=True):
        if len(column.texts) > MOST_CLASSES and not options.classes:
            raise InputError(
                f"{source}: column '{name}' has {len(column.texts):,} different labels, and at most "
                f"{MOST_CLASSES} can be compared; name a column of labels, or the scale interval for numbers."
            )
        counts = np.bincount(column.code[column.code >= 0], minlength=len(column.texts))
        for text, count in zip(column.texts, counts, strict=True):
            # People's spelling counts more than a judge's.
            spelled.setdefault(_key(text), Counter())[text] += int(count) * (
                1 + 10**9 * (name in options.human)
            )
    merged = [sorted(spellings) for spellings in spelled.values() if len(spellings) > 1]
    if merged:
        notes.append(
            f"Spellings treated as one label: {listed(' and '.join(map(_short, texts)) for texts in merged)}."
        )
    label = {
        key: spellings.most_common(1)[0][0] if number_of(key) is None else key
        for key, spellings in spelled.items()
    }
    order = _order(label, options, source)
    place = {key: number for number, key in enumerate(order)}
    codes = np.stack(
        [
            np.array([*(place.get(_key(text), -2) for text in column.texts), -1], dtype=np.int64)[column.code]
            for column in columns
        ]
    )
    _refuse_strangers(codes, columns, options, source)
    if not options.classes:
        _refuse_disjoint(codes, order, label, options, source)
    return codes, tuple(label.get(key, name) for key, name in order.items())


def _order(label: Mapping[str, str], options: CodingOptions, source: str) -> dict[str, str]:
    """Keys of the classes in their order, with their names."""
    if options.classes:
        keys = {_key(name): name for name in options.classes}
        if len(keys) < max(len(options.classes), 2):
            raise InputError("classes: give at least two different labels, each once, in their order.")
        return keys
    numbers = {key: number_of(text) for key, text in label.items()}
    if label and None not in numbers.values():
        return {key: label[key] for key in sorted(label, key=lambda key: numbers[key] or 0.0)}
    if options.scale == "ordinal":
        raise InputError(
            f"{source}: these labels have no order ({listed(sorted(label.values()))}); give all classes "
            "from the lowest to the highest."
        )
    return {key: label[key] for key in sorted(label)}


def _key(text: str) -> str:
    value = number_of(text)
    return fold(text) if value is None else f"{value:.12g}"


def _values(classes: Sequence[str], scale: str) -> Floats:
    """Classes as numbers: their values where all are numbers, else their places."""
    numbers = [number_of(name) for name in classes]
    is_numeric = scale == "ordinal" and None not in numbers
    return np.array([value or 0.0 for value in numbers] if is_numeric else range(len(classes)), dtype=float)


def _refuse_strangers(codes: Codes, columns: Sequence[_Column], options: CodingOptions, source: str) -> None:
    for name, column, code in zip((*options.judges, *options.human), columns, codes, strict=True):
        if (code == -2).any():
            row = int((code == -2).argmax())
            text = column.texts[column.code[row]]
            raise InputError(
                f"{source}: column '{name}' contains '{_short(text)}' in row {row + 1:,}, which is none of "
                f"the classes ({listed(options.classes)}); add it to the classes, or correct it."
            )


def _refuse_disjoint(
    codes: Codes, order: Mapping[str, str], label: Mapping[str, str], options: CodingOptions, source: str
) -> None:
    """Refuse a judge who gives no label that people give: the two speak of different things."""
    names = [label.get(key, name) for key, name in order.items()]
    count = len(options.judges)
    people = set(codes[count:][codes[count:] >= 0].tolist())
    for name, code in zip(options.judges, codes[:count], strict=True):
        judge = set(code[code >= 0].tolist())
        if judge and people and not judge & people:
            raise InputError(
                f"{source}: '{name}' gives {listed((_short(names[k]) for k in sorted(judge)), 6)} and "
                f"people give {listed((_short(names[k]) for k in sorted(people)), 6)}, so they have no "
                "label in common; state which labels are the same, such as --relabel "
                f"'{_short(names[min(judge)])}={_short(names[min(people)])}'."
            )


def _clusters(table: pd.DataFrame, name: str | None, source: str) -> Codes:
    if name is None:
        return np.arange(len(table))
    codes, _ = pd.factorize(table[name])
    if (codes < 0).any():
        row = int((codes < 0).argmax()) + 1
        raise InputError(f"{source}: column '{name}' is empty in row {row:,}; every row needs an item.")
    return codes.astype(np.int64)


def _groups(column: pd.Series[Any], source: str) -> Groups:
    codes, uniques = pd.factorize(column.astype(object), use_na_sentinel=True)
    texts = [printable(value) or NO_LEVEL for value in uniques]
    if (codes < 0).any():
        texts.append(NO_LEVEL)
        codes = np.where(codes < 0, len(texts) - 1, codes)
    levels = sorted(set(texts))
    if len(levels) > MOST_LEVELS:
        raise InputError(
            f"{source}: column '{column.name}' has {counted(len(levels), 'subgroup')}, and at most "
            f"{MOST_LEVELS} can be compared; name a column with fewer levels."
        )
    place = np.array([levels.index(text) for text in texts], dtype=np.int64)
    return Groups(str(column.name), place[codes], tuple(levels))


def _positive(label: str | None, classes: Sequence[str], source: str) -> str | None:
    if label is None:
        return None
    names_by_key = {_key(name): name for name in classes}
    if _key(label) not in names_by_key:
        raise InputError(
            f"{source}: the positive class '{label}' does not occur{did_you_mean(label, classes)}; there "
            f"are {listed(map(_short, classes))}."
        )
    return names_by_key[_key(label)]


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def counts_of(people: Codes, q: int) -> Floats:
    """How many people gave each row each class, shape (n, q); ratings have no classes."""
    counts = np.zeros((people.shape[1], q))
    for codes in people if q else ():
        rows = np.flatnonzero(codes >= 0)
        counts[rows, codes[rows]] += 1
    return counts


def majority(counts: Floats) -> Codes:
    """The class that most people gave each row, shape (n,); -1 for a tie or without people."""
    if not counts.shape[1]:
        return np.full(len(counts), -1, dtype=np.int64)
    most = counts.max(axis=1)
    alone = (counts == most[:, None]).sum(axis=1) == 1
    return np.where(alone & (most > 0), counts.argmax(axis=1), -1).astype(np.int64)


@dataclass(frozen=True)
class GoldCoding:
    """N labels that count as right: of each row that of most people, or each label of one or two people."""

    # With two people a majority would exclude all rows on which they differ, which are the hard ones.

    row: Codes  # (N,): rows that the labels are about
    label: Codes  # (N,)
    ties: int  # rows without a majority


def gold_of(coded: CodedRows) -> GoldCoding:
    """The labels against which errors are counted."""
    if len(coded.people) < PANEL:
        return every_label(coded)
    label = majority(counts_of(coded.people, coded.q))
    row = np.flatnonzero(label >= 0)
    ties = int(((label < 0) & (coded.people >= 0).any(axis=0)).sum())
    return GoldCoding(row, label[row], ties)


def every_label(coded: CodedRows) -> GoldCoding:
    """All labels of all people."""
    person, row = np.nonzero(coded.people >= 0)
    return GoldCoding(row, coded.people[person, row], 0)
