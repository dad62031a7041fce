"""Which program wrote a file, and its records, whether they are JSON or rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import InputError
from ...tables.limits import parse_json
from ...tables.reading.account import AccountEntry
from ...tables.reading.containers import FORMATS as KINDS_OF_FILES
from ...tables.reading.containers import STANDARD_INPUT, FileContent, open_content
from ...tables.reading.json_rows import LISTS, parsed_json
from ...tables.reading.reading_rules import ReadingRules
from ...tables.reading.table_reading import read
from ...tables.reading.text_files.delimited import names_in_text
from ...tables.reading.typed_files import names_in_workbook, read_arrow_content
from .formats import ANSWERS, FORMATS, PROGRAMS, RATINGS, Format, format_of, refuse_unknown
from .record_shapes import is_doccano

INSPECT, POTATO, DOCCANO = "inspect", "potato", "doccano"
LOG = ".eval"  # ending of the logs of Inspect
INSTANCES = ("annotated_instances.*", "user_state.json")  # files of Potato, in a folder for each person
JSON = ("json", "jsonl")
STATE = "instance_id_to_label_to_value"  # labels in the state of a person in Potato
CASES = ("testCases", "conversationalTestCases", "test_results")  # lists of deepeval


@dataclass(frozen=True)
class RecognisedFile:
    """A file, the format of the program that wrote it, if one is known, and the rules for the file."""

    content: FileContent | Path
    format: Format | None
    rules: ReadingRules
    records: list[Any] | None = None  # of JSON
    is_guess: bool = False

    @property
    def entries(self) -> list[AccountEntry]:
        """What the account says of the format."""
        if self.format is None:
            return []
        sentence = f"The file contains {self.format.words or self.format.name}, and is read as such."
        return [AccountEntry("source", sentence, option="--format" if self.is_guess else None)]


def recognise(path: str | Path | FileContent, rules: ReadingRules | None = None) -> RecognisedFile:
    """Find out which program wrote a file, by its first record or its columns; `--format` decides."""
    # A column of raters that is named says that a row is a rating, whatever program has such columns.
    rules = rules or ReadingRules()
    name = rules.form
    if name is not None and name in KINDS_OF_FILES:  # a table of nobody in particular
        return RecognisedFile(open_content(path, name), None, rules)
    if name is not None and name not in PROGRAMS:
        refuse_unknown(name)
    rules = replace(rules, form=None)
    is_path = not isinstance(path, FileContent) and str(path) != STANDARD_INPUT
    if is_path and (Path(str(path)).is_dir() or str(path).lower().endswith(LOG)):
        folder = Path(str(path))
        return RecognisedFile(folder, _row(name or _program_of(folder)), rules, is_guess=name is None)
    content = open_content(path)
    records, sample = _sample(content, rules)
    if name is None and sample is not None and {"eval", "samples"} <= set(sample):
        return RecognisedFile(Path(str(path)), _row(INSPECT), rules, is_guess=True)
    if name == INSPECT:
        return RecognisedFile(Path(str(path)), _row(INSPECT), rules)
    if name is None and (sample is None or rules.rater_column in sample):
        return RecognisedFile(content, None, rules, records)
    row = _row(name) if name is not None else format_of(sample or {})
    return RecognisedFile(content, row, rules, records, row is not None and name is None)


def _row(name: str) -> Format:
    """The row of a program: that of ratings or answers, where it has several."""
    rows = [row for row in FORMATS if row.name == name]
    return next((row for row in rows if row.content in (RATINGS, ANSWERS)), rows[0])


def _program_of(folder: Path) -> str:
    """Which program wrote a folder."""
    if any(next(folder.rglob(pattern), None) is not None for pattern in INSTANCES):
        return POTATO
    first = next(iter(sorted(folder.glob("*.jsonl"))), None) if folder.is_dir() else None
    if first is not None:
        records = rows_of(parsed_json(open_content(first).data, is_lines=True, source=str(first)))
        if records and isinstance(records[0], dict) and is_doccano(records[0]):
            return DOCCANO
    return INSPECT


def _sample(content: FileContent, rules: ReadingRules) -> tuple[list[Any] | None, Mapping[str, Any] | None]:
    """All records of JSON, and the first record; of JSON lines the first alone; of a table its columns."""
    is_text = not content.data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if content.form == "jsonl" and is_text:  # one line tells the program, and all are parsed only once
        first = content.data.lstrip().partition(b"\n")[0]
        record = parsed_json(first, is_lines=True, source=content.source)[0]
        return None, record if isinstance(record, dict) else None
    if content.form in JSON:
        parsed = parsed_json(content.data, content.form == "jsonl", content.source)
        if isinstance(parsed, dict) and {"eval", "samples"} <= parsed.keys():
            return None, parsed
        records = rows_of(parsed)
        return records, records[0] if records and isinstance(records[0], dict) else None
    return None, dict.fromkeys(_header(content, rules))


def _header(content: FileContent, rules: ReadingRules) -> list[str]:
    """Names of columns, as far as they are needed to recognise a program."""
    if content.form == "parquet":
        try:
            return list(pq.read_schema(pa.BufferReader(content.data)).names)
        except (pa.ArrowException, OSError):  # damage is told by the reader
            return []
    try:
        if content.form == "arrow":
            return list(map(str, read_arrow_content(content.data, rules, content.source)[0]))
        names_of = {"csv": names_in_text, "excel": names_in_workbook}.get(content.form)
        return [] if names_of is None else names_of(content.data, rules, content.source)
    except InputError:  # is told by the reader
        return []


def rows_of(parsed: Any) -> list[Any] | None:
    """The records of JSON: a list, one within an object, or lists as columns; None where there are none."""
    if isinstance(parsed, list):
        return parsed
    if not isinstance(parsed, dict):
        return None
    if STATE in parsed:
        return instances_of(parsed)
    inner = parsed.get("results")
    if isinstance(inner, Mapping) and isinstance(inner.get("results"), list):  # promptfoo
        return list(inner["results"])
    cases = [case for name in CASES if isinstance(parsed.get(name), list) for case in parsed[name]]
    if cases:
        return cases
    if format_of(parsed) is not None and not isinstance(parsed.get("results"), list):
        return [parsed]  # one record alone
    lists = {name: value for name, value in parsed.items() if isinstance(value, list)}
    for name in LISTS:
        if lists.get(name) and isinstance(lists[name][0], dict):
            return lists[name]
    n = {len(value) for value in lists.values()}
    if len(lists) > 1 and len(n) == 1:  # columns, perhaps with names beside them
        return [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    return None


def instances_of(state: Mapping[str, Any]) -> list[Any]:
    """Annotated instances of the state of one person in Potato, whose labels are pairs with a value."""
    records = []
    for instance, pairs in dict(state[STATE]).items():
        schemas: dict[str, dict[str, Any]] = {}
        for pair in pairs if isinstance(pairs, list) else ():
            label, value = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
            if isinstance(label, Mapping):
                schemas.setdefault(str(label.get("schema")), {})[str(label.get("name"))] = value
        records.append(
            {"user_id": state.get("user_id"), "instance_id": instance, "label_annotations": schemas}
        )
    return records


def read_records(
    path: str | Path | FileContent, rules: ReadingRules | None = None
) -> tuple[list[Mapping[str, Any]], str]:
    """The records of a file in any format, with values of JSON in its cells, and what errors call it."""
    content = open_content(path)
    if content.form in JSON:
        records = rows_of(parsed_json(content.data, content.form == "jsonl", content.source))
    else:
        rules = replace(rules or ReadingRules(), where={}, exclude={})
        records = list(table_records(read(content, rules, typed=False).frame))
    if not records:
        raise InputError(f"{content.source}: the file has no records; export it again.")
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{content.source}: record {number:,} is not a JSON object; export it again.")
    return records, content.source


def table_records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of a table of text as records; cells with JSON become what they state, empty cells None."""
    for row in table.to_dict("records"):
        yield {str(name): None if pd.isna(cell) else _value(str(cell)) for name, cell in row.items()}


def _value(text: str) -> Any:
    if not text.startswith(("[", "{")):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text
