"""The gate that every answer passes: of a live exchange, a line of a batch, an import or a recording.

It is a function of status, headers and body alone, and reads a body as ``read_completion`` reads it later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...ledger.exchanges import TRANSIENT, Attempt, Outcome
from ...parsing.finish_reasons import FAILED, usual_reason
from ...parsing.received import end_of, error_in, fault_of
from .failures import Failure, filtered_completion, is_filtered, kind_of, parse, read_failure
from .responses import is_response, response_completion
from .waits import BUSY, PATIENT, asked_wait

BROKEN = "invalid_response"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one exchange brought: an answer, or why there is none, and what the server asks for."""

    # the chat completion, or one that stands for the provider's content filter; None where there is none
    body: bytes | None = None
    # one of `TRANSIENT` or `FINAL` where there is no answer
    kind: str = ""
    # what went wrong, in one line, with the status
    error: str = ""
    # the same in the server's words
    message: str = ""
    # the error that the server states; None for an answer, and for what cannot be read as one
    failure: Failure | None = None
    # status of HTTP, or the one that the body names
    status: int = 200
    # seconds that the server asks to wait before the next request
    wait: float = 0.0
    # whether the server may have charged for what cannot be used
    billed: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether the server turned the request away as one too many."""
        return bool(self.kind) and self.status in BUSY

    @property
    def is_worth_repeating(self) -> bool:
        """Whether the same request may be answered soon."""
        failure = self.failure
        is_spent = failure is not None and (failure.needs_credit or failure.daily)
        return self.kind in TRANSIENT and not is_spent and self.wait <= PATIENT

    def outcome(
        self, key: str, content: bytes | None, *, attempts: Sequence[Attempt] = (), seconds: float = 0.0
    ) -> Outcome:
        """Return how the request of a key ended; ``content`` is kept where it is no answer."""
        if self.body is not None:
            return Outcome(key, self.body, seconds=seconds, attempts=tuple(attempts))
        return Outcome(
            key,
            kind=self.kind,
            error=self.error,
            seconds=seconds,
            attempts=tuple(attempts),
            refused_body=content,
        )


def read_reply(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    secrets: Sequence[str] = (),
    model: str = "",
) -> Reply:
    """Read what came for a request to a ``model``; keys are blanked out of messages."""
    if status >= 300:
        return _refused(read_failure(status, content, secrets), headers, parse(content), model)
    body = parse(content)
    if is_response(body):
        content = response_completion(body)
        body = parse(content)
    fault = _form_fault(content) if body is None else fault_of(body)
    if not fault:
        return Reply(content, wait=asked_wait(status, headers))
    fields = body if isinstance(body, dict) else {}
    reason = end_of(fields)
    is_billed = bool(fields.get("choices")) or bool(fields.get("usage"))
    if error_in(fields) is not None:
        return _refused(read_failure(status, fields, secrets), headers, fields, model, is_billed)
    if usual_reason(reason) == FAILED:
        failure = read_failure(status, {"error": {"message": fault, "code": reason}}, secrets)
        return _refused(failure, headers, fields, model, is_billed)
    wait = asked_wait(status, headers)
    return Reply(kind=BROKEN, error=fault, message=fault, status=status, wait=wait, billed=True)


def pass_gate(outcome: Outcome) -> Outcome:
    """Return an outcome whose body is an answer; of another one the body is kept as what it is."""
    if outcome.body is None:
        return outcome
    reply = read_reply(200, {}, outcome.body)
    if reply.body is not None:
        return outcome if reply.body == outcome.body else replace(outcome, body=reply.body)
    ended = [*outcome.attempts, Attempt(reply.status, reply.message, outcome.seconds, reply.billed)]
    end = reply.outcome(outcome.key, outcome.body, attempts=ended, seconds=outcome.seconds)
    return replace(end, batch=outcome.batch)


def _refused(
    failure: Failure, headers: Mapping[str, str], body: Any, model: str, billed: bool = False
) -> Reply:
    wait = asked_wait(failure.status, headers, body)
    if is_filtered(failure):
        return Reply(filtered_completion(failure, model), wait=wait)
    return Reply(
        kind=kind_of(failure),
        error=str(failure),
        message=failure.message,
        failure=failure,
        status=failure.status,
        wait=wait,
        billed=billed,
    )


def _form_fault(content: bytes) -> str:
    """State why an answer is no JSON."""
    start = content.lstrip()[:20]
    if start.startswith((b"data:", b"event:")):
        return "the answer is a stream of events, which was not asked for; remove 'stream' from the settings"
    if start.startswith(b"<"):
        return "the answer is a page (HTML or XML), not JSON; check the address (base_url)"
    return "the answer is not complete JSON" if start else "the answer is empty"
