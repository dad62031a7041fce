"""Files and batches of the Gemini API: recognised by their display names after a crash.

References
----------
https://ai.google.dev/api/batch-api and https://ai.google.dev/api/files
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...errors import InputError
from ...tables.safe_text import redact
from ..batches.http import Exchanges
from ..batches.service import (
    DEFAULT,
    UNNAMED,
    AddressNotFound,
    BatchProgress,
    Complaint,
    ProviderUnreachable,
    SentShard,
    Waits,
    batch_gone,
    create_once,
    gone,
    id_of_new,
)
from ..batches.shards import ShardLimits
from ..endpoints import Endpoint
from .gemini_lines import LINES

VERSION = "v1beta"
PAGE = 100
CHUNK = 1 << 20  # of an upload, so that no whole file is in memory
ENDED = ("succeeded", "partially_succeeded", "failed", "cancelled", "expired")
PREFIXES = ("BATCH_STATE_", "JOB_STATE_")
REFUSED = (3, 5, 7, 9, 16)  # codes of gRPC with which a batch is refused before any request is executed


class GoogleBatches:
    """The files and batches of one project; see `conjury.inference.backends.batches.service.BatchService`."""

    lines = LINES
    limits = ShardLimits(
        requests=2_500, bytes=1_000_000_000
    )  # accounts begin with a quota of 3 million tokens
    keeps_files = True
    full_at_creation = True

    def __init__(self, endpoint: Endpoint, model: str, waits: Waits = DEFAULT) -> None:
        self.endpoint = endpoint
        self.model = model.removeprefix("models/")
        self.waits = waits
        self.root = endpoint.base_url.rstrip("/").removesuffix(f"/{VERSION}")
        headers = {"x-goog-api-key": endpoint.key} if endpoint.key else {}
        self.exchanges = Exchanges(endpoint, model, headers, waits)

    def settings(self) -> dict[str, Any]:
        """Return the version of the interface."""
        return {"backend": "google_batch", "version": VERSION}

    def find_file(self, name: str) -> str | None:
        """Return the id of an uploaded file by its name, None if there is none."""
        files = self._listed("files", "files", f"the list of files, to find {name}")
        return next((str(file["name"]) for file in files if file.get("displayName") == name), None)

    def upload(self, path: Path, name: str) -> str:
        """Upload a file under ``name`` and return its id."""
        what, size = f"the file {path}", str(path.stat().st_size)
        headers = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": size,
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
        }
        url = f"{self.root}/upload/{VERSION}/files"
        begun = self.exchanges.ask("POST", url, what, headers=headers, json={"file": {"displayName": name}})
        place = urlsplit(begun.headers.get("x-goog-upload-url", ""))
        if not place.path:
            raise ProviderUnreachable(
                f"{self.endpoint.base_url} returned no address to upload {path}; run the same command again."
            )
        sent = {
            "X-Goog-Upload-Command": "upload, finalize",
            "X-Goog-Upload-Offset": "0",
            "Content-Length": size,
        }
        here = urlsplit(self.root)._replace(path=place.path, query=place.query).geturl()
        file = self.exchanges.read(
            "POST", here, what, retry=False, headers=sent, content=lambda: _chunks(path)
        ).get("file")
        if not isinstance(file, dict) or not file.get("name"):
            raise ProviderUnreachable(
                f"{self.endpoint.base_url} did not confirm the file {path}; run the same command again."
            )
        return str(file["name"])

    def find_batch(self, sending: SentShard) -> str | None:
        """Return the id of the batch that carries the name of a shard, unless it was refused as a whole."""
        name = _display_name(sending.shard)
        for batch in self._listed("batches", "operations", f"the list of batches, to find {sending.shard}"):
            if _metadata(batch).get("displayName") == name and _state(batch) != "failed":
                return str(batch["name"])
        return None

    def create(self, sending: SentShard) -> str:
        """Create the batch of a shard and return its id; if no answer comes, look before doing it again."""
        url = f"{self.root}/{VERSION}/models/{self.model}:batchGenerateContent"
        batch = {
            "displayName": _display_name(sending.shard),
            "inputConfig": {"fileName": sending.file_id},
        }
        what = f"the batch of shard {sending.shard}"

        def send() -> str:
            answer = self.exchanges.read("POST", url, what, retry=False, json={"batch": batch})
            return id_of_new(self.endpoint, answer.get("name"), what)

        return create_once(
            send,
            lambda: self.find_batch(sending),
            self.waits.pause,
            lambda: self._has_file(sending.file_id),
        )

    def retrieve(self, batch_id: str) -> BatchProgress:
        """Return the progress of a batch; ``Gone`` where it is not there."""
        # A batch that has failed may have answered some requests; its results are then those of any other.
        batch = self._batch(batch_id)
        state, stats = _state(batch), _metadata(batch).get("batchStats")
        counts = stats if isinstance(stats, dict) else {}
        answered = _number(counts, "successfulRequestCount")
        file_id = _responses_file(batch)
        failed = state == "failed" and not file_id and not answered
        error = batch.get("error")
        fault = error if isinstance(error, dict) else {}
        complaints: tuple[Complaint, ...] = ()
        if fault and failed:
            message = redact(" ".join(str(fault.get("message") or "").split()), self.endpoint.secrets)[:300]
            complaints = (Complaint(str(fault.get("code") or ""), 0, message or "no reason given"),)
        over = state in ENDED and (bool(file_id) or bool(batch.get("done")) or "succeeded" not in state)
        unnamed = over and ("succeeded" in state or answered > 0)
        return BatchProgress(
            redact(state, self.endpoint.secrets),
            answered + _number(counts, "failedRequestCount"),
            _number(counts, "requestCount"),
            file_id or (UNNAMED if unnamed else ""),
            complaints=complaints,
            running=not over,
            failed=failed,
            executed=failed and fault.get("code") not in REFUSED,
        )

    def download(self, file_id: str, path: Path, batch_id: str) -> None:
        """Store the results of a batch compressed; they are whole if there is a line for each request."""
        # A batch that has not succeeded has one for each answer.
        if file_id == UNNAMED:
            raise gone(self.endpoint, file_id, batch_id)
        batch = self._batch(batch_id)
        stats, succeeded = _metadata(batch).get("batchStats"), _state(batch) == "succeeded"
        field = "requestCount" if succeeded else "successfulRequestCount"
        total = _number(stats if isinstance(stats, dict) else {}, field)
        url = f"{self.root}/download/{VERSION}/{file_id}:download?alt=media"
        self.exchanges.download(url, path, file_id, batch_id, total)

    def _batch(self, batch_id: str) -> dict[str, Any]:
        try:
            return self.exchanges.read(
                "GET", f"{self.root}/{VERSION}/{batch_id}", f"the state of batch {batch_id}"
            )
        except AddressNotFound:
            raise batch_gone(self.endpoint, batch_id) from None

    def _has_file(self, file_id: str) -> bool:
        """Whether an uploaded file exists; Google deletes files after 48 hours, and answers 403 from then."""
        try:
            self.exchanges.read("GET", f"{self.root}/{VERSION}/{file_id}", f"the file {file_id}")
        except ProviderUnreachable:
            return True
        except InputError:
            return False
        return True

    def _listed(self, what: str, field: str, about: str) -> Iterator[dict[str, Any]]:
        """Yield all entries of a list that comes in pages."""
        token: dict[str, str] = {}
        while True:
            page = self.exchanges.read(
                "GET", f"{self.root}/{VERSION}/{what}", about, params={"pageSize": str(PAGE), **token}
            )
            yield from (entry for entry in page.get(field) or () if isinstance(entry, dict))
            if not page.get("nextPageToken"):
                return
            token = {"pageToken": str(page["nextPageToken"])}


def _display_name(shard: str) -> str:
    return f"conjury-{shard}"


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _metadata(batch: dict[str, Any]) -> dict[str, Any]:
    metadata = batch.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _state(batch: dict[str, Any]) -> str:
    """Return the state of a batch in lower case, without the prefix that it has in one form or another."""
    state = str(_metadata(batch).get("state") or "unspecified")
    for prefix in PREFIXES:
        state = state.removeprefix(prefix)
    return state.lower()


def _responses_file(batch: dict[str, Any]) -> str:
    for place in (batch.get("response"), _metadata(batch).get("output")):
        if isinstance(place, dict) and isinstance(place.get("responsesFile"), str):
            return str(place["responsesFile"])
    return ""


def _number(counts: dict[str, Any], name: str) -> int:
    """Return a count, which JSON has as text; 0 where it is none."""
    text = str(counts.get(name, ""))
    return int(text) if text.isdecimal() else 0
