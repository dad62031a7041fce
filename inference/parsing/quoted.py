"""The statements of an answer, separated from its quotations, and the JSON values inside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..tables.columns import plain, visible
from ..tables.limits import whole_text

WRAPPERS = frozenset(
    {"answer", "final answer", "response", "result", "results", "output", "verdict", "judgment", "judgement"}
    | {
        "evaluation",
        "ratings",
        "scores",
        "final",
        "review",
        "data",
        "moderation",
        "assessment",
        "overall",
        "json",
    }
)
DOUBLED = "the same key twice"
_PLACEHOLDER = re.compile(
    r"\s*(?:<[^<>]{0,60}>|\.{2,3}|\u2026|label[ _]?(?:\d{1,3}|n|\.{3}|\u2026))\s*", re.IGNORECASE
)


class Record(dict[str, Any]):
    """A JSON object that knows which of its keys came twice, and which of those with different values."""

    doubled: frozenset[str] = frozenset()
    contradicted: frozenset[str] = frozenset()


def _valid_text(value: Any) -> Any:
    """Texts that a file can contain: without halves of surrogate pairs, which JSON can escape."""
    if isinstance(value, str):
        return whole_text(value)
    return [_valid_text(part) for part in value] if isinstance(value, list) else value


def _record(pairs: list[tuple[str, Any]]) -> Record:
    pairs = [(whole_text(key), _valid_text(value)) for key, value in pairs]
    record = Record(pairs)
    if len(record) < len(pairs):
        first_values: dict[str, Any] = {}
        doubled, contradicted = set(), set()
        for key, value in pairs:
            if key in first_values:
                doubled.add(key)
                if repr(first_values[key]) != repr(value):
                    contradicted.add(key)
            first_values.setdefault(key, value)
        record.doubled, record.contradicted = frozenset(doubled), frozenset(contradicted)
    return record


DECODER = json.JSONDecoder(object_pairs_hook=_record, parse_int=float, strict=False)


def decode_at(text: str, start: int) -> tuple[Any, int, bool]:
    """Decode the JSON value at ``start``."""
    try:
        value, end = DECODER.raw_decode(text, start)
        value = _valid_text(value)
    except json.JSONDecodeError as problem:
        return None, max(problem.pos, start + 1), False
    except RecursionError:
        return None, len(text), False
    return value, end, True


def decode_whole(text: str) -> Any:
    """Decode a text that is JSON and nothing else; None where it is not."""
    if text[:1] not in '{["':
        return None
    value, end, valid = decode_at(text, 0)
    return value if valid and end == len(text) else None


def records_with_key(values: Iterable[Any], keys: frozenset[str]) -> Iterator[tuple[Record, str]]:
    """Find the outermost objects that contain one of ``keys`` (plain), each with the key as it is written."""
    # Only lists and the usual wrappers of an answer are opened: what else an object contains may be a copy of
    # the question.
    for value in values:
        if isinstance(value, list):
            yield from records_with_key(value, keys)
        elif isinstance(value, Record):
            plain_names = {name: plain(name) for name in value}
            matches = [name for name, key in plain_names.items() if key in keys] or [
                name for name, key in plain_names.items() if _ADDITION.sub("", key) in keys
            ]
            for name in matches:
                yield value, name
            if not matches:
                inner = (_decoded(value[name]) for name, key in plain_names.items() if key in WRAPPERS)
                yield from records_with_key((item for item in inner if isinstance(item, dict | list)), keys)


_ADDITION = re.compile(
    r"\A(?:final|my|your|overall)\s|\s?[(\[].{0,40}[)\]]\Z|\s(?:score|rating)\Z"
)  # "final choice", "score (0-10)"


def _decoded(value: Any) -> Any:
    """Decode a text that is JSON."""
    return decode_whole(value.strip()) if isinstance(value, str) and value.lstrip()[:1] == "{" else value


def is_placeholder(value: Any) -> bool:
    """Whether a value copies the form that was asked for: ``<one type>``, ``...``, ``label1``, ``[]``."""
    if isinstance(value, list):
        return all(isinstance(item, str) and _PLACEHOLDER.fullmatch(item) for item in value)
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


def strict_object(text: str, keys: Iterable[str]) -> Record | None:
    """Decode a text that is one JSON object with exactly ``keys``, each once; None where it is not."""
    value = decode_whole(text)
    exact = isinstance(value, Record) and not value.doubled and set(value) == set(keys)
    return value if exact else None


GAP = "\ufffc"  # stands where something was taken out, so that what lay around it does not join
SHORTEST_ECHO = 20  # shorter texts occur in answers that quote nothing
MOST_SIGNS = 5_000  # this and the two below bound the time that a hostile answer can take
MOST_FAILURES = 100
LONGEST_BROKEN = 10_000
_OPEN = r"\{(?=\s{0,9}[\"}])|\[(?=\s{0,9}[\"{[])"
_STRAIGHT = str.maketrans(dict.fromkeys("“”„«»\u2039\u203a「」『』", '"'))  # statements know these alone
_SIGNS = re.compile(rf"""```[\w+-]*|[“„«\u2039「『`]|(?<!\w)["'](?=\S)|{_OPEN}""")
_CLOSERS = {
    opening: re.compile(rf"{closing}|{_OPEN}")
    for opening, closing in {
        "“": "”",
        "„": "[“”]",
        "«": "»",
        "\u2039": "\u203a",
        "「": "」",
        "『": "』",
        "`": "`",
        '"': r'(?<!\s)"(?!\w)',
        "'": r"(?<!\s)'(?!\w)|\n",
    }.items()
}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BLOCKQUOTE = re.compile(r"(?:^[ \t]*>.*\n?)+", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,30})>")
STYLE_TAGS = frozenset({"b", "i", "em", "strong", "u", "p", "span", "div", "mark"})
_ANSWER_TAG = re.compile(
    r"answer|choice|verdict|label|rating|score|output|result|final|response|decision|winner|judge?ment|preference"
    r"|category|json",
    re.IGNORECASE,
)


@dataclass(slots=True)
class UnquotedAnswer:
    """An answer without its quotations."""

    # the JSON objects and lists in it
    values: list[Any] = field(default_factory=list)
    # the rest
    prose: str = ""
    # whether the answer is one JSON value and nothing else
    pure: bool = False
    # all of it but word-for-word copies of judged texts, unless it is pure
    text: str = ""


_CORRECTS = re.compile(
    r"\b(?:correct(?:ion|ed)|misread|should (?:be|have)|apologi[sz]e|sorry|wrong way|revised|on reflection"
    r"|no, wait|korrektur|correccion|correction|correzione|correcao)\b",
    re.IGNORECASE,
)


def last_values(content: UnquotedAnswer) -> list[Any]:
    """JSON values of an answer without those that it corrects in words before the next one."""
    parts = content.prose.split(GAP)
    if len(content.values) < 2 or len(parts) != len(content.values) + 1:
        return content.values
    corrections = [place for place, part in enumerate(parts[1:-1], 1) if _CORRECTS.search(part)]
    return content.values[max(corrections, default=0) :]


def text_of_correction(content: UnquotedAnswer) -> str:
    """Text behind all JSON values of an answer, if it corrects them."""
    behind = content.prose.rpartition(GAP)[2] if content.values else ""
    return behind if _CORRECTS.search(behind) else ""


def unquoted_content(
    text: str, keep: Callable[[str], bool], texts: Sequence[str] = (), tags: frozenset[str] = frozenset()
) -> UnquotedAnswer:
    """Take out of an answer what it quotes, and decode the JSON that it gives itself."""
    # Quotations are between quotation marks, backticks or foreign tags, lines with `>`, and copies of
    # `texts`; an answer that is one quotation is unwrapped. Work per character is bounded.
    text = visible(text).strip()
    document = decode_whole(text)
    if isinstance(document, dict | list) and not _is_bracketed(document):
        return UnquotedAnswer([document], pure=True)
    text = _without_copies(_unwrapped(text), texts)
    if ">" in text:
        text = _without_tags(_BLOCKQUOTE.sub(GAP + "\n", text), tags)
    content = _Scanner(text, keep).content()
    content.text = text
    return content


def _is_bracketed(value: Any) -> bool:
    """Whether a list is no JSON but a verdict in brackets: "[7]", "[[7]]"."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return isinstance(value, float)


def _unwrapped(text: str) -> str:
    if text.startswith(">") and "\n" not in text and not text[1:].strip()[:1].isdigit():
        return text[1:].strip()
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'`" and text[0] * 3 != text[:3]:
        inside = text[1:-1]
        document = decode_whole(text)
        if isinstance(document, str):
            return document.strip()
        if text[0] not in inside or isinstance(decode_whole(inside), dict):
            return inside.strip()
    return text


def _without_copies(text: str, texts: Sequence[str]) -> str:
    for passage in texts:
        for form in _written_forms(passage):
            if len(form) < len(text):
                text = text.replace(form, GAP)
    return text


@lru_cache(maxsize=10_000)
def _written_forms(passage: str) -> tuple[str, ...]:
    """Ways in which an answer may write a judged text, the longest first."""
    escaped = (json.dumps(passage, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))
    forms = {form for form in (passage, passage.strip(), *escaped) if len(form) >= SHORTEST_ECHO}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _without_tags(text: str, tags: frozenset[str]) -> str:
    if "</" not in text:
        return text
    opened: dict[str, int] = {}
    pieces, end = [], 0
    for tag in _TAG.finditer(text):
        closing, name = tag.groups()
        if _ANSWER_TAG.search(name) or name in STYLE_TAGS or plain(name) in tags:
            continue
        if not closing:
            opened.setdefault(name, tag.start())
        elif opened.get(name, -1) >= end:
            pieces.append(text[end : opened[name]])
            end = tag.end()
            opened.clear()
    return GAP.join([*pieces, text[end:]])


class _Scanner:
    """One pass over an answer; gives up on text that is mostly marks, which no verdict needs."""

    def __init__(self, text: str, keep: Callable[[str], bool]) -> None:
        self.text, self.keep = text, keep
        self.failures = 0
        self.closed_nowhere_before: dict[str, int] = {}

    def content(self) -> UnquotedAnswer:
        text, values, pieces = self.text, list[Any](), list[str]()
        position = signs = 0
        while sign := _SIGNS.search(text, position):
            signs += 1
            if signs > MOST_SIGNS or self.failures > MOST_FAILURES:
                return UnquotedAnswer()
            start, mark = sign.start(), sign.group()
            pieces.append(text[position:start])
            position = sign.end()
            if mark in "{[":
                value, position, valid = self.decode(start)
                if valid and _is_bracketed(value):
                    pieces.append(text[start:position])
                    continue
                values += [value] if valid else []
                pieces.append(GAP if valid else self.without_strings(text[start:position]))
            elif not mark.startswith("```"):
                end = self.end_of_quotation(start, mark)
                passage = text[start:end]
                pieces.append(passage.translate(_STRAIGHT) if self.keep(passage) else GAP)
                position = end
        return UnquotedAnswer(values, "".join([*pieces, text[position:]]))

    def decode(self, start: int) -> tuple[Any, int, bool]:
        value, end, valid = decode_at(self.text, start)
        self.failures += not valid
        return value, end, valid

    def end_of_quotation(self, start: int, mark: str) -> int:
        """Find where the quotation that opens at ``start`` ends: unclosed, with its paragraph."""
        position = start + 1
        while position > self.closed_nowhere_before.get(mark, 0) and self.failures <= MOST_FAILURES:
            sign = _CLOSERS[mark].search(self.text, position)
            if sign is None:
                self.closed_nowhere_before[mark] = len(self.text)
            elif sign.group() == "\n":
                self.closed_nowhere_before[mark] = sign.start()
            elif sign.group() in "{[":
                position = self.decode(sign.start())[1]
            else:
                return sign.end()
        if mark == "'":
            return start + 1
        end = self.text.find("\n\n", start)
        return len(self.text) if end < 0 else end

    def without_strings(self, text: str) -> str:
        if len(text) > LONGEST_BROKEN:
            return GAP
        return _STRING.sub(lambda string: string.group() if self.keep(string.group()) else GAP, text)
