from __future__ import annotations

import math
from typing import Any

import pytest

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, ScaleSpec, read_answer

CHOICE = ResponseSpec("choice")
LABEL = ResponseSpec("label", labels=(LabelSpec("safe"), LabelSpec("explicit")))


def ratings(highest: int) -> ResponseSpec:
    return ResponseSpec("ratings", scales=(ScaleSpec("humor", 0, highest),))


def token(token: str, *top: tuple[str, float], p: float = 0.5) -> dict[str, Any]:
    entries = [{"token": word, "logprob": math.log(share)} for word, share in top]
    return {"token": token, "logprob": math.log(dict(top).get(token, p)), "top_logprobs": entries}


def tokens(*words: str, **of: dict[str, Any]) -> list[dict[str, Any]]:
    """Tokens of an answer that are near certain, but for those of the words that are given."""
    return [of.get(word.strip(' "'), token(word, (word, 0.99))) for word in words]


SPELT = [("A", 0.3), (" A", 0.1), ("a", 0.1), ("B", 0.1), ("ĠB", 0.1), ("▁b", 0.05), ("I", 0.2)]
SORRY = "I'm sorry, I can't help with that."
MOSTLY_A = [token("A", ("A", 0.6), ("B", 0.2))]
DIGITS = [("3", 0.4), ("4", 0.2), (" 2", 0.2), ("9", 0.1), ("x", 0.1)]
SAFE = [token("safe", ("safe", 0.6), ("explicit", 0.2), ("im", 0.1))]


@pytest.mark.parametrize(
    ("text", "given", "response", "rule", "expected"),
    [
        pytest.param("A", [token("A", *SPELT)], CHOICE, "", ("A", 0.5 / 0.75, 0.25), id="spaces and case"),
        pytest.param("A", MOSTLY_A, CHOICE, "", ("A", 0.75, 0.2), id="of the option shown first"),
        pytest.param(
            "B", [token("B", ("A", 0.6), p=0.2)], CHOICE, "", ("B", 0.75, 0.2), id="not in the list"
        ),
        pytest.param(
            "\nB",
            [token("Ċ", ("A", 0.1)), token("B", ("A", 0.2), ("B", 0.6))],
            CHOICE,
            "",
            ("B", 0.25, 0.2),
            id="blank tokens before the option",
        ),
        pytest.param(
            SORRY,
            [token("I", ("I", 0.9), ("A", 0.06), ("B", 0.02))],
            CHOICE,
            "token",
            (None, 0.75, 0.92),
            id="a refusal keeps it by the token rule",
        ),
        pytest.param("I think", [token("I", ("I", 0.9))], CHOICE, "token", (None, None, 1.0), id="no mass"),
        pytest.param("A", [], CHOICE, "token", (None, None, None), id="no log-probabilities"),
        pytest.param("A close call. Answer: B", MOSTLY_A, CHOICE, "lenient", ("B", None, None), id="another"),
        pytest.param(
            '{"choice": "B"}',
            tokens('{"', "choice", '":', ' "', "B", '"}', B=token("B", ("A", 0.1), ("B", 0.7))),
            CHOICE,
            "",
            ("B", 0.125, 0.2),
            id="a JSON value",
        ),
        pytest.param(
            '{"choice": "B"}',
            tokens('{"choice":', ' "B', '"}', B=token(' "B', (' "A', 0.25), (' "B', 0.75))),
            CHOICE,
            "",
            ("B", 0.25, 0.0),
            id="a JSON value with its quotation mark",
        ),
        pytest.param("3", [token("3", *DIGITS)], ratings(4), "", (3, 0.5, 0.2), id="ratings of one digit"),
        pytest.param("1", [token("1", ("1", 0.9))], ratings(10), "", (1, None, None), id="of two digits"),
        pytest.param("safe", SAFE, LABEL, "", ("safe", 0.75, 0.2), id="labels of one token"),
    ],
)
def test_the_probability_is_the_share_among_the_tokens_of_the_options(text, given, response, rule, expected):
    reading = read_answer(Answer(text, tokens=given), response, {}, rule or "default")[0]
    assert reading.value == expected[0]
    for value, known in zip((reading.probability, reading.outside), expected[1:], strict=True):
        assert value == (None if known is None else pytest.approx(known, abs=1e-9))


def test_readings_of_tokens_name_their_rule_order_mean_status_and_what_is_lacking():
    assert read_answer(Answer("A", tokens=MOSTLY_A), CHOICE, {})[0].rule == "choice/token@1"
    reversed_order = read_answer(Answer("A", tokens=MOSTLY_A), CHOICE, {"options": ["B", "A"]})[0]
    assert reversed_order.probability == pytest.approx(0.25)
    rated = read_answer(Answer("3", tokens=[token("3", *DIGITS)]), ratings(4), {})[0]
    assert rated.expected == pytest.approx((3 * 0.4 + 4 * 0.2 + 2 * 0.2) / 0.8)
    sorry = Answer(SORRY, tokens=[token("I", ("I", 0.9), ("A", 0.06), ("B", 0.02))])
    assert read_answer(sorry, CHOICE, {}, "token")[0].status == "refused"
    assert read_answer(Answer("A"), CHOICE, {}, "token")[0].note == "no log-probabilities came"
    whole = Answer('{"choice": "B"}', tokens=tokens('{"', "choice", '":', ' "', "B", '"}'))
    assert read_answer(whole, CHOICE, {})[0].rule == "choice/lenient@1"


@pytest.mark.parametrize(
    ("text", "rule"), [("A person wrote that.", "token"), ("A\n\nFinal answer: B", "default")]
)
def test_a_first_token_that_the_text_belies_is_not_read(text, rule):
    reading = read_answer(Answer(text, tokens=MOSTLY_A), CHOICE, {}, rule)[0]
    assert (reading.value, reading.status) == (None, "unparsed")
