"""`conjury read`: the account, the columns and the next command; the options of every command that reads."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conjury.cli.reading_options import TableOptions, read_levels
from conjury.inference.errors import InputError

Ran = Callable[..., str]
JUDGED = "id;verdict;human\n1;spam;spam\n2;NA;ok\n3;Spam ;spam\n"
CONJOINT = "resp,task,colour,chosen\n" + "".join(
    f"{person},{task},{first},{pick}\n{person},{task},{second},{1 - pick}\n"
    for person in range(1, 10)
    for task, first, second, pick in ((1, "a", "b", person % 2), (2, "c", "a", int(person > 4)))
)


def test_a_file_is_described_with_what_was_recognised_and_the_next_command(ran: Ran) -> None:
    Path("answers.csv").write_text(JUDGED, encoding="utf-8")
    lines = ran("read answers.csv").splitlines()
    assert lines[:3] == [
        "answers.csv: 3 rows, 3 columns.",
        "Columns are separated by semicolons.",
        "1 cell 'NA' of column 'verdict' counts as missing.",
    ]
    (verdict,) = (line.split() for line in lines if line.startswith("verdict"))
    assert verdict == ["verdict", "labels", "2", "1", "spam,", "Spam"]
    assert lines[-1] == "Next: conjury judge answers.csv --judge verdict --human human"


def test_whole_numbers_with_a_gap_have_no_decimal_point(ran: Ran) -> None:
    Path("some.csv").write_text("id,score\n1,4\n2,\n3,5\n", encoding="utf-8")
    (score,) = (line.split() for line in ran("read some.csv").splitlines() if line.startswith("score"))
    assert score == ["score", "whole", "numbers", "2", "1", "4,", "5"]


def test_the_account_is_whole_in_json(here: Callable[..., Any], tmp_path: Path) -> None:
    Path("answers.csv").write_text(JUDGED, encoding="utf-8")
    content = json.loads(here("read answers.csv --json", cwd=tmp_path).out)
    assert (content["rows"], content["format"]) == (3, "csv")
    missing = [entry for entry in content["account"] if entry["subject"] == "missing"]
    assert missing[0]["cells"] == ["NA"]
    assert missing[0]["option"] == "--missing or --levels"
    assert [column["missing"] for column in content["columns"]] == [0, 1, 0]


@pytest.mark.parametrize(
    ("content", "following"),
    [
        ("judge_id,item_id,value\nann,a,1\n", "conjury agreement some.csv"),
        ("a,b\nx,y\nz,y\n", "conjury judge some.csv --judge COLUMN --human COLUMN"),
        ("verdict,ann,ben\nx,y,y\nz,y,z\n", "conjury judge some.csv --judge verdict --human ben"),
        ("ResponseId,DistributionChannel\nR_1,preview\n", "conjury import some.csv --ratings PATTERN --out "),
        (CONJOINT, "conjury conjoint some.csv"),
        ("id,model,ok\na,m,1\na,n,0\n", "conjury compare-systems some.csv --system model"),
        (CONJOINT.replace("chosen", "tint"), "conjury conjoint some.csv"),
    ],
)
def test_the_next_command_suits_the_columns(ran: Ran, content: str, following: str) -> None:
    Path("some.csv").write_text(content, encoding="utf-8")
    assert ran("read some.csv").splitlines()[-1].startswith(f"Next: {following}")


def test_the_next_command_has_the_options_that_were_typed_and_works_as_printed(ran: Ran) -> None:
    rows = CONJOINT.replace("9,1,a,1\n9,1,b,0\n", "9,1,a,-99\n9,1,b,-99\n")
    Path("some.csv").write_text(rows, encoding="utf-8")
    line = ran("read some.csv --missing -99 --exclude resp=8").splitlines()[-1]
    assert line == "Next: conjury conjoint some.csv --missing -99 --exclude resp=8"
    assert "8 respondents, 2 tasks of 2 profiles each" in ran(line.removeprefix("Next: conjury "))


@pytest.mark.parametrize(
    "rows",
    [
        "id,verdict,human\n1,yes,no\n2,n/a,no\n3,no,no\n4,yes,yes\n5,no,no\n",
        "id,verdict,human\n1,7,6\n2,n/a,5\n3,4,4\n4,2,1\n5,9,8\n6,3,3\n",
    ],
)
def test_what_the_next_command_will_ask_is_told_with_it(ran: Ran, rows: str) -> None:
    Path("some.csv").write_text(rows, encoding="utf-8")
    command = "Next: conjury judge some.csv --judge verdict --human human"
    assert f"{command} It will ask first: some.csv: column 'verdict' contains 'n/a' in 1 cell" in " ".join(
        ran("read some.csv").split()
    )
    assert ran("read some.csv --missing n/a").splitlines()[-1] == f"{command} --missing n/a"


def test_words_for_no_answer_in_labels_are_named_and_ids_with_zeros_are_labels(ran: Ran) -> None:
    rows = "".join(f"{k % 3:04},{'N/A' if k == 2 else 'xy'[k % 2]},{'zy'[k % 2]}\n" for k in range(30))
    Path("some.csv").write_text(f"n,a,b\n{rows}", encoding="utf-8")
    text = " ".join(ran("read some.csv").split())
    assert "Cells of 'a' may be no answers: 'N/A' (1); if so, state --missing 'N/A'." in text
    assert "n labels 3 0 0000" in text
    assert "may be no" not in ran("read some.csv --missing N/A")


def test_the_next_command_of_ratings_of_qualtrics_works_as_printed(ran: Ran) -> None:
    names = "ResponseId,DistributionChannel,Q1_wit,Q2_wit"
    rows = (f"R_{person},anonymous,{1 + person % 4},{1 + person % 3}" for person in range(5))
    Path("some.csv").write_text("\n".join([names, names, *rows]) + "\n", encoding="utf-8")
    line = ran("read some.csv").splitlines()[-1]
    assert line == "Next: conjury import some.csv --ratings 'Q{item}_{dimension}' --out judgments.parquet"
    assert "10 judgments in judgments.parquet" in ran(line.removeprefix("Next: conjury "))


def test_standard_input_is_read_and_rows_are_selected(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JUDGED.encode())))
    text = ran("read - --where human=spam --delimiter ;")
    assert text.startswith("standard input: 3 rows, 3 columns.\n")
    assert "1 row with 'human' other than 'spam' excluded." in text
    assert "NA" not in text  # which only that row has


def test_levels_are_those_of_all_answers_or_of_a_column() -> None:
    assert read_levels(["low, high", "tone=kind,rude"]) == {"": ("low", "high"), "tone": ("kind", "rude")}
    with pytest.raises(InputError, match="gives the labels of 'tone' twice"):
        read_levels(["tone=a,b", "tone=c,d"])
    rules = TableOptions(missing=["-99"], relabel=["yes=1"], id="post").rules()
    assert (rules.missing, rules.relabel, rules.id) == (("-99",), {"yes": "1"}, "post")
