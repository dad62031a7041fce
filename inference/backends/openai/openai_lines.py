"""Lines of OpenAI's batch files, which servers of its protocol and batch runners read and write, too."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ...ledger.exchanges import Outcome, Request, resolve
from ..batches.shards import LineFormat, Media, failed, settled
from .failures import kind_of, read_failure

ENDPOINT = "/v1/chat/completions"
ENDED_EARLY = {"batch_expired": "expired", "batch_cancelled": "cancelled", "request_timeout": "timeout"}


def _line(request: Request, media: Media) -> dict[str, Any]:
    body = resolve(request.body, media)
    return {"custom_id": request.key, "method": "POST", "url": ENDPOINT, "body": body}


def _key(line: dict[str, Any]) -> object:
    return line.get("custom_id")


def _outcome(key: str, line: dict[str, Any], shard: str) -> Outcome:
    response, error = line.get("response"), line.get("error")
    error_body = (
        error if isinstance(error, dict) and "error" in error else {"error": error or "no reason given"}
    )
    if not isinstance(response, dict):
        failure = read_failure(0, error_body)
        kind = kind_of(failure) if failure.status else "server"
        failure = replace(failure, status=0)  # no exchange over HTTP is known
        return failed(key, failure, ENDED_EARLY.get(failure.code, kind), shard)
    status, answer = response.get("status_code"), response.get("body")
    body = answer if status == 200 or (isinstance(answer, dict) and answer) else error_body
    if not isinstance(status, int) or status < 200:
        failure = read_failure(0, body if isinstance(body, dict) else error_body)
        return failed(key, replace(failure, status=0), "server", shard)
    return settled(key, status, json.dumps(body, separators=(",", ":")).encode(), shard)


LINES = LineFormat("custom_id", _line, _key, _outcome)
