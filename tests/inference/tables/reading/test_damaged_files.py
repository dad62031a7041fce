"""Files with random damage are read or refused with one sentence, and never end in a traceback."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

from conjury.inference.errors import InputError
from conjury.inference.tables.reading import read, read_answers
from tests.support.messes.clean_tables import CLEAN
from tests.support.messes.faulty_files import as_text, binary, json_rows, packed, quoted, typed, workbook

pytest.importorskip("python_calamine", reason="extra `files`")
# Files of SPSS and Stata are left out: a damaged one can end the process within the library that reads it.
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


def run_seeds(seeds: range, folder: Path) -> None:
    contents = {(name, kind): write(CLEAN[kind].frame) for name, write in WRITERS.items() for kind in KINDS}
    cases, refusals = list(contents), []
    for seed in seeds:
        draws = random.Random(seed)
        case = draws.choice(cases)
        path = folder / case[0]
        path.write_bytes(damaged(contents[case], draws))
        try:
            with warnings.catch_warnings(action="ignore"):
                table = read(path)
                columns = {name: table.frame[name] for name in ("judge", "human") if name in table.frame}
                if columns:
                    read_answers(columns, table.rules, source=path.name)
        except InputError as refusal:
            refusals.append(str(refusal))
        except Exception as error:  # names the seed
            raise AssertionError(f"seed {seed}, {case}") from error
    assert refusals
    assert not [sentence for sentence in refusals if "\n" in sentence]


def test_sixty_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    run_seeds(range(60), tmp_path)


@pytest.mark.long
def test_two_thousand_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    run_seeds(range(2000), tmp_path)
