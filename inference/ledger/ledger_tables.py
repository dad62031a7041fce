"""The tables of a ledger, and how its file is opened.

Facts are only ever added: ``requests`` (their bodies lie in ``request_blocks``, a JSON list each),
``attempts``, ``responses``, ``media``.
``standings`` contains where each request stands now, and ``tallies`` how many stand alike (kept by triggers);
both could be derived from the facts.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from ..errors import InputError
from .exchanges import input_errors

APPLICATION = 0x636A7279  # "cjry" in ASCII, by which a ledger is recognised
VERSION = 2  # ledgers of version 1 are migrated when they are opened for writing
DIGESTS = 2  # from this version on each row has a digest
HEADER = 20  # bytes of the file that identify SQLite and its journal
LIVE = ("planned", "uploaded", "submitted", "ended")
OVER = ("collected", "failed")

TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, row_digest BLOB) WITHOUT ROWID;
CREATE TABLE panels (
    id INTEGER PRIMARY KEY,
    judge_id TEXT NOT NULL,
    prompt_id TEXT NOT NULL,
    response_dictionary BLOB,
    UNIQUE (judge_id, prompt_id)
);
CREATE TABLE request_blocks (id INTEGER PRIMARY KEY, bodies BLOB NOT NULL);
CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    panel INTEGER NOT NULL REFERENCES panels,
    subject_id TEXT NOT NULL,
    sample INTEGER NOT NULL,
    arrangement TEXT NOT NULL,
    created INTEGER NOT NULL,
    block INTEGER NOT NULL REFERENCES request_blocks,
    place INTEGER NOT NULL,
    row_digest BLOB
);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES requests,
    round INTEGER NOT NULL,
    kind TEXT NOT NULL,
    status INTEGER NOT NULL,
    error TEXT NOT NULL,
    seconds REAL NOT NULL,
    batch TEXT NOT NULL,
    created INTEGER NOT NULL,
    body BLOB,
    digest BLOB,
    billed INTEGER NOT NULL DEFAULT 0,
    row_digest BLOB
);
CREATE INDEX attempts_by_request ON attempts (request);
CREATE TABLE responses (
    id INTEGER PRIMARY KEY,
    request INTEGER NOT NULL REFERENCES requests,
    round INTEGER NOT NULL,
    spare INTEGER NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    batch TEXT NOT NULL,
    created INTEGER NOT NULL,
    row_digest BLOB
);
CREATE INDEX responses_by_request ON responses (request);
CREATE UNIQUE INDEX one_response_a_round ON responses (request, round) WHERE spare = 0;
CREATE TABLE standings (
    request INTEGER PRIMARY KEY REFERENCES requests,
    panel INTEGER NOT NULL REFERENCES panels,
    round INTEGER NOT NULL,
    state TEXT NOT NULL,
    waiting INTEGER REFERENCES batches,
    response INTEGER REFERENCES responses,
    failure INTEGER REFERENCES attempts,
    tries INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL
);
CREATE TABLE tallies (
    panel INTEGER NOT NULL REFERENCES panels,
    state TEXT NOT NULL,
    waits INTEGER NOT NULL,
    n INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    PRIMARY KEY (panel, state, waits)
) WITHOUT ROWID;
CREATE TRIGGER standing_added AFTER INSERT ON standings BEGIN
    INSERT INTO tallies VALUES (
        new.panel, new.state, new.waiting IS NOT NULL, 1, new.prompt_tokens, new.completion_tokens
    ) ON CONFLICT DO UPDATE SET
        n = n + 1,
        prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens;
END;
CREATE TRIGGER standing_changed
AFTER UPDATE OF panel, state, waiting, prompt_tokens, completion_tokens ON standings BEGIN
    UPDATE tallies SET
        n = n - 1,
        prompt_tokens = prompt_tokens - old.prompt_tokens,
        completion_tokens = completion_tokens - old.completion_tokens
    WHERE panel = old.panel AND state = old.state AND waits = (old.waiting IS NOT NULL);
    INSERT INTO tallies VALUES (
        new.panel, new.state, new.waiting IS NOT NULL, 1, new.prompt_tokens, new.completion_tokens
    ) ON CONFLICT DO UPDATE SET
        n = n + 1,
        prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens;
END;
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    shard TEXT NOT NULL UNIQUE,
    judge_id TEXT NOT NULL,
    state TEXT NOT NULL,
    n INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    file_id TEXT NOT NULL DEFAULT '',
    batch_id TEXT NOT NULL DEFAULT '',
    output_file_id TEXT NOT NULL DEFAULT '',
    error_file_id TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '',
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    row_digest BLOB
);
CREATE TABLE batch_items (
    batch INTEGER NOT NULL REFERENCES batches,
    line INTEGER NOT NULL,
    request INTEGER NOT NULL REFERENCES requests,
    PRIMARY KEY (batch, line)
) WITHOUT ROWID;
CREATE TABLE media (sha256 TEXT PRIMARY KEY, mime TEXT NOT NULL, content BLOB NOT NULL, row_digest BLOB);
"""


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open the ledger for writing, in WAL with every commit on disk; make its tables where it is new."""
    with input_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            if _is_blank(db):
                db.execute("PRAGMA journal_mode = WAL")
                _create(db)
            _check_kind(db, path)
            db.execute("PRAGMA journal_mode = WAL")
            _is_blank(db)  # the first look makes the file of the log, by which readers know of this writer
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA cache_size = -32768")
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            db.execute("PRAGMA journal_size_limit = 67108864")
        except BaseException:
            db.close()
            raise
    return db


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open the ledger for reading; nothing is made, whether a writer is at work or not."""
    with input_errors(path):
        if not path.is_file():
            raise InputError(f"{path}: there is no ledger; collect judgments first, or name another run.")
        place = f"{path.absolute().as_uri()}?mode=ro"
        if _is_wal(path) and not path.with_name(f"{path.name}-wal").exists():
            place += "&immutable=1"
        db = sqlite3.connect(place, uri=True, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA cache_size = -16384")
            if _is_blank(db):
                raise InputError(f"{path}: the ledger is empty; collect judgments first.")
            _check_kind(db, path)
        except BaseException:
            db.close()
            raise
    return db


def close_writer(db: sqlite3.Connection) -> None:
    """Close the writer's connection; the ledger is one plain file then, unless someone still reads it."""
    with suppress(sqlite3.Error):
        db.execute("PRAGMA busy_timeout = 0")
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()


def has_billed(db: sqlite3.Connection) -> bool:
    """Whether the ledger notes which failed attempts may have been billed; earlier versions did not."""
    return _has_column(db, "attempts", "billed")


def has_digests(db: sqlite3.Connection) -> bool:
    """Whether each row has a digest; earlier versions wrote none."""
    # A number of the format that was changed hides no digest: where requests have the column, it counts.
    return _pragma(db, "user_version") >= DIGESTS or _has_column(db, "requests", "row_digest")


def _has_column(db: sqlite3.Connection, table: str, name: str) -> bool:
    return any(row[1] == name for row in db.execute(f"PRAGMA table_info({table})"))


def _create(db: sqlite3.Connection) -> None:
    db.executescript(
        f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; "
        "COMMIT;"
    )


def _is_blank(db: sqlite3.Connection) -> bool:
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(tables == 0 and _pragma(db, "application_id") == 0)


def _check_kind(db: sqlite3.Connection, path: Path) -> None:
    if _pragma(db, "application_id") != APPLICATION:
        raise InputError(f"{path}: this SQLite file is no ledger; name the folder of a run, or move it away.")
    version = _pragma(db, "user_version")
    if version > VERSION:
        raise InputError(
            f"{path}: a newer conjury wrote this ledger (format {version}, this one reads {VERSION}); "
            "install that version."
        )


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _is_wal(path: Path) -> bool:
    with path.open("rb") as file:
        header = file.read(HEADER)
    return len(header) == HEADER and header[18] == 2
