"""The live backend in several processes, for servers that answer faster than one process can compute.

Each process asks a share of what may be in flight; requests go to it and outcomes come back as frames over
its standard input and output. The ledger, the budget and the decision to stop stay in this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import IO, Any

from ...errors import InputError
from ...ledger.exchanges import Attempt, Outcome, Request, resolve
from ..base import Recorder
from .live import POLL, OpenAIBackend

WORKER = (sys.executable, "-P", "-m", "conjury.inference.backends.openai.worker")  # -P: not from this folder
SIZE = 4  # bytes that state the length of a part of a frame
BODIES = ("body", "refused_body")
Frame = tuple[dict[str, Any], list[bytes]]  # a header, and parts


def write_frame(file: IO[bytes], header: dict[str, Any], *parts: bytes) -> None:
    """Write a header with the number of its parts, and the parts, each with its length before it."""
    for part in (json.dumps({**header, "parts": len(parts)}).encode(), *parts):
        file.write(len(part).to_bytes(SIZE, "big"))
        file.write(part)
    file.flush()


def read_frame(file: IO[bytes]) -> Frame | None:
    """Read a frame; None where the other side has ended, perhaps in the middle of one."""
    head = _read_part(file)
    if head is None:
        return None
    header = json.loads(head)
    parts = [_read_part(file) for _ in range(header.pop("parts"))]
    contents = [part for part in parts if part is not None]
    return (header, contents) if len(contents) == len(parts) else None


def _read_part(file: IO[bytes]) -> bytes | None:
    size = file.read(SIZE)
    if len(size) < SIZE:
        return None
    length = int.from_bytes(size, "big")
    part = file.read(length)
    return part if len(part) == length else None


def write_outcome(file: IO[bytes], outcome: Outcome) -> None:
    """Write an outcome as a frame."""
    bodies = {name: body for name in BODIES if (body := getattr(outcome, name)) is not None}
    write_frame(
        file,
        {**asdict(replace(outcome, body=None, refused_body=None)), "has": list(bodies)},
        *bodies.values(),
    )


def as_outcome(header: dict[str, Any], parts: Sequence[bytes]) -> Outcome:
    """Return the outcome of a frame."""
    bodies = dict(zip(header.pop("has"), parts, strict=True))
    attempts = tuple(Attempt(**attempt) for attempt in header.pop("attempts"))
    return Outcome(**{**header, **bodies}, attempts=attempts)


class OpenAIProcesses:
    """A backend of OpenAI's protocol, spread over processes."""

    def __init__(self, backend: OpenAIBackend, processes: int) -> None:
        if not 1 <= processes <= backend.concurrency:
            raise InputError(
                f"--processes {processes}: each needs a concurrent request, and --concurrency allows "
                f"{backend.concurrency}; give 1 to {backend.concurrency} processes."
            )
        self._backend, self._processes = backend, processes

    def settings(self) -> dict[str, Any]:
        """Return the settings of the backend, and the number of processes."""
        return {**self._backend.settings(), "processes": self._processes}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer the requests; see :class:`conjury.inference.backends.base.Backend`."""
        with _Crew(self._backend, self._processes, recorder) as crew:
            crew.answer(requests)


@dataclass(eq=False)
class _Worker:
    """A process that asks, how many requests it may have at a time, and the keys of those that it has."""

    process: subprocess.Popen[bytes]
    most: int
    open: set[str] = field(default_factory=set)
    listens: bool = True  # whether it takes further requests
    lives: bool = True

    def send(self, header: dict[str, Any], *parts: bytes) -> None:
        """Send a frame to a process that lives; how it ended is read from its output."""
        assert self.process.stdin is not None
        try:
            write_frame(self.process.stdin, header, *parts)
        except OSError:
            self.listens = False


class _Crew:
    """The processes of one run."""

    def __init__(self, backend: OpenAIBackend, processes: int, recorder: Recorder) -> None:
        self._recorder = recorder
        self._coming: SimpleQueue[tuple[_Worker, Frame | None]] = SimpleQueue()
        self._error: Exception | None = None
        self._end = ("connection", "the process that sent the request ended before an answer arrived")
        self._base_url = backend.endpoint.base_url
        shares = [len(range(number, backend.concurrency, processes)) for number in range(processes)]
        self._workers = [self._start(backend, share) for share in shares]

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._end = ("cancelled", "stopped before an answer arrived")
            for worker in self._workers:
                worker.process.kill()
            while any(worker.lives for worker in self._workers):
                self._take(*self._coming.get())  # answers that have come are kept
        for worker in self._workers:
            worker.process.wait()

    def _start(self, backend: OpenAIBackend, share: int) -> _Worker:
        # a session of its own, so that Ctrl-C reaches this process alone
        process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # what waits in the process keeps it busy; under a limit on costs nothing is handed on to wait
        worker = _Worker(process, share if self._recorder.capped else share + share // 2)
        worker.send({"backend": backend.arguments(share), "capped": self._recorder.capped})
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        assert worker.process.stdout is not None
        while frame := read_frame(worker.process.stdout):
            self._coming.put((worker, frame))
        self._coming.put((worker, None))

    def answer(self, requests: Iterator[Request]) -> None:
        """Hand requests on and record outcomes, until every process has ended."""
        more = True
        while any(worker.lives for worker in self._workers):
            if self._stopping():  # also once all is handed on, which may take long to be answered
                self._close("stop")
            elif more:
                more = self._hand_on(requests)
                if not more and not self._stopping():
                    self._close("end")
            self._receive()
        if self._error is not None:
            raise self._error

    def _stopping(self) -> bool:
        return self._error is not None or self._recorder.stopping()

    def _close(self, how: str) -> None:
        """Announce the end of the requests, or a stop, which may follow it; once each."""
        for worker in self._workers:
            if worker.listens:
                worker.listens = how != "stop"
                worker.send({how: True})

    def _hand_on(self, requests: Iterator[Request]) -> bool:
        """Give each process what it has room for; return whether there may be more."""
        while True:
            free = [worker for worker in self._workers if worker.listens and len(worker.open) < worker.most]
            if not free or self._recorder.full():
                return True
            worker = min(free, key=lambda each: len(each.open) / each.most)
            request = next(requests, None)
            if request is None:
                return False
            worker.open.add(request.key)
            body = resolve(request.body, self._recorder.media)
            worker.send({"key": request.key}, json.dumps(body, ensure_ascii=False).encode())

    def _receive(self) -> None:
        """Take what has come, after waiting for the first of it."""
        try:
            worker, frame = self._coming.get(timeout=POLL)
            while True:
                self._take(worker, frame)
                worker, frame = self._coming.get_nowait()
        except Empty:
            pass

    def _take(self, worker: _Worker, frame: Frame | None) -> None:
        if frame is None:
            self._bury(worker)
            return
        header, parts = frame
        if "refusal" in header:
            self._error = self._error or InputError(header["refusal"])
        elif "failure" in header:
            self._error = self._error or RuntimeError(header["failure"])
        elif "ended" in header:
            worker.open.clear()  # what it has not sent stays to be asked
        else:
            outcome = as_outcome(header, parts)
            worker.open.remove(outcome.key)
            self._recorder.record(outcome)

    def _bury(self, worker: _Worker) -> None:
        """Record what a process had when it ended; each of these may have been billed."""
        worker.lives = worker.listens = False
        kind, why = self._end
        for key in worker.open:
            attempt = Attempt(0, why, 0.0, billed=True)
            self._recorder.record(Outcome(key, kind=kind, error=why, attempts=(attempt,)))
        worker.open.clear()
        if worker.process.wait() and not any(peer.lives for peer in self._workers):
            self._error = self._error or InputError(
                f"The processes that sent requests to {self._base_url} have ended; answers so far are kept. "
                "Run the same command again with fewer --processes."
            )
