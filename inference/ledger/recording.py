"""The end of a request, recorded: the first answer of a round counts, and all others are kept next to it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .exchanges import FINAL, TRANSIENT, Attempt, Outcome
from .packing import Panel, digest, pack
from .writer import Connection

REPEATED = "repeated"  # kind of an attempt that brought the same answer once more


@dataclass(frozen=True, slots=True)
class _Standing:
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
    standing = _Standing(
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


def _write_attempts(connection: Connection, standing: _Standing, outcome: Outcome, created: int) -> int:
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
        _write_attempt(connection, standing, kind, attempt, outcome.batch, created, refused)
    return len(rows)


def _is_end(attempt: Attempt, error: str) -> bool:
    """Whether the error that ended a request tells of this exchange."""
    named = attempt.status > 0 and re.match(rf"HTTP {attempt.status}\b", error) is not None
    return named or (bool(attempt.error) and attempt.error in error) or attempt.error == error


def _write_attempt(
    connection: Connection,
    standing: _Standing,
    kind: str,
    attempt: Attempt,
    batch: str,
    created: int,
    refused: bytes | None = None,
) -> None:
    connection.db.execute(
        "INSERT INTO attempts (request, round, kind, status, error, seconds, billed, batch, created, body, "
        "digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            standing.request,
            standing.round,
            kind,
            attempt.status,
            attempt.error,
            attempt.seconds,
            int(attempt.billed),
            batch,
            created,
            None if refused is None else pack(refused),
            None if refused is None else digest(refused),
        ),
    )


def _write_response(
    connection: Connection, standing: _Standing, outcome: Outcome, usage: tuple[int, int], created: int
) -> bool:
    """Write an answer; return False, and note an attempt, where it is the one that is already there."""
    body = outcome.body or b""
    spare = standing.state == "answered"
    name = digest(body)
    if spare and name == _digest_of(connection, standing.response):
        again = Attempt(0, "the same answer came again", outcome.seconds)
        _write_attempt(connection, standing, REPEATED, again, outcome.batch, created)
        return False
    panel: Panel = connection.panels.at(standing.panel)
    connection.db.execute(
        "INSERT INTO responses (request, round, spare, body, digest, prompt_tokens, completion_tokens, "
        "seconds, batch, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            standing.request,
            standing.round,
            int(spare),
            pack(body, connection.panels.response_dictionary(panel, body)),
            name,
            *usage,
            outcome.seconds,
            outcome.batch,
            created,
        ),
    )
    return True


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
    usage = answer.get("usage")
    told = usage if isinstance(usage, dict) else {}
    return _count(told.get("prompt_tokens")), _count(told.get("completion_tokens"))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
