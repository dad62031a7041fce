"""Batches of Anthropic's Message Batches API, which have no name: recognised again by their results.

Nothing that is sent with a batch is returned while it runs. Before a shard is sent, the newest batch of the
account is noted; each request carries a mark of its shard in its ``custom_id``. After a crash, batches that
are newer than the one noted, have as many requests, and are not in the ledger may be that shard: one that has
ended is recognised by the mark in its results, and while one still runs nothing is sent.

References
----------
https://platform.claude.com/docs/en/api/messages/batches
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...tables.safe_text import redact
from ..batches.http import Exchanges
from ..batches.service import (
    DEFAULT,
    AddressNotFound,
    BatchProgress,
    IncompleteResults,
    NotAtProvider,
    SentShard,
    UncertainBatch,
    Waits,
    batch_gone,
    create_once,
    gone,
    id_of_new,
)
from ..batches.shards import ShardLimits, open_lines
from ..endpoints import Endpoint
from ..openai.failures import parse
from .anthropic_lines import LINES

VERSION = "2023-06-01"
PAGE = 100
NONE = "none"  # in place of the newest batch where there is none
AFTER = "after "  # begins what is noted before a shard is sent


class AnthropicBatches:
    """The batches of one workspace; see `conjury.inference.backends.batches.service.BatchService`."""

    lines = LINES
    limits = ShardLimits(requests=90_000, bytes=240_000_000)
    keeps_files = False
    full_at_creation = False

    def __init__(self, endpoint: Endpoint, model: str, waits: Waits = DEFAULT) -> None:
        self.endpoint = endpoint
        self.waits = waits
        self.url = f"{endpoint.base_url.rstrip('/').removesuffix('/v1')}/v1/messages/batches"
        headers = {"anthropic-version": VERSION, **({"x-api-key": endpoint.key} if endpoint.key else {})}
        self.exchanges = Exchanges(endpoint, model, headers, waits)

    def settings(self) -> dict[str, Any]:
        """Return the version of the interface."""
        return {"backend": "anthropic_batch", "version": VERSION}

    def find_file(self, name: str) -> str | None:
        """Return None, since no files are uploaded."""
        return None

    def upload(self, path: Path, name: str) -> str:
        """Return the newest batch of the account, to be noted before a shard is sent."""
        newest = next(self._listed(limit=1), None)
        return AFTER + (NONE if newest is None else str(newest.get("id")))

    def find_batch(self, sending: SentShard) -> str | None:
        """Return the id of the batch of a shard by the mark in its results."""
        batch_id = sending.file_id.removeprefix(AFTER)
        suspect = ""
        for batch in self._listed(limit=PAGE):
            name = str(batch.get("id"))
            if name == batch_id:
                break
            if name in sending.others or _n_requests(batch) != sending.n:
                continue
            mark = self._mark(batch, sending.path)
            if mark == _mark(sending.shard):
                return name
            if mark is None:
                suspect = name
        if suspect:
            raise UncertainBatch(
                f"{self.endpoint.base_url} did not answer when shard {sending.shard} was sent, and batch "
                f"{suspect} with as many requests may be that shard; wait until it has ended, or cancel it, "
                "and run the same command, which recognises it by its results."
            )
        return None

    def create(self, sending: SentShard) -> str:
        """Create the batch of a shard and return its id; if no answer comes, look before doing it again."""
        what = f"the batch of shard {sending.shard}"
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(sum(map(len, _creation_body(sending)))),
        }

        def send() -> str:
            batch = self.exchanges.read(
                "POST", self.url, what, retry=False, headers=headers, content=lambda: _creation_body(sending)
            )
            return id_of_new(self.endpoint, batch.get("id"), what)

        return create_once(send, lambda: self.find_batch(sending), self.waits.pause)

    def retrieve(self, batch_id: str) -> BatchProgress:
        """Return the progress of a batch; ``NotAtProvider`` where it is not there."""
        batch = self._batch(batch_id)
        counts = _request_counts(batch)
        total = sum(counts.values())
        return BatchProgress(
            redact(str(batch.get("processing_status")), self.endpoint.secrets),
            total - counts.get("processing", 0),
            total,
            batch_id,
            running=batch.get("processing_status") != "ended",
        )

    def download(self, file_id: str, path: Path, batch_id: str) -> None:
        """Store the results of a batch compressed; they are whole if there is a line for each request."""
        batch = self._batch(batch_id)
        if not batch.get("results_url"):
            raise gone(self.endpoint, f"{batch_id}.jsonl", batch_id)
        self.exchanges.download(
            f"{self.url}/{batch_id}/results", path, f"{batch_id}.jsonl", batch_id, _n_requests(batch)
        )

    def _batch(self, batch_id: str) -> dict[str, Any]:
        try:
            return self.exchanges.read("GET", f"{self.url}/{batch_id}", f"the state of batch {batch_id}")
        except AddressNotFound:
            raise batch_gone(self.endpoint, batch_id) from None

    def _listed(self, limit: int) -> Iterator[dict[str, Any]]:
        """Yield the batches of the account, the newest first."""
        after: dict[str, str] = {}
        while True:
            page = self.exchanges.read(
                "GET", self.url, "the list of batches", params={"limit": str(limit), **after}
            )
            batches = [batch for batch in page.get("data") or () if isinstance(batch, dict)]
            yield from batches
            if not batches or not page.get("has_more"):
                return
            after = {"after_id": str(page.get("last_id") or batches[-1].get("id"))}

    def _mark(self, batch: dict[str, Any], path: Path) -> str | None:
        """Return the mark of the shard in the results of a batch, None where they are not available."""
        if batch.get("processing_status") != "ended" or not batch.get("results_url"):
            return None
        name = str(batch["id"])
        results = path.with_name(f"{path.stem}.sought.jsonl.gz")
        try:
            self.exchanges.download(
                f"{self.url}/{name}/results", results, f"{name}.jsonl", name, _n_requests(batch)
            )
            first = next(open_lines(results), b"")
        except (NotAtProvider, IncompleteResults):
            return None
        finally:
            results.unlink(missing_ok=True)
        line = parse(first)
        return str(line.get("custom_id")).rpartition("-")[2] if isinstance(line, dict) else ""


def _mark(shard: str) -> str:
    """Return the mark of a shard: the digits at the end of its name."""
    return shard.rpartition("-")[2]


def _creation_body(sending: SentShard) -> Iterator[bytes]:
    """Yield the request that creates a batch from the lines of a shard's file."""
    before = b'{"requests":['
    for line in open_lines(sending.path):
        head, quote, tail = line.strip().partition(b'","params"')
        yield before + head + b"-" + _mark(sending.shard).encode() + quote + tail
        before = b","
    yield b"]}"


def _request_counts(batch: dict[str, Any]) -> dict[str, int]:
    counts = batch.get("request_counts")
    fields = counts if isinstance(counts, dict) else {}
    return {name: n for name, n in fields.items() if isinstance(n, int)}


def _n_requests(batch: dict[str, Any]) -> int:
    return sum(_request_counts(batch).values())
