"""One label out of several, also as the published evaluation of jokes over several lines took it.

Errors of that evaluation are included. Every blank answer, every failure and every blank label is the empty
string there; here it is a reading without a value. Other labels than those asked for keep their own string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ..tables.columns import fold, plain
from .option_names import ValueNames, exact_names, first_token, label_names, masses, share, token_at
from .quoted import Record, is_placeholder, records_with_key, strict_object, unquoted_content
from .spec import Answer, ResponseSpec, RuleFinding
from .verdicts import FALLBACK_KEYS, find_verdict, named_by


def strict(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read a label alone, or a JSON object with exactly the keys asked for, as the study spells the label."""
    text = answer.text.strip()
    record = strict_object(text, (response.json_key, *response.further))
    value = record[response.json_key] if record else text
    label = exact_names(response.labels).get(value) if isinstance(value, str) else None
    return [_finding(answer, response, label, "")]


def lenient(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read the one label that the answer gives, by its id, its label or an alias."""
    # Where the judged texts are known and none of them contains a verdict, the first JSON object counts, and
    # what an answer that does not end writes on is passed over.
    names = label_names(response.labels)
    verdict = find_verdict(
        answer.text, names, response.json_key, texts, first=True, cut=answer.ending == "length"
    )
    return [_finding(answer, response, verdict.value, verdict.note)]


def _finding(answer: Answer, response: ResponseSpec, value: str | None, note: str) -> RuleFinding:
    entry = token_at(answer, response.json_key) or first_token(answer)
    if value is None or entry is None:
        return RuleFinding("label", value, note)
    names = label_names(response.labels)
    if names.word(str(entry.get("token"))) != value:
        return RuleFinding("label", value, note)
    mass = share(masses(entry, names.word), value, entry, len(response.labels))
    return RuleFinding("label", value, note, mass)


Labels = dict[int, str | None]  # by number of the line, from 1; None for what is no label
MOST_LINES = 2_000  # an answer may repeat itself without end
_NUMBERED = re.compile(r"(?:line|linea|السطر)?[\s_]{0,3}(\d{1,4})")
_LISTED = re.compile(
    r"^[\s*_#-]{0,6}(?:(?:line|linea|السطر)\s{1,3})?(\d{1,4})[*_]{0,2}\s{0,3}[.:)\]-][\s*_]{0,4}(\S.{0,120})$",
    re.MULTILINE,
)
_PARTS = re.compile(r"\s*[,;\n]\s*")


def strict_line_labels(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read a JSON object with exactly the keys asked for and a list of labels, as the study spells them."""
    record = strict_object(answer.text.strip(), (response.json_key, *response.further))
    labels = record[response.json_key] if record else None
    if not isinstance(labels, list):
        return _findings({}, response, "no list of labels")
    ids = exact_names(response.labels)
    return _findings(
        {line: ids.get(value) if isinstance(value, str) else None for line, value in enumerate(labels, 1)},
        response,
    )


def lenient_line_labels(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read the labels from JSON, from numbered lines, or from a list of nothing but labels."""
    # Two lists that differ leave all lines unread, unless none of the judged texts contains a list: then the
    # first counts, and what an unfinished answer writes on is ignored.
    names = label_names(response.labels)
    content = unquoted_content(answer.text, lambda passage: True, texts)
    candidates = _labels_in_json(content.values, response, names)
    if len(candidates) > 1 and texts and not _holds_lists(tuple(texts), names):
        candidates = candidates[:1]
    if not candidates:
        prose = fold(content.prose)
        candidates = [
            labels
            for labels in (_numbered_labels(prose, names) or _enumerated_labels(prose, names),)
            if labels
        ]
    if not candidates:
        return _findings({}, response, "no list of labels")
    if any(labels != candidates[0] for labels in candidates):
        return _findings({}, response, "contradicting lists of labels")
    return _findings(candidates[0], response, "" if content.pure else "the list stands amid other text")


def _labels_in_json(values: Sequence[object], response: ResponseSpec, names: ValueNames) -> list[Labels]:
    key = frozenset({plain(response.json_key)})
    pairs = list(records_with_key(values, key)) or list(records_with_key(values, FALLBACK_KEYS))
    pairs = [(record, name) for record, name in pairs if not is_placeholder(record[name])]
    entries = [{} if name in record.contradicted else record[name] for record, name in pairs]
    return [labels for value in entries or values if (labels := _labels(value, names)) or entries]


def _labels(value: object, names: ValueNames) -> Labels:
    if isinstance(value, list):
        entries = [_entry(item) for item in value]
        numbers = [number for number, _ in entries]
        by_order = None in numbers or len(set(numbers)) < len(numbers)
        pairs = [
            (place if by_order or number is None else number, label)
            for place, (number, label) in enumerate(entries, 1)
        ]
        labels = {line: named_by(label, names) for line, label in pairs}
        return labels if any(labels.values()) else {}
    if isinstance(value, Record):
        lines = {key: _NUMBERED.fullmatch(fold(key).strip()) for key in value}
        return {
            int(line[1]): None if key in value.contradicted else named_by(value[key], names)
            for key, line in lines.items()
            if line
        }
    return {}


def _entry(item: object) -> tuple[int | None, object]:
    """Number, if any, and label of one entry of a list."""
    if not isinstance(item, Record):
        return None, item
    fields = {plain(key): value for key, value in item.items()}
    label = next((fields[key] for key in ("label", "purpose", "category", "answer") if key in fields), None)
    number = next((fields[key] for key in ("line", "line number", "number", "index") if key in fields), None)
    return (int(number) if isinstance(number, float) and number.is_integer() else None), label


def _numbered_labels(prose: str, names: ValueNames) -> Labels:
    labels: Labels = {}
    for match in _LISTED.finditer(prose):
        line, value = int(match[1]), names.bare(match[2])
        labels[line] = value if labels.get(line, value) == value else None
    return labels if any(labels.values()) else {}


def _enumerated_labels(prose: str, names: ValueNames) -> Labels:
    text = prose.strip().strip("[]().` ")
    first = _PARTS.split(text, maxsplit=1)[0]
    if first and names.bare(first) is None:
        return {}
    parts = _PARTS.split(text, maxsplit=MOST_LINES)
    labels: Labels = {}
    for part in filter(None, map(str.strip, parts)):
        label = names.bare(part)
        if label is None:
            return {}
        labels[len(labels) + 1] = label
    return labels


@lru_cache(maxsize=10_000)
def _holds_lists(texts: tuple[str, ...], names: ValueNames) -> bool:
    """Whether a judged text contains what could be read as labels of lines."""
    folded_texts = map(fold, texts)
    return any(
        "{" in text or '["' in text or _numbered_labels(text, names) or _enumerated_labels(text, names)
        for text in folded_texts
    )


def _findings(labels: Labels, response: ResponseSpec, note: str = "") -> list[RuleFinding]:
    labels = {line: label for line, label in labels.items() if line <= MOST_LINES}
    unshown = sorted(line for line in labels if not 1 <= line <= response.lines)
    if labels and response.lines and len(labels) != response.lines:
        note = "; ".join(filter(None, [note, f"{len(labels)} labels for {response.lines} lines"]))
    elif unshown and response.lines:
        note = "; ".join(filter(None, [note, f"labels for lines {unshown} that were not shown"]))
    last = max([response.lines, 1, *labels]) if response.surplus else response.lines
    findings = []
    for line in range(1, last + 1):
        label = labels.get(line)
        missing = "no label for this line" if line not in labels else "not a known label"
        lacking = [] if label is not None or not labels else [missing]
        text = "; ".join(filter(None, [*lacking, note]))
        findings.append(RuleFinding(f"line_{line}", label, text, given=len(labels)))
    return findings


Shown = Sequence[str]


Extraction = Callable[[str, str], Any]


MERGED = {
    **dict.fromkeys(("surreal", "absurdism"), "surreal/absurdism"),
    **dict.fromkeys(("observational", "anecdotal"), "observational/anecdotal"),
}


MOCKING = ("satire", "parody", "irony")


MOST_LABELS = 2_000  # an answer may repeat itself without end


MOST_DECODED = 5_000_000  # characters of objects that could not be decoded, before the search is given up


def greedy(text: str, key: str) -> Any:
    """Value of ``key`` in the JSON object from the first ``{`` to the last ``}``; None for all failures."""
    start, end = text.find("{"), text.rfind("}") + 1
    try:
        document = json.loads(text[start:end]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return document.get(key) if isinstance(document, dict) else None


def first_object(text: str, key: str) -> Any:
    """Value of ``key`` in the first JSON object that can be decoded and contains it, or None."""
    decoder, start, last, budget = json.JSONDecoder(), text.find("{"), text.rfind(f'"{key}"'), MOST_DECODED
    while 0 <= start <= last and budget > 0:
        try:
            document, _ = decoder.raw_decode(text, start)
        except json.JSONDecodeError as problem:
            document, budget = None, budget - (problem.pos - start)
        except RecursionError:
            document, budget = None, budget - MOST_DECODED // 100
        if isinstance(document, dict) and key in document:
            return document[key]
        start = text.find("{", start + 1)
    return None


def joke_type(label: str, version: int = 2) -> str:
    """Name of a type of joke as the published scores have it, for answers and gold labels alike."""
    # `version` 2 folds case and takes satire, parody and irony for one; 1 does neither.
    name = label.strip() if version == 1 else label.strip().lower()
    if version > 1 and any(word in name for word in MOCKING):
        return "satire/parody/irony"
    return MERGED.get(name, name)


def line_purpose(label: str, version: int = 2) -> str:
    """Purpose of a line as the published scores have it in answers."""
    return label.strip() if version == 1 else label.strip().lower()


def label_by(extract: Extraction, version: int) -> Callable[..., list[RuleFinding]]:
    """Make the reader of one label."""

    def read(answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Shown) -> list[RuleFinding]:
        value = extract(answer.text.strip(), response.json_key)
        name = joke_type(value, version) if isinstance(value, str) else ""
        return [RuleFinding("label", name or None, "" if name else _note_on_value(value))]

    return read


def line_labels_by(extract: Extraction, version: int) -> Callable[..., list[RuleFinding]]:
    """Make the reader of one label for each line: all labels that the answer gives, also for no line."""

    def read(answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Shown) -> list[RuleFinding]:
        values = extract(answer.text.strip(), response.json_key)
        labels = values[:MOST_LABELS] if isinstance(values, list) else []
        names = [line_purpose(value, version) if isinstance(value, str) else "" for value in labels]
        note = "" if isinstance(values, list) else _note_on_value(values)
        if names and response.lines and len(names) != response.lines:
            note = f"{len(names)} labels for {response.lines} lines"
        padded = names + [""] * (max(response.lines, 1) - len(names))
        return [
            RuleFinding(f"line_{line}", name or None, note, given=len(names))
            for line, name in enumerate(padded, 1)
        ]

    return read


def _note_on_value(value: object) -> str:
    return "no JSON object with the key" if value is None else "the key holds something else"
