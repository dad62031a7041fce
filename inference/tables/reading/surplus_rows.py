"""Rows of a file that are none of its table: titles above the header, headers repeated, totals below."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...errors import InputError, counted
from ..columns import as_text, fold
from .account import AccountEntry
from .compared_answers import as_argument

MOST_TITLES = 20  # lines above a header
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


def title_entry(count: int) -> AccountEntry:
    """What the account says of titles."""
    return AccountEntry(
        "source",
        f"{counted(count, 'line')} above the header skipped.",
        count=count,
        option="--header-row",
    )


def without_headers(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """The table without rows that repeat the names of its columns, as joined files have them."""
    same = pd.Series(True, index=frame.index)
    for name in frame.columns:
        if not (isinstance(frame[name].dtype, pd.StringDtype) or frame[name].dtype == object):
            return frame, []
        matches = frame[name] == name
        if not matches.any():
            return frame, []
        same &= matches.fillna(False).astype(bool)
    if not same.any():
        return frame, []
    if same.all():
        return frame, []
    count = int(same.sum())
    sentence = f"{counted(count, 'row')} that {'repeats' if count == 1 else 'repeat'} the header left out."
    rows = tuple(int(row) + 1 for row in same.to_numpy().nonzero()[0][:5])
    return frame[~same].reset_index(drop=True), [AccountEntry("excluded", sentence, count=count, rows=rows)]


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
        if (cells == text).sum() > 1 or cells.nunique() < len(frame) / 2:
            continue  # a label, and no id
        raise InputError(
            f"{source}: row {row + 1:,}, one of the last, has '{text}' in column '{column}', and may "
            f"summarise those above; leave it out with --exclude {as_argument(f'{column}={text}')}, or "
            "rename it."
        )
