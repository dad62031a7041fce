"""Conjoint surveys in the shapes in which they are published, with invented content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.readers.conjoints import ConjointTable, read_conjoint
from conjury.inference.tables.reading import ReadingRules

LEVELS = {
    "Roof": ["flat", "gable", "hip"],
    "Heating rate": ["low", "high"],
    "Council vote (2020)": ["30% green", "50% green", "70% green"],
}
PEOPLE, TASKS = 24, 4
EFFECTS = {"gable": 0.9, "high": -0.7, "70% green": 0.5}


def _plain() -> pd.DataFrame:
    """One row per profile: respondent, task, profile, chosen, three attributes, and a weight of people."""
    rng = np.random.default_rng(8)
    rows = []
    for person in range(PEOPLE):
        for task in range(TASKS):
            shown = [{name: str(rng.choice(levels)) for name, levels in LEVELS.items()} for _ in range(2)]
            first, second = (sum(EFFECTS.get(level, 0.0) for level in cells.values()) for cells in shown)
            pick = int(second + rng.gumbel() > first + rng.gumbel())
            for profile, cells in enumerate(shown):
                row = {"person": person, "task": task + 1, "profile": profile + 1, **cells}
                rows.append(row | {"chosen": int(profile == pick), "weight": 0.5 + person % 3})
    return pd.DataFrame(rows)


PLAIN = _plain()
COLUMNS = list(LEVELS)


def _by_task(first: str = "{name}1", second: str = "{name}2") -> pd.DataFrame:
    """One row per task, without its answer."""
    sides = [PLAIN[PLAIN["profile"] == number].reset_index(drop=True) for number in (1, 2)]
    frame = sides[0][["person", "task"]].copy()
    for name in COLUMNS:
        frame[first.format(name=name)] = sides[0][name]
        frame[second.format(name=name)] = sides[1][name]
    return frame


def _picked() -> pd.Series[Any]:
    """The profile that is chosen in each task, 1 or 2."""
    return PLAIN.loc[PLAIN["chosen"] == 1, "profile"].reset_index(drop=True)


def named_by_contest(path: Path) -> None:
    """CaseID, contest_no, Chosen_...: attributes as value labels of Stata."""
    frame = PLAIN.rename(columns={"person": "CaseID", "task": "contest_no", "chosen": "Chosen_House"})
    labels, names = {}, {"Roof": "FeatRoof", "Heating rate": "FeatHeat", "Council vote (2020)": "FeatVote"}
    for name, short in names.items():
        frame[name] = frame[name].map({level: float(code) for code, level in enumerate(LEVELS[name], 1)})
        labels[short] = {float(code): level for code, level in enumerate(LEVELS[name], 1)}
    pyreadstat.write_dta(frame.rename(columns=names), str(path), variable_value_labels=labels)


def without_tasks(path: Path) -> None:
    """ID, chose_plan, weight: rows of a task are below each other, and nothing numbers them."""
    frame = PLAIN.rename(columns={"person": "ID", "chosen": "chose_plan"}).drop(columns=["task", "profile"])
    frame[["chose_plan", *COLUMNS, "ID", "weight"]].to_csv(path, index=False)


def wide_with_letters(path: Path) -> None:
    """Roof_a1, Roof_a2, ..., choice_a, rating_a1: a row per respondent, letters for tasks."""
    rows = []
    for person, cells in PLAIN.groupby("person"):
        row: dict[str, Any] = {"respondent": person}
        for name in (*COLUMNS, "rating"):
            for _, cell in cells.iterrows():
                place = f"{'abcd'[cell['task'] - 1]}{cell['profile']}"
                value = 1 + (cell["task"] + cell["profile"]) % 7 if name == "rating" else cell[name]
                row[f"{name.split()[0].lower()}_{place}"] = value
        for _, cell in cells[cells["chosen"] == 1].iterrows():
            row[f"choice_{'abcd'[cell['task'] - 1]}"] = cell["profile"]
            row[f"timing_{'abcd'[cell['task'] - 1]}"] = 3.5 * cell["task"]
        rows.append(row)
    pd.DataFrame(rows).to_csv(path, index=False)


def tidy_with_repeat(path: Path) -> None:
    """id, task, profile, selected, selected_repeated, names of attributes with "rate" and "vote"."""
    frame = PLAIN.rename(columns={"person": "id", "chosen": "selected"})
    frame.insert(4, "selected_repeated", frame["selected"].where(frame["task"] == 1))
    frame.drop(columns="weight").to_csv(path, index=False)


def one_row_per_contest(path: Path) -> None:
    """hh, contest, roof1, roof2, selected1, selected2: a row per task."""
    frame = _by_task().rename(columns={"person": "hh", "task": "contest"})
    frame = frame.assign(selected1=(_picked() == 1).astype(int), selected2=(_picked() == 2).astype(int))
    frame.to_csv(path, index=False, sep=";")


def second_profile_alone_is_numbered(path: Path) -> None:
    """FeatRoof and FeatRoof_2 in a row per task, the answer as left or right."""
    frame = _by_task("{name}", "{name}_2").drop(columns="task")
    frame.assign(Y=_picked().map({1: "left", 2: "right"})).to_excel(path, index=False)


def alternatives_of_observations(path: Path) -> None:
    """id, obsnum, choice: tasks are numbered through all respondents, and profiles are not."""
    task = PLAIN["person"] * TASKS + PLAIN["task"]
    frame = PLAIN.rename(columns={"person": "id", "chosen": "choice"}).assign(obsnum=task)
    frame = frame.assign(is_hip=(frame["Roof"] == "hip").astype(int))
    frame[["id", "obsnum", "choice", *COLUMNS, "is_hip", "weight"]].to_parquet(path)


def _exported(path: Path, *, id: str, outcome: str, header: bool) -> None:
    """F-1-1 has the name of an attribute, F-1-1-1 its level in the first profile."""
    rows = []
    for person, cells in PLAIN.groupby("person"):
        row: dict[str, Any] = {id: f"R_{person:02d}abcdefghij", "V2": "Default Response Set"}
        for _, cell in cells.iterrows():
            for place, name in enumerate(COLUMNS, 1):
                row[f"F-{cell['task']}-{place}"] = name
                row[f"F-{cell['task']}-{cell['profile']}-{place}"] = cell[name]
            if cell["chosen"] == 1:
                row[outcome.format(task=cell["task"])] = f"Flat {cell['profile']}"
        rows.append(row)
    frame = pd.DataFrame(rows)
    if header:
        titles = {"V1": "ResponseID", "V2": "ResponseSet"}
        frame = pd.concat([pd.DataFrame([{name: titles.get(name, name) for name in frame}]), frame])
    frame.to_csv(path, index=False)


def old_export(path: Path) -> None:
    """V1 is ResponseID by the row below the header."""
    _exported(path, id="V1", outcome="choice{task}", header=True)


def old_export_without_titles(path: Path) -> None:
    """V1 has ids of responses, and nothing says so."""
    _exported(path, id="V1", outcome="choice{task}", header=False)


def questions_by_number(path: Path) -> None:
    """Questions of the export are Q4.2, Q4.3 and so on, which do not number tasks from 1."""
    _exported(path, id="ResponseId", outcome="Q4.1{task}", header=False)


def single_profiles(path: Path) -> None:
    """A decision on one profile at a time, among many columns of respondents."""
    frame = PLAIN.rename(columns={"person": "respid", "chosen": "decision"})
    frame = (
        frame[frame["profile"] == 1].drop(columns=["task", "profile"]).assign(age=lambda f: f["respid"] + 20)
    )
    frame.to_csv(path, index=False, sep="\t")


READ_AT_ONCE: dict[Callable[[Path], None], tuple[str, str]] = {
    named_by_contest: ("survey.dta", "2"),
    without_tasks: ("survey.csv", "2"),
    wide_with_letters: ("survey.csv", "2"),
    tidy_with_repeat: ("survey.csv", "2"),
    one_row_per_contest: ("survey.csv", "2"),
    alternatives_of_observations: ("survey.parquet", "2"),
    old_export: ("survey.csv", "2"),
    old_export_without_titles: ("survey.csv", "2"),
}


def shares(table: ConjointTable) -> list[list[float]]:
    """The share of profiles that are chosen, by level in alphabetical order, for each attribute."""
    frame = table.frame.assign(**{name: table.frame[name].astype(str) for name in table.attributes})
    return [frame.groupby(name)["chosen"].mean().sort_index().tolist() for name in table.attributes]


@pytest.mark.parametrize("write", READ_AT_ONCE, ids=lambda write: write.__name__)
def test_a_published_shape_is_read_without_any_option(write, tmp_path):
    name, profiles = READ_AT_ONCE[write]
    write(tmp_path / name)
    table = read_conjoint(tmp_path / name)
    assert (table.respondents, table.tasks, table.profiles) == (PEOPLE, TASKS, int(profiles))
    expected = [PLAIN.groupby(name)["chosen"].mean().sort_index().tolist() for name in COLUMNS]
    for ours, theirs in zip(shares(table), expected, strict=True):
        assert ours == pytest.approx(theirs)


def test_a_table_of_tasks_needs_the_respondent_and_says_so(tmp_path):
    pytest.importorskip("openpyxl")
    file = tmp_path / "tasks.xlsx"
    second_profile_alone_is_numbered(file)
    table = read_conjoint(file)
    assert (table.respondents, table.profiles) == (PEOPLE, 2)
    frame = pd.read_excel(file).drop(columns="person")
    with pytest.raises(
        InputError, match=r"no column looks like the respondent; name it with --id, or number"
    ):
        read_conjoint(frame)
    numbered = read_conjoint(frame.assign(row=range(len(frame))), id="row")
    assert (numbered.respondents, numbered.tasks) == (PEOPLE * TASKS, 1)
    for ours, theirs in zip(shares(numbered), shares(table), strict=True):
        assert ours == pytest.approx(theirs)


@pytest.mark.long
def test_an_export_whose_answers_are_questions_names_the_option_that_this_command_has(tmp_path):
    file = tmp_path / "export.csv"
    questions_by_number(file)
    renamed = pd.read_csv(file).rename(columns={f"Q4.1{task}": f"Q{task}.{9 - task}" for task in range(1, 5)})
    renamed.to_csv(file, index=False)
    with pytest.raises(InputError, match=r"with --outcome COLUMN,COLUMN,\.\.\."):
        read_conjoint(file)
    table = read_conjoint(file, outcome=",".join(f"Q{task}.{9 - task}" for task in range(1, 5)))
    assert (table.respondents, table.tasks) == (PEOPLE, TASKS)
    answers = renamed.replace({"Flat 1": "this", "Flat 2": "that"})
    answers.to_csv(file, index=False)
    outcome = ",".join(f"Q{task}.{9 - task}" for task in range(1, 5))
    with pytest.raises(InputError, match=r"--relabel 'TEXT=1' --relabel 'TEXT=2'"):
        read_conjoint(file, outcome=outcome)
    relabelled = read_conjoint(file, ReadingRules(relabel={"this": "1", "that": "2"}), outcome=outcome)
    assert shares(relabelled) == shares(table)


def test_decisions_on_single_profiles_are_no_tasks(tmp_path):
    single_profiles(tmp_path / "decisions.tsv")
    table = read_conjoint(tmp_path / "decisions.tsv")
    assert (table.outcome, table.profiles, len(table.frame)) == ("chosen", 1, PEOPLE * TASKS)
    assert table.attributes == tuple(COLUMNS)


def test_columns_that_follow_from_an_attribute_and_further_outcomes_are_named(tmp_path):
    file = tmp_path / "survey.parquet"
    alternatives_of_observations(file)
    sentences = read_conjoint(file).account.notes()
    assert (
        "3 attributes: 'Roof', 'Heating rate', 'Council vote (2020)'; not 'is_hip', given 'Roof'."
        in sentences
    )
    assert any(text.startswith("Column 'weight' may contain survey weights") for text in sentences)
    tidy_with_repeat(tmp_path / "tidy.csv")
    (sentence,) = [
        text for text in read_conjoint(tmp_path / "tidy.csv").account.notes() if "attributes" in text
    ]
    assert sentence.endswith("not 'selected_repeated', which may be a further outcome.")


def test_a_task_without_an_answer_of_its_own_is_not_taken_for_blocks(tmp_path):
    frame = PLAIN.drop(columns=["task", "profile"]).sample(frac=1.0, random_state=1).reset_index(drop=True)
    table = read_conjoint(frame, id="person", outcome="chosen")
    assert table.profiles == 1
    assert any("each row is one" in text for text in table.account.notes())


def survey_with_ratings(gaps: bool = False) -> pd.DataFrame:
    """Columns with unknown names: x1 respondents, x2 tasks, x3 profiles, x4 choices, x5 ratings."""
    frame = PLAIN.rename(columns={"person": "x1", "task": "x2", "profile": "x3", "chosen": "x4"})
    frame = frame.drop(columns="weight").assign(x5=np.arange(len(frame)) % 61 + frame["x4"] / 2)
    return frame.drop(index=frame.index[[9, 30]]) if gaps else frame


@pytest.mark.parametrize("gaps", [False, True])
def test_tasks_and_profiles_are_recognised_by_their_numbers_also_with_gaps(gaps):
    frame = survey_with_ratings(gaps)
    table = read_conjoint(frame, id="x1")
    assert (table.outcome, table.attributes, table.profiles) == ("chosen", tuple(COLUMNS), 2)
    sentences = table.account.notes()
    assert "Column 'x2' is taken as the task." in sentences
    assert "Column 'x3' is taken as the profile, since it numbers the rows of tasks." in sentences
    assert table.frame.groupby("pair_id")["task"].nunique().max() == 1
    assert int(table.frame["pair_id"].nunique()) == PEOPLE * TASKS
    assert table.frame["position"].tolist() == frame["x3"].astype(str).tolist()


@pytest.mark.parametrize("index", ["{task}_{profile}", "{profile}_{task}"])
def test_of_two_indices_without_words_that_of_two_numbers_is_the_profile(index):
    wide = PLAIN.drop(columns="weight").pivot(index="person", columns=["task", "profile"])
    wide.columns = [f"{name}_{index.format(task=task, profile=side)}" for name, task, side in wide.columns]
    read = read_conjoint(wide.reset_index())
    assert (read.tasks, read.profiles, len(read.frame)) == (TASKS, 2, len(PLAIN))


def test_an_attribute_has_up_to_40_levels_where_none_is_named():
    tables = {n: read_conjoint(PLAIN.assign(street=PLAIN.index.to_numpy() % n)) for n in (40, 41)}
    assert ["street" in table.attributes for table in tables.values()] == [True, False]
    assert "not 'street', with more than 40 different cells." in " ".join(tables[41].account.notes())


@pytest.mark.parametrize(("n", "is_forced"), [(9, True), (10, False)])
def test_a_task_without_a_chosen_profile_is_noted_where_nine_of_ten_have_one(n, is_forced):
    table = read_conjoint(PLAIN.assign(chosen=PLAIN["chosen"].where(PLAIN.index >= 2 * n, 0)))
    sentence = f"{n} tasks without a chosen profile count as a choice of none."
    assert (sentence in table.account.notes()) == is_forced  # of 96 tasks


@pytest.mark.parametrize(("n", "is_restricted"), [(10, True), (9, False)])
def test_levels_are_never_shown_together_where_five_rows_were_expected(n, is_restricted):
    first = PLAIN["profile"] == 1
    rare = first & (PLAIN.index < 2 * n)  # n rows, of which chance would show half with either half
    table = read_conjoint(PLAIN.assign(half=first.map({True: "p", False: "q"}), rare=rare.map(str)))
    pairs = [(pair.pairs, pair.expected) for pair in table.empty_pairs]
    assert pairs == ([((("q", "True"),), 5.0)] if is_restricted else [])


@pytest.mark.parametrize(("size", "shape"), [(6, (2, 6)), (7, (14, 1))])
def test_rows_in_a_row_are_one_task_of_up_to_six_profiles(size, shape):
    cells = [
        (person, row // size, row % size, (row * row + person) % 3)
        for person in range(20)
        for row in range(2 * size)
    ]
    table = pd.DataFrame(cells, columns=["person", "task", "place", "roof"])
    chosen = table["place"] == (table["person"] + table["task"]) % size
    read = read_conjoint(table.assign(chosen=chosen.astype(int))[["person", "roof", "chosen"]])
    assert (read.tasks, read.profiles) == shape


def test_profiles_without_a_column_of_tasks_are_no_attribute():
    frame = PLAIN.drop(columns=["task", "weight"])
    assert read_conjoint(frame).attributes == tuple(COLUMNS)
    with pytest.raises(InputError, match=r"respondent '2' .* equally many rows of each 'profile', .* --task"):
        read_conjoint(frame.drop(index=frame.index[frame["person"] == 2][0]), profile="profile")


def test_a_choice_beside_a_rating_is_asked_about_and_is_no_attribute():
    frame = survey_with_ratings()
    with pytest.raises(InputError, match=r"column 'x4' marks one profile of each task, .* --attributes") as e:
        read_conjoint(frame, id="x1", outcome="x5")
    assert all(name in str(e.value) for name in COLUMNS)
    stated = read_conjoint(frame, id="x1", outcome="x5", attributes=(*COLUMNS, "x4"))
    assert stated.attributes == (*COLUMNS, "x4")
    low, high = frame["x5"].min(), frame["x5"].max()
    assert f"Outcome 'x5' is a rating from {low:g} to {high:g}." in stated.account.notes()


def test_of_two_columns_called_as_respondents_are_the_one_with_fewer_values_is_taken():
    frame = PLAIN.rename(columns={"person": "respondent"}).assign(resp=range(len(PLAIN)))
    table = read_conjoint(frame, attributes=tuple(COLUMNS))
    assert table.frame["judge_id"].nunique() == PEOPLE
    assert "Column 'respondent' is taken as the respondent." in table.account.notes()


@pytest.mark.parametrize(
    "names",
    [
        "Befragte Aufgabe Profil gewählt Bewertung",
        "encuestado tarea opción elegido puntuación",
        "répondant tâche profil choisi note",
    ],
)
def test_columns_with_names_of_other_languages_are_recognised(names):
    person, task, profile, chosen, rating = names.split()
    renamed = {"x1": person, "x2": task, "x3": profile, "x4": chosen, "x5": rating}
    frame = survey_with_ratings().rename(columns=renamed).sample(frac=1.0, random_state=1)
    table = read_conjoint(frame)
    assert (table.outcome, table.attributes, table.profiles) == ("chosen", tuple(COLUMNS), 2)
    assert read_conjoint(frame, outcome=rating).attributes == tuple(COLUMNS)


@pytest.mark.parametrize("word", ["none", "neither", "None of these"])
def test_an_answer_that_is_stated_as_none_chooses_no_profile(word):
    chosen = PLAIN.loc[PLAIN["chosen"] == 1, "profile"].astype(str).tolist()
    answers = pd.Series(["undecided", *chosen[1:]])
    frame = PLAIN.drop(columns=["chosen", "weight"]).assign(vote=np.repeat(answers.to_numpy(), 2))
    table = read_conjoint(frame, ReadingRules(relabel={"undecided": word}), outcome="vote")
    assert table.frame["chosen"].tolist() == [0, 0, *PLAIN["chosen"].tolist()[2:]]


def test_letters_with_accents_are_in_the_order_of_the_alphabet():
    frame = pd.DataFrame(
        {"resp": [1, 1, 2, 2], "task": 1, "chosen": [1, 0] * 2, "job": ["Zofe", "Äbte", "Äbte", "Zofe"]}
    )
    assert read_conjoint(frame).frame["job"].cat.categories.tolist() == ["Äbte", "Zofe"]


def test_an_empty_column_of_respondents_is_refused():
    frame = PLAIN.rename(columns={"person": "ID"})
    with pytest.raises(InputError, match=r"column 'ID', the respondent, is empty in row 1 \(and 191 more\)"):
        read_conjoint(frame.assign(ID=np.nan))


def test_attributes_by_number_are_told_from_tasks_and_profiles(tmp_path):
    """src_1_attribut2_1: the task, the attribute and the profile; an incomplete table is refused."""
    rows = []
    for person, cells in PLAIN.groupby("person"):
        row: dict[str, Any] = {"ID": person}
        for _, cell in cells.iterrows():
            for place, name in enumerate(COLUMNS, 1):
                row[f"src_{cell['task']}_attribut{place}_{cell['profile']}"] = cell[name]
            if cell["chosen"]:
                row[f"choice_{cell['task']}"] = cell["profile"]
        rows.append(row)
    frame = pd.DataFrame(rows)
    table = read_conjoint(frame)
    assert (table.respondents, table.tasks, table.profiles) == (PEOPLE, TASKS, 2)
    for name, ours in zip(COLUMNS, shares(table), strict=True):
        assert ours == pytest.approx(PLAIN.groupby(name)["chosen"].mean().sort_index().tolist())
    absent = [f"src_2_attribut{place}_1" for place in (1, 2, 3)]
    with pytest.raises(InputError, match=r"columns such as src_1_attribut1_1 .* of which some are absent"):
        read_conjoint(frame.drop(columns=absent))


def test_choices_of_a_study_are_read_if_they_are_those_of_people(tmp_path):
    """judge_id, pair_id, position, chosen: without repeats and excluded respondents; models go to fit."""
    pair = (PLAIN["person"] * TASKS + PLAIN["task"]).astype(str)
    frame = (
        PLAIN.rename(columns={"person": "judge_id"})
        .drop(columns="weight")
        .assign(
            judge_kind="human", pair_id=pair, position=PLAIN["profile"].map({1: "A", 2: "B"}), repeat=False
        )
    )
    again = frame[frame["task"] == 1].assign(repeat=True, pair_id=lambda f: f["pair_id"] + "_swapped")
    gone = frame[frame["judge_id"] == 1].assign(
        judge_id=99, excluded="speed", pair_id=lambda f: f["pair_id"] + "x"
    )
    file = tmp_path / "choices.csv"
    pd.concat([frame, again, gone]).drop(columns="profile").to_csv(file, index=False)
    table = read_conjoint(file)
    assert (table.respondents, table.tasks, table.attributes) == (PEOPLE, TASKS, tuple(COLUMNS))
    assert len(table.frame) == len(PLAIN)
    notes = table.account.notes()
    assert f"{2 * PEOPLE} rows of repeated tasks are excluded." in notes
    assert any("excluded by column 'excluded' (speed 8)" in note for note in notes)
    frame.assign(judge_kind="model").to_csv(file, index=False)
    with pytest.raises(InputError, match=rf"with answers of models; .*`conjury fit STUDY --data {file}`"):
        read_conjoint(file)


@pytest.mark.parametrize("levels", cases(__file__, "orders"), ids=str)
def test_levels_that_nobody_ordered_are_in_their_usual_order(levels: list[str]) -> None:
    turned = sorted(levels, key=lambda level: (len(level), level), reverse=True)
    frame = PLAIN.assign(Size=[turned[row % len(turned)] for row in range(len(PLAIN))])
    table = read_conjoint(frame, attributes=["Roof", "Size"])
    assert table.frame["Size"].cat.categories.tolist() == levels
