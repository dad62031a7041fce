"""Stacked tables that are numbered alike are refused; levels in numbers are the same in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, cj, mm
from conjury.inference.errors import InputError
from conjury.inference.tables.files import write_table


@pytest.fixture
def survey() -> pd.DataFrame:
    """Forty respondents with two tasks each; the attribute has levels that are numbers."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "judge_id": np.repeat(np.arange(40), 4),
            "pair_id": np.repeat(np.arange(80), 2),
            "position": ["A", "B"] * 80,
            "price": pd.Categorical(rng.choice([1, 2, 10], 160), categories=[10, 1, 2]),
        }
    )
    first = rng.integers(2, size=80)
    return frame.assign(chosen=np.column_stack([first, 1 - first]).ravel())


def alike(data: pd.DataFrame | Path, **options: str) -> str:
    """The refusal of numbers that several rows have; empty where effects are estimated."""
    try:
        amce(data, "chosen ~ price", **options)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("of", ["judge_id", "resp"])
def test_stacked_surveys_whose_numbers_start_again_are_refused(
    survey: pd.DataFrame, of: str, tmp_path: Path
) -> None:
    survey = survey.rename(columns={"judge_id": of})
    both = pd.concat([survey, survey.assign(chosen=1 - survey["chosen"])], ignore_index=True)
    message = alike(both, id=of)
    assert message.startswith(f"Row 161 repeats {of} 0, pair_id 0, position A; 160 rows are like that")
    assert f"such as data['{of}'] = data['survey'] + '_' + data['{of}'].astype(str)" in message
    write_table(both, tmp_path / "both.parquet")
    assert alike(tmp_path / "both.parquet", id=of) == message
    distinct = both.assign(**{name: both[name] + 100 * (both.index >= 160) for name in (of, "pair_id")})
    assert alike(distinct, id=of) == ""


def test_samples_prompts_and_repeats_are_no_rows_numbered_alike(survey: pd.DataFrame) -> None:
    for column in ("sample", "prompt_id"):
        stacked = [survey.assign(**{column: str(k) if column == "prompt_id" else k}) for k in (1, 2)]
        assert alike(pd.concat(stacked, ignore_index=True), id="judge_id") == ""
    assert alike(survey, id="judge_id") == ""
    assert alike(survey.drop(columns="judge_id"), id="pair_id") == ""


def test_levels_in_numbers_are_those_of_the_frame_in_files_of_this_package(
    survey: pd.DataFrame, tmp_path: Path
) -> None:
    write_table(survey, tmp_path / "survey.parquet")
    for verb in (amce, mm):
        pd.testing.assert_frame_equal(
            verb(tmp_path / "survey.parquet", "chosen ~ price", id="judge_id").frame,
            verb(survey, "chosen ~ price", id="judge_id").frame,
        )


def test_levels_in_numbers_that_a_file_of_another_program_lost_are_refused_with_the_remedy(
    survey: pd.DataFrame, tmp_path: Path
) -> None:
    survey.to_parquet(tmp_path / "survey.parquet")
    with pytest.raises(InputError, match=r"'price' of .*survey.parquet is numeric.* Store it as text, write"):
        amce(tmp_path / "survey.parquet", "chosen ~ price", id="judge_id")


def test_groups_that_are_compared_tell_rows_apart(survey: pd.DataFrame) -> None:
    waves = pd.concat([survey.assign(wave=k) for k in ("first", "second")], ignore_index=True)
    assert set(cj(waves, "chosen ~ price", id="judge_id", by="wave").frame["wave"]) == {"first", "second"}
    assert alike(waves, id="judge_id") != ""


def test_names_of_tasks_that_are_all_alike_are_no_stacked_surveys(survey: pd.DataFrame) -> None:
    assert alike(survey.assign(pair_id="same", judge_id="one"), id="judge_id").find("numbered alike") < 0
    assert alike(survey.assign(position="A"), id="judge_id").find("numbered alike") < 0
