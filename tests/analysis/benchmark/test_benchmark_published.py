"""The published protocol on a few jokes, with numbers counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.audit.multiturn import accuracy_of_k, gold_string, hard_label_auc, published, union_f1
from conjury.inference.errors import InputError

ENGLISH, SPANISH = ["en1", "en2", "en3"], ["es1", "es2", "es3"]


def judged(values: dict[str, str | None], dimension: str = "joke_type", sample: int = 1) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "judge_id": "gpt",
            "judge_kind": "model",
            "item_id": list(values),
            "dimension": dimension,
            "sample": sample,
            "value": list(values.values()),
            "language": [item[:2] for item in values],
            "position": [int(item[2:]) for item in values],
        }
    )


def gold(values: dict[str, str], dimension: str = "joke_type") -> pd.DataFrame:
    return pd.DataFrame({"item_id": list(values), "label_set": dimension, "label": list(values.values())})


def found(
    judgments: pd.DataFrame, labels: pd.DataFrame, **options: object
) -> dict[tuple[str, str, int], float]:
    frame = published(judgments, labels, **options).frame
    return frame.set_index(["set", "metric", "k"])["estimate"].to_dict()


def test_every_answer_meets_the_next_joke_and_the_last_none() -> None:
    answers = judged({"en1": "dark", "en2": "dry", "en3": "witty"})
    labels = gold({"en1": "witty", "en2": "dark", "en3": "dry"})
    assert found(answers, labels, k=[1])["en", "accuracy", 1] == pytest.approx(2 / 3)
    assert found(answers, labels, k=[1], shifted=False)["en", "accuracy", 1] == 0


def test_in_the_set_of_both_languages_the_second_is_two_jokes_late() -> None:
    types = {"en1": "dark", "en2": "dry", "en3": "witty", "es1": "topical", "es2": "wordplay", "es3": "dark"}
    answers = judged(types)
    late = {
        "en1": "aggressive",
        "en2": "dark",
        "en3": "dry",
        "es1": "witty",
        "es2": "aggressive",
        "es3": "topical",
    }
    right = found(answers, gold(late), k=[1])
    assert right["full", "accuracy", 1] == pytest.approx(4 / 6)  # all but the two that meet an empty answer
    assert right["en", "accuracy", 1] == pytest.approx(2 / 3)
    assert right["es", "accuracy", 1] == 0  # there it is one joke late


def test_order_is_that_of_the_prompts_and_of_the_labels_without_positions() -> None:
    answers = judged({"en1": "dark", "en2": "dry", "en3": "witty"})
    labels = gold({"en3": "aggressive", "en1": "witty", "en2": "dark"})
    assert found(answers, labels, k=[1])["en", "accuracy", 1] == pytest.approx(1 / 3)  # dark meets en2
    without = found(answers.drop(columns="position"), labels, k=[1])
    assert without["en", "accuracy", 1] == pytest.approx(2 / 3)  # en3, en1, en2: witty meets en1, too


def test_samples_are_pooled_for_f1_and_any_of_them_counts_for_accuracy() -> None:
    one = judged({"en1": "dark", "en2": "dark"})
    two = judged({"en1": "dry", "en2": "dark"}, sample=2)
    numbers = found(pd.concat([one, two]), gold({"en1": "dark", "en2": "dark"}), k=[1, 2], shifted=False)
    assert numbers["en", "accuracy", 1] == numbers["en", "accuracy", 2] == 1
    assert numbers["en", "macro_f1", 1] == 1
    assert numbers["en", "macro_f1", 2] == pytest.approx(
        (2 * 3 / (4 + 3) + 0) / 2
    )  # dark, and dry, never gold


def test_f1_is_a_mean_over_strings_that_are_no_labels_too() -> None:
    answers = judged({"en1": "dark", "en2": None, "en3": "so funny"})
    labels = gold({"en1": "dark", "en2": "dark", "en3": "dark"})
    numbers = found(answers, labels, k=[1], shifted=False)
    assert numbers["en", "macro_f1", 1] == pytest.approx((2 / (3 + 1) + 0 + 0) / 3)  # dark, "", "so funny"


def test_hard_labels_have_the_area_under_one_point() -> None:
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(8)
    truth, given = rng.integers(0, 3, 50), rng.integers(0, 4, (50, 2))
    pooled, answers = np.tile(truth, 2), given.T.ravel()
    each = [sk.roc_auc_score(pooled == code, answers == code) for code in range(3)]
    assert hard_label_auc(truth, given) == pytest.approx(np.mean(each), abs=1e-12)
    theirs = sk.f1_score(pooled, answers, average="macro", labels=range(4), zero_division=0)
    assert union_f1(truth, given) == pytest.approx(theirs, abs=1e-12)
    assert accuracy_of_k(truth, given) == np.mean((given == truth[:, None]).any(axis=1))


def test_lines_are_scored_as_far_as_gold_goes_and_unread_ones_meet_gold_that_is_no_class() -> None:
    answers = pd.concat(
        [
            judged({"en1": value}, f"line_{line}")
            for line, value in enumerate(["Setup ", "punchline", "extra"], 1)
        ]
    )
    labels = pd.concat(
        [
            gold({"en1": value}, f"line_{line}")
            for line, value in enumerate(["setup", "witty", "Punchline", ""], 1)
        ]
    )
    frame = published(answers, labels, k=[1], shifted=False).frame
    assert set(frame["n_units"]) == {4}
    accuracy = frame.loc[frame["metric"] == "accuracy", "estimate"].iloc[0]
    assert accuracy == 2 / 4  # setup, and the blank label for which there is no answer


def test_lines_without_a_label_may_be_left_out_of_the_labels() -> None:
    answers = judged({"en1": "setup"}, "line_1")
    labels = gold({"en1": "setup"}, "line_3")
    frame = published(answers, labels, k=[1], shifted=False).frame
    assert frame.loc[frame["metric"] == "accuracy", ["estimate", "n_units"]].to_numpy().tolist() == [
        [1 / 3, 3]
    ]


@pytest.mark.parametrize(
    ("label", "task", "v1", "v2"),
    [
        ("Satire", "joke_type", "NA", "satire/parody/irony"),
        ("parody", "joke_type", "parody", "satire/parody/irony"),
        (" absurdism", "joke_type", "surreal/absurdism", "surreal/absurdism"),
        ("absurdist", "joke_type", "NA", "NA"),
        ("anecdotal", "joke_type", "observational/anecdotal", "observational/anecdotal"),
        ("probing escalation", "line", "escalation", "escalation"),
        ("wrap-up punchline", "line", "punchline", "punchline"),
        ("clarification / setup", "line", "setup", "setup"),
        ("Timing", "line", "NA", "timing"),
        ("Punchiline", "line", "NA", "NA"),
        ("", "line", "NA", "NA"),
    ],
)
def test_gold_labels_are_named_by_both_versions(label: str, task: str, v1: str, v2: str) -> None:
    assert (gold_string(label, task, 1), gold_string(label, task, 2)) == (v1, v2)


def test_gold_labels_as_they_were_written_are_taken_from_their_column() -> None:
    answers = judged({"en1": "surreal/absurdism"})
    labels = gold({"en1": "surreal_absurdism"}).assign(raw="Absurdism")
    assert found(answers, labels, k=[1], shifted=False)["en", "accuracy", 1] == 1


def test_more_samples_than_there_are_have_no_row() -> None:
    frame = published(judged({"en1": "dry"}), gold({"en1": "dry"})).frame
    assert set(frame["k"]) == {1}


def test_items_may_tell_the_language() -> None:
    answers = judged({"en1": "dry", "es1": "dry"})
    items = answers[["item_id", "language"]]
    labels = gold({"en1": "dry", "es1": "dry"})
    with_items = published(answers.drop(columns="language"), labels, items=items).frame
    pd.testing.assert_frame_equal(with_items, published(answers, labels).frame)


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [({}, {"rules": "v3"}, "rules are 'v3'"), ({"language": pd.NA}, {}, "item 'en1' has no language")],
)
def test_what_cannot_be_scored_is_refused(
    change: dict[str, object], options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        published(judged({"en1": "dry"}).assign(**change), gold({"en1": "dry"}), **options)


def test_judgments_tell_the_language_of_items_that_do_not() -> None:
    answers = judged({"en1": "dry", "es1": "dry"})
    labels = gold({"en1": "dry", "es1": "dry"})
    others = pd.DataFrame({"item_id": ["xx1"], "language": ["en"]})
    untold = pd.DataFrame({"item_id": ["en1", "es1"], "language": ["en", None]})
    for items in (others, untold):
        with_items = published(answers, labels, items=items).frame
        pd.testing.assert_frame_equal(with_items, published(answers, labels).frame)
