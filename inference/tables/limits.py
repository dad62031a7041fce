"""How much is read from a file, and how large a study may be: every limit, in one place.

They are far above real use, and stop a damaged, mistaken or hostile input before memory or time runs out.
Parquet tables have no limit of size: their files state how large they are, and that is checked.
"""

from __future__ import annotations

import difflib
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from ..errors import InputError

TABLE_BYTES = 2**30  # a CSV of choices or judgments, unpacked
EXPORT_BYTES = 2**28  # an export of another program, or any other JSON or text, unpacked
YAML_BYTES = 2**20
PUBLISHED_BYTES = 2**24  # of a file of published tables
PUBLISHED_CELLS = 200_000  # of a published table
PUBLISHED_TABLES = 1_000  # of one file
LINE_BYTES = 2**26  # bytes of a CSV without a line break
CELL_CHARACTERS = 2**24  # Python's csv refuses cells above 131,072, which transcripts exceed
COLUMNS = 10_000

DEPTH = 100  # lists and mappings inside of each other
YAML_VALUES = 250_000  # counted once for each place where an alias puts them
DIGITS = 40  # of a whole number in JSON: reading one takes time that grows with their square

ATTRIBUTES = 100
LEVELS = 1_000  # of an attribute
PROFILES = 10_000_000  # that are enumerated
TRUE_CELLS = 20_000  # combinations of attributes, each compared with each other for true values
PAIRS = 1_000_000
RESPONDENTS = 100_000
TASKS = 1_000  # of a respondent
STIMULI = 10_000  # of a level
SCALE_POINTS = 1_001
SAMPLES = 10_000
CELLS = 500  # combinations of the facets of an instrument
ITEMS = 1_000_000
DRAWS = 100_000  # of a bootstrap, or of a chain
CHAINS = 100
REQUESTS = 10_000  # in flight

TEMPLATE_STEPS = 100_000  # passes through the loops and macros of a template
TEMPLATE_CHARACTERS = 10_000_000  # of a value, and of all that it writes
TEMPLATE_WORK = 100_000_000  # characters of all values that it makes
TEMPLATE_BITS = 4_096  # of a whole number
TEMPLATE_SECONDS = 5.0  # of a processor
TEMPLATE_BYTES = 2**20  # of the file of one template


BLOCK = 2**20
DAMAGED_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)  # raised by what is packed and cut off or changed
EXHAUSTED = (RecursionError, MemoryError, OverflowError)
HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def reading(source: object) -> Iterator[None]:
    """Turn what a hostile file exhausts (the stack, memory, the range of a number) into one sentence."""
    try:
        yield
    except EXHAUSTED as error:
        raise limit_error(source, error) from None


@contextmanager
def opening(source: object) -> Iterator[None]:
    """Turn a file that is damaged, or may not be read, into one sentence."""
    try:
        yield
    except DAMAGED_GZIP as error:
        raise InputError(f"{source}: the gzip file is damaged ({error}); write or copy it again.") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror}); check its permissions.") from None


def limit_error(source: object, error: BaseException) -> InputError:
    """State which limit of the machine a file exceeds, and what to do."""
    problems: dict[type[BaseException], str] = {
        RecursionError: "its content is nested too deeply; write it flat",
        OverflowError: "it contains a number that is too large; correct it",
    }
    problem = problems.get(
        type(error), "it needs more memory than there is; split it, or write it as Parquet"
    )
    return InputError(f"{source}: the file cannot be read, because {problem}.")


def require_file(path: Path) -> None:
    """Raise InputError where a path is no regular file, or where nothing is there, with the closest name."""
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; name a file in it.")
    if not path.exists() and path.is_symlink():
        raise InputError(
            f"{path}: this is a link that leads to no file; correct it, or name the file itself."
        )
    if not path.exists():
        names = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, names, n=1)
        hint = f" (did you mean '{close[0]}'?)" if close else ""
        raise InputError(f"{path}: there is no such file{hint}; check the path.")
    if not path.is_file():
        raise InputError(
            f"{path}: this is a pipe or a device, not a regular file; save its content to a file first."
        )


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, unpacked where its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def read_content(path: Path, limit: int) -> bytes:
    """Content of a regular file, unpacked where its name ends in .gz; InputError beyond ``limit`` bytes."""
    require_file(path)
    with opening(path):
        packed = path.name.lower().endswith(".gz")
        most = limit if packed else min(limit, path.stat().st_size)
        with open_unpacked(path) as file, reading(path):
            content = file.read(most + 1)
    if len(content) > limit:
        raise InputError(
            f"{path}: the file contains more than {_size(limit)}, the limit for such files; split it or take "
            "out what is not needed."
        )
    return content


def check_text_size(path: Path) -> None:
    """Refuse a CSV, plain or packed, that is larger than the limit or has a line beyond all measure."""
    packed = path.name.lower().endswith(".gz")
    if not packed and path.stat().st_size <= LINE_BYTES:
        return
    total = since_break = 0
    with open_unpacked(path) as file:
        while block := file.read(BLOCK):
            total += len(block)
            last = block.rfind(b"\n")
            since_break = since_break + len(block) if last < 0 else len(block) - last - 1
            if total > TABLE_BYTES:
                raise InputError(
                    f"{path}: the CSV contains more than {_size(TABLE_BYTES)} of text, the limit for CSV; "
                    "write it as Parquet, which has no limit of size."
                )
            if since_break > LINE_BYTES:
                raise InputError(
                    f"{path}: a line of the CSV is longer than {_size(LINE_BYTES)}, the limit for a line; "
                    "correct the file, or write it as Parquet."
                )


def check_columns(source: object, count: int) -> None:
    """Refuse a table with more columns than the limit."""
    if count > COLUMNS:
        raise InputError(
            f"{source}: the table has {count:,} columns, and the limit is {COLUMNS:,}; drop those that are "
            "not needed."
        )


def parse_json(text: str) -> Any:
    """Parse JSON within limits of nesting and digits; halves of surrogate pairs become U+FFFD."""
    too_deep = f"it is nested more than {DEPTH} levels deep"
    try:
        value = json.loads(text, parse_int=_parse_integer)
    except RecursionError:
        raise ValueError(too_deep) from None
    if text.count("[") + text.count("{") > DEPTH and _is_deeper(value, DEPTH):
        raise ValueError(too_deep)
    return _mend_texts(value) if _ESCAPED_HALF.search(text) else value


def decoded(
    content: bytes, source: object, remedy: str = "save it as UTF-8", encoding: str = "utf-8-sig"
) -> str:
    """Text of a content, without a byte order mark; InputError names the line that is not UTF-8."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source}:{line}: the file is not UTF-8 text; {remedy}.") from None


def read_text(path: Path, remedy: str = "save it as UTF-8") -> str:
    """Text of a file in UTF-8; InputError names the line that is not."""
    return decoded(read_content(path, EXPORT_BYTES), path, remedy)


def read_json(path: Path, remedy: str) -> Any:
    """Parse a JSON file; InputError names the file, the line where there is one, and the remedy."""
    text = read_text(path, remedy)
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: the file is not valid JSON ({error.msg}); {remedy}."
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: the file cannot be read ({error}); {remedy}.") from None


def whole_text(text: str) -> str:
    """Text with U+FFFD in place of halves of surrogate pairs, which no file can contain."""
    return HALF_A_PAIR.sub("\ufffd", text)


def _parse_integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits, and the limit is {DIGITS}")
    return int(digits)


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and mappings are nested deeper than ``limit``, found level by level."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        level = [inner for inner in level if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _mend_texts(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [_mend_texts(part) for part in value]
    return (
        {_mend_texts(key): _mend_texts(part) for key, part in value.items()}
        if isinstance(value, dict)
        else value
    )


def _size(limit: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if limit >= size:
            return f"{limit / size:g} {unit}"
    return f"{limit:,} bytes"
