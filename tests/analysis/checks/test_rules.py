"""The rules by which checks tell error texts, languages, spellings, similar texts and long runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import cases
from made_up.collected import SPANISH

from conjury.analysis.checks.answers.labels.label_variants import spellings
from conjury.analysis.checks.answers.outages import least_probable_run
from conjury.analysis.checks.answers.texts.other_language import language_of
from conjury.analysis.checks.design.gold_in_prompt import mentions_of_gold
from conjury.analysis.checks.design.items_in_strata import twins
from conjury.inference.tables.reading.cell_rules import ERROR_TEXT


@pytest.mark.parametrize("text", cases(__file__, "prose_about_errors"))
def test_prose_about_errors_is_no_error_text(text):
    assert ERROR_TEXT.match(text) is None


def test_languages_are_told_by_function_words_and_scripts_and_left_open_for_short_texts():
    assert language_of(SPANISH) == "Spanish"
    assert (
        language_of(
            "Это не шутка, потому что вчера вечером мы долго ждали поезд под дождём около старого театра."
        )
        == "Cyrillic"
    )
    assert language_of("Safe.") == ""


def test_aliases_are_no_variants_and_typing_errors_are():
    known = {"safe": ("safe", "Safe text"), "implicit": ("implicit", "Implicit harm", "hidden")}
    assert spellings(["safe", "Safe text", "hidden", "implicit harn", "**Safe**.", "(hidden)"], known) == {
        "implicit harn": "Implicit harm",
        "**Safe**.": "Safe text",
        "(hidden)": "Implicit harm",
    }


def test_twins_are_texts_with_nearly_the_same_runs_of_words():
    long = " ".join(f"word{k}" for k in range(60))
    assert twins(["a", "b", "c"], [long, long + " more", "quite another text"]) == [
        ("a", "b", pytest.approx(58 / 59))
    ]


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c", "d")])
def test_the_bound_on_runs_is_valid_for_random_labels(classes):
    rng = np.random.default_rng(1)
    p = [
        run.p if (run := least_probable_run(rng.choice(classes, 60), np.zeros(60))) is not None else 1.0
        for _ in range(400)
    ]
    assert np.mean(np.array(p) < 0.05) <= 0.05


@pytest.mark.parametrize("hint", ["", "safe", "label"])
def test_items_without_a_gold_label_are_not_counted_among_requests(hint: str) -> None:
    items = [f"i{k}" for k in range(8)]
    labels = ["safe", "harmful"] * 3 + [None, ""]
    users = [f"Which? {hint if hint != 'label' else label or ''}" for label in labels]
    requests = pd.DataFrame({"item_id": items, "user": users})
    gold = pd.DataFrame({"item_id": items, "label": labels})
    found = mentions_of_gold(
        requests, gold, pd.Series(dtype="string"), None, "harm", np.random.default_rng(1)
    )
    assert found is not None
    assert found[0] == 6
