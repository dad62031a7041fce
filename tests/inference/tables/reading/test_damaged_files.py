"""Files with random damage are read or refused with one sentence, and never end in a traceback."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from conjury.inference.errors import InputError
from conjury.inference.tables.reading import read, read_answers
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


@pytest.mark.parametrize("byte", [0xFF, 0x7F])
def test_a_file_of_spss_that_ends_the_library_that_reads_it_is_refused(tmp_path: Path, byte: int) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="extra `files`")
    frame = typed(CLEAN["ratings"].frame)
    labels = {"judge": {1: "x", 2: "y"}}
    pyreadstat.write_sav(frame, str(tmp_path / "survey.sav"), variable_value_labels=labels)
    content = bytearray((tmp_path / "survey.sav").read_bytes())
    content[content.index(b"ITEM    ") + 12] = byte  # the width of the next column
    (tmp_path / "survey.sav").write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"survey\.sav: the file cannot be read .*; save it again"):
        read(tmp_path / "survey.sav")


@pytest.mark.long
def test_damaged_files_of_spss_and_stata_are_read_or_refused(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="extra `files`")
    write: dict[str, Any] = {"survey.sav": pyreadstat.write_sav, "survey.dta": pyreadstat.write_dta}
    frame = typed(CLEAN["ratings"].frame)
    outcomes: list[str] = []
    for seed in range(60):
        draws = random.Random(seed)
        path = tmp_path / draws.choice(list(write))
        write[path.name](frame, str(path), variable_value_labels={"judge": {1: "low", 7: "high"}})
        path.write_bytes(damaged(path.read_bytes(), draws))
        try:
            read(path)
        except InputError as refusal:
            outcomes.append(str(refusal))
    assert outcomes
    assert not [sentence for sentence in outcomes if "\n" in sentence]


def test_sixty_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    run_seeds(range(60), tmp_path)


@pytest.mark.long
def test_two_thousand_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    run_seeds(range(2000), tmp_path)
