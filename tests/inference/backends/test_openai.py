"""Chat completions: what is sent and how fast, and that every request ends once, whatever a server does."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from cases import cases
from fakes.answers import completion, content_hash
from fakes.recorder import MemoryRecorder, made_up_requests
from fakes.state import LASTING, PASSING

from conjury.inference.backends.openai import live as openai_backend
from conjury.inference.backends.openai.live import OpenAIBackend
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import FINAL, Outcome, Request

SENTINEL = "sentinel-0123456789abcdef"  # of no form that is known for keys


@pytest.fixture
def server(server, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return server


@pytest.fixture
def ask(server, monkeypatch):
    """Ask n requests, or those given, and return the outcomes; ``key`` is that of MY_KEY."""

    def collect(
        requests: int | Iterable[Request] = 1,
        recorder: MemoryRecorder | None = None,
        key: str = "",
        backend: OpenAIBackend | None = None,
        **settings: Any,
    ) -> list[Outcome]:
        if key:
            monkeypatch.setenv("MY_KEY", key)
            settings["key_variable"] = "MY_KEY"
        recorder = recorder or MemoryRecorder()
        backend = backend or OpenAIBackend("tiny", base_url=server.url, **settings)
        backend.run(iter(made_up_requests(requests) if isinstance(requests, int) else requests), recorder)
        return recorder.outcomes

    return collect


def kinds(outcomes: list[Outcome]) -> list[str]:
    return [outcome.kind for outcome in outcomes]


def test_the_body_goes_out_as_it_is_and_the_answer_is_kept_byte_by_byte(server, ask):
    extra = {"structured_outputs": {"choice": ["A", "B"]}, "top_k": 3, "logprobs": True, "top_logprobs": 5}
    [request] = made_up_requests(1, **extra)
    [outcome] = ask([request])
    assert outcome.key == request.key
    assert outcome.body == json.dumps(completion(request.body)).encode()
    assert server.counts()["answered"] == {content_hash(request.body): 1}
    assert (outcome.kind, outcome.attempts) == ("", ())
    assert outcome.seconds > 0


def test_stored_images_are_sent_as_data_uris(server, ask):
    def message(url: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]

    [request] = made_up_requests(1)
    request.body["messages"] = message("media:abc")
    ask([request], MemoryRecorder(media={"abc": ("image/png", b"pixels")}))
    sent = message(f"data:image/png;base64,{base64.b64encode(b'pixels').decode()}")
    assert server.counts()["answered"] == {content_hash({**request.body, "messages": sent}): 1}
    assert request.body["messages"] == message("media:abc")


def test_requests_are_taken_lazily_and_no_more_than_allowed_are_in_flight(server, ask):
    server.configure(latency=0.01)
    recorder, taken, ahead = MemoryRecorder(), 0, []

    def lazily() -> Iterator[Request]:
        nonlocal taken
        for request in made_up_requests(60):
            taken += 1
            ahead.append(taken - len(recorder.outcomes))
            yield request

    assert len(ask(lazily(), recorder, concurrency=8)) == 60
    assert max(ahead) <= 8
    assert server.counts()["peak"] == 8


@pytest.mark.parametrize(("models", "told"), [([], "has 0 models"), (["a", "b"], r"has 2 models \(a, b\)")])
def test_the_model_of_a_server_is_the_only_one_that_it_has(server, models, told):
    server.configure(models=["tiny"])
    assert openai_backend.served_model(server.url, "OPENAI_API_KEY") == "tiny"
    server.configure(models=models)
    with pytest.raises(InputError, match=told):
        openai_backend.served_model(server.url, "OPENAI_API_KEY")
    for status, said in ((300, "redirect"), (400, "does not list its models")):
        server.configure(status=status, error={"message": "No."})
        with pytest.raises(InputError, match=said):
            openai_backend.served_model(server.url, "OPENAI_API_KEY")


def test_a_run_inside_an_event_loop_as_in_a_notebook_answers_and_raises_as_outside(server, ask):
    async def notebook() -> list[Outcome]:
        return ask(3)

    assert kinds(asyncio.run(notebook())) == [""] * 3
    server.configure(status=401)

    async def refused() -> list[Outcome]:
        return ask(3)

    for failing in (lambda: asyncio.run(refused()), lambda: ask(3)):
        with pytest.raises(InputError) as caught:
            failing()
        assert not isinstance(caught.value.__context__, RuntimeError)


# --- keys -----------------------------------------------------------------------------------------


def test_a_local_server_needs_no_key_and_openai_does(server, ask):
    assert kinds(ask(2)) == ["", ""]
    with pytest.raises(InputError, match="environment variable MY_KEY contains no key; set it"):
        OpenAIBackend("tiny", key_variable="MY_KEY")
    server.configure(key=SENTINEL)
    assert kinds(ask(2, key=f"{SENTINEL}\n")) == ["", ""]


def test_the_key_of_openai_goes_to_no_other_server_unless_told(server, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    ask()
    assert server.counts()["keys"] == ["none"]
    for url, key in (
        ("https://api.openai.com.example.org/v1", ""),
        ("http://api.openai.com/v1", ""),
        ("https://api.openai.com/v1/", SENTINEL),
    ):
        assert OpenAIBackend("tiny", base_url=url).endpoint.key == key
    server.configure(key=SENTINEL)
    with pytest.raises(InputError, match=r"requires a key .* name that variable as key_variable"):
        ask()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert kinds(ask()) == [""]


def test_no_key_gets_into_outcomes_settings_or_logs(server, ask, caplog, monkeypatch):
    monkeypatch.setenv("MY_KEY", SENTINEL)
    server.configure(status=500, error={"message": f"{SENTINEL} failed at https://x?key={SENTINEL}"})
    caplog.set_level(logging.DEBUG)
    backend = OpenAIBackend("tiny", base_url=server.url, key_variable="MY_KEY", max_retries=1)
    outcomes = ask(3, backend=backend)
    assert [len(outcome.attempts) for outcome in outcomes] == [2, 2, 2]
    assert server.counts()["keys"] == [SENTINEL]
    told = repr((outcomes, backend.settings(), backend.endpoint, vars(backend))) + caplog.text
    assert SENTINEL not in told


@pytest.mark.parametrize(
    "place", ["https://me:{}@host/v1", "https://host/v1?key={}", "https://host/v1?api-key={}"]
)
def test_an_address_that_holds_a_key_is_refused(place):
    with pytest.raises(InputError, match=r"https://host/v1 contains a key .* into .*MY_KEY") as caught:
        OpenAIBackend("tiny", base_url=place.format(SENTINEL), key_variable="MY_KEY")
    assert SENTINEL not in str(caught.value)


# --- failures of all requests -----------------------------------------------------------------------


@pytest.mark.parametrize(("settings", "sentence"), cases(__file__, "failures_of_all"))
def test_what_concerns_all_requests_is_told_once_in_one_sentence(server, ask, settings, sentence):
    server.configure(**settings)
    recorder = MemoryRecorder()
    with pytest.raises(InputError, match=sentence) as caught:
        ask(100, recorder, key=SENTINEL, concurrency=4)
    assert recorder.outcomes == []
    assert len(server.counts()["arrivals"]) <= 4
    assert server.url in str(caught.value)
    assert SENTINEL not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("status", [403, 404, 405])
def test_what_is_denied_after_an_answer_concerns_one_request(server, ask, status):
    backend = OpenAIBackend("tiny", base_url=server.url, concurrency=1)

    def until_denied() -> Iterator[Request]:
        first, *others = made_up_requests(3)
        yield first
        server.configure(status=status, error={"message": "No."})
        yield from others

    assert kinds(ask(until_denied(), backend=backend)) == ["", "rejected", "rejected"]
    server.configure(key=SENTINEL)
    with pytest.raises(InputError, match="requires a key"):
        ask(backend=backend)


@pytest.mark.parametrize(("concurrency", "n"), [(3, 12), (8, 16)])
def test_a_run_gives_up_when_very_many_requests_in_a_row_fail(server, ask, monkeypatch, concurrency, n):
    monkeypatch.setattr(openai_backend, "PATIENCE", 12)
    server.configure(status=500, error={"message": "Out of memory."})
    recorder = MemoryRecorder()
    with pytest.raises(InputError, match=rf"last {n} requests .* failed .*Out of memory.*run the same"):
        ask(100, recorder, concurrency=concurrency, max_retries=0)
    assert set(kinds(recorder.outcomes)) == {"server"}
    assert n <= len(recorder.outcomes) <= n + concurrency


def test_many_refusals_for_good_are_not_met_by_the_same_command_again(server, ask, monkeypatch):
    monkeypatch.setattr(openai_backend, "PATIENCE", 12)
    server.configure(status=400, error={"message": "Unknown argument: logprobs"})
    with pytest.raises(
        InputError, match=r"all failed .*logprobs.*correct .* another folder with --out"
    ) as end:
        ask(100, concurrency=3)
    assert "run the same command" not in str(end.value)


def test_an_answer_that_comes_too_late_is_not_paid_for_again_at_once(server, ask):
    server.configure(faults={"timeout": 1.0}, repeats=9)
    [outcome] = ask(max_retries=3, timeout=0.2)
    assert (outcome.kind, len(outcome.attempts)) == ("timeout", 1)
    assert len(server.counts()["arrivals"]) == 1


@pytest.mark.long
def test_what_may_have_been_billed_before_a_lasting_refusal_is_recorded(server, ask):
    unusable = {"choices": [], "usage": {"prompt_tokens": 9}, "error": {"code": 500, "message": "Boom."}}
    server.configure(replies=[[200, {}, unusable], [402, {}, {"error": {"message": "Pay."}}]])
    recorder = MemoryRecorder()
    with pytest.raises(InputError, match="no credit left"):
        ask(1, recorder, max_retries=2)
    [outcome] = recorder.outcomes
    assert [attempt.billed for attempt in outcome.attempts] == [True, False]
    assert outcome.kind == "cancelled"


# --- failures of one request ------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "kind"), cases(__file__, "faults"))
def test_each_fault_is_told_by_its_kind(server, ask, fault, kind):
    server.configure(faults={fault: 1.0})
    [outcome] = ask(max_retries=0, timeout=0.4)
    assert (outcome.kind, outcome.body) == (kind, None)
    [attempt] = outcome.attempts
    assert attempt.error
    assert outcome.error.endswith(attempt.error)
    assert (outcome.refused_body is None) == (attempt.status == 0)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("content_filter", "content_filter"), ("content_filter_400", "content_filter"), ("length", "length")],
)
def test_filtered_and_cut_answers_are_answers(server, ask, fault, reason):
    server.configure(faults={fault: 1.0})
    [outcome] = ask()
    answer = json.loads(outcome.body)
    assert answer["choices"][0]["finish_reason"] == reason
    assert answer.get("conjury", {}).get("http_status") == (400 if fault == "content_filter_400" else None)
    assert (outcome.kind, outcome.attempts) == ("", ())


@pytest.mark.parametrize("error", cases(__file__, "moderated"))
def test_a_403_of_a_moderator_is_an_answer_even_at_first(server, ask, error):
    server.configure(status=403, error=error)
    [outcome] = ask()
    assert (outcome.kind, outcome.attempts) == ("", ())
    assert json.loads(outcome.body)["choices"][0]["finish_reason"] == "content_filter"


@pytest.mark.long
def test_failed_exchanges_of_an_answered_request_are_kept(server, ask):
    server.configure(faults={"500": 1.0})
    [outcome] = ask()
    assert outcome.body is not None
    attempts = [(attempt.status, attempt.error) for attempt in outcome.attempts]
    assert attempts == [(500, "The server had an error.")]


@pytest.mark.long
@pytest.mark.parametrize("n", [150, *(pytest.param(n, marks=pytest.mark.slow) for n in (600, 10_000))])
def test_all_faults_at_once_lose_and_swap_no_answer(server, ask, n):
    share = max(0.01, 5 / n)
    server.configure(faults=dict.fromkeys((*PASSING, *LASTING), share), repeats=2, seed=7)
    requests = made_up_requests(n)
    ends: dict[str, Outcome] = {}
    exchanges: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for _ in range(4):
        left = [request for request in requests if request.key not in ends]
        outcomes = ask(left, concurrency=200, timeout=2.0)
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
    counts = server.counts()
    for request in requests:
        expected, answer = completion(request.body), json.loads(ends[request.key].body or b"{}")
        if answer and "conjury" not in answer:
            assert answer["id"] == expected["id"]
            choice = answer["choices"][0]
            whole = choice["finish_reason"] == "stop" and not choice["message"]["refusal"]
            assert answer == expected or not whole
        # an answer that came too late, on a busy machine, was rightly asked for again
        name, sent, missed = content_hash(request.body), exchanges[request.key], late[request.key]
        assert sent - missed <= counts["seen"][name] <= sent
        assert 1 <= counts["answered"][name] <= 1 + missed
    assert counts["seen"].keys() == {content_hash(request.body) for request in requests}
    assert all(counts["faults"][fault] > 0 for fault in (*PASSING, *LASTING))


# --- waits, stops and interrupts ----------------------------------------------------------------------


@pytest.mark.long
def test_a_stop_lets_what_is_in_flight_finish_and_a_later_run_goes_on(server, ask):
    server.configure(latency=0.1)
    backend = OpenAIBackend("tiny", base_url=server.url, concurrency=5)
    outcomes = ask(100, MemoryRecorder(until=lambda ended: ended >= 10), backend=backend)
    assert set(kinds(outcomes)) == {""}
    assert 10 <= len(outcomes) < 20
    assert server.counts()["answered"].keys() == server.counts()["seen"].keys()
    assert len(server.counts()["seen"]) == len(outcomes)
    assert kinds(ask(5, backend=backend)) == [""] * 5


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [{"faults": {"timeout": 1.0}}, {"faults": {"429_retry_after": 1.0}, "retry_after": 60}]
)
def test_what_does_not_end_within_the_grace_is_cancelled(server, ask, settings):
    server.configure(**settings)
    recorder = MemoryRecorder(until=lambda _: len(server.counts()["arrivals"]) >= 4)
    assert kinds(ask(40, recorder, concurrency=4, grace=0.3)).count("cancelled") == 4


def test_a_wait_that_the_server_asks_for_is_noted_while_it_lasts(server, ask):
    server.configure(faults={"429_retry_after": 1.0}, retry_after=300)
    recorder = MemoryRecorder(until=lambda _: bool(recorder.waits))
    ask(4, recorder, concurrency=4, grace=0.1)
    assert recorder.waits == [pytest.approx(300, abs=2)]


def test_a_wait_of_more_than_ten_minutes_ends_the_run_and_any_that_comes_too_early(server, ask):
    backend, recorder = OpenAIBackend("tiny", base_url=server.url, concurrency=3), MemoryRecorder()
    server.configure(faults={"429_retry_after": 1.0}, retry_after=7200)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:\d+/v1 asks to wait for 120 minutes, until 20"):
        ask(20, recorder, backend=backend)
    assert set(kinds(recorder.outcomes)) <= {"rate_limit", "cancelled"}
    assert 1 <= len(recorder.outcomes) <= 6
    seen = len(server.counts()["arrivals"])
    with pytest.raises(InputError, match="asks to wait"):
        ask(20, backend=backend)
    assert len(server.counts()["arrivals"]) == seen <= 3


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("handler", [signal.default_int_handler, _interrupt])
def test_an_interrupt_loses_no_outcome_inside_an_event_loop_or_not(server, ask, handler, inside):
    server.configure(latency=0.05)
    taken: list[str] = []
    recorder = MemoryRecorder()

    def interrupted() -> Iterator[Request]:
        for request in made_up_requests(100):
            taken.append(request.key)
            yield request

    def stop_once(ended: int) -> bool:
        if ended >= 10:
            recorder.until = lambda _: False
            os.kill(os.getpid(), signal.SIGINT)
        return False

    async def notebook() -> None:
        signal.signal(signal.SIGINT, handler)  # asyncio has set its own
        ask(interrupted(), recorder, concurrency=5)

    recorder.until = stop_once
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(notebook()) if inside else ask(interrupted(), recorder, concurrency=5)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(outcome.key for outcome in recorder.outcomes) == sorted(taken)
    assert len(taken) < 100
    assert set(kinds(recorder.outcomes)) == {"", "cancelled"}
