from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome, Request, request_key

SYSTEM = " ".join(
    f"Rule {number} of this platform says that posts must not break rule {number}." for number in range(18)
)


def make_large(n: int) -> Iterator[Request]:
    for number in range(n):
        images = [f"media:{request_key('', '', str(number), side, {}) * 2}" for side in (1, 2)]
        parts = [{"type": "image_url", "image_url": {"url": image}} for image in images]
        text = {"type": "text", "text": f"Which of the posts of task {number} should go?"}
        body = {
            "model": "m",
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": [text, *parts]}],
        }
        yield Request(request_key("m", "p", f"t{number}", 1, body), "m", "p", f"t{number}", 1, body)


def compose(key: str) -> bytes:
    message = {"role": "assistant", "content": "A", "refusal": None}
    usage = {"prompt_tokens": 300, "completion_tokens": 1, "total_tokens": 301}
    return json.dumps({"id": key, "choices": [{"index": 0, "message": message}], "usage": usage}).encode()


def test_similar_bodies_take_little_room(path):
    requests = list(make_large(2000))
    size = sum(len(json.dumps(request.body)) for request in requests)
    with Ledger.open(path) as ledger:
        for request in ledger.pending(requests):
            ledger.record(Outcome(request.key, compose(request.key)))
    assert path.stat().st_size < size / 3


def test_memory_of_pending_does_not_grow_with_the_number_of_requests(ledger):
    peaks = []
    for n in (300, 1500):
        tracemalloc.start()
        for _ in ledger.pending(make_large(n), chunk=50):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.slow
def test_pending_takes_200_000_requests_in_flat_memory(ledger):
    if sys.platform != "linux":
        pytest.skip("memory is read from /proc")
    used = []
    for number, _ in enumerate(ledger.pending(make_large(200_000))):
        if number in (60_000, 199_999):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            used.append(pages * resource.getpagesize())
    print(f"memory after 60,000 and 200,000: {used[0] / 1e6:.0f} and {used[1] / 1e6:.0f} MB")
    assert used[1] - used[0] < 30e6


@pytest.mark.slow
def test_60_000_requests_are_registered_in_5_seconds_of_computing(ledger):
    began = time.process_time()
    for _ in make_large(60_000):
        pass
    building = time.process_time() - began
    began, clock = time.process_time(), time.perf_counter()
    for _ in ledger.pending(make_large(60_000)):
        pass
    used = time.process_time() - began - building
    print(f"registering: {used:.1f} s of computing; with building {time.perf_counter() - clock:.1f} s")
    assert used < 5


@pytest.mark.slow
def test_an_outcome_takes_less_than_a_3000th_of_a_second_of_computing(ledger):
    keys = [request.key for request in ledger.pending(make_large(30_000))]
    began, clock = time.process_time(), time.perf_counter()
    for key in keys:
        ledger.record(Outcome(key, compose(key)))
    ledger.flush()
    used, lasted = time.process_time() - began, time.perf_counter() - clock
    print(f"{len(keys) / lasted:,.0f} outcomes a second, {len(keys) / used:,.0f} a second of computing")
    assert used < len(keys) / 3000


@pytest.mark.slow
def test_a_million_responses_open_and_count_in_2_seconds(path):
    with Ledger.open(path) as ledger:
        for request in ledger.pending(make_large(1000)):
            ledger.record(Outcome(request.key, compose(request.key)))
    multiply(path, 1000)
    for write in (False, True):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began = time.perf_counter()
        with Ledger.open(path, write=write) as ledger:
            (count,) = ledger.counts()
            seconds = time.perf_counter() - began
        print(f"write={write}: {seconds:.2f} s, {path.stat().st_size / 1e6:,.0f} MB")
        assert (count.state, count.n, count.prompt_tokens) == ("answered", 1_000_000, 300_000_000)
        assert seconds < 2


def multiply(path: Path, times: int) -> None:
    """Put ``times`` as many requests and responses into a ledger of 1,000."""
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times - 1})"
    changes = {
        "requests": {"id": "id + 1000 * i", "key": "lower(hex(randomblob(16)))"},
        "responses": {"id": "id + 1000 * i", "request": "request + 1000 * i"},
        "standings": {"request": "request + 1000 * i", "response": "response + 1000 * i"},
    }
    db = sqlite3.connect(path)
    for table, change in changes.items():
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(change.get(column, column) for column in columns)
        db.execute(
            f"INSERT INTO {table} {numbers} SELECT {values} FROM n CROSS JOIN {table} "
            f"WHERE {columns[0]} <= 1000"
        )
    db.commit()
    db.close()
    with path.open("rb") as file:
        os.fsync(file.fileno())
