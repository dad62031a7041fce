"""Workbooks and files of Arrow: their cells."""

from __future__ import annotations

import io
import re
import zipfile
from importlib import import_module
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather

from ...errors import InputError, MissingDependency, counted, did_you_mean, first_line, listed
from ..limits import EXHAUSTED
from ..parquet import parse_parquet, plain_cells
from .account import AccountEntry
from .containers import DAMAGED_ZIP
from .reading_rules import ReadingRules
from .text_files.delimited import drop_survey_header
from .text_files.surplus_rows import (
    MOST_TITLES,
    check_header,
    numbered_names,
    title_entry,
    title_rows,
)

_ERROR_CELL = re.compile(rb'<c [^>]*t="e"[^>]*>(?:<f.*?(?:</f>|/>))?<v>([^<]*)</v>', re.DOTALL)
_NO_RESULT = re.compile(rb"<f(?: [^>]*)?>[^<]*</f>(?:<v ?/>|<v></v>)?</c>")
NEEDED = "{words} needs the package {package}; install it with `pip install 'conjury[files]'`."


def read_workbook(data: bytes, options: ReadingRules, source: str) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A sheet of a workbook; the only one with cells, the one that is stated, else the first."""
    rows, entries = _rows_of(data, options, source)
    entries += _cells_of_errors(data, source)
    rows = _from_header(rows, options.header_row, source, entries)
    return drop_survey_header(_frame_of(rows, source), entries), entries


def names_in_workbook(data: bytes, options: ReadingRules, source: str) -> list[str]:
    """Names of the columns of a workbook, from its first rows."""
    rows, _ = _rows_of(data, options, source, max(MOST_TITLES + 2, (options.header_row or 0) + 1))
    header = next(iter(_from_header(rows, options.header_row, source, [])), [])
    return [str(cell).strip() for cell in header]


def _rows_of(
    data: bytes, options: ReadingRules, source: str, most: int | None = None
) -> tuple[list[list[Any]], list[AccountEntry]]:
    """The rows of the sheet that is read, or the first of them, and what is said of other sheets."""
    calamine = load_library("python_calamine", "A workbook", "python-calamine")
    entries: list[AccountEntry] = []
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = list(workbook.sheet_names)
        filled = [name for name in names if workbook.get_sheet_by_name(name).total_height > 0]
        if not filled:
            raise InputError(f"{source}: no sheet has a row below its header; save the sheet with the data.")
        if options.sheet is not None and options.sheet not in names:
            raise InputError(
                f"{source}: there is no sheet '{options.sheet}'{did_you_mean(options.sheet, names)}; "
                f"there are {listed(names)}."
            )
        wide = [name for name in filled if workbook.get_sheet_by_name(name).width > 1]
        name = options.sheet or (wide or filled)[0]  # a sheet of one column explains the others
        rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=True, nrows=most)
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise InputError(f"{source}: the workbook cannot be read ({error}); save it again.") from None
    if options.sheet is None and len(filled) > 1:
        reason = " with several columns" if name != filled[0] else ""
        entries.append(
            AccountEntry(
                "source",
                f"Of {counted(len(filled), 'sheet')} with cells the first{reason}, '{name}', was read.",
                option="--sheet",
            )
        )
    return rows, entries


def _from_header(
    rows: list[list[Any]], header_row: int | None, source: str, entries: list[AccountEntry]
) -> list[list[Any]]:
    """The rows from the header on: that which is stated, else without titles above it."""
    if header_row == 0:
        return [numbered_names(max(map(len, rows), default=0)), *rows]
    if header_row is not None:
        if not 1 <= header_row < len(rows):
            raise InputError(f"{source}: --header-row {header_row} is not a row above data; correct it.")
        return rows[header_row - 1 :]
    head = [[str(cell).strip() for cell in row] for row in rows[: MOST_TITLES + 2]]
    count = title_rows(head)
    if count:
        entries.append(title_entry(count))
    check_header(head[count:], source)
    return rows[count:]


def _cells_of_errors(data: bytes, source: str) -> list[AccountEntry]:
    """What the account says of errors such as #N/A, which the library gives as empty cells."""
    # Formulas without a stored result would be empty, too: programs write them that compute nothing.
    if not data.startswith(b"PK"):
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if name.startswith("xl/worksheets/sheet")]
            sheets = [archive.read(name) for name in names]
    except DAMAGED_ZIP as error:
        raise InputError(f"{source}: the workbook cannot be read ({error}); save it again.") from None
    bare = sum(len(_NO_RESULT.findall(sheet)) for sheet in sheets)
    if bare:
        raise InputError(
            f"{source}: {counted(bare, 'formula')} without a stored result; open the workbook in a spread"
            "sheet program and save it, or replace the formulas by their values."
        )
    errors = sorted(text.decode() for sheet in sheets for text in _ERROR_CELL.findall(sheet))
    if not errors:
        return []
    sentence = (
        f"{counted(len(errors), 'cell')} with an error ({listed(dict.fromkeys(errors))}) count as missing."
    )
    return [
        AccountEntry(
            "missing", sentence, cells=tuple(dict.fromkeys(errors)), count=len(errors), option="--missing"
        )
    ]


def _frame_of(rows: list[list[Any]], source: str) -> pd.DataFrame:
    """A table of cells with a header; empty rows are dropped, and empty cells are missing."""
    cells = [[cell.strip() if isinstance(cell, str) else cell for cell in row] for row in rows]
    filled = [place for place, row in enumerate(cells) if any(cell != "" for cell in row)]
    cells = [cells[place] for place in filled]
    if len(cells) < 2:
        raise InputError(f"{source}: there are no rows below the header; export it again.")
    header = [str(cell) for cell in cells[0]]
    for name in header:
        if name and header.count(name) > 1:
            raise InputError(f"{source}: column '{name}' occurs twice in the header; rename one of them.")
    names = [name or f"column {place + 1}" for place, name in enumerate(header)]
    index = [place - filled[0] - 1 for place in filled[1:]]  # rows are numbered as the file has them
    body = [[None if cell == "" else cell for cell in row] for row in cells[1:]]
    frame = pd.DataFrame(body, index if index != [*range(len(body))] else None, names)
    unnamed = [
        name for name, title in zip(names, header, strict=True) if not title and frame[name].isna().all()
    ]
    return frame.drop(columns=unnamed).infer_objects()


def read_parquet_content(
    data: bytes, options: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A Parquet file as it is, with the order of its levels."""
    return parse_parquet(data, source), []


def read_arrow_content(
    data: bytes, options: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A file or stream of Arrow as it is."""
    try:
        if data.startswith(b"\xff\xff\xff\xff"):
            content = pa.ipc.open_stream(pa.BufferReader(data)).read_all()
        else:
            content = pyarrow.feather.read_table(pa.BufferReader(data))
        content.validate(full=True)  # offsets of a damaged file would end the process
        return plain_cells(content.to_pandas()), []
    except EXHAUSTED:
        raise
    except Exception as error:  # libraries pass on whatever damage makes their parsers raise
        reason = first_line(error)
        raise InputError(f"{source}: the file is damaged ({reason}); write or copy it again.") from None


def load_library(module: str, words: str, package: str) -> Any:
    """A package of the extra `files`."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingDependency(NEEDED.format(words=words, package=package)) from None
