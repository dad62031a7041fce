"""Tokens that an answer states, in the forms in which providers state them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 2**53  # tokens beyond which a statement is none

# Names of tokens in, out and in all: of chat completions, of Responses and Messages, and of Gemini.
CHAT = ("prompt_tokens", "completion_tokens", "total_tokens")
MESSAGES = ("input_tokens", "output_tokens", "total_tokens")
GEMINI = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
FORMS = (CHAT, MESSAGES, GEMINI)
ELSEWHERE: Mapping[tuple[str, str, str], tuple[str, ...]] = {  # tokens in that the first name leaves out
    CHAT: (),
    MESSAGES: ("cache_creation_input_tokens", "cache_read_input_tokens"),
    GEMINI: ("toolUsePromptTokenCount",),
}
DETAILS = ("completion_tokens_details", "output_tokens_details")
THOUGHTS = ("reasoning_tokens", "thoughtsTokenCount")


def counted_tokens(answer: Any) -> tuple[int | None, int | None]:
    """Return the tokens of prompt and completion, thoughts included; None for what is not stated."""
    # Some servers count thoughts in the total alone, or name them and count them in neither: the completion
    # is all of the total that is not prompt, and at least the thoughts that are named.
    usage = _usage(answer)
    names = next((form for form in FORMS if form[0] in usage or form[1] in usage), CHAT)
    prompt, completion, total = (count(usage.get(name)) for name in names)
    if prompt is not None:
        prompt += sum(count(usage.get(name)) or 0 for name in ELSEWHERE[names])
    if names == GEMINI:  # which leaves out zeros, and counts thoughts apart
        return prompt, max((completion or 0) + _thoughts(usage), (total or 0) - (prompt or 0))
    if prompt is not None and total is not None and (completion is not None or names[1] not in usage):
        completion = max(completion or 0, total - prompt) or completion
    thoughts = _thoughts(usage)
    if completion is not None and thoughts > completion:
        completion += thoughts
    return prompt, completion


def counted_sound(answer: Any) -> int:
    """Return the tokens of sound in the prompt that an answer states."""
    details = _usage(answer).get("prompt_tokens_details")
    return (count(details.get("audio_tokens")) or 0) if isinstance(details, dict) else 0


def count(value: Any) -> int | None:
    """Return a number of tokens, None where it cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None


def _usage(answer: Any) -> Mapping[str, Any]:
    usages = [answer.get(name) for name in ("usage", "usageMetadata")] if isinstance(answer, dict) else []
    return next((usage for usage in usages if isinstance(usage, dict)), {})


def _thoughts(usage: Mapping[str, Any]) -> int:
    """Return the tokens of thoughts that are named."""
    parts = [usage, *(usage[name] for name in DETAILS if isinstance(usage.get(name), dict))]
    return max(count(part.get(name)) or 0 for part in parts for name in THOUGHTS)
