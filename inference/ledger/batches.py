"""Batches: what is on disk before anything is sent, and how far each has come."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from ..errors import InputError
from .clock import as_datetime, now
from .registering import number_requests
from .schema import LIVE, OVER
from .writer import Connection

FIELDS = ("state", "file_id", "batch_id", "output_file_id", "error_file_id", "detail")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of ``n`` requests to one judge: its state, the SHA-256 of its lines, the provider's names."""

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
    found = _find(connection.db, shard)
    if found is None:
        raise _unknown(shard)
    number, before = found
    state = changes.get("state", before)
    if state not in (*LIVE, *OVER):
        raise ValueError(f"{state!r} is no state of a batch")
    if before in OVER and state in LIVE:
        raise ValueError(f"batch {shard} is {before}; plan a new one")
    settings = "".join(f"{name} = ?, " for name in changes)
    connection.db.execute(
        f"UPDATE batches SET {settings} updated = ? WHERE id = ?", (*changes.values(), now(), number)
    )
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
    found = []
    for row in rows:
        known = dict(zip(names, row, strict=True))
        times = {name: as_datetime(known[name]) for name in ("created", "updated")}
        if not live or known["state"] in LIVE:
            found.append(Batch(**known | times))
    return found


def read_keys(db: sqlite3.Connection, shard: str) -> list[str]:
    """Return the keys of a batch's requests in the order of its lines."""
    found = _find(db, shard)
    if found is None:
        raise _unknown(shard)
    rows = db.execute(
        "SELECT r.key FROM batch_items i JOIN requests r ON r.id = i.request "
        "WHERE i.batch = ? ORDER BY i.line",
        (found[0],),
    )
    return [key for (key,) in rows]


def _find(db: sqlite3.Connection, shard: str) -> tuple[int, str] | None:
    row: tuple[int, str] | None = db.execute(
        "SELECT id, state FROM batches WHERE shard = ?", (shard,)
    ).fetchone()
    return row


def _unknown(shard: str) -> InputError:
    return InputError(f"batch {shard}: the ledger knows no such batch; check its name and the run.")
