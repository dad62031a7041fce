"""Chat completions: what is sent, how fast, and what is said when nothing can work."""

from __future__ import annotations

import base64
import json
import logging
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fakes.answers import completion, content_hash
from fakes.recorder import MemoryRecorder, made_up_requests
from fakes.server import FakeServer

from conjury.inference.backends.openai import live as openai_backend
from conjury.inference.backends.openai.live import OpenAIBackend
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import Request

SENTINEL = "sentinel-0123456789abcdef"  # of no form that is known for keys


@pytest.fixture
def server(server, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return server


def collect(server: FakeServer, requests: list[Request], **settings: Any) -> MemoryRecorder:
    recorder = MemoryRecorder()
    OpenAIBackend("tiny", base_url=server.url, **settings).run(iter(requests), recorder)
    return recorder


def test_the_body_goes_out_as_it_is_and_the_answer_is_kept_byte_by_byte(server):
    extra = {"structured_outputs": {"choice": ["A", "B"]}, "top_k": 3, "logprobs": True, "top_logprobs": 5}
    [request] = made_up_requests(1, **extra)
    [outcome] = collect(server, [request]).outcomes
    assert outcome.key == request.key
    assert outcome.body == json.dumps(completion(request.body)).encode()
    assert server.counts()["answered"] == {content_hash(request.body): 1}
    assert (outcome.kind, outcome.attempts) == ("", ())
    assert outcome.seconds > 0


def test_stored_images_are_sent_as_data_uris(server):
    [request] = made_up_requests(1)
    parts = [{"type": "image_url", "image_url": {"url": "media:abc"}}]
    request.body["messages"] = [{"role": "user", "content": parts}]
    recorder = MemoryRecorder(media={"abc": ("image/png", b"pixels")})
    OpenAIBackend("tiny", base_url=server.url).run(iter([request]), recorder)
    url = f"data:image/png;base64,{base64.b64encode(b'pixels').decode()}"
    sent = {
        **request.body,
        "messages": [{"role": "user", "content": [{**parts[0], "image_url": {"url": url}}]}],
    }
    assert server.counts()["answered"] == {content_hash(sent): 1}
    assert parts[0]["image_url"]["url"] == "media:abc"


def test_requests_are_taken_lazily_and_no_more_than_allowed_are_in_flight(server):
    server.configure(latency=0.01)
    recorder, taken, ahead = MemoryRecorder(), 0, []

    def lazily() -> Iterator[Request]:
        nonlocal taken
        for request in made_up_requests(60):
            taken += 1
            ahead.append(taken - len(recorder.outcomes))
            yield request

    OpenAIBackend("tiny", base_url=server.url, concurrency=8).run(lazily(), recorder)
    assert len(recorder.outcomes) == 60
    assert max(ahead) <= 8
    assert server.counts()["peak"] == 8


def test_a_limit_of_requests_per_minute_is_kept(server):
    collect(server, made_up_requests(11), requests_per_minute=1200)
    arrivals = server.counts()["arrivals"]
    assert arrivals[-1] - arrivals[0] > 0.45


def test_a_local_server_needs_no_key_and_openai_does(server, monkeypatch):
    assert len(collect(server, made_up_requests(2)).outcomes) == 2
    with pytest.raises(InputError, match="no key in the environment variable MY_KEY; set it"):
        OpenAIBackend("tiny", key_variable="MY_KEY")
    monkeypatch.setenv("MY_KEY", f"{SENTINEL}\n")
    server.configure(key=SENTINEL)
    assert len(collect(server, made_up_requests(2), key_variable="MY_KEY").outcomes) == 2


def test_the_key_of_openai_goes_to_no_other_server_unless_told(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    collect(server, made_up_requests(1))
    assert server.counts()["keys"] == ["none"]
    lookalike = OpenAIBackend("tiny", base_url="https://api.openai.com.example.org/v1")
    assert (
        lookalike.endpoint.key
        == OpenAIBackend("tiny", base_url="http://api.openai.com/v1").endpoint.key
        == ""
    )
    assert OpenAIBackend("tiny", base_url="https://api.openai.com/v1/").endpoint.key == SENTINEL
    server.configure(key=SENTINEL)
    with pytest.raises(InputError, match=r"asks for a key .* name that variable as key_variable"):
        collect(server, made_up_requests(1))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert len(collect(server, made_up_requests(1)).outcomes) == 1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"key": "another"}, "does not accept the key in the environment variable MY_KEY"),
        ({"models": ["large"]}, "knows no model tiny"),
        ({"status": 403, "error": {"message": "Not for you."}}, "does not let the key .* use the model tiny"),
        ({"status": 429, "error": {"message": "Pay.", "code": "insufficient_quota"}}, "has no credit left"),
        ({"status": 402, "error": {"message": "Pay."}}, "has no credit left"),
    ],
)
def test_what_concerns_all_requests_is_told_once_in_one_sentence(server, monkeypatch, settings, sentence):
    monkeypatch.setenv("MY_KEY", SENTINEL)
    server.configure(**settings)
    recorder = MemoryRecorder()
    backend = OpenAIBackend("tiny", base_url=server.url, key_variable="MY_KEY", concurrency=4)
    with pytest.raises(InputError, match=sentence) as caught:
        backend.run(iter(made_up_requests(100)), recorder)
    assert recorder.outcomes == []
    assert len(server.counts()["arrivals"]) <= 4
    assert server.url in str(caught.value)
    assert SENTINEL not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("status", [403, 404, 405])
def test_what_is_denied_after_an_answer_concerns_one_request(server, status):
    backend, recorder = OpenAIBackend("tiny", base_url=server.url, concurrency=1), MemoryRecorder()

    def until_denied() -> Iterator[Request]:
        first, *others = made_up_requests(3)
        yield first
        server.configure(status=status, error={"message": "No."})
        yield from others

    backend.run(until_denied(), recorder)
    assert [outcome.kind for outcome in recorder.outcomes] == ["", "rejected", "rejected"]
    server.configure(key=SENTINEL)
    with pytest.raises(InputError, match="asks for a key"):
        backend.run(iter(made_up_requests(1)), recorder)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Your input was flagged."},
        {"message": "No.", "code": "content_policy"},
        {"message": "No.", "code": 403, "metadata": {"reasons": ["violence"], "flagged_input": "Post"}},
        {"message": "Input requires moderation on this provider."},
    ],
)
def test_a_403_of_a_moderator_is_an_answer_even_at_first(server, error):
    server.configure(status=403, error=error)
    [outcome] = collect(server, made_up_requests(1)).outcomes
    assert (outcome.kind, outcome.attempts) == ("", ())
    assert json.loads(outcome.body)["choices"][0]["finish_reason"] == "content_filter"


def test_a_run_gives_up_when_very_many_requests_in_a_row_fail(server, monkeypatch):
    monkeypatch.setattr(openai_backend, "PATIENCE", 12)
    server.configure(status=500, error={"message": "Out of memory."})
    recorder = MemoryRecorder()
    backend = OpenAIBackend("tiny", base_url=server.url, concurrency=3, max_retries=0)
    with pytest.raises(InputError, match=r"last 12 requests .* failed .*Out of memory.*run the same command"):
        backend.run(iter(made_up_requests(100)), recorder)
    assert {outcome.kind for outcome in recorder.outcomes} == {"server"}
    assert 12 <= len(recorder.outcomes) <= 15


def test_no_key_gets_into_outcomes_settings_or_logs(server, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", SENTINEL)
    server.configure(status=500, error={"message": f"{SENTINEL} failed at https://x?key={SENTINEL}"})
    caplog.set_level(logging.DEBUG)
    backend = OpenAIBackend("tiny", base_url=server.url, key_variable="MY_KEY", max_retries=1)
    recorder = MemoryRecorder()
    backend.run(iter(made_up_requests(3)), recorder)
    assert [len(outcome.attempts) for outcome in recorder.outcomes] == [2, 2, 2]
    assert server.counts()["keys"] == [SENTINEL]
    told = repr((recorder.outcomes, backend.settings(), backend.endpoint, vars(backend))) + caplog.text
    assert SENTINEL not in told


@pytest.mark.parametrize(
    "place", ["https://me:{}@host/v1", "https://host/v1?key={}", "https://host/v1?api-key={}"]
)
def test_an_address_that_holds_a_key_is_refused(place):
    with pytest.raises(
        InputError, match=r"https://host/v1 was given with a key .* put that into .*MY_KEY"
    ) as caught:
        OpenAIBackend("tiny", base_url=place.format(SENTINEL), key_variable="MY_KEY")
    assert SENTINEL not in str(caught.value)


def test_a_stop_lets_what_is_in_flight_finish_and_a_later_run_goes_on(server):
    server.configure(latency=0.1)
    recorder = MemoryRecorder(until=lambda ended: ended >= 10)
    backend = OpenAIBackend("tiny", base_url=server.url, concurrency=5)
    backend.run(iter(made_up_requests(100)), recorder)
    assert {outcome.kind for outcome in recorder.outcomes} == {""}
    assert 10 <= len(recorder.outcomes) < 20
    assert server.counts()["answered"].keys() == server.counts()["seen"].keys()
    assert len(server.counts()["seen"]) == len(recorder.outcomes)
    again = MemoryRecorder()
    backend.run(iter(made_up_requests(5)), again)
    assert [outcome.kind for outcome in again.outcomes] == [""] * 5


@pytest.mark.parametrize(
    "settings", [{"faults": {"timeout": 1.0}}, {"faults": {"429_retry_after": 0.5}, "retry_after": 60}]
)
def test_what_does_not_end_within_the_grace_is_cancelled(server, settings):
    server.configure(**settings)
    began = time.monotonic()
    recorder = MemoryRecorder(until=lambda _: time.monotonic() > began + 0.3)
    backend = OpenAIBackend("tiny", base_url=server.url, concurrency=4, grace=0.3)
    backend.run(iter(made_up_requests(40)), recorder)
    assert time.monotonic() - began < 3
    assert Counter(outcome.kind for outcome in recorder.outcomes)["cancelled"] == 4


def test_a_wait_that_was_asked_for_holds_over_runs(server):
    backend, recorder = (
        OpenAIBackend("tiny", base_url=server.url, concurrency=2, max_retries=0),
        MemoryRecorder(),
    )
    server.configure(faults={"429_retry_after": 1.0}, retry_after=0.5)
    backend.run(iter(made_up_requests(1)), recorder)
    told = time.monotonic()
    server.configure()
    backend.run(iter(made_up_requests(1)), recorder)
    assert [outcome.kind for outcome in recorder.outcomes] == ["rate_limit", ""]
    assert time.monotonic() - told > 0.3


def test_a_wait_of_more_than_ten_minutes_ends_the_run_and_any_that_comes_too_early(server):
    backend, recorder = OpenAIBackend("tiny", base_url=server.url, concurrency=3), MemoryRecorder()
    server.configure(faults={"429_retry_after": 1.0}, retry_after=7200)
    began = time.monotonic()
    with pytest.raises(
        InputError, match=r"127\.0\.0\.1:\d+/v1 asks to wait for 120 minutes, until 20.*run the"
    ):
        backend.run(iter(made_up_requests(20)), recorder)
    assert {outcome.kind for outcome in recorder.outcomes} <= {"rate_limit", "cancelled"}
    assert 1 <= len(recorder.outcomes) <= 6
    seen = len(server.counts()["arrivals"])
    with pytest.raises(InputError, match="asks to wait"):
        backend.run(iter(made_up_requests(20)), recorder)
    assert len(server.counts()["arrivals"]) == seen <= 3
    assert time.monotonic() - began < 10


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("handler", [signal.default_int_handler, _interrupt])
def test_an_interrupt_loses_no_outcome(server, handler):
    server.configure(latency=0.05)
    requests = made_up_requests(100)
    taken: list[str] = []

    def interrupted() -> Iterator[Request]:
        for request in requests:
            taken.append(request.key)
            yield request

    recorder = MemoryRecorder()

    def stop_once(ended: int) -> bool:
        if ended >= 10:
            recorder.until = lambda _: False
            signal.raise_signal(signal.SIGINT)
        return False

    recorder.until = stop_once
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            OpenAIBackend("tiny", base_url=server.url, concurrency=5).run(interrupted(), recorder)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(outcome.key for outcome in recorder.outcomes) == sorted(taken)
    assert {outcome.kind for outcome in recorder.outcomes} == {"", "cancelled"}
