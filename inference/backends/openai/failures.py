"""Kinds of failures of a provider, and keys blanked out of what it sends, in whatever encoding."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...errors import InputError

MASK = "[key]"
SHORTEST_SECRET = 8  # shorter keys are placeholders of local servers, and could be part of any word
ESCAPES = (b"\\u00", b"\\U00", b"\\x", b"\\/", b"%", b"&#")  # one is where a character is escaped
PIECES = ("token", "text")  # fields of lists whose values make up one text
_AFTER_BACKSLASH = "bfnrtu"  # letters that mean another character after a backslash


class _Secret:
    """Where one key stands in a text, and the plain forms that are looked for first."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        cores = [core for shift in range(3) if len(core := _core(secret, shift)) >= SHORTEST_SECRET]
        urlsafe = [core.translate(str.maketrans("+/", "-_")) for core in cores]
        encoded = secret.encode().hex()
        numbers = [separator.join(str(byte) for byte in secret.encode()[:3]) for separator in (",", ", ")]
        plain = (secret, *cores, *urlsafe, encoded, encoded.upper(), *numbers)
        self.plain = tuple(form.encode() for form in dict.fromkeys(plain))
        forms = "|".join(["".join(map(_escaped, form)) for form in (secret, *cores, *urlsafe)])
        listed = r",\s*".join(str(byte) for byte in secret.encode())
        before = r"(?P<kept>(?<!\\)(?:\\\\)*)" if secret[0] in _AFTER_BACKSLASH else "(?P<kept>)"
        pattern = rf"{before}(?:{forms}|(?i:{encoded}))|(?<!\d){listed}(?!\d)"
        self.text = re.compile(pattern)
        self.bytes = re.compile(pattern.encode())

    def mask(self, text: str) -> str:
        return self.text.sub(lambda match: f"{match['kept'] or ''}{_mask(match[0])}", text)

    def mask_bytes(self, content: bytes) -> bytes:
        return self.bytes.sub(
            lambda match: (match["kept"] or b"") + _mask(match[0].decode()).encode(), content
        )


def mask(text: str, secrets: Sequence[str]) -> str:
    """Blank out keys in a text: as they are, escaped, percent-encoded, in base64 or hexadecimal."""
    for secret in map(_secret, secrets):
        if secret is not None:
            text = secret.mask(text)
    return text


def mask_bytes(content: bytes, secrets: Sequence[str]) -> bytes:
    r"""Blank out keys in what was received; all else stays as it is, byte for byte.

    JSON in another encoding than UTF-8 is brought to that. Keys that are spread over the tokens of
    log-probabilities or over the parts of a message are found as well; such JSON is written anew.
    """
    known = [secret for secret in map(_secret, secrets) if secret is not None]
    if not known:
        return content
    content = _as_utf8(content)
    escapes = any(escape in content for escape in ESCAPES)
    for secret in known:
        if escapes or any(form in content for form in secret.plain):
            content = secret.mask_bytes(content)
    if any(f'"{name}"'.encode() in content for name in PIECES):
        content = _mask_pieces(content, known)
    return content


@lru_cache(maxsize=8)
def _secret(secret: str) -> _Secret | None:
    return _Secret(secret) if len(secret) >= SHORTEST_SECRET else None


def _core(secret: str, shift: int) -> str:
    """Return the characters of base64 that a secret alone decides, ``shift`` bytes into a group of three."""
    coded = base64.b64encode(b"\0" * shift + secret.encode()).decode()
    return coded[-(-shift * 8 // 6) : (shift + len(secret)) * 8 // 6]


def _escaped(character: str) -> str:
    """Return a pattern of all ways to write a character."""
    code = ord(character)
    plain = re.escape(character)
    if character == "/":
        plain = r"\\*/"
    ways = (
        rf"\\+(?:u|U0000)(?i:00{code:02x})",
        rf"\\+x(?i:{code:02x})",
        rf"%(?:25)*(?i:{code:02x})",
        rf"&#0*{code};",
        rf"&#[xX]0*(?i:{code:x});",
    )
    return f"(?:{'|'.join((plain, *ways))})"


def _mask(found: str) -> str:
    """Return what stands in place of a key; where it was a list of numbers, numbers."""
    return "0" if re.fullmatch(r"[\d,\s]+", found) and "," in found else MASK


def _as_utf8(content: bytes) -> bytes:
    encoding = json.detect_encoding(content)
    if encoding == "utf-8":
        return content
    try:
        return content.decode(encoding).encode()
    except UnicodeError:
        return content


def _mask_pieces(content: bytes, known: Sequence[_Secret]) -> bytes:
    """Blank out keys that are spread over the members of a list."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        return content
    found = [_blank_list(parts, name, known) for parts in _lists(parsed) for name in PIECES]
    return json.dumps(parsed).encode() if any(found) else content


def _lists(parsed: Any) -> Iterator[list[Any]]:
    """Yield all lists at any depth: parts of messages and tokens, wherever a provider puts them."""
    ahead = [parsed]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list):
            yield value
        if isinstance(value, dict | list):
            ahead.extend(value.values() if isinstance(value, dict) else value)


def _blank_list(parts: list[Any], name: str, known: Sequence[_Secret]) -> bool:
    texts = [part.get(name) if isinstance(part, dict) else None for part in parts]
    pieces = [text if isinstance(text, str) else "" for text in texts]
    if len(pieces) < 2 or not any(pieces):
        return False
    joined, found = "".join(pieces), False
    for secret in known:
        for match in secret.text.finditer(joined):
            place = 0
            for part, piece in zip(parts, pieces, strict=True):
                end = place + len(piece)
                if piece and place < match.end() and end > match.start():
                    kind = {"type": "text"} if part.get("type") == "text" else {}
                    part.clear()
                    part |= {**kind, name: MASK}
                    found = True
                place = end
    return found


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

_SECRETS = re.compile(
    r"(?i)(?P<name>bearer\s+|(?:api[-_]?key|key|token|access_token)=)[^\s&\"'<>]+"
    r"|\b(?:sk|pk|gsk|xai)[-_][\w-]{12,}|\bhf_[A-Za-z0-9]{12,}|\bAIza[\w-]{20,}"
    r"|(?<=://)[^/\s@]+@"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error of a provider: its status, the code it names, and its message in one line.

    ``flagged`` is set where a body, or the metadata in it, speaks of moderation.
    """

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
    told = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if isinstance(told, dict):
        code, message = told.get("code") or told.get("type") or "", told.get("message") or told.get("detail")
    else:
        code, message = "", told
    if message is None:
        message = content.decode(errors="replace") if isinstance(content, bytes) else json.dumps(content)
    flagged = MODERATED.search(json.dumps(told)) is not None
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
    named = failure.status in (400, 403, 422) and failure.code.lower() in FILTERED
    return named or (failure.status == 403 and failure.flagged)


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


def concerns_all(
    failure: Failure, *, model: str, base_url: str, key_variable: str, answered: bool = False
) -> InputError | None:
    """Return the error that any further request would meet too, in one sentence; else None.

    Where a request was ``answered`` before, key and model are known to be good: 403, 404 and 405 then concern
    one request only. ``key_variable`` is empty where no key was sent.
    """
    told = f" ({failure})"
    if failure.code in NO_CREDIT or failure.status == 402:
        return InputError(
            f"The account at {base_url} has no credit left{told}; add some, then run the same command again."
        )
    if failure.status == 401 and not key_variable:
        return InputError(
            f"{base_url} requires a key{told}; put it into an environment variable and name that variable as "
            "key_variable."
        )
    if failure.status == 401:
        return InputError(
            f"{base_url} does not accept the key in the environment variable {key_variable}{told}; "
            "set it to a valid key."
        )
    if 300 <= failure.status < 400:
        return redirected(base_url)
    if answered:
        return None
    if failure.status == 403:
        who = f"the key in the environment variable {key_variable}" if key_variable else "one without a key"
        return InputError(
            f"{base_url} does not let {who} use the model {model}{told}; ask for access or choose another "
            "model."
        )
    if failure.status in (404, 405):
        return InputError(
            f"{base_url} has no model {model} or does not support OpenAI's protocol at this "
            f"address{told}; check the "
            "judge's model and base_url."
        )
    return None


def redirected(base_url: str) -> InputError:
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


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Blank out ``secrets`` and whatever else looks like a key."""
    return _SECRETS.sub(lambda match: f"{match['name'] or ''}{MASK}", mask(text, secrets))
