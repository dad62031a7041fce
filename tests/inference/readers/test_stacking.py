"""Several choices tables as one: what is stacked, what is refused, and what is noted."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import is_simulated, judges_by_origin, stack_choices, stacking_notes
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


@pytest.fixture(scope="module")
def study():
    return load_study("moderation")


@pytest.fixture(scope="module")
def drawn(study):
    """Forty pairs that a model judged."""
    return simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=40, truth=False).choices


@pytest.fixture
def files(drawn):
    """The choices of that model, and answers of another one to the first ten pairs."""
    second = drawn.head(20).drop(columns=["origin", "panel"])
    own = pd.array(["own"] * 20, dtype="string")
    return {"a/choices.parquet": drawn, "b/choices.parquet": second.assign(judge_id=own, probability=0.5)}


def test_tables_are_stacked_with_the_types_and_levels_of_the_study(study, files):
    first, second = files.values()
    both = stack_choices(study, files)
    assert both.index.equals(pd.RangeIndex(100))
    for column in ("slur", "identity", "status", "position", "judge_kind"):
        assert both[column].dtype == first[column].dtype, column
    assert both["pair_id"].dtype == first["pair_id"].dtype
    pd.testing.assert_series_equal(both["chosen"].tail(20), second["chosen"], check_index=False)
    assert both["probability"].notna().sum() == 20
    assert is_simulated(both).sum() == 80
    assert judges_by_origin(both) == (["gpt4o"], ["own"])


def test_a_single_table_stays_as_it_is(study, drawn):
    assert stack_choices(study, {"a.parquet": drawn}) is drawn


def test_notes_say_which_rows_are_from_which_file(files):
    assumed = {"a/choices.parquet": [], "b/choices.parquet": ["choices.parquet: a column was read as text."]}
    assert list(stacking_notes(files, assumed)) == [
        "a/choices.parquet: 80 rows, of gpt4o.",
        "b/choices.parquet: 20 rows, of own.",
        "b/choices.parquet: a column was read as text.",
    ]
    named = {"one.csv": files["a/choices.parquet"], "two.csv": files["b/choices.parquet"]}
    assert next(stacking_notes(named, {"one.csv": [], "two.csv": []})) == "one.csv: 80 rows, of gpt4o."


def test_one_judge_with_one_pair_in_two_files_is_refused(study, files):
    files["b/choices.parquet"] = files["a/choices.parquet"].tail(6)
    told = (
        "a/choices.parquet and b/choices.parquet both contain the choice of judge 'gpt4o' under prompt "
        r"'baseline' in pair 'pair_000038' \(and 2 more\); leave one of the files out"
    )
    with pytest.raises(InputError, match=told):
        stack_choices(study, files)


def test_the_same_judge_under_another_prompt_is_no_repetition(study, files):
    other = files["a/choices.parquet"].assign(prompt_id=pd.array(["context_free"] * 80, dtype="string"))
    assert len(stack_choices(study, {"a.parquet": files["a/choices.parquet"], "b.parquet": other})) == 160


@pytest.mark.parametrize("column", ["profile_id", "topic", "text"])
def test_a_pair_with_other_profiles_in_another_file_is_refused(study, files, column):
    changed = files["b/choices.parquet"].copy()
    other = changed[column][changed[column] != changed[column].iloc[4]].iloc[0]
    changed.loc[4, column] = other
    files["b/choices.parquet"] = changed
    told = (
        rf"Position A of pair 'pair_000003' has {column} .+ in a/choices.parquet and {other} in "
        "b/choices.parquet; a name must refer to one pair"
    )
    with pytest.raises(InputError, match=told):
        stack_choices(study, files)


def test_levels_in_contradicting_order_are_refused(study, files):
    parties = (["left", "right"], ["right", "left"])
    tables = {
        file: table.assign(party=pd.Categorical(["left"] * len(table), categories=order))
        for (file, table), order in zip(files.items(), parties, strict=True)
    }
    told = "'party' have the order right, left in b/choices.parquet and left, right in a/choices.parquet"
    with pytest.raises(InputError, match=told):
        stack_choices(study, tables)


def test_levels_that_a_file_adds_stand_behind_the_others(study, files):
    first, second = files.values()
    tables = {
        "a.parquet": first.assign(party=pd.Categorical(["left"] * 80, categories=["left", "right"])),
        "b.parquet": second.assign(party=pd.Categorical(["green"] * 20, categories=["right", "green"])),
    }
    assert list(stack_choices(study, tables)["party"].cat.categories) == ["left", "right", "green"]
    tables["b.parquet"] = second
    assert stack_choices(study, tables)["party"].isna().sum() == 20


def test_labels_without_an_order_take_that_of_the_other_file(study, files):
    first, second = files.values()
    ordered = first.assign(party=pd.Categorical(["left"] * 80, categories=["right", "left"]))
    both = stack_choices(study, {"a.parquet": ordered, "b.parquet": second.assign(party="right")})
    assert list(both["party"].cat.categories) == ["right", "left"]
    with pytest.raises(
        InputError, match=r"level order in a\.parquet, and b\.parquet contains 'green' beyond it"
    ):
        stack_choices(study, {"a.parquet": ordered, "b.parquet": second.assign(party="green")})
