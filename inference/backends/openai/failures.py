"""Kinds of failures of a provider."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...parsing.finish_reasons import FILTERED, usual_reason
from ...parsing.received import error_in, message_of
from ...tables.safe_text import redact
from .waits import BUSY, stated_wait

MODERATED = re.compile(
    r"(?i)\bflagged|\bmoderat(?:ed|ion)|content[_ ](?:policy|filter)"
    r"|violates? (?:our )?usage (?:guidelines|polic)"
)
TOO_LONG = {
    *("context_length_exceeded", "string_above_max_length", "request_too_large"),
    "exceed_context_size_error",  # of llama.cpp
}
LONG_PROMPT = re.compile(
    r"(?i)maximum context length|prompt is too long|longer than the model'?s context"
    r"|input token count.{0,60}exceeds|too large for model with .{0,40}context"
    r"|exceeds? the (?:model'?s )?(?:available )?context"
)
NO_CREDIT = (
    *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"),
    *("insufficient_credits", "exceeded_current_quota_error", "1113"),  # the last two: Moonshot, Zhipu
)
CREDIT = re.compile(
    r"(?i)credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|no credits? left"
    r"|used all (?:of )?(?:its |your )?available credits"
)
DAILY = re.compile(r"(?i)\"quotaId\": \"[^\"]*PerDay")  # of Google, which states seconds to wait
LONGEST_MESSAGE = 300
# The HTTP status that a code in a body means, in small letters.
STATUS = {
    **dict.fromkeys(("invalid_request_error", "invalid_argument", "failed_precondition", "bad_request"), 400),
    **dict.fromkeys(("authentication_error", "unauthenticated", "invalid_api_key", "unauthorized"), 401),
    **dict.fromkeys(("billing_error", "payment_required", "insufficient_balance"), 402),
    **dict.fromkeys(("permission_error", "permission_denied", "forbidden"), 403),
    **dict.fromkeys(("not_found_error", "not_found", "model_not_found"), 404),
    **dict.fromkeys(("timeout_error", "timeout", "deadline_exceeded", "request_timeout", "timed_out"), 504),
    "request_too_large": 413,
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "rate_limit", "rate_limited"), 429),
    **dict.fromkeys(("resource_exhausted", "too_many_requests", "throttling", "insufficient_quota"), 429),
    **dict.fromkeys(("ratelimiterror", "throttling.ratequota", "rate_limit_reached", "requests_limit"), 429),
    **dict.fromkeys(("api_error", "internal", "internal_error", "server_error", "internalservererror"), 500),
    **dict.fromkeys(("network_error", "upstream_error", "provider_error", "bad_gateway"), 502),
    **dict.fromkeys(("unavailable", "service_unavailable", "unavailable_error", "overloaded"), 503),
    **dict.fromkeys(("engine_overloaded", "engine_overloaded_error", "model_overloaded"), 503),
    **dict.fromkeys(("insufficient_system_resource", "resource_unavailable"), 503),
    "overloaded_error": 529,
}
SETTLED = (  # what helps where requests are refused for good
    "correct the judge's settings (`conjury probe` shows which are refused) and collect into another folder "
    "with --out, since a run keeps the settings it began with"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a provider: its status, the code it names, and its message in one line."""

    # `status` is that of HTTP, or the one that the body names where that of HTTP is one of success or less
    # precise; `http` is that of HTTP where it differs. `flagged` is set where a body, or the metadata in it,
    # speaks of moderation; `daily` where a quota per day is used up.

    status: int
    code: str
    message: str
    flagged: bool = False
    codes: tuple[str, ...] = ()
    wait: float = 0.0
    daily: bool = False
    http: int = 0

    def __str__(self) -> str:
        """Return status and message."""
        status = f"HTTP {self.http} with error {self.status}" if self.http else f"HTTP {self.status}"
        return f"{status}: {self.message}" if self.message else status

    @property
    def needs_credit(self) -> bool:
        """Whether the account has no credit left; a quota that is renewed after a wait is none."""
        if self.status == 402 or CREDIT.search(self.message):
            return True
        return not self.wait and any(code.lower() in NO_CREDIT for code in (self.code, *self.codes))


def read_failure(status: int, content: bytes | dict[str, Any], secrets: Sequence[str] = ()) -> Failure:
    """Read the body of an error, whatever its form; keys in it are blanked out."""
    parsed = content if isinstance(content, dict) else parse(content)
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    error_field = error_in(parsed) if isinstance(parsed, dict) else None
    error = parsed if error_field is None else error_field
    message = message_of(error)
    if not message and (parsed is None or parsed):
        message = content.decode(errors="replace") if isinstance(content, bytes) else json.dumps(content)
    codes = tuple(redact(code, secrets) for code in _codes(error, parsed))
    words = [code for code in codes if not code.isdecimal()]
    meaning = _meant_status(status, codes)
    text = json.dumps(error, default=str)
    return Failure(
        meaning,
        (words or list(codes) or [""])[0],
        redact(" ".join(message.split()), secrets)[:LONGEST_MESSAGE] or "no reason given",
        MODERATED.search(text) is not None,
        codes,
        stated_wait(parsed),
        DAILY.search(text) is not None,
        status if meaning != status else 0,
    )


def _codes(error: Any, body: Any) -> list[str]:
    """Return all codes of an error, the most precise first."""
    places = [place for place in (error, body) if isinstance(place, dict)]
    inner = [place["innererror"] for place in places if isinstance(place.get("innererror"), dict)]
    codes = [
        place.get(name) for place in [*places, *inner] for name in ("code", "type", "status", "error_type")
    ]
    return list(dict.fromkeys(str(code) for code in codes if isinstance(code, str | int) and code))


def _meant_status(status: int, codes: Sequence[str]) -> int:
    """Return the status that codes in a body mean, where that of HTTP says less."""
    numbers = [int(code) for code in codes if code.isdecimal() and len(code) == 3 and 400 <= int(code) < 600]
    meaning = next(iter([*numbers, *(STATUS[code.lower()] for code in codes if code.lower() in STATUS)]), 0)
    if status < 400:
        return meaning or status
    return meaning if meaning in BUSY and (status == 400 or status >= 500) else status


def kind_of(failure: Failure) -> str:
    """Name the kind of a failure: ``TRANSIENT`` or ``FINAL`` of :mod:`conjury.inference.ledger.exchanges`."""
    status = failure.status
    if status == 413 or {failure.code, *failure.codes} & TOO_LONG:
        return "too_large"
    if status in (400, 422) and LONG_PROMPT.search(failure.message):
        return "too_large"
    if status in (429, 498):
        return "rate_limit"
    if status in (408, 504):
        return "timeout"
    if status >= 500 or status in (409, 424, 425, 499) or status < 300:
        return "server"
    return "rejected"


def is_filtered(failure: Failure) -> bool:
    """Whether the provider refused to answer because of what was asked, which is an answer."""
    filters = any(usual_reason(code) == FILTERED for code in (failure.code, *failure.codes))
    has_filter_code = failure.status in (400, 403, 422) and filters
    is_flagged_prompt = failure.status == 400 and failure.code == "invalid_prompt"
    return has_filter_code or (failure.flagged and (failure.status == 403 or is_flagged_prompt))


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
    if failure.needs_credit:
        return InputError(
            f"The account at {base_url} has no credit left{note}; add some, then run the same command again."
        )
    if failure.status == 429 and failure.daily:
        return InputError(
            f"The quota of a day at {base_url} is used up{note}; run the same command again tomorrow, or ask "
            "the provider for a larger quota."
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
    if failure.status in (400, 404) and "v1/responses" in failure.message:
        return InputError(
            f"{base_url} has the model {model} in the Responses API only{note}; write 'api: responses' under "
            "'ask' of the judge in the study file."
        )
    if failure.status in (404, 405):
        return InputError(
            f"{base_url} has no model {model} or does not support OpenAI's protocol at this address{note}; "
            "check the judge's model and base_url."
        )
    return None


def redirect_error(base_url: str) -> InputError:
    """Return the error about a server that sends requests on."""
    return InputError(
        f"{base_url} redirects to another address, where no text and no key is sent; name that address "
        "itself as base_url."
    )


def parse(content: bytes) -> Any:
    """Return what the JSON ``content`` states, None where it is no JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
