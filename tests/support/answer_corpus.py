"""The corpus of answers in tests/fixtures/answers: its rows, and what the rules read from each."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from conjury.inference.parsing import LabelSpec, ResponseSpec, ScaleSpec, read_answer, read_completion

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "answers"
UNPARSED = "unparsed"
_SCALE = re.compile(r"(?:(?P<name>[^:=]*?)[:=]\s*)?(?P<low>-?[\d.]+?)\s*\.\.\s*(?P<high>-?[\d.]+)")


@dataclass(frozen=True)
class CorpusAnswer:
    """One answer of the corpus, with what a careful person reads from it."""

    shape: str
    form: str
    options: str
    text: str
    reading: str
    reason: str

    @property
    def responses(self) -> list[ResponseSpec]:
        """What was asked for: one response form, or one for each field of JSON."""
        fields = [part.strip() for part in self.options.split(";")] if self.form == "json" else [self.options]
        return [self._response(field) for field in fields]

    def _response(self, options: str) -> ResponseSpec:
        key, _, values = options.partition("=") if self.form == "json" else ("", "", options)
        values, key = (values, key) if values else (key, "")
        parts = [part.strip() for part in values.split("|")]
        ranges = [_SCALE.fullmatch(part) for part in parts]
        if all(ranges):
            scales = (_scale(match, key or "score") for match in ranges if match is not None)
            return ResponseSpec("ratings", scales=tuple(scales))
        if self.form == "label" or len(parts) != 2:
            return ResponseSpec("label", labels=tuple(map(LabelSpec, parts)), key=key)
        return ResponseSpec("choice", options=tuple(parts), key=key)

    @property
    def right(self) -> tuple[str | float | None, ...]:
        """What is to be read, for each dimension."""
        named = dict(part.strip().split("=", 1) for part in self.reading.split(";") if "=" in part)
        values: list[str | float | None] = []
        for response in self.responses:
            scales = [scale.id for scale in response.scales] or [response.key]
            for name in scales:
                value = named.get(name, UNPARSED if named else self.reading).strip()
                is_number = response.form == "ratings" and value != UNPARSED
                values.append(None if value == UNPARSED else float(value) if is_number else value)
        return tuple(values)

    def read(self) -> tuple[str | float | None, ...]:
        """What the rules of this package read, for each dimension."""
        body = {"choices": [{"message": {"content": self.text}, "finish_reason": "stop"}]}
        answer = read_completion(body)
        return tuple(
            reading.value for response in self.responses for reading in read_answer(answer, response, {})
        )


def _scale(match: re.Match[str], name: str) -> ScaleSpec:
    name = (match["name"] or name).strip()
    return ScaleSpec(name, float(match["low"]), float(match["high"]), whole=False)


def read_corpus(name: str) -> list[CorpusAnswer]:
    """Read the rows of a file of the corpus."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return [
            CorpusAnswer(
                row["shape"], row["form"], row["options"], row["text"], row["reading"].strip(), row["reason"]
            )
            for row in csv.DictReader(file)
        ]


def outcome(right: tuple[str | float | None, ...], read: tuple[str | float | None, ...]) -> Counter[str]:
    """Count dimensions that are read rightly, wrongly, or not at all, and those that nobody can read."""
    counts: Counter[str] = Counter()
    for value, known in zip(read, right, strict=True):
        counts["readable"] += known is not None
        counts["wrong" if value not in (None, known) else "read" if value is not None else "unread"] += 1
    return counts
