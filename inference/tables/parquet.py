"""Parquet with the level order kept, read only after the file's claims about its own size were checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, first_line, no_column
from .limits import EXHAUSTED, check_columns, parse_json

MAGIC = b"PAR1"
SMALLEST = 12  # magic, footer length, magic
LEVELS_KEY = b"conjury"
CELLS_UNCHECKED = 100_000_000  # that a file may claim whatever its size
CELLS_PER_BYTE = 1_000  # repeated values pack well, but not without bound
NESTED = (list, tuple, dict, bytes, np.ndarray)  # cells that are no plain values
DAMAGE = (
    pa.ArrowException,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    NotImplementedError,
    *EXHAUSTED,
)


def write_parquet(frame: pd.DataFrame, file: IO[bytes]) -> None:
    """Write a frame without its row index; the levels of every categorical go into the file's metadata."""
    with ParquetParts(file) as parts:
        parts.add(frame)


class ParquetParts:
    """A file of Parquet that is written as parts of its table come, all with the columns of the first."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, frame: pd.DataFrame) -> None:
        """Add rows, as a row group."""
        # Arrow alone restores levels of text, but gives back numeric levels as plain numbers, and forgets
        # the levels of a table without rows.
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if self._writer is None:
            levels = {
                name: {"levels": column.cat.categories.tolist(), "ordered": bool(column.cat.ordered)}
                for name, column in frame.items()
                if isinstance(column.dtype, pd.CategoricalDtype)
            }
            metadata = {**(table.schema.metadata or {}), LEVELS_KEY: json.dumps(levels).encode()}
            schema = table.schema.with_metadata(metadata)
            self._writer = pq.ParquetWriter(self._file, schema, compression="zstd")
        self._writer.write_table(table.cast(self._writer.schema))


def read_parquet(
    path: Path, columns: Sequence[str] | None = None, categories: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a frame, with the levels that ``write_parquet`` noted."""
    _check_columns(column_names(path), columns or (), path)
    try:
        with pq.ParquetFile(path, read_dictionary=list(categories)) as file:
            _check_claims(file.metadata, path.stat().st_size, path)
            table = file.read(columns=None if columns is None else list(columns))
        frame, noted = table.to_pandas(), table.schema.metadata or {}
        del table
        for name in _plain_texts(path, categories):
            frame[name] = frame[name].cat.reorder_categories(sorted(frame[name].cat.categories))
        return _restored(frame, noted)
    except DAMAGE as error:
        raise _damage_error(path, error) from None


def parse_parquet(data: bytes, source: str) -> pd.DataFrame:
    """A frame from the bytes of a file of anybody, with the levels that ``write_parquet`` noted."""
    _check_ends(data[: len(MAGIC)], data[-8:], len(data), source)
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            _check_claims(file.metadata, len(data), source)
            table = file.read()
        table.validate(full=True)  # offsets of a damaged file would end the process
        frame, noted = table.to_pandas(), table.schema.metadata or {}
        del table
        return plain_cells(_restored(frame, noted))
    except InputError:
        raise
    except Exception as error:  # libraries pass on whatever damage makes their parsers raise
        raise _damage_error(source, error) from None


def _restored(frame: pd.DataFrame, noted: dict[bytes, bytes]) -> pd.DataFrame:
    """A frame with numbered rows and the levels that are noted."""
    pa.default_memory_pool().release_unused()
    if frame.index.names != [None]:
        frame = frame.reset_index()
    return _restore_levels(frame.reset_index(drop=True), noted)


def column_names(path: Path) -> list[str]:
    """Names of the columns of a file; raises as `read_parquet` does."""
    _check_footer(path)
    try:
        return list(pq.read_schema(path).names)
    except DAMAGE as error:
        raise _damage_error(path, error) from None


def levels_of_file(path: Path) -> dict[str, pd.CategoricalDtype]:
    """Levels of a file's categories: those that ``write_parquet`` noted, else those of its first rows."""
    _check_footer(path)
    try:
        with pq.ParquetFile(path) as file:
            schema, noted = file.schema_arrow, (file.schema_arrow.metadata or {}).get(LEVELS_KEY, b"{}")
            entries: dict[str, Any] = parse_json(noted.decode())
            levels = {
                name: pd.CategoricalDtype(entry["levels"], ordered=entry["ordered"])
                for name, entry in entries.items()
            }
            texts = [
                field.name
                for field in schema
                if pa.types.is_dictionary(field.type) and field.name not in levels
            ]
            if texts and file.num_row_groups:
                frame = file.read_row_group(0, columns=texts).to_pandas()
                levels |= {name: frame[name].dtype for name in texts}
            return levels
    except DAMAGE as error:
        raise _damage_error(path, error) from None


def plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with lists and mappings as JSON, and bytes as text, so that cells can be compared."""
    texts = {
        str(name): column.map(_plain).astype("string")
        for name, column in frame.items()
        if column.dtype == object and column.map(lambda cell: isinstance(cell, NESTED)).any()
    }
    return frame.assign(**texts) if texts else frame


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    if isinstance(cell, NESTED):
        return json.dumps(cell, ensure_ascii=False, default=_as_list)
    return cell


def _as_list(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _plain_texts(path: Path, columns: Sequence[str]) -> list[str]:
    """Of these columns, those that the file contains as texts, without levels."""
    schema = pq.read_schema(path)
    texts = (pa.types.is_string, pa.types.is_large_string)
    return [name for name in columns if any(is_text(schema.field(name).type) for is_text in texts)]


def _damage_error(path: Path | str, error: BaseException) -> InputError:
    reason = first_line(error)
    return InputError(f"{path}: the Parquet file is damaged ({reason}); write or copy it again.")


def _check_footer(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
        file.seek(max(size - 8, 0))
        _check_ends(head, file.read(8), size, path)


def _check_ends(head: bytes, tail: bytes, size: int, path: Path | str) -> None:
    if head != MAGIC:
        raise InputError(
            f"{path}: this is not a Parquet file; name it .csv or .csv.gz if it is one of those."
        )
    if size < SMALLEST or tail[4:] != MAGIC:
        raise InputError(f"{path}: the Parquet file is cut off (its end is missing); write or copy it again.")
    footer = int.from_bytes(tail[:4], "little")
    if footer > size - SMALLEST:
        raise InputError(
            f"{path}: the Parquet file is damaged (its footer claims {footer:,} bytes, the file has "
            f"{size:,}); write or copy it again."
        )


def _check_claims(metadata: pq.FileMetaData, size: int, path: Path | str) -> None:
    check_columns(path, metadata.num_columns)
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    cells = metadata.num_rows * max(metadata.num_columns, 1)
    stored = sum(
        group.column(index).total_compressed_size for group in groups for index in range(group.num_columns)
    )
    rows = sum(group.num_rows for group in groups)
    unpacked = sum(group.total_byte_size for group in groups)
    if (
        rows != metadata.num_rows
        or stored > size
        or max(cells, unpacked) > max(CELLS_UNCHECKED, CELLS_PER_BYTE * size)
    ):
        raise InputError(
            f"{path}: the Parquet file is damaged (it claims {metadata.num_rows:,} rows and "
            f"{unpacked:,} bytes of data, the file has {size:,} bytes); write or copy it again."
        )


def _check_columns(columns: Sequence[str], names: Sequence[str], path: Path) -> None:
    for name in names:
        if name not in columns:
            raise no_column(str(path), name, columns)


def _restore_levels(frame: pd.DataFrame, metadata: dict[bytes, bytes]) -> pd.DataFrame:
    noted: dict[str, Any] = parse_json(metadata.get(LEVELS_KEY, b"{}").decode())
    for name, entry in noted.items():
        if name not in frame:
            continue
        dtype = pd.CategoricalDtype(entry["levels"], ordered=entry["ordered"])
        values = set(frame[name].dropna().unique().tolist())
        if frame[name].dtype != dtype and values <= set(entry["levels"]):
            frame[name] = pd.Categorical(frame[name].astype(object), dtype=dtype)
    return frame
