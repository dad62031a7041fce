"""What counts as an answer: words of a scale as numbers, attention checks, and reasons to exclude answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, counted, did_you_mean, listed
from ..tables.reading.account import AccountEntry
from ..tables.reading.answers.compared_answers import read_answers
from ..tables.reading.cell_rules import key_of, number_of
from ..tables.reading.reading_rules import ReadingRules, common_order
from ..tables.row_numbers import row_words
from .text_tables import read_export_table, require_column

Value = float | str

TOO_FAST = "too fast"
CHECK_ITEM = "check item"


@dataclass(frozen=True)
class AnchorScale:
    """How cells become values: by anchors, in ``by_dimension`` by a dimension's own; numbers need none."""

    anchors: Mapping[str, Value] = field(default_factory=dict)
    by_dimension: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)


@dataclass(frozen=True)
class GoldQuestion:
    """A question with known right answers: a column of the export, or an item."""

    name: str
    right: tuple[str, ...]

    def passed(self, cells: pd.Series[Any]) -> pd.Series[bool]:
        """Whether each cell is a right answer; an empty one is not."""
        keys = {key_of(word) for word in self.right}
        right = [cell for cell in cells.dropna().unique() if key_of(str(cell)) in keys]
        return cells.isin(right).fillna(False).astype(bool)


@dataclass(frozen=True)
class Rules:
    """What counts as an answer, and which answers are marked as excluded.

    Parameters
    ----------
    scale : AnchorScale
        Numbers of words, see ``read_scale``.
    reading : ReadingRules
        How the file is read: what is missing, which labels there are and in which order.
    checks, check_items : sequence of GoldQuestion
        Columns and items with known right answers, see ``read_checks``.
    min_seconds : float, optional
        Ratings of respondents who took less are marked.
    again : str
        Treatment of repeated ratings of an item by the same judge: ``refuse``, ``sample`` (it gets the
        next number) or ``exclude`` (it gets the next number and is marked).
    ignore : sequence of str
        Reasons of the program that do not count, such as "unfinished".

    Examples
    --------
    >>> Rules(checks=read_checks(["Q9=4|5"]), ignore=["unfinished"]).checks
    [GoldQuestion(name='Q9', right=('4', '5'))]
    """

    scale: AnchorScale = field(default_factory=AnchorScale)
    reading: ReadingRules = field(default_factory=ReadingRules)
    checks: Sequence[GoldQuestion] = ()
    check_items: Sequence[GoldQuestion] = ()
    min_seconds: float | None = None
    again: str = "refuse"
    ignore: Sequence[str] = ()


def read_checks(texts: Sequence[str], option: str = "--attention-check") -> list[GoldQuestion]:
    """Read checks of columns or items with one or several right answers.

    Parameters
    ----------
    texts : sequence of str
        Such as ``Q9=4`` or ``Q9=4|5``.
    option : str
        What errors call them.

    Returns
    -------
    list of GoldQuestion
        One check for each text.

    Examples
    --------
    >>> read_checks(["Q9=4|5"])
    [GoldQuestion(name='Q9', right=('4', '5'))]
    """
    checks = []
    for text in texts:
        name, equals, right = text.partition("=")
        words = tuple(word.strip() for word in right.split("|") if word.strip())
        if not equals or not name.strip() or not words:
            what = "COLUMN" if option == "--attention-check" else "ITEM"
            raise InputError(
                f"{option} '{text}' is incomplete; write {what}=ANSWER, or {what}=ANSWER|ANSWER."
            )
        checks.append(GoldQuestion(name.strip(), words))
    return checks


def read_scale(text: str | None) -> AnchorScale:
    """Read the numbers for the words of an export.

    Parameters
    ----------
    text : str or None
        ``Not at all=0,A little=1``, or a CSV with ``label, value`` and perhaps ``dimension``.

    Returns
    -------
    AnchorScale
        The anchors.

    Examples
    --------
    >>> read_scale("No, never=0,Yes=1").anchors
    {'No, never': 0.0, 'Yes': 1.0}
    """
    if text is None:
        return AnchorScale()
    if "=" not in text:
        common, special = _anchors_from_file(text)
        return AnchorScale(common, special)
    anchors: dict[str, Value] = {}
    waiting = ""  # a label may contain commas, so a part without "=" belongs to the next one
    for part in text.split(","):
        waiting = f"{waiting},{part}" if waiting else part
        if "=" in waiting:
            label, _, value = waiting.rpartition("=")
            _add_anchor(anchors, label.strip(), value.strip(), "--anchors")
            waiting = ""
    if waiting.strip():
        raise InputError(
            f"--anchors: '{waiting.strip()}' has no value; write LABEL=VALUE,LABEL=VALUE, or name a CSV with "
            "label and value."
        )
    return AnchorScale(anchors)


def to_values(
    long: pd.DataFrame, scale: AnchorScale, source: str, rules: ReadingRules | None = None
) -> tuple[pd.Series[Any], list[AccountEntry]]:
    """Values of raw cells, dimension by dimension, and what was done; missing where nothing was answered."""
    # Int64 or Float64 where all dimensions are numbers, else text; labels of a single dimension in the order
    # that is stated. Cells that anchors name have the values of these; all others are read as answers are.
    rules = rules or ReadingRules()
    if rules.relabel and (scale.anchors or scale.by_dimension):
        raise InputError("--relabel and --anchors both give cells their values; use one of them.")
    missing = {key_of(text) for text in rules.missing}
    every = {key_of(cell) for cell in long["raw"].dropna().unique()}
    located, raw = long[["row", "column", "raw"]], long["raw"].astype(object)
    values = pd.Series([None] * len(long), index=long.index, dtype=object)
    entries: list[AccountEntry] = []
    orders: list[tuple[str, ...]] = []
    groups = long.groupby("dimension", sort=False).indices
    for dimension, place in groups.items():
        rows, cells = located.iloc[place], raw.iloc[place]
        distinct = [cell for cell in cells.dropna().unique() if key_of(cell) not in missing]
        named = scale.by_dimension.get(str(dimension))
        anchors = scale.anchors if named is None else named
        keys = {key_of(label) for label in anchors}
        is_bare = all(number_of(cell) is not None and key_of(cell) not in keys for cell in distinct)
        if named is None and anchors and is_bare:
            sentence = f"{dimension} contains only numbers, so --anchors has no effect."
            entries.append(AccountEntry("types", sentence))
            anchors = {}
        if anchors:
            by_cell = _anchored(distinct, anchors, rows, source)
            values.iloc[place] = [by_cell.get(cell) for cell in cells]
            continue
        present = {key_of(cell) for cell in distinct}
        relabel = {
            text: label
            for text, label in rules.relabel.items()
            if key_of(text) in present or key_of(text) not in every
        }
        columns = rows["column"].unique().astype(str).tolist()
        is_one = len(columns) == 1
        name = columns[0] if is_one else str(dimension)
        levels = (
            rules.levels.get(name) or _shared_order(rules.levels, columns) or rules.order_of(str(dimension))
        )
        by_value = _shared_order(rules.value_labels, columns)
        answers = read_answers(
            {name: cells},
            replace(
                rules,
                levels={name: levels} if levels else {},
                value_labels={name: by_value} if by_value else {},
                relabel=relabel,
                strict=False,  # the account of the import is, which leaves out the scale
            ),
            source=source,
            rows=rows["row"].to_numpy(dtype=np.int64) - 1,
            cell_columns=None if is_one else rows["column"].astype(str).tolist(),
        )
        entries += [entry for entry in answers.entries if entry.subject != "types"]
        labels = [name for name in answers.classes if number_of(name) is None]
        if labels or (answers.classes and levels):
            values.iloc[place] = np.array([*answers.classes, None], dtype=object)[answers.codes[0]]
            orders.append(tuple(levels or (answers.classes if answers.scale == "ordinal" else ())))
            sentence = f"{dimension} contains labels ({listed(answers.classes)})"
            remedy = ", not numbers; `conjury import --anchors` turns words into numbers."
            if orders[-1]:
                remedy = "."
            elif by_value and set(answers.classes) <= set(by_value):
                remedy = ", in the order of their values; --scale ordinal keeps that order."
            entries.append(AccountEntry("types", sentence + remedy))
        elif answers.classes:
            numbers = [number_of(name) for name in answers.classes]
            values.iloc[place] = np.array([*numbers, None], dtype=object)[answers.codes[0]]
        else:
            values.iloc[place] = [None if np.isnan(value) else value for value in answers.values[0]]
    converted = _convert_values(values)
    if order := common_order(orders, len(groups)):
        converted = pd.Series(pd.Categorical(converted, categories=order, ordered=True), index=long.index)
    return converted, entries


def _shared_order(orders: Mapping[str, Sequence[str]], columns: Sequence[str]) -> tuple[str, ...]:
    """The order that all columns of a dimension have; empty where they differ, or one has none."""
    by_column = {tuple(orders.get(name, ())) for name in columns}
    return by_column.pop() if len(by_column) == 1 else ()


def failed_checks(table: pd.DataFrame, checks: Sequence[GoldQuestion], source: str) -> pd.Series[Any]:
    """Reasons by row of an export: which checks were failed, missing where none."""
    reasons = []
    for check in checks:
        require_column(table, check.name, source, "--attention-check")
        passed = check.passed(table[check.name])
        if not passed.any():
            raise InputError(
                f"{source}: no person answered '{check.name}' with {' or '.join(map(repr, check.right))}; "
                f"correct --attention-check (there are: {listed(table[check.name].dropna().unique())})."
            )
        reasons.append(reason_where(~passed, f"failed check {check.name}"))
    return join_reasons(reasons, table.index)


def failed_items(long: pd.DataFrame, checks: Sequence[GoldQuestion], source: str) -> pd.Series[Any]:
    """Reasons by rating: all ratings by judges who failed a check item, and the item itself."""
    reasons = []
    for check in checks:
        of_item = long["item_id"] == check.name
        if not of_item.any():
            raise InputError(
                f"{source}: there is no item '{check.name}' to check; correct --check-item (there are: "
                f"{listed(long['item_id'].unique())})."
            )
        right = check.passed(long["raw"]) | check.passed(long["value"])
        wrong = long.loc[of_item & ~right, "judge_id"].unique()
        reasons.append(reason_where(long["judge_id"].isin(wrong), f"failed check {check.name}"))
        reasons.append(reason_where(of_item, CHECK_ITEM))
    return join_reasons(reasons, long.index)


def row_exclusions(
    table: pd.DataFrame,
    marks: pd.DataFrame,
    rules: Rules,
    source: str,
    duration: pd.Series[Any] | None = None,
) -> pd.Series[Any]:
    """Why each row of an export is excluded (marks of its program, speed, failed checks), else missing."""
    # `marks` has one column per reason of the program, true where it applies; `duration` is in seconds, and
    # None where speed is judged later, rating by rating.
    names = [str(name) for name in marks]
    for name in rules.ignore:
        if name not in names:
            hint = did_you_mean(name, names)
            raise InputError(
                f"--ignore '{name}' is not a reason in this export{hint}; use {listed(names) or 'none'}."
            )
    reasons = [
        reason_where(marks[name].set_axis(table.index), name) for name in names if name not in rules.ignore
    ]
    reasons.append(failed_checks(table, rules.checks, source))
    if duration is not None:
        reasons.append(too_fast(duration, rules, source))
    return join_reasons(reasons, table.index)


def too_fast(duration: pd.Series[Any], rules: Rules, source: str) -> pd.Series[Any]:
    """The reason by row where the answer took less than the rules allow, missing elsewhere."""
    if rules.min_seconds is None:
        return reason_where(pd.Series(False, index=duration.index), TOO_FAST)
    if duration.isna().all():
        raise InputError(
            f"{source}: no column contains how long people took; name it with --duration, or omit "
            "--min-seconds."
        )
    return reason_where((duration < rules.min_seconds).fillna(False), TOO_FAST)


def reason_where(bad: pd.Series[Any], reason: str) -> pd.Series[Any]:
    """``reason`` where ``bad`` is true, else missing."""
    return pd.Series(pd.NA, index=bad.index, dtype="string").mask(bad.astype(bool), reason)


def join_reasons(reasons: Iterable[pd.Series[Any]], index: pd.Index[Any]) -> pd.Series[Any]:
    """All reasons of a row, joined by "; ", each once; missing where there is none."""
    result = pd.Series(pd.NA, index=index, dtype="string")
    for reason in (column.astype("string") for column in reasons if column.notna().any()):
        is_second_reason = result.notna() & reason.notna() & (result != reason).fillna(True)
        result = result.mask(is_second_reason.astype(bool), result + "; " + reason)
        result = result.mask(result.isna(), reason)
    return result


def excluded_notes(
    excluded: pd.Series[Any], judges: pd.Series[Any], noun: str = "respondent", unit: str = "rating"
) -> list[str]:
    """How many ratings by how many respondents each reason excludes."""
    parts = excluded.dropna().str.split("; ").explode()
    return [
        f"Excluded as {reason}: {counted(len(rows), unit)} by "
        f"{counted(judges.loc[rows.index].nunique(), noun)}."
        for reason, rows in parts.groupby(parts, sort=False)
    ]


def counts(numbers: Mapping[str, int]) -> list[str]:
    """A note for each count that is not zero."""
    return [f"{what}: {int(count):,}." for what, count in numbers.items() if count]


def _anchored(
    cells: Sequence[str], anchors: Mapping[str, Value], rows: pd.DataFrame, source: str
) -> dict[str, Value]:
    """Values of distinct cells by anchors; InputError for a cell that has none."""
    by_key = {key_of(label): value for label, value in anchors.items()}
    bounds = [value for value in anchors.values() if isinstance(value, float)]
    # Numbers between the anchors are values, unless the anchors are labels or recode numbers themselves.
    is_scale = len(bounds) == len(anchors) and all(number_of(label) is None for label in anchors)
    low, high = (min(bounds), max(bounds)) if is_scale else (np.inf, -np.inf)
    values: dict[str, Value] = {}
    for cell in cells:
        number = number_of(cell)
        if key_of(cell) in by_key:
            values[cell] = by_key[key_of(cell)]
        elif number is not None and low <= number <= high:
            values[cell] = number
    unread = [cell for cell in cells if cell not in values]
    if unread:
        first = rows[(rows["raw"] == unread[0]).fillna(False).to_numpy(dtype=bool)].iloc[0]
        more = f" (not covered: {listed(map(repr, unread))})" if len(unread) > 1 else ""
        raise InputError(
            f"{source}: row {row_words(source, first['row'] - 1)} of column '{first['column']}' contains "
            f"'{unread[0]}', which --anchors does not cover{did_you_mean(unread[0], anchors)}{more}; add it, "
            "or treat it as missing with --missing."
        )
    return values


def _anchors_from_file(path: str) -> tuple[dict[str, Value], dict[str, dict[str, Value]]]:
    if not Path(path).exists() and "." not in path:
        raise InputError(
            f"--anchors '{path}' has no '='; write LABEL=VALUE,LABEL=VALUE, or name a CSV with label and "
            "value."
        )
    table = read_export_table(path).table
    for column in ("label", "value"):
        require_column(table, column, path, "its header")
    common: dict[str, Value] = {}
    special: dict[str, dict[str, Value]] = {}
    for number, row in enumerate(table.to_dict("records"), start=1):
        if pd.isna(row["label"]) or pd.isna(row["value"]):
            raise InputError(f"{path}: row {number} lacks a label or a value; fill it in.")
        dimension = row.get("dimension", pd.NA)
        into = common if pd.isna(dimension) else special.setdefault(str(dimension), {})
        _add_anchor(into, str(row["label"]), str(row["value"]), path)
    return common, special


def _add_anchor(anchors: dict[str, Value], label: str, value: str, source: str) -> None:
    if not label or not value:
        raise InputError(f"{source}: '{label}={value}' lacks a label or a value; write LABEL=VALUE.")
    if key_of(label) in map(key_of, anchors):
        raise InputError(f"{source}: '{label}' is given twice; give each label one value.")
    number = number_of(value)
    anchors[label] = value if number is None else number


def _convert_values(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as Int64 where they are whole, else Float64; text as soon as one value is text."""
    if any(isinstance(value, str) for value in values.unique()):
        return values.map(
            lambda value: value if isinstance(value, str) or value is None else f"{value:g}"
        ).astype("string")
    numbers = values.astype("Float64")
    is_whole = bool((numbers.dropna() % 1 == 0).all())
    return numbers.astype("Int64") if is_whole else numbers
