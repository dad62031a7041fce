"""How long a server asks to wait, stated in headers or in the body of its answer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

BUSY = (429, 498, 503, 529)  # too many requests (498: Groq), unavailable, overloaded (529: Anthropic)
CONNECT = 10.0  # seconds within which a connection must be made
PATIENT = 600.0  # seconds that a provider may ask to wait for; beyond them a run ends, and batches ask again
LONGEST = 30 * 86400.0  # seconds of a wait that are believed

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = r"\d+(?:\.\d+)?"
_UNIT = r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
_IN_WORDS = re.compile(
    r"(?i)\b(?:(?:try|again|retry(?:ing)?|wait|available|resets?)\b[^.\d]{0,40}?\b(?:in|after|for)|wait)\s+"
    rf"(?:about |at least |approximately )?((?:{_NUMBER}\s*{_UNIT}(?![a-z])[\s,]*(?:and )?)+)"
)
_NAMED = re.compile(rf"(?i)\bretry[-_ ]?after[\s\"':=]{{1,4}}({_NUMBER})(?![\d.]*\s*[a-z])")
_PART = re.compile(rf"(?i)({_NUMBER})\s*({_UNIT})(?![a-z])")
# Fields of an error that state seconds, milliseconds, or a duration such as 12.4s.
_FIELDS = ("retry_after", "retry_after_seconds", "retryafter", "retrydelay", "retry_delay", "estimated_time")
_MILLISECONDS = ("retry_after_ms", "retryafterms")
_DEEPEST = 6  # levels of a body that are searched


def asked_wait(status: int, headers: Mapping[str, str], body: Any = None) -> float:
    """Return how many seconds a server asks to wait, in headers or body; 0 for none."""
    if status in BUSY:
        return max(_retry_after(headers), _spent(headers), stated_wait(body))
    return _spent(headers)


def stated_wait(body: Any) -> float:
    """Return the seconds of a wait that the body of an error states; 0 for none."""
    return max(_stated(body, 0), default=0.0)


def _stated(value: Any, depth: int) -> list[float]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, str):
        text = value[:2000]
        in_words = [_duration(match[1]) for match in _IN_WORDS.finditer(text)]
        return [*in_words, *(float(match[1]) for match in _NAMED.finditer(text))]
    if isinstance(value, list):
        return [wait for part in value[:20] for wait in _stated(part, depth + 1)]
    if not isinstance(value, Mapping):
        return []
    waits: list[float] = []
    for name, part in value.items():
        field = str(name).lower().replace("-", "_")
        if field == "headers" and isinstance(part, Mapping):  # of the provider behind a gateway
            headers = {str(key).lower(): str(text) for key, text in part.items()}
            waits += [_retry_after(headers), _spent(headers)]
        elif field in _FIELDS or field in _MILLISECONDS:
            waits.append(_as_seconds(part, 0.001 if field in _MILLISECONDS else 1.0))
        else:
            waits += _stated(part, depth + 1)
    return waits


def _as_seconds(value: Any, unit: float) -> float:
    """Return a wait that is a number, a number in words, a duration, or seconds with nanoseconds."""
    if isinstance(value, Mapping):
        parts = ((value.get("seconds"), 1.0), (value.get("nanos"), 1e-9))
        return sum(_as_seconds(part, size) for part, size in parts if isinstance(part, str | int | float))
    if isinstance(value, bool) or value is None:
        return 0.0
    if isinstance(value, int | float):  # of whatever size
        return min(max(value, 0), LONGEST / unit) * unit if value == value else 0.0
    text = str(value).strip()
    return float(text) * unit if re.fullmatch(_NUMBER, text) else _duration(text)


def _retry_after(headers: Mapping[str, str]) -> float:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(_NUMBER, value):
            return float(value) * unit
    value = headers.get("retry-after", "")
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return _duration(value)


# Headers that state how much is left, and when more is admitted, by what they count: OpenAI, Azure and Groq;
# Anthropic; Mistral; Together and OpenRouter; and the draft of the IETF.
_LIMITS = (
    *(
        (what, f"x-ratelimit-remaining-{what}{unit}", f"x-ratelimit-reset-{what}{unit}")
        for what in ("requests", "tokens")
        for unit in ("", "-minute", "-day")
    ),
    *(
        (what, f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset")
        for what, kind in (
            *(("requests", "requests"), ("tokens", "tokens")),
            *(("tokens", "input-tokens"), ("tokens", "output-tokens")),
        )
    ),
    ("requests", "x-ratelimit-remaining-req-minute", "x-ratelimit-reset-req-minute"),
    ("tokens", "x-ratelimitbysize-remaining-minute", "x-ratelimitbysize-reset-minute"),
    ("tokens", "ratelimitbysize-remaining", "ratelimitbysize-reset"),
    ("tokens", "x-tokenlimit-remaining", "x-tokenlimit-reset"),
    ("requests", "x-ratelimit-remaining", "x-ratelimit-reset"),
    ("requests", "ratelimit-remaining", "ratelimit-reset"),
)
_MOMENT = 1e9  # a number beyond it is a time since 1970, in milliseconds if it is a thousand times as large
_WINDOW = 120.0  # seconds over which what is left is spread
_UNSTATED = 10.0  # seconds for which what is left must last where no reset is stated
_ANY = re.compile(r"(?i)(?:rate|token)limit")
_DRAFT = re.compile(r"\b([rt])=(\d+)")  # of the header RateLimit: what remains, and seconds until the reset


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a server admits until its limit is renewed."""

    what: str  # "requests" or "tokens"
    remaining: float
    seconds: float  # until the limit is renewed


def stated_allowances(headers: Mapping[str, str]) -> list[Allowance]:
    """Return the limits of a minute or two that an answer states; a quota of a day may be used at once."""
    if not _ANY.search(" ".join(headers)):
        return []
    return [each for each in _allowances(headers, _UNSTATED) if each.seconds <= _WINDOW]


def _allowances(headers: Mapping[str, str], unstated: float) -> Iterator[Allowance]:
    for what, remaining, reset in _LIMITS:
        number = headers.get(remaining, "").strip()
        if re.fullmatch(_NUMBER, number):
            seconds = _until(headers[reset]) if headers.get(reset) else unstated
            yield Allowance(what, float(number), seconds)
    draft = dict(_DRAFT.findall(headers.get("ratelimit", "")))
    if len(draft) == 2:
        yield Allowance("requests", float(draft["r"]), float(draft["t"]))


def _spent(headers: Mapping[str, str]) -> float:
    """Return the longest wait until a limit that is spent is renewed."""
    if not _ANY.search(" ".join(headers)):
        return 0.0
    return max((each.seconds for each in _allowances(headers, 0.0) if not each.remaining), default=0.0)


def _until(text: str) -> float:
    """Return the seconds of a duration, or until a moment."""
    text = text.strip()
    if re.fullmatch(_NUMBER, text):
        number = float(text)
        if number < _MOMENT:
            return number
        return max(number / (1000.0 if number > 1000 * _MOMENT else 1.0) - time.time(), 0.0)
    try:
        return max(datetime.fromisoformat(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return _duration(text)


def _duration(text: str) -> float:
    """Return the seconds of a duration such as 1m30s, 20ms or '6 minutes and 5 seconds'."""
    return sum(float(number) * _SECONDS[_unit(unit.lower())] for number, unit in _PART.findall(text))


def _unit(word: str) -> str:
    return "ms" if word.startswith(("ms", "milli")) else word[0]
