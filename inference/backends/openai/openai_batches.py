"""Files and batches of OpenAI: found again by name after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ...tables.safe_text import redact
from ..batches.service import (
    DEFAULT,
    UNNAMED,
    AddressNotFound,
    BatchProgress,
    Complaint,
    SentShard,
    Waits,
    batch_gone,
    create_once,
    download_whole,
    gone,
    id_of_new,
    no_answer,
    no_json,
    refusal,
    store_lines,
)
from ..batches.shards import ShardLimits
from ..endpoints import Endpoint
from .client import VERSION, StatusError, http, open_plain_client
from .client import Unreachable as NoAnswer
from .openai_lines import ENDPOINT, LINES

RUNNING = ("validating", "in_progress", "finalizing", "cancelling")
QUEUE_FULL = ("token_limit_exceeded", "batch_rate_limit_exceeded")

Answer = TypeVar("Answer")


class OpenAIBatches:
    """The files and batches of one account; see `conjury.inference.backends.batches.service.BatchService`."""

    lines = LINES
    limits = ShardLimits()
    keeps_files = True
    full_at_creation = False

    def __init__(
        self, endpoint: Endpoint, model: str, waits: Waits = DEFAULT, *, window: str = "24h"
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self.window = window
        self.waits = waits
        self.client = open_plain_client(endpoint, timeout=waits.timeout, max_retries=waits.max_retries)

    def settings(self) -> dict[str, Any]:
        """Return the window and the version of the client."""
        return {"backend": "openai_batch", "window": self.window, "client": VERSION}

    def find_file(self, name: str) -> str | None:
        """Return the id of an uploaded file by its name, None if there is none."""

        def find() -> str | None:
            files = self.client.files.list(purpose="batch")
            return next((file.id for file in files if file.filename == name), None)

        return self._ask(find, f"the list of files, to find {name}")

    def upload(self, path: Path, name: str) -> str:
        """Upload a file under ``name`` and return its id."""

        def send() -> str:
            with path.open("rb") as file:
                return id_of_new(
                    self.endpoint, self.client.files.create(file=(name, file), purpose="batch").id, what
                )

        what = f"the file {path}"
        return self._ask(send, what)

    def find_batch(self, sending: SentShard) -> str | None:
        """Return the id of the batch that carries the name of a shard, unless it was refused as a whole."""
        shard = sending.shard

        def find() -> str | None:
            for batch in self.client.batches.list(limit=100):
                if (batch.metadata or {}).get("conjury_shard") == shard and batch.status != "failed":
                    return str(batch.id)
            return None

        return self._ask(find, f"the list of batches, to find {shard}")

    def create(self, sending: SentShard) -> str:
        """Create the batch of a shard and return its id; if no answer comes, look before doing it again."""
        client = self.client.with_options(max_retries=0)

        def send() -> str:
            batch = client.batches.create(
                input_file_id=sending.file_id,
                endpoint=ENDPOINT,
                completion_window=self.window,
                metadata={"conjury_shard": sending.shard},
            )
            return id_of_new(self.endpoint, batch.id, what)

        what, file_id = f"the batch of shard {sending.shard}", sending.file_id

        def has_file() -> bool:
            return self._ask(lambda: _size(self.client, file_id), f"the file {file_id}") is not None

        return create_once(
            lambda: self._ask(send, what), lambda: self.find_batch(sending), self.waits.pause, has_file
        )

    def retrieve(self, batch_id: str) -> BatchProgress:
        """Return the progress of a batch; ``Gone`` where it is not there."""
        try:
            return self._ask(
                lambda: self._progress(self.client.batches.retrieve(batch_id)),
                f"the state of batch {batch_id}",
            )
        except AddressNotFound:
            raise batch_gone(self.endpoint, batch_id) from None

    def _progress(self, batch: Any) -> BatchProgress:
        if not isinstance(batch.status, str):
            raise TypeError
        counts = batch.request_counts
        complaints = tuple(map(self._complaint, (batch.errors.data if batch.errors else None) or ()))
        failed = batch.status == "failed"
        return BatchProgress(
            redact(str(batch.status), self.endpoint.secrets),
            counts.completed + counts.failed if counts else 0,
            counts.total if counts else 0,
            batch.output_file_id or (UNNAMED if counts and counts.completed else ""),
            batch.error_file_id or "",
            complaints,
            running=batch.status in RUNNING,
            failed=failed,
            queue_full=failed and any(each.code in QUEUE_FULL for each in complaints),
        )

    def download(self, file_id: str, path: Path, batch_id: str) -> None:
        """Store a file of a batch compressed; answers are whole if there is one for each that is counted."""
        # Any other file is whole if it has the size that the provider names.
        what = f"the file {file_id}"
        if file_id == UNNAMED:
            raise gone(self.endpoint, file_id, batch_id)
        size = self._ask(lambda: _size(self.client, file_id), what)
        if size is None:
            raise gone(self.endpoint, file_id, batch_id)

        def store() -> tuple[int, int]:
            with self.client.files.with_streaming_response.content(file_id) as response:
                return store_lines(response.iter_bytes(1 << 20), path, self.endpoint.secrets)

        lines = self._ask(lambda: self._answers(file_id, batch_id), f"the state of batch {batch_id}")
        download_whole(self.endpoint, lambda: self._ask(store, what), what, size, lines)

    def _answers(self, file_id: str, batch_id: str) -> int:
        """Return how many answers a file has according to its batch; 0 where that is not known."""
        batch = self.client.batches.retrieve(batch_id)
        counts = batch.request_counts
        return counts.completed if counts and batch.output_file_id == file_id else 0

    def _ask(self, exchange: Callable[[], Answer], what: str) -> Answer:
        try:
            return exchange()
        except StatusError as error:
            response = error.response
            problem = refusal(self.endpoint, self.model, response.status_code, response.content, what)
        except (NoAnswer, http.HTTPError) as error:
            reason = redact(str(error.__cause__ or error), self.endpoint.secrets)
            problem = no_answer(self.endpoint, what, reason)
        except (AttributeError, KeyError, TypeError, ValueError):  # of the client, which expects its own JSON
            problem = no_json(self.endpoint, what)
        raise problem

    def _complaint(self, error: Any) -> Complaint:
        message = redact(" ".join(str(error.message or error.code or "").split()), self.endpoint.secrets)
        return Complaint(redact(str(error.code or ""), self.endpoint.secrets), error.line or 0, message[:300])


def _size(client: Any, file_id: str) -> int | None:
    try:
        return int(client.files.retrieve(file_id).bytes)
    except StatusError as error:
        if error.response.status_code == 404:
            return None
        raise
