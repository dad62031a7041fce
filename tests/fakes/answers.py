"""What the fake model answers: a pure function of what it was asked."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

CREATED = 1_700_000_000


def content_hash(body: dict[str, Any]) -> str:
    """Name the content of a request, whatever the order of its fields."""
    content = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()


def completion(
    body: dict[str, Any], finish_reason: str = "stop", refusal: str | None = None
) -> dict[str, Any]:
    """Compose the chat completion that answers ``body``; its id holds the hash of the content."""
    name = content_hash(body)
    draw = int(name, 16)
    silent = refusal is not None or finish_reason == "content_filter"
    text = "" if silent else _text(body, name, draw)
    prompt_tokens = len(json.dumps(body["messages"])) // 4
    return {
        "id": f"chatcmpl-{name}",
        "object": "chat.completion",
        "created": CREATED,
        "model": f"{body['model']}-fake",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None if silent else text, "refusal": refusal},
                "logprobs": _logprobs(body, text, draw) if body.get("logprobs") and not silent else None,
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": prompt_tokens + 1},
    }


def _text(body: dict[str, Any], name: str, draw: int) -> str:
    choices = (body.get("structured_outputs") or {}).get("choice")
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if choices:
        return str(choices[draw % len(choices)])
    if schema:
        return json.dumps(_instance(schema, draw))
    if (body.get("max_completion_tokens") or body.get("max_tokens")) == 1:
        return "AB"[draw % 2]
    return f"Answer {name}"


def _instance(schema: dict[str, Any], draw: int) -> Any:
    if "enum" in schema:
        return schema["enum"][draw % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        parts = schema.get("properties", {}).items()
        return {name: _instance(part, draw >> 4 * place) for place, (name, part) in enumerate(parts)}
    if kind == "array":
        return [_instance(schema["items"], draw >> 4 * place) for place in range(schema.get("minItems", 1))]
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", 0), schema.get("maximum", 4)
        return low + draw % (high - low + 1)
    return f"text {draw % 1000}"


def _logprobs(body: dict[str, Any], text: str, draw: int) -> dict[str, Any]:
    first = 0.5 + (draw % 499) / 1000
    tokens = [text, *(token for token in ("A", "B", " A", " B", "a", "b", "The", "I") if token != text)]
    shares = [first] + [(1 - first) * 2.0 ** -(place + 1) for place in range(len(tokens) - 1)]
    top = [
        {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}
        for token, share in zip(tokens, shares, strict=True)
    ]
    return {"content": [{**top[0], "top_logprobs": top[: body.get("top_logprobs") or 0]}], "refusal": None}
