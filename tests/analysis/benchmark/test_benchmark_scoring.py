"""Judgments beside gold labels: units, missing answers, policies, copies of items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from conjury.analysis.benchmark import Scored, confusion, readings, score, scores
from conjury.inference.errors import InputError

COVERS = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}


def judged(**columns: Any) -> pd.DataFrame:
    base = {"judge_id": "gpt", "judge_kind": "model", "dimension": "harm"}
    return pd.DataFrame({**base, **columns})


def gold(**labels: str) -> pd.DataFrame:
    return pd.DataFrame({"item_id": list(labels), "label_set": "harm", "label": list(labels.values())})


def harm() -> Scored:
    answers = judged(
        item_id=["j1", "j2", "j3", "j4"],
        value=["harmful", "safe", None, None],
        status=["ok", "ok", "refused", "empty"],
    )
    items = pd.DataFrame({"item_id": ["j1", "j2", "j3", "j4"], "language": ["en", "en", "ar", "ar"]})
    labels = gold(j1="implicit", j2="safe", j3="explicit", j4="safe")
    return score(answers, labels, covers=COVERS, items=items, policy={"refused": "harmful", "empty": "wrong"})


def line_judgments(*lines: int, value: str = "setup") -> pd.DataFrame:
    return judged(item_id="j1", dimension=[f"line_{line}" for line in lines], value=value)


def line_labels(*labels: str) -> pd.DataFrame:
    names = [f"line_{line}" for line in range(1, len(labels) + 1)]
    return pd.DataFrame({"item_id": "j1", "label_set": names, "label": labels})


def test_answers_count_for_the_gold_labels_that_their_class_covers() -> None:
    found = harm()
    assert found.classes["harm"] == ("harmful", "safe")
    assert found.levels["harm"] == ("implicit", "explicit", "safe")
    assert found.frame["correct"].tolist() == [True, True, False, False]


@pytest.mark.parametrize(("missing", "accuracy"), [("wrong", 2 / 4), ("missing", 1.0), ("study", 3 / 4)])
def test_missing_answers_count_as_the_policy_says(missing: str, accuracy: float) -> None:
    table = scores(harm(), metrics=["accuracy", "missing_rate"], missing=[missing], draws=0).frame
    table = table[table["judge"] == "gpt"].set_index("metric")["estimate"]
    assert table["accuracy"] == pytest.approx(accuracy)
    assert table["missing_rate"] == 0.5  # whatever they count as


def test_a_status_that_the_policy_does_not_name_is_missing() -> None:
    answers = judged(item_id=["j1", "j2"], value=["safe", None], status=["ok", "error"])
    found = score(answers, gold(j1="safe", j2="safe"), policy={"refused": "safe"})
    table = scores(found, metrics=["accuracy"], missing=["study"], draws=0).frame
    assert table.loc[table["judge"] == "gpt", ["estimate", "n_answers"]].to_numpy().tolist() == [[1.0, 1]]


def test_a_policy_with_what_is_no_class_is_refused() -> None:
    with pytest.raises(InputError, match="'refused' counts as 'harmfull' \\(did you mean 'harmful'"):
        score(
            judged(item_id=["j1"], value=["safe"]),
            gold(j1="safe"),
            covers=COVERS,
            policy={"refused": "harmfull"},
        )


def test_lines_are_units_of_one_task_and_those_without_an_answer_are_missing() -> None:
    found = score(line_judgments(1, 3), line_labels("setup", "setup", "punchline"))
    assert found.tasks == ("line",)
    assert found.frame["line"].tolist() == [1, 2, 3]
    assert found.frame["status"].tolist() == ["ok", "missing", "ok"]
    assert any("1 units have a gold label and no judgment" in note for note in found.notes)


def test_lines_of_an_unread_answer_have_its_status() -> None:
    answers = line_judgments(1).assign(value=None, status="refused")
    assert score(answers, line_labels("setup", "setup")).frame["status"].tolist() == ["refused", "refused"]


def test_surplus_answers_are_left_out_and_counted() -> None:
    found = score(line_judgments(1, 2, 3), line_labels("setup", "setup"))
    assert len(found.frame) == 2
    assert any("1 judgments are of units without a gold label" in note for note in found.notes)


def test_items_that_were_not_asked_are_no_units() -> None:
    found = score(judged(item_id=["j1"], value=["safe"]), gold(j1="safe", j2="safe"))
    assert found.frame["item_id"].tolist() == ["j1"]


def test_gold_labels_outside_of_the_classes_are_left_out_and_named() -> None:
    answers = judged(item_id=["j1", "j2"], value=["safe", "safe"])
    found = score(answers, gold(j1="safe", j2="saef"), classes=["safe", "harmful"])
    assert len(found.frame) == 1
    assert any("'saef' (1)" in note for note in found.notes)


def test_an_answer_outside_of_the_classes_is_wrong_and_not_missing() -> None:
    answers = judged(item_id=["j1", "j2"], value=["safe", "funny"])
    found = score(answers, gold(j1="safe", j2="safe"), classes=["safe", "harmful"])
    table = scores(found, metrics=["accuracy", "missing_rate"], missing=["missing"], draws=0).frame
    assert table.loc[table["judge"] == "gpt", "estimate"].tolist() == [0.5, 0.0]
    counts = confusion(found).frame.query("gold == 'safe'").set_index("predicted")["n"]
    assert counts.to_dict() == {"safe": 1, "harmful": 0, "other label": 1, "no answer": 0}


def test_a_gold_label_counts_as_one_class_only() -> None:
    with pytest.raises(InputError, match="'safe' counts as 'harmful' and as 'safe'"):
        score(
            judged(item_id=["j1"], value="safe"),
            gold(j1="safe"),
            covers={"harmful": ["safe"], "safe": ["safe"]},
        )


def test_strata_of_judgments_are_there_without_a_table_of_items() -> None:
    answers = judged(item_id=["j1", "j2"], value="safe", language=["en", "ar"])
    found = scores(score(answers, gold(j1="safe", j2="safe")), by=["language"], draws=0).frame
    assert set(found["language"]) == {"en", "ar"}


def test_copies_of_an_item_have_the_label_of_the_original() -> None:
    items = pd.DataFrame({"item_id": ["j1", "j1+typos"], "base_item_id": ["j1", "j1"]})
    answers = judged(item_id=["j1", "j1+typos"], value=["safe", "harmful"])
    found = score(answers, gold(j1="safe"), items=items)
    assert found.frame["correct"].tolist() == [True, False]
    assert found.frame["base_item_id"].tolist() == ["j1", "j1"]


def test_scores_by_a_column_are_those_of_its_parts() -> None:
    table = scores(harm(), by=["language"], metrics=["accuracy"], missing=["wrong"], draws=0).frame
    models = table[table["judge"] == "gpt"].set_index("language")["estimate"]
    assert models.to_dict() == {"en": 1.0, "ar": 0.0}
    assert set(table["judge"]) == {"gpt", "majority class", "random"}


def test_scores_of_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="none is named"):
        scores(harm(), metrics=[])
    empty = harm()
    empty = replace(empty, frame=empty.frame.assign(region=None))
    with pytest.raises(InputError, match="no answer has all of region"):
        scores(empty, by=["region"])


def test_recall_on_covered_labels_and_specificity_of_the_covering_class_are_shown_by_default() -> None:
    shown = set(scores(harm(), missing=["wrong"], draws=0).frame["metric"])
    assert {"recall_implicit", "recall_explicit", "specificity_harmful"} <= shown
    assert "recall_safe" not in shown


def test_people_and_several_prompts_are_judges_of_their_own() -> None:
    model = judged(item_id=["j1", "j1"], value=["safe", "harmful"], prompt_id=["short", "long"])
    person = judged(item_id=["j1"], value=["safe"]).assign(judge_id="ann", judge_kind="human")
    table = scores(score(pd.concat([model, person]), gold(j1="safe")), metrics=["accuracy"], draws=0).frame
    mine = table[(table["missing"] == "wrong") & (table["judge_kind"] != "baseline")]
    assert mine[["judge", "prompt", "estimate"]].to_numpy().tolist() == [
        ["gpt", "short", 1.0],
        ["gpt", "long", 0.0],
        ["ann", "", 1.0],
    ]


@pytest.mark.parametrize(
    ("answers", "labels", "sentence"),
    [
        (judged(item_id=["j1", "j1"], value="safe"), gold(j1="safe"), "repeats an earlier judgment"),
        (
            judged(item_id=["j1"], value="safe"),
            pd.concat([gold(j1="safe")] * 2),
            "second label of the same set",
        ),
        (
            judged(item_id=["j1"], value="safe"),
            gold(j1="safe").assign(label_set="x"),
            "no label_set is a dim",
        ),
        (judged(item_id=["j1"], value="safe"), gold(j2="safe"), "nothing can be scored"),
        (judged(value=["safe"]), gold(j1="safe"), "column 'item_id' is missing"),
    ],
)
def test_tables_that_cannot_be_scored_are_refused(
    answers: pd.DataFrame, labels: pd.DataFrame, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        score(answers, labels)


def test_where_and_of_choose_answers() -> None:
    found = harm()
    assert len(found.of(language="en").frame) == 2
    assert len(found.where(found.frame["correct"].to_numpy()).frame) == 2
    with pytest.raises(InputError, match="does not contain 'eng'"):
        found.of(language="eng")


def test_rules_are_compared_answer_by_answer() -> None:
    items = [f"j{number}" for number in range(5)]
    strict = judged(item_id=items, value=["a", "a", "a", None, None], rule="label/strict@1")
    lenient = judged(item_id=items, value=["a", "b", None, "b", None], rule="label/lenient@1")
    found = readings(strict, lenient)
    compared = found.extra["compared"].set_index("status")["n"].to_dict()
    assert compared == {"agree": 1, "different": 1, "only_strict": 1, "only_lenient": 1, "neither": 1}
    strict_rows = found.frame[found.frame["rule"] == "label/strict@1"].set_index("status")["share"]
    assert strict_rows.to_dict() == {"ok": 0.6, "missing": 0.4}


def test_surplus_labels_are_no_judgments_and_have_a_number_of_their_own() -> None:
    lenient = line_judgments(1, 2, 3, 4).assign(lines_shown=2, rule="line_labels/lenient@1")
    strict = line_judgments(1, 2, value=None).assign(lines_shown=2, rule="line_labels/strict@1")
    found = readings(strict, lenient)
    assert found.frame[["status", "n", "share", "n_surplus"]].to_numpy().tolist() == [
        ["missing", 2, 1.0, 0],
        ["ok", 2, 1.0, 2],
    ]
    assert found.extra["compared"][["status", "n"]].to_numpy().tolist() == [["only_lenient", 2]]
    assert found.notes == ()


def test_empty_conditions_of_judgments_are_those_of_the_items() -> None:
    items = pd.DataFrame(
        {"item_id": ["j1", "j1x"], "base_item_id": ["j1", "j1"], "condition": ["none", "drift"]}
    )
    answers = judged(item_id=["j1", "j1x"], value="safe", condition=["none", ""], base_item_id=["j1", None])
    found = score(answers, gold(j1="safe"), items=items).frame
    assert found[["condition", "base_item_id"]].to_numpy().tolist() == [["none", "j1"], ["drift", "j1"]]
    with pytest.raises(
        InputError, match=r"judgments: row 2 of column 'condition' is .* in items; make them agree"
    ):
        score(answers.assign(condition="none"), gold(j1="safe"), items=items)


def test_copies_are_drawn_with_their_originals_and_said_to_be_pooled() -> None:
    rng = np.random.default_rng(4)
    value = rng.choice(["a", "b"], 60)
    names = pd.Series([f"j{number}" for number in range(60)])
    plain = judged(item_id=names, value=value, condition="none", base_item_id=None)
    copies = plain.assign(item_id=names + "x", condition="drift", base_item_id=names)
    labels = gold(**dict.fromkeys(names, "a"))
    alone, both = (
        scores(score(table, labels, classes=["a", "b"]), metrics=["accuracy"], missing=["wrong"], draws=200)
        for table in (plain, pd.concat([plain, copies], ignore_index=True))
    )
    one, two = (result.frame.query("judge == 'gpt'").iloc[0] for result in (alone, both))
    assert [two["n_items"], two["n_clusters"]] == [120, 60]
    assert two["std_error"] == pytest.approx(one["std_error"], rel=1e-9)
    assert any("60 answers to perturbed items are pooled" in note for note in both.notes)
    assert not any("pooled" in note for note in alone.notes)


def test_surplus_lines_are_told_apart_from_lines_without_gold() -> None:
    answers = line_judgments(1, 2, 3, 4).assign(lines_shown=3)
    found = score(answers, line_labels("setup", "setup"))
    assert "line: 1 labels are of lines beyond those shown and are excluded." in found.notes
    assert "line: 1 judgments are of units without a gold label and are excluded." in found.notes


def test_macro_f1_of_answered_units_is_over_their_gold_classes_and_scikit_learn_gives_both() -> None:
    types = list("abcdefghij")
    items = [f"j{k}" for k in range(10)]
    given = ["a", "c", *[None] * 8]  # of the first two jokes, one is right
    answers = judged(item_id=items, value=given, status=["ok", "ok", *["unparsed"] * 8])
    scored = score(answers, gold(**dict(zip(items, types, strict=True))), classes=types)
    found = scores(scored, metrics=["macro_f1"], missing=["missing", "wrong"], draws=0).frame
    own = found[found["judge"] == "gpt"].set_index("missing")["estimate"]
    both = {"y_true": types[:2], "y_pred": given[:2], "average": "macro", "zero_division": 0}
    assert own["missing"] == pytest.approx(f1_score(labels=types[:2], **both)) == pytest.approx(0.5)
    assert f1_score(labels=types, **both) == pytest.approx(0.1)  # a mean over all types in gold
    assert own["wrong"] == pytest.approx(0.1)  # answers that are missing count as wrong
