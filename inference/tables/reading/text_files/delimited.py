"""Tables of text: their separator, header rows and decimal commas, found or as stated."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ....errors import InputError, counted, listed
from ...limits import BLOCK, CELL_CHARACTERS, check_columns, reading
from ..account import AccountEntry
from ..cell_rules import number_of, undecided_comma, writes_decimal_commas
from ..reading_rules import ReadingRules
from ..text_arrays import needs_trimming
from .short_rows import warn_of_short_rows
from .surplus_rows import (
    IMPORT_ID,
    MOST_TITLES,
    check_header,
    header_in_one_cell,
    numbered_names,
    title_entry,
    title_rows,
)
from .text_encoding import decode_text, is_utf8

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
MOST_AT_ONCE = 8 * BLOCK
HEAD = 50  # rows by which the separator is found
HALF = 0.5  # share of rows that a separator has to split into as many cells as the header
FIRST = 2**16  # characters among which these rows, and titles above the header, are looked for
BLANKS = tuple(bytes([code]) for code in (32, 9, 11, 12, 28, 29, 30, 31))  # of ASCII, in lines
ZONE = "timeZone"  # what Qualtrics notes there of columns of times
_SEPARATOR_LINE = re.compile(r'^"?sep=(.)"?\r?\n')  # what Excel writes first for itself


def read_delimited(
    data: bytes, options: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A table of text with stripped cells, all as text, "" where they are empty; and what was recognised."""
    entries: list[AccountEntry] = []
    text = _head_of_utf8(data) if is_utf8(data, options.encoding) else None
    delimiter, after_mark = ("", "") if text is None else _delimiter_of(text, options, source, entries)
    if (
        text is None
        or after_mark != text
        or options.header_row is not None
        or _rows_above(text, delimiter, source) != (0, 0, None)
    ):
        entries.clear()
        text = decode_text(data, options.encoding, source, entries)
        delimiter, text = _delimiter_of(text, options, source, entries)
        text = _from_header(text, delimiter, options.header_row, source, entries)
        body = text.encode()
    else:  # all of it is decoded by Arrow
        body = data.removeprefix(BOM_UTF8)
    with reading(source):
        check_columns(source, text.partition("\n")[0].count(delimiter) + 1)
        quotes = body.count(b'"')
        frame = _split_quickly(body, text, delimiter, quotes > 0) if _is_regular(body, quotes) else None
        if frame is None:
            frame = _split(body.decode(), delimiter, source)
    frame = drop_survey_header(frame, entries)
    if frame.empty:
        raise InputError(f"{source}: there are no rows below the header; export it again.")
    if delimiter == "," and not quotes and options.decimal is None:
        return frame, entries  # no cell has a comma
    return _with_points(frame, options.decimal, delimiter, source, entries), entries


def names_in_text(data: bytes, options: ReadingRules, source: str) -> list[str]:
    """Names of the columns of a table of text, from its first lines."""
    head = data[: 4 * FIRST]
    end = head.rfind(b"\n") + 1 if len(data) > len(head) and b"\0" not in head else 0
    text = decode_text(head[: end or None], options.encoding, source, [])
    delimiter, text = _delimiter_of(text, options, source, [])
    text = _from_header(text, delimiter, options.header_row, source, []).lstrip("\r\n")
    return [name.strip() for name in next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])]


def _head_of_utf8(data: bytes) -> str:
    """The first lines of a text."""
    head = data[: 4 * FIRST].removeprefix(BOM_UTF8)
    end = head.rfind(b"\n") + 1 if len(data) > 4 * FIRST else 0
    return head[: end or None].decode(errors="ignore")


def _delimiter_of(
    text: str, options: ReadingRules, source: str, entries: list[AccountEntry]
) -> tuple[str, str]:
    """The separator that is stated or found, and the text without the line by which Excel states it."""
    match = _SEPARATOR_LINE.match(text)
    text = text[match.end() :] if match else text
    delimiter = _stated_delimiter(options.delimiter) or (match[1] if match else None)
    if delimiter is None:
        delimiter = find_delimiter(text, source)
        if delimiter != ",":
            words = {**DELIMITERS, " ": "blanks"}[delimiter]
            entries.append(AccountEntry("source", f"Columns are separated by {words}.", option="--delimiter"))
    return delimiter, text


def _stated_delimiter(delimiter: str | None) -> str | None:
    if delimiter is None:
        return None
    mark = NAMED.get(delimiter.lower(), delimiter)
    if len(mark) != 1 or mark in '"\r\n':
        raise InputError(f"--delimiter {delimiter!r} is invalid; give one character, or tab.")
    return mark


def find_delimiter(text: str, source: str) -> str:
    """The character that splits the first rows into most columns, the same number in each."""
    head = text[:FIRST]
    counts = {mark: _widths(head, mark, len(head) < len(text), source) for mark in DELIMITERS}
    widths = {mark: rows for mark, rows in counts.items() if rows}
    best, best_rank = ",", (0.0, 0)
    for is_below_titles in (False, True):  # with titles above, the header has the width of most rows
        for mark, rows in widths.items():
            width = Counter(rows).most_common(1)[0][0] if is_below_titles else rows[0]
            share = float(np.mean([count == width for count in rows]))
            rank = (share if width > 1 else 0.0, width)
            if width > 1 and (
                rank[0] > best_rank[0] + 0.2 or (rank[0] > best_rank[0] - 0.2 and rank[1] > best_rank[1])
            ):
                best, best_rank = mark, rank
        if best_rank[0] > HALF:
            break
    return " " if not best_rank[1] and _has_blanks_alone(head) else best


def _has_blanks_alone(head: str) -> bool:
    """Whether single blanks split the first lines into equally many cells, some column of them numbers."""
    rows = [line.split(" ") for line in head.splitlines()[:HEAD] if line.strip()]
    widths = {len(row) for row in rows}
    if len(rows) < 3 or len(widths) > 1 or widths == {1} or not all(map(all, rows)):
        return False
    return any(all(number_of(cell) is not None for cell in column[1:]) for column in zip(*rows, strict=True))


def _widths(head: str, mark: str, is_cut: bool, source: str) -> list[int]:
    """Numbers of cells in the first rows that are not empty."""
    rows: list[int] = []
    try:
        for cells in csv.reader(io.StringIO(head, newline=""), delimiter=mark):
            if any(cell.strip() for cell in cells):
                rows.append(len(cells))
            if len(rows) > HEAD:
                break
    except csv.Error as error:
        raise InputError(f"{source}: the header cannot be read ({error}); correct its quotes.") from None
    return rows[:-1] if is_cut and len(rows) > 1 else rows


def _from_header(
    text: str, delimiter: str, header_row: int | None, source: str, entries: list[AccountEntry]
) -> str:
    """The text from its header on: that of the line that is stated, else without titles above it."""
    if header_row == 0:
        width = len(
            next(csv.reader(io.StringIO(text[:FIRST].lstrip("\r\n"), newline=""), delimiter=delimiter), [])
        )
        return f"{delimiter.join(numbered_names(width))}\n{text}"
    if header_row is not None:
        lines = text.split("\n") if "\n" in text else text.split("\r")
        if not 1 <= header_row < len(lines):
            raise InputError(f"{source}: --header-row {header_row} is not a line above data; correct it.")
        return ("\n" if "\n" in text else "\r").join(lines[header_row - 1 :])
    count, lines_above, divided = _rows_above(text, delimiter, source)
    if not count and divided is None:
        return text
    buffer = io.StringIO(text, newline="")
    for _ in range(lines_above):
        buffer.readline()
    if divided is None:
        entries.append(title_entry(count))
        return buffer.read()
    sentence = (
        f"The header has another separator than the rows, and was read as {listed(map(repr, divided))}."
    )
    entries.append(AccountEntry("source", sentence, option="--header-row"))
    return f"{delimiter.join(divided)}\n{buffer.read()}"


def _rows_above(text: str, delimiter: str, source: str) -> tuple[int, int, list[str] | None]:
    """Rows above the header or the data, the lines that they take, and names that another mark separates."""
    lines_read = csv.reader(io.StringIO(text[:FIRST], newline=""), delimiter=delimiter)
    rows, ends = [], []
    with suppress(csv.Error):
        for row in islice(lines_read, MOST_TITLES + 2):
            rows.append([cell.strip() for cell in row])
            ends.append(lines_read.line_num)
    names = header_in_one_cell(rows) if rows else None
    if names is not None:
        return 0, ends[0], names
    count = title_rows(rows)
    check_header(rows[count:], source)
    return count, ends[count - 1] if count else 0, None


def _is_regular(body: bytes, quotes: int) -> bool:
    """Whether the quick reader agrees with the careful one: no carriage returns alone, no open quotes."""
    has_lone_returns = b"\r" in body and body.count(b"\r") != body.count(b"\r\n")
    return quotes % 2 == 0 and not has_lone_returns and body.lstrip(b"\n")[:1] not in (b"", b" ")


def _split_quickly(body: bytes, head: str, delimiter: str, is_quoted: bool) -> pd.DataFrame | None:
    """The table by Arrow's reader; None where a row has another length than the header, or quotes are odd."""
    head = head.lstrip("\r\n")
    line = head.partition("\n")[0].rstrip("\r")
    lines = [line] if line.count('"') % 2 == 0 else io.StringIO(head, newline="")
    header = next(csv.reader(lines, delimiter=delimiter), [])
    names = [name.strip() for name in header]
    if not all(names) or len(set(names)) < len(names):
        return None
    if body[:1] in (b"\r", b"\n") or body.endswith((b"\n\n", b"\n\r\n")):
        body = body.strip(b"\r\n")
    is_small = len(body) <= MOST_AT_ONCE  # in one piece it is quicker, and takes memory twice
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(body),
            read_options=pa.csv.ReadOptions(
                block_size=min(len(body), 64 * BLOCK) if is_quoted or is_small else BLOCK,
                use_threads=False,
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=is_quoted, ignore_empty_lines=False
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.large_string()),
                strings_can_be_null=False,
                check_utf8=False,  # was decoded before
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.column_names != header:
        return None
    if not body.isascii() or any(blank in body for blank in BLANKS if blank != delimiter.encode()):
        table = pa.table([_trimmed(column) for column in table.columns], names=names)
    filled = rows = None
    for column in table.columns:  # of most tables the first column shows that no row is empty
        some = pc.not_equal(column, "")
        filled = some if filled is None else pc.or_(filled, some)
        if pc.all(filled).as_py():
            break
    else:
        rows = np.flatnonzero(np.asarray(filled))
        table = table.filter(filled)
    types = {pa.large_string(): pd.StringDtype(na_value=np.nan)}
    table = table.combine_chunks() if len(body) <= 64 * BLOCK else table
    frame: pd.DataFrame = table.to_pandas(types_mapper=types.get)
    pa.default_memory_pool().release_unused()
    return frame if rows is None else frame.set_axis(rows)


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_trim_whitespace(column) if any(map(needs_trimming, column.chunks)) else column


def _split(text: str, delimiter: str, source: str) -> pd.DataFrame:
    """The table row by row, with a sentence for what cannot be read."""
    limit = csv.field_size_limit(CELL_CHARACTERS)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    short: list[int] = []
    places: list[int] = []  # of rows that are not empty
    try:
        for place, cells in enumerate(lines):
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            places.append(place)
            width = len(rows[0]) if rows else len(row)
            if any(row[width:]):
                raise InputError(
                    f"{source}: line {lines.line_num} has {len(row)} cells, and the header has {width} "
                    "names; put cells that contain the separator in quotes, or name every column."
                )
            check_columns(source, width)
            if len(row) < width:
                short.append(lines.line_num)
            rows.append(row[:width] + [""] * (width - len(row)))
    except csv.Error as error:
        raise InputError(
            f"{source}: line {lines.line_num} cannot be read ({error}); correct that line, or its quotes."
        ) from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise InputError(f"{source}: the header is empty; write the column names in its first line.")
    warn_of_short_rows(source, short)
    names = _names(rows[0], source)
    cells_below = np.array(rows[1:], dtype=object).reshape(-1, len(names))
    index = np.array(places[1:], dtype=np.int64) - places[0] - 1
    has_gaps = bool((index != np.arange(len(index))).any())
    return pd.DataFrame(cells_below, index if has_gaps else None, names, dtype="str")


def _names(header: Sequence[str], source: str) -> list[str]:
    """Names of all columns; one without a name is called by its place."""
    for name, count in Counter(header).items():
        if name and count > 1:
            raise InputError(
                f"{source}: column '{name}' occurs twice in the header; rename or drop one of them."
            )
    return [name or f"column {place + 1}" for place, name in enumerate(header)]


def drop_survey_header(frame: pd.DataFrame, entries: list[AccountEntry]) -> pd.DataFrame:
    """The table without the rows in which Qualtrics repeats its header as questions and as ids."""
    if len(frame) > 1 and frame.columns[0] == "V1" and str(frame.iloc[0, 0]).casefold() == "responseid":
        titles = {name: frame[name].iloc[0] for name in frame if re.fullmatch(r"V\d+", str(name))}
        names = {name: title for name, title in titles.items() if title and title not in frame}
        sentence = "The row below the header has questions, and names of columns V1, V2 and so on."
        entries.append(AccountEntry("source", sentence))
        return _below(frame, 1).rename(columns=names)
    for row in range(min(2, len(frame))):
        cells = [str(cell) for cell in frame.iloc[row]]
        if 2 * sum(cell.startswith(IMPORT_ID) for cell in cells) > len(cells):
            zones = tuple(cell for cell in cells if ZONE in cell)
            sentence = f"{counted(row + 1, 'row')} below the header, written by Qualtrics, left out."
            entries.append(AccountEntry("source", sentence, cells=zones))
            return _below(frame, row + 1)
    return frame


def _below(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """The table without its first rows, the next of which has number 1."""
    below = frame.iloc[count:]
    return below.set_axis(below.index - count)


def _with_points(
    frame: pd.DataFrame, decimal: str | None, delimiter: str, source: str, entries: list[AccountEntry]
) -> pd.DataFrame:
    """Numbers with decimal commas as numbers with points, column by column."""
    if decimal not in (None, ".", ","):
        raise InputError(f"--decimal {decimal!r} is invalid; give a point or a comma.")
    if decimal == ".":
        return frame
    changed: list[str] = []
    undecided: list[tuple[str, str]] = []
    for name in frame.columns:
        head = [text for text in frame[name].head(HEAD).tolist() if text != ""]
        if head and all(number_of(text, ",") is None for text in head):
            continue  # a column of text
        if not frame[name].str.contains(",", regex=False).any():
            continue
        texts = [text for text in frame[name].unique() if text]
        if decimal == "," or writes_decimal_commas(texts):
            values = {text: number_of(text, ",") for text in texts if "," in text}
            points = {text: f"{value:.15g}" for text, value in values.items() if value is not None}
            if points:
                frame[name] = frame[name].replace(points)
                changed.append(str(name))
        elif (text := undecided_comma(texts)) is not None:
            undecided.append((str(name), text))
    if undecided and delimiter == ";":
        name, text = undecided[0]
        raise InputError(
            f"{source}: '{text}' in column '{name}' may be {number_of(text):.15g} or "
            f"{number_of(text, ','):.15g}; state --decimal . for the first and --decimal , for the second."
        )
    if undecided:
        names = listed(f"'{name}'" for name, _ in undecided)
        sentence = f"Commas in numbers such as '{undecided[0][1]}' separate thousands in {names}."
        entries.append(AccountEntry("source", sentence, option="--decimal"))
    if changed and decimal is None:
        names = listed(f"'{name}'" for name in changed)
        entries.append(
            AccountEntry("source", f"Numbers with decimal commas were read in {names}.", option="--decimal")
        )
    return frame
