"""One label out of several."""

from __future__ import annotations

from collections.abc import Sequence

from .completion import Answer
from .names import exact_names, label_names
from .objects import strict_object
from .probabilities import first_token, masses, share, token_at
from .spec import Finding, ResponseSpec
from .verdicts import find_verdict


def strict(
    answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Sequence[str]
) -> list[Finding]:
    """Read a label alone, or a JSON object with exactly the keys asked for, as the study spells the label."""
    text = answer.text.strip()
    held = strict_object(text, (response.json_key, *response.further))
    value = held[response.json_key] if held else text
    named = exact_names(response.labels).get(value) if isinstance(value, str) else None
    return [_finding(answer, response, named, "")]


def lenient(
    answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Sequence[str]
) -> list[Finding]:
    """Read the one label that the answer gives, by its id, its label or an alias.

    Where the judged texts are at hand and none of them holds a verdict, the first JSON object counts, and
    what an answer that does not end writes on is passed over.
    """
    names = label_names(response.labels)
    verdict = find_verdict(answer.text, names, response.json_key, shown, first=True)
    return [_finding(answer, response, verdict.value, verdict.note)]


def _finding(answer: Answer, response: ResponseSpec, value: str | None, note: str) -> Finding:
    entry = token_at(answer, response.json_key) or first_token(answer)
    if value is None or entry is None:
        return Finding("label", value, note)
    names = label_names(response.labels)
    if names.word(str(entry.get("token"))) != value:
        return Finding("label", value, note)
    return Finding("label", value, note, share(masses(entry, names.word), value))
