"""Rows of a file that are none of its table: titles, headers that are absent or repeated, totals below."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ....errors import InputError, as_argument, counted, listed
from ...columns import as_text, fold
from ...row_numbers import numbers_of, of_rows, row_words
from ..account import AccountEntry
from ..cell_rules import number_of

IMPORT_ID = '{"ImportId"'  # how Qualtrics begins the cells of its third header row
MOST_TITLES = 20  # lines above a header
FEWEST_IDS = 10  # of items in a long table; what has fewer names is a column of labels
LAST = 3  # rows at the end among which totals are looked for
SUMMARIES = frozenset(
    (
        *("total", "totals", "grand total", "subtotal", "sum", "mean", "average", "avg", "median", "mode"),
        *("std", "sd", "std dev", "standard deviation", "variance", "min", "max", "minimum", "maximum"),
        *("count", "n", "agreement", "kappa", "summe", "gesamt", "insgesamt", "mittelwert", "durchschnitt"),
        *("anzahl", "somme", "moyenne", "promedio", "suma", "media", "totale", "gemiddelde", "итого"),
        *("合計", "平均", "总计", "平均值", "합계", "평균"),
    )
)


def title_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows are titles above the header: one text in front, and nothing else."""
    # A header of one name and a column without a name looks alike. A title is a row with fewer cells, has
    # several words, or is separated from the header by an empty row.
    first = next((place for place, row in enumerate(rows) if len([cell for cell in row if cell]) > 1), 0)
    titles, table = rows[:first], rows[first:]
    filled = [row for row in titles if any(row)]
    if not filled or len(table) < 2 or first > MOST_TITLES or any(not row[0] for row in filled):
        return 0
    is_header = all(table[0]) and len(set(table[0])) == len(table[0])
    is_title = (
        len(filled) > 1
        or len(filled[0]) < len(table[0])
        or not any(titles[-1])
        or len(filled[0][0].split()) > 1
    )
    return first if is_header and is_title else 0


def header_in_one_cell(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Names of columns that another separator divides than that of the rows below; else None."""
    head, body = rows[:1], [row for row in rows[1:] if any(row)]
    widths = {len(row) for row in body}
    if not body or [*map(bool, head[0])].count(True) != 1 or len(widths) != 1 or widths == {1}:
        return None
    if not any(map(_is_number, body[0])):
        return None  # a title above a header
    text = next(filter(None, head[0]))
    for mark in (",", ";", "\t", "|", None):
        names = [name.strip() for name in text.split(mark)]
        if {len(names)} == widths and len(set(names)) == len(names) and all(names):
            return names
    return None


def check_header(rows: Sequence[Sequence[str]], source: str) -> None:
    """Refuse a first row that is data, or the upper of two rows of names."""
    if rows:
        _refuse_data_as_header(rows, source)
        _refuse_two_headers(rows, source)


def _is_number(cell: str) -> bool:
    return number_of(cell) is not None


def _refuse_two_headers(rows: Sequence[Sequence[str]], source: str) -> None:
    """Refuse headings of groups of columns (one name for several) above the row of names."""
    filled = [place for place, row in enumerate(rows) if any(row)]
    if len(filled) < 2:
        return
    header, names = rows[filled[0]], rows[filled[1]]
    below = [row for row in rows[filled[1] + 1 :] if len(row) == len(names)]
    of_columns = header[1:]  # without that of row names, which may be empty
    is_of_groups = len(header) == len(names) and len({*filter(None, of_columns)}) in range(1, len(of_columns))
    is_of_names = all(names) and len(set(names)) == len(names) and not any(map(_is_number, names))
    if not is_of_groups or not is_of_names or len(below) < 2:
        return
    columns = [[row[place] for row in below if row[place]] for place in range(len(names))]
    if 2 * sum(bool(cells) and all(map(_is_number, cells)) for cells in columns) >= len(names):
        raise InputError(
            f"{source}: line {filled[0] + 1} ({listed(map(repr, dict.fromkeys(filter(None, header))))}) has "
            f"headings of several columns, and line {filled[1] + 1} the names ({listed(map(repr, names))}); "
            f"state --header-row {filled[1] + 1}, or --header-row {filled[0] + 1} if that line has the names."
        )


def _refuse_data_as_header(rows: Sequence[Sequence[str]], source: str) -> None:
    """Refuse a table whose first row has the cells of the others, and no names."""
    header, *below = [row for row in rows if any(row)] or [[""]]
    body = [row for row in below if len(row) == len(header) and row != header]
    named = [place for place, name in enumerate(header) if name]
    if any(cell.startswith(IMPORT_ID) for row in body[:2] for cell in row) or header[0] == "V1":
        return  # of Qualtrics, which repeats its header
    if body and 2 * sum(body[0][place] == header[place] for place in named) > len(named):
        body = body[1:]  # a second header, or a row that tells nothing
    if len(body) < 2 or len(named) < 2:
        return
    alike = [place for place in named if _is_like(header[place], [row[place] for row in body])]
    numbers = [number_of(header[place]) for place in alike]
    first = numbers[0] if numbers else None
    if first in (0, 1) and numbers == [first + step for step in range(len(numbers))] and alike[0] > 0:
        return  # raters by their numbers
    if 2 * len(alike) >= len(named):
        cells = ", ".join(f"'{header[place]}'" for place in named[:4])
        raise InputError(
            f"{source}: the first line ({cells}{', ...' if len(named) > 4 else ''}) looks like data and not "
            "like names of columns; write names above it, or state --header-row 0 if there are none (columns "
            "are then called 'column 1', 'column 2' and so on), or --header-row 1 if these are the names."
        )


def _is_like(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is one of those below it, or a number or code of the same form among such."""
    filled = [text for text in below if text]
    if not filled:
        return False
    value, values = number_of(cell), [number_of(text) for text in filled]
    if value is not None and None not in values:
        numbers = [number for number in values if number is not None]
        spread = max(numbers) - min(numbers)
        return min(numbers) - spread <= value <= max(numbers) + spread or not value.is_integer()
    forms = {re.sub(r"\d+", "9", text) for text in (cell, *filled)}
    return cell in filled or (len(forms) == 1 and "9" in next(iter(forms)) and len(set(filled)) > 1)


def numbered_names(width: int) -> list[str]:
    """Names of the columns of a table without a header."""
    return [f"column {place + 1}" for place in range(width)]


def title_entry(count: int) -> AccountEntry:
    """What the account says of titles."""
    return AccountEntry(
        "source",
        f"{counted(count, 'line')} above the header skipped.",
        count=count,
        option="--header-row",
    )


def without_headers(frame: pd.DataFrame, source: str) -> tuple[pd.DataFrame, list[AccountEntry], str]:
    """The table without rows that repeat the names of its columns, as joined files have them."""
    same = pd.Series(True, index=frame.index)
    for name in frame.columns:
        if not (isinstance(frame[name].dtype, pd.StringDtype) or frame[name].dtype == object):
            return frame, [], source
        matches = frame[name] == name
        if not matches.any():
            return frame, [], source
        same &= matches.fillna(False).astype(bool)
    if not same.any() or same.all():
        return frame, [], source
    count = int(same.sum())
    sentence = f"{counted(count, 'row')} that {'repeats' if count == 1 else 'repeat'} the header left out."
    rows = tuple(numbers_of(source, len(frame))[same.to_numpy()][:5].tolist())
    entry = AccountEntry("excluded", sentence, count=count, rows=rows)
    return frame[~same].reset_index(drop=True), [entry], of_rows(source, ~same.to_numpy(), len(frame))


def refuse_totals(frame: pd.DataFrame, source: str) -> None:
    """Refuse a last row whose id says that it summarises those above."""
    if len(frame) <= LAST or frame.shape[1] < 2:
        return
    column = frame.columns[0]
    last = as_text(frame[column].tail(LAST))
    for row, text in zip(range(len(frame) - LAST, len(frame)), last.tolist(), strict=True):
        if pd.isna(text) or " ".join(fold(text).split()).rstrip(":.") not in SUMMARIES:
            continue
        cells = as_text(frame[column])
        places = np.flatnonzero((cells == text).fillna(False))
        is_block = np.ptp(places) + 1 == len(places)  # of a long table, a row for each system or rater
        if not is_block or cells.nunique() < min(FEWEST_IDS, len(frame) / 2):
            continue  # a label, and no id
        raise InputError(
            f"{source}: row {row_words(source, row)}, one of the last, has '{text}' in column '{column}', "
            f"and may summarise those above; leave it out with --exclude {as_argument(f'{column}={text}')}, "
            "or rename it."
        )
