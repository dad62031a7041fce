"""Ray on this machine: killed workers and drivers, interrupts and broken engines cost open batches only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fakes.studies import towns, verdicts, write_study
from interrupts import interruptible_process

from conjury.inference.ledger import Ledger

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (make test-cluster)"),
]
TESTS = Path(__file__).parents[1]
BATCH, WORKERS, REQUESTS = 4, 2, 88


class Command:
    """``conjury collect --backend ray`` in a process, with an engine that notes what it is asked."""

    def __init__(self, folder: Path, seconds: float) -> None:
        content = towns()
        engine = {"name": "counted", "batch_size": BATCH, "concurrency": WORKERS, "seconds": seconds}
        content["judges"][1]["ask"] |= {"answer": "choice", "backend": "vllm", "engine": engine}
        self.study, self.run = write_study(folder / "towns", content), folder / "run"
        self.log, self.cluster = folder / "asked", folder / "shared"

    def start(self, **environment: str) -> subprocess.Popen[str]:
        """Start the command."""
        path = os.pathsep.join([str(TESTS), str(TESTS / "support")])
        options = ["--judge", "judge", "--backend", "ray", "--cluster-dir", str(self.cluster)]
        return interruptible_process(
            [
                *(sys.executable, "-m", "fakes.cluster_run", "collect", str(self.study), *options),
                *("--out", str(self.run), "--json"),
            ],
            env={**os.environ, "PYTHONPATH": path, "ASKED": str(self.log), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def finish(self, process: subprocess.Popen[str]) -> dict[str, object]:
        """Wait for the command to end well; return what it recorded."""
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        done: dict[str, object] = json.loads(out)["done"]
        return done

    def asked(self) -> list[tuple[int, str]]:
        """Processes of workers and keys of requests, in the order of asking."""
        if not self.log.exists():
            return []
        lines = [line.split() for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [(int(process), key) for process, key in lines]

    def written(self) -> set[str]:
        """Keys of the answers that lie in whole files."""
        files = self.cluster.rglob("answers/[!.]*.parquet")
        return {key for file in files for key in pq.read_table(file)["key"].to_pylist()}

    def answers(self) -> list[int]:
        """Number of answers to each request in the ledger, which is whole."""
        with Ledger.open(self.run / "ledger.sqlite") as ledger:
            assert ledger.problems() == []
            found = [one for part in ledger.answers() for one in part]
            assert all(one.attempts == (one.body is not None) for one in found)
            return [len(ledger.answer_bodies(one.key)) for one in found]


def until(true: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 240) -> None:
    """Wait until something is true while a process runs."""
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    made = Command(tmp_path, 0.25)
    yield made
    for process in {process for process, _ in made.asked()}:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_a_worker_that_is_killed_costs_its_open_batch_and_nothing_else(command):
    process = command.start()
    until(lambda: len(command.asked()) > REQUESTS / 4, process)
    killed, _ = command.asked()[-1]
    os.kill(killed, signal.SIGKILL)
    done = command.finish(process)
    assert (done["answered"], done["failures"]) == (REQUESTS, {})
    assert command.answers() == [1] * REQUESTS
    times = Counter(key for _, key in command.asked())
    twice = {key for key, n in times.items() if n > 1}
    print(len(twice), "of", REQUESTS, "requests were asked twice")
    assert len(times) == REQUESTS
    assert max(times.values()) == 2
    assert 1 <= len(twice) <= BATCH
    assert twice <= {key for process, key in command.asked() if process == killed}


def test_a_driver_that_is_killed_costs_the_open_batches_and_nothing_else(command):
    process = command.start()
    until(lambda: len(command.written()) > REQUESTS / 4, process)
    process.kill()
    process.communicate()
    until_quiet(command)
    durable, before = command.written(), {key for _, key in command.asked()}
    assert REQUESTS / 4 < len(durable) < REQUESTS
    done = command.finish(command.start())
    times = Counter(key for _, key in command.asked())
    twice = {key for key, n in times.items() if n > 1}
    print(len(twice), "of", REQUESTS, "requests were asked twice;", len(durable), "lay in files")
    assert command.answers() == [1] * REQUESTS
    assert twice == before - durable  # a block is open until its file is written
    assert len(times) == REQUESTS
    assert max(times.values()) == 2
    assert done["failures"] == {}
    again = command.finish(command.start())
    assert again["answered"] == 0
    assert Counter(key for _, key in command.asked()) == times
    assert verdicts(command.run)["status"].eq("ok").all()


def test_an_interrupt_ends_the_run_with_its_tables_and_the_same_command_goes_on(command):
    process = command.start()
    until(lambda: len(command.written()) > REQUESTS / 4, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert json.loads(out)["done"]["stopped"] == "interrupted"
    answers = command.answers()
    assert REQUESTS / 4 < sum(answers) < REQUESTS
    assert len(verdicts(command.run)) == 2 * sum(answers)
    done = command.finish(command.start())
    assert command.answers() == [1] * REQUESTS
    assert done["answered"] == REQUESTS - sum(answers)


def test_an_engine_that_breaks_ends_the_run_in_a_sentence_and_costs_no_finished_block(command):
    process = command.start(BROKEN_AFTER=str(REQUESTS // 2))
    _, err = process.communicate(timeout=600)
    assert process.returncode == 2, err
    sentence = "Ray stopped during answers of gpt-4o-mini (the engine is out of memory); answers so far"
    assert sentence in " ".join(err.split())
    assert sum(command.answers()) == len(command.written()) > 0
    with Ledger.open(command.run / "ledger.sqlite", write=False) as ledger:
        assert {count.state for count in ledger.counts()} == {"answered", "pending"}


def until_quiet(command: Command) -> None:
    """Wait until no worker of a killed driver asks or writes any more."""
    before = None
    while before != (now := (len(command.asked()), len(command.written()))):
        before = now
        time.sleep(3)
