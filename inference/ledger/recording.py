"""Batches and the ends of requests, recorded: the first answer of a round counts, all others are kept."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from ..errors import InputError
from .exchanges import FINAL, TRANSIENT, Attempt, Outcome, as_datetime, now
from .ledger_tables import LIVE, OVER
from .registering import number_requests
from .row_digests import row_digest, write_digest
from .usage import counted_tokens
from .writer import Connection, JudgePrompt, digest, pack

FIELDS = ("state", "file_id", "batch_id", "output_file_id", "error_file_id", "detail")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of requests to one judge.

    Parameters
    ----------
    shard : str
        Name of the batch in the ledger.
    judge_id : str
        Identifier of the judge.
    state : str
        How far the batch has come.
    n : int
        Number of requests.
    sha256 : str
        Hash of its lines.
    file_id, batch_id, output_file_id, error_file_id : str
        The provider's names of the batch and of its files; empty until they are known.
    detail : str
        What the provider states about its state, such as an error.
    created, updated : datetime
        When it was planned and last changed (UTC).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from conjury.inference.ledger import Ledger
    >>> from conjury.inference.ledger.exchanges import Request
    >>> with Ledger.open(Path(tempfile.mkdtemp()) / "ledger.sqlite") as ledger:
    ...     requests = [Request("k1", "gpt", "p", "post_1", 1, {"messages": []})]
    ...     ledger.plan_batch("shard_1", "gpt", [r.key for r in ledger.pending(requests)], "0" * 64)
    ...     [batch] = ledger.batches()
    >>> batch.shard, batch.n, batch.state
    ('shard_1', 1, 'planned')
    """

    shard: str
    judge_id: str
    state: str
    n: int
    sha256: str
    file_id: str
    batch_id: str
    output_file_id: str
    error_file_id: str
    detail: str
    created: datetime
    updated: datetime


def plan(connection: Connection, shard: str, judge_id: str, keys: Sequence[str], sha256: str) -> None:
    """Write a batch down; its requests wait in it from now on."""
    if _find(connection.db, shard) is not None:
        raise InputError(f"batch {shard}: the ledger has a batch of this name; choose another.")
    if not shard:
        raise ValueError("a batch has a name")
    numbers = number_requests(connection.db, keys)
    for key, number in zip(keys, numbers, strict=True):
        row = connection.db.execute(
            "SELECT p.judge_id, b.shard FROM standings s JOIN panels p ON p.id = s.panel "
            "LEFT JOIN batches b ON b.id = s.waiting WHERE s.request = ?",
            (number,),
        ).fetchone()
        if row[0] != judge_id:
            raise InputError(f"request {key}: it is put to {row[0]}, not to {judge_id}; batch it there.")
        if row[1] is not None:
            raise InputError(f"request {key}: it waits in the batch {row[1]}; collect that one first.")
    if len(set(numbers)) < len(numbers):
        raise ValueError("a batch has each request once")
    moment = now()
    batch = connection.db.execute(
        "INSERT INTO batches (shard, judge_id, state, n, sha256, created, updated) "
        "VALUES (?, ?, 'planned', ?, ?, ?, ?)",
        (shard, judge_id, len(numbers), sha256, moment, moment),
    ).lastrowid
    write_digest(connection.db, "batches", "id", batch)
    connection.db.executemany(
        "INSERT INTO batch_items (batch, line, request) VALUES (?, ?, ?)",
        [(batch, line, number) for line, number in enumerate(numbers, 1)],
    )
    connection.db.executemany(
        "UPDATE standings SET waiting = ? WHERE request = ?", [(batch, number) for number in numbers]
    )


def update(connection: Connection, shard: str, changes: Mapping[str, str]) -> None:
    """Change what is known of a batch; when it is over, its requests no longer wait."""
    for name in changes:
        if name not in FIELDS:
            raise ValueError(f"a batch has no field {name!r} to change")
    row = _find(connection.db, shard)
    if row is None:
        raise _unknown_batch(shard)
    number, before = row
    state = changes.get("state", before)
    if state not in (*LIVE, *OVER):
        raise ValueError(f"{state!r} is no state of a batch")
    if before in OVER and state in LIVE:
        raise ValueError(f"batch {shard} is {before}; plan a new one")
    settings = "".join(f"{name} = ?, " for name in changes)
    connection.db.execute(
        f"UPDATE batches SET {settings} updated = ? WHERE id = ?", (*changes.values(), now(), number)
    )
    write_digest(connection.db, "batches", "id", number)
    if state in OVER:
        connection.db.execute(
            "UPDATE standings SET waiting = NULL WHERE waiting = ? "
            "AND request IN (SELECT request FROM batch_items WHERE batch = ?)",
            (number, number),
        )


def read_batches(db: sqlite3.Connection, judge_id: str | None, live: bool) -> list[Batch]:
    """Return batches in the order of their planning."""
    names = [field.name for field in fields(Batch)]
    rows = db.execute(
        f"SELECT {', '.join(names)} FROM batches WHERE ? IN (judge_id, '') ORDER BY id", (judge_id or "",)
    ).fetchall()
    batches = []
    for row in rows:
        record = dict(zip(names, row, strict=True))
        times = {name: as_datetime(record[name]) for name in ("created", "updated")}
        if not live or record["state"] in LIVE:
            batches.append(Batch(**record | times))
    return batches


def read_keys(db: sqlite3.Connection, shard: str) -> list[str]:
    """Return the keys of a batch's requests in the order of its lines."""
    row = _find(db, shard)
    if row is None:
        raise _unknown_batch(shard)
    rows = db.execute(
        "SELECT r.key FROM batch_items i JOIN requests r ON r.id = i.request "
        "WHERE i.batch = ? ORDER BY i.line",
        (row[0],),
    )
    return [key for (key,) in rows]


def _find(db: sqlite3.Connection, shard: str) -> tuple[int, str] | None:
    row: tuple[int, str] | None = db.execute(
        "SELECT id, state FROM batches WHERE shard = ?", (shard,)
    ).fetchone()
    return row


def _unknown_batch(shard: str) -> InputError:
    return InputError(f"batch {shard}: the ledger knows no such batch; check its name and the run.")


REPEATED = "repeated"  # kind of an attempt that brought the same answer once more


@dataclass(frozen=True, slots=True)
class _RequestStanding:
    request: int
    panel: int
    round: int
    state: str
    waiting: int | None
    response: int | None


def check(outcome: Outcome) -> None:
    """Refuse what is neither an answer nor an error of a known kind."""
    if outcome.body is not None and outcome.kind:
        raise ValueError(f"outcome of {outcome.key}: an answer has no kind of error, got {outcome.kind!r}")
    if outcome.body is None and outcome.kind not in (*TRANSIENT, *FINAL):
        raise ValueError(f"outcome of {outcome.key}: {outcome.kind!r} is no kind of error")


def write_outcome(connection: Connection, request: int, outcome: Outcome, created: int) -> Outcome | None:
    """Write an outcome; return it if it changed where the request stands, None for a late or repeated one."""
    standing = _RequestStanding(
        *connection.db.execute(
            "SELECT request, panel, round, state, waiting, response FROM standings WHERE request = ?",
            (request,),
        ).fetchone()
    )
    usage = _usage(outcome.body)
    if outcome.body is not None and usage is None:
        outcome = _unreadable(outcome)
    tries = _write_attempts(connection, standing, outcome, created)
    state, response, failure, tokens = standing.state, standing.response, None, (0, 0)
    counts = state != "answered"
    if outcome.body is None:
        if counts:
            state, failure = outcome.kind, _last_row(connection)
    else:
        tries += 1
        if _write_response(connection, standing, outcome, usage or (0, 0), created):
            tokens = usage or (0, 0)
            if counts:
                state, response = "answered", _last_row(connection)
    connection.db.execute(
        "UPDATE standings SET state = ?, response = ?, failure = ?, tries = tries + ?, "
        "prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ? WHERE request = ?",
        (state, response, failure, tries, *tokens, request),
    )
    if standing.waiting is not None and outcome.batch:
        connection.db.execute(
            "UPDATE standings SET waiting = NULL "
            "WHERE request = ? AND waiting = (SELECT id FROM batches WHERE shard = ?)",
            (request, outcome.batch),
        )
    return outcome if counts else None


def _last_row(connection: Connection) -> int:
    return int(connection.db.execute("SELECT last_insert_rowid()").fetchone()[0])


def _write_attempts(
    connection: Connection, standing: _RequestStanding, outcome: Outcome, created: int
) -> int:
    """Write failed exchanges, the one that ended the request last; return how many."""
    rows = [("", attempt) for attempt in outcome.attempts]
    if outcome.body is None:
        last = Attempt(0, outcome.error, outcome.seconds)
        if rows and _is_end(rows[-1][1], outcome.error):
            last = replace(rows.pop()[1], error=outcome.error)
        rows.append((outcome.kind, last))
    elif outcome.refused_body is not None and not rows:
        rows.append(("", Attempt(0, outcome.error, 0.0)))
    for position, (kind, attempt) in enumerate(rows, 1):
        refused = outcome.refused_body if position == len(rows) else None
        _write_attempt(connection, standing, kind, attempt, outcome, created, refused)
    return len(rows)


def _is_end(attempt: Attempt, error: str) -> bool:
    """Whether the error that ended a request is about this exchange."""
    has_status = attempt.status > 0 and re.match(rf"HTTP {attempt.status}\b", error) is not None
    return has_status or (bool(attempt.error) and attempt.error in error) or attempt.error == error


def _write_attempt(
    connection: Connection,
    standing: _RequestStanding,
    kind: str,
    attempt: Attempt,
    outcome: Outcome,
    created: int,
    refused: bytes | None = None,
) -> None:
    name = None if refused is None else digest(refused)
    row = (
        *(standing.round, kind, attempt.status, attempt.error, _seconds(attempt.seconds)),
        *(outcome.batch, created, name, int(attempt.billed)),
    )
    connection.db.execute(
        "INSERT INTO attempts (request, round, kind, status, error, seconds, batch, created, digest, billed, "
        "body, row_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            standing.request,
            *row,
            None if refused is None else pack(refused),
            row_digest(outcome.key, *row),
        ),
    )


def _write_response(
    connection: Connection, standing: _RequestStanding, outcome: Outcome, usage: tuple[int, int], created: int
) -> bool:
    """Write an answer; return False, and note an attempt, where it is the one that is already there."""
    body = outcome.body or b""
    is_spare = standing.state == "answered"
    name = digest(body)
    if is_spare and name == _digest_of(connection, standing.response):
        attempt = Attempt(0, "the same answer came again", outcome.seconds)
        _write_attempt(connection, standing, REPEATED, attempt, outcome, created)
        return False
    panel: JudgePrompt = connection.panels.at(standing.panel)
    row = (
        *(standing.round, int(is_spare), name, *usage),
        *(_seconds(outcome.seconds), outcome.batch, created),
    )
    packed = pack(body, connection.panels.response_dictionary(panel, body))
    connection.db.execute(
        "INSERT INTO responses (request, round, spare, digest, prompt_tokens, completion_tokens, seconds, "
        "batch, created, body, row_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (standing.request, *row, packed, row_digest(outcome.key, *row)),
    )
    return True


def _seconds(value: float) -> float:
    """Return seconds as SQLite returns them, which has no negative zero."""
    return float(value) + 0.0


def _digest_of(connection: Connection, response: int | None) -> bytes | None:
    row: Sequence[Any] | None = connection.db.execute(
        "SELECT digest FROM responses WHERE id = ?", (response,)
    ).fetchone()
    return None if row is None else row[0]


def _unreadable(outcome: Outcome) -> Outcome:
    error = "the answer is no JSON object"
    ended = (*outcome.attempts, Attempt(0, error, outcome.seconds, billed=True))
    return replace(
        outcome, body=None, refused_body=outcome.body, kind="invalid_response", error=error, attempts=ended
    )


def _usage(body: bytes | None) -> tuple[int, int] | None:
    """Return the tokens of prompt and completion that an answer states, None where it is no JSON object."""
    try:
        answer = json.loads(body or b"")
    except ValueError:
        return None
    if not isinstance(answer, dict):
        return None
    prompt, completion = counted_tokens(answer)
    return prompt or 0, completion or 0
