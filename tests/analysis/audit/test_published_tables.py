"""Published tables as text: cells taken apart, four formats that give the same table, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from published_formats import WRITERS, to_csv, to_markdown

from conjury.analysis.audit.published import Table, read_tables
from conjury.analysis.audit.published.cell_text import is_missing, parts_of
from conjury.inference.errors import InputError

COLUMNS = ("Model", "Mean (SD)", "r", "95% CI")
ROWS = (
    ("GPT & Co", "2.630 (0.578)", "-0.12**", "[0.51, 0.55]"),
    ("B_2", "3.0 \u00b1 0.58", "0.10", "[-0.05, 0.20]"),
    ("<C>", "1,203.50", "-", ""),
)


def one(path: Path) -> Table:
    (table,) = read_tables(path)
    return table


@pytest.mark.parametrize(
    ("text", "parts"),
    cases(__file__, "cells_are_taken_apart_into_numbers_with_roles"),
)  # fmt: skip
def test_cells_are_taken_apart_into_numbers_with_roles(text: str, parts: dict[str, str]) -> None:
    assert parts_of(text) == parts
    assert parts_of("1" * 500) == {}


def test_dashes_and_abbreviations_state_that_a_number_is_missing() -> None:
    assert all(is_missing(text) for text in ("", "-", "\u2013", "NA", "n/a", " "))
    assert not any(is_missing(text) for text in ("0", "-1", "none of them"))


@pytest.mark.parametrize("kind", WRITERS)
def test_each_format_gives_the_cells_as_they_were_written(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{kind}"
    path.write_text(WRITERS[kind](COLUMNS, ROWS), encoding="utf-8")
    table = one(path)
    assert (table.columns, table.rows) == (COLUMNS, ROWS)


def test_packed_and_tab_separated_files_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(to_csv(COLUMNS, ROWS).encode()))
    tabs = tmp_path / "table.tsv"
    tabs.write_text("a\tb\n1.50\t2,0\n", encoding="utf-8")
    assert one(packed).rows == ROWS
    assert one(tabs).rows == (("1.50", "2,0"),)


@pytest.mark.parametrize("case", cases(__file__, "spanning cells"), ids=str)
def test_spanning_cells_are_repeated_and_sections_become_a_column_and_empty_ones_shift_no_number(
    case: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / f"table.{case['kind']}"
    path.write_text(case["text"], encoding="utf-8")
    table = one(path)
    assert (table.name, list(table.columns)) == (case["name"], case["columns"])
    assert [list(row) for row in table.rows] == case["rows"]


def test_standard_errors_on_a_row_of_their_own_belong_to_the_numbers_above(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    path.write_text("| x | A | B |\n|-|-|-|\n| a | 0.10** | 0.2 |\n| | (0.03) | (0.04) |\n", encoding="utf-8")
    assert one(path).rows == (("a", "0.10** (0.03)", "0.2 (0.04)"),)


def test_a_number_below_an_empty_cell_is_a_row_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    path.write_text("| x | A | B |\n|-|-|-|\n| a | 0.1 | |\n| | | 0.2 |\n", encoding="utf-8")
    assert one(path).rows == (("a", "0.1", ""), ("", "", "0.2"))


@pytest.mark.parametrize("mark", [*"*\u2020\u2021\u00a7\u00b6#", "**", "*\u2020\u2021\u00a7\u00b6#"])
def test_raised_marks_are_text_and_raised_letters_are_exponents(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "table.html"
    cells = f"<td>0.1<sup>{mark}</sup></td><td>0.1<sup>a</sup></td>"
    path.write_text(f"<table><tr><th>r</th><th>m</th></tr><tr>{cells}</tr></table>", encoding="utf-8")
    assert one(path).rows == ((f"0.1{mark}", "0.1^a"),)


def test_marks_and_letters_that_latex_raises_are_those_of_a_page(tmp_path: Path) -> None:
    cells = [
        r"0.1$^{\dagger}$",
        r"0.1\textsuperscript{\ddag}",
        r"0.1$^\S$",
        r"0.1$^{a}$",
        r"0.1$^{\ast\ast}$",
    ]
    path = tmp_path / "table.tex"
    head, row = " & ".join("abcde"), " & ".join(cells)
    path.write_text(rf"\begin{{tabular}}{{ccccc}} {head} \\ {row} \\ \end{{tabular}}", encoding="utf-8")
    assert one(path).rows == (("0.1\u2020", "0.1\u2021", "0.1\u00a7", "0.1^a", "0.1**"),)


def test_several_tables_of_a_file_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "tables.md"
    two = to_markdown(COLUMNS, ROWS) + "\n\n" + to_markdown(("a", "b"), [("1", "2")])
    path.write_text(two, encoding="utf-8")
    assert [table.columns for table in read_tables(path)] == [COLUMNS, ("a", "b")]


def test_equations_of_pages_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "table.html"
    math = '<math alttext="-0.12^{**}"><mi>junk</mi></math>'
    path.write_text(
        f"<table><tr><th>r</th><th>m</th></tr><tr><td>{math}</td><td>\\(2.0 \\pm 0.1\\)</td></tr></table>"
    )
    assert one(path).rows == (("-0.12**", "2.0 \u00b1 0.1"),)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("table.xlsx", "x", "tables are read from files that end in .csv"),
        ("table.csv", "a,b\n1\n", "table.csv:2: the row has 1 cells and the head 2"),
        ("table.csv", 'a,b\n1,"2\n', "the CSV is damaged"),
        ("table.csv", "a,b\n", "contains no table with a head and a row"),
        ("table.html", "<p>nothing</p>", "contains no table"),
        ("table.md", "| a | b |\n|---|---|\n| 1 |\n", "table.md:3: the row has 1 cells and the head 2; give"),
        ("table.md", "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "table.md:3: the row has 3 cells and"),
        ("table.md", "| a | b |\n|---|---|---|\n| 1 | 2 |\n", "table.md:2: this line begins a"),
        ("table.tex", "x\n\\begin{tabular}{l}\na \\\\", r"table.tex:2: \\begin{tabular} has no \\end"),
        ("table.html", "<table>" + "<tr><td colspan=9999>a</td></tr>" * 200, "the limit"),
        ("table.html", "<table><tr><td rowspan=9999 colspan=9999>a</td></tr></table>", "contains no table"),
        ("table.tex", "\\begin{tabular}{l}a\\\\ b\\\\\\end{tabular}" * 1001, "more than 1,000 tables"),
        ("table.html", "<div>" * 40_000 + "<table><tr><td>a</td></tr></table>", "nested too deeply|no table"),
    ],
)  # fmt: skip
def test_files_that_are_no_table_are_refused_in_one_sentence(
    name: str, content: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        read_tables(path)


@pytest.mark.parametrize(("depth", "sentence"), [(100, "no table"), (101, "nested more than 100 deep")])
def test_tables_in_a_hundred_tables_are_read_and_deeper_ones_refused(
    depth: int, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.html"
    path.write_text("<table>" * depth + "</table>" * depth, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        read_tables(path)


def test_text_that_is_not_utf_8_and_folders_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1\xff,2\n")
    with pytest.raises(InputError, match=r"table\.csv:2: the file is not UTF-8"):
        read_tables(path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        read_tables(tmp_path / "folder.csv")


def test_rows_below_a_head_that_only_name_columns_belong_to_it(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    lines = [
        "| Model | English | | Arabic | |",
        "|-|-|-|-|-|",
        "| | Acc | F1 | Acc | F1 |",
        "| A | 1.0 | 2.0 | 3.0 | 4.0 |",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    table = one(path)
    assert table.columns == ("Model", "English: Acc", "English: F1", "Arabic: Acc", "Arabic: F1")
    assert table.rows == (("A", "1.0", "2.0", "3.0", "4.0"),)
    path.write_text("\n".join([*lines[:2], "| | Acc | 2.0 | Acc | F1 |"]), encoding="utf-8")
    assert one(path).columns == ("Model", "English", "column 3", "Arabic", "column 5")


@pytest.mark.shared
def test_tables_of_a_real_publication_are_read(tmp_path: Path, shared: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_bytes((shared / "papers" / "harm_or_humor.txt").read_bytes())
    tables = {table.columns: table for table in read_tables(path)}
    counts = next(table for columns, table in tables.items() if columns[-1] == "Total")
    assert counts.rows[0] == ("Textual", "Arabic", "546", "274", "180", "1,000")
    agreed = next(columns for columns in tables if "Harmful vs. Safe: \u03ba" in columns)
    assert len(agreed) == 7
