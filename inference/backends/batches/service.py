"""What a provider of batches offers, in terms of this project, and its errors in one sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError
from ...tables.safe_text import mask_bytes
from ..openai.failures import common_error, parse, read_failure
from .shards import LineFormat, ShardLimits, open_atomic, writable

if TYPE_CHECKING:
    from ..endpoints import Endpoint

TRIES = 4  # of a call whose answer did not arrive
UNNAMED = "without a name"  # in place of a file of results, where a batch has answers and names no file


class ProviderUnreachable(InputError):
    """The provider does not answer now; the same may succeed later."""


class ProviderBusy(ProviderUnreachable):
    """The provider takes no more for now."""


class QueueFull(ProviderBusy):
    """The provider takes no more batches for now, and this one was not among those that it lists."""


class IncompleteResults(ProviderUnreachable):
    """Results came, but fewer than the provider names."""


class NotAtProvider(InputError):
    """The provider does not have, or does not show to this key, what it named itself."""


class FileGone(InputError):
    """The provider no longer has the uploaded file of requests."""


class AddressNotFound(InputError):
    """The provider has nothing under an address."""


class UncertainBatch(InputError):
    """It cannot be known yet whether a batch was created."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds of an exchange, how often it is repeated, and seconds before the first repetition."""

    timeout: float = 600.0
    max_retries: int = 5
    pause: float = 3.0


DEFAULT = Waits()


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a batch was refused as a whole; ``line`` counts from 1, 0 if it is about no line."""

    code: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Status of a batch, requests done and in all, and its result files (empty for none)."""

    # `queue_full` is a failure by a full queue alone; `executed` states that failed requests may have been
    # billed; `gone` is a sentence where the provider no longer has the batch.

    status: str
    done: int
    total: int
    output_file_id: str
    error_file_id: str = ""
    complaints: tuple[Complaint, ...] = ()
    running: bool = False
    failed: bool = False
    queue_full: bool = False
    executed: bool = False
    gone: str = ""

    def __str__(self) -> str:
        """Return the status and the requests done, or the first complaint."""
        if self.complaints:
            return f"{self.status}: {self.complaints[0].message}"
        return f"{self.status}, {self.done:,} of {self.total:,}" if self.total else self.status


@dataclass(frozen=True, slots=True)
class SentShard:
    """A shard that is sent as a batch."""

    shard: str
    path: Path  # file of its requests
    file_id: str  # what `upload` returned
    n: int  # number of its requests
    # ids of all other batches in the ledger
    others: frozenset[str] = frozenset()


class BatchService(Protocol):
    """The batches of one account; what it raises is one of the errors above, or InputError."""

    # Where the provider keeps no uploaded files, `upload` sends nothing and returns a mark by which
    # `find_batch` recognises what was created later.

    endpoint: Endpoint
    lines: LineFormat
    limits: ShardLimits
    keeps_files: bool
    full_at_creation: bool

    def settings(self) -> dict[str, Any]:
        """Description of the interface, without secrets; kept with the run."""

    def find_file(self, name: str) -> str | None:
        """Return the id of an uploaded file by its name, None if there is none."""

    def upload(self, path: Path, name: str) -> str:
        """Upload a file under ``name`` and return its id."""

    def find_batch(self, sending: SentShard) -> str | None:
        """Return the id of a shard's batch, None if it has none; ``UncertainBatch`` if that is not known."""

    def create(self, sending: SentShard) -> str:
        """Create the batch of a shard and return its id; if no answer comes, look before doing it again."""
        # `QueueFull` where it was refused for now, `FileGone` where the uploaded file no longer exists.

    def retrieve(self, batch_id: str) -> BatchProgress:
        """Return the progress of a batch; ``NotAtProvider`` where it is not there."""

    def download(self, file_id: str, path: Path, batch_id: str) -> None:
        """Store a file of a batch compressed; ``NotAtProvider`` where it is not there."""


def create_once(
    send: Callable[[], str],
    find: Callable[[], str | None],
    pause: float,
    has_file: Callable[[], bool] = lambda: True,
) -> str:
    """Create a batch; where it is refused for now or no answer comes, look whether it was created."""
    # `QueueFull` is raised only if it is not seen and no attempt before went unanswered, and `FileGone` where
    # the provider refuses and no longer has the uploaded file.
    for attempt in range(TRIES):
        try:
            return send()
        except ProviderBusy as error:  # a gateway can refuse what the provider has accepted
            time.sleep(pause)
            batch_id = find()
            if batch_id is not None:
                return batch_id
            raise (error if attempt else QueueFull(str(error))) from None
        except ProviderUnreachable:
            time.sleep(pause * 2**attempt)
            batch_id = find()
            if batch_id is not None:
                return batch_id
            if attempt == TRIES - 1:
                raise
        except InputError as error:
            if has_file():
                raise
            raise FileGone(str(error)) from None
    raise AssertionError


def id_of_new(endpoint: Endpoint, name: object, what: str) -> str:
    """Return the id of what was created; ProviderUnreachable where the answer has none."""
    if not isinstance(name, str) or not name:
        raise no_answer(endpoint, what, "the answer has no id")
    return name


def refusal(endpoint: Endpoint, model: str, status: int, content: bytes, what: str) -> InputError:
    """Return the error that an HTTP status other than success means."""
    failure = read_failure(status, content, endpoint.secrets)
    url = endpoint.base_url
    sent = endpoint.key_variable if endpoint.key else ""
    fatal = common_error(failure, model=model, base_url=url, key_variable=sent)
    if fatal is not None and (status != 404 or failure.needs_credit):
        return fatal
    if status == 429:
        return ProviderBusy(
            f"{url} accepts no more requests for now ({failure}); run the same command later."
        )
    if status >= 500 or status in (408, 409):
        return ProviderUnreachable(f"{url} cannot serve {what} now ({failure}); run the same command later.")
    kind = AddressNotFound if status == 404 else InputError
    return kind(
        f"{url} refused {what} ({failure}); check base_url, and that {endpoint.key_variable} is the "
        "key of the project that sent it."
    )


def no_answer(endpoint: Endpoint, what: str, reason: str) -> ProviderUnreachable:
    """Return the error of an exchange that broke off."""
    return ProviderUnreachable(
        f"{endpoint.base_url} did not answer about {what} ({reason}); run the same command again, which "
        "resumes the run."
    )


def no_json(endpoint: Endpoint, what: str) -> ProviderUnreachable:
    """Return the error of an answer that is not what the interface of batches returns."""
    return ProviderUnreachable(
        f"{endpoint.base_url} did not return a JSON object for {what}; check base_url, and run the same "
        "command again."
    )


def gone(endpoint: Endpoint, file_id: str, batch_id: str) -> NotAtProvider:
    """Return the error of results that are not there."""
    return _missing_error(endpoint, f"file {file_id} with the results of batch {batch_id}")


def batch_gone(endpoint: Endpoint, batch_id: str) -> NotAtProvider:
    """Return the error of a batch that is not there."""
    return _missing_error(endpoint, f"batch {batch_id}")


def _missing_error(endpoint: Endpoint, what: str) -> NotAtProvider:
    return NotAtProvider(
        f"{endpoint.base_url} has no {what}; check base_url, and that {endpoint.key_variable} is the key of "
        "the project that sent it, and run again, or let `conjury run retry --status error` ask these "
        "requests again."
    )


def download_whole(
    endpoint: Endpoint, store: Callable[[], tuple[int, int]], what: str, size: int = 0, lines: int = 0
) -> None:
    """Store a file; what was cut off is downloaded again."""
    # `store` returns the bytes and whole lines that came; `size` and `lines` are those that the provider
    # names, 0 for none. Without either, a file is taken to be whole if it comes with the same size twice.
    sizes: list[int] = []
    received = n = 0
    for attempt in range(TRIES):
        try:
            received, n = store()
        except ProviderUnreachable:
            if attempt == TRIES - 1:
                raise
            continue
        is_complete = n >= lines if lines else received >= size
        if (is_complete and (size or lines)) or (not size and not lines and received in sizes):
            return
        if received in sizes:
            break
        sizes.append(received)
    amount = f"{n:,} of {lines:,} lines" if lines else f"{received:,} of {size:,} bytes"
    raise IncompleteResults(
        f"{endpoint.base_url} sent {what} incompletely ({amount}); the batch is kept, and its requests are "
        "not sent again. Run the same command later; if the file stays so, delete it at the provider, and "
        "`conjury run retry --status error` asks these requests again."
    )


def store_lines(chunks: Iterable[bytes], path: Path, secrets: tuple[str, ...]) -> tuple[int, int]:
    """Store what comes in chunks, compressed and without keys; return the bytes and whole lines that came."""
    received = lines = 0
    with open_atomic(path, compressed=True) as file:
        for line in whole_lines(chunks):
            received += len(line)
            lines += bool(line.strip()) and (line.endswith(b"\n") or parse(line) is not None)
            with writable(path):
                file.write(mask_bytes(line.rstrip(b"\n"), secrets) + b"\n")
    return received, lines


def whole_lines(chunks: Iterable[bytes]) -> Iterable[bytes]:
    """Cut what comes in chunks into lines, so that nothing is split that belongs together."""
    fragments: list[bytes] = []
    for chunk in chunks:
        *segments, last = chunk.split(b"\n")
        for line in segments:
            yield b"".join([*fragments, line, b"\n"])
            fragments = []
        fragments.append(last)
    if any(fragments):
        yield b"".join(fragments)
