"""Requests and answers for tests of ledgers, and what a ledger has."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from conjury.inference.ledger import Answered, Ledger
from conjury.inference.ledger.exchanges import Outcome, Request, request_key


def make_requests(n: int, judge: str = "m", prompt: str = "p", start: int = 0) -> list[Request]:
    """Make n requests about different posts."""
    requests = []
    for number in range(start, start + n):
        body = {"model": judge, "messages": [{"role": "user", "content": f"Is post {number} fine? ÄÖ 笑"}]}
        subject = f"task_{number}"
        key = request_key(judge, prompt, subject, 1, body)
        requests.append(Request(key, judge, prompt, subject, 1, body, {"swap": True}))
    return requests


def answer(content: str = "A") -> bytes:
    """Make the body of an answer of 30 and 2 tokens."""
    usage = {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32}
    message = {"role": "assistant", "content": content}
    return json.dumps({"choices": [{"index": 0, "message": message}], "usage": usage}).encode()


def answer_all(ledger: Ledger, requests: Iterable[Request], body: bytes | None = None) -> list[Request]:
    """Answer what is pending of the requests, and return it."""
    pending = list(ledger.pending(requests))
    for request in pending:
        ledger.record(Outcome(request.key, answer() if body is None else body))
    ledger.flush()
    return pending


def states(ledger: Ledger) -> dict[str, int]:
    """Count requests by state."""
    totals: Counter[str] = Counter()
    for count in ledger.counts():
        totals[count.state] += count.n
    return dict(totals)


def everything(ledger: Ledger, **options: object) -> list[Answered]:
    """Read all answers."""
    return [answered for part in ledger.answers(**options) for answered in part]


def content(answered: Answered) -> str:
    """Text of an answer."""
    return str(answered.body["choices"][0]["message"]["content"])


def as_first_version(path: Path) -> None:
    """Turn a ledger into one of the first version, which had no digests of rows."""
    with closing(sqlite3.connect(path)) as db:
        for table in ("facts", "requests", "responses", "attempts", "batches", "media"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN row_digest")
        db.execute("PRAGMA user_version = 1")
        db.commit()
