"""The corpus of answers in tests/fixtures/answers: its rows, and what the rules read from each."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conjury.inference.parsing import LabelSpec, ResponseSpec, ScaleSpec, read_answer, read_completion

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "answers"
UNPARSED = "unparsed"
_SCALE = re.compile(r"(?:(?P<name>[^:=]*?)[:= ]\s*)?\(?(?P<low>-?[\d.]+)\s*\.\.\s*(?P<high>-?[\d.]+)\)?")


@dataclass(frozen=True)
class CorpusAnswer:
    """One answer of the corpus, with what a careful person reads from it."""

    shape: str
    form: str
    options: tuple[str, ...]
    text: str
    reading: str
    reason: str

    @property
    def response(self) -> ResponseSpec:
        """The answer that was asked for."""
        if self.form in ("rating", "ratings") or any(_SCALE.fullmatch(option) for option in self.options):
            return ResponseSpec("ratings", scales=tuple(self._scales()))
        if self.form == "label" or len(self.options) != 2:
            return ResponseSpec("label", labels=tuple(map(LabelSpec, self.options)))
        return ResponseSpec("choice", options=self.options)

    def _scales(self) -> Iterable[ScaleSpec]:
        names = [part.partition("=")[0].strip() for part in self.reading.split(";")]
        ranges = [match for option in self.options if (match := _SCALE.fullmatch(option.strip()))]
        if len(self.options) > len(ranges):  # names, and one scale for all
            names = [option for option in self.options if not _SCALE.fullmatch(option.strip())]
        elif self.form != "ratings":
            names = ["score"]
        elif all(match["name"] for match in ranges):
            names = [match["name"].strip() for match in ranges]
        for place, name in enumerate(names):
            match = ranges[place if len(ranges) > 1 else 0]
            whole = "." not in match["low"] + match["high"]
            yield ScaleSpec(name, float(match["low"]), float(match["high"]), whole=whole)

    @property
    def right(self) -> tuple[str | float | None, ...]:
        """What is to be read, for each dimension."""
        if self.response.form != "ratings":
            return (None if self.reading == UNPARSED else self.reading,)
        parts = {
            name.strip(): value.strip()
            for name, _, value in (part.partition("=") for part in self.reading.split(";"))
        }
        values = [parts.get(scale.id, "") for scale in self.response.scales]
        if self.form != "ratings" or "=" not in self.reading:
            values = [self.reading] * len(values)
        return tuple(None if value in (UNPARSED, "") else float(value) for value in values)

    def read(self) -> tuple[str | float | None, ...]:
        """What the rules of this package read, for each dimension."""
        body = {"choices": [{"message": {"content": self.text}, "finish_reason": "stop"}]}
        return tuple(reading.value for reading in read_answer(read_completion(body), self.response, {}))


def read_corpus(name: str) -> list[CorpusAnswer]:
    """Read the rows of a file of the corpus."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return [
            CorpusAnswer(
                row["shape"],
                row["form"],
                tuple(option.strip() for option in row["options"].split("|")),
                row["text"],
                row["reading"].strip(),
                row["reason"],
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
