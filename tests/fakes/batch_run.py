"""A run in batches for tests: requests, a recorder, and a process that dies at a chosen step.

``python -m fakes.batch_run URL FOLDER N '[["create+1"], ["upload-2", "flush+1"], ...]'`` makes one run for
each list. Its first process dies at the first step named, the next at the second, and so on; a last one goes
on to the end. A step is the n-th call of a method by a process: - dies before, + after it. In place of a
step, ``list+429`` ends a process by an error, since the list of batches is refused.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from fakes.answers import completion, content_hash
from fakes.gemini import generated
from fakes.messages import message
from fakes.recorder import LedgerRecorder
from fakes.server import TESTS, FakeServer

from conjury.inference.backends.anthropic.anthropic_batches import AnthropicBatches
from conjury.inference.backends.anthropic.anthropic_lines import message_params
from conjury.inference.backends.batches.batch_backend import KEPT, BatchBackend
from conjury.inference.backends.batches.service import ProviderBusy, Waits
from conjury.inference.backends.batches.shards import ShardLimits
from conjury.inference.backends.endpoints import find_endpoint
from conjury.inference.backends.google.gemini_lines import content_request
from conjury.inference.backends.google.google_batches import GoogleBatches
from conjury.inference.backends.openai.openai_batches import OpenAIBatches
from conjury.inference.backends.providers import OPENAI
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request, request_key

DIED = 9
LIMITED = "list+429"  # a process to which the list of batches is refused by 429
SERVED = ("upload", "create", "retrieve", "download")  # steps of all services
STEPS: dict[type, tuple[str, ...]] = {
    Ledger: ("plan_batch", "update_batch", "record", "flush"),
    OpenAIBatches: SERVED,
    Path: ("replace", "unlink"),
}
ROUNDS = 12


def make_requests(n: int, about: str = "", judge_id: str = "judge") -> Iterator[Request]:
    """Make n requests, no two with the same content."""
    for place in range(n):
        body = {"model": "m", "messages": [{"role": "user", "content": f"Item {place} {about}ü\u2028"}]}
        yield Request(request_key(judge_id, "p", str(place), 1, body), judge_id, "p", str(place), 1, body)


SERVICES: dict[str, Any] = {"openai": OpenAIBatches, "anthropic": AnthropicBatches, "google": GoogleBatches}


def make_backend(url: str, folder: Path, requests: int = 4, **settings: Any) -> BatchBackend:
    given = {name: settings.pop(name) for name in ("pause", "timeout", "max_retries") if name in settings}
    waits = Waits(**{"pause": 0.01, "timeout": 10.0, **given})
    limits = settings.pop("limits", ShardLimits(requests=requests))
    endpoint = find_endpoint(url, settings.pop("key_variable", OPENAI.key_variable))
    service = SERVICES[settings.pop("provider", "openai")](endpoint, "m", waits, **settings)
    return BatchBackend("judge", "m", folder / "batches", service, limits=limits)


def submit(backend: BatchBackend, ledger: Ledger, n: int) -> int:
    return backend.submit(ledger.pending(make_requests(n)), LedgerRecorder(ledger), ledger)


def one_round(backend: BatchBackend, ledger: Ledger, n: int) -> dict[int, str]:
    """Send n requests once and return the kinds of their outcomes."""
    recorder = LedgerRecorder(ledger)
    backend.submit(ledger.pending(make_requests(n)), recorder, ledger)
    backend.wait(recorder, ledger, interval=0.002)
    return recorder.kinds()


def states(ledger: Ledger) -> list[str]:
    return [batch.state for batch in ledger.batches()]


def details(ledger: Ledger) -> list[str]:
    return [str(batch.detail) for batch in ledger.batches()]


REQUEST = {"anthropic": message_params, "google": content_request}
ANSWER: dict[str, Any] = {"anthropic": message, "google": generated}


def sent_body(request: Request, provider: str) -> dict[str, Any]:
    """Return the body of a request as a provider receives it."""
    return REQUEST[provider](request.body) if provider in REQUEST else request.body


def assert_all_answered(ledger: Ledger, n: int, provider: str = "openai", about: str = "") -> None:
    """Every request has the answer that belongs to it, as it came, and one."""
    for request in make_requests(n, about):
        answers = [json.loads(answer) for answer in ledger.answer_bodies(request.key)]
        if provider in ANSWER:
            answers = [answer["original"] for answer in answers]
        assert answers == [ANSWER.get(provider, completion)(sent_body(request, provider))]


def collect(backend: BatchBackend, ledger: Ledger, requests: Callable[[], Iterator[Request]]) -> None:
    """Submit and wait until nothing is left to ask."""
    recorder = LedgerRecorder(ledger)
    for _ in range(ROUNDS):
        left_behind = ledger.batches(live=True)
        sent = backend.submit(ledger.pending(requests()), recorder, ledger)
        backend.wait(recorder, ledger, interval=0.002)
        if not sent and not left_behind:
            return
    raise AssertionError(f"not done after {ROUNDS} rounds")


def _die_at(step: str, provider: str) -> None:
    if step == LIMITED:
        SERVICES[provider]._listed = _limited
        return
    name, after, number = re.fullmatch(r"(\w+)([-+])(\d+)", step).groups()  # type: ignore[union-attr]
    kind = SERVICES[provider] if name in SERVED else next(kind for kind in STEPS if name in STEPS[kind])
    method, calls = getattr(kind, name), count(1)

    def call(*args: Any, **named: Any) -> Any:
        last = next(calls) == int(number)
        if last and after == "-":
            os._exit(DIED)
        result = method(*args, **named)
        if last:
            os._exit(DIED)
        return result

    setattr(kind, name, call)


def _limited(*_: Any, **__: Any) -> Any:
    raise ProviderBusy("the list of batches is limited")


def _process(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(url: str, folder: Path, n: int, provider: str, step: str) -> None:
    if step:
        _die_at(step, provider)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        backend = make_backend(url, folder, requests=2, provider=provider)
        collect(backend, ledger, lambda: make_requests(n, folder.name))


def _main(url: str, folder: Path, n: int, runs: list[list[str]], provider: str) -> None:
    make_backend(url, folder, provider=provider)  # imports what each process would import anew
    for steps in runs:
        place = folder / " ".join(steps)
        place.mkdir()
        codes = [_process(partial(_run, url, place, n, provider, step)) for step in (*steps, "")]
        print(json.dumps([place.name, codes]), flush=True)


def crash(url: str, folder: Path, n: int, runs: list[list[str]], provider: str = "openai") -> list[list[int]]:
    """Make runs that die at the steps given; return the exit codes of their processes."""
    options = ["-W", "ignore::DeprecationWarning", "-m", "fakes.batch_run"]
    ran = subprocess.run(
        [sys.executable, *options, url, str(folder), str(n), json.dumps(runs), provider],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return [json.loads(line)[1] for line in ran.stdout.splitlines()]


def left_files(folder: Path) -> list[str]:
    """Return the files of a run's batches that are left, except results that are kept."""
    return sorted(path.name for path in (folder / "batches").iterdir() if path.name != KEPT)


def assert_nothing_lost_or_paid_twice(
    server: FakeServer, folder: Path, n: int, runs: list[list[str]], provider: str = "openai"
) -> None:
    """Every request has its answer, and the server has answered it once."""
    answered = server.counts()["answered"]
    for steps in runs:
        name = " ".join(steps)
        with Ledger.open(folder / name / "ledger.sqlite", write=False) as ledger:
            assert_all_answered(ledger, n, provider, name)
        for request in make_requests(n, name):
            assert answered[content_hash(sent_body(request, provider))] == 1, name
        assert left_files(folder / name) == []


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]), sys.argv[5])
