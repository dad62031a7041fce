"""Text that can be shown: control characters written out, and keys blanked out in whatever encoding."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html.entities import codepoint2name
from typing import Any

MASK = "[key]"
SHORTEST_SECRET = 8  # shorter keys are placeholders of local servers, and could be part of any word
ESCAPES = (b"\\u00", b"\\U000", b"\\x", b"\\/", b"%", b"&#", b"&amp;#")  # one is where a character is escaped
PIECES = ("token", "text")  # fields of lists whose values make up one text
_PIECE = re.compile(rb'"(?:token|text)"\s*:\s*"((?:[^"\\]|\\.)*)"')
_ENTITIES = {**codepoint2name, ord("'"): "apos"}  # names of characters in HTML
_QUOTED = "/\"'"  # characters that are escaped by a backslash before them
_AFTER_BACKSLASH = "bfnrtu"  # letters that mean another character after a backslash

_SECRETS = re.compile(
    r"(?i)(?P<name>bearer\s+|(?:api[-_]?key|key|token|access_token)=)[^\s&\"'<>]+"
    r"|\b(?:sk|pk|gsk|xai)[-_][\w-]{12,}|\bhf_[A-Za-z0-9]{12,}|\bAIza[\w-]{20,}"
    r"|(?<=://)[^/\s@]+@"
)


def printable(text: object) -> str:
    """Text in one line, with characters that a terminal would obey written out."""
    line = " ".join(str(text).split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def shortened(value: object, longest: int) -> str:
    """Printable text of at most so many characters."""
    text = printable(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Blank out ``secrets`` and whatever else looks like a key."""
    return _SECRETS.sub(lambda match: f"{match['name'] or ''}{MASK}", mask(text, secrets))


class _Secret:
    """Where one key stands in a text, and the plain forms that are looked for first."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        cores = [core for shift in range(3) if len(core := _base64_core(secret, shift)) >= SHORTEST_SECRET]
        urlsafe = [core.translate(str.maketrans("+/", "-_")) for core in cores]
        encoded = secret.encode().hex()
        numbers = [separator.join(str(byte) for byte in secret.encode()[:3]) for separator in (",", ", ")]
        forms = (secret, *cores, *urlsafe, encoded, encoded.upper(), *numbers)
        latin = _latin_bytes(secret)
        self.forms = (*(form.encode() for form in dict.fromkeys(forms)), *latin)
        self.alphabets = [frozenset(form.lower()) for form in self.forms]
        self.escapes = (*ESCAPES, *_other_escapes(secret))
        patterns = "|".join(["".join(map(_escaped, form)) for form in (secret, *cores, *urlsafe)])
        byte_pattern = r",\s*".join(str(byte) for byte in secret.encode())
        before = r"(?P<kept>(?<!\\)(?:\\\\)*)" if secret[0] in _AFTER_BACKSLASH else "(?P<kept>)"
        pattern = rf"{before}(?:{patterns}|(?i:{encoded}))|(?<!\d){byte_pattern}(?!\d)"
        self.text = re.compile(pattern)
        self.bytes = re.compile(b"|".join((pattern.encode(), *map(re.escape, latin))))

    def mask(self, text: str) -> str:
        return self.text.sub(lambda match: f"{match['kept'] or ''}{_mask(match[0])}", text)

    def mask_bytes(self, content: bytes) -> bytes:
        return self.bytes.sub(
            lambda match: (match["kept"] or b"") + _mask(match[0].decode("latin-1")).encode(), content
        )


def mask(text: str, secrets: Sequence[str]) -> str:
    """Blank out keys in a text: as they are, escaped, percent-encoded, in base64 or hexadecimal."""
    for secret in map(_secret, secrets):
        if secret is not None:
            text = secret.mask(text)
    return text


def mask_bytes(content: bytes, secrets: Sequence[str]) -> bytes:
    """Blank out keys in what was received; all else stays as it is, byte for byte."""
    # JSON in another encoding than UTF-8 is brought to that. Keys that are spread over the tokens of
    # log-probabilities or over the parts of a message are found as well; such JSON is written anew.
    keys = [secret for secret in map(_secret, secrets) if secret is not None]
    if not keys:
        return content
    content = _as_utf8(content)
    for secret in keys:
        if any(form in content for form in (*secret.escapes, *secret.forms)):
            content = secret.mask_bytes(content)
    if any(f'"{name}"'.encode() in content for name in PIECES) and _may_be_spread(content, keys):
        content = _mask_pieces(content, keys)
    return content


@lru_cache(maxsize=8)
def _secret(secret: str) -> _Secret | None:
    return _Secret(secret) if len(secret) >= SHORTEST_SECRET else None


def _base64_core(secret: str, shift: int) -> str:
    """Return the characters of base64 that a secret alone decides, ``shift`` bytes into a group of three."""
    content = b"\0" * shift + secret.encode()
    return base64.b64encode(content).decode()[-(-shift * 8 // 6) : len(content) * 8 // 6]


def _escaped(character: str) -> str:
    """Return a pattern of all ways to write a character."""
    code = ord(character)
    backslashes = r"\\*" if character in _QUOTED or character == "\\" else ""
    literal = backslashes + re.escape(character)
    units = character.encode("utf-16-be").hex()  # JSON escapes each half of a pair on its own
    ways = [
        "".join(rf"\\+u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4)),
        rf"\\+U(?i:{code:08x})",
        *(
            "".join(rf"{sign}(?i:{byte:02x})" for byte in character.encode())
            for sign in (r"\\+x", "%(?:25)*")
        ),
        rf"&(?:amp;)*#0*{code};",
        rf"&(?:amp;)*#[xX]0*(?i:{code:x});",
    ]
    if code in _ENTITIES:
        ways.append(f"&(?:amp;)*{_ENTITIES[code]};")
    if 128 <= code < 256:  # in Latin-1 it is one byte
        ways += [rf"\\+x(?i:{code:02x})", rf"%(?:25)*(?i:{code:02x})"]
    return f"(?:{'|'.join((literal, *ways))})"


def _latin_bytes(secret: str) -> list[bytes]:
    """Return a key in Latin-1, where that is not UTF-8."""
    try:
        return [] if secret.isascii() else [secret.encode("latin-1")]
    except UnicodeEncodeError:
        return []


def _other_escapes(secret: str) -> list[bytes]:
    """Return further signs of escaped characters, for the characters of a key."""
    escapes = [b"\\u", b"\\U0"] * (not secret.isascii())
    escapes += [f"\\{character}".encode() for character in "\\\"'" if character in secret]
    return escapes + [f"{_ENTITIES[ord(each)]};".encode() for each in secret if ord(each) in _ENTITIES]


def _mask(match: str) -> str:
    """Return what stands in place of a key; where it was a list of numbers, numbers."""
    return "0" if re.fullmatch(r"[\d,\s]+", match) and "," in match else MASK


def _as_utf8(content: bytes) -> bytes:
    encoding = json.detect_encoding(content)
    if encoding == "utf-8":
        return content
    try:
        return content.decode(encoding).encode()
    except UnicodeError:
        return content


def _may_be_spread(content: bytes, keys: Sequence[_Secret]) -> bool:
    """Whether the members of lists have the characters of a key; an answer of one letter has not."""
    joined = b"".join(_PIECE.findall(content))
    if any(sign in joined for sign in (b"\\", b"%", b"&")):
        return True
    characters = set(joined.lower())  # hexadecimal digits are found in either case
    return any(alphabet <= characters for secret in keys for alphabet in secret.alphabets)


def _mask_pieces(content: bytes, keys: Sequence[_Secret]) -> bytes:
    """Blank out keys that are spread over the members of a list."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        return content
    changes = [_blank_list(parts, name, keys) for parts in _lists(parsed) for name in PIECES]
    return json.dumps(parsed).encode() if any(changes) else content


def _lists(parsed: Any) -> Iterator[list[Any]]:
    """Yield all lists at any depth: parts of messages and tokens, wherever a provider puts them."""
    ahead = [parsed]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list):
            yield value
        if isinstance(value, dict | list):
            ahead.extend(value.values() if isinstance(value, dict) else value)


def _blank_list(parts: list[Any], name: str, keys: Sequence[_Secret]) -> bool:
    """Blank out keys that are spread over a field of a list's members; say whether there was one."""
    texts = [part.get(name) if isinstance(part, dict) else None for part in parts]
    pieces = [text if isinstance(text, str) else "" for text in texts]
    if len(pieces) < 2 or not any(pieces):
        return False
    joined, has_key = "".join(pieces), False
    for secret in keys:
        for match in secret.text.finditer(joined):
            place = 0
            for part, piece in zip(parts, pieces, strict=True):
                end = place + len(piece)
                if piece and place < match.end() and end > match.start():
                    kind = {"type": "text"} if part.get("type") == "text" else {}
                    part.clear()
                    part |= {**kind, name: MASK}
                    has_key = True
                place = end
    return has_key
