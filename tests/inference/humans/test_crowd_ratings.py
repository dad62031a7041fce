"""Results of MTurk and Lancers, and plain CSV files of people and models. The fixtures are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.humans import Imported, Layout, Rules, anonymise, read_crowd
from conjury.inference.readers.judgments import like_models

Write = Callable[..., Path]

HUMANS = Path(__file__).resolve().parents[2] / "fixtures" / "humans"
MTURK = HUMANS / "mturk.csv"
PLAIN = HUMANS / "ratings.csv"
FUNNY = Layout(item="Input.joke_id", dimensions={"funny": "funny"})
MIXED = ("rater,item,rating", "ann,a,1", "bob,a,2", "gpt-4o,a,3", "tiny,a,4")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(*lines: str) -> Path:
        path = tmp_path / "ratings.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return written


def wit(**named: object) -> Layout:
    return Layout(value={"wit": "rating"}, **named)


def rows(imported: Imported, *columns: str) -> list[list[object]]:
    return imported.judgments[list(columns)].astype(object).fillna("").to_numpy().tolist()


def kinds(imported: Imported) -> dict[str, str]:
    frame = imported.judgments
    return dict(zip(frame["judge_id"], frame["judge_kind"].astype(str), strict=True))


def test_lancers_files_are_read_in_both_encodings(tmp_path: Path) -> None:
    unicode, other = HUMANS / "lancers.csv", tmp_path / "lancers.csv"
    other.write_bytes(unicode.read_text(encoding="utf-8").encode("cp932"))
    layout = Layout(value={"funny": "面白さ"}, item="回答番号")
    made = [read_crowd(path, "lancers", layout).judgments for path in (unicode, other)]
    pd.testing.assert_frame_equal(*made)


def test_a_column_can_number_samples() -> None:
    layout = Layout(value={"rating": "rating"}, dimension="scale", item="scale", sample="trial", judge="joke")
    made = read_crowd(PLAIN, "csv", layout, Rules(again="sample"))
    assert made.judgments["sample"].tolist()[0] == 1
    with pytest.raises(InputError, match=r"row 1 of column 'country'.*is no whole number"):
        read_crowd(PLAIN, "csv", wit(item="joke", sample="country"))


def test_one_column_per_rater_is_read_by_its_name(write: Write) -> None:
    path = write("item_id,rater_ann,rater_bob", "j1,3,2", "j2,,4")
    made = read_crowd(path, "csv", Layout(ratings=["wit=rater_{judge}"], item="item_id"))
    expected = [["ann", "j1", 3], ["bob", "j1", 2], ["ann", "j2", ""], ["bob", "j2", 4]]
    assert rows(made, "judge_id", "item_id", "value") == expected


def test_columns_with_another_role_contain_no_ratings(write: Write) -> None:
    path = write("item_id,who,age,wit,clarity", "j1,ann,31,3,4")
    layout = Layout(ratings=["{dimension}"], item="item_id", judge="who", covariates=["age"])
    assert rows(read_crowd(path, "csv", layout), "dimension", "value", "age") == [
        ["wit", 3, 31],
        ["clarity", 4, 31],
    ]


@pytest.mark.parametrize("dimensions", [{}, {"wit": "wit"}])
def test_a_column_unlike_the_others_is_noted(write: Write, dimensions: dict[str, str]) -> None:
    path = write("rater,Q1_wit,Q1_clear,Q2_wit,Q2_clear,Q2_age", "ann,1,2,3,4,33", "bob,1,2,3,4,51")
    made = read_crowd(path, "csv", Layout(ratings=["Q{item}_{dimension}"], dimensions=dimensions))
    notes = [note for note in made.notes if "Q2_age (dimension 'age' of item '2' alone)" in note]
    assert len(notes) == (0 if dimensions else 1)
    assert all("--dimensions wit,clear" in note for note in notes)


@pytest.mark.parametrize(
    ("platform", "layout", "problem"),
    [
        ("mturk", Layout(), "choose one with --item (there are: Input.joke_id, Input.text)"),
        ("csv", Layout(), "no option names the columns of ratings; name one with --value"),
        (
            "csv",
            Layout(value={"wit": "ratign"}),
            "'ratign' is missing (did you mean 'rating'?); correct --value",
        ),
        ("csv", wit(), "the item of column 'rating' is unknown"),
        ("csv", wit(item="joke", judge="who"), "column 'who' is missing"),
        ("csv", wit(item="joke"), "row 2 of column 'rating' (and 0 more ratings) rates 'j1'"),
        (
            *("csv", wit(item="joke", dimension="scale", dimensions={"wiz": "wiz"})),
            "no row has one of the dimensions wiz",
        ),
        ("csv", wit(item="j{place}"), "--item 'j{place}' needs the number of the place"),
    ],
)
def test_unknown_columns_are_asked_for(platform: str, layout: Layout, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_crowd(MTURK if platform == "mturk" else PLAIN, platform, layout)
    assert problem in str(caught.value)


# --- people and models ----------------------------------------------------------------------------------


def test_named_models_are_models_and_all_others_people(write: Write) -> None:
    made = read_crowd(write(*MIXED), "csv", wit(models=["gpt-4o", "tiny"]))
    assert kinds(made) == {"ann": "human", "bob": "human", "gpt-4o": "model", "tiny": "model"}
    assert sorted(set(anonymise(made).judgments["judge_id"])) == ["gpt-4o", "r001", "r002", "tiny"]


def test_a_model_that_nobody_named_is_noted(write: Write) -> None:
    made = read_crowd(write(*MIXED), "csv", wit(models=["tiny"]))
    assert "Judges whose names look like models and who count as people: gpt-4o." in made.notes
    assert set(kinds(read_crowd(write(*MIXED), "csv", wit(people=True))).values()) == {"human"}


@pytest.mark.parametrize("column", ["type", "judge_kind"])
def test_a_column_says_who_is_a_model(write: Write, column: str) -> None:
    path = write(f"rater,{column},item,rating", "ann,Person,a,1", "x1,LLM,a,2")
    made = read_crowd(path, "csv", wit(kind=column if column == "type" else None))
    assert kinds(made) == {"ann": "human", "x1": "model"}


@pytest.mark.parametrize(
    ("lines", "layout", "problem"),
    [
        (MIXED, wit(), r"gpt-4o may be a model; say who .*--models NAME.*--people"),
        (MIXED, wit(models=["gpt-4"]), r"no judge 'gpt-4' \(did you mean 'gpt-4o'\?\); correct --models"),
        (MIXED, wit(models=["tiny"], people=True), "--models and --people both say who is a model"),
        (("rater,type,item,rating", "ann,human,a,1", "x,model,a,2"), wit(), "'type' .* --judge-kind type if"),
        (
            ("rater,type,item,rating", "ann,robotic,a,1"),
            wit(kind="type"),
            "contains 'robotic'; write human or",
        ),
        (("rater,type,item,rating", "ann,human,a,1", "b,,a,2"), wit(kind="type"), "row 2 .*'type' is empty"),
        (
            ("rater,type,item,rating", "ann,human,a,1", "ann,model,b,1"),
            wit(kind="type"),
            "judge 'ann' is a human and a model in column 'type'",
        ),
    ],
)
def test_the_kind_of_a_judge_is_never_guessed(
    write: Write, lines: tuple[str, ...], layout: Layout, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        read_crowd(write(*lines), "csv", layout)


@pytest.mark.parametrize(
    ("platform", "lines"),
    [
        ("csv", ("rater,item,rating", "ann,a,1", "bob,a,2")),
        # the column differs within a judge, so it is not about judges
        ("csv", ("rater,source,item,rating", "ann,human,a,1", "ann,ai,b,2", "bob,ai,a,2", "bob,human,b,1")),
        ("csv", ("rater,type,item,rating", "ann,pun,a,1", "bob,pun,a,2")),
        ("mturk", ("WorkerId,Input.id,rating", "gpt-4o,1,2")),
    ],
)
def test_all_other_judges_are_people(write: Write, platform: str, lines: tuple[str, ...]) -> None:
    made = read_crowd(write(*lines), platform, wit())
    assert set(kinds(made).values()) == {"human"}
    noted = "All 2 judges count as people (--models NAME names a model)." in made.notes
    assert noted == (platform == "csv")


def test_names_of_models_are_recognised_and_ids_of_people_are_not() -> None:
    models = ["gpt-4o-mini", "claude_3_opus", "Llama-2-7b-chat", "google/gemini-1.5-pro", "Qwen2.5-72B"]
    people = ["ann", "R_3nXb7", "A2PHI9XGROKZ", "5f0000aa", "rater 12", "12", "Modelski", "maria.b"]
    people += ["Claude Petit", "Phi Nguyen", "Ai Tanaka", "o1", "P_1b"]
    assert like_models([*models, "o1-mini"]) == [*models, "o1-mini"]
    assert like_models(people) == []
