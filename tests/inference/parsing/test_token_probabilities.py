from __future__ import annotations

import math
from typing import Any

import pytest
from cases import cases

from conjury.inference.parsing import Answer, LabelSpec, ResponseSpec, ScaleSpec, read_answer

CHOICE = ResponseSpec("choice")
LABEL = ResponseSpec("label", labels=(LabelSpec("safe"), LabelSpec("explicit")))


RATINGS, TEN = (ResponseSpec("ratings", scales=(ScaleSpec("humor", 0, high),)) for high in (4, 10))
FORMS = {"choice": CHOICE, "label": LABEL, "ratings": RATINGS, "ten": TEN}


def token(token: str, *top: tuple[str, float], p: float = 0.5) -> dict[str, Any]:
    entries = [{"token": word, "logprob": math.log(share)} for word, share in top]
    return {"token": token, "logprob": math.log(dict(top).get(token, p)), "top_logprobs": entries}


def tokens(given: list[Any]) -> list[dict[str, Any]]:
    """Tokens of an answer: those with shares of tokens, and others, which are near certain."""
    return [
        token(part, (part, 0.99)) if isinstance(part, str) else token(part[0], *part[1].items(), p=0.2)
        for part in given
    ]


DIGITS = ("3", {"3": 0.4, "4": 0.2, " 2": 0.2, "9": 0.1, "x": 0.1})
SORRY = "I'm sorry, I can't help with that."
MOSTLY_A = [token("A", ("A", 0.6), ("B", 0.2))]


@pytest.mark.parametrize(
    ("text", "given", "form", "rule", "expected"),
    [pytest.param(*row, id=name) for name, *row in cases(__file__, "shares")],
)
def test_the_probability_is_the_share_among_the_tokens_of_the_options(text, given, form, rule, expected):
    reading = read_answer(Answer(text, tokens=tokens(given)), FORMS[form], {}, rule)[0]
    assert reading.value == expected[0]
    for value, known in zip((reading.probability, reading.outside), expected[1:], strict=True):
        assert value == (None if known is None else pytest.approx(known, abs=1e-9))


def test_readings_of_tokens_name_their_rule_order_mean_status_and_what_is_lacking():
    assert read_answer(Answer("A", tokens=MOSTLY_A), CHOICE, {})[0].rule == "choice/token@2"
    reversed_order = read_answer(Answer("A", tokens=MOSTLY_A), CHOICE, {"options": ["B", "A"]})[0]
    assert reversed_order.probability == pytest.approx(0.25)
    rated = read_answer(Answer("3", tokens=tokens([DIGITS])), RATINGS, {})[0]
    assert rated.expected == pytest.approx((3 * 0.4 + 4 * 0.2 + 2 * 0.2) / 0.8)
    sorry = Answer(SORRY, tokens=[token("I", ("I", 0.9), ("A", 0.06), ("B", 0.02))])
    assert read_answer(sorry, CHOICE, {}, "token")[0].status == "refused"
    assert read_answer(Answer("A"), CHOICE, {}, "token")[0].note == "no log-probabilities came"
    whole = Answer('{"choice": "B"}', tokens=tokens(['{"', "choice", '":', ' "', "B", '"}']))
    assert read_answer(whole, CHOICE, {})[0].rule == "choice/lenient@2"


@pytest.mark.parametrize(
    ("text", "rule"), [("A person wrote that.", "token"), ("A\n\nFinal answer: B", "default")]
)
def test_a_first_token_that_the_text_belies_is_not_read(text, rule):
    reading = read_answer(Answer(text, tokens=MOSTLY_A), CHOICE, {}, rule)[0]
    assert (reading.value, reading.status) == (None, "unparsed")


@pytest.mark.parametrize(
    ("text", "given", "form", "expected"),
    [pytest.param(*row, id=name) for name, *row in cases(__file__, "short_lists")],
)
def test_where_few_tokens_are_listed_the_probability_is_a_bound_and_not_one(text, given, form, expected):
    reading = read_answer(Answer(text, tokens=tokens(given)), FORMS[form], {})[0]
    assert (reading.value, reading.probability) == (expected[0], pytest.approx(expected[1]))
    assert ("the probability is a bound" in reading.note) == expected[2]
    assert (reading.outside is None, reading.expected is None) == (
        expected[2],
        expected[2] or form != "ratings",
    )
