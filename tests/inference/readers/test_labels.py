from __future__ import annotations

import pandas as pd
import pytest

from conjury.inference.errors import InputError
from conjury.inference.readers.labels import (
    labels_from_columns,
    majority_labels,
    notes_of_majority,
    read_labels,
)
from conjury.inference.study import load_any_study

LABEL_CSV = "item_id,label_set,label\n"


@pytest.fixture(scope="module")
def study():
    return load_any_study("multiturn")


def votes(*given: tuple[str, str, str | None], dimension: str = "harm") -> pd.DataFrame:
    """Judgments of people from (person, item, label)."""
    rows = pd.DataFrame(given, columns=["judge_id", "item_id", "value"])
    status = rows["value"].notna().map({True: "ok", False: "refused"})
    return rows.assign(judge_kind="human", dimension=dimension, sample=1, status=status)


def test_gold_labels_are_written_by_id_whatever_case_or_alias(tmp_path, study):
    path = tmp_path / "labels.csv"
    path.write_text(LABEL_CSV + "a,joke_type,Absurdism\na,line_1, Establishing Context\na,line_12,reaction\n")
    notes: list[str] = []
    labels = read_labels(path, study, notes=notes)
    assert labels["label"].tolist() == ["surreal_absurdism", "establishing_context", "timing"]
    assert labels["raw"].tolist() == ["Absurdism", " Establishing Context", "reaction"]
    assert notes == []


def test_labels_that_were_read_before_keep_what_they_were(tmp_path, study):
    first = tmp_path / "labels.csv"
    first.write_text(LABEL_CSV + "a,joke_type,Self-Deprecating\na,line_1,reaction\n")
    labels = read_labels(first, study)
    labels.to_parquet(tmp_path / "labels.parquet")
    again = read_labels(tmp_path / "labels.parquet", study)
    assert again["raw"].tolist() == labels["raw"].tolist() == ["Self-Deprecating", "reaction"]
    assert again["label"].tolist() == ["self_deprecating", "timing"]


def test_a_gold_label_that_is_no_level_stays_and_is_reported(tmp_path, study):
    path = tmp_path / "labels.csv"
    path.write_text(LABEL_CSV + "a,joke_type,Slapstick\nb,joke_type,dark\nc,joke_type,Slapstick\n")
    notes: list[str] = []
    labels = read_labels(path, study, notes=notes)
    assert labels["label"].tolist() == ["Slapstick", "dark", "Slapstick"]
    (note,) = notes
    assert "2 gold labels are none of the study's" in note
    assert "joke_type 'Slapstick' (2)" in note


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            "a,joke_typ,dark\n",
            r"row 1 of column 'label_set' contains 'joke_typ' \(did you mean 'joke_type'\?\)",
        ),
        ("a,line_0,setup\n", "row 1 of column 'label_set' contains 'line_0'"),
        ("a,joke_type,dark\na,joke_type,dry\n", "repeats an earlier row"),
        ("a,joke_type,\n", "column 'label' is empty"),
    ],
)
def test_bad_gold_labels_are_refused_in_one_sentence(tmp_path, study, rows, told):
    path = tmp_path / "labels.csv"
    path.write_text(LABEL_CSV + rows)
    with pytest.raises(InputError, match=told) as caught:
        read_labels(path, study)
    assert "\n" not in str(caught.value)


def test_labels_come_from_columns_of_items_and_of_lines(study):
    items = pd.DataFrame({"item_id": ["a", "b"], "kind": ["Dark", None]})
    lines = pd.DataFrame({"item_id": ["b", "b"], "line_no": [1, 2], "purpose": ["set-up", ""]})
    notes: list[str] = []
    labels = labels_from_columns(
        items, study, {"joke_type": "kind", "line": "purpose"}, lines=lines, notes=notes
    )
    assert labels[["item_id", "label_set", "label", "raw"]].to_numpy().tolist() == [
        ["a", "joke_type", "dark", "Dark"],
        ["b", "line_1", "setup", "set-up"],
        ["b", "line_2", "", ""],
    ]
    assert "line '' (1)" in notes[0]


def test_columns_of_gold_labels_have_to_be_there(study):
    items = pd.DataFrame({"item_id": ["a"], "kind": ["Dark"]})
    with pytest.raises(InputError, match=r"column 'kid' is missing \(did you mean 'kind'\?\)"):
        labels_from_columns(items, study, {"joke_type": "kid"})
    with pytest.raises(InputError, match="column 'line' is missing"):
        labels_from_columns(items, study, {"line": "kind"})
    with pytest.raises(InputError, match="has no labels 'harm'; name one of joke_type, line"):
        labels_from_columns(items, study, {"harm": "kind"})


def test_the_label_of_most_people_is_gold_and_ties_are_shown():
    given = [("p", "x", "safe"), ("q", "x", "safe"), ("r", "x", "implicit")]
    given += [("p", "y", "safe"), ("q", "y", "explicit"), ("p", "z", None)]
    gold = majority_labels(votes(*given), "harm")
    assert gold["item_id"].tolist() == ["x", "y", "z"]
    assert gold["label"].fillna("none").tolist() == ["safe", "none", "none"]
    assert gold["n_votes"].tolist() == [3, 2, 0]
    assert gold["tied"].tolist() == [False, True, False]
    assert gold["share"].round(4).fillna(-1).tolist() == [0.6667, 0.5, -1]
    assert set(gold["label_set"]) == {"harm"}


@pytest.mark.parametrize(
    ("said", "label", "share", "tied"),
    [
        ((3, 2, 2), "implicit", 4 / 7, (False, True)),
        ((3, 1, 3), "explicit", 4 / 7, (False, False)),
        ((4, 3, 0), "safe", 4 / 7, (False, False)),
        ((3, 2, 1), None, 1 / 2, (True, False)),
    ],
)
def test_the_class_of_more_than_half_decides_before_its_labels(said, label, share, tied):
    names = [name for name, n in zip(("safe", "implicit", "explicit"), said, strict=True) for _ in range(n)]
    table = votes(*((f"p{place}", "x", name) for place, name in enumerate(names)))
    covers = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}
    [gold] = majority_labels(table, "harm", covers=covers).to_dict("records")
    assert (gold["label"] if label else pd.isna(gold["label"])) == (label or True)
    assert gold["share"] == pytest.approx(share)
    assert (gold["tied"], gold["level_tied"]) == tied


def test_most_votes_are_no_majority_and_are_counted():
    given = [(f"p{place}", "x", name) for place, name in enumerate(["a", "a", "b", "c", "d"])]
    gold = majority_labels(votes(*given, ("p", "y", "a"), ("q", "y", "b"), ("p", "z", "a")), "harm")
    assert gold["label"].fillna("none").tolist() == ["none", "none", "a"]
    assert gold["tied"].tolist() == [False, True, False]
    [note] = notes_of_majority(gold)
    assert note.startswith("2 of 3 items have no label of more than half of the votes")
    assert "1 have a tied vote, 1 a label with most votes" in note


def test_a_person_votes_once_an_item_and_models_do_not():
    table = votes(("p", "x", "safe"), ("p", "x", "explicit"), ("q", "x", "explicit"), ("m", "x", "safe"))
    table["sample"] = [1, 2, 1, 1]
    table.loc[3, "judge_kind"] = "model"
    assert majority_labels(table, "harm").loc[0, ["n_votes", "tied"]].tolist() == [2, True]


def test_the_order_of_judgments_changes_no_majority():
    table = votes(*((f"p{n}", f"x{n % 4}", "ab"[n % 3 % 2]) for n in range(40)))
    shuffled = table.sample(frac=1, random_state=1)
    one, two = (majority_labels(rows, "harm").sort_values("item_id") for rows in (table, shuffled))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), two.reset_index(drop=True))


def test_a_dimension_that_nobody_labelled_is_refused():
    with pytest.raises(InputError, match=r"no person labelled 'ham' \(did you mean 'harm'\?\)"):
        majority_labels(votes(("p", "x", "safe")), "ham")
