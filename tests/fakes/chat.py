"""Chat completions, models, counts and settings of the fake server."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Any

from aiohttp import web

from .accents import accented
from .answers import completion, content_hash
from .echoes import echo
from .state import Settings, State

NEVER = 3600.0


def add_routes(app: web.Application, state: State) -> None:
    """Let the application answer chat completions, and tell of itself."""

    async def chat(request: web.Request) -> web.StreamResponse:
        state.in_flight += 1
        state.peak = max(state.peak, state.in_flight)
        try:
            return await _chat(request, state)
        finally:
            state.in_flight -= 1

    async def models(request: web.Request) -> web.Response:
        refused = refuse(request, state)
        data = [
            {"id": name, "object": "model", "created": 0, "owned_by": "fake"}
            for name in state.settings.models
        ]
        return refused or web.json_response({"object": "list", "data": data})

    async def counts(_: web.Request) -> web.Response:
        return web.json_response(state.counts())

    async def version(_: web.Request) -> web.Response:
        stated = state.settings.version
        return web.json_response({"version": stated}) if stated else web.Response(status=404)

    async def bodies(_: web.Request) -> web.Response:
        return web.json_response(state.bodies)

    async def configure(request: web.Request) -> web.Response:
        state.configure(Settings(**await request.json()))
        return web.json_response({})

    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/v1/responses", chat)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/version", version)
    app.router.add_get("/counts", counts)
    app.router.add_get("/bodies", bodies)
    app.router.add_post("/configure", configure)


def refuse(request: web.Request, state: State) -> web.Response | None:
    """Return the refusal of a request without the right key, or of any while all are refused; else None."""
    settings = state.settings
    key = request.headers.get("Authorization", "").removeprefix("Bearer ")
    state.keys.add(key)
    if settings.key and key != settings.key:
        return error(401, f"Incorrect API key provided: {key}.", "invalid_api_key")
    if settings.status:
        return web.json_response({"error": settings.error}, status=settings.status, headers=settings.headers)
    return None


def error(status: int, message: str, code: str | None = None, **headers: str) -> web.Response:
    """Return an error in the form of the protocol."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = {"error": {"message": message, "type": "fake_error", "param": None, "code": code}}
    return web.json_response(content, status=status, headers=named)


async def _chat(request: web.Request, state: State) -> web.StreamResponse:
    settings = state.settings
    state.arrivals.append(state.now())
    refused = refuse(request, state)
    if refused is not None:
        return refused
    if settings.capacity and state.in_flight > settings.capacity:
        state.faults["capacity"] += 1
        return error(
            429, "Too many requests at once.", "rate_limit_exceeded", retry_after=f"{settings.retry_after:g}"
        )
    body = json.loads(await request.read())
    if settings.models and body["model"] not in settings.models:
        return error(404, f"The model `{body['model']}` does not exist.", "model_not_found")
    if settings.keep:
        state.bodies.append(body)
    name = content_hash(body)
    state.seen[name] += 1
    if settings.echo:
        way = settings.echo[state.turn() % len(settings.echo)]
        status, content = echo(way, request.headers["Authorization"].removeprefix("Bearer "), body)
        told = {"X-Echo": request.headers["Authorization"]}
        return web.Response(status=status, body=content, content_type="application/json", headers=told)
    reply = settings.replies[state.turn() % len(settings.replies)] if settings.replies else None
    if reply is not None:
        status, headers, content = reply
        return web.json_response(content, status=status, headers=headers)
    if settings.profile:
        status, content = accented(settings.profile, body, state.turn())
        return web.json_response(content, status=status)
    fault = state.fault(name)
    if fault:
        state.faults[fault] += 1
    if settings.latency:
        await asyncio.sleep(settings.latency)
    if fault in _BROKEN:
        return await _BROKEN[fault](request, state, body)
    return _ANSWERED[fault](state, body) if fault in _ANSWERED else _answer(state, body, fault, name)


def _answer(state: State, body: dict[str, Any], fault: str, name: str) -> web.Response:
    state.answered[name] += 1
    if fault == "content_filter_400":
        return error(400, "The prompt was filtered by the content management policy.", "content_filter")
    if fault == "context_length":
        return error(400, "This model's maximum context length is 8 tokens.", "context_length_exceeded")
    if fault == "rejected":
        return error(422, "Unprocessable settings.", "invalid_value")
    reason = fault if fault in ("content_filter", "length") else "stop"
    answer = completion(body, reason, refusal="I cannot judge this." if fault == "refusal" else None)
    if state.settings.fingerprint:
        answer["system_fingerprint"] = state.settings.fingerprint
    return _json(json.dumps(state.bill(answer)).encode(), state)


def _json(content: bytes, state: State) -> web.Response:
    return web.Response(body=content, content_type="application/json", headers=state.settings.headers)


async def _silence(request: web.Request, state: State, body: dict[str, Any]) -> web.StreamResponse:
    await asyncio.sleep(NEVER)
    return web.Response()


async def _reset(request: web.Request, state: State, body: dict[str, Any]) -> web.StreamResponse:
    assert request.transport is not None
    line = request.transport.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
    return web.Response()


async def _cut(request: web.Request, state: State, body: dict[str, Any]) -> web.StreamResponse:
    response, content = await _started(request, state, body)
    await response.write(content[: len(content) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _drip(request: web.Request, state: State, body: dict[str, Any]) -> web.StreamResponse:
    response, content = await _started(request, state, body)
    for place in range(len(content)):
        await response.write(content[place : place + 1])
        await asyncio.sleep(0.2)
    return response


async def _started(
    request: web.Request, state: State, body: dict[str, Any]
) -> tuple[web.StreamResponse, bytes]:
    content = json.dumps(state.bill(completion(body))).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(content)
    await response.prepare(request)
    return response, content


def _limited(state: State) -> web.Response:
    return error(429, "Slow down.", "rate_limit_exceeded", retry_after=f"{state.settings.retry_after:g}")


def _truncated(state: State, body: dict[str, Any]) -> web.Response:
    content = json.dumps(state.bill(completion(body))).encode()
    return _json(content[: len(content) // 2], state)


def _no_choices(state: State, body: dict[str, Any]) -> web.Response:
    return _json(json.dumps({**state.bill(completion(body)), "choices": []}).encode(), state)


WRONG = json.dumps({"object": "chat.completion", "choices": [{"text": "A"}]}).encode()
_ANSWERED: dict[str, Callable[[State, dict[str, Any]], web.Response]] = {
    "429": lambda state, body: error(429, "Slow down.", "rate_limit_exceeded"),
    "429_retry_after": lambda state, body: _limited(state),
    "500": lambda state, body: error(500, "The server had an error.", "server_error"),
    "503": lambda state, body: web.Response(status=503, text="upstream connect error"),
    "truncated_json": _truncated,
    "invalid_json": lambda state, body: web.Response(text="<html>Welcome</html>", content_type="text/html"),
    "wrong_schema": lambda state, body: _json(WRONG, state),
    "empty_choices": _no_choices,
}
_BROKEN = {"timeout": _silence, "reset": _reset, "cut": _cut, "drip": _drip}
