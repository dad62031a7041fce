"""Requests and answers of Anthropic's Messages API, translated from and to chat completions.

References
----------
Message Batches API, https://platform.claude.com/docs/en/build-with-claude/batch-processing
Structured outputs, https://platform.claude.com/docs/en/build-with-claude/structured-outputs
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import InputError
from ...ledger.exchanges import TOKEN_LIMITS, Body, Outcome, Request, resolve
from ...ledger.usage import counted_tokens
from ...parsing.finish_reasons import usual_reason
from ...study.asking import MAX_TOKENS
from ..base import text_of, translated
from ..batches.shards import LineFormat, Media, failed, settled
from ..openai.failures import Failure, kind_of, read_failure

RANGE = 101  # whole numbers between limits are listed, up to so many; Anthropic takes no limits
NO_LIMITS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)
ACCOUNT = ("authentication_error", "billing_error", "permission_error")  # faults that pass for a request
UNANSWERED = {"canceled": "cancelled", "expired": "expired"}


def message_params(body: Body) -> dict[str, Any]:
    """Translate the body of a chat completion, media put in, into parameters of a message."""
    # Settings that both have are renamed, and others are sent as they are, such as `thinking` or `top_k`. A
    # seed is not sent, since there is none.
    settings = {name: value for name, value in body.items() if name not in ("model", "messages", "seed")}
    if {"logprobs", "structured_outputs"} & set(settings):
        raise InputError(
            "Anthropic returns no log-probabilities; set 'answer: json' or 'answer: free' for this judge."
        )
    limits = [settings.pop(name, None) for name in TOKEN_LIMITS]
    params: dict[str, Any] = {
        "model": body["model"],
        "max_tokens": next((limit for limit in limits if limit is not None), MAX_TOKENS["anthropic"]),
    }
    system = [_text(part["content"]) for part in body["messages"] if part["role"] == "system"]
    if system:
        params["system"] = "\n\n".join(system)
    params["messages"] = [
        {"role": part["role"], "content": _content(part["content"])}
        for part in body["messages"]
        if part["role"] != "system"
    ]
    if (stop := settings.pop("stop", None)) is not None:
        params["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    if (form := settings.pop("response_format", None)) is not None:
        schema = listed_schema(form["json_schema"]["schema"])
        output = {"format": {"type": "json_schema", "schema": schema}}
        params["output_config"] = {**settings.pop("output_config", {}), **output}
    return {**params, **settings}


def listed_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Bring a JSON schema to the form that is accepted: whole numbers are listed, other limits dropped."""
    keywords = {name: value for name, value in schema.items() if name not in NO_LIMITS}
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int) and isinstance(high, int) and 0 <= high - low < RANGE:
        keywords |= {"enum": list(range(low, high + 1))} if schema.get("type") == "integer" else {}
    if isinstance(keywords.get("properties"), dict):
        keywords["properties"] = {name: listed_schema(part) for name, part in keywords["properties"].items()}
    if isinstance(keywords.get("items"), dict):
        keywords["items"] = listed_schema(keywords["items"])
    return keywords


def message_completion(message: Any) -> bytes:
    """Translate a message, whatever it contains, into the JSON of one chat completion."""
    fields = message if isinstance(message, dict) else {}
    blocks = fields.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    reason, details = fields.get("stop_reason"), fields.get("stop_details")
    explanation = details.get("explanation") if isinstance(details, dict) else None
    return translated(
        message,
        name=text_of(fields.get("id")),
        model=text_of(fields.get("model")),
        choices=[("".join(texts), usual_reason(text_of(reason)))] if isinstance(blocks, list) else [],
        refusal=explanation if reason == "refusal" and isinstance(explanation, str) else None,
        usage=_usage(fields.get("usage")),
    )


def _usage(usage: Any) -> tuple[int, int] | None:
    """Return the tokens in, cached ones included, and out; None where they are not stated."""
    into, out = counted_tokens({"usage": usage})
    return None if into is None or out is None else (into, out)


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else [_block(part) for part in content]


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["type"] != "image_url":
        raise InputError(
            "Anthropic takes text and images only; set 'takes: [image]' for this judge, so that clips are "
            "shown as frames."
        )
    url = part["image_url"]["url"]
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _line(request: Request, media: Media) -> dict[str, Any]:
    return {"custom_id": request.key, "params": message_params(resolve(request.body, media))}


def _key(line: dict[str, Any]) -> object:
    """Return the key before the mark of the shard, which is added when a batch is created."""
    name = line.get("custom_id")
    return name.rpartition("-")[0] if isinstance(name, str) else None


def _outcome(key: str, line: dict[str, Any], shard: str) -> Outcome:
    result = line.get("result")
    content: dict[str, Any] = result if isinstance(result, dict) else {}
    kind = text_of(content.get("type"))
    if kind == "succeeded":
        return settled(key, 200, message_completion(content.get("message")), shard)
    if kind in UNANSWERED:
        reason = f"the batch was {UNANSWERED[kind]} before this request was sent to the model"
        return failed(key, Failure(0, kind, reason), UNANSWERED[kind], shard)
    error = content.get("error")
    cause = read_failure(0, error if isinstance(error, dict) else {"error": "no reason given"})
    failure = replace(cause, status=cause.status or 500)
    return failed(key, failure, "server" if cause.code in ACCOUNT else kind_of(failure), shard)


LINES = LineFormat("custom_id", _line, _key, _outcome)
