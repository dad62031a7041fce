"""Patterns of columns, anchors, encodings and times: what they read and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout, read_names, read_scale
from conjury.inference.humans.layout import find_places
from conjury.inference.humans.rules import to_values
from conjury.inference.humans.texts import read_text_table, read_times, to_number, to_utc


def places(columns: list[str], *patterns: str, **named: dict[str, str]) -> list[tuple[str | None, ...]]:
    found = find_places(pd.DataFrame(columns=columns), Layout(ratings=patterns, **named), set(), "export.csv")
    return [(place.column, place.dimension, place.item or place.place) for place in found]


def values(cells: list[str | None], anchors: str | None = None, *missing: str) -> list[object]:
    long = pd.DataFrame({"dimension": "wit", "raw": cells, "row": range(1, len(cells) + 1), "column": "Q1"})
    read, _ = to_values(long, read_scale(anchors, missing), "export.csv")
    return [None if pd.isna(value) else value for value in read]


def test_patterns_read_items_and_dimensions_from_column_names() -> None:
    columns = ["id", "1_Q3_2", "12_Q3_1", "1_Q3_2_TEXT", "Q3_1"]
    assert places(columns, "{place}_Q3_{dimension}", dimensions={"1": "wit", "2": "clarity"}) == [
        ("1_Q3_2", "2", "1"),
        ("12_Q3_1", "1", "12"),
    ]
    assert places(columns, "wit={item}_Q3_1") == [("12_Q3_1", "wit", "12")]


@pytest.mark.parametrize(
    "named",
    [{"dimensions": {"very_funny": "funny"}}, {"items": {"1": "joke"}}, {"items": {"1_very": "joke"}}],
)
def test_an_ambiguous_column_is_refused_until_dimensions_or_items_are_named(named: dict) -> None:
    columns, pattern = ["Q1_very_funny"], "Q{item}_{dimension}"
    with pytest.raises(InputError) as caught:
        places(columns, pattern)
    ways = "item '1', dimension 'very_funny' or item '1_very', dimension 'funny'"
    assert ways in str(caught.value)
    [(_, dimension, item)] = places(columns, pattern, **named)
    assert (item, dimension) in {("1", "very_funny"), ("1_very", "funny")}


@pytest.mark.parametrize(
    ("pattern", "named", "problem"),
    [
        ("J{item}_{dimension}", {}, "no column matches --ratings 'J{item}_{dimension}'"),
        ("Q{itme}_wit", {}, "contains {itme} (did you mean 'item'?)"),
        ("Q{item}{dimension}", {}, "two adjacent placeholders"),
        ("Q{item}_{item}", {}, "a placeholder twice"),
        ("wit=Q{item}_{dimension}", {}, "names a dimension and contains {dimension}"),
        ("Q{item}_wit}", {}, "a single brace"),
        ("Q{item}_{dimension}", {"dimensions": {"fun": "fun"}}, "none has one of the dimensions fun"),
        (
            *("Q{item}_{dimension}", {"dimensions": {"wit": "wit", "wti": "wti"}}),
            "no rating column has dimension 'wti' (did you mean 'wit'?)",
        ),
        (
            *("Q{item}_{dimension}", {"items": {"1": "j1"}}),
            "column 'Q2_wit' has item '2', which --items does not name",
        ),
    ],
)
def test_wrong_patterns_and_names_are_refused(pattern: str, named: dict, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        places(["Q1_wit", "Q2_wit"], pattern, **named)
    assert problem in str(caught.value)


def test_names_come_from_words_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    file.write_text('key;item_id\n1;"a;b"\n2;犬\n', encoding="utf-8")
    assert read_names(str(file), "--items") == {"1": "a;b", "2": "犬"}
    assert read_names("wit, clarity=clear", "--dimensions") == {"wit": "wit", "clarity": "clear"}
    with pytest.raises(InputError, match="names '1' again"):
        read_names("1=a,1=b", "--items")


@pytest.mark.parametrize(
    ("cells", "anchors", "missing", "expected"),
    [
        (["Very", " very ", "2", None, "not at all"], "Not at all=0,Very=4", (), [4, 4, 2, None, 0]),
        (["No, never", "Yes"], "No, never=0,Yes=1", (), [0, 1]),
        (["safe", "unsafe"], "safe=ok,unsafe=bad", (), ["ok", "bad"]),
        (["4", "5"], "4=0,5=1", (), [0, 1]),  # recoded numbers
        (["3", "n/a"], None, ("N/A",), [3, None]),
        (["3.5", "4"], None, (), [3.5, 4]),
        (["1", "5"], "Very=4", (), [1, 5]),  # anchors of another dimension
    ],
)
def test_anchors_cover_words_and_let_numbers_between_them_pass(
    cells: list[str | None], anchors: str | None, missing: tuple[str, ...], expected: list[object]
) -> None:
    assert values(cells, anchors, *missing) == expected


@pytest.mark.parametrize(
    ("cells", "anchors", "problem"),
    [
        (["4", "6"], "4=0,5=1", "row 2 of column 'Q1' contains '6', which --anchors does not cover"),
        (["Somewat", "7", "Very"], "Somewhat=1,Very=4", "'Somewat'.*did you mean 'Somewhat'.*'7'"),
        (["3", "N/A"], None, "row 2 of column 'Q1' contains 'N/A', while other cells"),
        (["Very"], "Very", "has no '='"),
        (["Very"], "Very=", "lacks a label or a value"),
        (["a"], "A=1,a=2", "'a' is given twice"),
    ],
)
def test_uncovered_cells_and_wrong_anchors_are_refused(
    cells: list[str | None], anchors: str | None, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        values(cells, anchors)


def test_anchors_of_single_dimensions_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "anchors.csv"
    file.write_text("label,value,dimension\nHigh,1,\nHigh,9,clear\n")
    long = pd.DataFrame({"dimension": ["wit", "clear"], "raw": ["High", "High"], "row": 1, "column": "Q"})
    assert to_values(long, read_scale(str(file)), "export.csv")[0].tolist() == [1, 9]


def test_encodings_and_delimiters_are_found(tmp_path: Path) -> None:
    text = '名前;評価\n"太郎;\nA";3\n'
    for encoding in ("utf-8-sig", "utf-16", "cp932"):
        file = tmp_path / f"{encoding}.csv"
        file.write_bytes(text.encode(encoding))
        table = read_text_table(file, fallback="cp932")
        assert table.to_numpy().tolist() == [["太郎;\nA", "3"]]
    with pytest.raises(InputError, match=r"is not utf-8 text; name its encoding, such as --encoding cp932"):
        read_text_table(tmp_path / "cp932.csv")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04rest", "an Excel workbook"),
        (b"a,b\n", "no rows below the header"),
        (b"a,a\n1,2\n", "column 'a' occurs twice"),
        (b"a,b\n1,2,3\n", "line 2 has 3 cells, and the header has 2 names"),
        (b'a,b\n1,"2\n', "cannot be read"),
    ],
)
def test_broken_files_are_refused_by_line(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "export.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        read_text_table(file)
    assert str(caught.value).startswith(str(file))


def test_times_become_utc_and_ambiguous_ones_are_missing() -> None:
    cells = pd.Series(["2026-07-01 12:00", "Wed Jul 15 10:15:20 PDT 2026", "3/4/2026 10:00", None])
    assert to_utc(cells, "America/Denver").astype("string").fillna("").tolist() == [
        "2026-07-01 18:00:00+00:00",
        "2026-07-15 17:15:20+00:00",
        "",
        "",
    ]


def test_a_duration_is_the_time_from_start_to_end_and_never_negative() -> None:
    table = pd.DataFrame(
        {"from": ["2026-01-01 10:00", "2026-01-01 10:00"], "to": ["2026-01-01 10:01", "2025"]}
    )
    times, _ = read_times(table, {"started": "from", "ended": "to"}, "UTC")
    assert times["duration"].fillna(-1).tolist() == [60, -1]


def test_wide_digits_are_numbers() -> None:
    assert [to_number(cell) for cell in ("\uff13", "1_000", "inf")] == [3.0, None, None]
