"""A table with columns of a judge and of people as codes: which labels are the same, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, did_you_mean, listed, no_column, quoted
from conjury.inference.tables.reading.answers.compared_answers import ComparedAnswers, read_answers
from conjury.inference.tables.reading.answers.distinct_texts import distinct_texts
from conjury.inference.tables.reading.cell_rules import key_of
from conjury.inference.tables.reading.reading_rules import ReadingRules
from conjury.inference.tables.row_numbers import row_words
from conjury.inference.tables.safe_text import printable

from ...numerics.types import Codes, Floats

MOST_LEVELS = 50
PANEL = 3  # people from which on the label of most of them counts as right
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
    # (n,): how many rows each stands for if it is labelled, where its probability is known
    represented: Floats | None = None

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
        represented = None if self.represented is None else self.represented[mask]
        return replace(self, **parts, cluster=cluster, groups=groups, represented=represented)


@dataclass(frozen=True)
class CodingOptions:
    """Which columns there are, and how they are read; attributes as the arguments of `judge`."""

    judges: tuple[str, ...]
    human: tuple[str, ...]
    by: tuple[str, ...] = ()
    id: str | None = None
    positive: str | None = None
    rules: ReadingRules = field(default_factory=ReadingRules)


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of columns, of which one may come alone."""
    return (names,) if isinstance(names, str) else tuple(names)


def code_table(table: pd.DataFrame, options: CodingOptions, source: str = "table") -> CodedRows:
    """Bring the columns of a table to codes; InputError for what cannot be compared."""
    refuse_columns(table, options, source)
    if not len(table):
        raise InputError(f"{source}: the table has no rows; give one with judged items.")
    names = (*options.judges, *options.human)
    answers = read_answers(
        {name: table[name] for name in names}, options.rules, source=source, reference=options.human
    )
    if answers.scale != "interval" and not any(options.rules.order_of(name) for name in names):
        _refuse_disjoint(answers, options, source)
    count, shape = len(options.judges), (len(options.human), len(table))
    people, rated = answers.codes[count:].reshape(shape), answers.values[count:].reshape(shape)
    # Who answered nothing is no person: with one more, two disagreeing labels would be a tie of three.
    answered = np.asarray(np.isfinite(rated).any(axis=1))
    present = answered if answered.any() else np.ones(len(options.human), dtype=bool)
    silent = [name for name, is_present in zip(options.human, present, strict=True) if not is_present]
    notes = [f"No person answered in {listed(map(repr, silent))}, which is not used."] if silent else []
    return CodedRows(
        judges=answers.codes[:count],
        people=people[present],
        judged=answers.values[:count],
        rated=rated[present],
        classes=answers.classes,
        scale=answers.scale,
        cluster=_clusters(table, options.id, source),
        groups=tuple(groups_of(table[name], source) for name in options.by),
        positive=_positive(options.positive, answers.classes, source),
        people_names=tuple(name for name in options.human if name not in silent),
        notes=(*(entry.sentence for entry in answers.entries), *notes),
    )


def refuse_columns(table: pd.DataFrame, options: CodingOptions, source: str) -> None:
    """Refuse columns that do not exist, or have two parts."""
    named = [*options.judges, *options.human, *options.by, *([options.id] if options.id is not None else [])]
    names = [str(name) for name in table.columns]
    for name in named:
        if name not in names:
            raise no_column(source, name, names)
        if names.count(name) > 1:
            raise InputError(f"{source}: column '{name}' occurs twice; rename one of them.")
    answers = [*options.judges, *options.human]
    for name, count in Counter([*answers, *options.by]).items():
        if count > 1:
            raise InputError(f"{source}: column '{name}' is given twice; give it once.")
    if options.id in answers:
        raise InputError(f"{source}: column '{options.id}' contains answers, so it cannot name items.")


def keys_of(column: pd.Series[Any]) -> np.ndarray:
    """What tells the labels of a column apart, shape (n,), whatever their spelling; empty where none is."""
    texts = distinct_texts(str(column.name), column)
    return np.array([*map(key_of, texts.texts), ""], dtype=object)[texts.code]


def _refuse_disjoint(answers: ComparedAnswers, options: CodingOptions, source: str) -> None:
    """Refuse a judge who gives no label that people give: the two speak of different things."""
    count = len(options.judges)
    people = set(answers.codes[count:].ravel().tolist()) - {-1}
    for name, code in zip(options.judges, answers.codes[:count], strict=True):
        judge = set(code.tolist()) - {-1}
        if judge and people and not judge & people:
            labels = [[quoted(answers.classes[k]) for k in sorted(side)] for side in (judge, people)]
            raise InputError(
                f"{source}: '{name}' gives {listed(labels[0], 6)} and people give {listed(labels[1], 6)}, so "
                "they have no label in common; state what each label of the judge means to people, as "
                "--relabel LABEL=LABEL once for each, or name other columns."
            )


def _clusters(table: pd.DataFrame, name: str | None, source: str) -> Codes:
    if name is None:
        return np.arange(len(table))
    codes, _ = pd.factorize(table[name])
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise InputError(
            f"{source}: column '{name}' is empty in row {row_words(source, row)}; every row needs an item."
        )
    return codes.astype(np.int64)


def groups_of(column: pd.Series[Any], source: str) -> Groups:
    """Code a column of subgroups, those without a value as one of their own."""
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
    names_by_key = {key_of(name): name for name in classes}
    if key_of(label) not in names_by_key:
        raise InputError(
            f"{source}: the positive class '{label}' does not occur{did_you_mean(label, classes)}; there "
            f"are {listed(map(quoted, classes))}."
        )
    return names_by_key[key_of(label)]


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
