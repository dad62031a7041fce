"""Files and batches of the fake server; ``Settings.batches`` says how each batch goes.

Its keys: ``plans``, what becomes of each batch in the order of their creation, the last for all others; and
``lost``, how many creations of ``files`` and ``batches`` are done but not answered; ``refused``, how many
are answered by 500 and not done; ``room``, how many requests may be in batches that run.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from .answers import CREATED, completion, content_hash
from .chat import error, refuse
from .echoes import echo
from .state import Settings, State

ENDS = ("completed", "expired", "cancelled", "failed")


@dataclass(frozen=True)
class Plan:
    """What becomes of a batch.

    Faults by number of the line, from 0: ``"500"``, ``"429"``, ``"400"``, ``"filtered"``, ``"empty"`` (an
    answer without choices), ``"missing"``, ``"twice"``, ``"garbled"``, ``"timeout"``.
    """

    end: str = "completed"  # its last status
    polls: int = 0  # how often it is asked about before it ends
    share: float = 1.0  # of the requests, those executed before the end
    errors: list[dict[str, Any]] = field(default_factory=list)  # with end="failed", as the protocol has it
    lines: dict[str, str] = field(default_factory=dict)
    strange: int = 0  # lines for requests that were never sent
    reverse: bool = False  # whether results come in reversed order
    lose: list[str] = field(default_factory=list)  # of "output" and "error", files that never come to be
    cut: int = 0  # how many downloads of its files break off
    short: int = 0  # how many downloads of its files have half of their bytes, and end as if these were all


@dataclass
class File:
    id: str
    name: str
    content: bytes
    purpose: str
    cut: int = 0
    short: int = 0

    def told(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": CREATED,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


@dataclass
class Batch:
    id: str
    file: File
    plan: Plan
    metadata: dict[str, str]
    size: int
    status: str = "validating"
    asked: int = 0
    output: str | None = None
    error: str | None = None
    good: int = 0
    bad: int = 0

    def told(self) -> dict[str, Any]:
        ended = self.status in ENDS
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": self.file.id,
            "completion_window": "24h",
            "created_at": CREATED,
            "status": self.status,
            "metadata": self.metadata,
            "output_file_id": self.output if ended else None,
            "error_file_id": self.error if ended else None,
            "errors": {"object": "list", "data": self.plan.errors} if self.status == "failed" else None,
            "request_counts": {
                "total": self.size,
                "completed": self.good if ended else self.size // 2 if self.status == "finalizing" else 0,
                "failed": self.bad if ended else 0,
            },
        }


class Office:
    """All files and batches since the server was last configured."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.settings: Settings | None = None

    def look(self) -> None:
        """Begin anew where the server was configured again."""
        if self.settings is self.state.settings:
            return
        self.settings = self.state.settings
        told = self.settings.batches
        self.plans = [Plan(**plan) for plan in told.get("plans", [{}])]
        self.left = {
            (what, kind): told.get(what, {}).get(kind, 0)
            for what in ("lost", "refused", "limited")
            for kind in KINDS
        }
        self.room = told.get("room", 0)
        self.files: dict[str, File] = {}
        self.batches: dict[str, Batch] = {}
        self.downloads: Counter[str] = Counter()

    def takes(self, what: str, kind: str) -> bool:
        """Whether this creation is ``lost``, ``refused``, or done and answered as one too many."""
        self.left[what, kind] -= 1
        return self.left[what, kind] >= 0

    def keep(self, name: str, content: bytes, purpose: str, plan: Plan | None = None) -> File:
        plan = plan or Plan()
        file = File(f"file-{len(self.files) + 1}", name, content, purpose, plan.cut, plan.short)
        self.files[file.id] = file
        return file

    def begin(self, file: File, metadata: dict[str, str]) -> Batch:
        plan = self.plans[min(len(self.batches), len(self.plans) - 1)]
        size = file.content.count(b"\n")
        running = sum(batch.size for batch in self.batches.values() if batch.status not in ENDS)
        if self.room and running + size > self.room:
            message = f"Enqueued token limit reached for m. Limit: {self.room} enqueued tokens."
            plan = Plan(end="failed", errors=[{"code": "token_limit_exceeded", "message": message}])
        batch = Batch(f"batch_{len(self.batches) + 1}", file, plan, metadata, size)
        self.batches[batch.id] = batch
        if plan.end != "failed":
            self._execute(batch)
        return batch

    def ask(self, batch: Batch) -> None:
        """Let a batch go on, as it does each time it is asked about."""
        if batch.status in ENDS:
            return
        batch.asked += 1
        left = batch.plan.polls - batch.asked
        batch.status = "in_progress" if left > 0 else "finalizing" if left == 0 else batch.plan.end

    def _execute(self, batch: Batch) -> None:
        """Answer the requests, whether anybody will ask for the answers or not."""
        plan = batch.plan
        good: list[bytes] = []
        bad: list[bytes] = []
        requests = [json.loads(line) for line in batch.file.content.splitlines()]
        executed = round(plan.share * len(requests))
        for place, request in enumerate(requests):
            fault = plan.lines.get(str(place), "") if place < executed else plan.end
            if place < executed and fault not in ("500", "429", "400", "timeout"):
                self.state.answered[content_hash(request["body"])] += 1
            lines, failed = _result(request, fault, self.state)
            (bad if failed else good).extend(lines)
        batch.good, batch.bad = len(good), len(bad)
        good += [_line(f"strange-{place}", {"choices": []}) for place in range(plan.strange)]
        if plan.reverse:
            good.reverse()
        if good and "output" not in plan.lose:
            batch.output = self.keep("output.jsonl", b"".join(good), "batch_output", plan).id
        if bad and "error" not in plan.lose:
            batch.error = self.keep("error.jsonl", b"".join(bad), "batch_output", plan).id


KINDS = ("files", "batches")
_CODES = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "cancelled": ("batch_cancelled", "The batch was cancelled before this request was executed."),
    "timeout": ("request_timeout", "The call to the model timed out."),
}


def _line(
    key: str, body: dict[str, Any] | None, status: int = 200, told: dict[str, str] | None = None
) -> bytes:
    response = None if body is None else {"status_code": status, "request_id": "r", "body": body}
    return (
        json.dumps({"id": f"r-{key}", "custom_id": key, "response": response, "error": told}).encode() + b"\n"
    )


def _result(request: dict[str, Any], fault: str, state: State) -> tuple[list[bytes], bool]:
    key, body = request["custom_id"], request["body"]
    if fault in _CODES:
        code, message = _CODES[fault]
        return [_line(key, None, told={"code": code, "message": message})], True
    if fault in ("500", "429", "400", "filtered"):
        status = 400 if fault == "filtered" else int(fault)
        code = "content_filter" if fault == "filtered" else ""
        return [_line(key, {"error": {"message": f"Fault {fault}.", "code": code}}, status)], True
    if fault == "missing":
        return [], False
    if state.settings.echo:
        way = state.settings.echo[state.turn() % len(state.settings.echo)]
        status, content = echo(way, max(state.keys, key=len), body)
        start = json.dumps({"custom_id": key, "response": {"status_code": status, "body": 0}})[:-3]
        return [start.encode() + content + b"}}\n"], False
    answer = state.bill(completion(body))
    if fault == "garbled":
        return [_line(key, answer)[:40] + b"\n"], False
    if fault == "empty":
        return [_line(key, {**answer, "choices": []})], False
    return [_line(key, answer)] * (2 if fault == "twice" else 1), False


def add_routes(app: web.Application, state: State) -> None:
    """Let the application keep files and execute batches."""
    office = Office(state)

    @web.middleware
    async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path.startswith(("/v1/files", "/v1/batch", "/batch_counts")):
            office.look()
            refused = None if request.path == "/batch_counts" else refuse(request, state)
            if refused is not None:
                return refused
        response: web.StreamResponse = await handler(request)
        return response

    async def create_file(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        upload: Any = form["file"]
        if office.takes("refused", "files"):
            return error(500, "The server had an error.")
        file = office.keep(upload.filename, upload.file.read(), str(form["purpose"]))
        return _lose(request) if office.takes("lost", "files") else web.json_response(file.told())

    async def create_batch(request: web.Request) -> web.StreamResponse:
        told = await request.json()
        if office.takes("refused", "batches"):
            return error(500, "The server had an error.")
        if told["input_file_id"] not in office.files:
            return error(400, "No such file.")
        batch = office.begin(office.files[told["input_file_id"]], told.get("metadata") or {})
        if office.takes("limited", "batches"):
            return error(429, "Too many requests.")
        return _lose(request) if office.takes("lost", "batches") else web.json_response(batch.told())

    async def list_files(request: web.Request) -> web.Response:
        files = [file for file in office.files.values() if file.purpose == request.query.get("purpose")]
        return _page(request, [file.told() for file in reversed(files)])

    async def list_batches(request: web.Request) -> web.Response:
        return _page(request, [batch.told() for batch in reversed(office.batches.values())])

    async def one_batch(request: web.Request) -> web.Response:
        batch = office.batches.get(request.match_info["id"])
        if batch is None:
            return error(404, "No such batch.")
        office.ask(batch)
        return web.json_response(batch.told())

    async def one_file(request: web.Request) -> web.Response:
        file = office.files.get(request.match_info["id"])
        return error(404, "No such file.") if file is None else web.json_response(file.told())

    async def content(request: web.Request) -> web.StreamResponse:
        file = office.files[request.match_info["id"]]
        office.downloads[file.id] += 1
        if office.downloads[file.id] <= file.short:
            return web.Response(body=half_of(file.content), content_type="application/octet-stream")
        if office.downloads[file.id] > file.cut:
            return web.Response(body=file.content, content_type="application/octet-stream")
        response = web.StreamResponse()
        response.content_length = len(file.content)
        await response.prepare(request)
        await response.write(file.content[: len(file.content) // 2])
        return _lose(request, response)

    async def counts(_: web.Request) -> web.Response:
        files = Counter(file.name for file in office.files.values() if file.purpose == "batch")
        batches = Counter(batch.metadata.get("conjury_shard", "") for batch in office.batches.values())
        ends = Counter(batch.status for batch in office.batches.values())
        return web.json_response(
            {"files": files, "batches": batches, "ends": ends, "downloads": office.downloads}
        )

    app.middlewares.append(guard)
    app.router.add_post("/v1/files", create_file)
    app.router.add_get("/v1/files", list_files)
    app.router.add_get("/v1/files/{id}", one_file)
    app.router.add_get("/v1/files/{id}/content", content)
    app.router.add_post("/v1/batches", create_batch)
    app.router.add_get("/v1/batches", list_batches)
    app.router.add_get("/v1/batches/{id}", one_batch)
    app.router.add_get("/batch_counts", counts)


def half_of(content: bytes) -> bytes:
    """Return the first half of the lines of a file."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2])


def _page(request: web.Request, entries: list[dict[str, Any]]) -> web.Response:
    after = request.query.get("after")
    begin = next((place + 1 for place, entry in enumerate(entries) if entry["id"] == after), 0)
    end = begin + min(int(request.query.get("limit", 20)), 20)
    page = entries[begin:end]
    return web.json_response({"object": "list", "data": page, "has_more": end < len(entries)})


def _lose(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return response or web.Response()
