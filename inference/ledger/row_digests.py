"""A digest of each row as it is stored, by which a change of any column is noticed.

Columns that follow from others have none: those of ``standings``, ``tallies`` and ``panels`` (which the
digests of requests and responses contain), and the bodies of requests, of which the key is the hash.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from .writer import digest, write_json

# By table: what names a row for people, its digest, and the columns that the digest is made from.
ROWS = {
    "facts": "SELECT 'Fact ' || name, row_digest, name, value FROM facts",
    "requests": (
        "SELECT 'Request ' || r.key, r.row_digest, r.key, p.judge_id, p.prompt_id, r.subject_id, r.sample, "
        "r.arrangement, r.created, r.block, r.place FROM requests r LEFT JOIN panels p ON p.id = r.panel"
    ),
    "responses": (
        "SELECT 'Response ' || a.id, a.row_digest, r.key, a.round, a.spare, a.digest, a.prompt_tokens, "
        "a.completion_tokens, a.seconds, a.batch, a.created "
        "FROM responses a LEFT JOIN requests r ON r.id = a.request"
    ),
    "attempts": (
        "SELECT 'Attempt ' || a.id, a.row_digest, r.key, a.round, a.kind, a.status, a.error, a.seconds, "
        "a.batch, a.created, a.digest, a.billed FROM attempts a LEFT JOIN requests r ON r.id = a.request"
    ),
    "batches": (
        "SELECT 'Batch ' || shard, row_digest, shard, judge_id, state, n, sha256, file_id, batch_id, "
        "output_file_id, error_file_id, detail, created, updated FROM batches"
    ),
    "media": "SELECT 'Image ' || sha256, row_digest, sha256, mime FROM media",
}


def row_digest(*columns: Any) -> bytes:
    """Return the digest of a row from its columns, in the order of `ROWS`."""
    values = [value.hex() if isinstance(value, bytes) else value for value in columns]
    return digest(write_json(values).encode("utf-8", "surrogatepass"))


def changed_rows(db: sqlite3.Connection, table: str) -> Iterator[str]:
    """Name the rows of a table that are not as they were stored."""
    for name, stored, *columns in db.execute(ROWS[table]):
        if row_digest(*columns) != stored:
            yield name


def write_digest(db: sqlite3.Connection, table: str, where: str, value: Any) -> None:
    """Store the digest of one row that was written."""
    columns = db.execute(f"{ROWS[table]} WHERE {where} = ?", (value,)).fetchone()[2:]
    db.execute(f"UPDATE {table} SET row_digest = ? WHERE {where} = ?", (row_digest(*columns), value))
