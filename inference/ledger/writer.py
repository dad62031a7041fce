"""The one thread that writes: it packs what is queued and commits it in groups."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError
from .exchanges import input_errors
from .ledger_tables import close_writer

LEVEL = 1  # zlib's fastest, since one thread packs everything
MEMORY = 5  # of zlib; an answer is small, and setting up its tables would cost more than filling them
BLOCK = 32  # bodies of requests that are compressed together
WINDOW = 32768  # bytes of a dictionary that zlib looks at

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class JudgePrompt:
    """A judge under a prompt, with the dictionary of their responses."""

    id: int
    judge_id: str
    prompt_id: str
    response_dictionary: bytes | None


class Panels:
    """The panels of a ledger, by number and by judge and prompt; the writer adds to them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._by_id: dict[int, JudgePrompt] = {}
        self._by_name: dict[tuple[str, str], JudgePrompt] = {}

    def forget(self) -> None:
        """Read them again, since a transaction that may have added some was undone."""
        self._by_id.clear()
        self._by_name.clear()

    def at(self, number: int) -> JudgePrompt:
        """Return a panel by its number."""
        if number not in self._by_id:
            self._read()
        return self._by_id[number]

    def of(self, judge_id: str, prompt_id: str) -> JudgePrompt:
        """Return the panel of a judge and a prompt, made where it is new."""
        panel = self._by_name.get((judge_id, prompt_id))
        if panel is None:
            self._read()
            panel = self._by_name.get((judge_id, prompt_id))
        if panel is None:
            self._db.execute("INSERT INTO panels (judge_id, prompt_id) VALUES (?, ?)", (judge_id, prompt_id))
            self._read()
            panel = self._by_name[judge_id, prompt_id]
        return panel

    def response_dictionary(self, panel: JudgePrompt, body: bytes) -> bytes:
        """Return the dictionary of a panel's responses, which is ``body`` where it is the first."""
        if panel.response_dictionary is None:
            panel.response_dictionary = body[-WINDOW:]
            self._db.execute(
                "UPDATE panels SET response_dictionary = ? WHERE id = ?",
                (panel.response_dictionary, panel.id),
            )
        return panel.response_dictionary

    def _read(self) -> None:
        for row in self._db.execute("SELECT id, judge_id, prompt_id, response_dictionary FROM panels"):
            panel = JudgePrompt(*row)
            self._by_id[panel.id] = panel
            self._by_name[panel.judge_id, panel.prompt_id] = panel


def pack(content: bytes, dictionary: bytes = b"") -> bytes:
    """Compress ``content``."""
    if dictionary:
        packer = zlib.compressobj(
            LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY, zlib.Z_DEFAULT_STRATEGY, dictionary
        )
    else:
        packer = zlib.compressobj(LEVEL)
    return packer.compress(content) + packer.flush()


def unpack(blob: bytes, dictionary: bytes = b"") -> bytes:
    """Return what was packed."""
    try:
        unpacker = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
        content = unpacker.decompress(blob) + unpacker.flush()
    except (zlib.error, TypeError) as error:  # a TypeError where the column contains no blob
        raise ValueError(str(error)) from None
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it does not end where it should")
    return content


def digest(content: bytes) -> bytes:
    """Return the SHA-256 of ``content``."""
    return hashlib.sha256(content).digest()


def write_json(value: Any) -> str:
    """Return ``value`` as compact JSON, its keys in their own order."""
    return _ENCODER.encode(value)


T = TypeVar("T")

JOBS = 4096  # what may wait in the queue
BYTES = 32_000_000  # that may wait to be written, before whoever brings more waits
GROUP = 1024  # jobs of one commit


@dataclass(frozen=True, slots=True)
class Connection:
    """What a job writes with."""

    db: sqlite3.Connection
    panels: Panels


Work = Callable[[Connection], T]


@dataclass(slots=True)
class _Job:
    work: Work[Any]
    size: int
    done: Future[Any] | None


class Writer:
    """Runs jobs in the order in which they came, many to a commit, in a thread of its own."""

    # `landed` is called after each commit with what the jobs of `put` returned, less None. When a commit
    # fails, nothing more is written: whoever waits, puts or calls gets the error.

    def __init__(self, db: sqlite3.Connection, path: Path, landed: Callable[[list[Any]], None]) -> None:
        self._desk = Connection(db, Panels(db))
        self._path = path
        self._landed = landed
        self._queue: deque[_Job] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._complaint: BaseException | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    def put(self, work: Work[Any], size: int = 0) -> None:
        """Queue a job of about ``size`` bytes, and wait while the queue is full."""
        self._append(_Job(work, size, None))

    def submit(self, work: Work[T]) -> Future[T]:
        """Queue a job; its result is there once it is committed; what it raises undoes it alone."""
        done: Future[T] = Future()
        self._append(_Job(work, 0, done))
        return done

    def call(self, work: Work[T]) -> T:
        """Run a job and wait until it is committed."""
        return self.submit(work).result()

    def flush(self) -> None:
        """Wait until all that was queued is committed; raise what was met on the way."""
        self.call(lambda connection: None)
        complaint, self._complaint = self._complaint, None
        if complaint is not None:
            raise complaint

    def close(self) -> None:
        """Commit what is queued, end the thread and leave the file."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        close_writer(self._desk.db)
        if self._failure is not None:
            self._raise(self._failure)
        if self._complaint is not None:
            raise self._complaint

    def _append(self, job: _Job) -> None:
        with self._changed:
            while not self._failure and not self._closing and self._is_full(job):
                self._changed.wait()
            if self._failure is not None:
                self._raise(self._failure)
            if self._closing:
                raise ValueError("the ledger is closed")
            self._queue.append(job)
            self._bytes += job.size
            self._changed.notify_all()

    def _is_full(self, job: _Job) -> bool:
        return len(self._queue) >= JOBS or (self._bytes > 0 and self._bytes + job.size > BYTES)

    def _raise(self, failure: BaseException) -> None:
        if isinstance(failure, InputError):
            raise InputError(str(failure)) from failure
        raise failure

    def _run(self) -> None:
        group: list[_Job] = []
        try:
            while group := self._next_group():
                self._write(group)
        except BaseException as error:
            self._die(error, group)

    def _next_group(self) -> list[_Job]:
        with self._changed:
            while not self._queue and not self._closing:
                self._changed.wait()
            group = [self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))]
            self._bytes -= sum(job.size for job in group)
            self._changed.notify_all()
        return group

    def _write(self, group: list[_Job]) -> None:
        db = self._desk.db
        results = []
        with input_errors(self._path):
            db.execute("BEGIN IMMEDIATE")
            for job in group:
                results.append(job.work(self._desk) if job.done is None else self._try(job.work))
            db.execute("COMMIT")
        landed = [
            result
            for job, result in zip(group, results, strict=True)
            if job.done is None and result is not None
        ]
        if landed:
            self._tell(landed)
        for job, result in zip(group, results, strict=True):
            if job.done is None:
                continue
            if isinstance(result, _RefusedRequest):
                job.done.set_exception(result.error)
            else:
                job.done.set_result(result)

    def _tell(self, landed: list[Any]) -> None:
        try:
            self._landed(landed)
        except Exception as error:
            self._complaint = error

    def _try(self, work: Work[Any]) -> Any:
        db = self._desk.db
        db.execute("SAVEPOINT job")
        try:
            result = work(self._desk)
        except (InputError, ValueError) as error:
            db.execute("ROLLBACK TO job")
            self._desk.panels.forget()
            result = _RefusedRequest(error)
        db.execute("RELEASE job")
        return result

    def _die(self, error: BaseException, group: list[_Job]) -> None:
        try:
            if self._desk.db.in_transaction:
                self._desk.db.execute("ROLLBACK")
        except sqlite3.Error:
            pass  # the file is left as the last commit had it
        with self._changed:
            self._failure = error
            jobs = [*group, *self._queue]
            self._queue.clear()
            self._changed.notify_all()
        for job in jobs:
            if job.done is not None and not job.done.done():
                job.done.set_exception(error)


@dataclass(frozen=True, slots=True)
class _RefusedRequest:
    error: Exception
