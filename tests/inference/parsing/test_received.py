"""Chat completions as servers with an accent write them, read as those of OpenAI."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases

from conjury.inference.parsing import ResponseSpec, read_answer, read_completion
from conjury.inference.parsing.finish_reasons import CUT, FAILED, FILTERED, STOP, usual_reason


@pytest.mark.parametrize(("word", "meaning"), cases(__file__, "reasons"))
def test_the_words_of_all_providers_for_an_end_mean_one_of_four(word, meaning):
    assert usual_reason(word) == meaning
    status = {STOP: "ok", CUT: "ok", FILTERED: "refused", FAILED: "error"}.get(meaning, "ok")
    body = {"choices": [{"message": {"content": "A"}, "finish_reason": word}]}
    assert read_answer(read_completion(body), ResponseSpec("choice"), {})[0].status == status


@pytest.mark.parametrize(("message", "text", "reasoning"), cases(__file__, "messages"))
def test_the_text_is_that_of_the_parts_that_are_an_answer(message, text, reasoning):
    answer = read_completion({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (answer.text, answer.reasoning, answer.error) == (text, reasoning, "")


@pytest.mark.parametrize(("logprobs", "probability"), cases(__file__, "logprobs"))
def test_log_probabilities_are_read_in_each_form(logprobs, probability):
    choice = {"message": {"content": "B"}, "finish_reason": "stop", "logprobs": logprobs}
    reading = read_answer(read_completion({"choices": [choice]}), ResponseSpec("choice"), {})[0]
    assert reading.value == "B"
    assert reading.probability == (None if probability is None else pytest.approx(probability, abs=1e-3))


def first(body: dict[str, Any]) -> Any:
    return read_answer(read_completion(body), ResponseSpec("choice"), {})[0]


def test_an_answer_in_the_field_for_reasoning_is_no_answer_and_is_noted():
    message = {"content": "", "reasoning_content": "\nFinal answer: B"}
    reading = first({"choices": [{"message": message, "finish_reason": "stop"}]})
    note = "text in the field for reasoning only"
    assert (reading.value, reading.status, reading.note) == (None, "empty", note)
    reading = first({"choices": [{"message": message, "finish_reason": "MAX_TOKENS"}]})
    assert (reading.status, reading.note) == ("truncated", f"no text before the limit of tokens; {note}")


def test_a_gateway_that_hides_the_end_of_the_model_behind_it_is_read_by_that():
    choice = {"message": {"content": ""}, "finish_reason": "stop", "native_finish_reason": "SAFETY"}
    assert first({"choices": [choice]}).status == "refused"
    assert first({"choices": [{**choice, "message": {"content": "A"}}]}).status == "ok"
    assert first({"choices": [{**choice, "finish_reason": None}]}).status == "refused"


def test_a_refusal_may_be_a_part():
    parts = [{"type": "refusal", "refusal": "No."}]
    assert first({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}).status == "refused"


def test_null_counts_of_tokens_and_reasoning_are_counted():
    body = {"choices": [{"message": {"content": "A"}}], "usage": {"prompt_tokens": None}}
    assert read_completion(body).prompt_tokens is None
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 9}}
    assert read_completion({**body, "usage": usage}).completion_tokens == 11


def test_log_probabilities_may_stand_in_the_message_or_beside_the_choices():
    top = [{"token": "A", "logprob": -2.303}]
    token = {"token": "B", "logprob": -0.105, "top_logprobs": top}
    in_message = {"content": "B", "logprobs": {"content": [token]}}
    assert first({"choices": [{"message": in_message}]}).probability == pytest.approx(0.1, abs=1e-3)
    body = {"choices": [{"message": {"content": "B"}}], "completion_probabilities": [token]}
    assert first(body).probability == pytest.approx(0.1, abs=1e-3)
