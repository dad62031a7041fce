"""Ctrl-C stops a run, and ``kill -9`` at random moments loses nothing and asks nothing recorded again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.server import TESTS, FakeServer
from fakes.studies import collect, table, verdicts
from pandas.testing import assert_frame_equal

from conjury.inference.collecting.recorder import interruptible
from conjury.inference.ledger import Ledger


class Killer:
    """A process that runs a command and kills it, time after time."""

    def __init__(self, arguments: list[str], seconds: float, n: int, run: Path) -> None:
        told = [json.dumps(arguments), str(random.Random(n).randrange(1000)), str(seconds), str(n), str(run)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fakes.killed_run", *told],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def next(self) -> tuple[int, list[str]]:
        """Return the exit code of the next command, and what has an answer since."""
        code, answered = json.loads(self.process.stdout.readline())
        return code, answered

    def go_on(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


def check(study: Path, folder: Path, server: FakeServer, n: int, *options: str) -> None:
    """Kill a run n times, let it end, and compare it with an undisturbed one."""
    server.configure(latency=0.02)
    collect(study, folder / "first", base_url=server.url, pairs=1)
    began = time.monotonic()
    collect(study, folder / "undisturbed", base_url=server.url, concurrency=4)
    seconds = time.monotonic() - began
    server.configure(latency=0.02)
    run, batch = folder / "killed", "--batch" in options
    arguments = ["collect", str(study), "--judge", "judge", "--base-url", server.url, "--out", str(run)]
    killer = Killer([*arguments, "--concurrency", "4", *options], 1.2 * seconds, n, run)
    before: dict[str, int] = {}
    codes = []
    for _ in range(n):
        code, answered = killer.next()
        codes.append(code)
        print(code, len(answered), "answers on disk")
        # what had an answer on disk before this process was started was not asked by it
        seen = server.counts()["seen"] if not batch else server.counts()["answered"]
        assert {name: seen[name] for name in before} == before
        before = {name: seen[name] for name in answered}
        killer.go_on()
    code, _ = killer.next()
    killer.close()
    assert code == 0
    assert -9 in codes
    seen = server.counts()["seen"] if not batch else server.counts()["answered"]
    assert {name: seen[name] for name in before} == before
    assert not batch or set(seen.values()) == {1}  # what is in a batch is paid for
    for name in ("choices", "judgments"):
        assert_frame_equal(verdicts(run, name), verdicts(folder / "undisturbed", name))
    assert table(run, "choices")["status"].eq("ok").all()
    with Ledger.open(run / "ledger.sqlite") as ledger:
        assert ledger.problems() == []
        assert ledger.batches(live=True) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "kills", "times"),
    [
        pytest.param((), 3, 1, marks=pytest.mark.long, id="synchronous"),
        pytest.param(("--batch", "--wait"), 5, 1, marks=pytest.mark.slow, id="batch"),
        *(
            pytest.param(options, 5, 10, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])
            for options in ((), ("--batch", "--wait"))
        ),
    ],
)
def test_a_run_that_is_killed_loses_no_answer_and_asks_none_twice(
    study, tmp_path, server, options, kills, times
):
    for place in range(times):
        (tmp_path / str(place)).mkdir()
        check(study, tmp_path / str(place), server, kills, *options)


@contextmanager
def handled_by(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_first_interrupt_stops_and_the_second_interrupts_but_not_in_the_background_of_a_script():
    with handled_by(signal.default_int_handler), interruptible() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with handled_by(signal.SIG_IGN), interruptible() as stop:
        signal.raise_signal(signal.SIGINT)
        assert not stop.is_set()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
