"""Files with random damage are refused with one sentence, or keep all that was not damaged."""

from __future__ import annotations

import random
import warnings
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.tables.reading import TableReading, read, read_answers
from conjury.inference.tables.reading.cell_rules import key_of
from tests.support.messes.clean_tables import CLEAN
from tests.support.messes.faulty_files import as_text, binary, json_rows, packed, quoted, typed, workbook

pytest.importorskip("python_calamine", reason="extra `files`")
WRITERS = {
    "plain.csv": as_text,
    "tabs.tsv": lambda frame: as_text(frame, sep="\t"),
    "quoted.csv": quoted,
    "packed.csv.gz": packed,
    "rows.json": lambda frame: json_rows(frame, False),
    "lines.jsonl": json_rows,
    "book.xlsx": workbook(),
    "table.parquet": binary(lambda frame, buffer: typed(frame).to_parquet(buffer)),
    "table.feather": binary(lambda frame, buffer: typed(frame).to_feather(buffer)),
}
BETWEEN_ROWS = {  # of formats in which rows are told from each other in the bytes
    **dict.fromkeys(("plain.csv", "tabs.tsv", "quoted.csv", "lines.jsonl"), b"\n"),
    "rows.json": b"},{",
}
CHECKED = ("packed.csv.gz", "book.xlsx")  # formats with sums that tell whether they were damaged
KINDS = [kind for kind in CLEAN if kind != "booleans"]


def damaged(content: bytes, draws: random.Random) -> bytes:
    """Content with bytes changed, left out, inserted, repeated or cut off."""
    data = bytearray(content)
    for _ in range(draws.choice([1, 1, 2, 5])):
        if not data:
            break
        change, place = draws.randrange(5), draws.randrange(len(data))
        if change == 0:
            data[place] = draws.randrange(256)
        elif change == 1:
            del data[place : place + draws.randrange(1, 20)]
        elif change == 2:
            marks = b',;\t"\n\r\0\xff\xc3 {}[]1a'
            data[place:place] = bytes(draws.choice(marks) for _ in range(draws.randrange(1, 4)))
        elif change == 3:
            del data[place:]
        else:
            data[place:place] = data[draws.randrange(len(data)) :][:30]
    return bytes(data)


def shared_length(first: bytes, second: bytes) -> int:
    """How many bytes two contents have in common at their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(first), len(second)))


def untouched_rows(name: str, content: bytes, damaged_content: bytes) -> tuple[int, int]:
    """How many rows lie before all damage, and how many behind it; the header is no row."""
    before = shared_length(content, damaged_content)
    behind = shared_length(content[before:][::-1], damaged_content[before:][::-1])
    mark, has_header = BETWEEN_ROWS[name], name.endswith((".csv", ".tsv"))
    first = max(content[:before].count(mark) - has_header, 0)
    last = max(content[len(content) - behind :].count(mark) - (mark == b"\n"), 0)
    return first, min(last, max(content.count(mark) - has_header - first, 0))


def texts_of(frame: pd.DataFrame) -> list[list[str]]:
    """Cells by column, as texts that do not depend on whether the column is one of numbers."""

    def text(cell: object) -> str:
        if pd.isna(cell):  # type: ignore[call-overload]
            return ""
        return key_of(str(cell).strip())

    return [[text(cell) for cell in frame[name]] for name in frame.columns]


def differences(clean: TableReading, reading: TableReading, first: int, last: int) -> list[str]:
    """What was not damaged and is not the same, though the account does not say so."""
    named = [entry for entry in reading.account.entries if entry.subject != "source" or entry.option]
    stated = [entry for entry in clean.account.entries if entry.subject != "source" or entry.option]
    if named != stated:
        return []
    expected, columns = texts_of(clean.frame), texts_of(reading.frame)
    parts = [column[:first] + column[len(column) - last :] for column in columns]
    return [
        str(name)
        for name, column in zip(clean.frame.columns, expected, strict=True)
        if column[:first] + column[len(column) - last :] not in parts
    ]


def run_seeds(seeds: range, folder: Path, names: Collection[str] = tuple(WRITERS)) -> int:
    """Damage a file for each seed; how many were read and compared."""
    contents = {(name, kind): WRITERS[name](CLEAN[kind].frame) for name in names for kind in KINDS}
    clean = {}
    for case, content in contents.items():
        (folder / case[0]).write_bytes(content)
        clean[case] = read(folder / case[0])
    cases, refusals, failures, n_compared = list(contents), [], [], 0
    for seed in seeds:
        draws = random.Random(seed)
        case = draws.choice(cases)
        path = folder / case[0]
        content = damaged(contents[case], draws)
        path.write_bytes(content)
        try:
            with warnings.catch_warnings(record=True) as notes:
                warnings.simplefilter("always")
                table = read(path)
                columns = {name: table.frame[name] for name in ("judge", "human") if name in table.frame}
                if columns:
                    read_answers(columns, table.rules, source=path.name)
        except InputError as refusal:
            refusals.append(str(refusal))
            continue
        except Exception as error:  # names the seed
            raise AssertionError(f"seed {seed}, {case}") from error
        if notes or case[0] not in (*BETWEEN_ROWS, *CHECKED):
            continue  # rows that are too short are named; formats without sums are not compared
        rows = len(clean[case].frame), 0
        if case[0] in BETWEEN_ROWS:
            rows = untouched_rows(case[0], contents[case], content)
        if lost := differences(clean[case], table, *rows):
            failures.append(f"seed {seed}, {case}: {', '.join(lost)}")
        n_compared += 1
    assert not failures, failures
    assert not [sentence for sentence in refusals if "\n" in sentence]
    return n_compared


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_is_refused_or_keeps_what_was_not_damaged(tmp_path, name):
    run_seeds(range(4 if name == "book.xlsx" else 12), tmp_path, [name])


@pytest.mark.slow
def test_two_thousand_damaged_files_are_refused_or_keep_what_was_not_damaged(tmp_path):
    assert run_seeds(range(2000), tmp_path) > 100


def test_a_cell_that_changes_far_from_the_damage_is_noticed(tmp_path):
    path = tmp_path / "plain.csv"
    content = as_text(CLEAN["labels"].frame)
    path.write_bytes(content)
    clean = read(path)
    rows = untouched_rows("plain.csv", content, content[:40] + b"x" + content[40:])
    assert not differences(clean, clean, *rows)
    name = clean.frame.columns[-1]
    changed = clean.frame.assign(**{name: [*clean.frame[name].iloc[:-1], "something"]})
    assert differences(clean, replace(clean, frame=changed), *rows) == [name]
    assert differences(clean, replace(clean, frame=clean.frame.iloc[:-1]), *rows)
