"""One question to a model and what came back, with times and errors as the ledger keeps them."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ..errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """Return the time of the system's clock, which may go back."""
    return time.time_ns() // 1000


def as_datetime(moment: int) -> datetime:
    """Return a stored time."""
    return _EPOCH + timedelta(microseconds=moment)


@contextmanager
def input_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the operating system about ``path`` into InputError."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: {_sentence(error)}") from error
    except OSError as error:
        raise InputError(
            f"{path}: the ledger cannot be opened here ({error.strerror}); check the folder and its "
            "permissions."
        ) from error


def _sentence(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return (
            "there is no space left for the ledger; free some, then run the same command again: what was "
            "written before is kept."
        )
    if name.startswith("SQLITE_IOERR"):
        return (
            f"the ledger cannot be read or written any further ({error}); check the disk, its space and "
            "your quota, then run the same command again: what was written before is kept."
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return (
            f"the ledger cannot be opened or written ({error}); check the permissions of the file and its "
            "folder."
        )
    if name.startswith("SQLITE_CORRUPT"):
        return (
            f"the ledger is damaged ({error}); see what `conjury run verify` finds, and put a copy of "
            "the file in its place."
        )
    if name.startswith("SQLITE_NOTADB"):
        return "this file is no ledger; name the folder of a run, or move the file away."
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another program has locked the ledger ({error}); close it, then run the same command again."
    if name.startswith("SQLITE_TOOBIG"):
        return f"what is to be written is too large for the ledger ({error}); make it smaller."
    return (
        f"the ledger contains invalid data, or cannot be used in this way ({error}); see what "
        "`conjury run verify` finds."
    )


Body = dict[str, Any]
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")  # settings that limit an answer, the newer name first

MEDIA = "media:"  # an image of a stored request is written as this prefix and the SHA-256 of its bytes
TRANSIENT = ("rate_limit", "server", "timeout", "connection", "invalid_response", "expired", "cancelled")
FINAL = ("rejected", "too_large")


@dataclass(frozen=True, slots=True)
class Request:
    """One question to one model: all that can change the answer, and what it is about."""

    key: str  # see :func:`request_key`
    judge_id: str
    prompt_id: str
    subject_id: str  # the task of a conjoint that shows pairs, else the item or profile that is judged
    sample: int  # counted from 1
    body: Body  # body of a chat completion as OpenAI's protocol has it; images as `media:SHA256` or as URLs
    # what was drawn for this request and changes no fact about its subject, such as the order of options
    arrangement: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One exchange with a provider that did not yield the answer: its HTTP status (0 for none) and why."""

    # `billed` states whether the provider may have answered and charged for it all the same.

    status: int
    error: str
    seconds: float
    billed: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended: with the provider's answer, or with an error."""

    key: str  # the key of the request
    # the JSON of one chat completion as it was received; None where none came. What came instead of an answer
    # and cannot be read as one is kept in `refused_body`
    body: bytes | None = None
    # empty for an answer; else one of `TRANSIENT` (worth asking again) or `FINAL`
    kind: str = ""
    # what went wrong, in one line
    error: str = ""
    # from sending to receiving, by a clock that does not go back
    seconds: float = 0.0
    # failed exchanges before this end, and the last one where there is no answer
    attempts: tuple[Attempt, ...] = ()
    refused_body: bytes | None = None
    # the shard of a batch that brought it; empty otherwise
    batch: str = ""


def request_key(judge_id: str, prompt_id: str, subject_id: str, sample: int, body: Body) -> str:
    """Name a request by the first 32 hexadecimal digits of the SHA-256 of all that can change its answer."""
    # That is the body (model, messages, images by hash, settings) and the number of the sample; who is asked
    # about what under which prompt is part of it, so that no two requests of a run share a key.
    content = json.dumps(
        [judge_id, prompt_id, subject_id, sample, body],
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def resolve(body: Body, media: Callable[[str], tuple[str, bytes]]) -> Body:
    """Put images, clips and sound of a stored body where it names them; others are returned as they are."""
    messages = body["messages"]
    if all(isinstance(message["content"], str) for message in messages):
        return body
    resolved = [
        message
        if isinstance(message["content"], str)
        else {**message, "content": [_resolve_part(part, media) for part in message["content"]]}
        for message in messages
    ]
    return {**body, "messages": resolved}


def _resolve_part(part: dict[str, Any], media: Callable[[str], tuple[str, bytes]]) -> dict[str, Any]:
    kind = part["type"]
    field = "data" if kind == "input_audio" else "url"
    payload = part.get(kind)
    if not isinstance(payload, dict) or not str(payload.get(field, "")).startswith(MEDIA):
        return part
    mime, content = media(payload[field].removeprefix(MEDIA))
    coded = base64.b64encode(content).decode("ascii")
    return {**part, kind: {**payload, field: coded if field == "data" else f"data:{mime};base64,{coded}"}}
