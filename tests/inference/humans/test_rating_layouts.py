"""Patterns of columns, anchors, encodings and times: what they read and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Layout
from conjury.inference.humans.layout import find_places, read_names
from conjury.inference.humans.scales import read_scale, to_values
from conjury.inference.humans.texts import read_text_table, to_number
from conjury.inference.humans.times import seconds_between, to_utc


def places(columns: list[str], *patterns: str, **named: dict[str, str]) -> list[tuple[str | None, ...]]:
    found = find_places(pd.DataFrame(columns=columns), Layout(ratings=patterns, **named), set(), "export.csv")
    return [(place.column, place.dimension, place.item or place.place) for place in found]


def refusal(columns: list[str], *patterns: str, **named: dict[str, str]) -> str:
    with pytest.raises(InputError) as caught:
        places(columns, *patterns, **named)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def values(cells: list[str | None], anchors: str | None = None, *missing: str) -> list[object]:
    long = pd.DataFrame({"dimension": "wit", "raw": cells, "row": range(1, len(cells) + 1), "column": "Q1"})
    return [
        None if pd.isna(value) else value
        for value in to_values(long, read_scale(anchors, missing), "export.csv")[0]
    ]


def test_patterns_read_items_and_dimensions_from_column_names() -> None:
    columns = ["id", "1_Q3_2", "12_Q3_1", "1_Q3_2_TEXT", "Q3_1"]
    assert places(columns, "{place}_Q3_{dimension}", dimensions={"1": "wit", "2": "clarity"}) == [
        ("1_Q3_2", "2", "1"),
        ("12_Q3_1", "1", "12"),
    ]
    assert places(columns, "wit={item}_Q3_1") == [("12_Q3_1", "wit", "12")]


def test_an_ambiguous_column_is_refused_until_dimensions_are_named() -> None:
    columns = ["Q1_very_funny"]
    message = refusal(columns, "Q{item}_{dimension}")
    assert "item '1', dimension 'very_funny' or item '1_very', dimension 'funny'" in message
    named = {"very_funny": "funny"}
    assert places(columns, "Q{item}_{dimension}", dimensions=named) == [("Q1_very_funny", "very_funny", "1")]


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("J{item}_{dimension}", "no column matches --ratings 'J{item}_{dimension}'"),
        ("Q{itme}_wit", "holds {itme} (did you mean 'item'?)"),
        ("Q{item}{dimension}", "two placeholders side by side"),
        ("Q{item}_{item}", "a placeholder twice"),
        ("wit=Q{item}_{dimension}", "names a dimension and holds {dimension}"),
        ("Q{item}_wit}", "a single brace"),
    ],
)
def test_wrong_patterns_are_refused_with_what_to_write(pattern: str, sentence: str) -> None:
    assert sentence in refusal(["Q1_wit", "Q2_wit"], pattern)


def test_dimensions_and_items_that_are_not_there_are_named() -> None:
    assert "no rating column holds dimension 'wti' (did you mean 'wit'?)" in refusal(
        ["Q1_wit"], "Q{item}_{dimension}", dimensions={"wit": "wit", "wti": "wti"}
    )
    assert "column 'Q2_wit' holds item '2', which --items does not name" in refusal(
        ["Q1_wit", "Q2_wit"], "Q{item}_{dimension}", items={"1": "j1"}
    )


def test_names_come_from_words_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    file.write_text('key;item_id\n1;"a;b"\n2;犬\n', encoding="utf-8")
    assert read_names(str(file), "--items") == {"1": "a;b", "2": "犬"}
    assert read_names("wit, clarity=clear", "--dimensions") == {"wit": "wit", "clarity": "clear"}
    with pytest.raises(InputError, match="names '1' again"):
        read_names("1=a,1=b", "--items")


def test_anchors_cover_words_and_let_numbers_between_them_pass() -> None:
    assert values(["Very", " very ", "2", None, "not at all"], "Not at all=0,Very=4") == [4, 4, 2, None, 0]
    assert values(["No, never", "Yes"], "No, never=0,Yes=1") == [0, 1]
    assert values(["safe", "unsafe"], "safe=ok,unsafe=bad") == ["ok", "bad"]


def test_recoded_numbers_must_all_be_covered() -> None:
    assert values(["4", "5"], "4=0,5=1") == [0, 1]
    with pytest.raises(InputError, match="row 2 of column 'Q1' holds '6', which --anchors does not cover"):
        values(["4", "6"], "4=0,5=1")


def test_what_anchors_do_not_cover_is_listed() -> None:
    with pytest.raises(InputError, match=r"holds 'Somewat'.*did you mean 'Somewhat'.*'7'"):
        values(["Somewat", "7", "Very"], "Somewhat=1,Very=4")


def test_words_among_numbers_need_an_anchor_or_count_as_missing() -> None:
    with pytest.raises(InputError, match="row 2 of column 'Q1' holds 'N/A', while other cells"):
        values(["3", "N/A"])
    assert values(["3", "n/a"], None, "N/A") == [3, None]
    assert values(["3.5", "4"]) == [3.5, 4]


def test_numbers_alone_are_not_measured_by_anchors_of_words() -> None:
    long = pd.DataFrame({"dimension": ["wit", "clear"], "raw": ["Very", "5"], "row": 1, "column": "Q"})
    made, notes = to_values(long, read_scale("Very=4"), "export.csv")
    assert made.tolist() == [4, 5]
    assert notes == ["clear holds numbers only: --anchors does not change it."]


def test_anchors_of_single_dimensions_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "anchors.csv"
    file.write_text("label,value,dimension\nHigh,1,\nHigh,9,clear\n")
    long = pd.DataFrame({"dimension": ["wit", "clear"], "raw": ["High", "High"], "row": 1, "column": "Q"})
    assert to_values(long, read_scale(str(file)), "export.csv")[0].tolist() == [1, 9]


@pytest.mark.parametrize(
    ("anchors", "sentence"),
    [("Very", "has no '='"), ("Very=", "lacks a label or a value"), ("A=1,a=2", "'a' is given twice")],
)
def test_wrong_anchors_are_refused(anchors: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_scale(anchors)


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
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04rest", "an Excel workbook"),
        (b"a,b\n", "no rows below the header"),
        (b"a,a\n1,2\n", "column 'a' occurs twice"),
        (b"a,b\n1,2,3\n", "line 2 has 3 cells, and the header has 2 names"),
        (b'a,b\n1,"2\n', "cannot be read"),
    ],
)
def test_broken_files_are_told_by_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "export.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_text_table(file)
    assert str(caught.value).startswith(str(file))


def test_times_become_utc_and_ambiguous_ones_are_missing() -> None:
    cells = pd.Series(["2026-07-01 12:00", "Wed Jul 15 10:15:20 PDT 2026", "3/4/2026 10:00", None])
    made = to_utc(cells, "America/Denver")
    assert made.astype("string").fillna("").tolist() == [
        "2026-07-01 18:00:00+00:00",
        "2026-07-15 17:15:20+00:00",
        "",
        "",
    ]
    assert seconds_between(made[:2], made[:2][::-1].reset_index(drop=True)).isna().tolist() == [False, True]


def test_wide_digits_are_numbers() -> None:
    assert [to_number(cell) for cell in ("\uff13", "1_000", "inf")] == [3.0, None, None]
