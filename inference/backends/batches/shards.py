"""Requests as JSONL files for batch interfaces, and the result files that come back, of any provider."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import InputError
from ...ledger.exchanges import Attempt, Outcome, Request
from ...tables.writing import open_itself
from ..openai.failures import Failure, parse
from ..openai.replies import BROKEN, Reply, read_reply

Media = Callable[[str], tuple[str, bytes]]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a provider writes the lines of its files."""

    id_field: str  # field of both kinds of lines that names the request
    # turns a request, media put in, into the content of its line; the first field is `id_field`
    line: Callable[[Request, Media], dict[str, Any]]
    # takes the content of a line of results and returns the key of its request, None where it has none
    key: Callable[[dict[str, Any]], object]
    # takes a key, the content of its line of results and the shard, and returns how the request ended
    outcome: Callable[[str, dict[str, Any], str], Outcome]

    def write(self, request: Request, media: Media) -> bytes:
        """Write a request as one line."""
        return _encode(self.line(request, media)).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class ShardLimits:
    """How large a shard may get; the defaults are for providers that accept 50,000 requests and 200 MB."""

    requests: int = 45_000
    bytes: int = 190_000_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of requests: its name, the keys of its lines in their order, its SHA-256 and its bytes."""

    name: str
    path: Path
    keys: list[str]
    sha256: str
    size: int


@dataclass
class LineTally:
    """What the lines of result files were."""

    answered: set[str] = field(default_factory=set)  # keys with an answer
    failed: dict[str, Outcome] = field(default_factory=dict)  # by key, of requests that came back without one
    unknown: list[str] = field(default_factory=list)  # ``custom_id`` of lines of no request, not recorded
    unreadable: int = 0  # lines that are no JSON
    unassigned: int = 0  # those of them in which no key can be recognised
    repeated: int = 0  # further lines for a key that has its answer

    @property
    def odd(self) -> bool:
        """Whether there were lines other than one for each request."""
        return bool(self.unreadable or self.repeated or self.unknown)

    def __str__(self) -> str:
        """List all that is not zero."""
        example = f" (first: {self.unknown[0]!r:.60})" if self.unknown else ""
        counts = [
            f"{len(self.answered):,} answered",
            f"{len(self.failed):,} failed" * bool(self.failed),
            f"{self.unreadable:,} unreadable lines" * bool(self.unreadable),
            f"{self.repeated:,} repeated lines" * bool(self.repeated),
            f"{len(self.unknown):,} lines of unknown requests{example}" * bool(self.unknown),
        ]
        return ", ".join(part for part in counts if part)


def write_shards(
    requests: Iterable[Request],
    folder: Path,
    label: str,
    media: Media,
    limits: ShardLimits,
    refuse: Callable[[Outcome], None],
    lines: LineFormat,
) -> Iterator[Shard]:
    """Write requests to files of limited size in ``folder``, one after the other."""
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = _lines_within(requests, media, limits.bytes, refuse, lines)
    entry = next(written, None)
    while entry is not None:
        name = f"{file_label(label)}-{uuid.uuid4().hex[:16]}"
        path = folder / f"{name}.jsonl"
        keys: list[str] = []
        size, digest = 0, hashlib.sha256()
        with open_atomic(path) as file:
            while entry is not None and len(keys) < limits.requests and size + len(entry[1]) <= limits.bytes:
                key, line = entry
                with writable(path):
                    file.write(line)
                digest.update(line)
                keys.append(key)
                size += len(line)
                entry = next(written, None)
        yield Shard(name, path, keys, digest.hexdigest(), size)


def file_label(judge_id: str) -> str:
    """Return what the names of a judge's shards begin with."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", judge_id)[:32]


def split_shard(path: Path, name: str, id_field: str) -> Iterator[Shard]:
    """Write the lines of a shard's file to two new shards of half its length."""
    with path.open("rb") as file:
        half = (sum(1 for _ in file) + 1) // 2
        for part in ("a", "b"):
            file.seek(0)
            lines = [line for place, line in enumerate(file) if (place < half) == (part == "a")]
            target = path.with_name(f"{name}{part}.jsonl")
            with open_atomic(target) as out, writable(target):
                out.writelines(lines)
            content = b"".join(lines)
            keys = [json.loads(line)[id_field] for line in lines]
            yield Shard(f"{name}{part}", target, keys, hashlib.sha256(content).hexdigest(), len(content))


def outcomes_of(
    lines: Iterable[bytes], keys: Container[str], tally: LineTally, form: LineFormat, shard: str = ""
) -> Iterator[Outcome]:
    """Return the outcomes in the lines of result files, in any order."""
    # The first answer to a request counts; others follow it where they differ. Failures come after all lines,
    # for requests without an answer; what cannot be read as an answer comes in any case.
    first: dict[str, bytes] = {}  # digest of the first answer by key
    for line in filter(bytes.strip, lines):
        parsed = parse(line)
        if isinstance(parsed, dict):
            key = form.key(parsed)
            if not isinstance(key, str) or key not in keys:
                tally.unknown.append(str(key))
                continue
            outcome = form.outcome(key, parsed, shard)
        else:
            tally.unreadable += 1
            recognised = _key_in(line, keys, form)
            if recognised is None:
                tally.unassigned += 1
                continue
            key, outcome = recognised, unreadable(recognised, line.strip(), shard)
        tally.repeated += key in first
        if outcome.body is not None:
            digest = hashlib.sha256(outcome.body).digest()
            if first.setdefault(key, digest) != digest or key not in tally.answered:
                yield outcome
            tally.answered.add(key)
            before = tally.failed.pop(key, None)
        elif key in tally.answered:
            before = outcome
        else:
            before = tally.failed.get(key)
            tally.failed[key] = outcome
        if before is not None and before.refused_body is not None:
            yield before
    yield from tally.failed.values()


def _key_in(line: bytes, keys: Container[str], form: LineFormat) -> str | None:
    """Return the key of a request in a line that is no JSON; None where there is none."""
    for match in re.finditer(rb'"%s"\s*:\s*"([\w.-]+)"' % form.id_field.encode(), line):
        key = form.key({form.id_field: match[1].decode()})
        if isinstance(key, str) and key in keys:
            return key
    return None


def open_lines(path: Path) -> Iterator[bytes]:
    """Return the lines of a JSONL file, plain or compressed with gzip (by its ending .gz)."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from file


@contextmanager
def open_atomic(path: Path, *, compressed: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only when all is written and on disk."""
    part = path.with_name(f"{path.name}.part")
    with writable(path):
        file = open(part, "wb", opener=open_itself)  # noqa: SIM115 (closed below)
    try:
        if compressed:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file
        with writable(path):
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
    finally:
        with writable(path):
            file.close()
            part.unlink(missing_ok=True)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Raise one sentence on why a file cannot be written."""
    try:
        yield
    except OSError as error:
        remedy = "free some space" if error.errno == errno.ENOSPC else "check the folder's permissions"
        raise InputError(f"{path} cannot be written ({error.strerror}); {remedy} and run again.") from None


def _lines_within(
    requests: Iterable[Request],
    media: Media,
    largest: int,
    refuse: Callable[[Outcome], None],
    lines: LineFormat,
) -> Iterator[tuple[str, bytes]]:
    for request in requests:
        line = lines.write(request, media)
        if len(line) <= largest:
            yield request.key, line
        else:
            error = f"the request has {len(line):,} bytes, a batch takes {largest:,}"
            refuse(Outcome(request.key, kind="too_large", error=error))


def settled(key: str, status: int, content: bytes, shard: str) -> Outcome:
    """Return how a request ended by the status and the body that a batch brought for it."""
    return _in_batch(read_reply(status, {}, content), key, content, shard)


def unreadable(key: str, line: bytes, shard: str) -> Outcome:
    """Return the outcome of a request whose line of results is no JSON."""
    fault = "its line in the results is not complete JSON"
    reply = Reply(kind=BROKEN, error=fault, message=fault, billed=True)
    return _in_batch(reply, key, line, shard)


def failed(key: str, failure: Failure, kind: str, shard: str) -> Outcome:
    """Return the outcome of a request that a batch brought an error for."""
    error = str(failure) if failure.status else failure.message
    reply = Reply(kind=kind, error=error, message=failure.message, status=failure.status)
    return _in_batch(reply, key, None, shard)


def _in_batch(reply: Reply, key: str, content: bytes | None, shard: str) -> Outcome:
    attempts = [Attempt(reply.status, reply.message, 0.0, reply.billed)] if reply.kind else []
    refused_body = content if reply.billed else None
    return replace(reply.outcome(key, refused_body, attempts=attempts), batch=shard)
