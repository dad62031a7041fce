"""Qualtrics exports of conjoints: what becomes of every cell, and what is refused. The fixture is made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from shared_folder import SHARED

from conjury.analysis.conjoint import RespondentsExcluded, mm
from conjury.inference.errors import InputError
from conjury.inference.humans import Rules, Survey, draft_study, make_ids, read_checks, read_qualtrics
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import load_study
from conjury.inference.tables import write_table

EXPORT = Path(__file__).resolve().parents[2] / "fixtures" / "tables" / "qualtrics.csv"
PEERS = SHARED / "peers"
VOTES = ["vote1", "vote2", "vote1_repeated_flipped"]
PLAIN = pd.read_csv(EXPORT, dtype=str).iloc[2:].reset_index(drop=True)  # without question texts, import ids
TRUST = PLAIN.assign(trust1=["1", "2", "2", None], trust2=["2", None, "1", None])
CONTROL = PLAIN.rename(columns={"vote1_repeated_flipped": "control"})
LABELS = (
    "attribute,level,attribute_id,level_id\n"
    "Curse word,Yes,curse,att1:1\nCurse word,No,curse,att1:2\nCurse word,Maybe,curse,att1:3\n"
    "Number of likes,0 to 5,likes,few\nNumber of likes,25 to 50,likes,many\n"
)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return read_qualtrics(EXPORT)


def edited(folder: Path, content: pd.DataFrame | Sequence[str]) -> Path:
    """Write another table, or the export with the first of two texts replaced by the second."""
    path = folder / "export.csv"
    if isinstance(content, pd.DataFrame):
        content.to_csv(path, index=False)
        return path
    old, new = content
    text = EXPORT.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def of_judge(survey: Survey, judge: str, column: str) -> list[Any]:
    choices = survey.choices
    return choices.loc[choices["judge_id"] == judge, column].astype(object).replace({pd.NA: None}).tolist()


def test_unanswered_tasks_are_missing_and_silent_respondents_are_counted(survey, tmp_path):
    assert of_judge(survey, "R_3", "status")[2:4] == ["missing", "missing"]
    assert of_judge(survey, "R_3", "chosen")[2:4] == [None, None]
    assert of_judge(survey, "R_3", "pair_id")[:4] == ["R_3_task_01"] * 2 + ["R_3_task_02"] * 2
    assert "Respondents who saw no task (excluded): 1." in survey.notes
    assert "Tasks without an answer (status missing): 2." in survey.notes
    silent = read_qualtrics(edited(tmp_path, ("first,Post A,,,", "first,,,,")))
    assert set(of_judge(silent, "R_3", "status")) == {"missing"}
    assert "Respondents who answered no task: 1." in silent.notes


def test_covariates_are_kept_and_renamed_and_columns_that_identify_people_are_not(survey):
    choices = survey.choices
    assert choices.groupby("judge_id")["Age"].first().tolist()[:2] == [31, 47]
    assert set(of_judge(survey, "R_3", "Age")) == {None}
    assert choices["respondent_task"].tolist()[0] == "first"
    assert "Column task is renamed respondent_task, since choices have their own column task." in survey.notes
    assert "IPAddress" not in choices
    assert any("excluded: IPAddress" in note for note in survey.notes)
    assert "IPAddress" in read_qualtrics(EXPORT, covariates=["IPAddress"]).choices


def test_levels_come_in_order_of_appearance_or_of_the_labels_table(survey, tmp_path):
    assert survey.choices["curse_word"].cat.categories.tolist() == ["no", "yes"]
    labels = tmp_path / "labels.csv"
    labels.write_text(LABELS)
    choices = read_qualtrics(EXPORT, labels=labels).choices
    assert choices["curse"].cat.categories.tolist() == ["att1_1", "att1_2", "att1_3"]
    assert choices["curse"].tolist()[:2] == ["att1_2", "att1_1"]
    assert choices["likes"].cat.categories.tolist() == ["few", "many"]
    labels.write_text("attribute,level\nCurse word,No\nCurse word,Yes\nNumber of likes,0 to 5\n")
    with pytest.raises(InputError, match="'F-1-1-1' contains '25 to 50', which is not a known level of"):
        read_qualtrics(EXPORT, labels=labels)
    for row, problem in (
        ("Curse word,No", "row 2 of column 'level' lists 'No' again"),
        ("Curse word,", "is empty"),
    ):
        labels.write_text(f"attribute,level\nCurse word,No\n{row}\n")
        with pytest.raises(InputError, match=problem):
            read_qualtrics(EXPORT, labels=labels)


@pytest.mark.parametrize("names", cases(__file__, "names"))
def test_the_first_profile_is_recognised_by_its_name(survey, tmp_path, names):
    table = PLAIN.assign(**PLAIN[VOTES].replace({"Post A": names[0], "Post B": names[1]}))
    read = read_qualtrics(edited(tmp_path, table))
    pd.testing.assert_frame_equal(read.choices, survey.choices)
    assert read.notes[0].startswith(repr(names[0]))


def test_further_outcomes_are_further_columns(tmp_path):
    named = {"chosen": ["vote1", "vote2"], "trusted": ["trust1", "trust2"]}
    read = read_qualtrics(edited(tmp_path, TRUST), outcomes=named)
    assert of_judge(read, "R_1", "trusted") == [1, 0, 0, 1, None, None]
    assert of_judge(read, "R_2", "trusted") == [0, 1, None, None, None, None]
    assert "trust1" not in read.choices


def test_other_answers_are_unparsed_where_the_two_are_named(survey, tmp_path):
    path = edited(tmp_path, ("second,Post A,Post B", "second,Post A,Neither"))
    named = read_qualtrics(path, first="Post A", second="Post B")
    assert of_judge(named, "R_2", "status")[2:4] == ["unparsed", "unparsed"]
    assert "Answers that name neither of the two profiles (status unparsed): 1." in named.notes
    turned = read_qualtrics(EXPORT, first="Post B", second="Post A").choices
    assert turned["chosen"].dropna().tolist() == (1 - survey.choices["chosen"].dropna()).tolist()


@pytest.mark.parametrize("name", ["vote1_repeated_notflipped", "vote1_repeat_unflipped"])
def test_a_repeat_whose_name_says_not_flipped_has_the_same_positions(name, survey, tmp_path):
    path = edited(tmp_path, PLAIN.rename(columns={"vote1_repeated_flipped": name}))
    same = read_qualtrics(path)
    assert f"{name} repeats task 1, with the same profiles in the same positions." in same.notes
    assert same.choices.equals(read_qualtrics(path, flipped=False).choices)
    assert not same.choices.equals(survey.choices)


def test_the_repeat_can_be_named_with_its_task(tmp_path):
    path = edited(tmp_path, CONTROL)
    assert "No task is repeated." in read_qualtrics(path).notes
    survey = read_qualtrics(path, repeated="control=2")
    assert of_judge(survey, "R_1", "repeated_task")[4:] == [2, 2]
    assert not survey.repeat_first


def test_ids_are_distinct_and_fit_a_study_file():
    ids = make_ids(["Élan (new)", "Elan new", "15%", "!"], "level")
    assert ids == ["elan_new", "elan_new_2", "level_15", "level"]
    assert make_ids(["word " * 20], "level")[0] == "_".join(["word"] * 9)


TABLES = {"TRUST": TRUST, "CONTROL": CONTROL, "PLAIN": PLAIN, "VOTES": PLAIN[["ResponseId", *VOTES[:2]]]}


@pytest.mark.parametrize(("content", "options", "problem"), cases(__file__, "broken"))
def test_a_broken_export_or_a_wrong_option_is_refused_with_its_cell(tmp_path, content, options, problem):
    path = edited(tmp_path, TABLES[content] if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_qualtrics(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert problem in message
    assert "\n" not in message


MARKED = PLAIN.assign(
    Status=["Survey Preview", "IP Address", "8", "IP Address"],
    Finished=["True", "True", "True", "0"],
    Q9=["4", "4", "4", "4"],
)


@pytest.mark.long
def test_respondents_that_qualtrics_marks_are_excluded_by_the_rule_of_ratings(survey, tmp_path):
    path = edited(tmp_path, MARKED)
    marked = read_qualtrics(path)
    assert marked.respondents == 1
    gaps = [note for note in marked.notes if note.startswith("Tasks without an answer")]
    unanswered = marked.choices["status"].eq("missing") & marked.choices["excluded"].isna()
    assert gaps == [f"Tasks without an answer (status missing): {unanswered.sum() // 2}."] * bool(
        unanswered.any()
    )
    assert set(of_judge(marked, "R_1", "excluded")) == {"preview"}
    assert set(of_judge(marked, "R_2", "excluded")) == {None}
    assert "Excluded as preview: 3 choices by 1 respondent." in marked.notes
    assert len(marked.choices) == len(survey.choices)
    ignored = read_qualtrics(path, rules=Rules(ignore=["preview", "spam", "unfinished"]))
    assert "excluded" not in ignored.choices
    with pytest.raises(InputError, match="'previews' is not a reason in this export"):
        read_qualtrics(path, rules=Rules(ignore=["previews"]))
    assert "excluded" not in survey.choices


@pytest.mark.long
def test_speeders_and_failed_checks_of_a_conjoint_are_excluded_and_ids_are_replaced(tmp_path):
    seconds = ["200", "20", "300", "400"]
    table = PLAIN.assign(**{"Duration (in seconds)": seconds}, Q9=["4", "4", "1", "4"])
    rules = Rules(min_seconds=60, checks=read_checks(["Q9=4"]))
    excluded = read_qualtrics(edited(tmp_path, table), rules=rules, anonymous=True).choices
    assert set(excluded.groupby("judge_id")["excluded"].first().dropna()) == {"too fast", "failed check Q9"}
    assert not excluded.astype("string").apply(lambda cells: cells.str.contains("R_")).any(axis=None)
    with pytest.raises(InputError, match="no column contains how long people took"):
        read_qualtrics(EXPORT, rules=Rules(min_seconds=60))


@pytest.mark.long
def test_no_door_uses_respondents_who_are_excluded(tmp_path):
    choices = read_qualtrics(edited(tmp_path, MARKED), rules=Rules(ignore=["spam", "unfinished"])).choices
    used_by_hand = choices[choices["excluded"].isna()]
    with pytest.warns(RespondentsExcluded, match="6 rows excluded by column 'excluded' .preview 6.."):
        means = mm(choices, "chosen ~ curse_word", id="pair_id")
    by_hand = mm(used_by_hand.drop(columns="excluded"), "chosen ~ curse_word", id="pair_id")
    assert means.frame["estimate"].tolist() == by_hand.frame["estimate"].tolist()
    for name in ("choices.parquet", "choices.csv"):
        write_table(choices, tmp_path / name)
        (tmp_path / "study.yaml").write_text(
            draft_study(read_qualtrics(EXPORT), "posts", "x.csv"), encoding="utf-8"
        )
        notes: list[str] = []
        loaded = load_choices(load_study(tmp_path / "study.yaml"), tmp_path / name, notes=notes)
        assert len(loaded) == len(used_by_hand)
        assert f"{name}: 6 rows excluded by column 'excluded' (preview 6)." in notes


def test_a_drafted_study_takes_the_choices(survey, tmp_path):
    (tmp_path / "study.yaml").write_text(draft_study(survey, "posts", "qualtrics.csv"), encoding="utf-8")
    study = load_study(tmp_path / "study.yaml")
    write_table(survey.choices, tmp_path / "choices.parquet")
    choices = load_choices(study, tmp_path / "choices.parquet")
    assert study.feature_labels == {"curse_word": "Curse word", "number_of_likes": "Number of likes"}
    assert study.level_labels["number_of_likes"]["level_0_to_5"] == "0 to 5"
    assert study.design.repeat_first
    assert all(level.probability is None for level in study.attributes[1].levels)
    at = np.arange(len(survey.choices))
    rare = survey.choices.assign(curse_word=np.where(at % 9, *survey.labels["level_id"][:2]))
    (tmp_path / "rare.yaml").write_text(
        draft_study(replace(survey, choices=rare), "p", "q.csv"), encoding="utf-8"
    )
    shares = [level.probability for level in load_study(tmp_path / "rare.yaml").attributes[0].levels]
    assert shares == pytest.approx([8 / 9, 1 / 9], abs=0.03)
    assert [(one.verb, one.h0) for one in study.analyses if one.verb == "mm"] == [("mm", 0.5)]
    assert choices["chosen"].equals(survey.choices["chosen"])


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not PEERS.is_dir(), reason="no reference tables of peers")
def test_the_example_of_projoint_is_read_as_projoint_reads_it():
    survey = read_qualtrics(
        PEERS / "projoint_example1_qualtrics.csv.gz", labels=PEERS / "projoint_labels.csv"
    )
    theirs = pd.read_csv(PEERS / "projoint_long.csv.gz").sort_values(["id", "task", "profile"])
    ours = survey.choices.assign(profile=survey.choices["position"].cat.codes + 1)
    again = ours[ours["repeat"]].set_index("profile_id")["chosen"].astype(float)
    ours = ours[~ours["repeat"]].sort_values(["judge_id", "task", "profile"])
    assert (len(ours), survey.respondents, survey.tasks) == (6_400, 400, 8)
    for name, key in (("judge_id", "id"), ("task", "task"), ("profile", "profile"), ("chosen", "selected")):
        assert ours[name].tolist() == theirs[key].tolist()
    for name in [f"att{number}" for number in range(1, 8)]:
        assert ours[name].tolist() == theirs[name].str.replace(":", "_").tolist()
    second = ours["profile_id"].map(again)
    np.testing.assert_array_equal(second, theirs["selected_repeated"])
    agree = (second == ours["chosen"].astype(float)).astype(float).where(second.notna())
    np.testing.assert_array_equal(agree, theirs["agree"])
