from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.parsing import (
    Answer,
    LabelSpec,
    ResponseSpec,
    ScaleSpec,
    dimensions,
    read_answer,
    read_completion,
    rules,
)

LABELS = (LabelSpec("setup"), LabelSpec("pun"))
FORMS = {
    "choice": ResponseSpec("choice", noun="Post"),
    "ratings": ResponseSpec("ratings", scales=(ScaleSpec("novelty"), ScaleSpec("humor"))),
    "label": ResponseSpec("label", labels=LABELS),
    "line_labels": ResponseSpec("line_labels", labels=LABELS, lines=3),
    "text": ResponseSpec("text"),
}
PIECES = st.sampled_from(
    [
        *"{}[]\"'“”`><:,.\\/-\n 14AB",
        *("```", "Post", "Answer", "choice", "label", "labels", "novelty", "humor", "setup", "pun"),
        *("\n\n", '"choice": ', '{"labels": [', "NaN", "null", "true", "é", "\u200b", "<a>", "</a>"),
    ]
)
TEXTS = st.lists(PIECES, max_size=20).map("".join)
ASKED_FOR = st.fixed_dictionaries(
    {},
    optional={
        "choice": st.sampled_from(["A", "B", "a", "C", 1]),
        "label": st.sampled_from(["setup", "pun", "Pun", None]),
        "labels": st.lists(st.sampled_from(["setup", "pun", "Pun", 3]), max_size=4),
        "novelty": st.sampled_from([0, 4, 5, 2.5, "3"]),
        "humor": st.sampled_from([1, -1, True, 2]),
    },
).map(json.dumps)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
BODIES = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {"message": st.fixed_dictionaries({"content": TEXTS | VALUES, "refusal": VALUES})},
                optional={"logprobs": st.fixed_dictionaries({"content": VALUES}), "finish_reason": VALUES},
            ),
            max_size=1,
        )
    },
    optional={"usage": VALUES, "model": VALUES},
)


@pytest.mark.parametrize("rule", rules())
@settings(max_examples=20, deadline=None)
@given(body=BODIES)
def test_any_answer_has_one_reading_for_each_dimension(rule, body):
    response = FORMS[rule.split("/")[0]]
    readings = read_answer(read_completion(body), response, {}, rule)
    assert [reading.dimension for reading in readings] == list(dimensions(response))
    for reading in readings:
        assert (reading.value is None) == (reading.status != "ok") or response.form == "text"
        assert reading.probability is None or 0 <= reading.probability <= 1


@settings(max_examples=60, deadline=None)
@given(text=ASKED_FOR | TEXTS)
def test_lenient_agrees_with_strict_wherever_strict_reads(text):
    answer = read_completion({"choices": [{"message": {"content": text}}]})
    for form in ("choice", "ratings", "label", "line_labels"):
        strict, lenient = (read_answer(answer, FORMS[form], {}, rule) for rule in ("strict", "lenient"))
        for one, other in zip(strict, lenient, strict=True):
            assert one.value is None or one.value == other.value


# --- speed ----------------------------------------------------------------------------------------

LONG = 40_000
UNITS = (
    *("x", "é", "A ", "A\n", "{", '{"', '{"a":', "[[", "[{", '"', ' "a', '"{', "“{", "`", "'a ", "> q\n"),
    *("<a>", "*", "\n", " ", "- ", "answer ", "answer: a ", "answer is", "the the ", "post a "),
    *("1. setup\n", "humor: ", "3 ", '{"a": 1}', '{"\\"', "setup, ", "i would choose ", "says that the "),
    *("Answer: A or B. ", "humor 3/", "A is better than B ", "no, a ", "better ", "★", "**a", "so "),
)


def test_the_last_line_of_long_prose_is_the_answer():
    prose = 'The first post says "Answer: A" and the second one is calmer, I think. {"note": [1, 2]}\n' * 1200
    assert read_answer(Answer(prose[:LONG] + "\nFinal answer: B"), FORMS["choice"], {})[0].value == "B"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["choice", "ratings", "line_labels"])
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_no_long_answer_takes_time_that_grows_with_its_square(unit, form):
    def seconds(length: int) -> float:
        answer = Answer("z " + (unit * length)[:length])
        begun = time.process_time()
        read_answer(answer, FORMS[form], {})
        return time.process_time() - begun

    read_answer(Answer("B, or so"), FORMS[form], {})  # compiles the patterns
    assert (longest := seconds(LONG)) < 0.1 or longest < 7 * seconds(LONG // 4)
