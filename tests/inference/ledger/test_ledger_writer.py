from __future__ import annotations

import threading
import time

import pytest
from fakes.ledgers import answer, answer_all, make_requests, states

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger, writer
from conjury.inference.ledger.exchanges import Outcome


def test_an_outcome_counts_only_when_it_is_on_disk(ledger, path):
    seen = []

    def check(outcomes: list[Outcome]) -> None:
        with Ledger.open(path, write=False) as beside:
            seen.extend(beside.answer_bodies(outcome.key) for outcome in outcomes)

    ledger.on_commit.append(check)
    answer_all(ledger, make_requests(20))
    assert seen == [[answer()]] * 20


def test_outcomes_are_committed_in_groups(ledger):
    groups = []
    ledger.on_commit.append(lambda outcomes: groups.append(len(outcomes)))
    ledger.on_commit.append(lambda outcomes: time.sleep(0.02))
    answer_all(ledger, make_requests(100))
    assert sum(groups) == 100
    assert len(groups) < 50


@pytest.mark.long
def test_a_full_queue_holds_back_and_lets_go(ledger, monkeypatch):
    monkeypatch.setattr(writer, "JOBS", 5)
    requests = list(ledger.pending(make_requests(12)))
    gate = threading.Event()
    ledger.on_commit.append(lambda outcomes: gate.wait(30))
    recorded = []

    def work() -> None:
        for request in requests:
            ledger.record(Outcome(request.key, answer()))
            recorded.append(request)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    assert len(recorded) < 12
    gate.set()
    thread.join(30)
    ledger.flush()
    assert len(recorded) == 12
    assert states(ledger) == {"answered": 12}


def test_large_outcomes_fill_the_queue_by_their_bytes(ledger, monkeypatch):
    monkeypatch.setattr(writer, "BYTES", 10_000)
    answer_all(ledger, make_requests(12), answer("long " * 4000))
    assert states(ledger) == {"answered": 12}


def test_who_waits_at_a_full_queue_hears_that_the_writer_died(path, monkeypatch):
    monkeypatch.setattr(writer, "JOBS", 2)
    ledger = Ledger.open(path)
    requests = list(ledger.pending(make_requests(50)))
    gate = threading.Event()

    def fail(outcomes: list[Outcome]) -> None:
        gate.wait(30)
        ledger._writer._desk.db.execute("PRAGMA query_only = ON")

    ledger.on_commit.append(fail)
    heard: list[BaseException] = []

    def work() -> None:
        try:
            for request in requests:
                ledger.record(Outcome(request.key, answer()))
        except InputError as error:
            heard.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert len(heard) == 2
    assert "the ledger cannot be opened or written" in str(heard[0])
    for act in (ledger.flush, lambda: ledger.set("a", 1), ledger.close):
        with pytest.raises(InputError, match=r"ledger\.sqlite: the ledger cannot be opened or written"):
            act()


def test_what_a_callback_raises_loses_no_answer_and_comes_out_of_flush(ledger):
    def fail(outcomes: list[Outcome]) -> None:
        raise RuntimeError("budget")

    ledger.on_commit.append(fail)
    first, second = ledger.pending(make_requests(2))
    ledger.record(Outcome(first.key, answer()))
    with pytest.raises(RuntimeError, match="budget"):
        ledger.flush()
    ledger.on_commit.clear()
    ledger.record(Outcome(second.key, answer()))
    ledger.flush()
    assert states(ledger) == {"answered": 2}


def test_a_refused_job_undoes_itself_alone(ledger):
    requests = list(ledger.pending(make_requests(3)))
    ledger.record(Outcome(requests[0].key, answer()))
    with pytest.raises(InputError):
        ledger.plan_batch("one", "m", [requests[1].key, "nobody"], "")
    ledger.flush()
    assert states(ledger) == {"answered": 1, "pending": 2}
    assert ledger.batches() == []


def test_every_commit_waits_for_the_disk(ledger):
    settings = {
        name: ledger._writer.call(
            lambda connection, name=name: connection.db.execute(f"PRAGMA {name}").fetchone()[0]
        )
        for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_leaving_commits_even_after_an_error_and_leaves_one_plain_file(path):
    def interrupted() -> None:
        with Ledger.open(path) as ledger:
            for request in ledger.pending(make_requests(10)):
                ledger.record(Outcome(request.key, answer()))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sorted(file.name for file in path.parent.iterdir()) == ["ledger.lock", "ledger.sqlite"]
    with Ledger.open(path, write=False) as ledger:
        assert states(ledger) == {"answered": 10}


def test_an_early_read_hides_nothing_that_is_written_later(path):
    for n, before in ((1, 0), (3, 1), (4, 3)):
        with Ledger.open(path) as ledger, Ledger.open(path, write=False) as beside:
            assert states(ledger).get("answered", 0) == states(beside).get("answered", 0) == before
            assert len(answer_all(ledger, make_requests(n))) == n - before
            assert states(ledger) == states(beside) == {"answered": n}
