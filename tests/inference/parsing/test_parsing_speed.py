from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, ScaleSpec, read_answer, read_completion

LABELS = (LabelSpec("setup"), LabelSpec("pun"))
FORMS = (
    ResponseSpec("choice", noun="Post"),
    ResponseSpec("ratings", scales=(ScaleSpec("novelty"), ScaleSpec("humor"))),
    ResponseSpec("line_labels", labels=LABELS, lines=3),
)
LONG = 40_000
UNITS = (
    *("x", "é", "A ", "A\n", "{", '{"', '{"a":', "[[", "[{", '"', ' "a', '"{', "“{", "`", "'a ", "> q\n"),
    *("<a>", "*", "\n", " ", "- ", "answer ", "answer: a ", "answer is", "the the ", "post a "),
    *("1. setup\n", "humor: ", "3 ", '{"a": 1}', '{"\\"', "setup, ", "i would choose ", "says that the "),
    *("Answer: A or B. ", "humor 3/"),
)


def _fastest(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def test_long_answers_of_prose_are_read_within_50_ms():
    prose = 'The first post says "Answer: A" and the second one is calmer, I think. {"note": [1, 2]}\n' * 1200
    answer = Answer(prose[:LONG] + "\nFinal answer: B")
    assert read_answer(answer, FORMS[0], {})[0].value == "B"
    assert _fastest(lambda: read_answer(answer, FORMS[0], {}), 5) < 0.05


@pytest.mark.parametrize("response", FORMS, ids=lambda response: response.form)
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_no_long_answer_takes_time_that_grows_with_its_square(unit, response):
    def seconds(length: int) -> float:
        answer = Answer("z " + (unit * length)[:length])
        return _fastest(lambda: read_answer(answer, response, {}), 1)

    assert (longest := seconds(LONG)) < 0.1 or longest < 7 * seconds(LONG // 4)


def test_thousands_of_choices_are_read_a_second():
    top = [
        {"token": word, "logprob": math.log(0.04)} for word in ("A", " A", "B", "ĠB", *map(str, range(16)))
    ]
    token = {"token": "A", "logprob": math.log(0.04), "top_logprobs": top}
    body = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [token]}}]}
    plain = {"choices": [{"message": {"content": '{"choice": "A"}'}, "finish_reason": "stop"}]}
    for each in (body, plain):

        def work(each: dict[str, object] = each) -> None:
            for _ in range(500):
                read_answer(read_completion(each), FORMS[0], {})

        assert _fastest(work, 5) < 0.1
