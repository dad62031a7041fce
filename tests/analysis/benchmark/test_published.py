"""Published numbers: the protocol on a few jokes counted by hand, and comparisons with ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import label_results as made
from made_up.labels import answers_to, gold_of

from conjury.analysis.audit import compare_harm, compare_multiturn, multiturn
from conjury.analysis.figures import draw
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def judged(values: dict[str, str | None], dimension: str = "joke_type", sample: int = 1) -> pd.DataFrame:
    frame = answers_to([*values], [*values.values()], sample=sample).assign(dimension=dimension)
    position = frame["item_id"].str[2:].astype(int)
    return frame.assign(language=frame["item_id"].str[:2], position=position)


def gold(values: dict[str, str], dimension: str = "joke_type") -> pd.DataFrame:
    return gold_of([*values], [*values.values()], dimension)


def of_lines(make, values: list[str]) -> pd.DataFrame:
    return pd.concat([make({"en1": value}, f"line_{line}") for line, value in enumerate(values, 1)])


def estimates(answers: pd.DataFrame, labels: pd.DataFrame, **options: object) -> dict:
    frame = multiturn.published_protocol(answers, labels, **{"k": [1], **options}).frame
    return frame.set_index(["set", "metric", "k"])["estimate"].to_dict()


def accuracy(answers: pd.DataFrame, labels: pd.DataFrame, **options: object) -> float:
    return estimates(answers, labels, **options)["en", "accuracy", 1]


THREE = judged({"en1": "dark", "en2": "dry", "en3": "witty"})


def test_every_answer_is_scored_on_the_next_joke_and_the_last_on_none() -> None:
    labels = gold({"en1": "witty", "en2": "dark", "en3": "dry"})
    assert accuracy(THREE, labels) == pytest.approx(2 / 3)
    assert accuracy(THREE, labels, shifted=False) == 0
    spanish = {"es1": "topical", "es2": "wordplay", "es3": "dark"}
    answers = {"en1": "dark", "en2": "dry", "en3": "witty", **spanish}
    late = ["aggressive", "dark", "dry", "witty", "aggressive", "topical"]
    right = estimates(judged(answers), gold(dict(zip(answers, late, strict=True))))
    assert right["full", "accuracy", 1] == pytest.approx(4 / 6)  # all but the two with an empty answer
    assert right["en", "accuracy", 1] == pytest.approx(2 / 3)
    assert right["es", "accuracy", 1] == 0  # there it is one joke late


def test_order_is_that_of_the_prompts_and_of_the_labels_without_positions() -> None:
    labels = gold({"en3": "aggressive", "en1": "witty", "en2": "dark"})
    assert accuracy(THREE, labels) == pytest.approx(1 / 3)  # dark is compared with en2
    without = accuracy(THREE.drop(columns="position"), labels)
    assert without == pytest.approx(2 / 3)  # en3, en1, en2: witty is compared with en1, too


def test_samples_are_pooled_for_f1_and_any_of_them_counts_for_accuracy() -> None:
    two = pd.concat([judged({"en1": "dark", "en2": "dark"}), judged({"en1": "dry", "en2": "dark"}, sample=2)])
    numbers = estimates(two, gold({"en1": "dark", "en2": "dark"}), k=[1, 2], shifted=False)
    assert numbers["en", "accuracy", 1] == numbers["en", "accuracy", 2] == 1
    assert numbers["en", "macro_f1", 1] == 1
    assert numbers["en", "macro_f1", 2] == pytest.approx((6 / 7 + 0) / 2)  # dark, and dry, never gold
    assert set(multiturn.published_protocol(judged({"en1": "dry"}), gold({"en1": "dry"})).frame["k"]) == {1}


def test_f1_is_a_mean_that_includes_strings_that_are_no_labels() -> None:
    answers = judged({"en1": "dark", "en2": None, "en3": "so funny"})
    labels = gold({"en1": "dark", "en2": "dark", "en3": "dark"})
    numbers = estimates(answers, labels, shifted=False)
    assert numbers["en", "macro_f1", 1] == pytest.approx((2 / (3 + 1) + 0 + 0) / 3)  # dark, "", "so funny"


def test_hard_labels_have_the_area_under_one_point() -> None:
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(8)
    truth, given = rng.integers(0, 3, 50), rng.integers(0, 4, (50, 2))
    pooled, answers = np.tile(truth, 2), given.T.ravel()
    each = [sk.roc_auc_score(pooled == code, answers == code) for code in range(3)]
    assert multiturn.hard_label_auc(truth, given) == pytest.approx(np.mean(each), abs=1e-12)
    theirs = sk.f1_score(pooled, answers, average="macro", labels=range(4), zero_division=0)
    assert multiturn.union_f1(truth, given) == pytest.approx(theirs, abs=1e-12)
    assert multiturn.accuracy_of_k(truth, given) == np.mean((given == truth[:, None]).any(axis=1))


@pytest.mark.parametrize(
    ("answers", "labels", "share", "n_units"),
    [
        # setup, and the blank label for which there is no answer
        (["Setup ", "punchline", "extra"], ["setup", "witty", "Punchline", ""], 2 / 4, 4),
        (["setup"], None, 1 / 3, 3),
    ],
)
def test_lines_are_scored_up_to_the_last_gold_label(answers, labels, share: float, n_units: int) -> None:
    truth = of_lines(gold, labels) if labels else gold({"en1": "setup"}, "line_3")
    frame = multiturn.published_protocol(of_lines(judged, answers), truth, k=[1], shifted=False).frame
    row = frame.loc[frame["metric"] == "accuracy"].iloc[0]
    assert (row["estimate"], row["n_units"]) == (share, n_units)


@pytest.mark.parametrize("task", ["joke_type", "line"])
def test_gold_labels_are_named_by_both_versions(task: str) -> None:
    rows = pd.read_csv(Path(__file__).parent / "gold_labels.csv", keep_default_na=False)
    rows = rows[rows["task"] == task]
    for version in (1, 2):
        found = [multiturn.gold_string(label, task, version) for label in rows["label"]]
        assert found == rows[f"v{version}"].tolist()


COPIES = answers_to(["en1_typo", "en2_typo"], ["dry", "dark"], base_item_id=["en1", "en2"], language="en")
COPIES["dimension"] = "joke_type"


@pytest.mark.parametrize("where", ["judgments", "items"])
def test_copies_have_the_gold_labels_of_their_originals(where: str) -> None:
    labels, answers, items = gold({"en1": "dry", "en2": "dark"}), COPIES, None
    if where == "items":
        items = COPIES[["item_id", "base_item_id", "language"]].assign(condition="orthographic")
        answers = COPIES.drop(columns=["base_item_id", "language"])
    frame = multiturn.published_protocol(answers, labels, items=items, shifted=False, k=[1]).frame
    assert frame.loc[frame["metric"] != "auc", "estimate"].tolist() == [1, 1]
    assert set(frame["n_units"]) == {2}
    assert set(frame["condition"]) == {"orthographic" if where == "items" else "none"}


def test_labels_of_a_copy_are_its_own_where_it_has_some() -> None:
    labels = gold({"en1": "dry", "en2": "dark", "en1_typo": "witty"})
    assert accuracy(COPIES, labels, shifted=False) == 0.5


def test_copies_are_put_in_the_order_of_their_originals_and_each_condition_is_shifted_by_itself() -> None:
    labels = gold({"en1": "witty", "en2": "dry", "en3": "dark"})
    copies = pd.concat([COPIES, COPIES.iloc[:1].assign(item_id="en3_typo", base_item_id="en3", value="dry")])
    plain = copies.assign(item_id=copies["base_item_id"], value=["dark", "dark", "dark"], condition="none")
    both = pd.concat([copies.iloc[::-1].assign(condition="ortho"), plain], ignore_index=True)
    frame = multiturn.published_protocol(both, labels, k=[1]).frame.query("metric == 'accuracy'")
    # the copies' answers dry, dark, dry meet dry and dark; the originals' answers are dark throughout
    assert frame.set_index("condition")["estimate"].to_dict() == {
        "orthographic": pytest.approx(2 / 3),
        "none": pytest.approx(1 / 3),
    }


def test_items_without_a_gold_label_are_excluded_and_counted() -> None:
    answers = judged({"en1": "dry", "en2": "dark", "en3": "dry"})
    result = multiturn.published_protocol(answers, gold({"en1": "dry", "en3": "dry"}), shifted=False, k=[1])
    accuracies = result.frame.query("metric == 'accuracy'")
    assert accuracies[["estimate", "n_units"]].values.tolist() == [[1, 2]]
    assert "joke_type: 1 judged item has no gold label and is excluded." in result.notes
    with pytest.raises(InputError, match=r"no judged item has a gold label .*'en1'.* base_item_id"):
        multiturn.published_protocol(answers, gold({"j1": "dry"}), k=[1])


def test_raw_gold_labels_are_taken_from_their_column() -> None:
    labels = gold({"en1": "surreal_absurdism"}).assign(raw="Absurdism")
    assert accuracy(judged({"en1": "surreal/absurdism"}), labels, shifted=False) == 1


@pytest.mark.parametrize(
    ("items", "language"), [(["en1", "es1"], ["en", "es"]), (["xx1"], ["en"]), (["en1", "es1"], ["en", None])]
)
def test_the_language_is_that_of_judgments_or_of_items(items: list[str], language: list[str | None]) -> None:
    answers, labels = judged({"en1": "dry", "es1": "dry"}), gold({"en1": "dry", "es1": "dry"})
    table = pd.DataFrame({"item_id": items, "language": language})
    complete = len(items) == language.count("en") + language.count("es") == 2
    given = answers.drop(columns="language") if complete else answers
    pd.testing.assert_frame_equal(
        multiturn.published_protocol(given, labels, items=table).frame,
        multiturn.published_protocol(answers, labels).frame,
    )


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [({}, {"rules": "v3"}, "rules are 'v3'"), ({"language": pd.NA}, {}, "item 'en1' has no language")],
)
def test_answers_that_cannot_be_scored_are_refused(change: dict, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        multiturn.published_protocol(judged({"en1": "dry"}).assign(**change), gold({"en1": "dry"}), **options)


def test_scores_of_published_judges_are_compared_with_their_published_numbers() -> None:
    frame = made.harm().frame.assign(judge=lambda rows: rows["judge"].replace("qwen3_8b", "gpt_5_2"))
    results = {"scores_modality_language": Result(frame, "scores")}
    found = compare_harm(results, {"gpt_5_2": "GPT-5.2"}).frame
    assert set(found["judge"]) == {"gpt_5_2"}
    text = found[(found["set"] == "text en") & (found["metric"] == "accuracy")]
    assert text["printed"].item() == pytest.approx(0.903)
    for given, judges in ((results, {"qwen3_32b": "Another"}), (results, {}), ({}, {})):
        with pytest.raises(InputError, match="no published number"):
            compare_harm(given, judges)
    with pytest.raises(InputError, match="no published number"):
        compare_multiturn({}, pd.DataFrame())


@pytest.mark.long
def test_answers_to_perturbed_items_are_compared_with_published_numbers_by_condition() -> None:
    labels = gold({"j1": "dry", "j2": "dry", "j3": "dry"})
    plain = answers_to(labels["item_id"], "dry", language="en")
    plain = plain.assign(judge_id="qwen3_8b", dimension="joke_type")
    copies = plain.assign(
        item_id=plain["item_id"] + "__drift", base_item_id=plain["item_id"], value="dark", condition="drift"
    )
    both = pd.concat([plain.assign(condition="none"), copies], ignore_index=True)
    found = compare_multiturn({"v1": both}, labels)
    right = found.frame[found.frame["metric"] == "accuracy"].set_index("condition")
    assert right["table"].to_dict() == {"none": 9, "drift": 15}
    assert right["aligned"].to_dict() == {"none": 1, "drift": 0}
    assert any("252 published numbers are not compared" in n and "cultural" in n for n in found.notes)
    alone = compare_multiturn({"v1": plain}, labels)
    assert set(alone.frame["condition"]) == {"none"}
    assert any("336 published numbers" in note and "drift" in note for note in alone.notes)
    as_published = compare_multiturn({"v1": both.replace({"condition": {"drift": "sem_drift"}})}, labels)
    pd.testing.assert_frame_equal(as_published.frame, found.frame)
    other = compare_multiturn({"v1": both.replace({"condition": {"drift": "shuffled"}})}, labels)
    (note,) = (note for note in other.notes if "Answers under shuffled are not compared" in note)
    assert "drift" in note
    assert "sem_drift" in note
    without_bases = compare_multiturn({"v1": plain.assign(condition="none")}, labels)
    assert without_bases.frame["aligned"].equals(alone.frame["aligned"])


def test_the_dashed_line_of_pooled_scores_is_the_most_frequent_label_of_each_stratum() -> None:
    frame = made.scores(by=()).frame.query("metric == 'accuracy' and task == 'line'")
    stratum = {"judge": "majority class by stratum", "estimate": 0.45}
    frame = pd.concat([frame, frame[frame["judge"] == "majority class"].assign(**stratum)], ignore_index=True)
    legend = draw(Result(frame, "scores", settings={"by": []})).legends[0]
    names = {text.get_text() for text in legend.get_texts()}
    assert names == {"Always the most frequent label of each stratum", "Random label"}
