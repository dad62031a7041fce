from __future__ import annotations

import math
from typing import Any

import pytest

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, ScaleSpec, read_answer

CHOICE = ResponseSpec("choice")


def _token(token: str, **top: float) -> dict[str, Any]:
    return _listed(token, list(top.items()))


def _listed(token: str, top: list[tuple[str, float]]) -> dict[str, Any]:
    entries = [{"token": word, "logprob": math.log(p)} for word, p in top]
    return {"token": token, "logprob": math.log(dict(top).get(token, 0.5)), "top_logprobs": entries}


def test_tokens_with_spaces_and_in_either_case_are_summed_per_option():
    top = [("A", 0.3), (" A", 0.1), ("a", 0.1), ("B", 0.1), ("ĠB", 0.1), ("▁b", 0.05), ("I", 0.2)]
    reading = read_answer(Answer("A", tokens=[_listed("A", top)]), CHOICE, {})[0]
    assert reading.rule == "choice/token@1"
    assert reading.value == "A"
    assert reading.probability == pytest.approx(0.5 / 0.75)
    assert reading.outside == pytest.approx(0.25)


def test_the_probability_is_that_of_the_option_shown_first():
    answer = Answer("A", tokens=[_token("A", A=0.6, B=0.2)])
    assert read_answer(answer, CHOICE, {"options": ["B", "A"]})[0].probability == pytest.approx(0.25)
    assert read_answer(answer, CHOICE, {"options": ["A", "B"]})[0].probability == pytest.approx(0.75)


def test_a_sampled_token_outside_the_list_still_counts():
    token = _token("B", A=0.6) | {"logprob": math.log(0.2)}
    assert read_answer(Answer("B", tokens=[token]), CHOICE, {})[0].probability == pytest.approx(0.75)


def test_blank_tokens_before_the_option_are_passed_over():
    answer = Answer("\nB", tokens=[_token("Ċ", A=0.1), _token("B", A=0.2, B=0.6)])
    reading = read_answer(answer, CHOICE, {})[0]
    assert (reading.value, reading.probability) == ("B", pytest.approx(0.25))


def test_a_refusal_keeps_the_probability_when_the_token_rule_reads_it():
    answer = Answer("I'm sorry, I can't help with that.", tokens=[_token("I", I=0.9, A=0.06, B=0.02)])
    reading = read_answer(answer, CHOICE, {}, "token")[0]
    assert (reading.status, reading.value) == ("refused", None)
    assert reading.probability == pytest.approx(0.75)
    assert reading.outside == pytest.approx(0.92)


def test_a_first_token_that_the_text_belies_is_not_read():
    tokens = [_token("A", A=0.6, B=0.2)]
    assert (
        read_answer(Answer("A person wrote that.", tokens=tokens), CHOICE, {}, "token")[0].status
        == "unparsed"
    )
    contradicted = read_answer(Answer("A\n\nFinal answer: B", tokens=tokens), CHOICE, {})[0]
    assert (contradicted.value, contradicted.status) == (None, "unparsed")


def test_without_log_probabilities_the_token_rule_reads_nothing():
    reading = read_answer(Answer("A"), CHOICE, {}, "token")[0]
    assert (reading.value, reading.note) == (None, "no log-probabilities came")


def test_the_token_of_a_json_value_gives_its_probability():
    words = ['{"', "choice", '":', ' "', "B", '"}']
    tokens = [_listed(word, [(word, 0.99)]) for word in words]
    tokens[4] = _token("B", A=0.1, B=0.7)
    reading = read_answer(Answer('{"choice": "B"}', tokens=tokens), CHOICE, {})[0]
    assert (reading.rule, reading.probability) == ("choice/lenient@1", pytest.approx(0.125))


def test_a_json_value_whose_token_also_opens_the_string_gives_its_probability():
    words = ['{"choice":', ' "B', '"}']
    tokens = [_listed(word, [(word, 0.99)]) for word in words]
    tokens[1] = _listed(' "B', [(' "A', 0.25), (' "B', 0.75)])
    assert read_answer(Answer("".join(words), tokens=tokens), CHOICE, {})[0].probability == pytest.approx(
        0.25
    )


def test_ratings_of_one_digit_have_a_probability_and_a_mean():
    response = ResponseSpec("ratings", scales=(ScaleSpec("humor", 0, 4),))
    answer = Answer("3", tokens=[_listed("3", [("3", 0.4), ("4", 0.2), (" 2", 0.2), ("9", 0.1), ("x", 0.1)])])
    reading = read_answer(answer, response, {})[0]
    assert reading.probability == pytest.approx(0.5)
    assert reading.expected == pytest.approx((3 * 0.4 + 4 * 0.2 + 2 * 0.2) / 0.8)
    assert reading.outside == pytest.approx(0.2)


def test_ratings_that_may_take_two_digits_have_no_probability():
    response = ResponseSpec("ratings", scales=(ScaleSpec("humor", 0, 10),))
    answer = Answer("1", tokens=[_listed("1", [("1", 0.9)])])
    assert read_answer(answer, response, {})[0].probability is None


def test_labels_of_one_token_have_a_probability():
    response = ResponseSpec("label", labels=(LabelSpec("safe"), LabelSpec("explicit")))
    answer = Answer("safe", tokens=[_token("safe", safe=0.6, explicit=0.2, im=0.1)])
    reading = read_answer(answer, response, {})[0]
    assert (reading.value, reading.probability) == ("safe", pytest.approx(0.75))


def test_a_mass_of_nothing_on_the_options_is_no_probability():
    answer = Answer("I think", tokens=[_token("I", I=0.9)])
    reading = read_answer(answer, CHOICE, {}, "token")[0]
    assert (reading.probability, reading.outside) == (None, 1.0)
