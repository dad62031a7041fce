"""Labels as the published evaluation of jokes over several lines took them from answers, errors included.

Every blank answer, every failure and every blank label is the empty string there; here it is a reading
without a value. Labels that are none of those asked for keep their own string.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..completion import Answer
from ..spec import Finding, ResponseSpec

Shown = Sequence[str]
Extraction = Callable[[str, str], Any]

MERGED = {
    **dict.fromkeys(("surreal", "absurdism"), "surreal/absurdism"),
    **dict.fromkeys(("observational", "anecdotal"), "observational/anecdotal"),
}
MOCKING = ("satire", "parody", "irony")
MOST_LABELS = 2_000
MOST_DECODED = 5_000_000  # characters of objects that could not be decoded, before the search is given up


def greedy(text: str, key: str) -> Any:
    """Value of ``key`` in the JSON object from the first ``{`` to the last ``}``; None for all failures."""
    start, end = text.find("{"), text.rfind("}") + 1
    try:
        held = json.loads(text[start:end]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return held.get(key) if isinstance(held, dict) else None


def first_object(text: str, key: str) -> Any:
    """Value of ``key`` in the first JSON object that can be decoded and contains it, or None."""
    decoder, start, last, left = json.JSONDecoder(), text.find("{"), text.rfind(f'"{key}"'), MOST_DECODED
    while 0 <= start <= last and left > 0:
        try:
            held, _ = decoder.raw_decode(text, start)
        except json.JSONDecodeError as problem:
            held, left = None, left - (problem.pos - start)
        except RecursionError:
            held, left = None, left - MOST_DECODED // 100
        if isinstance(held, dict) and key in held:
            return held[key]
        start = text.find("{", start + 1)
    return None


def joke_type(label: str, version: int = 2) -> str:
    """Name of a type of joke as the published scores have it, for answers and gold labels alike.

    ``version`` 2 folds case and takes satire, parody and irony for one; 1 does neither.
    """
    name = label.strip() if version == 1 else label.strip().lower()
    if version > 1 and any(word in name for word in MOCKING):
        return "satire/parody/irony"
    return MERGED.get(name, name)


def line_purpose(label: str, version: int = 2) -> str:
    """Purpose of a line as the published scores have it in answers."""
    return label.strip() if version == 1 else label.strip().lower()


def label_by(extract: Extraction, version: int) -> Callable[..., list[Finding]]:
    """Make the reader of one label."""

    def read(answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Shown) -> list[Finding]:
        value = extract(answer.text.strip(), response.json_key)
        name = joke_type(value, version) if isinstance(value, str) else ""
        return [Finding("label", name or None, "" if name else _why(value))]

    return read


def line_labels_by(extract: Extraction, version: int) -> Callable[..., list[Finding]]:
    """Make the reader of one label for each line: all labels that the answer gives, also for no line."""

    def read(answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Shown) -> list[Finding]:
        given = extract(answer.text.strip(), response.json_key)
        labels = given[:MOST_LABELS] if isinstance(given, list) else []
        names = [line_purpose(value, version) if isinstance(value, str) else "" for value in labels]
        note = "" if isinstance(given, list) else _why(given)
        if names and response.lines and len(names) != response.lines:
            note = f"{len(names)} labels for {response.lines} lines"
        padded = names + [""] * (max(response.lines, 1) - len(names))
        return [
            Finding(f"line_{line}", name or None, note, given=len(names))
            for line, name in enumerate(padded, 1)
        ]

    return read


def _why(value: object) -> str:
    return "no JSON object with the key" if value is None else "the key holds something else"
