"""Columns of answers: what is missing, a number, a label, one label, an order; and what is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.tables.reading import ComparedAnswers, ReadingRules, read_answers


def compared(judge: list[Any], human: list[Any], **rules: Any) -> ComparedAnswers:
    columns = {"judge": pd.Series(judge), "human": pd.Series(human)}
    return read_answers(columns, ReadingRules(**rules), source="table", reference=["human"])


TEXTS = ["a", "b", "a", "b", "a", "b", "a", "a"]


@pytest.mark.parametrize("code", cases(__file__, "may be no answer"))
def test_a_text_that_may_be_no_answer_is_asked_about(code):
    with pytest.raises(InputError) as refusal:
        compared([*TEXTS[:7], code], TEXTS)
    sentence = str(refusal.value)
    assert f"'judge' contains '{code}' in 1 cell (first in row 8)" in sentence
    assert f"--missing '{code}'" in sentence
    assert "--levels" in sentence
    assert compared([*TEXTS[:7], code], TEXTS, missing=[code]).codes[0, 7] == -1
    labels = compared([*TEXTS[:7], code], TEXTS, levels={"": ["a", "b", code]})
    assert labels.classes[labels.codes[0, 7]] == code


@pytest.mark.parametrize(("numbers", "code", "is_asked"), cases(__file__, "numbers_far_outside"))
def test_numbers_far_outside_of_all_others_are_asked_about(numbers, code, is_asked):
    judge, human = [*numbers, code], [*numbers, numbers[0]]
    if is_asked:
        with pytest.raises(InputError, match=f"--missing '{code}'") as refusal:
            compared(judge, human)
        levels = str(refusal.value).partition("--levels '")[2].partition("'")[0].replace("...,", "")
        assert sorted(map(int, levels.split(","))) == [int(level) for level in levels.split(",")]
        answers = compared(judge, human, missing=[str(code)])
        assert np.isnan(answers.values[0, -1])
    else:
        assert compared(judge, human).values[0, -1] == code


@pytest.mark.parametrize(("labels", "hint"), cases(__file__, "labels_with_an_order"))
def test_labels_that_may_have_an_order_are_compared_without_one_with_a_note(labels, hint):
    answers = compared(labels, labels)
    assert answers.scale == "nominal"
    notes = [entry.sentence for entry in answers.entries if entry.subject == "order"]
    assert [hint in note for note in notes] == ([] if hint is None else [True])


def test_a_column_is_one_of_numbers_where_more_than_half_of_its_cells_are_numbers():
    half = ["1", "2", "3", "1", "a", "b", "a", "b"]
    assert compared(half, half).scale == "nominal"
    with pytest.raises(InputError, match=r"'a' in rows? 5"):
        compared([*half, "2"], [*half, "2"])


def test_up_to_fifty_labels_are_compared():
    fifty = [f"label {number:02d}" for number in range(50)]
    assert len(compared(fifty, fifty).classes) == 50
    with pytest.raises(InputError, match="'judge' has 51 different labels, and at most 50 can be compared"):
        compared([*fifty, "other"], [*fifty, "label 00"])


@pytest.mark.parametrize(("judge", "human", "is_noted"), cases(__file__, "zeros"))
def test_many_zeros_next_to_numbers_from_one_on_are_noted(judge, human, is_noted):
    notes = [entry.sentence for entry in compared(judge, human).entries]
    assert any("if 0 is no answer, state --missing 0." in note for note in notes) == is_noted
    assert not any("--missing 0" in str(entry) for entry in compared(judge, human, missing=["0"]).entries)


def test_a_whole_number_that_is_far_from_all_others_is_noted():
    for number, is_noted in ((70, True), (38, True), (37, False), (-27, True), (7.5, False)):
        entries = compared([*range(1, 11), *range(1, 11), number], [5] * 21).entries
        sentence = f"'judge' has '{number}' (first in row 21), far from all others (1 to 10)"
        assert (sentence in " ".join(entry.sentence for entry in entries)) == is_noted


@pytest.mark.parametrize(
    ("whole", "is_named"),
    [([1, 2, 3, 4, 5], True), ([1, 4], False), ([1, 2, 3, 4, 5, 6], False), ([1, 2.5, 3.5], False)],
)
def test_numbers_without_which_answers_would_be_classes_are_named_with_their_row(whole, is_named):
    answers = compared([*whole, *whole, 4.5], [*whole, *whole, 4])
    (text,) = [entry.sentence for entry in answers.entries if "interval scale" in entry.sentence]
    sentence = (
        "since 1 of 22 are between whole numbers: 4.5 (first in column 'judge', row 11). Correct or round"
    )
    assert (sentence in text, "between whole" in text) == (is_named, is_named)


@pytest.mark.parametrize("text", ["7/10", "45+", "8-12", "seven", "3 or 4", "about 5", "4 stars"])
def test_one_text_among_numbers_is_refused_and_never_makes_labels_of_all(text):
    numbers = [str(k % 7) for k in range(20)]
    with pytest.raises(InputError) as refusal:
        compared([*numbers, text], [*numbers, "3"])
    assert f"'{text}' in row 21" in str(refusal.value)
    assert compared([*numbers, text], [*numbers, "3"], missing=[text]).scale == "interval"
    assert compared([*numbers, text], [*numbers, "3"], scale="nominal").scale == "nominal"
    with pytest.raises(InputError, match="which is no number"):
        compared([*numbers, text], [*numbers, "3"], scale="interval")


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but I can't assist with that.", "I cannot rate this", "As an AI model, I have no view"],
)
def test_a_refusal_is_asked_about_in_words_and_in_numbers(text):
    with pytest.raises(InputError, match=r"which may be no answer.*; column .* contains '-' in 1 cell"):
        compared([*TEXTS[:7], text], [*TEXTS[:7], "-"])
    numbers = [str(k % 7) for k in range(20)]
    with pytest.raises(InputError, match="else correct it"):
        compared([*numbers, text], [*numbers, "3"])


def test_columns_with_the_same_doubtful_text_are_asked_about_together():
    with pytest.raises(InputError, match="columns 'judge', 'human' contain 'N/A' in 3 cells") as refusal:
        compared(["x", "N/A", "y"], ["N/A", "y", "N/A"])
    assert str(refusal.value).endswith("with --levels 'x,y,N/A'.")
    with pytest.raises(InputError, match="'judge', 'human' contain 'two' in row 3 of 'judge', while most"):
        compared(["1", "2", "two", "4"], ["1", "2", "3", "two"])


def test_spellings_of_a_label_are_one_label_spelled_as_the_reference_does():
    answers = compared(["Spam", " spam", "\uff33\uff30AM", "OK", "1.0"], ["spam", "spam", "spam", "ok", "1"])
    assert (answers.codes[0] == answers.codes[1]).all()
    assert answers.classes == ("1", "ok", "spam")
    assert any("one label" in entry.sentence for entry in answers.entries)
    with pytest.raises(InputError, match=r"--strict allows none; state it with --relabel 'Spam=spam'"):
        compared(["Spam", "ok"], ["spam", "ok"], strict=True)
    assert compared(["1.0", "2"], ["1", "2"], strict=True).classes == ("1", "2")


@pytest.mark.parametrize(("values", "scale"), cases(__file__, "scales"))
def test_the_scale_follows_from_the_answers(values, scale):
    assert compared(values, values).scale == scale


def test_declared_orders_and_stated_levels_order_the_classes():
    order = ["neg", "indet", "pos"]
    texts = pd.Series(pd.Categorical(["pos", "neg", "indet"], categories=order, ordered=True))
    answers = read_answers({"judge": texts, "human": texts}, ReadingRules(), source="table")
    assert (answers.classes, answers.scale) == (tuple(order), "ordinal")
    assert answers.values[0].tolist() == [2, 0, 1]
    stated = compared(["pos", "neg"], ["indet", "neg"], levels={"": order})
    assert (stated.classes, stated.scale) == (tuple(order), "nominal")
    assert compared(["pos"], ["neg"], levels={"": order}, scale="ordinal").values[0].tolist() == [2]
    with pytest.raises(InputError, match=r"have no order \(indet, neg, pos\).*--levels"):
        compared(["pos", "neg"], ["indet", "neg"], scale="ordinal")


def test_a_label_outside_of_the_levels_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"'judge' contains 'postive' in row 2.*did you mean 'pos'"):
        compared(["pos", "postive"], ["neg", "pos"], levels={"": ["neg", "pos"]})


def test_relabelling_holds_for_both_sides_and_refuses_what_no_cell_has():
    answers = compared(["yes", "0", "1"], ["1", "no", "yes"], relabel={"yes": "1", "no": "0"})
    assert answers.classes == ("0", "1")
    assert answers.codes.tolist() == [[1, 0, 1], [1, 0, 1]]
    with pytest.raises(InputError, match=r"no compared cell contains 'yess'.*did you mean 'yes'"):
        compared(["yes", "0"], ["1", "0"], relabel={"yess": "1"})


@pytest.mark.parametrize("form", ["{}.", "'{}'", "**{}**", "`{}`", "[{}]", "“{}.”", "(**{}**)", "{}。"])
def test_what_models_put_around_a_label_is_no_part_of_it(form):
    answers = compared([form.format(text) for text in TEXTS[:4]] + TEXTS[4:], TEXTS)
    assert (answers.classes, answers.entries[-1].count) == (("a", "b"), 2)
    assert (answers.codes[0] == answers.codes[1]).all()
    assert compared([":)", ":("] * 4, [":)", ":|"] * 4).classes == (":(", ":)", ":|")


@pytest.mark.parametrize(
    ("levels", "scale", "words"),
    [("123", "ordinal", "as ordered classes"), ("abc", "nominal", "without an order"), ("ab", "nominal", "")],
)
def test_stated_numbers_have_an_order_and_stated_words_where_it_is_asked_for(levels, scale, words):
    answers = compared([*levels] * 3, [*levels] * 3, levels={"": [*levels]})
    entry = answers.entries[0].sentence if answers.entries else ""
    assert (answers.scale, words in entry, bool(entry)) == (scale, True, bool(words))


def test_spellings_of_one_label_are_relabelled_as_one():
    assert compared(["Yes", "yes"], ["1", "1"], relabel={"Yes": "1", "yes": "1"}).classes == ("1",)
    with pytest.raises(InputError, match="'Yes' and 'yes' are spellings of one label"):
        ReadingRules(relabel={"Yes": "1", "yes": "0"})


def test_a_text_cannot_be_missing_and_a_label():
    with pytest.raises(InputError, match="named as missing and as a level"):
        ReadingRules(missing=["none"], levels={"": ["None", "hate"]})
