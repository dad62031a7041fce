"""Whatever a server does: every request ends once, with its own answer or with the right kind of failure."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from fakes.answers import completion, content_hash
from fakes.recorder import MemoryRecorder, made_up_requests
from fakes.server import FakeServer
from fakes.state import LASTING, PASSING

from conjury.inference.backends.openai.live import OpenAIBackend
from conjury.inference.ledger.exchanges import FINAL, Outcome, Request

TIMEOUT = 2.0


@pytest.fixture
def server(server, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)
    return server


def collect(server: FakeServer, requests: list[Request], **settings: Any) -> list[Outcome]:
    recorder = MemoryRecorder()
    OpenAIBackend("tiny", base_url=server.url, **settings).run(iter(requests), recorder)
    return recorder.outcomes


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limit"),
        ("429_retry_after", "rate_limit"),
        ("500", "server"),
        ("503", "server"),
        ("timeout", "timeout"),
        ("drip", "timeout"),
        ("reset", "connection"),
        ("cut", "connection"),
        ("truncated_json", "invalid_response"),
        ("invalid_json", "invalid_response"),
        ("wrong_schema", "invalid_response"),
        ("empty_choices", "invalid_response"),
        ("context_length", "too_large"),
        ("rejected", "rejected"),
    ],
)
def test_each_fault_is_told_by_its_kind(server, fault, kind):
    server.configure(faults={fault: 1.0})
    [outcome] = collect(server, made_up_requests(1), max_retries=0, timeout=0.4)
    assert (outcome.kind, outcome.body) == (kind, None)
    [attempt] = outcome.attempts
    assert attempt.error
    assert outcome.error.endswith(attempt.error)
    assert (outcome.refused_body is None) == (attempt.status == 0)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("content_filter", "content_filter"), ("content_filter_400", "content_filter"), ("length", "length")],
)
def test_filtered_and_cut_answers_are_answers(server, fault, reason):
    server.configure(faults={fault: 1.0})
    [outcome] = collect(server, made_up_requests(1))
    answer = json.loads(outcome.body)
    assert answer["choices"][0]["finish_reason"] == reason
    assert answer.get("conjury", {}).get("http_status") == (400 if fault == "content_filter_400" else None)
    assert (outcome.kind, outcome.attempts) == ("", ())


def test_failed_exchanges_of_an_answered_request_are_kept(server):
    server.configure(faults={"500": 1.0})
    [outcome] = collect(server, made_up_requests(1))
    assert outcome.body is not None
    assert [(attempt.status, attempt.error) for attempt in outcome.attempts] == [
        (500, "The server had an error.")
    ]


@pytest.mark.parametrize("n", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_all_faults_at_once_lose_and_swap_no_answer(server, n):
    lasting = dict.fromkeys(LASTING, 0.01)
    server.configure(faults={**dict.fromkeys(PASSING, 0.01), **lasting}, repeats=2, seed=7)
    requests = made_up_requests(n)
    ends: dict[str, Outcome] = {}
    exchanges: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for _ in range(4):
        left = [request for request in requests if request.key not in ends]
        outcomes = collect(server, left, concurrency=200, timeout=TIMEOUT)
        assert Counter(outcome.key for outcome in outcomes) == Counter(request.key for request in left)
        for outcome in outcomes:
            exchanges[outcome.key] += len(outcome.attempts) + (outcome.body is not None)
            late[outcome.key] += sum(
                "no complete answer within" in attempt.error for attempt in outcome.attempts
            )
            if outcome.body is not None or outcome.kind in FINAL:
                ends[outcome.key] = outcome
        if len(ends) == n:
            break
    assert ends.keys() == {request.key for request in requests}
    for request in requests:
        _check_answer(request, ends[request.key])
    counts = server.counts()
    for request in requests:  # an answer that came too late, on a busy machine, was rightly asked for again
        name, sent, missed = content_hash(request.body), exchanges[request.key], late[request.key]
        assert sent - missed <= counts["seen"][name] <= sent
        assert 1 <= counts["answered"][name] <= 1 + missed
    assert counts["seen"].keys() == {content_hash(request.body) for request in requests}
    assert all(counts["faults"][fault] > 0 for fault in (*PASSING, *LASTING))


def _check_answer(request: Request, end: Outcome) -> None:
    if end.body is None:
        return
    answer = json.loads(end.body)
    expected = completion(request.body)
    if "conjury" not in answer:
        assert answer["id"] == expected["id"]
        choice = answer["choices"][0]
        if choice["finish_reason"] == "stop" and not choice["message"]["refusal"]:
            assert answer == expected


def test_nothing_new_is_sent_while_the_provider_asks_to_wait(server):
    server.configure(faults={"429_retry_after": 0.05}, retry_after=0.4, latency=0.005)
    outcomes = collect(server, made_up_requests(100), concurrency=5)
    counts = server.counts()
    assert {outcome.kind for outcome in outcomes} == {""}
    assert counts["told_to_wait"]
    for moment in counts["told_to_wait"]:
        since = [arrival for arrival in counts["arrivals"] if moment < arrival < moment + 0.4]
        assert len(since) < 5


def test_fewer_requests_fly_while_the_provider_turns_them_away(server):
    server.configure(capacity=8, latency=0.02, retry_after=0.02)
    outcomes = collect(server, made_up_requests(300), concurrency=64, max_retries=20)
    assert {outcome.kind for outcome in outcomes} == {""}
    assert server.counts()["faults"]["capacity"] < 300
