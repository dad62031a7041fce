"""Faults of batch interfaces at their worst moments, on scripted providers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("openai")

from fakes.batch_run import make_requests
from fakes.recorder import LedgerRecorder

from conjury.inference.backends.anthropic.anthropic_batches import AnthropicBatches
from conjury.inference.backends.batches import batch_backend as batch_backend
from conjury.inference.backends.batches import service
from conjury.inference.backends.batches.batch_backend import BatchBackend
from conjury.inference.backends.batches.service import (
    ProviderBusy,
    ProviderUnreachable,
    SentShard,
    UncertainBatch,
    Waits,
)
from conjury.inference.backends.batches.shards import ShardLimits
from conjury.inference.backends.endpoints import Endpoint
from conjury.inference.backends.google.google_batches import GoogleBatches
from conjury.inference.backends.openai.client import http
from conjury.inference.backends.openai.openai_batches import OpenAIBatches
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger

Handler = Callable[[Any], Any]
ANTHROPIC_429 = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}}


class Killed(BaseException):
    """Stands for the death of the process."""


def make_backend(kind: type, folder: Path, handle: Handler, requests: int) -> BatchBackend:
    service = kind(Endpoint("http://x", "K", ""), "m", Waits(pause=0.0, max_retries=0))
    service.exchanges.client = http.Client(transport=http.MockTransport(handle))
    return BatchBackend("judge", "m", folder / "batches", service, limits=ShardLimits(requests=requests))


def submit(backend: BatchBackend, ledger: Ledger, n: int) -> int:
    return backend.submit(ledger.pending(make_requests(n)), LedgerRecorder(ledger), ledger)


def collect(backend: BatchBackend, ledger: Ledger) -> None:
    backend.poll(ledger)
    backend.fetch(LedgerRecorder(ledger), ledger)


def count(ledger: Ledger) -> dict[str, int]:
    return {one.state: one.n for one in ledger.counts()}


class Messages:
    """Anthropic with batches that run until ``ended``; ``lost`` is what the next creation ends in."""

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self.lost: BaseException | None = None
        self.limited = self.ended = False
        self.lines: Callable[[list[dict[str, Any]]], list[str]] = lambda requests: [
            answer(request["custom_id"]) for request in requests
        ]

    def __call__(self, request: Any) -> Any:
        name = request.url.path.rsplit("/", 1)[-1]
        if request.method == "POST":
            self.batches.append(json.loads(request.read())["requests"])
            lost, self.lost = self.lost, None
            if lost is not None:
                self.limited = True
                raise lost
            return http.Response(200, json=self.state(len(self.batches)))
        if name == "batches":
            if self.limited:
                return http.Response(429, json=ANTHROPIC_429)
            newest = [self.state(n) for n in range(len(self.batches), 0, -1)]
            return http.Response(200, json={"data": newest, "has_more": False})
        if name == "results":
            requests = self.batches[int(request.url.path.split("/")[-2].removeprefix("b")) - 1]
            return http.Response(200, text="".join(f"{line}\n" for line in self.lines(requests)))
        return http.Response(200, json=self.state(int(name.removeprefix("b"))))

    def state(self, number: int) -> dict[str, Any]:
        n = len(self.batches[number - 1])
        return {
            "id": f"b{number}",
            "processing_status": "ended" if self.ended else "in_progress",
            "request_counts": {"succeeded" if self.ended else "processing": n},
            "results_url": "there" if self.ended else None,
        }


def answer(name: str, text: str = "A") -> str:
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    return json.dumps({"custom_id": name, "result": {"type": "succeeded", "message": message}})


@pytest.mark.parametrize("page", ["<html>Sign in</html>", "[]", '"text"', "null", '{"data": 5}'])
@pytest.mark.parametrize(
    "ask",
    [
        lambda service, path: service.find_file("a.jsonl"),
        lambda service, path: service.upload(path, "a.jsonl"),
        lambda service, path: service.find_batch(SentShard("s", path, "f", 1, frozenset())),
        lambda service, path: service.create(SentShard("s", path, "f", 1, frozenset())),
        lambda service, path: service.retrieve("b"),
        lambda service, path: service.download("f", path.with_name("out"), "b"),
    ],
    ids=["find_file", "upload", "find_batch", "create", "retrieve", "download"],
)
def test_an_answer_that_is_no_json_of_openai_is_a_sentence(ask, page, tmp_path):
    service = OpenAIBatches(Endpoint("http://x", "K", ""), "m", Waits(pause=0.0, max_retries=0))
    kind = {"content-type": "text/html" if page.startswith("<") else "application/json"}
    answered = http.MockTransport(lambda request: http.Response(200, text=page, headers=kind))
    service.client = service.client.with_options(http_client=http.Client(transport=answered))
    (tmp_path / "a.jsonl").write_text("{}")
    with pytest.raises(
        ProviderUnreachable, match=r"http://x did not (return a JSON object|answer about .* has no id)"
    ):
        ask(service, tmp_path / "a.jsonl")


@pytest.mark.parametrize("lost", [http.ReadError("reset"), Killed()])
def test_a_lost_batch_is_not_sent_again_after_the_list_of_batches_was_refused(tmp_path, ledger, lost):
    provider = Messages()
    provider.lost = lost
    backend = make_backend(AnthropicBatches, tmp_path, provider, 4)
    with pytest.raises((ProviderBusy, Killed)):
        submit(backend, ledger, 4)
    (batch,) = ledger.batches()
    assert (batch.state, batch.file_id) == ("uploaded", "after none")
    backend = make_backend(AnthropicBatches, tmp_path, provider, 4)
    with pytest.raises(ProviderBusy):
        submit(backend, ledger, 4)
    provider.limited = False
    with pytest.raises(UncertainBatch):
        submit(backend, ledger, 4)
    provider.ended = True
    assert submit(backend, ledger, 4) == 0
    collect(backend, ledger)
    assert count(ledger) == {"answered": 4}
    assert len(provider.batches) == 1


def test_a_creation_that_is_refused_after_one_without_an_answer_keeps_the_mark(tmp_path, ledger):
    provider, posts = Messages(), []

    def handle(request: Any) -> Any:
        if request.method == "GET":
            return provider(request)
        posts.append(request)
        return http.Response(529 if len(posts) == 1 else 429, json=ANTHROPIC_429)

    with pytest.raises(ProviderBusy):
        submit(make_backend(AnthropicBatches, tmp_path, handle, 4), ledger, 4)
    (batch,) = ledger.batches()
    assert (len(posts), batch.file_id, batch.detail) == (2, "after none", "")


def attempts(folder: Path, where: str = "1") -> int:
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        return int(db.execute(f"SELECT count(*) FROM attempts WHERE {where}").fetchone()[0])


class Gemini:
    """Google: files by name, batches that run; ``quota`` limits their requests, ``state`` is theirs."""

    def __init__(self, quota: int = 10**9, **state: Any) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.sizes: list[int] = []
        self.quota, self.state, self.uploads = quota, state, 0
        self.refusal = (404, "NOT_FOUND")
        self.deleted = False

    def __call__(self, request: Any) -> Any:
        path = request.url.path
        name = path.removeprefix("/v1beta/")
        if path == "/upload/v1beta/files":
            return http.Response(200, headers={"x-goog-upload-url": "http://x/upload/put"}, json={})
        if path == "/upload/put":
            self.uploads += 1
            self.files[f"files/f{self.uploads}"] = request.read()
            return http.Response(200, json={"file": {"name": f"files/f{self.uploads}"}})
        if name in ("files", "batches"):
            return http.Response(200, json={"operations": list(self.batches.values())})
        if request.method == "POST":
            return self.create(json.loads(request.read())["batch"])
        if path.startswith("/download"):
            lines = next(iter(self.files.values())).splitlines()[:3]
            return http.Response(200, content=b"".join(generated(json.loads(line)["key"]) for line in lines))
        known = {**{file: {} for file in self.files}, **({} if self.deleted else self.batches)}
        return http.Response(200, json=known[name]) if name in known else problem(*self.refusal)

    def create(self, batch: dict[str, Any]) -> Any:
        file = self.files.get(batch["inputConfig"]["fileName"])
        if file is None:
            return problem(*self.refusal)
        n = file.count(b"\n")
        self.sizes.append(n)
        if n > self.quota:
            return problem(429, "RESOURCE_EXHAUSTED")
        name = f"batches/b{len(self.batches) + 1}"
        metadata = {"displayName": batch["displayName"], "state": "BATCH_STATE_RUNNING"}
        self.batches[name] = {"name": name, "metadata": {**metadata, **self.state.get("metadata", {})}}
        self.batches[name] |= {key: value for key, value in self.state.items() if key != "metadata"}
        return http.Response(200, json=self.batches[name])


def problem(status: int, name: str) -> Any:
    return http.Response(status, json={"error": {"code": status, "status": name, "message": f"{name}."}})


def generated(key: str) -> bytes:
    candidate = {"content": {"parts": [{"text": "A"}]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 1}
    return (
        json.dumps({"key": key, "response": {"candidates": [candidate], "usageMetadata": usage}}).encode()
        + b"\n"
    )


def failed(code: int, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"state": "BATCH_STATE_FAILED", **metadata},
        "done": True,
        "error": {"code": code, "message": "Internal."},
    }


STATS = {"requestCount": "4", "successfulRequestCount": "3"}


@pytest.mark.parametrize("fetched", [True, False])
def test_answers_of_a_failed_batch_of_google_are_collected_or_not_paid_twice_unasked(
    tmp_path, ledger, fetched
):
    output = {"output": {"responsesFile": "files/result"}} if fetched else {}
    provider = Gemini(**failed(13, batchStats=STATS, **output))
    backend = make_backend(GoogleBatches, tmp_path, provider, 4)
    submit(backend, ledger, 4)
    with nullcontext() if fetched else pytest.raises(InputError, match="conjury run retry"):
        collect(backend, ledger)
    assert count(ledger) == ({"answered": 3, "server": 1} if fetched else {"rejected": 4})
    assert submit(backend, ledger, 4) == (1 if fetched else 0)


@pytest.mark.parametrize(("code", "billed"), [(13, 4), (3, 0)])
def test_requests_of_a_batch_that_failed_in_between_count_as_possibly_billed(tmp_path, ledger, code, billed):
    backend = make_backend(GoogleBatches, tmp_path, Gemini(**failed(code)), 4)
    submit(backend, ledger, 4)
    with pytest.raises(InputError, match=r"refused the batch of 4 requests .*Internal"):
        collect(backend, ledger)
    assert attempts(tmp_path, "billed") == attempts(tmp_path) == billed
    assert submit(backend, ledger, 4) == 4


def test_a_shard_over_the_quota_of_google_is_split_until_it_fits(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(batch_backend, "SMALLEST", 1)
    provider = Gemini(quota=3)
    backend = make_backend(GoogleBatches, tmp_path, provider, 8)
    submit(backend, ledger, 8)
    for _ in range(4):
        submit(backend, ledger, 8)
    assert provider.sizes == [8, 4, 2, 2, 4]
    assert [batch.n for batch in ledger.batches() if batch.state == "submitted"] == [2, 2]
    assert GoogleBatches.limits.requests <= 5_000


def test_a_shard_is_not_split_while_another_batch_runs(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(batch_backend, "SMALLEST", 1)
    provider = Gemini()
    backend = make_backend(GoogleBatches, tmp_path, provider, 4)
    submit(backend, ledger, 4)
    provider.quota = 0
    submit(backend, ledger, 8)
    submit(backend, ledger, 8)
    assert [batch.n for batch in ledger.batches()] == [4, 4]


@pytest.mark.parametrize("refusal", [(404, "NOT_FOUND"), (403, "PERMISSION_DENIED")])
def test_a_shard_whose_uploaded_file_was_deleted_is_uploaded_again(tmp_path, ledger, refusal):
    provider = Gemini(quota=0)
    provider.refusal = refusal
    backend = make_backend(GoogleBatches, tmp_path, provider, 4)
    submit(backend, ledger, 4)
    provider.files.clear()
    provider.quota = 4
    assert submit(backend, ledger, 4) == 0
    (batch,) = ledger.batches()
    assert (batch.state, batch.file_id, provider.uploads) == ("submitted", "files/f2", 2)


def test_a_model_without_access_is_no_missing_file(tmp_path, ledger, monkeypatch):
    provider = Gemini()
    monkeypatch.setattr(provider, "create", lambda _: problem(403, "PERMISSION_DENIED"))
    with pytest.raises(InputError, match="use the model m"):
        submit(make_backend(GoogleBatches, tmp_path, provider, 4), ledger, 4)
    assert provider.uploads == 1


def test_results_that_come_with_another_status_than_success_are_not_read(tmp_path, ledger):
    provider = Messages()
    provider.ended = True

    def handle(request: Any) -> Any:
        answered = provider(request)
        return http.Response(300, text=answered.text) if request.url.path.endswith("results") else answered

    backend = make_backend(AnthropicBatches, tmp_path, handle, 2)
    submit(backend, ledger, 2)
    with pytest.raises(InputError):
        collect(backend, ledger)
    assert "answered" not in count(ledger)


def test_pauses_double_before_a_batch_without_an_answer_is_created_again(monkeypatch):
    slept: list[float] = []

    def send() -> str:
        raise ProviderUnreachable("away")

    monkeypatch.setattr(service, "time", SimpleNamespace(sleep=slept.append))
    with pytest.raises(ProviderUnreachable):
        service.create_once(send, lambda: None, 0.5)
    assert slept == [0.5, 1.0, 2.0, 4.0]


def test_a_batch_without_counts_has_none_of_none():
    service = OpenAIBatches(Endpoint("http://x", "K", ""), "m", Waits(pause=0.0, max_retries=0))
    state = {"id": "b", "object": "batch", "status": "validating"}
    answered = http.MockTransport(lambda request: http.Response(200, json=state))
    service.client = service.client.with_options(http_client=http.Client(transport=answered))
    progress = service.retrieve("b")
    assert (progress.done, progress.total) == (0, 0)


def test_requests_of_a_batch_that_is_out_of_sight_wait_for_it_or_for_retry(tmp_path, ledger):
    provider = Gemini()
    backend = make_backend(GoogleBatches, tmp_path, provider, 4)
    submit(backend, ledger, 4)
    for again in (True, False):
        provider.deleted = True
        for _ in range(2):
            with pytest.raises(
                InputError, match=r"has no batch batches/b1; check base_url.*`conjury run retry"
            ):
                collect(backend, ledger)
        assert count(ledger) == {"rejected": 4}
        assert submit(backend, ledger, 4) == 0
        if again:
            provider.deleted = False
            collect(backend, ledger)
            assert [batch.state for batch in ledger.batches()] == ["submitted"]
    assert ledger.ask_again(request.key for request in make_requests(4)) == 4
    collect(backend, ledger)
    assert submit(backend, ledger, 4) == 4


def test_a_wait_before_the_next_attempt_is_told_until_it_is_over():
    def busy(request: Any) -> Any:
        return http.Response(429, headers={"retry-after": "0.05"}, json=ANTHROPIC_429)

    provider = AnthropicBatches(Endpoint("http://x", "K", ""), "m", Waits(pause=0.01, max_retries=1))
    exchanges = provider.exchanges
    exchanges.client = http.Client(transport=http.MockTransport(busy))
    notes: list[float] = []
    exchanges.note = notes.append
    with pytest.raises(InputError):
        exchanges.ask("GET", "http://x/batches", "the batch")
    assert 0.03 < notes[0] <= 0.05
    assert notes[-1] == 0.0
