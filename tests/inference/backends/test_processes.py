"""Requests shared by processes: each ends once, whatever ends the run or one of its processes."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fakes.answers import completion, content_hash
from fakes.recorder import MemoryRecorder, made_up_requests
from fakes.server import FakeServer
from fakes.state import LASTING, PASSING

from conjury.inference.backends.openai.live import OpenAIBackend
from conjury.inference.backends.openai.processes import (
    OpenAIProcesses,
    as_outcome,
    read_frame,
    write_frame,
    write_outcome,
)
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import FINAL, TRANSIENT, Attempt, Outcome, Request

SENTINEL = "sentinel-0123456789abcdef"


def shared(server: FakeServer, n: int = 2, **settings: Any) -> OpenAIProcesses:
    return OpenAIProcesses(OpenAIBackend("tiny", base_url=server.url, **settings), n)


def ends(recorder: MemoryRecorder) -> Counter[str]:
    return Counter(outcome.key for outcome in recorder.outcomes)


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("a", b"{}", seconds=0.5),
        Outcome("b", kind="server", error="no \u00e9", attempts=(Attempt(500, "no", 1.0, billed=True),)),
        Outcome("c", kind="invalid_response", error="no", refused_body=b"\x00\xff", batch="x"),
        Outcome("d", b""),
    ],
)
def test_an_outcome_comes_back_from_a_frame_as_it_was(outcome: Outcome) -> None:
    file = io.BytesIO()
    write_outcome(file, outcome)
    frame = read_frame(io.BytesIO(file.getvalue()))
    assert frame is not None
    assert as_outcome(*frame) == outcome
    assert read_frame(io.BytesIO(file.getvalue()[:-1] if frame[1] else b"\x00")) is None


def test_a_frame_that_is_cut_is_no_frame() -> None:
    file = io.BytesIO()
    write_frame(file, {"key": "a"}, b"one", b"two")
    whole = file.getvalue()
    assert read_frame(io.BytesIO(whole)) == ({"key": "a"}, [b"one", b"two"])
    assert all(read_frame(io.BytesIO(whole[:n])) is None for n in range(len(whole)))


def test_processes_lose_and_swap_no_answer(server: FakeServer) -> None:
    faults = ("429", "500", "reset", "cut", "invalid_json", *LASTING)
    assert set(faults) <= {*PASSING, *LASTING}
    server.configure(faults=dict.fromkeys(faults, 0.03), repeats=1, seed=7)
    requests, recorder, lately = made_up_requests(60), MemoryRecorder(), [0]

    def lazily() -> Iterator[Request]:
        for number, request in enumerate(requests):
            lately.append(number + 1 - len(recorder.outcomes))
            yield request

    backend = shared(server, 2, concurrency=30)
    backend.run(lazily(), recorder)
    assert ends(recorder) == Counter(request.key for request in requests)
    assert max(lately) <= 30 + 15
    counts = server.counts()
    assert counts["peak"] <= 30
    bodies = {outcome.key: outcome for outcome in recorder.outcomes}
    for request in requests:
        outcome = bodies[request.key]
        if outcome.body is None:
            assert outcome.kind in (*FINAL, *TRANSIENT)
        elif b"conjury" not in outcome.body:
            assert json.loads(outcome.body)["id"] == completion(request.body)["id"]
        assert counts["answered"].get(content_hash(request.body), 0) <= 1
    assert sum(outcome.body is not None for outcome in recorder.outcomes) > 40
    assert backend.settings()["processes"] == 2


@pytest.mark.long
def test_stored_images_are_in_what_processes_send_and_a_limit_on_costs_lets_none_wait(
    server: FakeServer,
) -> None:
    def message(url: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]

    class Capped(MemoryRecorder):
        capped = True

    requests, most = made_up_requests(12), [0]
    requests[0].body["messages"] = message("media:abc")
    recorder = Capped(media={"abc": ("image/png", b"pixels")})

    def lazily() -> Iterator[Request]:
        for number, request in enumerate(requests):
            most.append(number + 1 - len(recorder.outcomes))
            yield request

    shared(server, 2, concurrency=4).run(lazily(), recorder)
    assert max(most) <= 4
    sent = message(f"data:image/png;base64,{base64.b64encode(b'pixels').decode()}")
    assert server.counts()["answered"][content_hash({**requests[0].body, "messages": sent})] == 1


@pytest.mark.long
def test_a_stop_lets_what_is_in_flight_finish_and_records_nothing_that_was_not_sent(
    server: FakeServer,
) -> None:
    server.configure(latency=0.1)
    recorder = MemoryRecorder(until=lambda ended: ended >= 10)
    shared(server, 2, concurrency=6).run(iter(made_up_requests(100)), recorder)
    assert {outcome.kind for outcome in recorder.outcomes} == {""}
    assert 10 <= len(recorder.outcomes) <= 22
    assert len(server.counts()["seen"]) == len(recorder.outcomes)


@pytest.mark.long
def test_a_stop_after_all_was_handed_on_cancels_what_does_not_end_within_the_grace(
    server: FakeServer,
) -> None:
    server.configure(faults={"timeout": 1.0})
    recorder = MemoryRecorder(until=lambda _: len(server.counts()["seen"]) == 4)
    shared(server, 2, concurrency=4, grace=0.3).run(iter(made_up_requests(4)), recorder)
    assert [outcome.kind for outcome in recorder.outcomes] == ["cancelled"] * 4


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes")
@pytest.mark.parametrize("killed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_process_that_is_killed_costs_what_it_had_and_nothing_else(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    server.configure(latency=0.05)
    started: list[Any] = []
    popen = subprocess.Popen

    def noted(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    recorder, requests = MemoryRecorder(), made_up_requests(60)

    def kill_once(ended: int) -> bool:
        if ended >= 10:
            recorder.until = lambda _: False
            for process in started[:killed]:
                os.kill(process.pid, signal.SIGKILL)
        return False

    recorder.until = kill_once
    backend = shared(server, 2, concurrency=4)
    if killed == 2:
        with pytest.raises(InputError, match="have ended; answers so far are kept"):
            backend.run(iter(requests), recorder)
    else:
        backend.run(iter(requests), recorder)
    lost = [outcome for outcome in recorder.outcomes if outcome.kind]
    assert 1 <= len(lost) <= 3 * killed
    assert {(outcome.kind, outcome.attempts[0].billed) for outcome in lost} == {("connection", True)}
    assert max(ends(recorder).values()) == 1
    assert killed == 2 or len(recorder.outcomes) == 60


@pytest.mark.long
def test_an_interrupt_keeps_what_came_and_records_the_rest_as_cancelled(server: FakeServer) -> None:
    server.configure(latency=0.05)
    taken: list[str] = []
    recorder = MemoryRecorder()

    def noted() -> Iterator[Request]:
        for request in made_up_requests(100):
            taken.append(request.key)
            yield request

    def interrupt(ended: int) -> bool:
        if ended >= 10:
            recorder.until = lambda _: False
            raise KeyboardInterrupt
        return False

    recorder.until = interrupt
    with pytest.raises(KeyboardInterrupt):
        shared(server, 2, concurrency=6).run(noted(), recorder)
    assert ends(recorder) == Counter(taken)
    assert {outcome.kind for outcome in recorder.outcomes} == {"", "cancelled"}


@pytest.mark.long
def test_what_concerns_all_requests_ends_the_run_in_one_sentence_without_the_key(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SENTINEL)
    server.configure(key="another")
    recorder = MemoryRecorder()
    with pytest.raises(InputError, match="MY_KEY") as refused:
        shared(server, 2, concurrency=4, key_variable="MY_KEY").run(iter(made_up_requests(30)), recorder)
    assert SENTINEL not in str(refused.value) + repr(recorder.outcomes)
    assert len(recorder.outcomes) <= 6


def test_more_processes_than_requests_in_flight_are_refused(server: FakeServer) -> None:
    with pytest.raises(InputError, match="give 1 to 3 processes"):
        shared(server, 4, concurrency=3)
