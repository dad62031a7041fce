"""One reader for tables of others: from a file, standard input or a DataFrame to a table and an account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.arrays import FloatingArray, IntegerArray

from ...errors import InputError, counted, did_you_mean, listed, no_column
from ..columns import as_text, companion
from ..frames import note_origins, to_pandas
from ..items import parts_of_item, with_joined
from ..limits import reading
from ..row_numbers import TableName, of_rows
from ..safe_text import printable
from .account import AccountEntry, ReadingAccount
from .cell_rules import SPELLINGS_OF_NOTHING, is_code, is_nothing, key_of, number_of
from .containers import STANDARD_INPUT, TEXT_FORMATS, FileContent, open_content
from .json_rows import read_json_lines, read_json_table
from .reading_rules import ReadingRules
from .statistics.statistics_files import read_spss, read_stata
from .text_arrays import (
    MarkTable,
    arrays_of,
    bytes_of,
    has_fractions,
    has_ids,
    is_id,
    single_digits,
    with_gaps,
)
from .text_files.delimited import read_delimited
from .text_files.surplus_rows import refuse_totals, without_headers
from .typed_files import read_arrow_content, read_parquet_content, read_workbook

READERS: Mapping[str, Callable[[bytes, ReadingRules, str], tuple[pd.DataFrame, list[AccountEntry]]]] = {
    "csv": read_delimited,
    "excel": read_workbook,
    "spss": read_spss,
    "stata": read_stata,
    "parquet": read_parquet_content,
    "arrow": read_arrow_content,
    "json": read_json_table,
    "jsonl": read_json_lines,
}
MARKS = MarkTable([mark for mark in SPELLINGS_OF_NOTHING if mark])
LABELLED = ("spss", "stata")  # formats whose values have labels
NUMBERED = ("csv", "excel")  # formats whose readers number rows by their index
PROBED = 50  # cells by which most columns of text are told from numbers


@dataclass(frozen=True)
class TableReading:
    """A table as it was read, and the account of how.

    Parameters
    ----------
    frame : DataFrame
        One row per row of the source that is used; text as text, numbers as numbers.
    account : ReadingAccount
        What was recognised, excluded, taken as missing and guessed.
    source : str
        What the source is called.
    form : str
        The kind of file, one of ``FORMATS``, or ``frame``.
    rules : ReadingRules
        What was stated about it.

    Examples
    --------
    >>> table = read(pd.DataFrame({"gpt": ["yes", "no"], "ann": ["yes", "yes"]}))
    >>> table.frame.shape, table.form
    ((2, 2), 'frame')
    """

    frame: pd.DataFrame
    account: ReadingAccount
    source: str
    form: str
    rules: ReadingRules

    @property
    def size_in_words(self) -> str:
        """How many rows there are, and of how many `where` and `exclude` chose them."""
        n = sum(entry.count for entry in self.account.entries if entry.subject == "excluded" and entry.column)
        chosen = counted(len(self.frame), "row")
        return f"{chosen} chosen of {len(self.frame) + n:,}" if n else chosen

    def with_entries(self, *entries: AccountEntry) -> TableReading:
        """The reading with further entries of its account."""
        return replace(self, account=self.account.adding(entries))


def read(
    source: Any,
    options: ReadingRules | None = None,
    name: str = "table",
    *,
    typed: bool = True,
    texts: Collection[str] = (),
) -> TableReading:
    r"""Read a table from a path, ``-`` for standard input, or a DataFrame of any library.

    Parameters
    ----------
    source : path, str, DataFrame or TableReading
        A file in any format of ``FORMATS``; a DataFrame of pandas, polars, Arrow or DuckDB. What was
        read already is returned as it is.
    options : ReadingRules, optional
        What is stated about the table.
    name : str
        What errors call a DataFrame.
    typed : bool
        Whether numbers in text files become numbers; otherwise the cells of all files are text.
    texts : collection of str
        Columns of text files that stay text, though their cells are numbers.

    Returns
    -------
    TableReading
        The rows that are used, and the account. Cells are as the file has them: which of them are answers is
        decided by :func:`read_answers`, for the columns that are compared.

    Raises
    ------
    InputError
        The source cannot be read, lacks a column that is named, or has no rows.
    MissingDependency
        A workbook or a file of SPSS or Stata, whose reader is not installed.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "spam.csv"
    >>> _ = file.write_text("verdict;label\nspam;spam\nok;spam\n")
    >>> reading = read(file)
    >>> reading.frame["label"].tolist(), reading.account.lines()
    (['spam', 'spam'], ['spam.csv: 2 rows, 2 columns.', 'Columns are separated by semicolons.'])
    """
    if isinstance(source, TableReading):
        return source
    options = options or ReadingRules()
    frame = to_pandas(source)
    account = ReadingAccount(strict=options.strict)
    if isinstance(frame, pd.DataFrame):
        form, label = "frame", name
        frame = frame.rename(columns=str)
    else:
        content = source if isinstance(source, FileContent) else open_content(source, options.form)
        options, beside = _with_levels_beside(source, options)
        form, label = content.form, content.source
        frame, account = _read_content(content, options, account)
        account = account.adding(beside)
    label = _numbered(frame, label, form)
    frame = frame.reset_index(drop=True)
    note_origins(frame)
    _refuse_double(frame, label)
    if frame.empty:
        raise InputError(f"{label}: the table has no rows; give one with rows.")
    size = f"{Path(label).name}: {counted(len(frame), 'row')}, {counted(frame.shape[1], 'column')}."
    account = replace(account, entries=(AccountEntry("source", size, count=len(frame)), *account.entries))
    frame, excluded, label = select_rows(frame, options, label)
    frame, missing = blank_cells(frame, options, form in TEXT_FORMATS)
    frame, headers, label = without_headers(frame, label)
    excluded += headers
    refuse_totals(frame, label)
    if parts := parts_of_item(options.id, frame):
        require_named(frame, dict.fromkeys(parts, "--id"), label)
        frame = with_joined(frame, parts, str(options.id))
    if form in LABELLED:
        options = replace(options, value_labels={**_value_labels(frame), **options.value_labels})
    if not typed:
        options = replace(options, levels={**_ordered_labels(frame), **options.levels})
        frame = frame.astype("string") if form in TEXT_FORMATS else frame.apply(as_text)
    elif form in TEXT_FORMATS:
        frame = _with_numbers(frame, texts)
    return TableReading(frame, account.adding([*missing, *excluded]), label, form, options)


def _numbered(frame: pd.DataFrame, source: str, form: str) -> str:
    """The name of a table, with the numbers of its rows where some rows of the file are empty."""
    if form not in NUMBERED or isinstance(frame.index, pd.RangeIndex):
        return str(source)
    return TableName(source, frame.index.to_numpy(dtype=np.int64) + 1)


def _ordered_labels(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Labels of columns that declare an order, unless one of them may mean that there is no answer."""
    return {
        str(name): tuple(map(str, column.cat.categories))
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
        and column.cat.ordered
        and not any(is_code(str(label)) for label in column.cat.categories)
    }


def _value_labels(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Labels of values of SPSS and Stata in the order of the values, of columns that declare no order."""
    return {
        str(name): tuple(map(str, column.cat.categories))
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype) and not column.cat.ordered
    }


def _with_levels_beside(source: Any, options: ReadingRules) -> tuple[ReadingRules, list[AccountEntry]]:
    """The rules with the levels of NAME.levels.json beside NAME.csv, which count as stated."""
    from .companion_levels import levels_beside

    if str(source) in (STANDARD_INPUT, "standard input"):
        return options, []
    levels = levels_beside(Path(str(source)), options)
    if not levels:
        return options, []
    names = listed((f"'{name}'" for name in levels), 4)
    sentence = f"The levels of {names} are those of {companion(str(source), 'levels').name}."
    return replace(options, levels={**levels, **options.levels}), [AccountEntry("order", sentence)]


def _read_content(
    content: FileContent, options: ReadingRules, account: ReadingAccount
) -> tuple[pd.DataFrame, ReadingAccount]:
    with reading(content.source):
        frame, entries = READERS[content.form](content.data, options, content.source)
    if content.member:
        sentence = f"The archive has one table, '{content.member}', which was read."
        entries = [AccountEntry("source", sentence), *entries]
    if not content.is_expected and options.form is None:
        sentence = f"The file is {content.words}, whatever its name says, and was read as that."
        entries = [AccountEntry("source", sentence, option="--format"), *entries]
    return frame.rename(columns=str), account.adding(entries)


def _refuse_double(frame: pd.DataFrame, source: str) -> None:
    names = frame.columns[frame.columns.duplicated()]
    if len(names):
        raise InputError(f"{source}: column '{names[0]}' occurs twice; rename or drop one of them.")


def require_named(frame: pd.DataFrame, names: Mapping[str, str], source: str) -> None:
    """Refuse a column that an option names and the table lacks; ``names`` has the option of each column."""
    for column, option in names.items():
        if column not in frame:
            raise no_column(source, column, frame.columns, f", which {option} names")


def select_rows(
    frame: pd.DataFrame, options: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry], str]:
    """The rows that `where` and `exclude` leave, how many are excluded, and the name with their numbers."""
    entries: list[AccountEntry] = []
    for conditions, option, is_kept in (
        (options.where, "--where", True),
        (options.exclude, "--exclude", False),
    ):
        require_named(frame, dict.fromkeys(conditions, option), source)
        for column, condition in conditions.items():
            texts = as_text(frame[column]).str.strip()
            matches = np.zeros(len(frame), bool)
            for value in (condition,) if isinstance(condition, str) else condition:
                of_value = (
                    (texts.str.casefold() == value.strip().casefold()).fillna(False).to_numpy(dtype=bool)
                )
                if not of_value.any():
                    levels = [printable(text) for text in texts.dropna().unique() if text]
                    raise InputError(
                        f"{source}: no row has '{value}' in column '{column}'{did_you_mean(value, levels)}, "
                        f"which {option} names; it contains {listed(levels)}."
                    )
                matches |= of_value
            values = condition if isinstance(condition, str) else "' or '".join(condition)
            mask = matches if is_kept else ~matches
            n_excluded = int((~mask).sum())
            if not mask.any():
                raise InputError(f"{source}: {option} {column}='{values}' leaves no row; correct it.")
            word = "other than" if is_kept else "equal to"
            entries.append(
                AccountEntry(
                    "excluded",
                    f"{counted(n_excluded, 'row')} with '{column}' {word} '{values}' excluded.",
                    column,
                    count=n_excluded,
                )
            )
            source = of_rows(source, mask, len(frame))
            frame = frame[mask].reset_index(drop=True)
    return frame, entries, source


def blank_cells(
    frame: pd.DataFrame, options: ReadingRules, is_text: bool
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """The table with nothing in cells that are missing: as is stated, and in text files those of NA."""
    stated_keys = {key_of(text) for text in options.missing}
    counts: dict[str, Counter[str]] = {}
    blanked: dict[str, pd.Series[Any]] = {}
    for name in map(str, frame.columns):
        levels = {key_of(text) for text in options.order_of(name)}
        column, of_column = (
            _blank_text(frame[name], levels)
            if is_text and not stated_keys
            else _blank_typed(frame[name], levels, stated_keys, is_text)
        )
        if of_column:
            blanked[name] = column
        for text, count in of_column.items():
            if text:
                counts.setdefault(text, Counter())[name] += count
    entries = [_missing_entry(text, by_name, key_of(text) in stated_keys) for text, by_name in counts.items()]
    return (frame.assign(**blanked) if blanked else frame), entries


def _blank_text(column: pd.Series[Any], levels: Collection[str]) -> tuple[pd.Series[Any], Mapping[str, int]]:
    """A column of text with nothing where it is empty or has a mark of `NOTHING`, and their numbers."""
    counts: Counter[str] = Counter()
    arrays = []
    for cells in arrays_of(column):
        offsets = bytes_of(cells)[0]
        is_missing = offsets[1:] == offsets[:-1]
        counts[""] += int(is_missing.sum())
        rows, texts = MARKS.rows_of(cells)
        if len(rows):
            marks = {mark: key_of(mark) in levels for mark in texts.unique().to_pylist()}
            if any(marks.values()):
                rows = rows[[not marks[mark] for mark in texts.to_pylist()]]
            is_missing[rows] = True
            counts.update(mark for mark in texts.to_pylist() if not marks[mark])
        arrays.append(with_gaps(cells, is_missing) if is_missing.any() else cells)
    counts = +counts
    if not counts:
        return column, counts
    values = cast(Any, column.dtype).__from_arrow__(pa.chunked_array(arrays))
    return pd.Series(values, index=column.index, name=column.name), counts


def _blank_typed(
    column: pd.Series[Any], levels: Collection[str], stated_keys: Collection[str], is_text: bool
) -> tuple[pd.Series[Any], Mapping[str, int]]:
    """A column with nothing in cells that are missing, as is stated, and how often it has each of them."""
    cells = [
        cell for cell in _candidates(column, stated_keys, is_text) if key_of(printable(cell)) not in levels
    ]
    if not cells:
        return column, {}
    counts: Counter[str] = Counter()
    for cell in cells:
        counts[printable(cell)] += int((column == cell).sum())
    return column.mask(column.isin(cells).to_numpy(dtype=bool)), counts


def _candidates(column: pd.Series[Any], stated_keys: Collection[str], is_text: bool) -> list[Any]:
    """Distinct cells of a column that are missing if they are no levels."""
    if not is_text and not stated_keys:  # typed cells are missing where they are empty
        if isinstance(column.dtype, pd.CategoricalDtype):
            return [""] if "" in column.cat.categories else []
        is_text_column = isinstance(column.dtype, pd.StringDtype) or column.dtype == object
        return [""] if is_text_column and bool((column == "").any()) else []
    try:
        distinct = column.dropna().unique().tolist()
    except TypeError:  # lists and other nested values
        return []
    return [
        cell
        for cell in distinct
        if (is_text and is_nothing(printable(cell))) or key_of(printable(cell)) in stated_keys or cell == ""
    ]


def _missing_entry(text: str, counts: Counter[str], is_stated: bool) -> AccountEntry:
    """What the account says of a text that counts as missing."""
    total, columns = counts.total(), list(counts)
    where = f"column '{columns[0]}'" if len(columns) == 1 else counted(len(columns), "column")
    return AccountEntry(
        "missing",
        f"{counted(total, 'cell')} '{text}' of {where} {'counts' if total == 1 else 'count'} as missing.",
        columns[0] if len(columns) == 1 else None,
        (text,),
        total,
        option=None if is_stated else "--missing or --levels",
    )


def _with_numbers(frame: pd.DataFrame, texts: Collection[str]) -> pd.DataFrame:
    """A table of text with numbers where all cells of a column are numbers; ids with zeros in front stay."""
    columns = {str(name): _typed(frame[name]) for name in frame.columns if name not in texts}
    numbers = {
        name: column for name, column in columns.items() if not isinstance(column.dtype, pd.StringDtype)
    }
    return frame.assign(**numbers)


def _typed(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of text as numbers where every cell that is not empty is one; else as it is."""
    arrays = arrays_of(column)
    head: list[str] = next(
        (cells.slice(0, PROBED).drop_null().to_pylist() for cells in arrays if len(cells)), []
    )
    if any(number_of(text) is None for text in head):
        return column
    cells = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    digits = single_digits(cells)
    values = _numbers_of(cells) if digits is None else digits
    if values is None:
        return column
    is_missing = np.isnan(values)
    if has_fractions(cells):
        return pd.Series(FloatingArray(values, is_missing), index=column.index, name=column.name)
    integers = (np.where(is_missing, 0, values) if is_missing.any() else values).astype(np.int64)
    return pd.Series(IntegerArray(integers, is_missing), index=column.index, name=column.name)


def _numbers_of(cells: pa.Array) -> NDArray[np.float64] | None:
    """The numbers that texts are, NaN where they are missing; None where one of them is none, or an id."""
    if cells.null_count == len(cells):
        return None
    try:
        numbers = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:  # full-width digits, thousands with commas, or text after many numbers
        values = {text: number_of(text) for text in cells.unique().to_pylist() if text is not None}
        if None in values.values() or any(map(is_id, values)):
            return None
        return np.array([values.get(text) for text in cells.to_pylist()], dtype=np.float64)
    array: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    return None if np.isinf(array).any() or has_ids(cells) else array
