"""Attention checks and other reasons to leave answers out, kept as a column and never as missing rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import InputError
from ..tables.columns import listed
from .texts import plain, require_column, to_number

TOO_FAST = "too fast"
CHECK_ITEM = "check item"


@dataclass(frozen=True)
class Check:
    """A question with known right answers: a column of the export, or an item."""

    name: str
    right: tuple[str, ...]

    def passed(self, cells: pd.Series[Any]) -> pd.Series[bool]:
        """Whether each cell is a right answer; an empty one is not."""
        words = {plain(word) for word in self.right}
        numbers = {number for word in self.right if (number := to_number(word)) is not None}
        distinct = {
            cell: plain(cell) in words or (to_number(cell) in numbers) for cell in cells.dropna().unique()
        }
        return cells.map(lambda cell: distinct.get(cell, False)).astype(bool)


def read_checks(texts: Sequence[str], option: str = "--check") -> list[Check]:
    """Read checks as ``Q9=4`` or, with several right answers, ``Q9=4|5``.

    Examples
    --------
    >>> read_checks(["Q9=4|5"])
    [Check(name='Q9', right=('4', '5'))]
    """
    checks = []
    for text in texts:
        name, equals, right = text.partition("=")
        words = tuple(word.strip() for word in right.split("|") if word.strip())
        if not equals or not name.strip() or not words:
            what = "COLUMN" if option == "--check" else "ITEM"
            raise InputError(
                f"{option} '{text}' is incomplete; write {what}=ANSWER, or {what}=ANSWER|ANSWER."
            )
        checks.append(Check(name.strip(), words))
    return checks


def failed_checks(table: pd.DataFrame, checks: Sequence[Check], source: str) -> pd.Series[Any]:
    """Reasons by row of an export: which checks were answered otherwise, missing where none.

    Raises
    ------
    InputError
        A column is missing, or nobody gave the right answer.
    """
    reasons = []
    for check in checks:
        require_column(table, check.name, source, "--check")
        passed = check.passed(table[check.name])
        if not passed.any():
            raise InputError(
                f"{source}: nobody answered '{check.name}' with {' or '.join(map(repr, check.right))}; "
                f"correct --check (there are: {listed(table[check.name].dropna().unique())})."
            )
        reasons.append(marked(~passed, f"failed check {check.name}"))
    return joined(reasons, table.index)


def failed_items(long: pd.DataFrame, checks: Sequence[Check], source: str) -> pd.Series[Any]:
    """Reasons by rating: all ratings of those who rated a check item otherwise, and of the item itself.

    Parameters
    ----------
    long : DataFrame with ``judge_id, item_id, raw, value``
    """
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
        reasons.append(marked(long["judge_id"].isin(wrong), f"failed check {check.name}"))
        reasons.append(marked(of_item, CHECK_ITEM))
    return joined(reasons, long.index)


def too_fast(duration: pd.Series[Any], seconds: float | None) -> pd.Series[Any]:
    """Reason of what took less than ``seconds``; times that are not known are not marked."""
    if seconds is None:
        return joined([], duration.index)
    return marked((duration < seconds).fillna(False), TOO_FAST)


def marked(bad: pd.Series[Any], reason: str) -> pd.Series[Any]:
    """``reason`` where ``bad`` is true, else missing."""
    return pd.Series(pd.NA, index=bad.index, dtype="string").mask(bad.astype(bool), reason)


def joined(reasons: Iterable[pd.Series[Any]], index: pd.Index[Any]) -> pd.Series[Any]:
    """All reasons of a row, joined by "; ", each once; missing where there is none."""
    result = pd.Series(pd.NA, index=index, dtype="string")
    for reason in (own.astype("string") for own in reasons):
        both = result.notna() & reason.notna() & (result != reason).fillna(True)
        result = result.mask(both.astype(bool), result + "; " + reason)
        result = result.mask(result.isna(), reason)
    return result


def counted(excluded: pd.Series[Any], judges: pd.Series[Any], noun: str = "respondent") -> list[str]:
    """Say how many ratings by how many respondents each reason excludes.

    Examples
    --------
    >>> counted(pd.Series(["preview", "preview", None]), pd.Series(["r1", "r1", "r2"]))
    ['Excluded as preview: 2 ratings by 1 respondent.']
    """
    parts = excluded.dropna().str.split("; ").explode()
    return [
        f"Excluded as {reason}: {_number(len(rows), 'rating')} by "
        f"{_number(judges.loc[rows.index].nunique(), noun)}."
        for reason, rows in parts.groupby(parts, sort=False)
    ]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
