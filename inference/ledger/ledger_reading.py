"""What a ledger says: facts, answers, bodies."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import InputError
from .exchanges import Body, Outcome, as_datetime, input_errors
from .ledger_tables import connect_reader, has_billed, has_digests
from .registering import unknown_request
from .row_digests import row_digest
from .writer import Panels, digest, unpack

_ANSWERS = """
SELECT r.id, r.key, r.panel, p.judge_id, p.prompt_id, r.subject_id, r.sample, r.arrangement,
    s.round, s.state, s.tries,
    a.round, a.body, a.digest, a.created, a.seconds, a.batch,
    f.error, f.created, f.seconds, f.batch{proof}
FROM requests r
JOIN standings s ON s.request = r.id
JOIN panels p ON p.id = r.panel
LEFT JOIN responses a ON a.id = s.response
LEFT JOIN attempts f ON f.id = s.failure
WHERE r.id > ? AND ? IN (p.judge_id, '')
ORDER BY r.id LIMIT ?
"""

_PROOF = """,
    r.created, r.block, r.place, r.row_digest,
    a.spare, a.prompt_tokens, a.completion_tokens, a.row_digest,
    f.round, f.kind, f.status, f.digest, f.billed, f.row_digest"""


@dataclass(frozen=True, slots=True)
class Answered:
    """A request and the newest outcome of it.

    Parameters
    ----------
    key, judge_id, prompt_id, subject_id : str
        Identifiers of the request, its judge and prompt, and what is judged.
    sample : int
        Number of the sample, from 1.
    arrangement : dict
        What was drawn for the request, such as the order of options.
    round : int
        The round that brought the answer; without one, the newest.
    body : dict or None
        The newest answer, even if a later round has none yet.
    kind : str
        Empty for an answer, "pending" where nothing came, else the kind of error.
    error : str
        Message of the newest failure; empty for an answer.
    created : datetime or None
        When it was recorded (UTC).
    seconds : float
        How long the exchange took.
    attempts : int
        Exchanges of all rounds, this one included.
    batch : str
        The shard that brought it; empty otherwise.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from conjury.inference.ledger import Ledger
    >>> from conjury.inference.ledger.exchanges import Outcome, Request
    >>> with Ledger.open(Path(tempfile.mkdtemp()) / "ledger.sqlite") as ledger:
    ...     for request in ledger.pending([Request("k1", "gpt", "p", "post_1", 1, {"messages": []})]):
    ...         ledger.record(Outcome(request.key, b'{"choices": []}'))
    ...     ledger.flush()
    ...     [answered] = next(ledger.answers())
    >>> answered.subject_id, answered.kind, answered.body
    ('post_1', '', {'choices': []})
    """

    key: str
    judge_id: str
    prompt_id: str
    subject_id: str
    sample: int
    arrangement: dict[str, Any]
    round: int
    body: dict[str, Any] | None
    kind: str
    error: str
    created: datetime | None
    seconds: float
    attempts: int
    batch: str


class Readers:
    """Connections to read with, one for each thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection of this thread, and tell what SQLite refuses."""
        with input_errors(self.path):
            db: sqlite3.Connection | None = getattr(self._local, "db", None)
            if db is None:
                db = self._local.db = connect_reader(self.path)
                self._all.append(db)
            yield db

    def close(self) -> None:
        """Close all of them."""
        for db in self._all:
            db.close()


def read_fact(db: sqlite3.Connection, path: Path, name: str) -> Any | None:
    """Return a fact of the run, None where it is not set."""
    proof = ", row_digest" if has_digests(db) else ""
    row = db.execute(f"SELECT value{proof} FROM facts WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    try:
        if proof and row_digest(name, row[0]) != row[1]:
            raise ValueError("it was changed")
        return json.loads(row[0])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path}: what the ledger has as '{name}' is damaged ({error}); see what "
            "`conjury run verify` finds."
        ) from None


def read_unstated(db: sqlite3.Connection, path: Path, judge_id: str) -> Iterator[tuple[bool, Body, Any]]:
    """Yield what may have been billed without stating all of its tokens."""
    join = (
        "JOIN requests q ON q.id = r.request JOIN panels p ON p.id = q.panel "
        "JOIN request_blocks b ON b.id = q.block WHERE p.judge_id = ?"
    )
    rows = db.execute(
        "SELECT q.key, b.bodies, q.place, q.panel, r.batch, r.body, r.digest FROM responses r "
        f"{join} AND (r.prompt_tokens = 0 OR r.completion_tokens = 0)",
        (judge_id,),
    )
    panels = Panels(db)
    for key, bodies, place, panel, batch, blob, name in rows:
        with _DamageGuard(path, key):
            answer = json.loads(_content(blob, name, panels, panel))
            yield bool(batch), json.loads(unpack(bodies))[place], answer
    if has_billed(db):
        rows = db.execute(
            f"SELECT q.key, b.bodies, q.place, r.batch FROM attempts r {join} AND r.billed", (judge_id,)
        )
        for key, bodies, place, batch in rows:
            with _DamageGuard(path, key):
                yield bool(batch), json.loads(unpack(bodies))[place], None


def read_waiting(db: sqlite3.Connection, path: Path, judge_id: str) -> Iterator[tuple[str, Body]]:
    """Yield the keys and bodies of a judge's requests that wait in a batch."""
    rows = db.execute(
        "SELECT b.id, b.bodies, q.key, q.place FROM standings s JOIN requests q ON q.id = s.request "
        "JOIN panels p ON p.id = q.panel JOIN request_blocks b ON b.id = q.block "
        "WHERE p.judge_id = ? AND s.waiting IS NOT NULL ORDER BY b.id",
        (judge_id,),
    )
    block, bodies = None, []
    for number, packed, key, place in rows:
        with _DamageGuard(path, key):
            if number != block:
                block, bodies = number, json.loads(unpack(packed))
            yield key, bodies[place]


def read_answered(db: sqlite3.Connection, judge_id: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, prompt and subject of the answered requests of a judge, in the order of registration."""
    yield from db.execute(
        "SELECT r.key, p.prompt_id, r.subject_id FROM requests r JOIN standings s ON s.request = r.id "
        "JOIN panels p ON p.id = r.panel WHERE p.judge_id = ? AND s.state = 'answered' ORDER BY r.id",
        (judge_id,),
    )


def read_bodies(db: sqlite3.Connection, path: Path) -> Iterator[tuple[str, str, str, str, int, Body]]:
    """Yield key, judge, prompt, subject, sample and body of every request, in the order of their blocks."""
    rows = db.execute(
        "SELECT r.block, r.key, p.judge_id, p.prompt_id, r.subject_id, r.sample, r.place FROM requests r "
        "JOIN panels p ON p.id = r.panel ORDER BY r.block, r.place"
    )
    block, bodies = None, []
    for number, key, judge, prompt, subject, sample, place in rows:
        with _DamageGuard(path, key):
            if number != block:
                packed = db.execute("SELECT bodies FROM request_blocks WHERE id = ?", (number,)).fetchone()
                block, bodies = number, json.loads(unpack(packed[0]))
            yield key, judge, prompt, subject, sample, bodies[place]


def read_answers(readers: Readers, judge_id: str | None, chunk: int) -> Iterator[list[Answered]]:
    """Yield requests in the order of their registration, ``chunk`` at a time, with what came of them."""
    last = 0
    while True:
        with readers.reading() as db:
            query = _ANSWERS.format(proof=_PROOF if has_digests(db) else "")
            rows = db.execute(query, (last, judge_id or "", chunk)).fetchall()
            panels = Panels(db)
            part = [_read_answered(row, panels, readers.path) for row in rows]
        if not part:
            return
        yield part
        last = rows[-1][0]


def read_without_answer(db: sqlite3.Connection, keys: Sequence[str]) -> int:
    """Count the keys of which no request has an answer."""
    row = db.execute(
        "SELECT count(*) FROM json_each(?) k WHERE NOT EXISTS (SELECT 1 FROM requests r "
        "JOIN responses a ON a.request = r.id WHERE r.key = k.value)",
        (json.dumps(list(keys)),),
    ).fetchone()
    return int(row[0])


def read_settled(db: sqlite3.Connection, outcome: Outcome) -> bool:
    """Whether an outcome adds nothing to where its request stands."""
    row = db.execute(
        "SELECT s.state, f.error FROM requests r JOIN standings s ON s.request = r.id "
        "LEFT JOIN attempts f ON f.id = s.failure WHERE r.key = ?",
        (outcome.key,),
    ).fetchone()
    return row is not None and (row[0] == "answered" or row == (outcome.kind, outcome.error))


def read_recorded(db: sqlite3.Connection, outcome: Outcome) -> bool:
    """Whether the same outcome was recorded from the same batch before."""
    content = outcome.refused_body if outcome.body is None else outcome.body
    name = None if content is None else digest(content)
    where = "JOIN requests q ON q.id = r.request WHERE q.key = ? AND r.batch = ? AND r.digest IS ?"
    parameters = (outcome.key, outcome.batch, name)
    if outcome.body is not None:
        row = db.execute(f"SELECT 1 FROM responses r {where}", parameters).fetchone()
    else:
        row = db.execute(
            f"SELECT 1 FROM attempts r {where} AND r.kind = ? AND r.error = ?",
            (*parameters, outcome.kind, outcome.error),
        ).fetchone()
    return row is not None


def read_request_body(db: sqlite3.Connection, path: Path, key: str) -> Body:
    """Return the body of a request."""
    row = db.execute(
        "SELECT b.bodies, r.place FROM requests r JOIN request_blocks b ON b.id = r.block WHERE r.key = ?",
        (key,),
    ).fetchone()
    if row is None:
        raise unknown_request(key)
    with _DamageGuard(path, key):
        body: Body = json.loads(unpack(row[0]))[row[1]]
    return body


def read_answer_bodies(db: sqlite3.Connection, path: Path, key: str) -> list[bytes]:
    """Return all answers to a request as they were received, oldest first."""
    request = db.execute("SELECT id, panel FROM requests WHERE key = ?", (key,)).fetchone()
    if request is None:
        raise unknown_request(key)
    rows = db.execute("SELECT body, digest FROM responses WHERE request = ? ORDER BY id", request[:1])
    panels = Panels(db)
    with _DamageGuard(path, key):
        return [_content(body, name, panels, request[1]) for body, name in rows.fetchall()]


def read_medium(db: sqlite3.Connection, path: Path, sha256: str) -> tuple[str, bytes] | None:
    """Return media type and content of an image, None where it is not stored."""
    proof = ", row_digest" if has_digests(db) else ""
    row = db.execute(f"SELECT mime, content{proof} FROM media WHERE sha256 = ?", (sha256,)).fetchone()
    if row is None:
        return None
    is_intact = isinstance(row[1], bytes) and digest(row[1]).hex() == sha256
    if not is_intact or (has_digests(db) and row_digest(sha256, row[0]) != row[2]):
        raise InputError(f"{path}: image {sha256} is damaged; see what `conjury run verify` finds.")
    return row[0], row[1]


def _read_answered(row: tuple[Any, ...], panels: Panels, path: Path) -> Answered:
    _, key, panel, judge, prompt, subject, sample, arrangement, number, state, tries = row[:11]
    answer, failure = row[11:17], row[17:21]
    with _DamageGuard(path, key):
        if row[21:]:
            _check_rows(row)
        arrangement_values = json.loads(arrangement)
        body = None
        if answer[0] is not None:
            body = json.loads(_content(answer[1], answer[2], panels, panel))
        elif state == "answered":
            raise ValueError("its answer is not there")
    if body is not None:
        number, kind, error, (created, seconds, batch) = answer[0], "", "", answer[3:]
    elif failure[0] is not None:
        kind, error, created, seconds, batch = state, *failure
    else:
        kind, error, created, seconds, batch = state, "", None, 0.0, ""
    return Answered(
        key,
        judge,
        prompt,
        subject,
        sample,
        arrangement_values,
        number,
        body,
        kind,
        error,
        None if created is None else as_datetime(created),
        seconds,
        tries,
        batch,
    )


def _check_rows(row: tuple[Any, ...]) -> None:
    """Refuse a request, its answer or its failure that are not as they were stored."""
    key, names, arrangement = row[1], row[3:7], row[7]
    number, _, name, created, seconds, batch = row[11:17]
    error, *failed = row[17:21]
    put, (is_spare, *tokens), (repeat, kind, status, refused, billed) = row[21:24], row[25:28], row[29:34]
    if row_digest(key, *names, arrangement, *put) != row[24]:
        raise ValueError("what is stored of it was changed")
    if number is not None and row[28] != row_digest(
        key, number, is_spare, name, *tokens, seconds, batch, created
    ):
        raise ValueError("what is stored of its answer was changed")
    if failed[0] is not None and row[34] != row_digest(
        *(key, repeat, kind, status, error, failed[1], failed[2], failed[0], refused, billed)
    ):
        raise ValueError("what is stored of its failure was changed")


def _content(blob: bytes, name: bytes, panels: Panels, panel: int) -> bytes:
    content = unpack(blob, panels.at(panel).response_dictionary or b"")
    if digest(content) != name:
        raise ValueError("its digest is another")
    return content


class _DamageGuard:
    """Tells of a blob that cannot be read back."""

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError):
            raise InputError(
                f"{self._path}: request {self._key} is damaged ({error}); see what `conjury run verify` "
                "finds."
            ) from None
