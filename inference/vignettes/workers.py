"""Processes that draw side by side; each shares the chunks with all others, of this command or another."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import numpy as np
import pandas as pd

from ..errors import ConjuryError, InputError
from .claims import Claims
from .jobs import Desk, Job, open_desk
from .manifest import JobFolder
from .planning import Plan
from .rendering import draw_chunks

GRACE = 5.0  # seconds in which a process may end by itself
Watch = Callable[[int], None]  # takes how many pictures are drawn


def draw_all(
    desk: Desk,
    folder: JobFolder,
    claims: Claims,
    profiles: pd.DataFrame,
    planned: Plan,
    workers: int,
    watch: Watch,
) -> None:
    """Draw all chunks of a plan, with more processes where there is more than one chunk.

    Raises
    ------
    InputError
        A picture cannot be drawn, a file cannot be written, or a process was ended.
    """
    workers = min(workers, len(planned.chunks))
    drawn = np.zeros(len(planned.chunks), dtype=np.int64)

    def tell(number: int, n: int) -> None:
        drawn[number] = max(drawn[number], n)
        watch(int(drawn.sum()))

    if workers <= 1:
        draw_chunks(desk, folder, claims, profiles, planned, tell)
        return
    with _started(workers, desk.job, folder, profiles, planned) as links:
        while links:
            for link in wait(list(links)):
                assert isinstance(link, Connection)
                try:
                    said = link.recv()
                except EOFError:
                    _check_end(links.pop(link))
                    continue
                if isinstance(said, str):
                    raise InputError(said)
                tell(*said)


@contextmanager
def _started(
    workers: int, job: Job, folder: JobFolder, profiles: pd.DataFrame, planned: Plan
) -> Iterator[dict[Connection, BaseProcess]]:
    """Start processes, which end soon after their connection is closed or this process ends."""
    context = multiprocessing.get_context("spawn")
    links: dict[Connection, BaseProcess] = {}
    processes: list[BaseProcess] = []
    try:
        with _interrupts_ignored():
            for _ in range(workers):
                link, far_end = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(
                    target=_work, args=(far_end, job, folder, profiles, planned), daemon=True
                )
                process.start()
                far_end.close()
                links[link] = process
                processes.append(process)
        yield links
    finally:
        for link in links:
            link.close()
        for process in processes:
            process.join(GRACE)
            process.terminate()
            process.join()


def _work(link: Connection, job: Job, folder: JobFolder, profiles: pd.DataFrame, planned: Plan) -> None:
    def tell(number: int, n: int) -> None:
        link.send((number, n))

    with suppress(BrokenPipeError):  # nobody listens any more
        try:
            with Claims.opened(folder.path) as claims:
                draw_chunks(open_desk(job), folder, claims, profiles, planned, tell)
        except ConjuryError as error:
            link.send(str(error))
        except BrokenPipeError:
            raise
        except OSError as error:
            link.send(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}.")


def _check_end(process: BaseProcess) -> None:
    process.join()
    if process.exitcode:
        raise InputError(
            f"A process that drew pictures was ended (exit code {process.exitcode}), perhaps for want of "
            "memory; run the same command again, with fewer --workers."
        )


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that are started now leave Ctrl-C to this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
