"""Kinds of failures of a provider."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...tables.safe_text import redact

FILTERED = (
    "content_filter",
    "content_policy",
    "content_policy_violation",
    "data_inspection_failed",
    "moderation_blocked",
)
MODERATED = re.compile(r"(?i)\bflagged|\bmoderat(?:ed|ion)|content[_ ](?:policy|filter)")
TOO_LONG = ("context_length_exceeded", "string_above_max_length", "request_too_large")
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error of a provider: its status, the code it names, and its message in one line."""

    # `flagged` is set where a body, or the metadata in it, speaks of moderation.

    status: int
    code: str
    message: str
    flagged: bool = False

    def __str__(self) -> str:
        """Return status and message."""
        return f"HTTP {self.status}: {self.message}" if self.message else f"HTTP {self.status}"


def read_failure(status: int, content: bytes | dict[str, Any], secrets: Sequence[str] = ()) -> Failure:
    """Read the body of an HTTP error, whatever its form; keys in it are blanked out."""
    parsed = content if isinstance(content, dict) else parse(content)
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if isinstance(error, dict):
        code, message = (
            error.get("code") or error.get("type") or "",
            error.get("message") or error.get("detail"),
        )
    else:
        code, message = "", error
    if message is None:
        message = content.decode(errors="replace") if isinstance(content, bytes) else json.dumps(content)
    flagged = MODERATED.search(json.dumps(error)) is not None
    return Failure(
        status,
        redact(str(code), secrets),
        redact(" ".join(str(message).split()), secrets)[:LONGEST_MESSAGE],
        flagged,
    )


def kind_of(failure: Failure) -> str:
    """Name the kind of a failure: ``TRANSIENT`` or ``FINAL`` of :mod:`conjury.inference.ledger.exchanges`."""
    if failure.status == 413 or failure.code in TOO_LONG:
        return "too_large"
    if failure.status == 429:
        return "rate_limit"
    if failure.status in (408, 504):
        return "timeout"
    if failure.status >= 500 or failure.status in (409, 425):
        return "server"
    return "rejected"


def is_filtered(failure: Failure) -> bool:
    """Whether the provider refused to answer because of what was asked, which is an answer."""
    has_filter_code = failure.status in (400, 403, 422) and failure.code.lower() in FILTERED
    return has_filter_code or (failure.status == 403 and failure.flagged)


def filtered_completion(failure: Failure, model: str) -> bytes:
    """Compose the chat completion that a provider's content filter stands for."""
    message = {"role": "assistant", "content": None, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "content_filter"}
    answer = {
        "id": "",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        "conjury": {"http_status": failure.status, "code": failure.code, "message": failure.message},
    }
    return json.dumps(answer).encode()


def common_error(
    failure: Failure, *, model: str, base_url: str, key_variable: str, answered: bool = False
) -> InputError | None:
    """Return the error that any further request would meet too, in one sentence; else None."""
    # Where a request was `answered` before, key and model are known to be good: 403, 404 and 405 then concern
    # one request only. `key_variable` is empty where no key was sent.
    note = f" ({failure})"
    if failure.code in NO_CREDIT or failure.status == 402:
        return InputError(
            f"The account at {base_url} has no credit left{note}; add some, then run the same command again."
        )
    if failure.status == 401 and not key_variable:
        return InputError(
            f"{base_url} requires a key{note}; put it into an environment variable and name that variable as "
            "key_variable."
        )
    if failure.status == 401:
        return InputError(
            f"{base_url} does not accept the key in the environment variable {key_variable}{note}; "
            "set it to a valid key."
        )
    if 300 <= failure.status < 400:
        return redirect_error(base_url)
    if answered:
        return None
    if failure.status == 403:
        who = f"the key in the environment variable {key_variable}" if key_variable else "one without a key"
        return InputError(
            f"{base_url} does not let {who} use the model {model}{note}; ask for access or choose another "
            "model."
        )
    if failure.status in (404, 405):
        return InputError(
            f"{base_url} has no model {model} or does not support OpenAI's protocol at this "
            f"address{note}; check the "
            "judge's model and base_url."
        )
    return None


def redirect_error(base_url: str) -> InputError:
    """Return the error about a server that sends requests on."""
    return InputError(
        f"{base_url} redirects to another address, where no text and no key is sent; name that address "
        "itself as base_url."
    )


def fault_of_answer(content: bytes) -> str:
    """State why ``content`` cannot be read as a chat completion; empty if it can."""
    answer = parse(content)
    if answer is None:
        return "the answer is not complete JSON"
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list):
        return "the answer is not a chat completion"
    if not choices:
        return "the answer has no choices"
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
        return "the answer's choice has no message"
    return ""


def parse(content: bytes) -> Any:
    """Return what the JSON ``content`` states, None where it is no JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
