"""What a user can get wrong: each ends with exit code 2 and one sentence on stderr, without a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

Refused = Callable[..., str]
FIT = "fit moderation --draws 0 --out out --data"
BASE = "fit moderation --draws 0 --data"


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    """Choices of one model as plain columns, as a CSV holds them."""
    study = load_study("moderation")
    found = simulate(study, 1, pairs=60, judges=["gpt4o"], prompts=["baseline"], truth=False).choices
    labels = found.select_dtypes("category").columns
    return found.astype(dict.fromkeys(labels, "string")).astype({"chosen": object})


def with_cell(frame: pd.DataFrame, column: str, row: int, value: object) -> pd.DataFrame:
    changed = frame.copy()
    changed[column] = changed[column].astype(object)
    changed.loc[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: with_cell(f, "chosen", 3, "yes"), "choices.csv: row 4|'chosen'|contains 'yes'|write 1"),
        (lambda f: f.assign(chosen=1), "row 1|'chosen'|both profiles"),
        (lambda f: with_cell(f, "topic", 2, "sports"), "row 3|'topic'|'sports'|did you mean 'sport'"),
        (lambda f: f.assign(curse="curse"), "'curse' has a single level|gpt4o baseline"),
        (lambda f: f.head(2), "gpt4o baseline"),
        (lambda f: f.assign(status="refused", chosen=None), "No judge has an answer in column 'chosen'"),
    ],
)
def test_bad_cells_are_refused_by_file_column_and_row(
    change: Callable[[pd.DataFrame], pd.DataFrame], told: str, made: pd.DataFrame, refused: Refused
) -> None:
    change(made).to_csv("choices.csv", index=False)
    sentence = refused(FIT, "choices.csv", prints=True)
    assert [part for part in told.split("|") if part not in sentence] == []
    if "gpt4o" not in told and "No judge" not in told:
        assert "choices.csv" in sentence


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(made: pd.DataFrame, refused: Refused) -> None:
    made.to_csv("choices.csv", index=False)
    Path("closed").mkdir(mode=0o500)
    assert "cannot be written" in refused(BASE, "choices.csv", "--out", "closed/out", prints=True)


def test_the_name_of_a_simulated_table_is_refused_before_it_is_drawn(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("nothing is drawn")

    monkeypatch.setattr("conjury.inference.simulation.conjoint.conjoint_simulation.simulate", never)
    assert "tables are files that end in .parquet" in refused("simulate moderation --out a.txt")
