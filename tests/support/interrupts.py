"""Processes that Ctrl-C reaches, however the suite was started, and those that are killed as they report."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def interruptible_process(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a command with the default handling of SIGINT.

    A suite that runs in the background of a script ignores SIGINT, and its children would inherit that. A
    handler is not inherited: the child gets the default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(list(command), text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)


def killed_often(
    serve: Callable[..., None], *given: object, kills: int, most: int, pause: float, seed: int
) -> tuple[list[Any], int]:
    """Messages of a forked process that is killed after fewer than ``most`` of them, and how often it was.

    ``serve`` is called with what is given and a connection, goes on where the one before was
    killed, and sends None at its end.
    """
    fork, rng = multiprocessing.get_context("fork"), np.random.default_rng(seed)
    reported: list[Any] = []
    done = 0
    while True:
        mine, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=serve, args=(*given, theirs))
        process.start()
        theirs.close()
        left = int(rng.integers(1, most)) if done < kills else -1
        try:
            while (message := mine.recv()) is not None:
                reported.append(message)
                left -= 1
                if not left:
                    time.sleep(float(rng.uniform(0, pause)))
                    os.kill(process.pid or 0, signal.SIGKILL)
                    done += 1
        except EOFError:
            pass
        process.join()
        if process.exitcode == 0:
            return reported, done
