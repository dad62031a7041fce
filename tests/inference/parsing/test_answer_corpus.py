"""The corpus of answers, and answers drawn from its shapes, are read as a careful person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from answer_corpus import CorpusAnswer, outcome, read_corpus
from answer_variants import variants
from cases import cases

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, ScaleSpec, read_answer, read_completion
from conjury.inference.parsing.answer_words import first_words, spelled_words, words_of
from conjury.inference.parsing.comparison_words import languages_of
from conjury.inference.parsing.option_comparisons import asked_quality
from conjury.inference.parsing.reasoning import REASONING_MARKS, reasoning_is_open, without_reasoning
from conjury.inference.study.asking import Collecting

PAIR = ResponseSpec("choice")


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
def test_answers_that_were_settled_one_by_one_are_read_so():
    misread = [(one.text, one.read()) for one in read_corpus("settled.csv") if one.read() != one.right]
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
    assert found["read"] >= 0.93 * found["readable"]


@pytest.mark.parametrize(
    ("part", "share"),
    [
        pytest.param("third", 0.98, marks=pytest.mark.slow),
        pytest.param("unseen", 0.98, marks=pytest.mark.slow),
        pytest.param("fourth", 0.92, marks=pytest.mark.long),
    ],
)
def test_of_further_shapes_none_is_read_wrongly(part, share):
    found = counts(read_corpus(f"{part}_part.csv"))
    assert found["wrong"] == 0
    assert found["read"] >= share * found["readable"]


@pytest.mark.long
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


@pytest.mark.parametrize(("question", "read"), cases(__file__, "comparisons"))
def test_what_is_better_is_a_verdict_only_where_the_question_asks_for_it(question, read):
    response = ResponseSpec("choice", noun="Post", question=question)
    assert value("Post B is better than Post A.", response) == read
    assert value("I choose Post B.", response) == "B"
    assert asked_quality(question) in (-1, 0, 1)


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


@pytest.mark.long
def test_labels_are_read_from_sentences_that_state_or_deny_them_and_no_degree_is_another_label():
    verbs = ResponseSpec("label", labels=(LabelSpec("pass"), LabelSpec("fail")))
    assert [value(text, verbs) for text in ("It fails.", "It passes one part, but fails.")] == ["fail", None]
    denied = ResponseSpec("label", labels=(LabelSpec("toxic"), LabelSpec("not toxic")))
    texts = ("This is not a toxic comment.", "non-toxic", "I don't think it is toxic.", "Very toxic.")
    assert [value(text, denied) for text in texts] == ["not toxic"] * 3 + ["toxic"]
    assert value("It is hardly toxic.", denied) is None
    graded = ResponseSpec("label", labels=(LabelSpec("agree"), LabelSpec("strongly agree")))
    assert [value(text, graded) for text in ("I strongly agree.", "Somewhat agree")] == [
        "strongly agree",
        None,
    ]
    letters = ResponseSpec("label", labels=(LabelSpec("Č"), LabelSpec("D")))
    assert [value(text, letters) for text in ("Č", "Answer: Č", "D")] == ["Č", "Č", "D"]


@pytest.mark.long
def test_ratings_are_read_from_tables_tags_and_joint_sentences():
    two = ResponseSpec("ratings", scales=(ScaleSpec("wit", 1, 5), ScaleSpec("clarity", 1, 5)))
    texts = (
        "| Wit | Clarity |\n|---|---|\n| 3 | 4 |",
        "<wit>3</wit><clarity>4</clarity>",
        "For wit I would give a 3, for clarity a 4.",
        "Wit and clarity both get a 3.",
    )
    assert [value(text, two) for text in texts] == [3.0] * 4
    for text in ("For wit I counted 3 errors.", "On wit, nothing below 3."):
        assert value(text, two) is None
    for text in ("Man sollte keine 5 geben.", "1.5"):
        assert value(text, ResponseSpec("ratings", scales=(ScaleSpec("score", 0, 5000),))) is None


def test_signs_of_ratings_are_read_as_marks_and_as_words():
    signed = ResponseSpec("ratings", scales=(ScaleSpec("wit", -3, 3),))
    for sign, texts in ((-1, ("-2", "minus two", "negative two", "Negative 2")), (1, ("+2", "plus two"))):
        assert [value(text, signed) for text in texts] == [2.0 * sign] * len(texts)


def test_a_number_of_things_is_no_rating():
    scales = ResponseSpec("ratings", scales=(ScaleSpec("wit", 1, 5), ScaleSpec("clarity", 1, 5)))
    assert value("Wit: 3 typos spoil it.\nClarity: 2", scales) is None
    assert value("Wit: 3 points\nClarity: 2 reasons: none", scales) == 3


@pytest.mark.parametrize(("question", "orders"), cases(__file__, "orders"))
def test_an_order_is_a_verdict_where_the_question_asks_for_it(question, orders):
    response = ResponseSpec("choice", noun="Post", question=question)
    assert {text: value(text, response) for text in orders} == orders
    ordered = ResponseSpec("choice", ("Response A", "Response B"))
    assert value("My judgment: Response A > Response B", ordered) == "Response A"


def test_a_clause_is_compared_only_in_languages_that_have_all_its_words():
    assert languages_of("\ue000 is better than \ue001") == ["en"]
    assert languages_of("\ue000 ist besser als \ue001") == ["de", "nl"]
    assert languages_of("\ue000比\ue001更好") == ["zh"]
    assert languages_of("\ue000 > \ue001") == ["en"]
    assert languages_of("\ue000 is a better painter than \ue001") == []
    assert languages_of("in both tone and length \ue000 is better") == ["en"]  # any words may stand behind it


def test_the_words_that_a_pattern_can_spell_are_known():
    pattern = "(?:yo )?(?:elijo|favou?r)(?: a)?|summari[sz]e d{1,2}"
    assert spelled_words(pattern) == {"yo", "elijo", "favor", "favour", "a", "summarise", "summarize", "d"}
    assert first_words([pattern]) == {"yo", "elijo", "favor", "favour", "summarise", "summarize"}
    assert {"i", "je", "ich", "ik"} <= first_words(words_of("choose"))
