"""Which kind of file a content is: by its first bytes, whatever its name says."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, counted, did_you_mean, listed
from ..limits import EXPORT_BYTES, TABLE_BYTES, check_text_size, opening, read_content, require_file

STANDARD_INPUT = "-"
HEAD = 2**16  # bytes at the beginning, by which most files are told apart


@dataclass(frozen=True)
class FileKind:
    """One kind of file: its name for ``--format``, in words, and the endings that usually go with it."""

    name: str
    words: str
    endings: tuple[str, ...]


FILE_KINDS = (
    FileKind(
        "csv", "text, separated by commas or other characters", (".csv", ".tsv", ".tab", ".txt", ".dat")
    ),
    FileKind("excel", "a workbook of Excel", (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")),
    FileKind("spss", "a file of SPSS", (".sav", ".zsav", ".por")),
    FileKind("stata", "a file of Stata", (".dta",)),
    FileKind("parquet", "Parquet", (".parquet", ".pq")),
    FileKind("arrow", "Arrow", (".arrow", ".feather", ".ipc")),
    FileKind("json", "JSON", (".json",)),
    FileKind("jsonl", "JSON lines", (".jsonl", ".ndjson")),
)
FORMATS = tuple(container.name for container in FILE_KINDS)
TEXT_FORMATS = ("csv",)  # in which everything is text, and NA is written for nothing
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"
PROSE = (".txt", ".dat")  # files that may be tables, and beside others are notes
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")  # whose lines may be of any length
_OLD_STATA = bytes(range(0x69, 0x74))  # versions before 13, in their first byte
_STATA_ORDERS = (b"\x01\x01\x00", b"\x02\x01\x00")  # order of bytes, in the next three
DOCUMENTS = (
    (b"%PDF", "a PDF"),
    (b"{\\rtf", "a document in RTF"),
    (b"SQLite format 3", "a database of SQLite"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"RDX", "a file of R"),
    (b"RDA", "a file of R"),
    (b"X\n\0\0\0", "a file of R"),
    (b"\x80\x04\x95", "a pickle of Python"),
    (b"\x80\x05\x95", "a pickle of Python"),
)
# What reading an archive raises that is cut off, changed, encrypted or packed in an unknown way.
DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
_WORKBOOK_PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


@dataclass(frozen=True)
class FileContent:
    """The bytes of a source, unpacked, with what it is called and what kind of file it is."""

    data: bytes
    source: str
    form: str
    is_expected: bool  # whether the ending of its name says so, too
    member: str = ""  # of an archive, whose only table it is

    def __str__(self) -> str:
        """What errors call it."""
        return self.source

    @property
    def words(self) -> str:
        """The kind of file in words."""
        return next(container.words for container in FILE_KINDS if container.name == self.form)


def open_content(path: str | Path | FileContent, form: str | None = None) -> FileContent:
    """Read a file or standard input (``-``) and find out what kind of file it is; ``form`` decides."""
    if isinstance(path, FileContent):  # standard input can be read once
        return path
    if form is not None and form not in FORMATS:
        raise InputError(f"--format '{form}' is unknown{did_you_mean(form, FORMATS)}; use {listed(FORMATS)}.")
    source = "standard input" if str(path) == STANDARD_INPUT else str(path)
    data = _standard_input() if str(path) == STANDARD_INPUT else _content_of_file(Path(path))
    data, member = _unpack(data, source)
    if not data or data.isspace():
        raise InputError(f"{source}: the file is empty; write or copy it again.")
    name = (member or source).lower().removesuffix(".gz")
    sniffed = form or kind_of(data, source, name)
    endings = next(container.endings for container in FILE_KINDS if container.name == sniffed)
    is_expected = source == "standard input" or name.endswith(endings)
    return FileContent(data, source, sniffed, is_expected, member)


def kind_of(data: bytes, source: str, name: str = "") -> str:
    """The kind of a content by its first bytes; what text is that could be several, by the ``name``."""
    if data.startswith(PARQUET):
        return "parquet"
    if data.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "arrow"
    if data.startswith((b"$FL2", b"$FL3")):
        return "spss"
    if data.startswith(b"<stata_dta>") or (data[0] in _OLD_STATA and data[1:4] in _STATA_ORDERS):
        return "stata"
    if data.startswith((ZIP, b"\xd0\xcf\x11\xe0")):  # an archive of tables was unpacked before
        return "excel"
    start = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    head = data[start : start + HEAD].lstrip()
    _refuse_documents(data[:512], head[:64].lower(), source)
    closing = {b"{": b"}", b"[": b"]"}.get(head[:1])  # of one value per line
    if closing is not None:
        first, _, after = data[start:].lstrip().partition(b"\n")
        if first.rstrip().endswith(closing) and after.lstrip()[:1] == head[:1]:
            return "jsonl"
    by_name = next((kind.name for kind in FILE_KINDS if name.endswith(kind.endings)), "csv")
    if by_name in ("json", "jsonl"):
        return by_name
    return "json" if head[:1] in (b"[", b"{") else "csv"


def _refuse_documents(start: bytes, head: bytes, source: str) -> None:
    """Refuse pages and documents, which are text or bytes but no tables."""
    words = next((words for mark, words in DOCUMENTS if start.startswith(mark)), None)
    if words is None and head.startswith((b"<!doctype", b"<html", b"<table", b"<?xml", b"<head", b"<body")):
        words = "a page of HTML or XML"
    if words is not None:
        raise InputError(f"{source}: this is {words}, and no table; export the data as CSV or .xlsx.")


def _unpack(data: bytes, source: str) -> tuple[bytes, str]:
    """The content of a gzip file, or of the one table in an archive, and the name of that table."""
    if data.startswith(b"\x1f\x8b"):
        with opening(source), gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _limited(file.read(TABLE_BYTES + 1), source), ""
    if not data.startswith(ZIP):
        return data, ""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if any(part in names for part in _WORKBOOK_PARTS):
                return data, ""
            name = _only_table(names, source)
            with archive.open(name) as file:
                return _unpack(_limited(file.read(TABLE_BYTES + 1), source), source)[0], name
    except DAMAGED_ZIP as error:
        raise InputError(
            f"{source}: the file is damaged, or packed unusually ({error}); unpack it and name a file."
        ) from None


def _only_table(names: Sequence[str], source: str) -> str:
    """The one table among the files of an archive; those that operating systems add are none."""
    files = [
        name
        for name in names
        if not name.endswith("/") and not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
    ]
    endings = tuple(ending for kind in FILE_KINDS for ending in kind.endings if ending not in PROSE)
    tables = [name for name in files if name.lower().removesuffix(".gz").endswith(endings)]
    tables = tables or [name for name in files if name.lower().endswith(PROSE)]
    if len(tables) == 1:
        return tables[0]
    what = f"{len(tables):,} tables" if tables else f"{counted(len(files), 'file')} and no table"
    raise InputError(
        f"{source}: this is an archive of {what} ({listed(tables or files, 8)}); unpack it and name one."
    )


def _limited(data: bytes, source: str) -> bytes:
    if len(data) > TABLE_BYTES:
        raise InputError(f"{source}: the file is too large once unpacked; split it, or write it as Parquet.")
    return data


def _content_of_file(path: Path) -> bytes:
    """The bytes of a file, unpacked; a text that is too large is refused before it takes memory."""
    require_file(path)
    with opening(path):
        with path.open("rb") as file:
            if file.read(len(PARQUET)) == PARQUET:  # such files state how large they are, and have no limit
                return PARQUET + file.read()
        if path.name.lower().removesuffix(".gz").endswith(JSON_ENDINGS):
            return read_content(path, EXPORT_BYTES)
        check_text_size(path)
    return read_content(path, TABLE_BYTES)


def _standard_input() -> bytes:
    stream: Any = sys.stdin.buffer
    data: bytes = stream.read(TABLE_BYTES + 1)
    if len(data) > TABLE_BYTES:
        raise InputError("standard input: there is too much of it; write it to a file, as Parquet.")
    return data
