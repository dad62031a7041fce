"""What the five answers of a probe show of a server's treatment of settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...backends.openai.failures import parse
from ...ledger.exchanges import TOKEN_LIMITS, Body, Outcome
from ...parsing import Answer, read_completion
from ...tables.safe_text import shortened

WORD = "PELICAN"
SYSTEM = f"Whatever the user writes, answer with the single word {WORD} in capital letters."
NUMBER = "Write one random whole number between 1 and 1,000,000 and nothing else."
SHORT, LONG = 16, 64  # limits of tokens of the answers
SEED, RIVALS = 7, 5
FLOWERS = ("tulip", "rose")
SCHEMA = {
    "type": "object",
    "properties": {"flower": {"type": "string", "enum": list(FLOWERS)}},
    "required": ["flower"],
    "additionalProperties": False,
}
NAMES = ("plain", "sampled", "repeated", "structured", "several")


LABELS = {
    "system": "System prompt",
    "limit": "Limit of tokens",
    "temperature": "Temperature",
    "seed": "Seed",
    "logprobs": "Log-probabilities",
    "structured": "Structured output",
    "several": "Several samples",
    "repeated": "Repeated request",
    "tokens": "Counts of tokens",
}


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """What a server does with one setting: kept, ignored, refused or unknown, and what shows it."""

    verdict: str
    detail: str
    # what the server takes in its place, such as the name of a setting
    instead: str | int | None = None


@dataclass(frozen=True, slots=True)
class ProbeExchange:
    """One request of a probe and how it ended."""

    body: Body
    outcome: Outcome

    @property
    def answer(self) -> Answer:
        """The answer, with an error where there is none."""
        return read_completion(self.content, self.outcome.error)

    @property
    def content(self) -> dict[str, Any] | None:
        """The JSON of the answer."""
        if self.outcome.body is None:
            return None
        content = parse(self.outcome.body)
        return content if isinstance(content, dict) else None

    @property
    def is_answered(self) -> bool:
        """Whether an answer came."""
        return self.outcome.body is not None and not self.answer.error

    def names(self, *settings: str) -> bool:
        """Whether a refusal names one of some settings."""
        error = self.outcome.error
        return not self.is_answered and any(
            re.search(rf"(?<!\w){name}s?(?!\w)", error, re.I) for name in settings
        )


def read_exchanges(exchanges: Mapping[str, ProbeExchange], refused: set[str]) -> dict[str, ProbeFinding]:
    """Say what the answers show of each setting; `refused` are settings that the server does not take."""
    instructed, sampled, repeated, structured, several = (exchanges[name] for name in NAMES)
    return {
        "system": _system(instructed),
        "limit": _limit(exchanges, refused),
        "temperature": _temperature(sampled, structured, refused),
        "seed": _seed(sampled, repeated, several, refused),
        "logprobs": _logprobs(sampled, repeated, refused),
        "structured": _structured(structured),
        "several": _several(several),
        "repeated": _repeated(sampled, repeated),
        "tokens": _tokens(exchanges.values()),
    }


def _refusal(exchange: ProbeExchange) -> ProbeFinding:
    verdict = "refused" if exchange.outcome.kind == "rejected" else "unknown"
    return ProbeFinding(verdict, shortened(exchange.outcome.error, 160))


def _system(instructed: ProbeExchange) -> ProbeFinding:
    if not instructed.is_answered:
        refusal = _refusal(instructed)
        return refusal if instructed.names("system", "role") else replace(refusal, verdict="unknown")
    text = instructed.answer.text
    if WORD in text.upper():
        return ProbeFinding("kept", "the answer follows the system prompt")
    if not text.strip():
        return ProbeFinding("unknown", _emptiness(instructed))
    return ProbeFinding("ignored", f"the answer does not follow it: {shortened(text, 60)!r}")


def _emptiness(exchange: ProbeExchange) -> str:
    """Say why an answer has no text."""
    if exchange.answer.reasoning.strip():
        return f"{LONG} tokens were used up by reasoning, before any text"
    return f"the answer has no text (ended by {exchange.answer.finish_reason or 'no reason'})"


def _limit(exchanges: Mapping[str, ProbeExchange], refused: set[str]) -> ProbeFinding:
    names = [name for name in TOKEN_LIMITS if name in refused]
    if len(names) == 1:
        name = next(name for name in TOKEN_LIMITS if name not in names)
        return ProbeFinding("refused", f"{names[0]} is refused, and {name} is taken", name)
    if names:
        return ProbeFinding("refused", "both names of the limit are refused")
    counts = [
        (
            exchange.answer.completion_tokens,
            next(exchange.body[name] for name in TOKEN_LIMITS if name in exchange.body),
        )
        for exchange in exchanges.values()
        if exchange.is_answered and exchange.answer.completion_tokens is not None and "n" not in exchange.body
    ]
    over = [(tokens, limit) for tokens, limit in counts if tokens > limit]
    if over:
        return ProbeFinding("ignored", f"an answer has {over[0][0]:,} tokens, with a limit of {over[0][1]:,}")
    if exchanges["plain"].is_answered and not exchanges["plain"].answer.text.strip():
        reasoned = exchanges["plain"].answer.reasoning.strip()
        return ProbeFinding("kept", _emptiness(exchanges["plain"]), LONG if reasoned else None)
    if not counts:
        return ProbeFinding("unknown", "no answer states its tokens")
    return ProbeFinding("kept", f"no answer has more tokens than its limit ({SHORT} and {LONG})")


def _temperature(sampled: ProbeExchange, structured: ProbeExchange, refused: set[str]) -> ProbeFinding:
    if "temperature" in refused:
        return ProbeFinding("refused", "only the server's own temperature is taken")
    values = [each.body["temperature"] for each in (sampled, structured) if each.is_answered]
    if not values:
        return ProbeFinding("unknown", "no request with a temperature was answered")
    return ProbeFinding("kept", f"accepted: {' and '.join(map(str, values))}")


def _seed(
    sampled: ProbeExchange, repeated: ProbeExchange, several: ProbeExchange, refused: set[str]
) -> ProbeFinding:
    if "seed" in refused:
        return ProbeFinding("refused", "requests with a seed are refused, or with log-probabilities")
    if not (sampled.is_answered and repeated.is_answered):
        return ProbeFinding("unknown", "one of two equal requests was not answered")
    first, second = sampled.answer.text, repeated.answer.text
    if not first.strip() and not second.strip():
        return ProbeFinding("unknown", "the answers have no text")
    if first != second:
        return ProbeFinding("ignored", f"two answers with one seed differ: {first[:20]!r}, {second[:20]!r}")
    texts = [_choice_text(choice) for choice in _choices(several)]
    if any(text != first for text in texts):
        return ProbeFinding("kept", "two answers with one seed are equal, one without it differs")
    return ProbeFinding("unknown", "all answers are equal, with a seed or without")


def _logprobs(sampled: ProbeExchange, repeated: ProbeExchange, refused: set[str]) -> ProbeFinding:
    if "logprobs" in refused:
        return ProbeFinding("refused", "requests for log-probabilities are refused")
    answers = [each.answer for each in (sampled, repeated) if each.is_answered]
    if not answers:
        return ProbeFinding("unknown", "no request for log-probabilities was answered")
    tokens = next((answer.tokens for answer in answers if answer.tokens), ())
    if not tokens:
        return ProbeFinding("ignored", "none came, although they were asked for")
    tops = [token.get("top_logprobs") if isinstance(token, Mapping) else None for token in tokens]
    rivals = max((len(top) for top in tops if isinstance(top, list)), default=0)
    if rivals < 2:
        return ProbeFinding("partly", "of the chosen token only, which gives bounds of probabilities")
    body = next(each.body for each in (sampled, repeated) if each.answer.tokens)
    most = body.get("top_logprobs") or body["logprobs"]
    words = f"{rivals} of {most} rivals are listed with each token"
    return ProbeFinding("kept", words, most)


def _structured(structured: ProbeExchange) -> ProbeFinding:
    if not structured.is_answered:
        return _refusal(structured)
    text = structured.answer.text.strip()
    if not text:
        return ProbeFinding("unknown", _emptiness(structured))
    try:
        value = json.loads(text)
    except ValueError:
        return ProbeFinding("ignored", f"the answer is no JSON of the schema: {shortened(text, 60)!r}")
    if isinstance(value, dict) and value.get("flower") in FLOWERS and len(value) == 1:
        return ProbeFinding("kept", "the answer is JSON of the schema, although the prompt asks for prose")
    return ProbeFinding("ignored", f"the answer is JSON, but not of the schema: {shortened(text, 60)!r}")


def _several(several: ProbeExchange) -> ProbeFinding:
    if not several.is_answered:
        return _refusal(several)
    n = len(_choices(several))
    if n >= 2:
        return ProbeFinding("kept", f"{n} answers to one request; a run sends one request for each sample")
    return ProbeFinding("ignored", "one answer came where two were asked for; a run does not need them")


def _repeated(sampled: ProbeExchange, repeated: ProbeExchange) -> ProbeFinding:
    first, second = sampled.content or {}, repeated.content or {}
    if not first or not second:
        return ProbeFinding("unknown", "one of two equal requests was not answered")
    if first.get("id") and first == second:
        return ProbeFinding("cached", "the same answer came again: repeats show nothing of the model's noise")
    prints = {content.get("system_fingerprint") for content in (first, second)} - {None}
    version = f"; version {next(iter(prints))}" if len(prints) == 1 else ""
    return ProbeFinding("kept", f"answered anew{version}")


def _tokens(exchanges: Iterable[ProbeExchange]) -> ProbeFinding:
    answers = [exchange.answer for exchange in exchanges if exchange.is_answered]
    n_stated = sum(None not in (answer.prompt_tokens, answer.completion_tokens) for answer in answers)
    if n_stated == len(answers):
        return ProbeFinding("kept", "each answer states its tokens")
    return ProbeFinding("partly", f"{n_stated} of {len(answers)} answers state tokens; costs are bounds")


def _choices(exchange: ProbeExchange) -> Sequence[Any]:
    choices = (exchange.content or {}).get("choices")
    return choices if isinstance(choices, list) else ()


def _choice_text(choice: Any) -> str:
    return read_completion({"choices": [choice]}).text
