"""Anthropic's Message Batches on the fake server, as its documentation has them.

``Settings.batches`` says how each batch goes, as in `fakes.batches`; its key ``most`` is how many may run
at a time. Faults of lines: ``"400"``, ``"413"``,
``"429"``, ``"500"``, ``"529"``, ``"unknown"``, ``"filtered"`` (a refusal), ``"empty"`` (a message without
content), ``"bare"`` (no result), ``"missing"``, ``"twice"`` and ``"garbled"``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from aiohttp import web

from .answers import CREATED, _instance, content_hash
from .batches import ENDS, Batch, File, Office, _lose, half_of
from .state import State

CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ERRORS = {
    "400": "invalid_request_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "529": "overloaded_error",
    "unknown": "novel_error",
}
UNSUPPORTED = {"seed", "logprobs", "top_logprobs", "response_format", "stop", "max_completion_tokens"}
LIMITS = ("minimum", "maximum", "maxItems", "minLength")


def message(params: dict[str, Any], reason: str = "end_turn") -> dict[str, Any]:
    """Compose the message that answers ``params``; its id holds the hash of the content."""
    name = content_hash(params)
    schema = params.get("output_config", {}).get("format", {}).get("schema")
    text = f"Answer {name}" if schema is None else json.dumps(_instance(schema, int(name, 16)))
    refused = {"stop_details": {"type": "refusal", "category": "bio", "explanation": "Not this."}}
    return {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": f"{params['model']}-fake",
        "content": [{"type": "text", "text": text}] if reason != "refusal" else [],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 3},
        **(refused if reason == "refusal" else {}),
    }


def fault_of(body: Any) -> str:
    """State why a request for a batch is refused as a whole; empty where it is not."""
    requests = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(requests, list) or not requests:
        return "requests: at least one item"
    names = [request["custom_id"] for request in requests]
    if len(set(names)) < len(names) or not all(CUSTOM_ID.fullmatch(name) for name in names):
        return "custom_id: unique, and of letters, digits, - and _"
    for request in requests:
        params = request["params"]
        if UNSUPPORTED & set(params) or not {"model", "max_tokens", "messages"} <= set(params):
            return f"params: {sorted(params)}"
        if any(f'"{limit}"' in json.dumps(params) for limit in LIMITS):
            return "output_config.format.schema: no limits"
    return ""


class Workspace(Office):
    """The batches of one workspace."""

    @property
    def most(self) -> int:
        """Return how many batches may run at a time; 0 for any number."""
        return int(self.state.settings.batches.get("most", 0))

    def told(self, batch: Batch, root: str) -> dict[str, Any]:
        ended = batch.status in ENDS
        found = [json.loads(line)["result"]["type"] for line in self.lines(batch)] if ended else []
        counts = {name: found.count(name) for name in ("succeeded", "errored", "canceled", "expired")}
        counts["succeeded"] += batch.size - len(found) if ended else 0
        return {
            "id": f"msg{batch.id}",
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {"processing": 0 if ended else batch.size, **counts},
            "created_at": CREATED,
            "results_url": f"{root}/v1/messages/batches/msg{batch.id}/results"
            if ended and batch.output is not None
            else None,
        }

    def lines(self, batch: Batch) -> list[bytes]:
        """Return the lines of a batch that can be read."""
        content = b"" if batch.output is None else self.files[batch.output].content
        return [line for line in content.splitlines() if line.endswith(b"}}") and b'"result": {' in line]

    def _execute(self, batch: Batch) -> None:
        plan, lines = batch.plan, []
        requests = [json.loads(line) for line in batch.file.content.splitlines()]
        for place, request in enumerate(requests):
            early = place >= round(plan.share * len(requests))
            lines += self._lines(request, plan.end if early else plan.lines.get(str(place), ""))
        lines += [_line(f"strange-{place}", {"type": "canceled"}) for place in range(plan.strange)]
        if plan.reverse:
            lines.reverse()
        if "output" not in plan.lose:
            batch.output = self.keep("results.jsonl", b"".join(lines), "results", plan).id

    def _lines(self, request: dict[str, Any], fault: str) -> list[bytes]:
        name, params = request["custom_id"], request["params"]
        if fault in ("expired", "cancelled"):
            return [_line(name, {"type": fault.replace("cancelled", "canceled")})]
        if fault in ERRORS:
            error = {"type": ERRORS[fault], "message": f"Fault {fault}."}
            return [_line(name, {"type": "errored", "error": {"type": "error", "error": error}})]
        if fault in ("missing", "bare"):
            return [] if fault == "missing" else [json.dumps({"custom_id": name}).encode() + b"\n"]
        self.state.answered[content_hash(params)] += 1
        answer = message(params, "refusal" if fault == "filtered" else "end_turn")
        if self.state.settings.echo:
            answer["content"] = [
                {"type": "text", "text": part} for part in _halves(max(self.state.keys, key=len))
            ]
        if fault == "empty":
            answer["content"] = None
        line = _line(name, {"type": "succeeded", "message": answer})
        return [line[:60] + b"\n"] if fault == "garbled" else [line] * (2 if fault == "twice" else 1)


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _line(name: str, result: dict[str, Any]) -> bytes:
    return json.dumps({"custom_id": name, "result": result}).encode() + b"\n"


def problem(status: int, kind: str, told: str) -> web.Response:
    """Return an error in the form of the interface."""
    return web.json_response({"type": "error", "error": {"type": kind, "message": told}}, status=status)


def add_routes(app: web.Application, state: State) -> None:
    """Let the application execute batches of messages."""
    space = Workspace(state)

    @web.middleware
    async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path.startswith(("/v1/messages", "/message_counts")):
            space.look()
        if request.path.startswith("/v1/messages"):
            key = request.headers.get("x-api-key", "")
            state.keys.add(key)
            if request.headers.get("anthropic-version") != "2023-06-01":
                return problem(400, "invalid_request_error", "anthropic-version: header is required")
            if state.settings.key and key != state.settings.key:
                return problem(401, "authentication_error", f"invalid x-api-key {key}")
        response: web.StreamResponse = await handler(request)
        return response

    async def create(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        fault = fault_of(body)
        if space.takes("refused", "batches"):
            return problem(529, "overloaded_error", "Overloaded")
        if space.most and sum(batch.status not in ENDS for batch in space.batches.values()) >= space.most:
            return problem(429, "rate_limit_error", "Too many batches are processing.")
        if fault:
            return problem(400, "invalid_request_error", fault)
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in body["requests"])
        batch = space.begin(space.keep("requests", lines, "requests"), {})
        told = space.told(batch, str(request.url.origin()))
        if space.takes("limited", "batches"):
            return problem(429, "rate_limit_error", "Too many requests.")
        return _lose(request) if space.takes("lost", "batches") else web.json_response(told)

    async def listed(request: web.Request) -> web.Response:
        batches = list(reversed(space.batches.values()))
        for batch in batches:
            space.ask(batch)
        after = request.query.get("after_id")
        begin = next((n + 1 for n, batch in enumerate(batches) if f"msg{batch.id}" == after), 0)
        page = batches[begin : begin + min(int(request.query["limit"]), 2)]
        told = [space.told(batch, str(request.url.origin())) for batch in page]
        more = begin + len(page) < len(batches)
        last = told[-1]["id"] if told else None
        return web.json_response({"data": told, "has_more": more, "last_id": last})

    async def one(request: web.Request) -> web.Response:
        batch = space.batches.get(request.match_info["id"].removeprefix("msg"))
        if batch is None:
            return problem(404, "not_found_error", "No such batch.")
        space.ask(batch)
        return web.json_response(space.told(batch, str(request.url.origin())))

    async def results(request: web.Request) -> web.StreamResponse:
        batch = space.batches[request.match_info["id"].removeprefix("msg")]
        file = space.files[str(batch.output)]
        space.downloads[file.id] += 1
        return await send(request, file, space.downloads[file.id])

    async def counts(_: web.Request) -> web.Response:
        return web.json_response({"batches": len(space.batches), "downloads": space.downloads})

    app.middlewares.append(guard)
    app.router.add_post("/v1/messages/batches", create)
    app.router.add_get("/v1/messages/batches", listed)
    app.router.add_get("/v1/messages/batches/{id}", one)
    app.router.add_get("/v1/messages/batches/{id}/results", results)
    app.router.add_get("/message_counts", counts)


async def send(request: web.Request, file: File, turn: int) -> web.StreamResponse:
    """Send a file, half of it if it is to be short or the connection is to break off."""
    content = half_of(file.content) if turn <= file.short else file.content
    if turn > file.cut:
        return web.Response(body=content, content_type="application/octet-stream")
    response = web.StreamResponse()
    response.content_length = len(content)
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    return _lose(request, response)
