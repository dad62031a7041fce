"""JSON and JSON lines as tables: one row per record, inner objects as columns ``outer.inner``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...errors import InputError, listed
from ..limits import decoded, parse_json
from .account import AccountEntry
from .reading_rules import ReadingRules
from .text_files.text_encoding import decode_text

DEEP = 3  # levels of objects that become columns
LISTS = ("data", "rows", "records", "items", "results", "samples", "examples", "annotations")


def read_json_lines(
    data: bytes, options: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A table of one JSON object per line."""
    return frame_of_records(parsed_json(data, is_lines=True, source=source), source), []


def read_json_table(
    data: bytes, options: ReadingRules, source: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A table from a list of objects, the only list of objects in an object, or an object of columns."""
    content = parsed_json(data, is_lines=False, source=source)
    if isinstance(content, list):
        return frame_of_records(content, source), []
    if isinstance(content, dict):
        return _frame_of_object(content, source)
    raise InputError(f"{source}: this is not a list of rows; write one JSON object per row.")


def parsed_json(data: bytes, is_lines: bool, source: str, encoding: str | None = None) -> Any:
    """What JSON contains; of JSON lines a list of their values."""
    text = _text(data, source) if encoding is None else decode_text(data, encoding, source, [])
    if not is_lines:
        try:
            return parse_json(text)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{source}:{error.lineno}: the file is not valid JSON ({error.msg}); correct it."
            ) from None
        except ValueError as error:
            raise InputError(f"{source}: the file is not valid JSON ({error}); correct it.") from None
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append(parse_json(line))
            except ValueError as error:
                raise InputError(
                    f"{source}: line {number:,} is not valid JSON ({error}); correct it."
                ) from None
    return records


def frame_of_records(records: Sequence[Any], source: str) -> pd.DataFrame:
    """A table of records; null and absent fields are missing, a text is never missing."""
    if not records:
        raise InputError(f"{source}: the file has no rows; give another one.")
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{source}: row {number:,} is not a JSON object; write one object per row.")
    return pd.DataFrame([flat(record) for record in records])


def _frame_of_object(content: Mapping[str, Any], source: str) -> tuple[pd.DataFrame, list[AccountEntry]]:
    lists = {
        name: value
        for name, value in content.items()
        if isinstance(value, list) and value and all(isinstance(record, dict) for record in value)
    }
    usual = [name for name in LISTS if name in lists]
    if len(lists) == 1 or usual:
        name = usual[0] if usual else next(iter(lists))
        sentence = f"The rows are those of the list '{name}'."
        return frame_of_records(lists[name], source), [AccountEntry("source", sentence, option="--format")]
    lengths = {len(value) for value in content.values() if isinstance(value, list)}
    if content and len(lengths) == 1 and all(isinstance(value, list) for value in content.values()):
        return pd.DataFrame(dict(content)), []
    if rows := _rows_of_pandas(content):
        return frame_of_records(rows, source), []
    raise InputError(
        f"{source}: no list of rows can be told in this JSON object (it has {listed(content)}); write a list "
        "of objects, one for each row."
    )


def _rows_of_pandas(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows as `DataFrame.to_json` writes them: by column, as "split", or by row number; empty for others."""
    names, cells = content.get("columns"), content.get("data")
    if isinstance(names, list) and isinstance(cells, list) and "index" in content:
        is_table = all(isinstance(row, list) and len(row) == len(names) for row in cells)
        return [dict(zip(map(str, names), row, strict=True)) for row in cells] if is_table else []
    parts = list(content.values())
    if not parts or not all(isinstance(part, dict) and part for part in parts):
        return []
    if list(content) == [str(row) for row in range(len(content))]:
        return parts
    rows = list(parts[0])
    if not all(row.isdecimal() for row in rows) or any(list(part) != rows for part in parts):
        return []
    return [{name: part[row] for name, part in content.items()} for row in rows]


def flat(record: Mapping[str, Any], before: str = "", deep: int = DEEP) -> dict[str, Any]:
    """A record with its inner objects as columns ``outer.inner``; lists and what is deeper as JSON."""
    row: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and deep > 1 and value:
            row |= flat(value, f"{name}.", deep - 1)
        else:
            row[name] = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
    return row


def _text(data: bytes, source: str) -> str:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return decoded(data, source, encoding=encoding)
