"""What every backend is, and the chat completions that backends without one compose themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from ..ledger.exchanges import Outcome, Request
from .batches.shards import LineTally, open_atomic, open_lines, outcomes_of, writable
from .openai.openai_lines import LINES

if TYPE_CHECKING:
    from ..ledger import Ledger


class Recorder(Protocol):
    """What a backend is given besides requests."""

    def record(self, outcome: Outcome) -> None:
        """Take the end of a request; it is written soon after, from any thread; waits where many queue up."""

    def stopping(self) -> bool:
        """Whether no further requests should be sent, because of the user or the budget."""

    def note_wait(self, seconds: float) -> None:
        """Take how long the server holds all requests back, about every second while it does."""

    def full(self) -> bool:
        """Whether the next request has to wait until others have ended, so that a limit on costs is kept."""

    @property
    def capped(self) -> bool:
        """Whether there is a limit on costs: what may have been billed is not repeated unasked."""

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Media type and content of a stored image."""


class Backend(Protocol):
    """Asks one model; ``run`` returns when ``requests`` is exhausted or ``recorder.stopping()``."""

    # Every request sent ends in exactly one `recorder.record`, and requests are taken lazily. What concerns
    # all of them, such as a wrong key, is an InputError and not 10,000 recorded failures.

    def settings(self) -> dict[str, Any]:
        """Description of the model and its engine, without secrets; kept with the run."""

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer the requests."""


def export(requests: Iterable[Request], path: Path, recorder: Recorder) -> int:
    """Write requests to a JSONL file, one after the other, without sending any; return how many."""
    # `python -m vllm.entrypoints.openai.run_batch -i PATH -o RESULTS --model MODEL` answers them.
    written = 0
    with open_atomic(path) as file:
        for request in requests:
            line = LINES.write(request, recorder.media)
            with writable(path):
                file.write(line)
            written += 1
    return written


def read_results(path: Path, ledger: Ledger, recorder: Recorder) -> LineTally:
    """Record the answers of a file of results, plain or gzip; return what its lines were."""
    # Lines of unknown requests are counted and skipped, and so is what the ledger has already, so that a file
    # may be read twice, or again when it has grown.
    tally = LineTally()
    try:
        for outcome in outcomes_of(open_lines(path), _RequestKeys(ledger), tally, LINES):
            if ledger.is_settled(outcome):
                continue
            if outcome.body is None or outcome.body not in ledger.answer_bodies(outcome.key):
                recorder.record(outcome)
    except (OSError, EOFError) as error:
        raise InputError(
            f"{path} cannot be read ({error}); check the path and whether the file is complete."
        ) from None
    ledger.flush()
    return tally


class _RequestKeys:
    """The keys of all requests of a run."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __contains__(self, key: object) -> bool:
        return self._ledger.knows(str(key))


LogProbs = Mapping[str, float]
COMPOSED = "conjury-"  # what the ids of composed completions begin with


def completion(
    key: str,
    text: str,
    *,
    model: str,
    finish_reason: str = "stop",
    tokens: Sequence[tuple[str, float, LogProbs]] = (),
    refusal: str | None = None,
    usage: tuple[int, int] | None = None,
    created: int | None = None,
    engine: Mapping[str, Any] | None = None,
) -> bytes:
    """Write an answer to the request of a key as the JSON of one chat completion."""
    body: dict[str, Any] = {
        "id": COMPOSED + key,
        "object": "chat.completion",
        "created": int(time.time()) if created is None else created,
        "model": model,
        "choices": [_choice(text, finish_reason, tokens, {} if refusal is None else {"refusal": refusal})],
    }
    if usage is not None:
        body["usage"] = _usage(usage)
    if engine:
        body["conjury"] = dict(engine)
    return json.dumps(body, ensure_ascii=False).encode()


def translated(
    original: Any,
    *,
    name: str,
    model: str,
    choices: Sequence[tuple[str | None, str]],
    tokens: Sequence[tuple[str, float, LogProbs]] = (),
    refusal: str | None = None,
    usage: tuple[int, int] | None = None,
    sound: int = 0,
) -> bytes:
    """Write the answer of a provider with another protocol as the JSON of one chat completion."""
    # `usage` is tokens in and out, None where not stated; `original` has the provider's own answer.
    body: dict[str, Any] = {
        "id": name,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [_choice(text, reason, tokens, {"refusal": refusal}) for text, reason in choices],
    }
    if usage is not None:
        body["usage"] = _usage(usage) | ({"prompt_tokens_details": {"audio_tokens": sound}} if sound else {})
    return json.dumps({**body, "original": original}, separators=(",", ":")).encode()


def text_of(value: Any) -> str:
    """Return a text, and an empty one in place of anything else."""
    return value if isinstance(value, str) else ""


def _choice(
    text: str | None, reason: str, tokens: Sequence[tuple[str, float, LogProbs]], refusal: dict[str, Any]
) -> dict[str, Any]:
    return {
        "index": 0,
        "message": {"role": "assistant", "content": text, **refusal},
        "finish_reason": reason,
        "logprobs": {"content": [_token(*token) for token in tokens]} if tokens else None,
    }


def _usage(usage: tuple[int, int]) -> dict[str, Any]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


def _token(token: str, logprob: float, rivals: LogProbs) -> dict[str, Any]:
    top = [{"token": name, "logprob": value} for name, value in rivals.items()]
    return {"token": token, "logprob": logprob, "top_logprobs": top}
