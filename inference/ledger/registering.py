"""Requests, written down before they are asked, and which of them are to be asked now."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import NamedTuple

from ..errors import InputError
from .exchanges import FINAL, Request, now
from .row_digests import row_digest
from .writer import BLOCK, Connection, Writer, pack, write_json


def pending(
    requests: Iterable[Request],
    reading: Callable[[], AbstractContextManager[sqlite3.Connection]],
    writer: Writer,
    chunk: int,
) -> Iterator[Request]:
    """Register what is unknown, chunk by chunk, and yield what waits to be asked, each request once."""
    # One chunk is being written while the next is built.
    passed = {"answered", *FINAL}
    writer.flush()
    with reading() as db:
        before = _last_number(db)
    handed_out = bytearray(before + 1)  # a byte for each number: a run can have millions
    stream = iter(requests)
    chunk_before: Iterator[Request] = iter(())
    while part := {request.key: request for request in islice(stream, chunk)}:
        with reading() as db:
            standings = _standings(db, list(part))
        new = [request for key, request in part.items() if key not in standings]
        registered = writer.submit(partial(register, requests=new)) if new else None
        due = set()
        for key, (number, state, waiting) in standings.items():
            if number <= before and not handed_out[number] and waiting is None and state not in passed:
                handed_out[number] = 1
                due.add(key)
        yield from chunk_before
        chunk_before = _hand_out(part, due, registered)
    yield from chunk_before


def _hand_out(
    part: dict[str, Request], due: set[str], registered: Future[set[str]] | None
) -> Iterator[Request]:
    if registered is not None:
        due |= registered.result()
    for key, request in part.items():
        if key in due:
            yield request


def register(connection: Connection, requests: Sequence[Request]) -> set[str]:
    """Write those requests that are not in the ledger; return their keys."""
    created = now()
    old_standings = _standings(connection.db, [request.key for request in requests])
    new = [request for request in requests if request.key not in old_standings]
    number = _last_number(connection.db)
    rows, standings = [], []
    for start in range(0, len(new), BLOCK):
        part = new[start : start + BLOCK]
        bodies = pack(write_json([request.body for request in part]).encode())
        block = connection.db.execute("INSERT INTO request_blocks (bodies) VALUES (?)", (bodies,)).lastrowid
        for place, request in enumerate(part):
            number += 1
            panel = connection.panels.of(request.judge_id, request.prompt_id).id
            about = (request.subject_id, request.sample, write_json(request.arrangement))
            put = (*about, created, block, place)
            proof = row_digest(request.key, request.judge_id, request.prompt_id, *put)
            rows.append((number, request.key, panel, *put, proof))
            standings.append((number, panel))
    connection.db.executemany(
        "INSERT INTO requests (id, key, panel, subject_id, sample, arrangement, created, block, place, "
        "row_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.db.executemany(
        "INSERT INTO standings (request, panel, round, state, tries, prompt_tokens, completion_tokens) "
        "VALUES (?, ?, 1, 'pending', 0, 0, 0)",
        standings,
    )
    return {request.key for request in new}


def open_round(connection: Connection, keys: Sequence[str]) -> int:
    """Put requests that were answered or failed up for asking once more; return how many."""
    numbers = number_requests(connection.db, keys)
    cursor = connection.db.executemany(
        "UPDATE standings SET round = round + 1, state = 'pending', failure = NULL "
        "WHERE request = ? AND state <> 'pending' AND waiting IS NULL",
        [(number,) for number in dict.fromkeys(numbers)],
    )
    return cursor.rowcount


def number_requests(db: sqlite3.Connection, keys: Sequence[str]) -> list[int]:
    """Return the numbers of requests by their keys."""
    numbers = []
    for key in keys:
        row = db.execute("SELECT id FROM requests WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise unknown_request(key)
        numbers.append(row[0])
    return numbers


def unknown_request(key: str) -> InputError:
    """Return the error of a key that no request has."""
    return InputError(f"request {key}: the ledger knows no such request; check the key and the run.")


def _last_number(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(id), 0) FROM requests").fetchone()[0])


class _RequestState(NamedTuple):
    number: int
    state: str
    waiting: int | None


def _standings(db: sqlite3.Connection, keys: list[str]) -> dict[str, _RequestState]:
    rows = db.execute(
        "SELECT r.key, r.id, s.state, s.waiting FROM json_each(?) k "
        "CROSS JOIN requests r ON r.key = k.value JOIN standings s ON s.request = r.id",
        (json.dumps(keys),),
    )
    return {key: _RequestState(*standing) for key, *standing in rows}
