"""Files and batches of the Gemini API on the fake server, as its documentation has them.

``Settings.batches`` says how each batch goes, as in `fakes.batches`; its key ``most`` is how many may run
at a time. Faults of lines: ``"400"``, ``"429"``,
``"500"``, ``"cancelled"``, ``"filtered"`` (a blocked prompt), ``"empty"`` (no candidates), ``"bare"``
(neither response nor error), ``"missing"``, ``"twice"`` and ``"garbled"``.
"""

from __future__ import annotations

import json
import math
from typing import Any

from aiohttp import web

from .answers import _instance, content_hash
from .batches import ENDS, Batch, Office, _lose
from .messages import _halves, send
from .state import State

CODES = {"400": 3, "429": 8, "500": 13, "cancelled": 1}


def generated(request: dict[str, Any]) -> dict[str, Any]:
    """Compose the content that answers a request."""
    name = content_hash(request)
    draw, config = int(name, 16), request.get("generationConfig", {})
    text = f"Answer {name}"
    if "responseJsonSchema" in config:
        text = json.dumps(_instance(config["responseJsonSchema"], draw))
    elif config.get("responseMimeType") == "text/x.enum":
        text = config["responseSchema"]["enum"][draw % len(config["responseSchema"]["enum"])]
    elif config.get("maxOutputTokens") == 1:
        text = "AB"[draw % 2]
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": text}]},
        "finishReason": "STOP",
        "index": 0,
    }
    if config.get("responseLogprobs"):
        rivals = [text, *(letter for letter in "AB" if letter != text)]
        top = [
            {"token": token, "tokenId": n, "logProbability": math.log(0.7 if n == 0 else 0.3)}
            for n, token in enumerate(rivals)
        ]
        candidate["logprobsResult"] = {"chosenCandidates": top[:1], "topCandidates": [{"candidates": top}]}
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 2, "thoughtsTokenCount": 4},
        "modelVersion": "gemini-fake",
        "responseId": name,
    }


class Project(Office):
    """The files and batches of one project."""

    @property
    def most(self) -> int:
        """Return how many batches may run at a time; 0 for any number."""
        return int(self.state.settings.batches.get("most", 0))

    def told(self, batch: Batch) -> dict[str, Any]:
        ended = batch.status in ENDS
        state = {"completed": "SUCCEEDED", "in_progress": "RUNNING", "finalizing": "RUNNING"}
        name = state.get(batch.status, batch.status.upper()).replace("VALIDATING", "PENDING")
        output = {"responsesFile": f"files/{batch.output}"} if ended and batch.output else {}
        return {
            "name": f"batches/{batch.id}",
            "metadata": {
                "displayName": batch.metadata["name"],
                "state": f"BATCH_STATE_{name}",
                "batchStats": {"requestCount": str(batch.size)},
                **({"output": output} if output else {}),
            },
            "done": ended,
            **({"response": output} if output else {}),
            **({"error": batch.plan.errors[0]} if name == "FAILED" and batch.plan.errors else {}),
        }

    def _execute(self, batch: Batch) -> None:
        plan, lines = batch.plan, []
        if plan.end in ("expired", "cancelled") or "output" in plan.lose:
            return  # such batches have no results
        for place, line in enumerate(batch.file.content.splitlines()):
            lines += self._lines(json.loads(line), plan.lines.get(str(place), ""))
        strange = [{"key": f"strange-{n}", "response": {}} for n in range(plan.strange)]
        lines += [json.dumps(line).encode() + b"\n" for line in strange]
        if plan.reverse:
            lines.reverse()
        batch.output = self.keep("responses", b"".join(lines), "responses", plan).id

    def _lines(self, line: dict[str, Any], fault: str) -> list[bytes]:
        key, request = line["key"], line["request"]
        if fault in CODES:
            error = {"code": CODES[fault], "message": f"Fault {fault}."}
            return [json.dumps({"key": key, "error": error}).encode() + b"\n"]
        if fault in ("missing", "bare"):
            return [] if fault == "missing" else [json.dumps({"key": key}).encode() + b"\n"]
        self.state.answered[content_hash(request)] += 1
        answer = generated(request)
        if self.state.settings.echo:
            parts = _halves(max(self.state.keys, key=len))
            answer["candidates"][0]["content"]["parts"] = [{"text": part} for part in parts]
        if fault in ("empty", "filtered"):
            del answer["candidates"]
        if fault == "filtered":
            answer["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
        written = json.dumps({"key": key, "response": answer}).encode() + b"\n"
        return [written[:40] + b"\n"] if fault == "garbled" else [written] * (2 if fault == "twice" else 1)


def problem(status: int, name: str, told: str) -> web.Response:
    """Return an error in the form of the interface."""
    return web.json_response({"error": {"code": status, "message": told, "status": name}}, status=status)


def add_routes(app: web.Application, state: State) -> None:
    """Let the application keep files and execute batches of Gemini."""
    project = Project(state)
    begun: list[str] = []  # display names of uploads

    @web.middleware
    async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path.startswith(("/v1beta", "/upload", "/download", "/gemini_counts")):
            project.look()
        if request.path.startswith(("/v1beta", "/upload", "/download")):
            key = request.headers.get("x-goog-api-key", "")
            state.keys.add(key)
            if state.settings.key and key != state.settings.key:
                return problem(400, "INVALID_ARGUMENT", f"API key not valid: {key}. Please pass a valid one.")
        response: web.StreamResponse = await handler(request)
        return response

    async def upload(request: web.Request) -> web.StreamResponse:
        if request.headers["X-Goog-Upload-Command"] == "start":
            begun.append((await request.json())["file"]["displayName"])
            place = f"http://other.invalid/upload/v1beta/files?upload_id={len(begun)}"
            return web.json_response({}, headers={"X-Goog-Upload-URL": place})
        if project.takes("refused", "files"):
            return problem(500, "INTERNAL", "The server had an error.")
        file = project.keep(begun[int(request.query["upload_id"]) - 1], await request.read(), "input")
        told = {"file": {"name": f"files/{file.id}", "displayName": file.name}}
        return _lose(request) if project.takes("lost", "files") else web.json_response(told)

    async def create(request: web.Request) -> web.StreamResponse:
        batch = (await request.json())["batch"]
        file = project.files.get(batch["inputConfig"]["fileName"].removeprefix("files/"))
        if project.takes("refused", "batches"):
            return problem(503, "UNAVAILABLE", "The service is overloaded.")
        if project.most and sum(one.status not in ENDS for one in project.batches.values()) >= project.most:
            return problem(429, "RESOURCE_EXHAUSTED", "Too many tokens are queued.")
        if file is None:
            return problem(404, "NOT_FOUND", "No such file.")
        made = project.begin(file, {"name": batch["displayName"]})
        if project.takes("limited", "batches"):
            return problem(429, "RESOURCE_EXHAUSTED", "Too many requests.")
        return _lose(request) if project.takes("lost", "batches") else web.json_response(project.told(made))

    def page(request: web.Request, field: str, entries: list[dict[str, Any]]) -> web.Response:
        begin = int(request.query.get("pageToken", 0))
        found = {field: entries[begin : begin + 2]} if entries else {}
        more = {"nextPageToken": str(begin + 2)} if begin + 2 < len(entries) else {}
        return web.json_response({**found, **more})

    async def files(request: web.Request) -> web.Response:
        mine = [file for file in project.files.values() if file.purpose == "input"]
        return page(request, "files", [{"name": f"files/{one.id}", "displayName": one.name} for one in mine])

    async def batches(request: web.Request) -> web.Response:
        return page(request, "operations", [project.told(batch) for batch in project.batches.values()])

    async def one(request: web.Request) -> web.Response:
        batch = project.batches.get(request.match_info["id"])
        if batch is None:
            return problem(404, "NOT_FOUND", "No such batch.")
        project.ask(batch)
        return web.json_response(project.told(batch))

    async def download(request: web.Request) -> web.StreamResponse:
        file = project.files[request.match_info["id"]]
        project.downloads[file.id] += 1
        return await send(request, file, project.downloads[file.id])

    async def counts(_: web.Request) -> web.Response:
        n_files = sum(file.purpose == "input" for file in project.files.values())
        return web.json_response(
            {"batches": len(project.batches), "files": n_files, "downloads": project.downloads}
        )

    app.middlewares.append(guard)
    app.router.add_post("/upload/v1beta/files", upload)
    app.router.add_get("/v1beta/files", files)
    app.router.add_post("/v1beta/models/{model}:batchGenerateContent", create)
    app.router.add_get("/v1beta/batches", batches)
    app.router.add_get("/v1beta/batches/{id}", one)
    app.router.add_get("/download/v1beta/files/{id}:download", download)
    app.router.add_get("/gemini_counts", counts)
