from __future__ import annotations

import hashlib
import sqlite3
import threading
from datetime import UTC, datetime

import pytest

from conjury.inference.errors import InputError
from conjury.inference.ledger import Answered, Ledger
from conjury.inference.ledger.exchanges import Attempt, Outcome, Request


def states(ledger: Ledger) -> dict[str, int]:
    totals: dict[str, int] = {}
    for count in ledger.counts():
        totals[count.state] = totals.get(count.state, 0) + count.n
    return totals


def everything(ledger: Ledger, **options: object) -> list[Answered]:
    return [answered for part in ledger.answers(**options) for answered in part]


def test_requests_are_on_disk_before_they_are_handed_out(ledger, path, make_requests):
    stream = ledger.pending(make_requests(25), chunk=10)
    next(stream)
    with Ledger.open(path, write=False) as beside:
        assert states(beside)["pending"] >= 10


def test_pending_keeps_the_order_and_reads_little_ahead(ledger, make_requests):
    taken = []

    def watched():
        for request in make_requests(100):
            taken.append(request)
            yield request

    stream = ledger.pending(watched(), chunk=10)
    first = [next(stream) for _ in range(10)]
    assert len(taken) == 20
    assert first + list(stream) == make_requests(100)


@pytest.mark.parametrize("told", ["Overloaded.", ""])
def test_a_failed_exchange_is_stored_once(ledger, path, make_requests, told):
    [request] = ledger.pending(make_requests(1))
    attempts = tuple(Attempt(503, told, seconds) for seconds in (1.0, 2.0, 3.0))
    error = f"HTTP 503: {told}" if told else "HTTP 503"
    ledger.record(Outcome(request.key, kind="server", error=error, attempts=attempts))
    ledger.flush()
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT kind, status, seconds FROM attempts ORDER BY id").fetchall()
    assert rows == [("", 503, 1.0), ("", 503, 2.0), ("server", 503, 3.0)]
    [read] = everything(ledger)
    assert (read.attempts, read.kind, read.error) == (3, "server", error)


def test_pending_passes_over_what_is_answered_or_failed_for_good(ledger, make_requests, answer):
    requests = make_requests(5)
    asked = list(ledger.pending(requests, chunk=2))
    ledger.record(Outcome(asked[0].key, answer()))
    ledger.record(Outcome(asked[1].key, kind="rejected", error="no"))
    ledger.record(Outcome(asked[2].key, kind="timeout", error="late"))
    assert list(ledger.pending(requests)) == requests[2:]
    assert states(ledger) == {"answered": 1, "rejected": 1, "timeout": 1, "pending": 2}


def test_a_request_that_comes_twice_is_asked_once(ledger, make_requests):
    requests = make_requests(30)
    assert list(ledger.pending([*requests, *requests, requests[0], requests[0]], chunk=7)) == requests


def test_request_and_answer_are_read_back_as_they_were(ledger, make_requests, answer):
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
    assert read[3].body["choices"][0]["message"]["content"] == "笑 笑 笑 "
    assert (read[3].arrangement, read[3].seconds, read[3].attempts) == ({"swap": True}, 0.5, 1)
    assert abs((datetime.now(UTC) - read[3].created).total_seconds()) < 60


def test_counts_tell_judges_and_prompts_apart_and_add_up_tokens(ledger, make_requests, answer):
    for judge, prompt in (("m", "p"), ("m", "q"), ("n", "p")):
        for request in ledger.pending(make_requests(4, judge, prompt)):
            ledger.record(Outcome(request.key, answer()))
    ledger.flush()
    assert [(c.judge_id, c.prompt_id, c.state, c.n) for c in ledger.counts()] == [
        ("m", "p", "answered", 4),
        ("m", "q", "answered", 4),
        ("n", "p", "answered", 4),
    ]
    assert [(c.prompt_tokens, c.completion_tokens) for c in ledger.counts()] == [(120, 8)] * 3
    assert {one.judge_id for one in everything(ledger, judge_id="n")} == {"n"}


def test_failed_exchanges_and_what_came_instead_of_an_answer_are_kept(ledger, make_requests, answer):
    first, second, third = ledger.pending(make_requests(3))
    tries = (Attempt(429, "slow down", 0.1), Attempt(503, "overloaded", 0.2))
    ledger.record(Outcome(first.key, kind="server", error="overloaded", attempts=tries))
    ledger.record(Outcome(second.key, answer(), attempts=tries))
    ledger.record(Outcome(third.key, kind="invalid_response", error="no JSON", refused_body=b"<html>"))
    ledger.flush()
    read = everything(ledger)
    assert [(one.kind, one.error, one.attempts) for one in read] == [
        ("server", "overloaded", 2),
        ("", "", 3),
        ("invalid_response", "no JSON", 1),
    ]
    assert ledger.problems() == []


def test_an_answer_that_is_no_json_object_is_kept_as_a_failure(ledger, make_requests):
    (request,) = ledger.pending(make_requests(1))
    told: list[Outcome] = []
    ledger.on_commit.append(told.extend)
    ledger.record(Outcome(request.key, b'{"choices": ['))
    ledger.flush()
    (read,) = everything(ledger)
    assert (read.kind, read.body) == ("invalid_response", None)
    assert [(one.kind, one.refused_body) for one in told] == [("invalid_response", b'{"choices": [')]
    assert list(ledger.pending([request])) == [request]


def test_the_first_answer_of_a_round_stays(ledger, make_requests, answer):
    (request,) = ledger.pending(make_requests(1))
    told: list[Outcome] = []
    ledger.on_commit.append(told.extend)
    for outcome in (
        Outcome(request.key, answer("A")),
        Outcome(request.key, answer("A")),
        Outcome(request.key, answer("B")),
        Outcome(request.key, kind="timeout", error="late"),
    ):
        ledger.record(outcome)
    ledger.flush()
    (read,) = everything(ledger)
    assert read.body["choices"][0]["message"]["content"] == "A"
    assert (read.kind, read.attempts) == ("", 4)
    assert ledger.answer_bodies(request.key) == [answer("A"), answer("B")]
    assert len(told) == 1
    assert ledger.problems() == []


def test_an_answer_after_a_failure_counts(ledger, make_requests, answer):
    (request,) = ledger.pending(make_requests(1))
    ledger.record(Outcome(request.key, kind="rejected", error="no"))
    ledger.record(Outcome(request.key, answer()))
    ledger.flush()
    assert states(ledger) == {"answered": 1}


def test_asking_again_keeps_earlier_answers(ledger, make_requests, answer):
    requests = make_requests(3)
    first, second, third = ledger.pending(requests)
    ledger.record(Outcome(first.key, answer("A")))
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
    ledger.record(Outcome(first.key, answer("B")))
    ledger.flush()
    read = everything(ledger)[0]
    assert (read.body["choices"][0]["message"]["content"], read.round) == ("B", 2)
    assert ledger.answer_bodies(first.key) == [answer("A"), answer("B")]
    assert sum(count.prompt_tokens for count in ledger.counts()) == 60
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


def test_an_outcome_is_an_answer_or_an_error_of_a_known_kind(ledger, make_requests, answer):
    (request,) = ledger.pending(make_requests(1))
    with pytest.raises(ValueError, match="no kind of error"):
        ledger.record(Outcome(request.key, kind="mood"))
    with pytest.raises(ValueError, match="has no kind"):
        ledger.record(Outcome(request.key, answer(), kind="timeout"))


def test_a_clock_that_goes_back_changes_no_order(ledger, make_requests, answer, monkeypatch):
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
    assert read[4].body["choices"][0]["message"]["content"] == "B"


def test_many_threads_record_at_once(ledger, make_requests, answer):
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
    assert all(one.body["choices"][0]["message"]["content"] == one.key for one in everything(ledger))


def test_facts_are_kept(path):
    with Ledger.open(path) as ledger:
        assert ledger.get("study") is None
        ledger.set("study", {"name": "moderation", "tasks": [1, 2]})
        ledger.set("study", {"name": "modération"})
    with Ledger.open(path, write=False) as ledger:
        assert ledger.get("study") == {"name": "modération"}


def test_an_image_is_stored_once_and_checked(ledger, path):
    content = b"\x89PNG" * 1000
    name = hashlib.sha256(content).hexdigest()
    ledger.put_media(name, "image/png", content)
    ledger.put_media(name, "image/png", content)
    assert ledger.media(name) == ("image/png", content)
    with pytest.raises(ValueError, match="SHA-256"):
        ledger.put_media("0" * 64, "image/png", content)
    with pytest.raises(InputError, match="is not stored"):
        ledger.media("0" * 64)
    with Ledger.open(path, write=False) as beside:
        assert beside.media(name) == ("image/png", content)


def test_batches_are_on_disk_with_their_requests_in_order(ledger, path, make_requests, answer):
    requests = make_requests(6)
    keys = [request.key for request in ledger.pending(requests)]
    ledger.plan_batch("m-1", "m", keys[3::-1], "ab" * 32)
    with Ledger.open(path, write=False) as beside:
        (batch,) = beside.batches("m", live=True)
        assert (batch.shard, batch.state, batch.n, batch.sha256) == ("m-1", "planned", 4, "ab" * 32)
        assert beside.batch_keys("m-1") == keys[3::-1]
    assert list(ledger.pending(requests)) == requests[4:]
    ledger.update_batch("m-1", state="submitted", file_id="file-1", batch_id="batch-1")
    ledger.record(Outcome(keys[0], answer(), batch="m-1"))
    ledger.record(Outcome(keys[1], kind="expired", error="expired", batch="m-1"))
    ledger.flush()
    assert {(c.state, c.batch): c.n for c in ledger.counts()} == {
        ("answered", ""): 1,
        ("expired", ""): 1,
        ("pending", ""): 2,
        ("pending", "waiting in a batch"): 2,
    }
    assert ledger.problems() == []
    ledger.update_batch("m-1", state="collected")
    assert list(ledger.pending(requests)) == requests[1:]
    assert ledger.batches(live=True) == []
    (batch,) = ledger.batches()
    assert (batch.state, batch.file_id, batch.batch_id) == ("collected", "file-1", "batch-1")
    assert everything(ledger)[0].batch == "m-1"
    assert ledger.batches("other") == []
    assert ledger.problems() == []


def test_a_request_waits_in_one_batch_only(ledger, make_requests):
    keys = [request.key for request in ledger.pending(make_requests(3))]
    ledger.plan_batch("one", "m", keys[:2], "")
    with pytest.raises(InputError, match="it waits in the batch one"):
        ledger.plan_batch("two", "m", keys[1:], "")
    with pytest.raises(InputError, match="batch one: the ledger has a batch of this name"):
        ledger.plan_batch("one", "m", keys[2:], "")
    with pytest.raises(InputError, match="it is put to m, not to n"):
        ledger.plan_batch("three", "n", keys[2:], "")
    assert [batch.shard for batch in ledger.batches()] == ["one"]
    assert ledger.ask_again(keys) == 0


def test_updates_of_batches_are_checked(ledger, make_requests):
    ledger.plan_batch("one", "m", [request.key for request in ledger.pending(make_requests(1))], "")
    with pytest.raises(InputError, match="batch two: the ledger knows no such batch"):
        ledger.update_batch("two", state="ended")
    with pytest.raises(ValueError, match="no state"):
        ledger.update_batch("one", state="lost")
    with pytest.raises(ValueError, match="no field"):
        ledger.update_batch("one", judge_id="n")
    ledger.update_batch("one", state="failed", detail="the file was refused")
    with pytest.raises(ValueError, match="plan a new one"):
        ledger.update_batch("one", state="submitted")
    assert ledger.batches()[0].detail == "the file was refused"
