"""How many requests of a ledger are in which state, and the tokens of their answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

WAITING = "waiting in a batch"


@dataclass(frozen=True, slots=True)
class Count:
    """Number of requests of a judge under a prompt that are in the same state.

    Parameters
    ----------
    judge_id, prompt_id : str
        Identifiers of judge and prompt.
    state : str
        "pending", "answered", or the kind of error that the newest round ended with.
    batch : str
        "waiting in a batch", or empty.
    n : int
        Number of requests.
    prompt_tokens, completion_tokens : int
        Of all their answers, those of earlier rounds included.

    Examples
    --------
    >>> Count("gpt4o", "baseline", "answered", "", n=15, prompt_tokens=4_950, completion_tokens=15).n
    15
    """

    judge_id: str
    prompt_id: str
    state: str
    batch: str
    n: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over the answers of a judge that state their tokens, of all rounds.

    Parameters
    ----------
    batch : bool
        Whether the answers came from batches.
    n : int
        Number of answers.
    prompt_tokens, completion_tokens : int
        Tokens of all these requests, and of the answers.

    Examples
    --------
    >>> usage = Usage(batch=False, n=15, prompt_tokens=4_950, completion_tokens=15)
    >>> usage.prompt_tokens / usage.n
    330.0
    """

    batch: bool
    n: int
    prompt_tokens: int
    completion_tokens: int


def read_counts(db: sqlite3.Connection) -> list[Count]:
    """Count requests by judge, prompt, state and whether they wait in a batch."""
    rows = db.execute(
        "SELECT p.judge_id, p.prompt_id, t.state, t.waits, t.n, t.prompt_tokens, t.completion_tokens "
        "FROM tallies t JOIN panels p ON p.id = t.panel WHERE t.n > 0 ORDER BY p.id, t.state, t.waits"
    )
    return [
        Count(judge, prompt, state, WAITING if waits else "", *numbers)
        for judge, prompt, state, waits, *numbers in rows
    ]


def read_counts_of(db: sqlite3.Connection, judge_id: str, subjects: Collection[str]) -> list[Count]:
    """Count requests of a judge about these subjects by prompt, state and whether they wait in a batch."""
    rows = db.execute(
        "SELECT p.prompt_id, s.state, s.waiting IS NOT NULL, r.subject_id, count(*), sum(s.prompt_tokens), "
        "sum(s.completion_tokens) FROM requests r JOIN standings s ON s.request = r.id "
        "JOIN panels p ON p.id = r.panel WHERE p.judge_id = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3",
        (judge_id,),
    )
    sums: dict[tuple[str, str, int], list[int]] = {}
    for prompt, state, waits, subject, *numbers in rows:
        if subject in subjects:
            before = sums.get((prompt, state, waits), [0] * len(numbers))
            sums[prompt, state, waits] = [
                total + number for total, number in zip(before, numbers, strict=True)
            ]
    return [
        Count(judge_id, prompt, state, WAITING if waits else "", *numbers)
        for (prompt, state, waits), numbers in sums.items()
    ]


def read_usage(db: sqlite3.Connection, judge_id: str) -> list[Usage]:
    """Sum the tokens of all answers of a judge, by whether a batch brought them."""
    rows = db.execute(
        "SELECT r.batch <> '', sum(r.prompt_tokens > 0), sum(r.prompt_tokens), sum(r.completion_tokens) "
        "FROM responses r JOIN requests q ON q.id = r.request JOIN panels p ON p.id = q.panel "
        "WHERE p.judge_id = ? GROUP BY r.batch <> ''",
        (judge_id,),
    )
    return [Usage(bool(batch), *numbers) for batch, *numbers in rows]
