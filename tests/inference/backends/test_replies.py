"""The gate of all answers: what status, headers and body of an exchange mean."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.backends.openai import waits
from conjury.inference.backends.openai.failures import common_error
from conjury.inference.backends.openai.replies import pass_gate, read_reply
from conjury.inference.ledger.exchanges import FINAL, TRANSIENT, Attempt, Outcome
from conjury.inference.parsing import read_completion

COLUMNS = ("name", "status", "headers", "body", "kind", "words", "wait", "again")


def content_of(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@pytest.mark.parametrize(COLUMNS, cases(__file__, "exchanges"))
def test_an_exchange_means_what_the_server_states_wherever_it_states_it(
    name, status, headers, body, kind, words, wait, again
):
    reply = read_reply(status, lower(headers), content_of(body), model="m")
    assert (reply.kind, reply.wait, reply.is_worth_repeating) == (kind, pytest.approx(wait), again)
    assert words in reply.error
    assert (reply.body is None) == bool(kind)
    assert kind in ("", *TRANSIENT, *FINAL)


@pytest.mark.parametrize(COLUMNS, cases(__file__, "exchanges"))
def test_the_gate_and_the_reader_agree_on_what_is_an_answer(
    name, status, headers, body, kind, words, wait, again
):
    if status == 200 and isinstance(body, dict) and name != "filtered":
        is_filter = not kind and "error" in body
        assert bool(read_completion(body).error) == (bool(kind) or is_filter)


@pytest.mark.parametrize(("status", "headers", "seconds"), cases(__file__, "headers"))
def test_waits_stand_in_headers_of_every_provider(monkeypatch, status, headers, seconds):
    monkeypatch.setattr(waits, "time", SimpleNamespace(time=lambda: 1000.0))
    assert waits.asked_wait(status, headers) == pytest.approx(seconds)


def test_a_key_in_an_error_is_in_no_message_and_no_code():
    secret = "sentinel-0123456789abcdef"
    body = {"error": {"code": f"bad_{secret}", "message": f"No {secret}", "type": secret}}
    assert secret not in repr(read_reply(400, {}, json.dumps(body).encode(), (secret,)))


def test_a_quota_of_a_day_ends_a_run_with_the_remedy():
    row = next(row for row in cases(__file__, "exchanges") if "PerDay" in json.dumps(row))
    failure = read_reply(429, {}, content_of(row[3])).failure
    assert failure is not None
    error = common_error(failure, model="m", base_url="https://g.example/v1", key_variable="K")
    assert str(error).startswith("The quota of a day at https://g.example/v1 is used up")


def test_what_is_no_answer_passes_no_door_as_one():
    body = content_of({"choices": [{"message": {"content": "A"}, "finish_reason": "error"}], "usage": {}})
    before = Attempt(500, "Boom.", 0.1)
    outcome = pass_gate(Outcome("k", body, seconds=0.5, attempts=(before,), batch="shard"))
    assert (outcome.body, outcome.kind, outcome.refused_body, outcome.batch) == (
        None,
        "server",
        body,
        "shard",
    )
    assert [attempt.error for attempt in outcome.attempts] == ["Boom.", "the answer ended by 'error'"]
    answer = Outcome("k", content_of({"choices": [{"message": {"content": "A"}}]}))
    assert pass_gate(answer) is answer


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("error", "choices", "message", "content", "code", "finish_reason", "usage", "detail")
            ),
            parts,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=30, deadline=None)
@given(JSON, st.sampled_from((0, 200, 400, 429, 500)))
def test_whatever_comes_is_an_answer_or_has_a_kind(body, status):
    reply = read_reply(status, {}, json.dumps(body).encode())
    assert (reply.body is not None) != (reply.kind in (*TRANSIENT, *FINAL))
    assert reply.body is not None or reply.error


HUGE = 10**400


@pytest.mark.parametrize(
    "error",
    [
        {"retry_after": HUGE},
        {"retry_after": {"seconds": HUGE, "nanos": {"seconds": 1}}},
        {"code": "9" * 5000},
        {"message": json.loads("[" * 900 + "1" + "]" * 900)},
    ],
)
@pytest.mark.parametrize("status", [200, 400, 429])
def test_numbers_and_nesting_beyond_measure_are_read_as_an_error(status, error):
    reply = read_reply(status, {}, json.dumps({"error": {"message": "m", **error}}).encode())
    assert reply.kind
    assert reply.wait <= waits.LONGEST
