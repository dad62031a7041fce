"""Judgments of any file become the contract's table; what does not fit is refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.readers.judgments import load_judgments, stack_judgments
from conjury.inference.study import load_any_study

ROWS = pd.DataFrame(
    {
        "judge_id": ["ann", "bob", "gpt"],
        "judge_kind": ["human", "human", "model"],
        "item_id": "joke",
        "value": [3, None, 2],
        "task": ["a", "a", "b"],
    }
)


def written(folder: Path, frame: pd.DataFrame, name: str = "judgments.csv") -> Path:
    frame.to_csv(folder / name, index=False)
    return folder / name


def test_columns_that_a_file_may_lack_are_filled_in(tmp_path):
    made = load_judgments(written(tmp_path, ROWS))
    assert made["sample"].tolist() == [1, 1, 1]
    assert made["status"].tolist() == ["ok", "missing", "ok"]
    assert made["dimension"].tolist() == ["rating"] * 3


def test_rows_are_chosen_and_columns_renamed(tmp_path):
    file = written(tmp_path, ROWS.rename(columns={"value": "stars"}))
    made = load_judgments(file, renames={"stars": "value"}, where={"task": "a"})
    assert made["judge_id"].tolist() == ["ann", "bob"]


def test_the_same_judgment_in_two_files_is_refused(tmp_path):
    one = load_judgments(written(tmp_path, ROWS))
    other = one.assign(judge_id=["cy", "dee", "claude"])
    assert len(stack_judgments({"a.csv": one, "b.csv": other})) == 6
    with pytest.raises(InputError, match=r"a\.csv and b\.csv: row 4 .* repeats an earlier row"):
        stack_judgments({"a.csv": one, "b.csv": one})


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"judge_kind": None}, {}, "'judge_kind' is empty|judge_kind"),
        ({}, {"where": {"tusk": "a"}}, r"column 'tusk' is missing \(did you mean 'task'\?\)"),
        ({}, {"where": {"task": "c"}}, "no row has 'c' in column 'task'; it contains a, b"),
        ({}, {"renames": {"valu": "value"}}, r"no column 'valu' to rename \(did you mean 'value'\?\)"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, options, sentence):
    with pytest.raises(InputError, match=sentence):
        load_judgments(written(tmp_path, ROWS.assign(**change)), **options)


def test_judges_without_a_kind_need_a_study(tmp_path):
    with pytest.raises(InputError, match="column 'judge_kind' is missing"):
        load_judgments(written(tmp_path, ROWS.drop(columns="judge_kind")))


def test_a_missing_column_is_refused_with_the_option_that_renames(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("rater,item_id,rating\nann,a,1\n")
    with pytest.raises(InputError, match=r"'judge_id' is missing.*as --rename rater=judge_id"):
        load_judgments(path)
    with pytest.raises(InputError, match=r"'value' is missing.*as --rename rating=value"):
        load_judgments(path, renames={"rater": "judge_id"})


def test_a_judge_that_looks_like_a_model_is_never_taken_for_a_person(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("judge_id,item_id,dimension,value\nann,a,funniness,1\nmade-up-gpt-9,a,funniness,2\n")
    with pytest.raises(InputError, match=r"made-up-gpt-9 may be a model that the study does not name"):
        load_judgments(path, study=load_any_study("oogiri"))
