from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome

WORK = """
import itertools, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from conftest import make_request
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Attempt, Outcome

def tell(outcomes):
    lines = "".join(f"{one.key}\\n" for one in outcomes if one.body is not None)
    os.write(1, lines.encode())

os.write(1, b"open\\n")
with Ledger.open(Path(sys.argv[1])) as ledger:
    ledger.on_commit.append(tell)
    first = len(ledger.batches())
    for number in itertools.count(first):
        requests = [make_request(i) for i in range(number * 200, number * 200 + 400)]
        keys = []
        for position, request in enumerate(ledger.pending(requests, chunk=50)):
            if position % 7 == 0:
                ledger.record(Outcome(request.key, kind="timeout", attempts=(Attempt(0, "late", 1.0),)))
            elif position % 5 == 0:
                keys.append(request.key)
            else:
                ledger.record(Outcome(request.key, b'{"content": "%s"}' % request.key.encode()))
        ledger.plan_batch(f"b{number}", "m", keys, "")
        for key in keys:
            ledger.record(Outcome(key, b'{"content": "%s"}' % key.encode(), batch=f"b{number}"))
        ledger.update_batch(f"b{number}", state="collected")
        ledger.ask_again(keys[:3])
"""


def run_and_kill(path: Path, keys: int, delay: float) -> list[str]:
    """End a process ``delay`` seconds after it counted ``keys`` answers; return the keys that it counted."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(path), str(Path(__file__).parent)], stdout=subprocess.PIPE
    )
    told = b"".join(process.stdout.readline() for _ in range(keys + 1))
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.read()
    assert process.wait() == -signal.SIGKILL
    return told[: told.rfind(b"\n") + 1].decode().split()[1:]


def check_killed(path: Path, times: int, seed: int) -> None:
    draw = random.Random(seed)
    counted: set[str] = set()
    for _ in range(times):
        counted.update(run_and_kill(path, draw.choice([0, 1, 300]), draw.random() * 0.1))
        if not path.exists():
            continue
        with Ledger.open(path) as ledger:
            assert ledger.problems() == []
            answered = {
                one.key: one.body for part in ledger.answers() for one in part if one.body is not None
            }
            for batch in ledger.batches(live=True):
                ledger.update_batch(batch.shard, state="failed")
        assert counted <= answered.keys()
        assert all(body == {"content": key} for key, body in answered.items())
    assert counted


@pytest.mark.parametrize("times", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_nothing_that_counted(path, times):
    check_killed(path, times, seed=1)


def test_a_reader_reads_what_a_killed_writer_left(path, make_requests):
    run_and_kill(path, 20, 0)
    before = sorted(path.parent.iterdir())
    with Ledger.open(path, write=False) as ledger:
        assert sum(count.n for count in ledger.counts()) > 0
        assert ledger.problems() == []
    assert sorted(path.parent.iterdir()) == before
    with Ledger.open(path) as ledger:
        list(ledger.pending(make_requests(1)))
        ledger.record(Outcome(make_requests(1)[0].key, b"{}"))
