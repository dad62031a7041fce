"""Tables with one column per rater in `agreement`, by command and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury import agreement
from conjury.inference.errors import InputError
from conjury.inference.readers.judgments import load_judgments
from tests.support.messes.clean_tables import cohen
from tests.support.rating_exports import MODEL, PEOPLE, answers

Run = Callable[..., Any]
COHEN = "--coefficient cohen --draws 0 --json"


def wide(classes: tuple[str, ...] = ("fine", "odd", "rude")) -> pd.DataFrame:
    return answers(classes, gaps=0)


def kappas(frame: pd.DataFrame) -> dict[str, float]:
    """Kappa without weights, by the side that people are compared with."""
    rows = frame.query("weights == 'nominal' and coefficient == 'cohen'").fillna({"against": ""})
    return dict(zip(rows["against"], rows["estimate"], strict=True))


@pytest.mark.parametrize(
    "options", ["", "--raters ann,bob,bot-mini --models bot-mini", "--raters ann,bob --models bot-mini"]
)
def test_agreement_reads_a_column_per_rater(options: str, tmp_path: Path, conjury: Run) -> None:
    frame = wide()
    frame.to_csv(tmp_path / "wide.csv", index=False)
    if options:  # further columns do not matter where raters are named, and none need name the items
        frame.drop(columns="item").assign(law=["yes", "no"] * 15).to_csv(tmp_path / "wide.csv", index=False)
    ended = conjury(f"agreement wide.csv {options} {COHEN} --figures none", cwd=tmp_path)
    assert ended.code == 0, ended.err
    page = json.loads(ended.out)
    rows = pd.DataFrame(next(iter(page["estimates"].values())))
    assert kappas(rows)[""] == pytest.approx(cohen(frame, *PEOPLE))
    notes = " ".join(page["notes"])
    guesses = ("Columns of raters: ann, bob, bot-mini.", "Models by their names: bot-mini")
    assert [guess in notes for guess in guesses] == [not options] * 2
    assert ("Items are the rows, since no column names them." in notes) == bool(options)


@pytest.mark.parametrize(("name", "is_model"), [("Judge", True), ("eve", False)])
def test_a_column_called_judge_is_a_model_and_a_note_says_where_none_is(name: str, is_model: bool) -> None:
    result = agreement(wide().rename(columns={"bot-mini": name}), ["cohen"], draws=0)
    note = "No column is called like a model: all 3 are people."
    assert (kappas(result.frame).keys() == {"", name}, note in result.notes) == (is_model, not is_model)


@pytest.mark.long
def test_python_and_the_command_give_the_same_numbers(tmp_path: Path) -> None:
    frame = wide()
    frame.to_csv(tmp_path / "wide.csv", index=False)
    judgments = load_judgments(tmp_path / "wide.csv")
    first, second = (agreement(table, ["cohen", "krippendorff"], draws=0) for table in (frame, judgments))
    pd.testing.assert_frame_equal(
        first.frame.drop(columns="dimension"), second.frame.drop(columns="dimension")
    )
    assert "Columns of raters: ann, bob, bot-mini." in first.notes
    assert kappas(first.frame)[""] == pytest.approx(cohen(frame, *PEOPLE))


def test_columns_are_named_in_python_where_they_are_not_on_one_scale() -> None:
    ratings = wide(("1", "2", "3", "4", "5"))
    frame = ratings.assign(age=np.arange(len(ratings)) + 18.0)
    with pytest.raises(InputError, match="column 'judge_id' is missing"):
        agreement(frame, ["cohen"], draws=0)
    named = agreement(frame, ["cohen"], judges=list(PEOPLE), draws=0)
    expected = agreement(ratings, ["cohen"], judges=list(PEOPLE), draws=0)
    assert named.frame["estimate"].tolist() == expected.frame["estimate"].tolist()
    assert kappas(named.frame)[""] == pytest.approx(cohen(ratings, *PEOPLE))


FAULTS = {
    "code": ("ann", 4, "-99", "column 'ann' contains '-99' in 1 cell (first in row 5)"),
    "word": ("bob", 6, "6/10", "column 'bob' contains '6/10' in row 7"),
    "dot": ("bot-mini", 9, ".", "column 'bot-mini' contains '.' in 1 cell (first in row 10)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_cell_that_is_no_answer_is_refused_by_its_column_and_row(fault: str, tmp_path: Path) -> None:
    column, row, text, problem = FAULTS[fault]
    frame = wide(tuple("1234567"))
    frame.loc[row, column] = text
    frame.to_csv(tmp_path / "wide.csv", index=False)
    with pytest.raises(InputError) as refusal:
        load_judgments(tmp_path / "wide.csv", raters=[*PEOPLE, MODEL])
    assert problem in str(refusal.value)


@pytest.mark.parametrize("further", ["year", "age", "share", "topic"])
def test_a_table_whose_other_columns_are_on_another_scale_is_not_guessed(
    further: str, tmp_path: Path, conjury: Run
) -> None:
    columns = {
        "year": list(range(1990, 2020)),
        "age": [18 + 2 * row for row in range(30)],
        "share": [row / 29 for row in range(30)],
        "topic": ["law", "work", "sport"] * 10,
    }
    ratings = wide(("fine", "odd")) if further == "topic" else wide(tuple("2345"))
    ratings.assign(**{further: columns[further]}).to_csv(tmp_path / "wide.csv", index=False)
    ended = conjury("agreement wide.csv", cwd=tmp_path)
    assert ended.code == 2
    assert "name two or more with --raters A,B" in " ".join(ended.err.split())
    ended = conjury("agreement wide.csv --raters ann,bib", cwd=tmp_path)
    assert "there is no column 'bib' (did you mean 'bob'?), which --raters names" in " ".join(
        ended.err.split()
    )


@pytest.mark.parametrize(
    ("widths", "alike"), [((10, 30), True), ((10, 31), False), ((1, 10), True), ((1, 11), False)]
)
def test_raters_have_ranges_within_a_factor_of_three_or_few_values(widths, alike, tmp_path) -> None:
    columns = {name: np.arange(96) % (width + 1) for name, width in zip("ab", widths, strict=True)}
    pd.DataFrame({"item_id": [f"i{k}" for k in range(96)], **columns}).to_csv(tmp_path / "w.csv", index=False)
    with nullcontext() if alike else pytest.raises(InputError, match="no columns of raters on one scale"):
        assert {*load_judgments(tmp_path / "w.csv")["judge_id"]} == {"a", "b"}


def test_a_guess_of_raters_is_refused_where_none_is_allowed(tmp_path: Path, conjury: Run) -> None:
    wide().to_csv(tmp_path / "wide.csv", index=False)
    ended = conjury("agreement wide.csv --strict", cwd=tmp_path)
    assert ended.code == 2
    assert "--strict allows none; state it with --raters" in " ".join(ended.err.split())
