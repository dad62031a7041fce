"""What answers cost: a dated table of prices, and tokens counted or guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from ..ledger.exchanges import Body
from ..study.asking import Date
from ..study.base import Amount, Part, Share, Text, read_marked_yaml
from ..tables.files import PRICES

BYTES_PER_TOKEN = 4.0  # English prose; measured ratios of the run replace it as soon as there are answers
TOKENS_PER_MESSAGE = 4
PICTURE = 765  # tokens of an image of 1024 x 1024 in high detail, as OpenAI counts it for GPT-4o
LONGEST = 16384  # tokens of the longest answer of GPT-4o
TOKENS_PER_PART = {
    "image_url": PICTURE,
    "video_url": 3900,  # 15 seconds, as Google counts them for Gemini: 258 a frame, one frame a second
    "input_audio": 480,  # 15 seconds at 32 a second
}
TOKENS_PER_ANSWER = {"token": 1, "choice": 1, "json": 30, "free": 200}


class Price(Part):
    """Price of a model for ``per`` tokens; ``batch`` is the factor of the batch interface.

    ``picture`` is the number of tokens that an image of 1024 x 1024 pixels counts for, ``longest`` that of
    the longest answer that the model can give.
    """

    model: Text
    input: Amount
    output: Amount
    batch: Share = 1.0
    picture: Amount = PICTURE
    longest: Amount = LONGEST
    as_of: Date

    def cost(self, prompt_tokens: float, completion_tokens: float, per: float, batch: bool = False) -> float:
        """Cost of tokens, in the currency of the table."""
        factor = self.batch if batch else 1.0
        return factor * (self.input * prompt_tokens + self.output * completion_tokens) / per


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
    """Tokens of one request and its answer, guessed."""

    prompt: float
    completion: float


def read_prices(path: Path | None = None) -> Prices:
    """Read a table of prices, by default the one that ships; InputError with file, line and remedy."""
    marked = read_marked_yaml(path or PRICES)
    try:
        return Prices.model_validate(marked.content)
    except ValidationError as problems:
        first = problems.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "the table"
        raise marked.error(first["loc"], f"{place}: {first['msg']}; correct it.") from None


def guess_tokens(body: Body, answer: str, picture: float = PICTURE) -> Tokens:
    """Guess the tokens of a request from the bytes of its text and from its media.

    ``picture`` is the number of tokens of an image, whatever its size.
    """
    text, media = text_and_media(body, picture)
    schema = body.get("response_format")
    text += len(json.dumps(schema)) if schema else 0
    prompt = text / BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * len(body["messages"]) + media
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if answer == "auto":
        answer = "json" if schema else "token" if body.get("logprobs") else "free"
    guess = TOKENS_PER_ANSWER[answer]
    return Tokens(prompt, min(guess, limit) if isinstance(limit, int) else guess)


def text_and_media(body: Body, picture: float) -> tuple[int, float]:
    """Count the bytes of text in the messages of a request, and the tokens that its media count for."""
    text, media = 0, 0.0
    each = {**TOKENS_PER_PART, "image_url": picture}
    for message in body["messages"]:
        content = message["content"]
        parts: list[Mapping[str, Any]] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        text += sum(len(part["text"].encode()) for part in parts if part["type"] == "text")
        media += sum(each.get(part["type"], 0) for part in parts)
    return text, media
