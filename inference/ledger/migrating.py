"""Ledgers of earlier versions, brought to the present format when they are opened for writing."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import Any

from .ledger_tables import VERSION, has_billed, has_digests
from .row_digests import ROWS, row_digest
from .usage import counted_tokens
from .writer import Panels, unpack, write_json

FACT = "digests"  # of a ledger whose first rows had none: since when they have, and how many these are


def migrate(db: sqlite3.Connection) -> bool:
    """Add what an earlier version did not store, in one transaction; False where nothing was to be done."""
    # Digests are computed from the rows as they are now, so they prove nothing about the time before. Tokens
    # are counted again, since thoughts outside the completion were not.
    if has_digests(db):
        return False
    db.execute("BEGIN IMMEDIATE")
    try:
        if not has_digests(db):  # another process may have done it
            _add_digests(db)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return True


def unproven(db: sqlite3.Connection) -> str:
    """Return a sentence on what no digest covers from its beginning; empty where there is nothing."""
    if not has_digests(db):
        n = db.execute("SELECT count(*) FROM requests").fetchone()[0]
        return (
            f"An earlier version wrote this ledger, without a digest of each row: a change of how one of its "
            f"{n:,} requests was put would not be noticed. The next `conjury collect` adds the digests."
        )
    row = db.execute("SELECT value FROM facts WHERE name = ?", (FACT,)).fetchone()
    if row is None:
        return ""
    fact: dict[str, Any] = json.loads(row[0])
    return (
        f"The digests of the first {fact['requests']:,} requests and {fact['responses']:,} answers were "
        f"added on {fact['since'][:10]}, since an earlier version wrote none; changes before are not covered."
    )


def _add_digests(db: sqlite3.Connection) -> None:
    counts = {
        table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for table in ("requests", "responses")
    }
    if not has_billed(db):
        db.execute("ALTER TABLE attempts ADD COLUMN billed INTEGER NOT NULL DEFAULT 0")
    _count_again(db)
    if counts["requests"]:
        fact = {"since": datetime.now(UTC).isoformat(timespec="seconds"), **counts}
        db.execute("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", (FACT, write_json(fact)))
    keys = {"facts": "name", "media": "sha256"}
    for table, query in ROWS.items():
        db.execute(f"ALTER TABLE {table} ADD COLUMN row_digest BLOB")
        key = keys.get(table, "id")
        alias = {"requests": "r.", "responses": "a.", "attempts": "a."}.get(table, "")
        select = query.replace("SELECT ", f"SELECT {alias}{key}, ", 1)
        rows = [(row_digest(*columns), name) for name, _, _, *columns in db.execute(select)]
        db.executemany(f"UPDATE {table} SET row_digest = ? WHERE {key} = ?", rows)
    db.execute(f"PRAGMA user_version = {VERSION}")


def _count_again(db: sqlite3.Connection) -> None:
    """Count the tokens of all answers that can be read; what cannot is found by verifying."""
    panels, changed = Panels(db), []
    rows = db.execute(
        "SELECT a.id, r.id, r.panel, a.body, a.prompt_tokens, a.completion_tokens "
        "FROM responses a JOIN requests r ON r.id = a.request"
    )
    for number, request, panel, blob, *before in rows:
        try:
            content = unpack(blob, panels.at(panel).response_dictionary or b"")
            now = [tokens or 0 for tokens in counted_tokens(json.loads(content))]
        except (ValueError, KeyError):
            continue
        if now != before:
            changed.append(
                (number, request, *now, *(new - old for new, old in zip(now, before, strict=True)))
            )
    for number, request, prompt, completion, more_in, more_out in changed:
        db.execute(
            "UPDATE responses SET prompt_tokens = ?, completion_tokens = ? WHERE id = ?",
            (prompt, completion, number),
        )
        db.execute(
            "UPDATE standings SET prompt_tokens = prompt_tokens + ?, "
            "completion_tokens = completion_tokens + ? WHERE request = ?",
            (more_in, more_out, request),
        )
