"""Choices of a study from any file: names, prompts, stimuli, derived attributes, refusal policy."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import (
    is_simulated,
    judge_of,
    load_choices,
    name_or_select,
    select_rows,
)
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study

PLAIN = {"identity": "anonymous", "reply": "no_reply", "curse": "no_curse", "engagement": "low"}


@pytest.fixture(scope="module")
def study():
    return load_study("moderation")


def pairs(n: int = 2) -> pd.DataFrame:
    """Wide enough for the study: n pairs, A chosen, with the attributes in the file's own order."""
    return pd.DataFrame(
        {
            "pair_id": [pair for pair in range(n) for _ in "AB"],
            "position": ["A", "B"] * n,
            "chosen": [1, 0] * n,
            "slur": ["racism", "none"] * n,
            "topic": ["politics", "work"] * n,
            **{name: [level] * 2 * n for name, level in PLAIN.items()},
        }
    )


def written(frame: pd.DataFrame, folder: Path, name: str = "choices.csv") -> Path:
    path = folder / name
    frame.to_csv(path, index=False)
    return path


def test_level_order_is_that_of_the_study_whatever_the_file_holds(study, tmp_path):
    choices = load_choices(study, written(pairs(), tmp_path))
    assert choices["topic"].cat.categories.tolist() == study.levels("topic")
    assert not choices["topic"].cat.ordered


def test_derived_attributes_follow_from_their_source(study, tmp_path):
    choices = load_choices(study, written(pairs(), tmp_path))
    assert choices["speech"].tolist() == ["slur", "benign"] * 2
    assert choices["speech"].cat.categories.tolist() == ["benign", "slur"]


def test_derived_attributes_in_the_file_raise_no_note_about_their_order(study, tmp_path):
    frame = pairs().assign(speech=["slur", "benign"] * 2, judge_id="m", judge_kind="model")
    notes: list[str] = []
    load_choices(study, written(frame, tmp_path), notes=notes)
    assert notes == []


def test_columns_that_the_study_knows_under_another_name_are_renamed(study, tmp_path):
    frame = pairs().assign(model="gpt4o", prompt="baseline", image=[5, 6, 7, 8])
    frame = frame.rename(columns={"position": "profile"})
    choices = load_choices(study, written(frame, tmp_path))
    assert choices["judge_id"].tolist() == ["gpt4o"] * 4
    assert choices["prompt_id"].tolist() == ["baseline"] * 4
    assert choices["profile_id"].tolist() == [5, 6, 7, 8]
    assert choices["position"].tolist() == ["A", "B"] * 2


def test_renames_of_the_user_come_before_those_of_the_study(study, tmp_path):
    frame = pairs().rename(columns={"chosen": "picked", "pair_id": "task_number"}).assign(model="m")
    path = written(frame, tmp_path)
    choices = load_choices(study, path, renames={"picked": "chosen", "task_number": "pair_id"})
    assert choices["chosen"].tolist() == [1, 0, 1, 0]
    with pytest.raises(InputError, match=r"choices\.csv: column 'piked', to be used as 'chosen'.*'picked'"):
        load_choices(study, path, renames={"piked": "chosen", "task_number": "pair_id"})


def test_prompts_known_under_another_name_are_translated(study, tmp_path):
    frame = pairs(3).assign(prompt=["debiasing"] * 2 + ["uniform"] * 2 + ["own_words"] * 2)
    choices = load_choices(study, written(frame, tmp_path))
    assert choices["prompt_id"].tolist()[::2] == ["context_aware", "context_free", "own_words"]


def test_numbered_stimuli_get_names_of_their_own(study, tmp_path):
    frame = pairs().assign(scenario_id=[7, 0, None, 10], user_id=[3, 3, 0, 0])
    choices = load_choices(study, written(frame, tmp_path))
    assert choices["text"].tolist()[:2] == ["politics_07", "work_00"]
    assert choices["text"].isna().tolist() == [False, False, True, False]
    assert choices["user"].tolist() == ["anonymous_03"] * 2 + ["anonymous_00"] * 2


def test_stimuli_that_have_names_keep_them(study, tmp_path):
    frame = pairs().assign(scenario_id=[7, 0, 1, 2], text="my_text")
    assert (load_choices(study, written(frame, tmp_path))["text"] == "my_text").all()


def test_stimulus_numbers_that_are_no_numbers_are_refused_by_row(study, tmp_path):
    frame = pairs().assign(scenario_id=["7", "seven", "1", "2"])
    with pytest.raises(InputError, match=r"choices\.csv: row 2 of column 'scenario_id' contains 'seven'"):
        load_choices(study, written(frame, tmp_path))


def refusing(study: Study, policy: str) -> Study:
    return study.model_copy(update={"refusal": policy})


@pytest.mark.parametrize(("policy", "expected"), [("missing", [None, None]), ("not_chosen", [0, 0])])
def test_answers_without_a_choice_become_what_the_policy_says(study, tmp_path, policy, expected):
    frame = pairs().assign(status=["refused", "refused", "ok", "ok"])
    notes: list[str] = []
    choices = load_choices(refusing(study, policy), written(frame, tmp_path), notes=notes)
    assert [None if pd.isna(value) else int(value) for value in choices["chosen"]] == [*expected, 1, 0]
    assert choices["status"].tolist() == ["refused", "refused", "ok", "ok"]
    assert f"refusal: {policy}" in notes[-1]
    assert notes[-1].startswith("2 rows")


def test_where_every_answer_is_a_choice_the_policy_changes_nothing(study, tmp_path):
    found = [load_choices(refusing(study, p), written(pairs(), tmp_path)) for p in ("missing", "not_chosen")]
    pd.testing.assert_frame_equal(*found)


def test_people_are_one_judge_and_models_are_their_ids():
    frame = pd.DataFrame({"judge_id": ["r1", "r2", "gpt4o"], "judge_kind": ["human", "human", "model"]})
    assert judge_of(frame).tolist() == ["human", "human", "gpt4o"]


def two_judges(study: Study, folder: Path) -> pd.DataFrame:
    frame = pd.concat([pairs().assign(model="a", prompt="x"), pairs().assign(model="b", prompt="y")])
    return load_choices(study, written(frame, folder))


def test_a_named_judge_is_selected_and_never_renamed(study, tmp_path):
    choices = two_judges(study, tmp_path)
    assert name_or_select(choices, "b")["judge_id"].unique().tolist() == ["b"]
    assert len(name_or_select(choices, "b", "y")) == 4
    with pytest.raises(InputError, match=r"no judge 'c'.*'a', 'b'"):
        name_or_select(choices, "c")
    with pytest.raises(InputError, match=r"no prompt 'x'.*'y'"):
        select_rows(choices, "b", "x")


def test_choices_without_judge_and_prompt_take_the_given_names(study, tmp_path):
    notes: list[str] = []
    choices = load_choices(study, written(pairs(), tmp_path), notes=notes)
    assert any("no judge_id" in note for note in notes)
    named = name_or_select(choices, "gpt4o", "baseline")
    assert named["judge_id"].unique().tolist() == ["gpt4o"]
    assert named["prompt_id"].unique().tolist() == ["baseline"]


def test_only_choices_marked_by_the_simulator_count_as_simulated(study, tmp_path):
    marked = load_choices(study, written(pairs().assign(origin=["simulated"] * 2 + ["France"] * 2), tmp_path))
    assert is_simulated(marked).tolist() == [True, True, False, False]
    assert not is_simulated(pairs()).any()


def test_a_levels_file_orders_further_columns(study, tmp_path):
    levels = tmp_path / "order.json"
    levels.write_text(json.dumps({"country": ["Norway", "France"]}), encoding="utf-8")
    frame = pairs().assign(country=["France", "Norway"] * 2)
    choices = load_choices(study, written(frame, tmp_path), levels=levels)
    assert choices["country"].cat.categories.tolist() == ["Norway", "France"]


def test_a_folder_is_no_table(study, tmp_path):
    with pytest.raises(InputError, match="folder; name a file"):
        load_choices(study, tmp_path)
    with pytest.raises(InputError, match="folder; name a file"):
        load_choices(study, ".")


def test_notes_name_the_file_without_its_folder(study, tmp_path):
    notes: list[str] = []
    load_choices(study, written(pairs().assign(country="France"), tmp_path), notes=notes)
    assert any("choices.csv: no level order is given for country" in note for note in notes)
    assert not any(str(tmp_path) in note for note in notes)


@pytest.mark.parametrize("name", ["choices.csv", "choices.parquet"])
def test_choices_that_a_user_simulates_and_saves_are_known_as_simulated(study, tmp_path, name):
    made = simulate(study, 1, pairs=20, judges=["gpt4o"], prompts=["baseline"], truth=False).choices
    path = tmp_path / name
    made.to_csv(path, index=False) if path.suffix == ".csv" else made.to_parquet(path)
    assert is_simulated(load_choices(study, path)).all()


def test_panels_with_a_name_are_judges_of_their_own():
    frame = pd.DataFrame({"judge_id": ["r1", "r2", "m"], "judge_kind": ["human", "human", "model"]})
    assert judge_of(frame.assign(panel=["students", None, "x"])).tolist() == ["students", "human", "m"]


def respondents(n: int) -> pd.DataFrame:
    return pd.concat([pairs().assign(judge_id=f"r{number}") for number in range(n)])


def test_judges_that_the_study_names_are_of_its_kind_though_the_file_numbers_tasks(study, tmp_path):
    judges = ["gpt4o"] * 4 + ["r1"] * 4
    frame = pairs(4).assign(judge_id=judges, task=[1, 1, 2, 2] * 2)
    choices_notes: list[str] = []
    choices = load_choices(study, written(frame, tmp_path), notes=choices_notes)
    assert choices["judge_kind"].tolist() == ["model"] * 4 + ["human"] * 4
    assert choices_notes == [
        "choices.csv: there is no judge_kind, so judges that the study names are of its kinds, and all "
        "others are taken as 'human'."
    ]
    named_notes: list[str] = []
    named = load_choices(study, written(frame.assign(judge_id="gpt4o"), tmp_path), notes=named_notes)
    assert set(named["judge_kind"]) == {"model"}
    assert named_notes == [
        "choices.csv: there is no judge_kind, so the kinds of all judges are those of the study."
    ]


def test_a_model_that_is_marked_human_is_refused_by_its_kind(study, tmp_path):
    frame = pairs().assign(judge_id="gpt4o", judge_kind="human")
    with pytest.raises(InputError, match=r"'gpt4o' have judge_kind 'human'.*write model into judge_kind"):
        select_rows(load_choices(study, written(frame, tmp_path)), judge="gpt4o")


def test_many_judges_with_few_pairs_are_not_taken_as_models(study, tmp_path):
    with pytest.raises(InputError, match=r"'judge_kind' is missing, and 11 judges with about 2 pairs each"):
        load_choices(study, written(respondents(11), tmp_path))
    told = load_choices(study, written(respondents(11).assign(judge_kind="model"), tmp_path))
    assert (told["judge_kind"] == "model").all()
    few = load_choices(study, written(respondents(10), tmp_path))
    assert (few["judge_kind"] == "model").all()
    numbered = respondents(11).assign(task=[1, 1, 2, 2] * 11)
    numbered["pair_id"] = numbered["judge_id"] + numbered["pair_id"].astype(str)
    assert (load_choices(study, written(numbered, tmp_path))["judge_kind"] == "human").all()


def test_derived_columns_that_contradict_their_source_are_refused_by_row(study, tmp_path):
    frame = pairs().assign(speech=["slur", "benign", "slur", "slur"])
    with pytest.raises(InputError, match=r"row 4 of column 'speech' contains 'slur', while 'slur' is 'none'"):
        load_choices(study, written(frame, tmp_path))


def test_gaps_in_derived_columns_are_filled_and_cells_without_a_source_are_kept(study, tmp_path):
    frame = pairs().assign(speech=["slur", None, "slur", "benign"], slur=["racism", "none", None, "none"])
    assert load_choices(study, written(frame, tmp_path))["speech"].tolist() == ["slur", "benign"] * 2
