"""Judgments that stay in their engine: columns that are needed are read; numbers are those of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from stored import in_duckdb

from conjury.analysis.raters import agreement, reading
from conjury.analysis.raters.replacement import alt_test
from conjury.inference.errors import InputError

pytest.importorskip("ibis", reason="Ibis is not installed (the extra database)")


@pytest.fixture
def judgments() -> pd.DataFrame:
    """Three people and two models rate 40 items on two dimensions, with gaps and refused answers."""
    rng = np.random.default_rng(1)
    judges = {"ann": "human", "ben": "human", "eva": "human", "small": "model", "large": "model"}
    rows = pd.DataFrame(
        [
            (judge, kind, f"i{item:02d}", dimension, topic)
            for item, topic in enumerate(rng.choice(["a", "b"], 40))
            for judge, kind in judges.items()
            for dimension in ("wit", "tone")
        ],
        columns=["judge_id", "judge_kind", "item_id", "dimension", "topic"],
    )
    true = rng.integers(1, 6, 40)[rows["item_id"].str[1:].astype(int)]
    value = np.clip(true + rng.integers(-1, 2, len(rows)), 1, 5)
    status = np.where(rng.random(len(rows)) < 0.03, "refused", "ok")
    rows = rows.assign(value=value, status=status, text="a long text that nobody reads")
    return rows.sample(frac=0.95, random_state=1).sort_values(
        ["dimension", "item_id", "judge_id"], ignore_index=True
    )


@pytest.fixture
def folder(judgments: pd.DataFrame, tmp_path: Path) -> Path:
    """The rows in two files, out of order."""
    for name, part in judgments.sample(frac=1, random_state=2).groupby("judge_kind"):
        (tmp_path / "judged").mkdir(exist_ok=True)
        part.to_parquet(tmp_path / "judged" / f"{name}.parquet")
    return tmp_path / "judged"


@pytest.mark.slow
def test_agreement_in_files_is_that_of_rows(judgments: pd.DataFrame, folder: Path) -> None:
    for options in ({}, {"dimension": "wit"}, {"by": "topic", "dimension": ["tone"]}, {"cluster": "topic"}):
        options = {"draws": 50, **options}
        stored, rows = (agreement(data, **options) for data in (str(folder), judgments))
        assert_frame_equal(stored.frame, rows.frame)
        assert stored.notes == rows.notes


@pytest.mark.long
def test_replacement_is_tested_on_files_and_on_tables_of_ibis(judgments: pd.DataFrame, folder: Path) -> None:
    table = in_duckdb(judgments)
    expected = alt_test(judgments, dimension="wit").frame
    judgments.to_parquet(folder.parent / "one.parquet")
    for data in (folder / "*.parquet", folder.parent / "one.parquet", table):
        assert_frame_equal(alt_test(data, dimension="wit").frame, expected)


def test_columns_that_no_analysis_needs_are_not_read(folder: Path) -> None:
    [ratings] = reading.read_dimensions(str(folder), "wit", columns=["topic"])
    assert {"topic", "status"} <= set(ratings.frame)
    assert "text" not in ratings.frame


@pytest.mark.long
def test_tables_without_the_columns_or_with_too_many_rows_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 300)
    with pytest.raises(InputError, match=r"3\d\d judgments exceed the 300 that are read into memory"):
        agreement(str(folder))
    agreement(str(folder), dimension="wit", draws=0)
    (folder.parent / "short").mkdir()
    pd.DataFrame({"judge_id": ["a"]}).to_parquet(folder.parent / "short" / "one.parquet")
    with pytest.raises(InputError, match="no column 'judge_kind'"):
        agreement(str(folder.parent / "short"))
