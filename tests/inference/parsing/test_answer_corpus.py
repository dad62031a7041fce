"""The corpus of answers, and answers drawn from its shapes, are read as a careful person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from answer_corpus import CorpusAnswer, outcome, read_corpus
from answer_variants import variants

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, ScaleSpec, read_answer, read_completion
from conjury.inference.parsing.answer_words import first_words, spelled_words, words_of
from conjury.inference.parsing.comparison_words import languages_of
from conjury.inference.parsing.option_comparisons import asked_quality
from conjury.inference.parsing.reasoning import REASONING_MARKS, reasoning_is_open, without_reasoning
from conjury.inference.study.asking import Collecting

PAIR = ResponseSpec("choice")
SCORE = ResponseSpec("ratings", scales=(ScaleSpec("score", 1, 10),))


def counts(answers: Iterable[CorpusAnswer]) -> Counter[str]:
    total: Counter[str] = Counter()
    for answer in answers:
        total += outcome(answer.right, answer.read())
    return total


def value(text: str, response: ResponseSpec = PAIR) -> str | float | None:
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return read_answer(read_completion(body), response, {})[0].value


def test_a_sample_of_the_corpus_is_read_as_a_careful_person_reads_it():
    pairs = [answer for answer in read_corpus("first_half.csv") if answer.options == "A|B"][::6]
    misread = [(answer.text, answer.read()) for answer in pairs if answer.read() != answer.right]
    assert len(pairs) > 80
    assert misread == []


@pytest.mark.long
def test_none_of_the_first_half_is_read_wrongly_and_97_of_100_readable_answers_are_read():
    found = counts(read_corpus("first_half.csv"))
    assert found["wrong"] == 0
    assert found["read"] >= 0.97 * found["readable"]


@pytest.mark.slow
def test_of_the_second_half_whose_author_had_not_seen_the_rules_few_are_read_wrongly():
    found = counts(read_corpus("second_half.csv"))
    assert found["wrong"] == 0
    assert found["read"] >= 0.84 * found["readable"]


@pytest.mark.long
@pytest.mark.parametrize(("part", "most_wrong", "share"), [("third", 0, 0.95), ("unseen", 1, 0.85)])
def test_of_further_shapes_few_are_read_wrongly(part, most_wrong, share):
    found = counts(read_corpus(f"{part}_part.csv"))
    assert found["wrong"] <= most_wrong
    assert found["read"] >= share * found["readable"]


RETRACTED = (
    "A is better than B. Just kidding.",
    "A is better. Or is it?",
    "Final answer: A. Ignore that.",
    "Ich wähle A. Nur Spaß.",
    "Je choisis A. Je plaisante.",
    "我选择A。开玩笑的。",
)
OTHER_THINGS = ("Blood type: A", "Vitamin: B", "Paper size: A", "Å", "Answer: Å", "A-")
IN_PARTS = (
    "[[A]] or [[B]]",
    "[[A]] if the reader is a child, [[B]] otherwise",
    "A (50%), B (50%)",
    '{"choice": "A',
    "Let me compare the two texts. Text A",
    "First place: none. Second place: A",
)
DENIED = (
    "No elijo A.",
    "No gana A.",
    "Não escolho A.",
    "Nie lepsza jest A.",
    "Non scelgo A.",
    "Nem melhor A.",
)


@pytest.mark.parametrize("text", [*RETRACTED, *OTHER_THINGS, *IN_PARTS, *DENIED])
def test_what_is_taken_back_denied_unfinished_or_of_something_else_is_no_verdict(text):
    assert value(text) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("First place: A. Second place: B.", "A"),
        ("( ) A\n(x) B", "B"),
        ("[RESULT] B", "B"),
        ("Between A and B, I prefer the latter.", "B"),
        ("I like B better than A.", "B"),
        ("Ich finde B überzeugender als A.", "B"),
        ("No, elijo A.", "A"),
        ("\U0001f171", "B"),
    ],
)
def test_ticked_boxes_places_and_further_comparisons_are_read(text, read):
    assert value(text) == read


def test_units_ratios_and_half_stars_are_no_ratings():
    for text in (
        "Score: 7 kg",
        "Rating: 5°",
        "2:1",
        "3 <= x <= 5",
        "Users rated it 2.",
        "Critics rated this 3.",
    ):
        assert value(text, SCORE) is None
    signed = ResponseSpec("ratings", scales=(ScaleSpec("score", -3, 3, whole=False),))
    assert [value(text, signed) for text in ("minus one", "plus 2", ".5")] == [-1.0, 2.0, 0.5]
    assert value("7 (1 = not at all, 10 = very)", SCORE) == 7


def test_few_variants_of_the_shapes_are_read_as_they_are_meant():
    chosen = [answer for answer in variants(400, seed=3) if answer.options in ("A|B", "B|A")]
    found = counts(chosen)
    assert len(chosen) > 60
    assert (found["wrong"], found["read"]) == (0, found["readable"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_of_100_000_variants_fewer_than_one_of_1_000_is_read_wrongly():
    found = counts(variants(100_000))
    assert found["wrong"] < 100
    assert found["read"] >= 0.97 * found["readable"]


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("", "B"),
        ("Which of the two answers is better?", "B"),
        ("Which answer is worse?", "A"),
        ("Which of the two posts should be removed?", None),
    ],
)
def test_what_is_better_is_a_verdict_only_where_the_question_asks_for_it(question, read):
    response = ResponseSpec("choice", noun="Post", question=question)
    assert value("Post B is better than Post A.", response) == read
    assert value("I choose Post B.", response) == "B"
    assert asked_quality(question) in (-1, 0, 1)


def test_whose_answer_is_better_is_read_and_what_would_have_been_is_not():
    assert value("Assistant A's answer is better than Assistant B's answer.") == "A"
    assert value("Had it cited sources, Response A would be better than Response B.") is None
    assert value("Response A is better written than Response B.") is None


def test_a_clause_with_two_options_that_is_not_understood_states_its_reason():
    [reading] = read_answer(Answer("Answer A cites more studies than Answer B."), PAIR, {})
    assert (reading.value, reading.status) == (None, "unparsed")
    assert "two options in one clause" in reading.note
    [reading] = read_answer(Answer("Answer: A. Hmm, on reflection I am no longer sure."), PAIR, {})
    assert reading.value is None
    assert "takes back" in reading.note


@pytest.mark.parametrize(("marks", "_model"), REASONING_MARKS, ids=lambda part: str(part))
def test_reasoning_in_known_marks_is_no_answer_and_reasoning_that_never_ends_no_text(marks, _model):
    start, end = marks
    assert value(f"{start}Answer: A, or not.{end}\nB") == "B"
    assert value(f"{start} I choose A") is None
    assert reasoning_is_open(f"{start} I choose A")
    assert not reasoning_is_open(f"{start} I choose A {end} B")
    assert value(f"B\n{start}because of A{end}") == "B"


def test_channels_and_marks_of_a_study_are_known_as_well():
    reasoning = "<|channel|>analysis<|message|>Answer: A<|end|>"
    assert value(f"{reasoning}<|start|>assistant<|channel|>final<|message|>B<|return|>") == "B"
    assert value("<|channel|>analysis<|message|>Answer: A") is None
    assert value("analysisThe answer: A?assistantfinalB") == "B"
    marks = Collecting.model_validate({"reasoning": {"start": "{{", "end": "}}"}}).reasoning_marks
    assert without_reasoning("{{Answer: A}}B", marks) == "B"
    assert Collecting().reasoning_marks == ()


def test_ratings_in_brackets_are_read_and_numbers_that_may_be_thousands_are_not():
    texts = (
        "Rating: [[7]]",
        "[[7]]",
        "**Rating: [[7]]**",
        "My rating: [[7]].",
        "[RESULT] 7",
        "\\boxed{7}",
        "评分\uff1a7",
    )
    assert {value(text, SCORE) for text in texts} == {7.0}
    for text in ("Rating: 7+", "Rating: 6-7", "Rating: 7,000", "Rating: null", "Rating: >7", "> 7"):
        assert value(text, SCORE) is None


def test_labels_that_are_headings_are_read_and_lists_of_parts_are_not():
    labels = ResponseSpec("label", labels=tuple(map(LabelSpec, ("answer", "question", "comment"))))
    for name in ("answer", "question", "comment"):
        assert value(f"Label: {name}", labels) == name
        assert value(f"The label is {name}.", labels) == name
    assert value("Answer:", labels) is None
    assert value("Response A: short.\nResponse B: long.") is None


def test_a_name_behind_a_prefix_or_before_a_suffix_is_another_word():
    labels = ResponseSpec("label", labels=(LabelSpec("toxic"), LabelSpec("safe")))
    texts = (
        "Non-toxic.",
        "The comment is non-toxic.",
        "Label: non-toxic",
        "Label: toxic-free",
        "It is no-toxic.",
    )
    assert [value(text, labels) for text in texts] == [None] * len(texts)
    assert value("Label: safe. No - toxic.", labels) == "toxic"
    both = ResponseSpec("label", labels=(LabelSpec("toxic"), LabelSpec("non-toxic")))
    assert value("The comment is non-toxic.", both) == "non-toxic"
    assert value('The author says "you are toxic". Label: non-toxic', both) == "non-toxic"


def test_numbers_beside_options_that_are_numbers_name_none_of_them():
    numbered = ResponseSpec("choice", options=("1", "2"))
    for text in ("Final answer: 1.5", "1.5", "I pick 2.0", "Verdict: 1-0", "Winner: 2:1", "Confidence: 2"):
        assert value(text, numbered) is None
    for text in ("Both are bad. Overall score: 2", "Total: 2"):
        assert value(text, numbered) is None
    for text in (
        "I choose 1. Confidence: 2",
        "1\n\nConfidence: 2",
        "Better answer: 1",
        "First, yes: Answer 1.",
    ):
        assert value(text, numbered) == "1"


def test_a_number_of_things_is_no_rating():
    scales = ResponseSpec("ratings", scales=(ScaleSpec("wit", 1, 5), ScaleSpec("clarity", 1, 5)))
    assert value("Wit: 3 typos spoil it.\nClarity: 2", scales) is None
    assert value("Wit: 3 points\nClarity: 2 reasons: none", scales) == 3
    for text in ("Score: 3 jokes land.", "Result: 3 mistakes", "Answer: 5 of the facts are wrong."):
        assert value(text, SCORE) is None
    assert value("Evaluation: 3 strengths, few weaknesses. Score: 8", SCORE) == 8
    for text in ("Score: 3 Reasons: few jokes", "Score: 3 as jokes go", "A score of 3 seems fair."):
        assert value(text, SCORE) == 3


@pytest.mark.parametrize("word", ["argues", "argue", "says", "claims"])
def test_each_word_that_reports_makes_a_statement_none(word):
    assert value(f"The authors {word}: answer B") is None
    assert value(f"The authors {word} that the answer is B") is None


@pytest.mark.parametrize(
    ("question", "orders"),
    [
        ("Which post should be removed?", {"Remove A.": "A", "Keep A.": None, "Publish A.": None}),
        ("Which post is better?", {"Remove A.": None, "So, delete post A.": None, "Choose A.": "A"}),
        ("Which post would you keep?", {"Both are weak. Keep A.": "A", "Delete A.": None}),
    ],
)
def test_an_order_is_a_verdict_where_the_question_asks_for_it(question, orders):
    response = ResponseSpec("choice", noun="Post", question=question)
    assert {text: value(text, response) for text in orders} == orders


@pytest.mark.parametrize("heading", ["Worst answer", "Weakest", "Runner-up", "Eliminated", "Losing response"])
def test_who_loses_behind_a_heading_is_no_verdict(heading):
    assert value(f"{heading}: A") is None


def test_a_clause_is_compared_only_in_languages_that_have_all_its_words():
    assert languages_of("\ue000 is better than \ue001") == ["en"]
    assert languages_of("\ue000 ist besser als \ue001") == ["de"]
    assert languages_of("\ue000比\ue001更好") == ["zh"]
    assert languages_of("\ue000 > \ue001") == ["en"]
    assert languages_of("\ue000 is a better painter than \ue001") == []
    assert languages_of("in both tone and length \ue000 is better") == ["en"]  # any words may stand behind it


def test_the_words_that_a_pattern_can_spell_are_known():
    pattern = "(?:yo )?(?:elijo|favou?r)(?: a)?|summari[sz]e d{1,2}"
    assert spelled_words(pattern) == {"yo", "elijo", "favor", "favour", "a", "summarise", "summarize", "d"}
    assert first_words([pattern]) == {"yo", "elijo", "favor", "favour", "summarise", "summarize"}
    assert {"i", "je", "ich", "ik"} <= first_words(words_of("choose"))
