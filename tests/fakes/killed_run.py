"""The command line in processes that are killed, for tests.

``python -m fakes.killed_run '["collect", ...]' SEED SECONDS N FOLDER`` runs one command line N times, each
killed within SECONDS of its start, then once to its end. After each it prints the exit code and the hashes of
the contents that have an answer in the ledger of FOLDER, and waits for a line; at last code and seconds.
Commands are forked from a process that has imported what they need.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import redirect_stdout, suppress
from itertools import chain
from pathlib import Path

from conjury.cli import main as command
from conjury.inference.ledger import Ledger

from .answers import content_hash


def _answered(ledger: Path) -> list[str]:
    """Return the hashes of the contents that have an answer on disk."""
    if not ledger.is_file():
        return []
    with Ledger.open(ledger) as opened:
        found = [each for each in chain.from_iterable(opened.answers()) if each.body is not None]
        return [content_hash(opened.request_body(each.key)) for each in found]


def _start(arguments: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    sys.argv = ["conjury", *arguments]
    code = 1
    try:
        command.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        os._exit(code)


def _warm_up(arguments: list[str]) -> None:
    """Import here, once, what every process would import anew."""
    sys.argv = ["conjury", *arguments]
    with open(os.devnull, "w") as quiet, redirect_stdout(quiet), suppress(SystemExit):
        command.main()


def _main(arguments: list[str], seed: int, seconds: float, n: int, run: Path) -> None:
    _warm_up([*arguments, "--dry-run"])
    draw = random.Random(seed)
    for _ in range(n):
        child = _start(arguments)
        time.sleep(draw.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([killed, _answered(run / "ledger.sqlite")]), flush=True)
        sys.stdin.readline()
    began = time.monotonic()
    code = os.waitstatus_to_exitcode(os.waitpid(_start(arguments), 0)[1])
    print(json.dumps([code, time.monotonic() - began]), flush=True)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
