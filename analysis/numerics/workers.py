"""Functions of many tasks run by several processes, each of which keeps what all tasks share."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from conjury.inference.errors import InputError

Run = Callable[[Sequence[Any]], Iterator[tuple[int, Any]]]  # of tasks: the number of each, and its result


def available_processors() -> int:
    """Processors that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers_of(function: Callable[[Any, Any], Any], shared: Any, workers: int) -> Iterator[Run]:
    """Hand out a function that runs ``function(shared, task)`` for tasks, in whichever order they finish."""
    # With one worker tasks run here and in order. Tasks that have not begun are dropped when the block ends.
    if workers == 1:
        yield lambda tasks: ((number, function(shared, task)) for number, task in enumerate(tasks))
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(function, shared)
    )

    def run(tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        waiting = {pool.submit(_call, task): number for number, task in enumerate(tasks)}
        for ready in as_completed(waiting):
            try:
                result = ready.result()
            except BrokenProcessPool:
                raise InputError(
                    "A worker process ended early. In a script, put the call below `if "
                    "__name__ == '__main__':`; otherwise memory may be insufficient, so give fewer workers."
                ) from None
            yield waiting[ready], result

    try:
        yield run
    except BaseException:
        for process in list(pool._processes.values()):  # pool.terminate_workers() from Python 3.14
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_KEPT: list[Any] = []


def _start_worker(*state: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    _KEPT[:] = state


def _call(task: Any) -> Any:
    function, shared = _KEPT
    return function(shared, task)
