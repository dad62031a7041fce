"""What a ledger keeps: requests, outcomes, rounds, images and batches."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from fakes.ledgers import answer, answer_all, content, everything, make_requests, states

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Attempt, Outcome, Request, request_key


def test_pending_writes_first_keeps_the_order_and_reads_little_ahead(ledger, path):
    requests, taken = make_requests(100), []

    def watched() -> Iterator[Request]:
        for request in requests:
            taken.append(request)
            yield request

    stream = ledger.pending(watched(), chunk=10)
    first = [next(stream) for _ in range(10)]
    assert len(taken) == 20
    with Ledger.open(path, write=False) as beside:
        assert states(beside)["pending"] >= 10
    assert first + list(stream) == requests
    left, new = requests[:6], make_requests(30, prompt="q")
    stream = ledger.pending([*left, *new, *left, *left[:1], *new, new[0]], chunk=7)
    assert list(stream) == [*left, *new], "each is asked once"
    assert list(ledger.pending(left, chunk=4)) == left, "the next call hands them out again"


def test_pending_passes_over_what_is_answered_or_failed_for_good(ledger):
    requests = make_requests(5)
    asked = list(ledger.pending(requests, chunk=2))
    ledger.record(Outcome(asked[0].key, answer()))
    ledger.record(Outcome(asked[1].key, kind="rejected", error="no"))
    ledger.record(Outcome(asked[2].key, kind="timeout", error="late"))
    assert list(ledger.pending(requests)) == requests[2:]
    assert states(ledger) == {"answered": 1, "rejected": 1, "timeout": 1, "pending": 2}
    assert ledger.without_answer([request.key for request in requests[::-1]]) == 4
    ledger.record(Outcome(asked[1].key, answer()))
    ledger.flush()
    assert states(ledger) == {"answered": 2, "timeout": 1, "pending": 2}


def test_request_and_answer_are_read_back_as_they_were(ledger):
    requests = make_requests(70)
    bodies = {request.key: answer("笑 " * number) for number, request in enumerate(requests)}
    for request in ledger.pending(requests, chunk=50):
        ledger.record(Outcome(request.key, bodies[request.key], seconds=0.5))
    ledger.flush()
    for request in requests:
        assert ledger.request_body(request.key) == request.body
        assert ledger.answer_bodies(request.key) == [bodies[request.key]]
    read = everything(ledger, chunk=32)
    assert [one.key for one in read] == [request.key for request in requests]
    assert content(read[3]) == "笑 笑 笑 "
    assert (read[3].arrangement, read[3].seconds, read[3].attempts) == ({"swap": True}, 0.5, 1)
    assert abs((datetime.now(UTC) - read[3].created).total_seconds()) < 60


def test_counts_tell_judges_and_prompts_apart_and_add_up_tokens(ledger):
    pairs = [("m", "p"), ("m", "q"), ("n", "p")]
    for judge, prompt in pairs:
        answer_all(ledger, make_requests(4, judge, prompt))
    counts = [(c.judge_id, c.prompt_id, c.state, c.n) for c in ledger.counts()]
    assert counts == [(*pair, "answered", 4) for pair in pairs]
    assert [(c.prompt_tokens, c.completion_tokens) for c in ledger.counts()] == [(120, 8)] * 3
    assert {one.judge_id for one in everything(ledger, judge_id="n")} == {"n"}


@pytest.mark.parametrize("message", ["Overloaded.", ""])
def test_failed_exchanges_and_what_came_instead_of_an_answer_are_kept_once(ledger, path, message):
    requests = make_requests(5)
    first, second, third, fourth, fifth = ledger.pending(requests)
    tries = tuple(Attempt(503, message, seconds) for seconds in (1.0, 2.0, 3.0))
    error = f"HTTP 503: {message}" if message else "HTTP 503"
    told: list[Outcome] = []
    ledger.on_commit.append(told.extend)
    ledger.record(Outcome(first.key, kind="server", error=error, attempts=tries))
    ledger.flush()
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT kind, status, seconds FROM attempts ORDER BY id").fetchall()
    assert rows == [("", 503, 1.0), ("", 503, 2.0), ("server", 503, 3.0)]
    ledger.record(Outcome(second.key, answer(), attempts=tries))
    ledger.record(Outcome(third.key, kind="invalid_response", error="no JSON", refused_body=b"<html>"))
    ledger.record(Outcome(fourth.key, b'{"choices": ['))
    ledger.flush()
    read = everything(ledger)
    assert [(one.kind, one.error, one.attempts) for one in read[:3]] == [
        ("server", error, 3),
        ("", "", 4),
        ("invalid_response", "no JSON", 1),
    ]
    assert (read[3].kind, read[3].body) == ("invalid_response", None), "an answer that is no JSON object"
    assert (told[3].kind, told[3].refused_body) == ("invalid_response", b'{"choices": [')
    assert list(ledger.pending(requests)) == [first, third, fourth, fifth]
    ledger.record(Outcome(fifth.key, kind="timeout", error="late", attempts=(Attempt(500, "down", 1.0),)))
    ledger.flush()
    assert everything(ledger)[4].attempts == 2, "the last exchange was not the one that came too late"
    assert ledger.problems() == []


def test_the_first_answer_of_a_round_stays_and_asking_again_keeps_it(ledger):
    requests = make_requests(3)
    first, second, third = ledger.pending(requests)
    told: list[Outcome] = []
    ledger.on_commit.append(told.extend)
    for body in ("A", "A", "B"):
        ledger.record(Outcome(first.key, answer(body)))
    ledger.record(Outcome(first.key, kind="timeout", error="late"))
    ledger.flush()
    read = everything(ledger)[0]
    assert (content(read), read.kind, read.attempts) == ("A", "", 4)
    assert ledger.answer_bodies(first.key) == [answer("A"), answer("B")]
    assert len(told) == 1
    ledger.record(Outcome(second.key, kind="rejected", error="no"))
    ledger.flush()
    assert ledger.ask_again([first.key, first.key, second.key, third.key]) == 2
    assert list(ledger.pending(requests)) == requests
    read = everything(ledger)[0]
    assert (read.kind, read.round) == ("", 1)
    ledger.record(Outcome(first.key, kind="timeout", error="late"))
    ledger.flush()
    assert everything(ledger)[0].body is not None
    assert states(ledger) == {"timeout": 1, "pending": 2}
    ledger.record(Outcome(first.key, answer("C")))
    ledger.flush()
    read = everything(ledger)[0]
    assert (content(read), read.round) == ("C", 2)
    assert ledger.answer_bodies(first.key) == [answer("A"), answer("B"), answer("C")]
    assert sum(count.prompt_tokens for count in ledger.counts()) == 90
    assert ledger.problems() == []


@pytest.mark.parametrize(
    "act",
    [
        lambda ledger: ledger.record(Outcome("nobody", b"{}")),
        lambda ledger: ledger.ask_again(["nobody"]),
        lambda ledger: ledger.request_body("nobody"),
        lambda ledger: ledger.answer_bodies("nobody"),
        lambda ledger: ledger.plan_batch("shard", "m", ["nobody"], "00"),
    ],
)
def test_an_unknown_key_is_named(ledger, act):
    with pytest.raises(InputError, match="request nobody: the ledger knows no such request"):
        act(ledger)


def test_an_outcome_is_an_answer_or_an_error_of_a_known_kind(ledger):
    (request,) = ledger.pending(make_requests(1))
    with pytest.raises(ValueError, match="no kind of error"):
        ledger.record(Outcome(request.key, kind="mood"))
    with pytest.raises(ValueError, match="has no kind"):
        ledger.record(Outcome(request.key, answer(), kind="timeout"))


def test_a_clock_that_goes_back_changes_no_order(ledger, monkeypatch):
    times = iter(range(10**18, 0, -(10**15)))
    monkeypatch.setattr("time.time_ns", lambda: next(times))
    requests = make_requests(20)
    for request in ledger.pending(requests, chunk=3):
        ledger.record(Outcome(request.key, answer("A")))
    ledger.flush()
    ledger.ask_again([requests[4].key])
    ledger.record(Outcome(requests[4].key, answer("B")))
    ledger.flush()
    read = everything(ledger, chunk=7)
    assert [one.key for one in read] == [request.key for request in requests]
    assert content(read[4]) == "B"


def test_many_threads_record_at_once(ledger):
    requests = list(ledger.pending(make_requests(400)))

    def work(part: list[Request]) -> None:
        for request in part:
            ledger.record(Outcome(request.key, answer(request.key)))

    threads = [threading.Thread(target=work, args=(requests[start::8],)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.flush()
    assert states(ledger) == {"answered": 400}
    assert all(content(one) == one.key for one in everything(ledger))


def test_facts_and_images_are_kept_and_images_checked(path):
    pixels = b"\x89PNG" * 1000
    name = hashlib.sha256(pixels).hexdigest()
    with Ledger.open(path) as ledger:
        assert ledger.get("study") is None
        ledger.set("study", {"name": "moderation", "tasks": [1, 2]})
        ledger.set("study", {"name": "modération"})
        ledger.put_media(name, "image/png", pixels)
        ledger.put_media(name, "image/png", pixels)
        with pytest.raises(ValueError, match="SHA-256"):
            ledger.put_media("0" * 64, "image/png", pixels)
        with pytest.raises(InputError, match="is not stored"):
            ledger.media("0" * 64)
    with Ledger.open(path, write=False) as ledger:
        assert ledger.get("study") == {"name": "modération"}
        assert ledger.media(name) == ("image/png", pixels)


def test_plans_and_updates_of_batches_are_checked(ledger):
    keys = [request.key for request in ledger.pending(make_requests(3))]
    ledger.plan_batch("one", "m", keys[:2], "")
    for refused, problem in (
        (("two", "m", keys[1:], ""), "it waits in the batch one"),
        (("one", "m", keys[2:], ""), "batch one: the ledger has a batch of this name"),
        (("three", "n", keys[2:], ""), "it is put to m, not to n"),
    ):
        with pytest.raises(InputError, match=problem):
            ledger.plan_batch(*refused)
    assert [batch.shard for batch in ledger.batches()] == ["one"]
    assert ledger.ask_again(keys) == 0
    with pytest.raises(InputError, match="batch two: the ledger knows no such batch"):
        ledger.update_batch("two", state="ended")
    for fields, problem in (({"state": "lost"}, "no state"), ({"judge_id": "n"}, "no field")):
        with pytest.raises(ValueError, match=problem):
            ledger.update_batch("one", **fields)
    ledger.update_batch("one", state="failed", detail="the file was refused")
    with pytest.raises(ValueError, match="plan a new one"):
        ledger.update_batch("one", state="submitted")
    assert ledger.batches()[0].detail == "the file was refused"


# --- scale ----------------------------------------------------------------------------------------

SYSTEM = " ".join(f"Rule {n} of this platform says that posts must not break rule {n}." for n in range(18))


def make_large(n: int) -> Iterator[Request]:
    for number in range(n):
        images = [f"media:{request_key('', '', str(number), side, {}) * 2}" for side in (1, 2)]
        parts = [{"type": "image_url", "image_url": {"url": image}} for image in images]
        text = {"type": "text", "text": f"Which of the posts of task {number} should go?"}
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": [text, *parts]}]
        body = {"model": "m", "messages": messages}
        yield Request(request_key("m", "p", f"t{number}", 1, body), "m", "p", f"t{number}", 1, body)


@pytest.mark.long
def test_similar_bodies_take_little_room(path):
    requests = list(make_large(2000))
    size = sum(len(json.dumps(request.body)) for request in requests)
    with Ledger.open(path) as ledger:
        for request in ledger.pending(requests):
            ledger.record(Outcome(request.key, answer(request.key)))
    assert path.stat().st_size < size / 3


@pytest.mark.long
def test_memory_of_pending_does_not_grow_with_the_number_of_requests(ledger):
    peaks = []
    for n in (300, 1500):
        tracemalloc.start()
        for _ in ledger.pending(make_large(n), chunk=50):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]
