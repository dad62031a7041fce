"""The ledger of a run: one file that knows every request, and every answer that was ever received."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import ConjuryError, InputError
from ..tables.writing import Lock, LockHeld
from . import ledger_counts, ledger_reading, recording, registering
from . import recording as batches
from .exchanges import Body, Outcome, Request, input_errors, now
from .ledger_counts import Count, Usage
from .ledger_reading import Answered, Readers
from .ledger_tables import connect_writer
from .migrating import migrate, unproven
from .recording import Batch
from .row_digests import row_digest
from .verify import BEFORE_USE, find_problems
from .writer import Connection, Writer, digest, write_json

CHUNK = 5000  # keys that are looked up at once


class Ledger:
    """Requests, answers, failures, batches and images of one run, in one SQLite file.

    A context manager. Answers are written by a thread of its own, many to a commit, each commit on disk
    before it counts; all methods may be called from any thread.

    Parameters
    ----------
    path : Path
        The SQLite file. `Ledger.open` makes it where it is missing.
    lock : Lock or None
        The lock that keeps other writers away; None to read.
    writer : Writer or None
        The thread that writes; None to read.

    Attributes
    ----------
    on_commit : list of callable
        Each is called, in the writing thread, with the outcomes that a commit made count: answers that are
        the first of their round, and failures of requests without one. What it raises comes out of
        ``flush`` or ``close``.
    migrated : bool
        Whether this opening brought the ledger of an earlier version to the present format.

    Examples
    --------
    >>> import tempfile
    >>> ask = Request("k1", "m", "p", "post_1", 1, {"model": "m", "messages": []})
    >>> with Ledger.open(Path(tempfile.mkdtemp()) / "ledger.sqlite") as ledger:
    ...     for request in ledger.pending([ask]):
    ...         ledger.record(Outcome(request.key, b'{"choices": []}'))
    ...     ledger.flush()
    ...     [(count.state, count.n) for count in ledger.counts()]
    [('answered', 1)]
    """

    def __init__(self, path: Path, lock: Lock | None, writer: Writer | None) -> None:
        self.path = path
        self.on_commit: list[Callable[[list[Outcome]], None]] = []
        self.migrated = False
        self._lock = lock
        self._writer_or_none = writer
        self._readers = Readers(path)

    @classmethod
    def open(cls, path: Path, *, write: bool = True) -> Ledger:
        """Open a ledger to write, making it where it is missing, or to read it during writing.

        Raises
        ------
        InputError
            Another process writes to it; it is missing and only to be read; the file is no ledger, damaged,
            of a newer format, or cannot be opened.
        """
        path = Path(path)
        if not write:
            ledger = cls(path, None, None)
            with ledger._readers.reading():
                return ledger
        try:
            with input_errors(path.with_suffix(".lock")):
                lock = Lock(path.with_suffix(".lock"))
        except LockHeld as holder:
            raise InputError(
                f"{path}: {holder} is writing to this ledger; wait until it is done, or end it, then run the "
                "same command again."
            ) from None
        try:
            ledger = cls(path, lock, None)
            db = connect_writer(path)
            try:
                with input_errors(path):
                    ledger.migrated = migrate(db)
            except BaseException:
                db.close()
                raise
            ledger._writer_or_none = Writer(db, path, ledger._tell)
        except BaseException:
            lock.release()
            raise
        return ledger

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with suppress(ConjuryError):
                self.close()

    def close(self) -> None:
        """Commit what was recorded and let others write; raise what the writer met."""
        self._readers.close()
        writer, self._writer_or_none = self._writer_or_none, None
        lock, self._lock = self._lock, None
        try:
            if writer is not None:
                writer.close()
        finally:
            if lock is not None:
                lock.release()

    def get(self, name: str) -> Any | None:
        """Return a fact of the run, None where it is not set."""
        with self._readers.reading() as db:
            return ledger_reading.read_fact(db, self.path, name)

    def set(self, name: str, value: Any) -> None:
        """Keep a fact of the run, of whatever JSON can say."""
        text = write_json(value)

        def work(connection: Connection) -> None:
            row = (name, text)
            connection.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (*row, row_digest(*row)))

        self._writer.call(work)

    def pending(self, requests: Iterable[Request], *, chunk: int = 500) -> Iterator[Request]:
        """Yield the requests that are to be asked now, each registered on disk before.

        Passed over are those that have an answer in their newest round, wait in a batch, or failed for a
        reason that asking again does not change.
        """
        return registering.pending(requests, self._readers.reading, self._writer, chunk)

    def record(self, outcome: Outcome) -> None:
        """Take the end of a request, to be committed soon; wait while too much is queued.

        The first answer of a round stays. Another one is kept next to it, a failure after it too, and the
        same bytes once more are noted as an attempt.

        Raises
        ------
        InputError
            The ledger has no request of this key, or what the writer met (such as a full disk).
        """
        recording.check(outcome)
        with self._readers.reading() as db:
            row = db.execute("SELECT id FROM requests WHERE key = ?", (outcome.key,)).fetchone()
        if row is None:
            raise registering.unknown_request(outcome.key)
        request, created = row[0], now()
        size = len(outcome.body or b"") + len(outcome.refused_body or b"")
        self._writer.put(
            lambda connection: recording.write_outcome(connection, request, outcome, created), size
        )

    def flush(self) -> None:
        """Wait until all that was recorded is on disk; raise what the writer met."""
        self._writer.flush()

    def counts(self) -> list[Count]:
        """Count requests by judge, prompt and state."""
        with self._readers.reading() as db:
            return ledger_counts.read_counts(db)

    def counts_of(self, judge_id: str, subjects: Collection[str]) -> list[Count]:
        """Count requests of a judge about these subjects by prompt and state."""
        with self._readers.reading() as db:
            return ledger_counts.read_counts_of(db, judge_id, subjects)

    def usage(self, judge_id: str) -> list[Usage]:
        """Sum the tokens of all answers of a judge, those of earlier rounds included."""
        with self._readers.reading() as db:
            return ledger_counts.read_usage(db, judge_id)

    def unstated(self, judge_id: str) -> Iterator[tuple[bool, Body, Any]]:
        """Yield what may have been billed without stating its tokens; see `reading.read_unstated`."""
        with self._readers.reading() as db:
            yield from ledger_reading.read_unstated(db, self.path, judge_id)

    def waiting(self, judge_id: str) -> Iterator[tuple[str, Body]]:
        """Yield the keys and bodies of a judge's requests that wait in a batch."""
        with self._readers.reading() as db:
            yield from ledger_reading.read_waiting(db, self.path, judge_id)

    def answers(self, judge_id: str | None = None, chunk: int = 5000) -> Iterator[list[Answered]]:
        """Yield every request in the order of registration with the newest that came of it."""
        return ledger_reading.read_answers(self._readers, judge_id, chunk)

    def answered(self, judge_id: str) -> Iterator[tuple[str, str, str]]:
        """Yield key, prompt and subject of every request that a judge has answered in its newest round."""
        with self._readers.reading() as db:
            yield from ledger_reading.read_answered(db, judge_id)

    def bodies(self) -> Iterator[tuple[str, str, str, str, int, Body]]:
        """Yield key, judge, prompt, subject, sample and body of every request."""
        with self._readers.reading() as db:
            yield from ledger_reading.read_bodies(db, self.path)

    def ask_again(self, keys: Iterable[str]) -> int:
        """Open a new round for requests that were answered or failed; return for how many.

        Earlier answers stay, and the newest counts until another one came. Requests that are still to be
        asked, or wait in a batch, are left as they are.
        """
        stream = iter(keys)
        opened = 0
        while part := list(islice(stream, 500)):
            opened += self._writer.call(partial(registering.open_round, keys=part))
        return opened

    def knows(self, key: str) -> bool:
        """Whether the ledger has a request of this key."""
        with self._readers.reading() as db:
            return db.execute("SELECT 1 FROM requests WHERE key = ?", (key,)).fetchone() is not None

    def without_answer(self, keys: Sequence[str]) -> int:
        """Count those of the keys to which the ledger has no answer, in whatever round."""
        with self._readers.reading() as db:
            return sum(
                ledger_reading.read_without_answer(db, keys[start : start + CHUNK])
                for start in range(0, len(keys), CHUNK)
            )

    def is_settled(self, outcome: Outcome) -> bool:
        """Whether a request has its answer already, or this failure, in its newest round."""
        with self._readers.reading() as db:
            return ledger_reading.read_settled(db, outcome)

    def is_recorded(self, outcome: Outcome) -> bool:
        """Whether this outcome of a batch is in the ledger already, in whatever round."""
        with self._readers.reading() as db:
            return ledger_reading.read_recorded(db, outcome)

    def request_body(self, key: str) -> Body:
        """Return the body of a request."""
        with self._readers.reading() as db:
            return ledger_reading.read_request_body(db, self.path, key)

    def answer_bodies(self, key: str) -> list[bytes]:
        """Return all answers to a request as they were received, oldest first."""
        with self._readers.reading() as db:
            return ledger_reading.read_answer_bodies(db, self.path, key)

    def put_media(self, sha256: str, mime: str, content: bytes) -> None:
        """Store a medium by its hash, once; it is on disk before any request that is registered later."""
        with self._readers.reading() as db:
            if db.execute("SELECT 1 FROM media WHERE sha256 = ?", (sha256,)).fetchone():
                return
        if digest(content).hex() != sha256:
            raise ValueError(f"the SHA-256 of this image is not {sha256}")

        def work(connection: Connection) -> None:
            row = (sha256, mime, content, row_digest(sha256, mime))
            connection.db.execute("INSERT OR IGNORE INTO media VALUES (?, ?, ?, ?)", row)

        self._writer.put(work, len(content))

    def holds_media(self, names: Collection[str]) -> bool:
        """Whether all images, clips or tracks of these hashes are on disk."""
        with self._readers.reading() as db:
            return all(
                db.execute("SELECT 1 FROM media WHERE sha256 = ?", (name,)).fetchone() for name in set(names)
            )

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Return media type and content of a stored image, clip or track."""
        medium = self._stored(sha256)
        if medium is None and self._writer_or_none is not None:
            self.flush()
            medium = self._stored(sha256)
        if medium is None:
            raise InputError(f"{self.path}: image {sha256} is not stored; build the requests again.")
        return medium

    def plan_batch(self, shard: str, judge_id: str, keys: Sequence[str], sha256: str) -> None:
        """Write down a batch before it is sent; its requests are not pending until it is over."""
        self._writer.call(lambda connection: batches.plan(connection, shard, judge_id, keys, sha256))

    def update_batch(self, shard: str, **fields: str) -> None:
        """Write down how far a batch has come.

        Parameters
        ----------
        shard : str
        **fields : str
            Any of state (planned, uploaded, submitted, ended, collected, failed), file_id, batch_id,
            output_file_id, error_file_id, detail.
        """
        self._writer.call(lambda connection: batches.update(connection, shard, fields))

    def batches(self, judge_id: str | None = None, live: bool = False) -> list[Batch]:
        """Return batches in the order of planning, ``live`` ones only if so asked."""
        with self._readers.reading() as db:
            return batches.read_batches(db, judge_id, live)

    def batch_keys(self, shard: str) -> list[str]:
        """Return the keys of a batch's requests in the order of its lines."""
        with self._readers.reading() as db:
            return batches.read_keys(db, shard)

    def require_whole(self) -> None:
        """Check all rows, but not the bodies, which are checked when they are read.

        Raises
        ------
        InputError
            The ledger is damaged: something of it was changed or is not there.
        """
        problems = find_problems(self.path, names=BEFORE_USE)
        if problems:
            raise InputError(
                f"{self.path}: the ledger is damaged, so its answers are not used. {problems[0]} Put a copy "
                "of the file in its place; `conjury run verify` lists all that is damaged."
            )

    def unproven(self) -> str:
        """Return a sentence on what was stored without a digest; empty where there is nothing."""
        with self._readers.reading() as db:
            return unproven(db)

    def problems(self, progress: Callable[[int, int], None] | None = None) -> list[str]:
        """Say what is damaged, one sentence each; ``progress`` is called with rows done and rows in all."""
        if self._writer_or_none is not None:
            self.flush()
        return find_problems(self.path, progress)

    def _stored(self, sha256: str) -> tuple[str, bytes] | None:
        with self._readers.reading() as db:
            return ledger_reading.read_medium(db, self.path, sha256)

    @property
    def _writer(self) -> Writer:
        if self._writer_or_none is None:
            raise ValueError("the ledger is not open for writing")
        return self._writer_or_none

    def _tell(self, outcomes: list[Outcome]) -> None:
        for callback in self.on_commit:
            callback(outcomes)
