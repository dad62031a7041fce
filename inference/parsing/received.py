"""What a server sent as a chat completion, in every form in which servers send one: text, end, tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..ledger.usage import counted_tokens
from ..tables.limits import whole_text
from .finish_reasons import FAILED, FILTERED, STOP, usual_reason
from .reasoning import Marks, without_reasoning
from .spec import Answer

REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
DEEPEST = 20  # lists and objects inside of each other in which reasoning is looked for
THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "thought", "reasoning_text", "summary_text")


def read_completion(body: dict[str, Any] | None, error: str = "", marks: Sequence[Marks] = ()) -> Answer:
    """Read one chat completion in OpenAI's form; nothing that a body contains makes this raise.

    Parameters
    ----------
    body : dict or None
        The parsed JSON; None where no answer came.
    error : str
        What went wrong where ``body`` is None.
    marks : sequence of (str, str)
        What opens and closes reasoning in answers of a study, besides the marks that are known.

    Returns
    -------
    Answer
        The answer; ``error`` states why where there is none.

    Examples
    --------
    >>> body = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}
    >>> read_completion(body).text
    'B'
    >>> read_completion({"error": {"code": 429, "message": "Slow down."}}).error
    'Slow down.'
    """
    if body is None:
        return Answer(error=error or "no answer came")
    fault = fault_of(body)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list):
        return Answer(error=fault)
    prompt_tokens, completion_tokens = counted_tokens(body)
    choice = _mapping(choices[0]) if choices else {}
    message = _mapping(choice.get("message"))
    reason = end_of(body)
    text = without_reasoning(_text(message.get("content")), marks)
    return Answer(
        text=text,
        refusal=_string(message.get("refusal")) or _refusal(message.get("content")),
        finish_reason=reason,
        tokens=_tokens(choice, body),
        model=_string(body.get("model")),
        fingerprint=_string(body.get("system_fingerprint")),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        error=fault,
        reasoning=_reasoning(message),
    )


def fault_of(body: Any) -> str:
    """State why a body is no answer, though it came with a status of success; empty if it is one."""
    if not isinstance(body, dict):
        return "the answer is not a chat completion"
    choices = body.get("choices")
    error = error_in(body)
    if error is not None:
        return message_of(error) or "the server states an error without a message"
    if not isinstance(choices, list):
        return "the answer is not a chat completion"
    if not choices:
        return "the answer has no choices"
    message = _mapping(choices[0]).get("message")
    reason = end_of(body)
    if not isinstance(message, dict) and usual_reason(reason) != FILTERED:
        return "the answer's choice has no message"
    if usual_reason(reason) == FAILED:
        return f"the answer ended by '{reason[:40]}'"
    return ""


def error_in(body: Mapping[str, Any]) -> Any:
    """Return the error that a body states in whatever place; None where it states none."""
    choices = body.get("choices")
    first = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    for place in (first, _mapping(first.get("message")), body):
        if place.get("error"):
            return place["error"]
    if choices:
        return None
    errors = body.get("errors")
    if isinstance(errors, list) and errors:
        return errors[0]
    status = _mapping(body.get("base_resp"))  # of MiniMax
    if status.get("status_code"):
        return {"code": status["status_code"], "message": status.get("status_msg")}
    if (
        body.get("object") == "error"
        or body.get("type") == "error"
        or {"error_code", "error_msg"} & set(body)
    ):
        return {
            **body,
            "code": body.get("code") or body.get("error_code"),
            "message": body.get("message") or body.get("error_msg"),
        }
    if "message" in body and "code" in body:  # of DashScope
        return dict(body)
    return body.get("detail") or None  # of FastAPI


def message_of(error: Any) -> str:
    """Return the message of an error, which may be a text, an object or a list of objects."""
    while isinstance(error, list | dict) and error:
        if isinstance(error, list):
            error = error[0]
            continue
        names = ("message", "detail", "msg", "error_msg", "error")
        error = next((error[name] for name in names if error.get(name)), None)
    return " ".join(str(error).split()) if error else ""


def end_of(body: Mapping[str, Any]) -> str:
    """Return the word for the end of an answer; that of the model behind a gateway where it says more."""
    choices = body.get("choices")
    choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    beside = _mapping(choice.get("provider_specific_fields"))  # of LiteLLM
    reason, native = (
        _word(choice.get(name) or beside.get(name)) for name in ("finish_reason", "native_finish_reason")
    )
    is_empty = not _mapping(choice.get("message")).get("content")
    is_filtered = usual_reason(reason) == STOP and usual_reason(native) == FILTERED and is_empty
    return native if native and (not reason or is_filtered) else reason


def _word(reason: Any) -> str:
    """Return a reason that is a text, or the type of an object (SGLang)."""
    return _string(reason.get("type")) if isinstance(reason, dict) else _string(reason)


def _text(content: Any) -> str:
    """Return the text of a message: of all parts that are text, or a JSON answer that came as an object."""
    if isinstance(content, list):
        return "".join(_part(part) for part in content)
    if isinstance(content, dict):
        return _part(content) if {"type", "text"} & set(content) else json.dumps(content, ensure_ascii=False)
    if isinstance(content, int | float):
        return json.dumps(content)
    return _string(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return _string(part)
    fields = _mapping(part)
    if fields.get("type") in THOUGHTS or fields.get("thought") is True:
        return ""
    text = fields.get("text", fields.get("output_text"))
    return _string(text.get("value") if isinstance(text, dict) else text)


def _refusal(content: Any) -> str:
    parts = map(_mapping, content) if isinstance(content, list) else ()
    return "".join(_string(part.get("refusal")) for part in parts)


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the text of a model's reasoning that is apart from its answer."""
    for name in REASONING:
        text = _thought(message.get(name))
        if text.strip():
            return text
    content = message.get("content")
    parts = [_mapping(part) for part in content] if isinstance(content, list) else []
    return "".join(_thought(part) for part in parts if part.get("type") in THOUGHTS)


def _thought(value: Any, depth: int = 0) -> str:
    if depth > DEEPEST:
        return ""
    if isinstance(value, list):
        return "".join(_thought(part, depth + 1) for part in value)
    if isinstance(value, dict):
        names = ("text", "thinking", "summary", "content", "reasoning")
        return next((_thought(value[name], depth + 1) for name in names if value.get(name)), "")
    return _string(value)


def _tokens(choice: Mapping[str, Any], body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the tokens of a choice with their log-probabilities, in the form of chat completions."""
    beside = _mapping(choice.get("message")).get("logprobs")
    logprobs = choice.get("logprobs") or beside or body.get("completion_probabilities")  # of llama.cpp
    fields = _mapping(logprobs)
    tokens = logprobs if isinstance(logprobs, list) else fields.get("content")
    if not isinstance(tokens, list):
        return _old_tokens(fields)
    if any(isinstance(token, dict) and _is_unusual(token) for token in tokens):
        return [_usual_token(token) if isinstance(token, dict) else {} for token in tokens]
    return tokens


def _is_unusual(token: Mapping[str, Any]) -> bool:
    return isinstance(token.get("top_logprobs"), dict) or "probs" in token


def _usual_token(token: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a token whose rivals came by name, or with probabilities (earlier versions of llama.cpp)."""
    top, probs = token.get("top_logprobs"), token.get("probs")
    if isinstance(top, dict):
        return {**token, "top_logprobs": [{"token": name, "logprob": value} for name, value in top.items()]}
    rivals = [
        {"token": each.get("tok_str"), "logprob": _log(each.get("prob"))}
        for each in (probs if isinstance(probs, list) else ())
        if isinstance(each, dict)
    ]
    name = token.get("content", token.get("token"))
    chosen = next((rival["logprob"] for rival in rivals if rival["token"] == name), None)
    return {"token": name, "logprob": chosen, "top_logprobs": rivals}


def _log(probability: Any) -> float | None:
    is_positive = isinstance(probability, int | float) and probability > 0
    return math.log(probability) if is_positive else None


def _old_tokens(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Read the form of the old completions: lists of tokens, of their log-probabilities, and of rivals."""
    tokens, values, tops = (fields.get(name) for name in ("tokens", "token_logprobs", "top_logprobs"))
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return []
    rivals = tops if isinstance(tops, list) and len(tops) == len(tokens) else [None] * len(tokens)
    entries: list[Mapping[str, Any]] = []
    for token, value, top in zip(tokens, values, rivals, strict=True):
        if isinstance(top, dict):
            top = [{"token": name, "logprob": number} for name, number in top.items()]
        entries.append(
            {"token": token, "logprob": value, "top_logprobs": top if isinstance(top, list) else []}
        )
    return entries


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return whole_text(value) if isinstance(value, str) else ""
