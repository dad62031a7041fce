"""Files and batches of a provider: found again by name after a crash, in terms of this project."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...errors import InputError
from .client import NO_KEY, Endpoint, StatusError, http
from .client import Unreachable as NoAnswer
from .failures import NO_CREDIT, concerns_all, mask_bytes, read_failure, redact
from .shards import ENDPOINT, completed, writable

OpenAI: Any = importlib.import_module("openai").OpenAI

RUNNING = ("validating", "in_progress", "finalizing", "cancelling")
QUEUE_FULL = ("token_limit_exceeded", "batch_rate_limit_exceeded")
TRIES = 4

Answer = TypeVar("Answer")


class Unreachable(InputError):
    """The provider does not answer now; the same may succeed later."""


class Busy(Unreachable):
    """The provider takes no more for now."""


class Gone(InputError):
    """The provider does not have, or does not show to this key, what it named itself."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a batch was refused as a whole; ``line`` counts from 1, 0 if it is about no line."""

    code: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How a batch stands: its status, requests done and in all, its result files (empty for none)."""

    status: str
    done: int
    total: int
    output_file_id: str
    error_file_id: str
    complaints: tuple[Complaint, ...]

    def __str__(self) -> str:
        """Return the status and the requests done, or the first complaint."""
        if self.complaints:
            return f"{self.status}: {self.complaints[0].message}"
        return f"{self.status}, {self.done:,} of {self.total:,}" if self.total else self.status

    @property
    def queue_full(self) -> bool:
        """Whether it was refused only since too much is queued."""
        return self.status == "failed" and any(each.code in QUEUE_FULL for each in self.complaints)


class BatchService:
    """The files and batches of one account."""

    def __init__(
        self, endpoint: Endpoint, model: str, *, timeout: float, max_retries: int, pause: float
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self.pause = pause
        self.client = OpenAI(
            api_key=endpoint.key or NO_KEY,
            base_url=endpoint.base_url,
            timeout=timeout,
            max_retries=max_retries,
        )

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
                return str(self.client.files.create(file=(name, file), purpose="batch").id)

        return self._ask(send, f"the file {path}")

    def find_batch(self, shard: str) -> str | None:
        """Return the id of the batch that carries the name of a shard, unless it was refused as a whole."""

        def find() -> str | None:
            for batch in self.client.batches.list(limit=100):
                if (batch.metadata or {}).get("conjury_shard") == shard and batch.status != "failed":
                    return str(batch.id)
            return None

        return self._ask(find, f"the list of batches, to find {shard}")

    def create(self, file_id: str, shard: str, window: str) -> str:
        """Create the batch of a shard and return its id; if no answer comes, look before doing it again."""
        client = self.client.with_options(max_retries=0)

        def send() -> str:
            batch = client.batches.create(
                input_file_id=file_id,
                endpoint=ENDPOINT,
                completion_window=window,
                metadata={"conjury_shard": shard},
            )
            return str(batch.id)

        for attempt in range(TRIES):
            try:
                return self._ask(send, f"the batch of shard {shard}")
            except Busy:
                raise
            except Unreachable:
                time.sleep(self.pause * 2**attempt)
                found = self.find_batch(shard)
                if found is not None:
                    return found
                if attempt == TRIES - 1:
                    raise
        raise AssertionError

    def retrieve(self, batch_id: str) -> Progress:
        """Ask how a batch stands."""
        batch = self._ask(lambda: self.client.batches.retrieve(batch_id), f"the state of batch {batch_id}")
        counts = batch.request_counts
        complaints = (batch.errors.data if batch.errors else None) or ()
        return Progress(
            redact(str(batch.status), self.endpoint.secrets),
            counts.completed + counts.failed if counts else 0,
            counts.total if counts else 0,
            batch.output_file_id or "",
            batch.error_file_id or "",
            tuple(self._complaint(each) for each in complaints),
        )

    def download(self, file_id: str, path: Path, batch_id: str) -> None:
        """Store a file of a batch compressed.

        What was cut off is asked for again. A file is taken to be whole if it has the size that the provider
        names, or if it comes with the same size twice.
        """
        size = self._ask(lambda: _size(self.client, file_id), f"the file {file_id}")
        if size is None:
            raise Gone(
                f"{self.endpoint.shown_url} has no file {file_id} with the results of batch {batch_id}; "
                f"check that {self.endpoint.key_variable} is the key of the project that sent it and run "
                "again, or let `conjury retry --status error` ask these requests again."
            )
        sizes: list[int] = []
        for attempt in range(TRIES):
            try:
                received = self._ask(lambda: self._stream(file_id, path), f"the file {file_id}")
            except Unreachable:
                if attempt == TRIES - 1:
                    raise
                continue
            if received == size or received in sizes:
                return
            sizes.append(received)
        raise Unreachable(f"{self.endpoint.shown_url} sent the file {file_id} cut off; run again.")

    def _stream(self, file_id: str, path: Path) -> int:
        received = 0
        with (
            self.client.files.with_streaming_response.content(file_id) as response,
            completed(path, compressed=True) as file,
        ):
            for line in _whole_lines(response.iter_bytes(1 << 20)):
                received += len(line)
                with writable(path):
                    file.write(mask_bytes(line, self.endpoint.secrets))
        return received

    def _ask(self, exchange: Callable[[], Answer], what: str) -> Answer:
        try:
            return exchange()
        except StatusError as error:
            told = self._refused(error.response.status_code, error.response.content, what)
        except (NoAnswer, http.HTTPError) as error:
            reason = redact(str(error.__cause__ or error), self.endpoint.secrets)
            told = Unreachable(
                f"{self.endpoint.shown_url} gave no answer about {what} ({reason}); run the same command "
                "again, it goes on from here."
            )
        raise told

    def _refused(self, status: int, content: bytes, what: str) -> InputError:
        failure = read_failure(status, content, self.endpoint.secrets)
        url = self.endpoint.shown_url
        sent = self.endpoint.key_variable if self.endpoint.key else ""
        fatal = concerns_all(failure, model=self.model, base_url=url, key_variable=sent)
        if fatal is not None and (status != 404 or failure.code in NO_CREDIT):
            return fatal
        if status == 429:
            return Busy(f"{url} takes no more for now ({failure}); run the same command later.")
        if status >= 500 or status in (408, 409):
            return Unreachable(f"{url} cannot serve {what} now ({failure}); run the same command later.")
        return InputError(
            f"{url} refused {what} ({failure}); check base_url, and that {self.endpoint.key_variable} is the "
            "key of the project that sent it."
        )

    def _complaint(self, error: Any) -> Complaint:
        told = redact(" ".join(str(error.message or error.code or "").split()), self.endpoint.secrets)
        return Complaint(redact(str(error.code or ""), self.endpoint.secrets), error.line or 0, told[:300])


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut what comes in chunks into lines, so that nothing is split that belongs together."""
    rest: list[bytes] = []
    for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line, b"\n"])
            rest = []
        rest.append(last)
    if any(rest):
        yield b"".join(rest)


def _size(client: Any, file_id: str) -> int | None:
    try:
        return int(client.files.retrieve(file_id).bytes)
    except StatusError as error:
        if error.response.status_code == 404:
            return None
        raise
