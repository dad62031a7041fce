"""Who is a model in a table of ratings is stated by an option or a column, and never guessed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Imported, Layout, anonymise, read_crowd
from conjury.inference.readers.judgments import like_models

Write = Callable[..., Path]
LONG = Layout(value={"wit": "rating"})


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(header: str, *rows: str) -> Path:
        path = tmp_path / "ratings.csv"
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    return made


def kinds(imported: Imported) -> dict[str, str]:
    frame = imported.judgments
    return dict(zip(frame["judge_id"], frame["judge_kind"].astype(str), strict=True))


MIXED = ("rater,item,rating", "ann,a,1", "bob,a,2", "gpt-4o,a,3", "tiny,a,4")


def test_a_table_with_the_name_of_a_model_is_refused_until_somebody_says_who_is_one(write: Write) -> None:
    with pytest.raises(InputError, match=r"gpt-4o may be a model; say who .*--models NAME.*--people"):
        read_crowd(write(*MIXED), "csv", LONG)


def test_named_models_are_models_and_all_others_people(write: Write) -> None:
    made = read_crowd(write(*MIXED), "csv", Layout(value={"wit": "rating"}, models=["gpt-4o", "tiny"]))
    assert kinds(made) == {"ann": "human", "bob": "human", "gpt-4o": "model", "tiny": "model"}
    assert sorted(set(anonymise(made).judgments["judge_id"])) == ["gpt-4o", "r001", "r002", "tiny"]


def test_a_model_that_nobody_named_is_noted(write: Write) -> None:
    made = read_crowd(write(*MIXED), "csv", Layout(value={"wit": "rating"}, models=["tiny"]))
    assert "Judges that look like models and count as people: gpt-4o." in made.notes


def test_people_is_an_answer_too(write: Write) -> None:
    made = read_crowd(write(*MIXED), "csv", Layout(value={"wit": "rating"}, people=True))
    assert set(kinds(made).values()) == {"human"}


def test_an_unknown_model_is_refused_with_the_closest_judge(write: Write) -> None:
    with pytest.raises(InputError, match=r"no judge 'gpt-4' \(did you mean 'gpt-4o'\?\); correct --models"):
        read_crowd(write(*MIXED), "csv", Layout(value={"wit": "rating"}, models=["gpt-4"]))


def test_a_column_says_who_is_a_model(write: Write) -> None:
    path = write("rater,type,item,rating", "ann,Person,a,1", "x1,LLM,a,2")
    made = read_crowd(path, "csv", Layout(value={"wit": "rating"}, kind="type"))
    assert kinds(made) == {"ann": "human", "x1": "model"}


def test_a_column_that_may_say_so_is_asked_about(write: Write) -> None:
    path = write("rater,type,item,rating", "ann,human,a,1", "x1,model,a,2")
    with pytest.raises(InputError, match=r"column 'type' \(human, model\) .* --judge-kind type if it does"):
        read_crowd(path, "csv", LONG)


def test_the_column_of_the_contract_needs_no_option(write: Write) -> None:
    path = write("rater,judge_kind,item,rating", "ann,human,a,1", "x1,model,a,2")
    assert kinds(read_crowd(path, "csv", LONG)) == {"ann": "human", "x1": "model"}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["ann,robotic,a,1"], "row 1 of column 'type' holds 'robotic'; write human or model"),
        (["ann,human,a,1", "bob,,a,1"], "row 2 of column 'type' is empty"),
        (["ann,human,a,1", "ann,model,b,1"], "judge 'ann' is a human and a model in column 'type'"),
    ],
)
def test_a_column_of_kinds_is_checked(write: Write, rows: list[str], problem: str) -> None:
    path = write("rater,type,item,rating", *rows)
    with pytest.raises(InputError, match=problem):
        read_crowd(path, "csv", Layout(value={"wit": "rating"}, kind="type"))


def test_two_answers_are_refused(write: Write) -> None:
    with pytest.raises(InputError, match="--models and --people both say who is a model"):
        read_crowd(write(*MIXED), "csv", Layout(value={"wit": "rating"}, models=["tiny"], people=True))


def test_ordinary_raters_count_as_people_with_a_note(write: Write) -> None:
    made = read_crowd(write("rater,item,rating", "ann,a,1", "bob,a,2"), "csv", LONG)
    assert set(kinds(made).values()) == {"human"}
    assert "All 2 judges count as people (--models NAME names a model)." in made.notes


def test_columns_that_differ_within_a_judge_say_nothing_about_judges(write: Write) -> None:
    rows = ["ann,human,a,1", "ann,ai,b,2", "bob,ai,a,2", "bob,human,b,1"]
    made = read_crowd(write("rater,source,item,rating", *rows), "csv", LONG)
    assert set(kinds(made).values()) == {"human"}


def test_types_of_items_are_no_kinds_of_judges(write: Write) -> None:
    made = read_crowd(write("rater,type,item,rating", "ann,pun,a,1", "bob,pun,a,2"), "csv", LONG)
    assert set(kinds(made).values()) == {"human"}


def test_workers_of_a_platform_are_people_whatever_their_names(write: Write) -> None:
    path = write("WorkerId,Input.id,Answer.wit", "gpt-4o,1,2")
    assert kinds(read_crowd(path, "mturk")) == {"gpt-4o": "human"}


def test_names_of_models_are_recognised_and_ids_of_people_are_not() -> None:
    models = [
        "gpt-4o-mini",
        "claude_3_opus",
        "Llama-2-7b-chat",
        "google/gemini-1.5-pro",
        "Qwen2.5-72B",
        "o1-mini",
    ]
    people = ["ann", "R_3nXb7", "A2PHI9XGROKZ", "5f0000aa", "rater 12", "12", "Modelski", "maria.b"]
    people += ["Claude Petit", "Phi Nguyen", "Ai Tanaka", "o1", "P_1b"]
    assert like_models(models) == models
    assert like_models(people) == []


@pytest.mark.parametrize("dimensions", [{}, {"wit": "wit"}])
def test_a_column_unlike_the_others_is_named(write: Write, dimensions: dict[str, str]) -> None:
    path = write("rater,Q1_wit,Q1_clear,Q2_wit,Q2_clear,Q2_age", "ann,1,2,3,4,33", "bob,1,2,3,4,51")
    layout = Layout(ratings=["Q{item}_{dimension}"], dimensions=dimensions)
    told = [note for note in read_crowd(path, "csv", layout).notes if "unlike other columns" in note]
    assert len(told) == (0 if dimensions else 1)
    if not dimensions:
        assert "Q2_age (dimension 'age' of item '2' alone)" in told[0]
        assert "--dimensions wit,clear" in told[0]
