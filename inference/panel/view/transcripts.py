"""One transcript: what was shown and sent, the raw answer, how each rule reads it, other judges' answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd

from ...errors import InputError
from ...ledger.exchanges import MEDIA, Body
from ...parsing import Answer, read_completion, rules
from ...parsing.answer_rules import AnswerReader, explain
from ...study.asking import Label, LineLabels
from ...tables.limits import parse_json, whole_text
from ...tables.schema import POSITIONS
from ..displayed_fields import SubjectDisplay
from .filters import Collection
from .task_contents import KEPT, Contents, TaskContent

LONGEST = 100_000  # characters of a text that are shown
LONG_TEXT, EXCERPT = 40, 70  # characters of a text that stands for what was judged, and of its beginning
MOST_PEOPLE = 40  # people who are listed one by one
SHA256 = re.compile(r"[0-9a-f]{64}")
PICTURED = re.compile(r"(?:Image|Video)(?: ([AB]))?(?:,|$)")  # the words before a picture in a request
FACTS = {  # columns of responses, and what they are called
    "model_returned": "Model that answered",
    "finish_reason": "Finish reason",
    "error": "Error",
    "error_kind": "Kind of error",
    "refusal": "Refusal stated by the provider",
    "prompt_tokens": "Tokens in",
    "completion_tokens": "Tokens out",
    "cost": "Cost",
    "latency": "Seconds",
    "seconds": "Seconds",
    "focus_lost": "Times the page lost the focus",
    "attempts": "Attempts",
    "round": "Round",
    "batch": "Batch",
    "state": "State of the person",
    "origin": "Origin",
    "occasion": "Occasion",
    "option_order": "Order of options",
    "option_labels": "Names of options",
    "scale_direction": "Direction of scales",
    "created": "Recorded",
}


@dataclass(frozen=True)
class MessagePart:
    """A piece of a message: a text, or a medium by its name on a page."""

    kind: str  # text, image, video, audio or absent
    text: str = ""
    name: str = ""


@dataclass(frozen=True)
class Message:
    """One message of a request."""

    role: str
    parts: tuple[MessagePart, ...]


@dataclass(frozen=True)
class RuleReading:
    """What one parsing rule reads in the answer, for one dimension; ``stored`` if the tables have it so."""

    rule: str
    sentence: str
    dimension: str
    value: str
    status: str
    note: str
    stored: bool


@dataclass(frozen=True)
class AnswerRow:
    """An answer as a row of a list."""

    number: int
    judge: str
    kind: str
    prompt: str
    task: str
    excerpt: str  # the beginning of what was judged
    sample: int
    value: str
    status: str
    text: str
    marks: tuple[str, ...]


@dataclass(frozen=True)
class ValueTally:
    """How many people gave a value, and their share."""

    dimension: str
    value: str
    n: int
    of: int


@dataclass(frozen=True)
class Transcript:
    """Everything about one answer, as a page shows it."""

    row: AnswerRow
    content: TaskContent
    chosen: tuple[str, ...]  # positions that were chosen
    text: str
    facts: tuple[tuple[str, str], ...]
    judgments: tuple[dict[str, str], ...]
    readings: tuple[RuleReading, ...]
    messages: tuple[Message, ...]
    settings: tuple[tuple[str, str], ...]
    earlier: tuple[str, ...]
    people: tuple[ValueTally, ...]
    others: tuple[AnswerRow, ...]
    unlisted: int  # people who are counted and not listed
    checks: tuple[tuple[str, str, str], ...]  # code, title, finding
    note: str = ""


class Transcripts:
    """Transcripts of a collection by the number of the answer."""

    def __init__(self, collection: Collection) -> None:
        self.collection, study = collection, collection.study
        self.contents = Contents(collection.sources)
        self._judges = {} if study is None else study.judge_labels
        self._prompts = {} if study is None else study.prompt_labels
        self._words: dict[str, str] = {}
        for response in [] if study is None else study.responses:
            if isinstance(response, Label | LineLabels):
                self._words |= {label.id: label.label for label in response.labels}
        self._readers: dict[str, AnswerReader] = {}
        self.listed = lru_cache(maxsize=KEPT)(self._listed)

    def _listed(self, number: int) -> AnswerRow:
        """One answer as a row of a list."""
        answers = self.collection.answers
        row, judged = answers.frame.iloc[number], answers.judgments(number)
        value, status = self._value(judged)
        marks = tuple(name for name, mask in self.collection.marks.items() if mask[number])
        judge, prompt = str(row["judge_id"]), str(row["prompt_id"])
        return AnswerRow(
            number,
            self._judges.get(judge, judge),
            str(row["judge_kind"]),
            self._prompts.get(prompt, prompt),
            whole_text(str(row["task"])),
            _beginning(self.contents.of(int(row["run"]), str(row["subject"]))),
            int(row["sample"]),
            value,
            status,
            _one_line(row.get("text")),
            marks,
        )

    def _value(self, judged: pd.DataFrame) -> tuple[str, str]:
        """The values of an answer in words, and its status: the first that is not ok."""
        if judged.empty:
            return "", ""
        first = judged[~judged["dimension"].duplicated().to_numpy()]
        alone = len(first) == 1
        values = [
            self._word(value) if alone else f"{dimension} {self._word(value)}"
            for dimension, value in zip(first["dimension"], first["value"], strict=True)
            if not pd.isna(value)
        ]
        statuses = [str(status) for status in judged["status"] if status != "ok"]
        return "; ".join(values)[:200], statuses[0] if statuses else "ok"

    def _word(self, value: Any) -> str:
        return self._words.get(str(value), whole_text(str(value)))

    def of(self, number: int) -> Transcript:
        """Everything about one answer."""
        answers, collection = self.collection.answers, self.collection
        row = answers.frame.iloc[number]
        judged = answers.judgments(number)
        run = int(row["run"])
        content = self.contents.of(run, str(row["subject"]))
        body, note = self._body(run, str(row["key"]))
        messages = tuple(_messages(body, run)) if body is not None else ()
        answer, text, earlier = self._answer(run, row)
        people, other_answers, unlisted = self._others(number, str(row["task"]))
        return Transcript(
            self.listed(number),
            _with_pictures(content, messages),
            _chosen_positions(judged, collection),
            _shorten_text(text),
            _facts(row),
            tuple(self._judgments(judged)),
            tuple(self._readings(row, content, answer, judged)) if row["judge_kind"] == "model" else (),
            messages,
            tuple(_settings(body)) if body is not None else (),
            earlier,
            people,
            other_answers,
            unlisted,
            tuple(
                (result.code, result.title, result.finding)
                for result, mask in zip(collection.fired, collection.evidence, strict=True)
                if mask[number]
            ),
            note,
        )

    def _body(self, run: int, key: str) -> tuple[Body | None, str]:
        ledger = self.collection.sources.runs[run].ledger
        if ledger is None:
            return None, ""
        try:
            return (ledger.request_body(key), "") if ledger.knows(key) else (None, "")
        except InputError as error:
            return None, str(error)

    def _answer(self, run: int, row: pd.Series[Any]) -> tuple[Answer, str, tuple[str, ...]]:
        """The answer that counts, its text as it was received, and earlier answers to the same request."""
        text, ledger = _text(row, "text"), self.collection.sources.runs[run].ledger
        refusal, reason = _text(row, "refusal"), _text(row, "finish_reason")
        stored_answer = Answer(text, refusal, reason, error="" if text else _text(row, "error"))
        key = str(row["key"])
        try:
            if ledger is None or not ledger.knows(key):
                return stored_answer, text, ()
            received = [parse_json(body.decode("utf-8")) for body in ledger.answer_bodies(key)]
        except (InputError, ValueError):
            return stored_answer, text, ()
        read = [read_completion(body) for body in received]
        if not read:
            return stored_answer, text, ()
        at = next((n for n in reversed(range(len(read))) if read[n].text == text), len(read) - 1)
        texts = [
            _text_with_reasoning(body, completion) for body, completion in zip(received, read, strict=True)
        ]
        return (
            read[at],
            texts[at],
            tuple(_shorten_text(earlier_text) for n, earlier_text in enumerate(texts) if n != at),
        )

    def _judgments(self, judged: pd.DataFrame) -> Iterator[dict[str, str]]:
        """Judgments as the tables have them."""
        for record in judged.to_dict("records"):
            words = {str(name): "" if pd.isna(value) else str(value) for name, value in record.items()}
            words["value"] = self._word(words["value"]) if words["value"] else ""
            for name in ("probability", "outside", "expected"):
                words[name] = "" if pd.isna(record[name]) else f"{record[name]:.3f}"
            yield words

    def _readings(
        self, row: pd.Series[Any], content: TaskContent, answer: Answer, judged: pd.DataFrame
    ) -> Iterator[RuleReading]:
        """What each rule for this form of answer reads, whichever rule wrote the tables."""
        study, prompt = self.collection.study, str(row["prompt_id"])
        if study is None:
            return
        stored = set(judged["rule"].dropna())
        arrangement = _arrangement(row)
        for rule in rules(study.response_of(prompt).form):
            if rule not in self._readers:
                self._readers[rule] = AnswerReader(study, rule, self.contents.lines)
            _, read = self._readers[rule].parse(
                prompt, str(row["subject"]), answer, content.texts, arrangement
            )
            for dimension, reading in read:
                yield RuleReading(
                    rule,
                    explain(rule),
                    dimension,
                    "" if reading.value is None else self._word(reading.value)[:500],
                    reading.status,
                    whole_text(reading.note)[:500],
                    rule in stored,
                )

    def _others(self, number: int, task: str) -> tuple[tuple[ValueTally, ...], tuple[AnswerRow, ...], int]:
        """Counts of people's answers to a task, and other answers to it, those of models first."""
        answers = self.collection.answers
        task_answers = answers.by_task[task]
        human = [int(index) for index in task_answers if answers.frame["judge_kind"].iat[index] == "human"]
        models = [int(index) for index in task_answers if answers.frame["judge_kind"].iat[index] != "human"]
        counts: dict[str, Counter[str]] = {}
        for index in human:
            judged = answers.judgments(index)
            for dimension, value in zip(judged["dimension"], judged["value"], strict=True):
                if not pd.isna(value):
                    counts.setdefault(str(dimension), Counter())[str(value)] += 1
        tallies = tuple(
            ValueTally(dimension, self._word(value), n, counter.total())
            for dimension, counter in counts.items()
            for value, n in sorted(counter.items())
        )
        people = [index for index in human if index != number]
        indices = [*(index for index in models if index != number), *people[:MOST_PEOPLE]]
        unlisted = max(len(people) - MOST_PEOPLE, 0)
        return tallies, tuple(self.listed(index) for index in indices), unlisted


def _text_with_reasoning(body: Any, read: Answer) -> str:
    """Text of an answer with the reasoning before it, which parsing rules do not see."""
    try:
        message = body["choices"][0]["message"]
    except (LookupError, TypeError):
        return read.text
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str) and content.strip():
        return content
    return "\n\n".join(filter(None, (read.reasoning, read.text)))


def _chosen_positions(judged: pd.DataFrame, collection: Collection) -> tuple[str, ...]:
    """Positions that an answer chose."""
    options: Sequence[str] = getattr(getattr(collection.study, "response", None), "options", POSITIONS)
    choices = judged["value"][(judged["dimension"] == "choice").to_numpy(dtype=bool, na_value=False)]
    return tuple(
        position for position, option in zip(POSITIONS, options, strict=True) if option in set(choices)
    )


def _facts(row: pd.Series[Any]) -> tuple[tuple[str, str], ...]:
    facts: dict[str, str] = {}
    for name, label in FACTS.items():
        value = row.get(name)
        if value is None or pd.isna(value) or value == "":
            continue
        if isinstance(value, pd.Timestamp):
            value = value.strftime("%Y-%m-%d %H:%M:%S UTC")
        elif isinstance(value, float):
            value = f"{value:,.4g}"
        facts[label] = whole_text(str(value))[:2000]
    return tuple(facts.items())


def _settings(body: Body) -> Iterator[tuple[str, str]]:
    for name, value in body.items():
        if name != "messages":
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:2000]


def _messages(body: Body, run: int) -> Iterator[Message]:
    for message in body.get("messages") or []:
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        yield Message(str(message.get("role", "")), tuple(_part(part, run) for part in parts))


def _part(part: Mapping[str, Any], run: int) -> MessagePart:
    """One part of a message; of an address, only its text is shown, since nothing is fetched."""
    kind = str(part.get("type", ""))
    if kind == "text":
        return MessagePart("text", _shorten_text(str(part.get("text", ""))))
    named = part.get(kind)
    place = str(named.get("url") or named.get("data") or "") if isinstance(named, dict) else ""
    sha256 = place.removeprefix(MEDIA)
    if place.startswith(MEDIA) and SHA256.fullmatch(sha256):
        shape = {"image_url": "image", "video_url": "video", "input_audio": "audio"}.get(kind, "absent")
        return MessagePart(shape, "", f"{run}-{sha256}")
    return MessagePart("absent", _shorten_text(f"{kind}: {place}" if place else kind))


def _with_pictures(content: TaskContent, messages: Sequence[Message]) -> TaskContent:
    """Put the pictures that a request contains in the place of fields, as the judge saw them."""
    parts = [part for message in messages for part in message.parts]
    pictures: dict[str, list[MessagePart]] = {}
    position = None
    for part in parts:
        if part.kind == "text":
            match = PICTURED.match(part.text)
            position = None if match is None else match[1] or ""
        elif part.kind in ("image", "video") and position is not None:
            pictures.setdefault(position, []).append(part)
    displays = []
    for place, display in enumerate(content.shown):
        side_pictures = pictures.get(POSITIONS[place] if len(content.shown) == len(POSITIONS) else "", [])
        if display.media_name is None and len(side_pictures) == 1:
            alt = "; ".join(f"{name}: {value}" for name, value in display.fields)
            display = SubjectDisplay((), side_pictures[0].name, side_pictures[0].kind, alt)
        displays.append(display)
    return replace(content, shown=tuple(displays))


def _arrangement(row: pd.Series[Any]) -> dict[str, Any]:
    text = _text(row, "arrangement")
    try:
        arrangement = parse_json(text) if text else {}
    except ValueError:
        return {}
    return arrangement if isinstance(arrangement, dict) else {}


def _text(row: pd.Series[Any], name: str) -> str:
    value = row.get(name)
    return "" if value is None or pd.isna(value) else str(value)


def _shorten_text(text: str) -> str:
    text = whole_text(text)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[{len(text) - LONGEST:,} more characters are not shown]"


def _beginning(content: TaskContent) -> str:
    """The beginning of each text that was judged, or of the values of a profile without one."""
    parts = []
    for display in content.shown:
        texts = [" ".join(whole_text(text).split()) for _, text in display.fields]
        longest = max(texts, key=len, default=display.alt)
        text = longest if len(longest) >= LONG_TEXT else ", ".join(texts) or display.alt
        parts.append(text if len(text) <= EXCERPT else f"{text[: EXCERPT - 3]}...")
    return " | ".join(filter(None, parts))


def _one_line(text: Any) -> str:
    if text is None or pd.isna(text):
        return ""
    line = " ".join(whole_text(str(text)[:400]).split())
    return line if len(line) <= 120 else f"{line[:117]}..."
