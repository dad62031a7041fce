from __future__ import annotations

from typing import Any

import pytest

from conjury.inference.parsing import ResponseSpec, read_answer, read_completion


def _body(**message: Any) -> dict[str, Any]:
    return {
        "model": "m-1",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1},
    }


def test_a_completion_tells_its_model_and_its_tokens():
    answer = read_completion(_body(content="B"))
    assert (answer.text, answer.model, answer.prompt_tokens, answer.completion_tokens) == ("B", "m-1", 7, 1)


def test_parts_of_a_text_are_joined():
    assert read_completion(_body(content=[{"type": "text", "text": "B"}, {"text": "."}])).text == "B."


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"error": {"message": "no"}},
        {"choices": None},
        {"choices": "A"},
        [],
        "A",
    ],
)
def test_what_is_no_completion_is_an_error(body):
    readings = read_answer(read_completion(body), ResponseSpec("choice"), {})
    assert [reading.status for reading in readings] == ["error"]


@pytest.mark.parametrize(
    "choice",
    [
        None,
        {},
        {"message": None},
        {"message": {"content": None}},
        {"message": {"content": 3}},
        {"message": {"content": [None]}, "logprobs": {"content": [None, 3]}},
        {"message": {"content": " \n"}, "logprobs": "x", "finish_reason": 3},
    ],
)
def test_a_completion_without_text_is_empty_however_malformed(choice):
    answer = read_completion({"choices": [choice], "usage": "x", "model": 3})
    assert read_answer(answer, ResponseSpec("choice"), {})[0].status == "empty"


def test_an_outcome_without_body_is_an_error_that_says_why():
    reading = read_answer(read_completion(None, "timeout: 60 s"), ResponseSpec("choice"), {})[0]
    assert (reading.status, reading.note, reading.value) == ("error", "timeout: 60 s", None)


@pytest.mark.parametrize(
    "tokens",
    [
        [{"token": None}],
        [{"token": "A", "logprob": None, "top_logprobs": None}],
        [{"token": "A", "logprob": float("nan"), "top_logprobs": [None, 1, {"token": ["A"]}]}],
    ],
)
def test_malformed_log_probabilities_cost_the_probability_not_the_answer(tokens):
    body = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": tokens}}]}
    reading = read_answer(read_completion(body), ResponseSpec("choice"), {})[0]
    assert (reading.value, reading.status, reading.probability) == ("A", "ok", None)
