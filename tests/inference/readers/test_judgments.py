"""Judgments of any file, gold labels and labels of most people; what does not fit is refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.readers.judged.gold_labels import (
    labels_from_columns,
    majority_labels,
    notes_of_majority,
    read_labels,
)
from conjury.inference.readers.judgments import load_judgments, stack_judgments
from conjury.inference.study import load_any_study
from conjury.inference.tables.reading import ReadingRules

ROWS = pd.DataFrame(
    {
        "judge_id": ["ann", "bob", "gpt"],
        "judge_kind": ["human", "human", "model"],
        "item_id": "joke",
        "value": [3, None, 2],
        "task": ["a", "a", "b"],
    }
)


@pytest.fixture(scope="module")
def study():
    return load_any_study("multiturn")


def written(folder: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(folder / "judgments.csv", index=False)
    return folder / "judgments.csv"


BATCH = "HITId,WorkerId,AssignmentStatus,Input.item,Answer.wit\n" + "".join(
    f"h{item},{person},{'Rejected' if item == 1 else 'Approved'},j{item},{item}\n"
    for person in ("ann", "bob")
    for item in (1, 2, 3)
)


@pytest.mark.parametrize(
    ("name", "content", "rules"),
    [
        ("batch.xlsx", lambda file: pd.read_csv(file).to_excel, {}),
        ("batch.arrow", lambda file: pd.read_csv(file).to_feather, {}),
        ("batch.csv", lambda file: f"sep=;\n{BATCH.replace(',', ';')}", {}),
        ("batch.csv", lambda file: f"Batch of May\n\n{BATCH}", {}),
        ("batch.csv", lambda file: f"Batch, of, May\n{BATCH}", {"header_row": 2}),
        ("batch.csv", lambda file: BATCH.replace(",", "~"), {"delimiter": "~"}),
        ("batch.csv", lambda file: BATCH.encode("utf-16-le"), {}),
    ],
)
def test_a_program_is_recognised_however_its_table_is_written(tmp_path, name, content, rules):
    plain = tmp_path / "plain.csv"
    plain.write_text(BATCH, encoding="utf-8")
    expected = load_judgments(plain)
    assert len(expected) == 6
    assert expected["excluded"].notna().sum() == 2
    form = content(plain)
    if callable(form):
        form(tmp_path / name, **({"index": False} if name.endswith("xlsx") else {}))
    else:
        (tmp_path / name).write_bytes(form if isinstance(form, bytes) else form.encode())
    judgments = load_judgments(tmp_path / name, rules=ReadingRules(**rules))
    pd.testing.assert_frame_equal(judgments, expected)


# --- judgments ------------------------------------------------------------------------------------


def test_columns_are_filled_in_and_renamed_rows_are_chosen_and_files_stacked(tmp_path):
    one = load_judgments(written(tmp_path, ROWS))
    filled = one[["sample", "status", "dimension"]].astype(object).to_numpy().tolist()
    assert filled == [[1, "ok", "rating"], [1, "missing", "rating"], [1, "ok", "rating"]]
    assert len(stack_judgments({"a.csv": one, "b.csv": one.assign(judge_id=["cy", "dee", "claude"])})) == 6
    with pytest.raises(InputError, match=r"a\.csv and b\.csv: row 4 .* repeats an earlier row"):
        stack_judgments({"a.csv": one, "b.csv": one})
    stars = written(tmp_path, ROWS.rename(columns={"value": "stars"}))
    made = load_judgments(stars, renames={"stars": "value"}, rules=ReadingRules(where={"task": "a"}))
    assert made["judge_id"].tolist() == ["ann", "bob"]


FRAMES = {
    "rows": ROWS,
    "empty kinds": ROWS.assign(judge_kind=None),
    "no kinds": ROWS.drop(columns="judge_kind"),
    "raters": pd.DataFrame({"rater": ["ann"], "item_id": "a", "rating": 1}),
    "lists": pd.DataFrame({"rater": ["ann", "bob"] * 2, "item_id": [*"aabb"], "rating": ['{"v": 1}'] * 4}),
    "unnamed": pd.DataFrame({"judge_id": ["ann", "made-up-gpt-9"], "item_id": "a", "value": [1, 2]}),
}


def test_judges_that_the_study_names_as_models_are_models_and_all_others_people(tmp_path, study):
    frame = ROWS.drop(columns="judge_kind").assign(judge_id=["ann", "bob", "qwen3_8b"])
    notes: list[str] = []
    made = load_judgments(written(tmp_path, frame), study=study, notes=notes)
    assert made["judge_kind"].tolist() == ["human", "human", "model"]
    assert notes[0].startswith("judgments.csv has no judge_kind: 2 judges that the study does not name")


def test_values_that_are_renamed_have_their_new_names_in_a_study_too(tmp_path, study):
    frame = ROWS.assign(value=["funny", "odd", "wordplay"], dimension="joke_type")
    for options in ({}, {"study": study}):
        rules = ReadingRules(relabel={"funny": "wordplay", "odd": "irony"})
        made = load_judgments(written(tmp_path, frame), rules=rules, **options)
        assert made["value"].tolist() == ["wordplay", "irony", "wordplay"]


@pytest.mark.parametrize(("frame", "options", "sentence"), cases(__file__, "unfit"))
def test_what_does_not_fit_is_refused(tmp_path, frame, options, sentence):
    named = {"study": load_any_study(options["study"])} if "study" in options else {}
    rules = ReadingRules(where=options.pop("where", {}))
    with pytest.raises(InputError, match=sentence):
        load_judgments(written(tmp_path, FRAMES[frame]), rules=rules, **options | named)


# --- gold labels ----------------------------------------------------------------------------------


@pytest.fixture
def gold(tmp_path, study):
    """Read gold labels from the rows of a CSV file."""

    def read(*rows: str, notes: list[str] | None = None) -> pd.DataFrame:
        path = tmp_path / "labels.csv"
        path.write_text("\n".join(["item_id,label_set,label", *rows, ""]))
        return read_labels(path, study, notes=notes)

    return read


def test_gold_labels_are_written_by_id_whatever_case_or_alias_and_keep_what_they_were(gold, tmp_path, study):
    notes: list[str] = []
    labels = gold(
        "a,joke_type,**Absurdism**.", "a,line_1, Establishing Context", "a,line_12,reaction", notes=notes
    )
    assert labels["label"].tolist() == ["surreal_absurdism", "establishing_context", "timing"]
    assert labels["raw"].tolist() == ["**Absurdism**.", " Establishing Context", "reaction"]
    assert notes == []
    labels.to_parquet(tmp_path / "labels.parquet")
    again = read_labels(tmp_path / "labels.parquet", study)
    assert again[["label", "raw"]].to_numpy().tolist() == labels[["label", "raw"]].to_numpy().tolist()


def test_a_gold_label_that_is_no_level_stays_and_is_reported(gold):
    notes: list[str] = []
    labels = gold("a,joke_type,Slapstick", "b,joke_type,dark", "c,joke_type,Slapstick", notes=notes)
    assert labels["label"].tolist() == ["Slapstick", "dark", "Slapstick"]
    (note,) = notes
    assert "2 gold labels are none of the study's" in note
    assert "joke_type 'Slapstick' (2)" in note


@pytest.mark.parametrize(("rows", "told"), cases(__file__, "bad_labels"))
def test_bad_gold_labels_are_refused_in_one_sentence(gold, rows, told):
    with pytest.raises(InputError, match=told) as caught:
        gold(*rows)
    assert "\n" not in str(caught.value)


def test_labels_come_from_columns_of_items_and_of_lines(study):
    items = pd.DataFrame({"item_id": ["a", "b"], "kind": ["Dark", None]})
    lines = pd.DataFrame({"item_id": ["b", "b"], "line_no": [1, 2], "purpose": ["set-up", ""]})
    notes: list[str] = []
    columns = {"joke_type": "kind", "line": "purpose"}
    labels = labels_from_columns(items, study, columns, lines=lines, notes=notes)
    assert labels[["item_id", "label_set", "label", "raw"]].to_numpy().tolist() == [
        ["a", "joke_type", "dark", "Dark"],
        ["b", "line_1", "setup", "set-up"],
        ["b", "line_2", "", ""],
    ]
    assert "line '' (1)" in notes[0]
    for wrong, problem in (
        ({"joke_type": "kid"}, r"column 'kid' is missing \(did you mean 'kind'\?\)"),
        ({"line": "kind"}, "column 'line' is missing"),
        ({"harm": "kind"}, "has no labels 'harm'; name one of joke_type, line"),
    ):
        with pytest.raises(InputError, match=problem):
            labels_from_columns(items, study, wrong)


# --- labels of most people ------------------------------------------------------------------------


def votes(**given: str) -> pd.DataFrame:
    """Judgments of the people p0, p1, ...; a letter per label, and - for a refusal."""
    rows = [
        (f"p{place}", item, None if label == "-" else label)
        for item, labels in given.items()
        for place, label in enumerate(labels)
    ]
    frame = pd.DataFrame(rows, columns=["judge_id", "item_id", "value"])
    status = frame["value"].notna().map({True: "ok", False: "refused"})
    return frame.assign(judge_kind="human", dimension="harm", sample=1, status=status)


def test_the_label_of_more_than_half_is_gold_and_ties_are_counted():
    gold = majority_labels(votes(x="ssi", y="se", z="-", w="aabcd"), "harm")
    assert gold["item_id"].tolist() == ["x", "y", "z", "w"]
    assert gold["label"].fillna("none").tolist() == ["s", "none", "none", "none"]
    assert gold["n_votes"].tolist() == [3, 2, 0, 5]
    assert gold["tied"].tolist() == [False, True, False, False]
    assert gold["share"].round(4).fillna(-1).tolist() == [0.6667, 0.5, -1, 0.4]
    assert set(gold["label_set"]) == {"harm"}
    assert notes_of_majority(majority_labels(votes(z="a"), "harm")) == []
    [note] = notes_of_majority(majority_labels(votes(w="aabcd", y="ab", z="a"), "harm"))
    assert note.startswith("2 of 3 items have no label of more than half of the votes")
    assert "1 have a tied vote, 1 a label with most votes" in note
    with pytest.raises(InputError, match=r"no person labelled 'ham' \(did you mean 'harm'\?\)"):
        majority_labels(votes(x="s"), "ham")


@pytest.mark.parametrize(("given", "label", "share", "tied"), cases(__file__, "covered"))
def test_the_class_of_more_than_half_decides_before_its_labels(given, label, share, tied):
    covers = {"harmful": ["i", "e"], "safe": ["s"]}
    [gold] = majority_labels(votes(x=given), "harm", covers=covers).to_dict("records")
    assert (gold["label"] if label else pd.isna(gold["label"])) == (label or True)
    assert gold["share"] == pytest.approx(share)
    assert (gold["tied"], gold["level_tied"]) == tuple(tied)
    notes = notes_of_majority(majority_labels(votes(x=given, y="sss"), "harm", covers=covers))
    assert any(note.startswith("1 of 2 items have a majority for a class") for note in notes) == tied[1]


def test_a_person_has_one_vote_per_item_models_have_none_and_order_does_not_matter():
    table = votes(x="seem").assign(judge_id=["p", "p", "q", "m"], sample=[1, 2, 1, 1])
    table.loc[3, "judge_kind"] = "model"
    assert majority_labels(table, "harm").loc[0, ["n_votes", "tied"]].tolist() == [2, True]
    table = votes(**{f"x{n}": "abbabaabba"[n:] for n in range(4)})
    shuffled = table.sample(frac=1, random_state=1)
    one, two = (majority_labels(rows, "harm").sort_values("item_id") for rows in (table, shuffled))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), two.reset_index(drop=True))
