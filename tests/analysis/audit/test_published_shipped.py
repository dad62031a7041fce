"""Published tables that ship: their descriptions, their verdicts, and the result that is kept with them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.audit.published import check_table, check_tables, read_description, shipped_checks
from conjury.inference.errors import InputError
from conjury.inference.tables.files import PUBLISHED

DESCRIBED = sorted(file.stem for file in PUBLISHED.glob("*.yaml"))


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_description_has_its_table_a_source_and_a_kept_result(name: str) -> None:
    assert (PUBLISHED / f"{name}.csv").is_file()
    assert read_description(PUBLISHED / f"{name}.yaml").source
    kept = shipped_checks([name])
    assert set(kept.frame["file"]) == {f"{name}.csv"}
    assert len(kept.extra["numbers"]) <= len(kept.frame)


def test_a_table_that_ships_is_checked_by_its_name_and_a_file_of_that_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_name, by_file = (
        check_table("harm_or_humor_counts"),
        check_table(PUBLISHED / "harm_or_humor_counts.csv"),
    )
    pd.testing.assert_frame_equal(by_name.frame, by_file.frame)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harm_or_humor_counts").mkdir()
    with pytest.raises(InputError, match="tables are read from files that end in"):
        check_table("harm_or_humor_counts")


def test_counts_by_label_and_language_are_consistent() -> None:
    numbers = check_table(PUBLISHED / "harm_or_humor_counts.csv").extra["numbers"]
    assert numbers["verdict"].tolist() == ["consistent"] * 40
    assert set(numbers["checks"]) == {"counts, subgroups"}


def test_ratings_of_models_are_consistent_only_as_those_of_399_topics() -> None:
    frame = shipped_checks(["oogiri_means"]).frame
    assert "inconsistent" not in set(frame["verdict"])
    only = frame[frame["verdict"] == "conditional"]
    assert only["under"].str.startswith("399 topics, 200 with text and 199 with an image").all()
    assert len(only) == 1776


@pytest.mark.slow
def test_the_kept_result_is_what_the_checks_give() -> None:
    found = check_tables([PUBLISHED / f"{name}.csv" for name in DESCRIBED])
    kept = shipped_checks(DESCRIBED)
    pd.testing.assert_frame_equal(kept.frame, found.frame, check_dtype=False)
    for part, table in found.extra.items():
        pd.testing.assert_frame_equal(kept.extra[part], table, check_dtype=False)
