"""Which rows of a table are about one item, where no column of items is named."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from conjury.inference.errors import InputError, counted, listed
from conjury.inference.tables.items import copies, repeated_items
from conjury.inference.tables.reading.account import AccountEntry, ReadingAccount
from conjury.inference.tables.row_numbers import row_words


def item_of(
    table: pd.DataFrame,
    named: str | None,
    answers: Sequence[str],
    source: str,
    option: str = "--id",
    strict: bool = False,
) -> tuple[str | None, list[str]]:
    """The column by which rows are clustered: the named one, else, unless strict, one that repeats."""
    notes = notes_on_copies(table, named, answers, source)
    if named is not None:
        return named, notes
    item, candidates = repeated_items(table, answers)
    n = f"{len(table):,} rows"
    if item is not None:
        guess = (
            f"Column '{item}' repeats ({n} about {counted(table[item].nunique(), 'item')}), so it is used "
            "as the column of items"
        )
        ReadingAccount(strict=strict).adding([AccountEntry("roles", f"{source}: {guess}", option=option)])
        notes.append(f"{guess}; name another with {option}.")
    elif candidates:
        several = len(candidates) > 1
        notes.append(
            f"{'Columns' if several else 'Column'} {listed(map(repr, candidates))} "
            f"{'repeat' if several else 'repeats'}, and rows are treated as independent; if rows with the "
            f"same value belong together, name {'one' if several else 'it'} with {option}."
        )
    return item, notes


def notes_on_copies(table: pd.DataFrame, named: str | None, answers: Sequence[str], source: str) -> list[str]:
    """Refuse rows that are copies of other rows, or with a named column of items say what they count as."""
    repeated = copies(table, answers)
    if not repeated.any():
        return []
    n, row = int(repeated.sum()), row_words(source, repeated.argmax())
    if named is None:
        more = f", as {'does' if n == 2 else 'do'} {counted(n - 1, 'further row')}" if n > 1 else ""
        raise InputError(
            f"{source}: row {row} repeats an earlier row in every column{more}; keep each answer once, or "
            "name the column of items with --id if items were judged several times."
        )
    return [
        f"{counted(n, 'row')} {'repeats' if n == 1 else 'repeat'} an earlier row in every column: treated as "
        f"further answers about the same '{named}', which add no information on others."
    ]
