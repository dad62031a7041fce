"""Chat completions composed by ourselves, for engines and records that answer in another form."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..ledger.exchanges import Request

LogProbs = Mapping[str, float]
COMPOSED = "conjury-"  # what the ids of composed completions begin with


def completion(
    request: Request,
    text: str,
    *,
    model: str,
    finish_reason: str = "stop",
    tokens: Sequence[tuple[str, float, LogProbs]] = (),
    refusal: str | None = None,
    usage: tuple[int, int] | None = None,
    created: int | None = None,
    engine: Mapping[str, Any] | None = None,
) -> bytes:
    """Write an answer as the JSON of one chat completion."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish_reason,
        "logprobs": {"content": [_token(*token) for token in tokens]} if tokens else None,
    }
    if refusal is not None:
        choice["message"]["refusal"] = refusal
    body: dict[str, Any] = {
        "id": COMPOSED + request.key,
        "object": "chat.completion",
        "created": int(time.time()) if created is None else created,
        "model": model,
        "choices": [choice],
    }
    if usage is not None:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    if engine:
        body["conjury"] = dict(engine)
    return json.dumps(body, ensure_ascii=False).encode()


def _token(token: str, logprob: float, rivals: LogProbs) -> dict[str, Any]:
    top = [{"token": name, "logprob": value} for name, value in rivals.items()]
    return {"token": token, "logprob": logprob, "top_logprobs": top}
