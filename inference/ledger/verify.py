"""Damage in a ledger, found by reading all of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .exchanges import input_errors, request_key
from .ledger_tables import LIVE, connect_reader, has_digests
from .row_digests import ROWS, changed_rows
from .writer import Panels, digest, unpack

SHOWN = 20  # problems of one sort that are listed one by one
STEP = 1000  # rows between two calls of progress

Check = Callable[[sqlite3.Connection, "Ticker"], Iterator[str]]

_STANDINGS = """
SELECT * FROM (
    SELECT r.key, r.panel AS of_panel, s.panel, s.state, s.round, s.response, s.failure,
        s.tries, s.prompt_tokens, s.completion_tokens,
        (SELECT max(id) FROM responses a WHERE a.request = r.id AND spare = 0) AS newest,
        (SELECT count(*) FROM responses a WHERE a.request = r.id) AS answers,
        (SELECT count(*) FROM attempts f WHERE f.request = r.id) AS attempts,
        (SELECT coalesce(sum(a.prompt_tokens), 0) FROM responses a WHERE a.request = r.id) AS asked,
        (SELECT coalesce(sum(a.completion_tokens), 0) FROM responses a WHERE a.request = r.id) AS said,
        (SELECT count(*) FROM responses a
            WHERE a.request = r.id AND a.round = s.round AND spare = 0) AS answered,
        (SELECT f.kind FROM attempts f
            WHERE f.id = s.failure AND f.request = r.id AND f.round = s.round) AS kind
    FROM requests r LEFT JOIN standings s ON s.request = r.id
)
WHERE panel IS NOT of_panel OR response IS NOT newest OR tries IS NOT answers + attempts
    OR prompt_tokens IS NOT asked OR completion_tokens IS NOT said
    OR state IS NOT CASE WHEN answered THEN 'answered' ELSE coalesce(kind, 'pending') END
"""

_NOT_LIVE = """
SELECT r.key FROM standings s
JOIN requests r ON r.id = s.request
LEFT JOIN batches b ON b.id = s.waiting AND b.state IN (SELECT value FROM json_each(?))
LEFT JOIN batch_items i ON i.batch = b.id AND i.request = s.request
WHERE s.waiting IS NOT NULL AND i.request IS NULL
"""

_NOT_WAITING = """
SELECT b.shard, r.key FROM batches b
JOIN batch_items i ON i.batch = b.id
JOIN requests r ON r.id = i.request
JOIN standings s ON s.request = r.id
WHERE b.state IN (SELECT value FROM json_each(?)) AND s.waiting IS NOT b.id
    AND NOT EXISTS (SELECT 1 FROM responses a WHERE a.request = r.id AND a.batch = b.shard)
    AND NOT EXISTS (SELECT 1 FROM attempts f WHERE f.request = r.id AND f.batch = b.shard)
"""


class Ticker:
    """Reports how many rows of how many were read."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total, self._progress, self._done = total, progress, 0

    def __call__(self, rows: sqlite3.Cursor) -> Iterator[Any]:
        """Pass rows on."""
        for row in rows:
            self._done += 1
            if self._progress is not None and self._done % STEP == 0:
                self._progress(self._done, max(self._done, self._total))
            yield row

    def finish(self) -> None:
        """Report that all rows were read."""
        if self._progress is not None:
            self._progress(self._done, self._done)


def find_problems(
    path: Path, progress: Callable[[int, int], None] | None = None, names: Collection[str] | None = None
) -> list[str]:
    """State what is damaged in a ledger, one sentence each, of each sort 20 at most."""
    # Everything is read in the state of one moment, also during writing. Of the checks only those of `names`
    # are made, by default all.
    db = connect_reader(path)
    problems: list[str] = []
    try:
        with input_errors(path):
            db.execute("BEGIN")
            tick = Ticker(_rows(db), progress)
        for name, check in CHECKS.items():
            if names is not None and name not in names:
                continue
            try:
                problems += _limited(check(db, tick))
            except sqlite3.DatabaseError as error:
                problems.append(f"The {name} cannot be read to their end ({error}).")
        tick.finish()
    finally:
        db.close()
    return problems


def _rows(db: sqlite3.Connection) -> int:
    total = 0
    for table in ("requests", "responses", "attempts", "media"):
        with suppress(sqlite3.DatabaseError):  # the checks report what is damaged
            total += db.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()[0]
    return total


def _limited(problems: Iterator[str]) -> list[str]:
    sentences: list[str] = []
    more = 0
    for problem in problems:
        if len(sentences) < SHOWN:
            sentences.append(problem)
        else:
            more += 1
    return [*sentences, f"And {more:,} more like the last one."] if more else sentences


def _structure(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for (line,) in db.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"SQLite finds the file damaged: {' '.join(line.split())}."


def _references(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for table, row, parent, _ in db.execute("PRAGMA foreign_key_check"):
        place = "a row" if row is None else f"row {row}"
        yield f"Table {table}: {place} names a row of {parent} that is not there."


def _requests(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    rows = db.execute(
        "SELECT r.key, p.judge_id, p.prompt_id, r.subject_id, r.sample, r.arrangement, r.block, r.place, "
        "b.bodies FROM requests r LEFT JOIN panels p ON p.id = r.panel "
        "LEFT JOIN request_blocks b ON b.id = r.block ORDER BY r.id"
    )
    last: int | None = None
    bodies: list[Any] = []
    for key, judge, prompt, subject, sample, arrangement, block, place, blob in tick(rows):
        try:
            if block != last:
                last, bodies = block, []
                bodies = json.loads(unpack(blob))
            body = bodies[place]
            json.loads(arrangement)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            yield f"Request {key}: its body cannot be read back ({error})."
            continue
        if request_key(judge, prompt, subject, sample, body) != key:
            yield f"Request {key}: its key is not the hash of what is stored."


def _responses(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    panels = Panels(db)
    rows = db.execute(
        "SELECT a.id, r.key, r.panel, a.body, a.digest "
        "FROM responses a LEFT JOIN requests r ON r.id = a.request ORDER BY a.id"
    )
    for number, key, panel, blob, name in tick(rows):
        if key is None:
            yield f"Response {number}: its request is not there."
            continue
        try:
            content = unpack(blob, panels.at(panel).response_dictionary or b"")
        except (ValueError, TypeError, KeyError) as error:
            yield f"Request {key}: response {number} cannot be read back ({error})."
            continue
        if digest(content) != name:
            yield f"Request {key}: response {number} has another digest than the one stored."


def _attempts(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for number, blob, name in tick(db.execute("SELECT id, body, digest FROM attempts")):
        if blob is None:
            continue
        try:
            is_intact = digest(unpack(blob)) == name
        except (ValueError, TypeError):
            is_intact = False
        if not is_intact:
            yield f"Attempt {number}: what was received cannot be read back, or has another digest."


def _media(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for sha256, content in tick(db.execute("SELECT sha256, content FROM media")):
        if not isinstance(content, bytes) or digest(content).hex() != sha256:
            yield f"Image {sha256}: its content has another digest."


def _standings(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for key, *_ in db.execute(_STANDINGS):
        yield f"Request {key}: what is counted for it disagrees with its attempts and responses."


def _tallies(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    sums = set(
        db.execute(
            "SELECT panel, state, waiting IS NOT NULL AS waits, count(*), sum(prompt_tokens), "
            "sum(completion_tokens) FROM standings GROUP BY panel, state, waits"
        )
    )
    tallies = set(db.execute("SELECT * FROM tallies WHERE n <> 0"))
    for panel, state, *_ in sorted(sums ^ tallies):
        yield f"The counter of panel {panel} in state {state} disagrees with its requests."


def _waiting(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    live = json.dumps(LIVE)
    for (key,) in db.execute(_NOT_LIVE, (live,)):
        yield f"Request {key}: it waits in a batch that is over or does not contain it."
    for shard, key in db.execute(_NOT_WAITING, (live,)):
        yield f"Request {key}: the batch {shard} contains it and is not over, but it does not wait in it."


def _sizes(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for shard, n_planned, n_items in db.execute(
        "SELECT shard, n, (SELECT count(*) FROM batch_items i WHERE i.batch = b.id) AS found FROM batches b "
        "WHERE n IS NOT found"
    ):
        yield f"Batch {shard}: it has {n_items} requests, not the {n_planned} that were planned."


def _numbers(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    """Requests are numbered without gaps, and each has a standing, which is counted."""
    n, last = db.execute("SELECT count(*), coalesce(max(id), 0) FROM requests").fetchone()
    counted = db.execute("SELECT coalesce(sum(n), 0) FROM tallies").fetchone()[0]
    if not n == last == counted:
        yield f"There are {n:,} requests, of {last:,} that were numbered and {counted:,} that were counted."


def _rows_as_stored(db: sqlite3.Connection, tick: Ticker) -> Iterator[str]:
    for table in ROWS if has_digests(db) else ():
        for name in changed_rows(db, table):
            yield f"{name}: what is stored of it was changed, or has another digest."


CHECKS: dict[str, Check] = {
    "pages": _structure,
    "references": _references,
    "numbers": _numbers,
    "rows": _rows_as_stored,
    "requests": _requests,
    "responses": _responses,
    "attempts": _attempts,
    "images": _media,
    "standings": _standings,
    "counters": _tallies,
    "requests in batches": _waiting,
    "batches": _sizes,
}
BEFORE_USE = ("references", "numbers", "rows", "standings", "counters", "requests in batches", "batches")
