"""A table of messes: whatever the door, the number is right or the refusal is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from conjury.analysis.raters import agreement
from conjury.analysis.raters.validation import compare_runs, judge
from conjury.inference.errors import InputError
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.tables.reading import read, read_answers
from conjury.inference.tables.reading.reading_rules import rules_of
from conjury.inference.tables.reading.table_reading import require_named
from tests.support.messes.clean_tables import CleanTable, cohen, right_number
from tests.support.messes.faults import MESSES, long_form
from tests.support.messes.faulty_files import Fault

pytest.importorskip("pyreadstat", reason="extra `files`")
pytest.importorskip("openpyxl", reason="group dev")
Run = Callable[..., Any]
MAIN = {"nominal": "kappa", "ordinal": "weighted_kappa", "interval": "icc"}


def name_of(mess: tuple[CleanTable, Fault]) -> str:
    return f"{mess[0].kind}: {mess[1].name}"


def rules_for(table: CleanTable) -> dict[str, Any]:
    """What is stated of a table without faults."""
    return {"levels": table.levels, "scale": "ordinal"} if table.levels else {}


def by_read(path: Path, table: CleanTable, rules: dict[str, Any]) -> float:
    """The number from the codes of the columns that `read` gives."""
    reading = read(path, rules_of(cast("Any", rules)))
    names = ("judge", *table.people)
    require_named(reading.frame, dict.fromkeys(names, "--judge"), path.name)
    answers = read_answers({name: reading.frame[name] for name in names}, reading.rules, source=path.name)
    rows = (answers.codes >= 0).all(0)
    assert answers.scale == table.scale, answers.scale
    if table.scale == "interval":
        cells = dict(zip(names, answers.values[:, rows], strict=True))
    else:
        cells = {
            name: [answers.classes[code].removesuffix(" é").lower() for code in codes[rows]]
            for name, codes in zip(names, answers.codes, strict=True)
        }
    return right_number(table, pd.DataFrame(cells))


def by_judge(path: Path, table: CleanTable, rules: dict[str, Any]) -> float:
    frame = judge(path, "judge", table.people, **rules).frame.set_index("name")
    return float(cast("Any", frame).loc[MAIN[table.scale], "estimate"])


def by_compare_runs(path: Path, table: CleanTable, rules: dict[str, Any]) -> float:
    frame = compare_runs(path, path, ("judge", "human"), **rules).frame.set_index("name")
    return float(cast("Any", frame).loc[f"{MAIN[table.scale]}_between", "estimate"])


def by_agreement(path: Path, table: CleanTable, rules: dict[str, Any]) -> float:
    judgments = load_judgments(path, rules=rules_of(cast("Any", rules)))
    frame = agreement(judgments, draws=0, coefficients=["cohen"]).frame
    row = frame[(frame["among"] == "human") & (frame["against"] == "bot")]
    return float(row["estimate"].iloc[0])


DOORS = {"judge": by_judge, "compare_runs": by_compare_runs}


def mess_file(mess: tuple[CleanTable, Fault], folder: Path) -> Path:
    table, fault = mess
    path = folder / fault.file
    path.write_bytes(fault.content(fault.cells(table.frame)))
    return path


def long_file(mess: tuple[CleanTable, Fault], folder: Path) -> Path:
    """The same fault in a table with a row per judgment."""
    table, fault = mess
    path = folder / fault.file
    path.write_bytes(fault.content(long_form(fault.cells(table.frame), table)))
    return path


def check(door: Callable[..., float], path: Path, mess: tuple[CleanTable, Fault], expected: float) -> None:
    table, fault = mess
    rules = rules_for(table)
    if fault.refusal is not None:
        with pytest.raises(InputError) as refusal:
            door(path, table, rules)
        assert fault.refusal in str(refusal.value)
        assert "\n" not in str(refusal.value)
        if not fault.rules:
            return
    assert door(path, table, {**rules, **fault.rules}) == pytest.approx(expected, abs=1e-9)


def is_first(mess: tuple[CleanTable, Fault]) -> bool:
    return mess[0].kind == mess[1].kinds[0]


def in_lanes() -> list[Any]:
    """Every fault: a third with its first table in the default lane, all others slow."""
    first = [mess for mess in MESSES if is_first(mess)]
    lanes = {id(mess): () if place % 3 == 0 else pytest.mark.slow for place, mess in enumerate(first)}
    return [
        pytest.param(mess, id=name_of(mess), marks=lanes.get(id(mess), pytest.mark.slow)) for mess in MESSES
    ]


def of_doors(kind: str, messes: Any = MESSES) -> list[Any]:
    """A third of the faults of one kind of table, and, long, one of each other that is read or refused."""
    quick = [mess for mess in messes if is_first(mess) and mess[0].kind == kind][::3]
    others = {(table.kind, fault.refusal is None): (table, fault) for table, fault in messes}
    return [
        *(pytest.param(mess, id=name_of(mess)) for mess in quick),
        *(
            pytest.param(mess, id=name_of(mess), marks=pytest.mark.long)
            for mess in others.values()
            if mess[0].kind != kind
        ),
    ]


@pytest.mark.parametrize("mess", in_lanes())
def test_a_mess_is_read_as_the_right_table_or_refused(mess, tmp_path):
    table, fault = mess
    check(by_read, mess_file(mess, tmp_path), mess, right_number(table, table.without(fault.gone)))


@pytest.mark.parametrize("door", ["judge", "compare_runs"])
@pytest.mark.parametrize("mess", of_doors("ratings"))
def test_a_mess_gives_the_right_number_or_refusal(mess, door, tmp_path):
    table, fault = mess
    if door == "compare_runs" and len(table.people) > 1:
        pytest.skip("compares two columns")
    check(DOORS[door], mess_file(mess, tmp_path), mess, right_number(table, table.without(fault.gone)))


LONG = [mess for mess in MESSES if not mess[1].is_wide and mess[0].kind not in ("decimals", "raters")]


@pytest.mark.parametrize("mess", of_doors("labels", LONG))
def test_a_mess_in_long_form_gives_the_right_agreement_or_refusal(mess, tmp_path):
    table, fault = mess
    expected = cohen(table.without(fault.gone), "judge", "human")
    check(by_agreement, long_file(mess, tmp_path), mess, expected)
