"""What answers cost, what a run has spent, and what it may still spend."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ..ledger.exchanges import TOKEN_LIMITS, Body
from ..ledger.usage import counted_tokens
from ..study.asking import Date
from ..study.study_yaml import Amount, Part, Share, Text, read_marked_yaml
from ..tables.files import PRICES

BYTES_PER_TOKEN = 4.0  # English prose; measured ratios of the run replace it as soon as there are answers
TOKENS_PER_MESSAGE = 4  # role and delimiters
PICTURE = 765  # tokens of an image of 1024 x 1024 in high detail, as OpenAI counts it for GPT-4o
LONGEST = 16384  # tokens of the longest answer of GPT-4o
TOKENS_PER_PART = {
    "image_url": PICTURE,
    "video_url": 4380,  # 15 seconds of Gemini: 3,900 for 15 frames, one per second, and the sound
    "input_audio": 480,  # 15 seconds at 32 per second
}
SOUND_PER_PART = {"video_url": 480, "input_audio": 480}  # of these, tokens of sound
THINKING_SETTINGS = ("thinkingConfig", "thinking")  # of Google and of Anthropic
THOUGHTS = 1000  # tokens that a model thinks per answer, where its settings turn thinking on
TOKENS_PER_ANSWER = {"token": 1, "choice": 1, "json": 30, "free": 200}


class Price(Part):
    """Price of a model for ``per`` tokens."""

    model: Text
    input: Amount
    output: Amount
    batch: Share = 1.0  # factor of the batch interface
    picture: Amount = PICTURE  # tokens that an image of 1024 x 1024 pixels counts for
    longest: Amount = LONGEST  # tokens of the longest answer that the model can give
    audio: Amount | None = None  # price of input that is sound, where it has one of its own
    thinking: Amount = 0  # tokens that the model thinks per answer where its settings say nothing of it
    as_of: Date

    def cost(
        self,
        prompt_tokens: float,
        completion_tokens: float,
        per: float,
        batch: bool = False,
        sound: float = 0.0,
    ) -> float:
        """Cost of tokens, in the currency of the table; ``sound`` of the prompt's are sound."""
        factor = self.batch if batch else 1.0
        more = 0.0 if self.audio is None else (self.audio - self.input) * min(sound, prompt_tokens)
        return factor * (self.input * prompt_tokens + more + self.output * completion_tokens) / per


class Prices(Part):
    """A table of prices."""

    currency: Text
    per: Annotated[Amount, Field(gt=0)]
    models: list[Price] = Field(min_length=1)

    def of(self, model: str) -> Price | None:
        """Find the price of a model by its exact name."""
        return next((price for price in self.models if price.model == model), None)


@dataclass(frozen=True)
class Tokens:
    """Tokens of one request and its answer, guessed; ``sound`` of the prompt's are sound."""

    prompt: float
    completion: float
    sound: float = 0.0


def read_prices(path: Path | None = None) -> Prices:
    """Read a table of prices, by default the one that ships; InputError with file, line and remedy."""
    marked = read_marked_yaml(path or PRICES)
    try:
        return Prices.model_validate(marked.content)
    except ValidationError as problems:
        first = problems.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "the table"
        raise marked.error(first["loc"], f"{place}: {first['msg']}; correct it.") from None


def guess_tokens(body: Body, answer: str, picture: float = PICTURE, thinking: float = 0.0) -> Tokens:
    """Guess the tokens of a request from the bytes of its text and its media (``picture`` per image)."""
    # `thinking` are the thoughts of an answer where the settings in the body say nothing of them.
    text, media, sound = text_and_media(body, picture)
    schema = body.get("response_format")
    text += len(json.dumps(schema)) if schema else 0
    prompt = text / BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * len(body["messages"]) + media
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if answer == "auto":
        answer = "json" if schema else "token" if body.get("logprobs") else "free"
    guess = TOKENS_PER_ANSWER[answer] + thinking_tokens(body, thinking)
    return Tokens(prompt, min(guess, limit) if isinstance(limit, int) else guess, sound)


def thinking_tokens(body: Body, thinking: float) -> float:
    """Guess the tokens that a model thinks per answer, at most those that its settings allow."""
    config, switch = (body.get(name) for name in THINKING_SETTINGS)
    if isinstance(config, dict) and isinstance(budget := config.get("thinkingBudget"), int):
        return THOUGHTS if budget < 0 else min(budget, THOUGHTS)
    if isinstance(switch, dict) and isinstance(budget := switch.get("budget_tokens"), int):
        return min(budget, THOUGHTS)
    return thinking


def text_and_media(body: Body, picture: float) -> tuple[int, float, float]:
    """Count the bytes of text in a request, the tokens that its media count for, and those of sound."""
    text, media, sound = 0, 0.0, 0.0
    each = {**TOKENS_PER_PART, "image_url": picture}
    for message in body["messages"]:
        content = message["content"]
        parts: list[Mapping[str, Any]] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        text += sum(len(part["text"].encode()) for part in parts if part["type"] == "text")
        media += sum(each.get(part["type"], 0) for part in parts)
        sound += sum(SOUND_PER_PART.get(part["type"], 0) for part in parts)
    return text, media, sound


PER_MESSAGE = 32  # tokens that a server puts around a message, at most
MEDIA = 2  # the most that a picture or clip counts for, as a multiple of what is guessed
FEW = 8  # requests in flight while answers came, but none has stated what it cost

Room = Literal["send", "wait", "stop"]


@dataclass(frozen=True)
class Budget:
    """Price of a judge, and the most that a run may cost."""

    price: Price | None = None
    # number of tokens that prices are for
    per: float = 1e6
    # whether the batch interface is used
    batch: bool = False
    max_cost: float | None = None
    # limit that is sent for an answer where the settings of the judge state none
    max_tokens: int | None = None
    # the least that this limit is raised to where it is sent
    shortest: int = 0

    def cost(self, prompt_tokens: float, completion_tokens: float, sound: float = 0.0) -> float | None:
        """Cost of tokens; None where the price is not known."""
        if self.price is None:
            return None
        return self.price.cost(prompt_tokens, completion_tokens, self.per, self.batch, sound)

    def most(self, body: Body, answer: Any = None) -> float:
        """Return the most that a request can cost beyond what its ``answer`` states; 0 without a price."""
        if self.price is None:
            return 0.0
        most = most_tokens(body, self.price, self.max_tokens)
        prompt, completion = stated_tokens(answer)
        longest = max(most.completion, self.shortest)
        unknown = most.prompt if prompt is None else 0, longest if completion is None else 0
        return self.cost(*unknown, most.sound) or 0.0


def most_tokens(body: Body, price: Price | None = None, max_tokens: int | None = None) -> Tokens:
    """Return the most tokens that a request and its answer can have: one per byte, media counted twice."""
    # `max_tokens` is the limit of an answer where the body states none, by default that of the model.
    text, media, sound = text_and_media(body, PICTURE if price is None else price.picture)
    settings = {name: value for name, value in body.items() if name != "messages"}
    prompt = text + len(json.dumps(settings).encode()) + PER_MESSAGE * len(body["messages"]) + MEDIA * media
    limits = [body.get(name) for name in TOKEN_LIMITS]
    token_limits = [limit for limit in limits if isinstance(limit, int)]
    default = (LONGEST if price is None else price.longest) if max_tokens is None else max_tokens
    longest = min(token_limits) if token_limits else default
    answers = body.get("n")
    return Tokens(prompt, longest * (answers if isinstance(answers, int) else 1), MEDIA * sound)


def stated_tokens(answer: Any) -> tuple[int | None, int | None]:
    """Return the tokens of prompt and completion that an answer states; None for what it does not."""
    if not isinstance(answer, dict):
        return None, None
    if "conjury" in answer:  # written by us for a request that the provider refused
        return 0, 0
    prompt, completion = counted_tokens(answer)
    return prompt or None, None if completion == 0 and _has_text(answer) else completion


def _has_text(answer: dict[str, Any]) -> bool:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return isinstance(message, dict) and bool(message.get("content"))


class Spending:
    """What was spent, and the most that requests in flight can add to it; its methods run in any thread."""

    # A request reserves the most that it can cost until its outcome is on disk; `excess` scales that by the
    # largest overrun seen. Few requests fly until answers state costs, and fewer near the limit.

    def __init__(
        self, budget: Budget, spent: float, unstated: float, expected: float, excess: float = 1.0
    ) -> None:
        self.excess = max(excess, 1.0)
        self.n_unstated = 0
        self._budget = budget
        self._stated, self._unstated = spent - unstated, unstated / self.excess
        self._expected = expected
        self._n_stated = self._n_answers = 0
        self._sum = 0.0
        self._n_costs, self._cheapest = 0, math.inf
        self._records: list[tuple[int, float]] = []  # each time that an answer was dearer than all before
        self._reserved: dict[str, float] = {}
        self._held = self._elsewhere = 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """Cost of all that was billed, as far as is known, else at the most."""
        return self._stated + self._unstated * self.excess

    @property
    def unstated(self) -> float:
        """The part of ``spent`` that is counted at the most."""
        return self._unstated * self.excess

    def hold(self, key: str, most: float) -> None:
        """Reserve the most that a request can cost which waits in a batch of an earlier run."""
        if self._budget.batch:
            self._reserve(key, most)
        else:
            self._elsewhere += most

    def admit(self, key: str, most: float) -> Room:
        """Reserve ``most`` for a request if it fits, or if it is alone and what is expected of it fits."""
        with self._lock:
            limit, alone = self._budget.max_cost, not self._reserved
            if limit is not None:
                remainder = limit - self.spent - self._elsewhere * self.excess
                fits = (
                    self._held + most
                ) * self.excess <= remainder and self._dearest_in_flight() <= remainder
                if self._budget.batch:
                    has_room = True
                else:
                    fits = fits or (alone and self._expected <= remainder)
                    has_room = len(self._reserved) <= self._most_in_flight()
                if not (fits and has_room):
                    return "stop" if alone else "wait"
            self._reserve(key, most)
            return "send"

    def settle(self, key: str, cost: float, most: float, n_most: int, answered: bool) -> None:
        """Count what a request cost."""
        with self._lock:
            reserved = self._reserved.pop(key, 0.0)
            self._held = self._held - reserved if self._reserved else 0.0
            self._stated += cost
            self._unstated += most
            self.n_unstated += n_most
            self._n_answers += answered
            if answered and not most and (cost or not reserved):
                self._n_stated += 1
                self._sum += cost
                self._expected = self._sum / self._n_stated
            if answered and cost > 0:
                self._n_costs += 1
                self._cheapest = min(self._cheapest, cost)
                if not self._records or cost > self._records[-1][1]:
                    self._records.append((self._n_costs, cost))
            if reserved:
                self.excess = max(self.excess, cost / reserved)

    def _most_in_flight(self) -> int:
        """Return how many requests may be in flight besides a new one, by the answers so far."""
        return self._n_stated // 2 if self._n_stated else min(self._n_answers, FEW - 1)

    def _dearest_in_flight(self) -> float:
        """Return what the requests in flight and one more cost if the dearest answer rises as before."""
        if not self._records:
            return 0.0
        n, dearest = len(self._reserved) + 1, self._records[-1][1]
        costs = [cost for number, cost in self._records if number <= self._n_costs - 2 * n]
        before = costs[-1] if costs else self._records[0][1]
        last = self._records[-2][1] if len(self._records) > 1 else dearest
        then = min(before, last)
        base = self._cheapest if then > self._cheapest else 0.0  # hides that what is added to it rises
        return n * (base + (dearest - base) ** 2 / (then - base))

    def _reserve(self, key: str, most: float) -> None:
        self._reserved[key] = most
        self._held += most
