"""Requests and answers of OpenAI's Responses API, translated from and to chat completions.

References
----------
Responses, https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ...ledger.exchanges import TOKEN_LIMITS, Body

PATHS = {"chat": "/chat/completions", "responses": "/responses"}  # by the name of the API
SHORTEST = 16  # tokens that the limit of an answer may be at least
LOGPROBS = "message.output_text.logprobs"
ABSENT = ("n", "stop", "presence_penalty", "frequency_penalty", "logit_bias")  # settings that it lacks


def route_request(api: str, body: Body) -> tuple[str, Body]:
    """Return path and body of a request to an API, media put in."""
    return PATHS[api], body if api == "chat" else response_request(body)


def response_request(body: Body) -> Body:
    """Translate the body of a chat completion into a request for a response, which is not stored there."""
    # Settings that both have are renamed, and others are sent as they are, such as `reasoning`. A seed is not
    # sent, since there is none.
    settings = {name: value for name, value in body.items() if name not in ("model", "messages", "seed")}
    lacking = next((name for name in ABSENT if settings.get(name) is not None), "")
    if lacking:
        raise InputError(f"The Responses API has no '{lacking}'; remove it from the settings of this judge.")
    limits = [settings.pop(name, None) for name in TOKEN_LIMITS]
    limit = next((limit for limit in limits if limit is not None), None)
    request: Body = {
        "model": body["model"],
        "input": [
            {"role": message["role"], "content": _input(message["content"])} for message in body["messages"]
        ],
        "store": False,
    }
    if limit is not None:
        request["max_output_tokens"] = max(limit, SHORTEST)
    if (form := settings.pop("response_format", None)) is not None:
        request["text"] = {**settings.pop("text", {}), "format": {"type": form["type"], **_schema(form)}}
    if (effort := settings.pop("reasoning_effort", None)) is not None:
        request["reasoning"] = {**settings.pop("reasoning", {}), "effort": effort}
    if settings.pop("logprobs", False):
        request["include"] = [*settings.pop("include", []), LOGPROBS]
    if settings.pop("structured_outputs", None) is not None:
        raise InputError("The Responses API takes no 'answer: choice'; set 'answer: json' for this judge.")
    return {**request, **settings}


def _schema(form: Mapping[str, Any]) -> dict[str, Any]:
    schema = form.get("json_schema")
    return dict(schema) if isinstance(schema, dict) else {}


def _input(content: Any) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    raise InputError(
        "The Responses API takes text and images only; set 'takes: [image]' for this judge, so that clips "
        "are shown as frames."
    )


def is_response(body: Any) -> bool:
    """Whether a body is one of the Responses API that was answered, be it in part."""
    return isinstance(body, dict) and body.get("object") == "response" and not body.get("error")


def response_completion(response: Mapping[str, Any]) -> bytes:
    """Translate a response, whatever it contains, into the JSON of one chat completion."""
    output = response.get("output")
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    parts = [
        part for item in items if item.get("type") == "message" for part in _mappings(item.get("content"))
    ]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    tokens = [token for part in parts for token in _mappings(part.get("logprobs"))]
    message = {
        "role": "assistant",
        "content": [part for part in parts if part.get("type") == "output_text"] if parts else None,
        "refusal": "".join(str(part["refusal"]) for part in parts if part.get("refusal")) or None,
        "reasoning": [part for item in thoughts for part in _mappings(item.get("summary"))],
    }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": _ending(response),
        "logprobs": {"content": tokens} if tokens else None,
    }
    names = ("id", "model", "usage")
    shared = {name: response[name] for name in names if response.get(name) is not None}
    answer = {**shared, "object": "chat.completion", "created": 0, "choices": [choice], "original": response}
    return json.dumps(answer, separators=(",", ":")).encode()


def _ending(response: Mapping[str, Any]) -> str:
    status, details = response.get("status"), response.get("incomplete_details")
    if status == "incomplete":
        reason = details.get("reason") if isinstance(details, dict) else None
        return reason if isinstance(reason, str) else "incomplete"
    return "stop" if status in (None, "completed") else str(status)


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
