"""Judgments compared with gold labels: units, missing answers, policies, copies of items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.labels import answers_to, gold_of, noted
from sklearn.metrics import f1_score

from conjury.analysis.benchmark import Scored, confusion, readings, score, scores
from conjury.inference.errors import InputError

COVERS = {"harmful": ["implicit", "explicit"], "safe": ["safe"]}


def judged(*items: str, value: Any = "safe", **columns: Any) -> pd.DataFrame:
    return answers_to(items, value, **columns)


def gold(**labels: str) -> pd.DataFrame:
    return gold_of([*labels], [*labels.values()])


def harm() -> Scored:
    items = ["j1", "j2", "j3", "j4"]
    answers = judged(*items, value=["harmful", "safe", None, None], status=["ok", "ok", "refused", "empty"])
    labels = gold(j1="implicit", j2="safe", j3="explicit", j4="safe")
    strata = pd.DataFrame({"item_id": items, "language": ["en", "en", "ar", "ar"]})
    policy = {"refused": "harmful", "empty": "wrong"}
    return score(answers, labels, covers=COVERS, items=strata, policy=policy)


def of_gpt(scored: Scored, *metrics: str, missing: str = "wrong", **options: Any) -> pd.DataFrame:
    """Scores of the judge gpt without draws, by metric."""
    chosen = {"metrics": list(metrics) or ["accuracy"], "missing": [missing], "draws": 0, **options}
    table = scores(scored, **chosen).frame
    return table[table["judge"] == "gpt"].set_index("metric")


def line_judgments(*lines: int, value: str | None = "setup", **columns: Any) -> pd.DataFrame:
    names = [f"line_{line}" for line in lines]
    return judged(*["j1"] * len(lines), value=value, **{**columns, "dimension": names})


def line_labels(*labels: str) -> pd.DataFrame:
    return gold_of(["j1"] * len(labels), labels, [f"line_{line + 1}" for line in range(len(labels))])


def test_answers_count_for_the_gold_labels_that_their_class_covers() -> None:
    found = harm()
    assert found.classes["harm"] == ("harmful", "safe")
    assert found.levels["harm"] == ("implicit", "explicit", "safe")
    assert found.frame["correct"].tolist() == [True, True, False, False]
    assert len(found.of(language="en").frame) == 2
    assert len(found.where(found.frame["correct"].to_numpy()).frame) == 2
    table = scores(found, by=["language"], metrics=["accuracy"], missing=["wrong"], draws=0).frame
    models = table[table["judge"] == "gpt"].set_index("language")["estimate"]
    assert models.to_dict() == {"en": 1.0, "ar": 0.0}
    assert set(table["judge"]) == {"gpt", "majority class", "random"}
    shown = set(scores(found, missing=["wrong"], draws=0).frame["metric"])
    assert {"recall_implicit", "recall_explicit", "specificity_harmful"} <= shown
    assert "recall_safe" not in shown


@pytest.mark.parametrize(("missing", "accuracy"), [("wrong", 2 / 4), ("missing", 1.0), ("study", 3 / 4)])
def test_missing_answers_count_as_the_policy_says(missing: str, accuracy: float) -> None:
    table = of_gpt(harm(), "accuracy", "missing_rate", missing=missing)["estimate"]
    assert table["accuracy"] == pytest.approx(accuracy)
    assert table["missing_rate"] == 0.5  # whatever they count as


def test_lines_are_units_of_one_task_and_missing_ones_have_the_status_of_the_answer() -> None:
    found = score(line_judgments(1, 3), line_labels("setup", "setup", "punchline"))
    assert found.tasks == ("line",)
    assert found.frame["line"].tolist() == [1, 2, 3]
    assert found.frame["status"].tolist() == ["ok", "missing", "ok"]
    assert noted(found, "1 units have a gold label and no judgment")
    refused = line_judgments(1, value=None, status="refused")
    assert score(refused, line_labels("setup", "setup")).frame["status"].tolist() == ["refused", "refused"]


def test_surplus_answers_and_items_that_were_not_asked_are_no_units() -> None:
    found = score(line_judgments(1, 2, 3), line_labels("setup", "setup"))
    assert len(found.frame) == 2
    assert noted(found, "1 judgments are of units without a gold label")
    found = score(line_judgments(1, 2, 3, 4, lines_shown=3), line_labels("setup", "setup"))
    assert "line: 1 labels are of lines beyond those shown and are excluded." in found.notes
    assert "line: 1 judgments are of units without a gold label and are excluded." in found.notes
    assert score(judged("j1"), gold(j1="safe", j2="safe")).frame["item_id"].tolist() == ["j1"]


def test_gold_labels_outside_of_the_classes_are_excluded_and_such_answers_are_wrong_and_not_missing() -> None:
    classes = ["safe", "harmful"]
    found = score(judged("j1", "j2"), gold(j1="safe", j2="saef"), classes=classes)
    assert len(found.frame) == 1
    assert noted(found, "'saef' (1)")
    found = score(judged("j1", "j2", value=["safe", "funny"]), gold(j1="safe", j2="safe"), classes=classes)
    assert of_gpt(found, "accuracy", "missing_rate", missing="missing")["estimate"].tolist() == [0.5, 0.0]
    counts = confusion(found).frame.query("gold == 'safe'").set_index("predicted")["n"]
    assert counts.to_dict() == {"safe": 1, "harmful": 0, "other label": 1, "no answer": 0}


def test_strata_of_judgments_need_no_table_of_items() -> None:
    answers = judged("j1", "j2", language=["en", "ar"])
    found = scores(score(answers, gold(j1="safe", j2="safe")), by=["language"], draws=0).frame
    assert set(found["language"]) == {"en", "ar"}


def test_copies_have_the_label_of_the_original_and_empty_conditions_are_those_of_the_items() -> None:
    copies = pd.DataFrame({"item_id": ["j1", "j1x"], "base_item_id": "j1"})
    found = score(judged("j1", "j1x", value=["safe", "harmful"]), gold(j1="safe"), items=copies)
    assert found.frame["correct"].tolist() == [True, False]
    assert found.frame["base_item_id"].tolist() == ["j1", "j1"]
    items = copies.assign(condition=["none", "drift"])
    answers = judged("j1", "j1x", condition=["none", ""], base_item_id=["j1", None])
    frame = score(answers, gold(j1="safe"), items=items).frame
    assert frame[["condition", "base_item_id"]].to_numpy().tolist() == [["none", "j1"], ["drift", "j1"]]
    contrary = r"judgments: row 2 of column 'condition' is .* in items; make them agree"
    with pytest.raises(InputError, match=contrary):
        score(answers.assign(condition="none"), gold(j1="safe"), items=items)


def test_people_and_several_prompts_are_judges_of_their_own() -> None:
    model = judged("j1", "j1", value=["safe", "harmful"], prompt_id=["short", "long"])
    person = judged("j1").assign(judge_id="ann", judge_kind="human")
    table = scores(score(pd.concat([model, person]), gold(j1="safe")), metrics=["accuracy"], draws=0).frame
    mine = table[(table["missing"] == "wrong") & (table["judge_kind"] != "baseline")]
    expected = [["gpt", "short", 1.0], ["gpt", "long", 0.0], ["ann", "", 1.0]]
    assert mine[["judge", "prompt", "estimate"]].to_numpy().tolist() == expected


SAFE = gold(j1="safe")


@pytest.mark.parametrize(
    ("answers", "labels", "options", "message"),
    [
        (judged("j1", "j1"), SAFE, {}, "repeats an earlier judgment"),
        (judged("j1"), pd.concat([SAFE] * 2), {}, "second label of the same set"),
        (judged("j1"), SAFE.assign(label_set="x"), {}, "no label_set is a dim"),
        (judged("j1"), gold(j2="safe"), {}, "nothing can be scored"),
        (judged("j1").drop(columns="item_id"), SAFE, {}, "column 'item_id' is missing"),
        (
            judged("j1"), SAFE, {"covers": COVERS, "policy": {"refused": "harmfull"}},
            r"'refused' counts as 'harmfull' \(did you mean 'harmful'",
        ),
        (
            judged("j1"), SAFE, {"covers": {"harmful": ["safe"], "safe": ["safe"]}},
            "'safe' counts as 'harmful' and as 'safe'",
        ),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_scored_are_refused(answers, labels, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(answers, labels, **options)


def test_strata_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="does not contain 'eng'"):
        harm().of(language="eng")


def test_rules_are_compared_answer_by_answer() -> None:
    items = [f"j{number}" for number in range(5)]
    strict = judged(*items, value=["a", "a", "a", None, None], rule="label/strict@1")
    lenient = judged(*items, value=["a", "b", None, "b", None], rule="label/lenient@1")
    found = readings(strict, lenient)
    compared = found.extra["compared"].set_index("status")["n"].to_dict()
    assert compared == {"agree": 1, "different": 1, "only_strict": 1, "only_lenient": 1, "neither": 1}
    strict_rows = found.frame[found.frame["rule"] == "label/strict@1"].set_index("status")["share"]
    assert strict_rows.to_dict() == {"ok": 0.6, "missing": 0.4}


def test_surplus_labels_are_no_judgments_and_have_a_count_of_their_own() -> None:
    lenient = line_judgments(1, 2, 3, 4, lines_shown=2, rule="line_labels/lenient@1")
    strict = line_judgments(1, 2, value=None, lines_shown=2, rule="line_labels/strict@1")
    found = readings(strict, lenient)
    rows = [["missing", 2, 1.0, 0], ["ok", 2, 1.0, 2]]
    assert found.frame[["status", "n", "share", "n_surplus"]].to_numpy().tolist() == rows
    assert found.extra["compared"][["status", "n"]].to_numpy().tolist() == [["only_lenient", 2]]
    assert found.notes == ()


def test_copies_are_drawn_with_their_originals_and_a_note_says_that_they_are_pooled() -> None:
    value = np.random.default_rng(4).choice(["a", "b"], 60)
    names = pd.Series([f"j{number}" for number in range(60)])
    plain = judged(*names, value=value, condition="none", base_item_id=None)
    copies = plain.assign(item_id=names + "x", condition="drift", base_item_id=names)
    labels = gold(**dict.fromkeys(names, "a"))
    alone, both = (
        scores(score(table, labels, classes=["a", "b"]), metrics=["accuracy"], missing=["wrong"], draws=200)
        for table in (plain, pd.concat([plain, copies], ignore_index=True))
    )
    one, two = (result.frame.query("judge == 'gpt'").iloc[0] for result in (alone, both))
    assert [two["n_items"], two["n_clusters"]] == [120, 60]
    assert two["std_error"] == pytest.approx(one["std_error"], rel=1e-9)
    assert noted(both, "60 answers to perturbed items are pooled")
    assert not noted(alone, "pooled")


def test_macro_f1_of_answered_units_is_over_their_gold_classes_as_in_scikit_learn() -> None:
    types, given = list("abcdefghij"), ["a", "c", *[None] * 8]  # of the first two jokes, one is right
    items = [f"j{k}" for k in range(10)]
    answers = judged(*items, value=given, status=["ok", "ok", *["unparsed"] * 8])
    scored = score(answers, gold(**dict(zip(items, types, strict=True))), classes=types)
    missing, wrong = (
        of_gpt(scored, "macro_f1", missing=name)["estimate"].item() for name in ("missing", "wrong")
    )
    both = {"y_true": types[:2], "y_pred": given[:2], "average": "macro", "zero_division": 0}
    assert missing == pytest.approx(f1_score(labels=types[:2], **both)) == pytest.approx(0.5)
    assert f1_score(labels=types, **both) == pytest.approx(0.1)  # a mean over all types in gold
    assert wrong == pytest.approx(0.1)  # answers that are missing count as wrong
