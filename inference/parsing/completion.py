"""The JSON of one chat completion, reduced to what readers of answers need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tables.limits import whole_text

THOUGHT_END = "</think>"
THOUGHT_START = "<think>"


@dataclass(frozen=True, slots=True)
class Answer:
    """One model's answer.

    Attributes
    ----------
    text : str
        Content of the message without reasoning that stands before it in ``<think>`` tags.
    refusal : str
        The provider's own field for a refusal.
    finish_reason : str
    filtered : bool
        Whether the provider's content filter ended the answer.
    tokens : sequence of mapping
        Log-probabilities of the content's tokens, as received.
    model : str
        As the provider returned it.
    prompt_tokens, completion_tokens : int or None
    error : str
        Why there is no answer; empty where there is one.
    """

    text: str = ""
    refusal: str = ""
    finish_reason: str = ""
    filtered: bool = False
    tokens: Sequence[Mapping[str, Any]] = ()
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str = ""


def read_completion(body: dict[str, Any] | None, error: str = "") -> Answer:
    """Read one chat completion in OpenAI's form; nothing that a body holds makes this raise.

    Parameters
    ----------
    body : dict or None
        The parsed JSON; None where no answer came.
    error : str
        What went wrong where ``body`` is None.

    Examples
    --------
    >>> body = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}
    >>> read_completion(body).text
    'B'
    """
    if body is None:
        return Answer(error=error or "no answer came")
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list):
        return Answer(error="the answer is not a chat completion")
    usage = _mapping(body.get("usage"))
    choice = _mapping(choices[0]) if choices else {}
    message = _mapping(choice.get("message"))
    reason = _string(choice.get("finish_reason"))
    tokens = _mapping(choice.get("logprobs")).get("content")
    return Answer(
        text=without_thought(_content(message.get("content"))),
        refusal=_string(message.get("refusal")),
        finish_reason=reason,
        filtered=reason == "content_filter",
        tokens=tokens if isinstance(tokens, list) else (),
        model=_string(body.get("model")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def without_thought(text: str) -> str:
    """Drop the reasoning before the last ``</think>``; reasoning that never ends leaves no text."""
    _, end, rest = text.rpartition(THOUGHT_END)
    if end:
        return rest
    return "" if text.lstrip().startswith(THOUGHT_START) else text


def _content(content: object) -> str:
    if isinstance(content, list):
        return "".join(_string(_mapping(part).get("text")) for part in content)
    return _string(content)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return whole_text(value) if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
