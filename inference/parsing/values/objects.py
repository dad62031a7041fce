"""JSON values inside text, and the verdicts that they contain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...tables.bounded import whole_text
from ...tables.folding import plain

WRAPPERS = frozenset(
    {"answer", "final answer", "response", "result", "results", "output", "verdict", "judgment", "judgement"}
    | {"evaluation", "ratings", "scores"}
)
DOUBLED = "the same key twice"
_PLACEHOLDER = re.compile(
    r"\s*(?:<[^<>]{0,60}>|\.{2,3}|\u2026|label[ _]?(?:\d{1,3}|n|\.{3}|\u2026))\s*", re.IGNORECASE
)


class Record(dict[str, Any]):
    """A JSON object that knows which of its keys came twice, and which of those with different values."""

    doubled: frozenset[str] = frozenset()
    contradicted: frozenset[str] = frozenset()


def _whole(value: Any) -> Any:
    """Texts that a file can hold: without halves of surrogate pairs, which JSON can escape."""
    if isinstance(value, str):
        return whole_text(value)
    return [_whole(part) for part in value] if isinstance(value, list) else value


def _record(pairs: list[tuple[str, Any]]) -> Record:
    pairs = [(whole_text(key), _whole(value)) for key, value in pairs]
    record = Record(pairs)
    if len(record) < len(pairs):
        seen: dict[str, Any] = {}
        doubled, contradicted = set(), set()
        for key, value in pairs:
            if key in seen:
                doubled.add(key)
                if repr(seen[key]) != repr(value):
                    contradicted.add(key)
            seen.setdefault(key, value)
        record.doubled, record.contradicted = frozenset(doubled), frozenset(contradicted)
    return record


DECODER = json.JSONDecoder(object_pairs_hook=_record, parse_int=float, strict=False)


def decode_at(text: str, start: int) -> tuple[Any, int, bool]:
    """Decode the JSON value at ``start``."""
    try:
        value, end = DECODER.raw_decode(text, start)
        value = _whole(value)
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


def holders(values: Iterable[Any], keys: frozenset[str]) -> Iterator[tuple[Record, str]]:
    """Find the outermost objects that hold one of ``keys`` (plain), each with the key as it is written.

    Only lists and the usual wrappers of an answer are opened: what else an object holds may be a copy of
    the question.
    """
    for value in values:
        if isinstance(value, list):
            yield from holders(value, keys)
        elif isinstance(value, Record):
            named = {name: plain(name) for name in value}
            found = [name for name, key in named.items() if key in keys]
            for name in found:
                yield value, name
            if not found:
                inner = [value[name] for name, key in named.items() if key in WRAPPERS]
                yield from holders((item for item in inner if isinstance(item, dict | list)), keys)


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
