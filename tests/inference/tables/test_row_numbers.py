"""Rows have the numbers of the user's file; which column names items, and which rows are copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters.validation import compare_runs, judge
from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, Rules, read_crowd
from conjury.inference.readers.conjoints import read_conjoint
from conjury.inference.readers.judgments import load_judgments
from conjury.inference.tables.columns import describe_rows
from conjury.inference.tables.items import copies, other_order, repeated_items
from conjury.inference.tables.reading import ReadingRules, read

RULES = ReadingRules(exclude={"part": "pilot"})


def written(folder: Path, header: str, rows: list[str], bad: str) -> Path:
    """A file with a bad row below two of a pilot, an empty one, a second header and two others."""
    commas = "," * header.count(",")
    lines = [header, *rows[:2], commas, header, *rows[2:4], bad, *rows[4:]]
    parts = ["part", "pilot", "pilot", "", "part", *["use"] * 10]
    file = folder / "table.csv"
    file.write_text("\n".join(f"{line},{part}" for line, part in zip(lines, parts, strict=False)) + "\n")
    return file


LABELS = ("id,verdict,label", [f"q{n},{'yes' if n % 2 else 'no'},yes" for n in range(9)], "q20,n/a,yes")
RATED = ("item,rater,score", [f"q{n // 2},{'ab'[n % 2]},{n % 3 + 1}" for n in range(8)], "q9,a,n/a")
WIDE = ("item,ann,bob", [f"q{n},{n % 3 + 1},{n % 2 + 1}" for n in range(8)], "q9,?,2")
TIDY = (
    "judge_id,judge_kind,item_id,value",
    [f"{'ab'[n % 2]},human,q{n // 2},{n % 3 + 1}" for n in range(8)],
    "a,martian,q9,1",
)
PROFILES = (
    "resp,task,profile,tax,chosen",
    [f"r{n // 4},{n // 2 % 2},{n % 2},{'ab'[n % 2]},{n % 2}" for n in range(8)],
    "r9,0,0,a,perhaps",
)
TASKS = (
    "resp,task,tax1,tax2,roof1,roof2,chosen1,chosen2",
    [f"r{n // 2},{n % 2},a,b,{'tw'[n % 2]},{'wt'[n % 2]},1,0" for n in range(8)],
    ",0,a,b,t,w,1,0",
)


def imported(file: Path) -> Any:
    """What `import` does with one row per rating."""
    layout = Layout(value={"score": "score"}, item="item", judge="rater", people=True)
    return read_crowd(file, "csv", layout, Rules(reading=RULES))


DOORS: list[tuple[tuple[str, list[str], str], Callable[[Path], Any]]] = [
    (LABELS, lambda file: judge(file, "verdict", "label", exclude=RULES.exclude)),
    (LABELS, lambda file: compare_runs(file, file, "verdict", "label", id="id", exclude=RULES.exclude)),
    (RATED, lambda file: judge(file, "a", "b", exclude=RULES.exclude)),
    (RATED, lambda file: load_judgments(file, rules=RULES)),
    (RATED, imported),
    (WIDE, lambda file: load_judgments(file, rules=RULES, raters=["ann", "bob"])),
    (TIDY, lambda file: load_judgments(file, rules=RULES)),
    ((*TIDY[:2], ",human,q9,1"), lambda file: judge(file, "a", "b", exclude=RULES.exclude)),
    (TIDY, lambda file: judge(file, "a", "b", exclude=RULES.exclude)),
    (PROFILES, lambda file: read_conjoint(file, RULES, outcome="chosen")),
    (TASKS, lambda file: read_conjoint(file, RULES)),
]


@pytest.mark.parametrize(("content", "door"), DOORS)
def test_a_sentence_names_the_row_of_the_file(content: Any, door: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\brow 7\b"):
        door(written(tmp_path, *content))


@pytest.mark.parametrize("last", ["3,x", "3,x\n4"])  # a short row is for the reader of single rows
def test_rows_have_numbers_below_the_header_whatever_was_selected(last: str, tmp_path: Path) -> None:
    file = tmp_path / "gaps.csv"
    file.write_text(f"\n\na,b\n1,x\n\n2,y\n,\n{last}\n\n")
    table = read(file, ReadingRules(where={"b": "x"}))
    assert table.frame["a"].tolist() == [1, 3]
    assert describe_rows("a", np.array([False, True]), table.source) == "row 5 of column 'a'"
    assert copy.deepcopy(table.source).rows.tolist() == [1, 5]
    assert read(table.frame).source == "table"


def rows_of(distinct: int, rows: int, name: str = "item_id") -> pd.DataFrame:
    """Rows in which a column has so many distinct values, each about as often as the others."""
    return pd.DataFrame({name: [f"i{k % distinct}" for k in range(rows)], "score": range(rows)})


@pytest.mark.parametrize(
    ("distinct", "rows", "counts"),
    [(10, 30, True), (9, 30, False), (2, 4, True), (2, 5, False), (4, 4, False), (1, 2, False)],
)
def test_ten_items_or_half_as_many_as_there_are_rows_count(distinct, rows, counts):
    frame = rows_of(distinct, rows)
    assert repeated_items(frame, ["score"])[0] == ("item_id" if counts else None)
    frame.loc[0, "item_id"] = None
    assert repeated_items(frame, ["score"])[0] is None


@pytest.mark.parametrize(("distinct", "named"), [(9, []), (10, ["doc_uid"])])
def test_other_columns_that_may_name_items_have_ten_values_or_more(distinct, named):
    frame = rows_of(distinct, 30, "doc_uid")
    assert repeated_items(frame, ["score"]) == (None, named)
    raters = frame.rename(columns={"doc_uid": "rater_id"})
    assert repeated_items(raters, ["score"]) == (None, [])


def test_rows_are_copies_where_a_column_tells_the_others_apart():
    frame = pd.DataFrame({"item_id": ["a", "b", "a"], "label": ["x", "x", "x"]})
    assert copies(frame, ["label"]).tolist() == [False, False, True]
    assert not copies(frame.assign(label=["x", "x", "y"]), ["label"]).any()
    assert not copies(frame[["label"]], ["label"]).any()
    texts = pd.DataFrame({"text": [*map(str, range(10)), "0"]})
    assert copies(texts).tolist() == [False] * 10 + [True]
    assert not copies(pd.DataFrame({"text": [*map(str, range(9)), "0"]})).any()


def test_the_same_items_in_another_order_are_found_by_the_column_that_names_them():
    one, turned = rows_of(12, 12), rows_of(12, 12).iloc[::-1].reset_index(drop=True)
    assert other_order(one, turned, ["score"]) == "item_id"
    assert other_order(one, one, ["score"]) is None
    assert (
        other_order(one.rename(columns={"item_id": "x"}), turned.rename(columns={"item_id": "x"}), ["score"])
        == "x"
    )
    few = [table.head(9).rename(columns={"item_id": "x"}) for table in (one, turned)]
    assert other_order(*few, ["score"]) is None
