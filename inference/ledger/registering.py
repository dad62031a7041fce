"""Requests, written down before they are asked, and which of them are to be asked now."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ..errors import InputError
from ..requests import FINAL, Request
from .clock import now
from .packing import pack, write_json
from .writer import Desk, Writer


def pending(
    requests: Iterable[Request],
    reader: Callable[[], sqlite3.Connection],
    writer: Writer,
    chunk: int,
    again: Sequence[str],
) -> Iterator[Request]:
    """Register what is unknown, chunk by chunk, and yield what waits to be asked, each request once."""
    passed = {"answered", *FINAL} - set(again)
    before = _last_number(reader())
    stream = iter(requests)
    while part := {request.key: request for request in islice(stream, chunk)}:
        known = _standings(reader(), list(part))
        new = [request for key, request in part.items() if key not in known]
        if new:
            writer.call(lambda desk, new=new: register(desk, new))  # type: ignore[misc]
        for key, request in part.items():
            if key not in known:
                yield request
                continue
            number, state, waiting = known[key]
            if number <= before and waiting is None and state not in passed:
                yield request


def register(desk: Desk, requests: Sequence[Request]) -> None:
    """Write those requests that are not in the ledger."""
    created = now()
    known = _standings(desk.db, [request.key for request in requests])
    new = [request for request in requests if request.key not in known]
    rows, bodies, standings = [], [], []
    for number, request in enumerate(new, _last_number(desk.db) + 1):
        body = write_json(request.body).encode()
        panel = desk.panels.of(request.judge_id, request.prompt_id, body)
        arrangement = write_json(request.arrangement)
        rows.append((number, request.key, panel.id, request.subject_id, request.sample, arrangement, created))
        bodies.append((number, pack(body, panel.request_dictionary)))
        standings.append((number, panel.id))
    desk.db.executemany(
        "INSERT INTO requests (id, key, panel, subject_id, sample, arrangement, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    desk.db.executemany("INSERT INTO request_bodies (request, body) VALUES (?, ?)", bodies)
    desk.db.executemany(
        "INSERT INTO standings (request, panel, round, state, tries, prompt_tokens, completion_tokens) "
        "VALUES (?, ?, 1, 'pending', 0, 0, 0)",
        standings,
    )


def open_round(desk: Desk, keys: Sequence[str]) -> int:
    """Put requests that were answered or failed up for asking once more; return how many."""
    numbers = number_requests(desk.db, keys)
    cursor = desk.db.executemany(
        "UPDATE standings SET round = round + 1, state = 'pending', failure = NULL "
        "WHERE request = ? AND state <> 'pending' AND waiting IS NULL",
        [(number,) for number in dict.fromkeys(numbers)],
    )
    return cursor.rowcount


def number_requests(db: sqlite3.Connection, keys: Sequence[str]) -> list[int]:
    """Return the numbers of requests by their keys.

    Raises
    ------
    InputError
        A key is unknown.
    """
    numbers = []
    for key in keys:
        row = db.execute("SELECT id FROM requests WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise unknown(key)
        numbers.append(row[0])
    return numbers


def unknown(key: str) -> InputError:
    """Return the error of a key that no request has."""
    return InputError(f"request {key}: the ledger knows no such request; check the key and the run.")


def _last_number(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(id), 0) FROM requests").fetchone()[0])


def _standings(db: sqlite3.Connection, keys: list[str]) -> dict[str, tuple[int, str, int | None]]:
    rows = db.execute(
        "SELECT r.key, r.id, s.state, s.waiting FROM json_each(?) k "
        "CROSS JOIN requests r ON r.key = k.value JOIN standings s ON s.request = r.id",
        (json.dumps(keys),),
    )
    return {key: (number, state, waiting) for key, number, state, waiting in rows}
