"""Columns of text by their bytes: what is missing, a number or an id, with few looks at the texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

LONG = 16  # digits
# Ids: whole numbers with zeros in front, or too long for a floating-point number.
IDS = r"^'?[+-]?(0\d|\d{16,}$)"
_ID = re.compile(IDS)
_POINT, _ZERO, _NINE = ord("."), ord("0"), ord("9")
_EDGES = np.zeros(256, dtype=bool)  # bytes of blanks, and of letters beyond ASCII, which may be blanks
_EDGES[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32, *range(128, 256)]] = True


class MarkTable:
    """Texts that are looked for among many, which most texts are told from by length and first bytes."""

    def __init__(self, marks: Sequence[str]) -> None:
        self.marks = pa.array(marks, type=pa.large_string())
        lengths = [len(mark) for mark in marks]
        self.shortest, self.range = np.uint8(min(lengths)), np.uint8(max(lengths) - min(lengths))
        self.first, self.second = np.zeros((2, 256), dtype=bool)
        self.first[[ord(mark[0]) for mark in marks]] = self.second[[ord(mark[1]) for mark in marks]] = True

    def rows_of(self, cells: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
        """The rows whose text is one of the marks, and the texts of these rows."""
        offsets, content = bytes_of(cells)
        starts, ends = offsets[:-1], offsets[1:]
        may_be = (ends - starts).astype(np.uint8) - self.shortest <= self.range  # wraps around
        if may_be.any():
            may_be &= self.first[content.take(starts, mode="clip")]
        rows = may_be.nonzero()[0]
        rows = rows[self.second[content.take(starts[rows] + 1, mode="clip")]] if len(rows) else rows
        texts = cells.take(pa.array(rows))
        is_mark = pc.is_in(texts, self.marks)
        return rows[is_mark.to_numpy(zero_copy_only=False)], texts.filter(is_mark)


def arrays_of(column: pd.Series[Any]) -> list[pa.Array]:
    """The cells of a column of text as arrays of Arrow."""
    cells = pa.array(column, type=pa.large_string(), from_pandas=True)
    return cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]


def bytes_of(cells: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text begins and ends, shape (n + 1,), in the bytes of all."""
    _, places, content = cells.buffers()
    if places is None or not len(cells):
        return np.zeros(len(cells) + 1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    offsets = np.frombuffer(places, dtype=np.int64, count=len(cells) + 1, offset=8 * cells.offset)
    return offsets, np.frombuffer(content, dtype=np.uint8) if content else np.zeros(0, dtype=np.uint8)


def with_gaps(cells: pa.Array, is_missing: NDArray[np.bool_]) -> pa.Array:
    """The same texts, with nothing in some rows, shape (n,)."""
    if cells.null_count or cells.offset:
        return pc.if_else(pa.array(is_missing), pa.scalar(None, cells.type), cells)
    bits = pa.py_buffer(np.packbits(~is_missing, bitorder="little"))
    return pa.Array.from_buffers(cells.type, len(cells), [bits, *cells.buffers()[1:]])


def needs_trimming(cells: pa.Array) -> bool:
    """Whether a text may begin or end with a blank."""
    offsets, content = bytes_of(cells)
    if not len(content):
        return False
    starts, ends = content.take(offsets[:-1], mode="clip"), content.take(offsets[1:] - 1, mode="clip")
    return bool(_EDGES[starts].any() or _EDGES[ends].any())


def single_digits(cells: pa.Array) -> NDArray[np.float64] | None:
    """The numbers of texts that are one digit or missing, NaN where they are; None for all else."""
    offsets, content = bytes_of(cells)
    if offsets[-1] - offsets[0] > len(cells):
        return None
    length = np.diff(offsets)
    if length.max(initial=0) != 1:
        return None
    is_filled = length == 1
    if cells.null_count:
        is_filled &= cells.is_valid().to_numpy(zero_copy_only=False)
    digits = content[offsets[:-1][is_filled]]
    n_missing = len(cells) - len(digits)  # empty texts are neither
    if n_missing != cells.null_count or not len(digits) or digits.min() < _ZERO or digits.max() > _NINE:
        return None
    values = np.full(len(cells), np.nan)
    values[is_filled] = digits - _ZERO
    return values


def has_fractions(cells: pa.Array) -> bool:
    """Whether a number is written with a point or an exponent, as no whole number is."""
    cells = cells.drop_null() if cells.null_count else cells
    offsets, content = bytes_of(cells)
    texts = content[offsets[0] : offsets[-1]].tobytes()
    return any(mark in texts for mark in (b".", b"e", b"E"))


def has_ids(cells: pa.Array) -> bool:
    """Whether cells that are numbers begin with zeros, or are too long for one."""
    # Nearly all cells are told from ids by their length and their first three bytes.
    cells = cells.drop_null() if cells.null_count else cells
    offsets, content = bytes_of(cells)
    starts, length = offsets[:-1], np.diff(offsets)
    first, second = content.take(starts, mode="clip"), content.take(starts + 1, mode="clip")
    rows = ((second != _POINT) & ((first <= _ZERO) & (length > 1) | (length >= LONG))).nonzero()[0]
    if not len(rows):
        return False
    third = content.take(starts[rows] + 2, mode="clip")
    is_fraction = (third == _POINT) & (length[rows] > 2) & (first[rows] != _ZERO)
    is_positive = (first[rows] < _ZERO) & (second[rows] > _ZERO) & (length[rows] < LONG)  # behind a sign
    rows = rows[~(is_fraction | is_positive)]
    return bool(pc.any(pc.match_substring_regex(cells.take(pa.array(rows)), IDS)).as_py())


def is_id(text: str) -> bool:
    """Whether a number is written as ids are."""
    return _ID.search(text) is not None
