"""Asks a model through OpenAI's protocol, many requests at a time; whatever speaks it can be asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ...errors import InputError, listed
from ...ledger.exchanges import FINAL, Attempt, Outcome, Request, resolve
from ...tables.safe_text import redact
from ..base import Recorder
from ..endpoints import Endpoint, EndpointChoice, find_endpoint
from ..providers import OPENAI
from .failures import SETTLED, Failure, common_error, parse, read_failure, redirect_error
from .pace import CollectionStopped, Pace
from .responses import route_request
from .transport import CLIENT, NoServerAnswer, Transport, get, run_to_end
from .waits import CONNECT, PATIENT


def served_model(base_url: str, key_variable: str) -> str:
    """Name the one model of a server."""
    endpoint = find_endpoint(base_url, key_variable)
    try:
        answer = get(endpoint, "/models", timeout=30, max_retries=2)
    except NoServerAnswer as failure:
        raise InputError(
            f"{endpoint.base_url} cannot be reached ({failure}); check the address and the server."
        ) from None
    if 300 <= answer.status < 400:
        raise redirect_error(endpoint.base_url)
    models = _listed_models(answer.content) if answer.status < 300 else None
    if models is None:
        error = read_failure(answer.status, answer.content, endpoint.secrets)
        fault = f"does not list its models ({error})"
        raise InputError(f"{endpoint.base_url}: the server {fault}; name one with --model.")
    if len(models) != 1:
        names = listed(redact(model, endpoint.secrets) for model in models)
        fault = f"has {len(models)} models ({names})"
        raise InputError(f"{endpoint.base_url}: the server {fault}; name one with --model.")
    return redact(models[0], endpoint.secrets)


def _listed_models(content: bytes) -> list[str] | None:
    """Read a list of models; None where the content is none."""
    answer = parse(content)
    models = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(models, list) or not all(isinstance(model, dict) and "id" in model for model in models):
        return None
    return [str(model["id"]) for model in models]


def server_version(endpoint: Endpoint) -> dict[str, str]:
    """Return the version of a server that states one, as vLLM's does under /version; it is sent no key."""
    parts = urlsplit(endpoint.base_url)
    if parts.hostname == urlsplit(OPENAI.url).hostname:
        return {}
    root = replace(endpoint, base_url=urlunsplit((parts.scheme, parts.netloc, "", "", "")), key="", own=False)
    try:
        answer = get(root, "/version", timeout=CONNECT)
    except NoServerAnswer:
        return {}
    fields = parse(answer.content) if answer.status == 200 else None
    version = fields.get("version") if isinstance(fields, dict) else None
    return {"server_version": redact(version, endpoint.secrets)[:100]} if isinstance(version, str) else {}


PATIENCE = 100  # requests in a row that may fail before a run gives up, or twice those in flight
POLL = 0.1  # seconds between looks at whether to stop
NOTE = 1.0  # seconds between notes of a wait that the server asked for, and the shortest that is noted
WAIT = 0.02  # seconds between looks at whether costs leave room for another request


class OpenAIBackend:
    """Chat completions of OpenAI and of every server that speaks its protocol."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 64,
        timeout: float = 300.0,
        max_retries: int = 5,
        requests_per_minute: float | None = None,
        grace: float = 20.0,
        named: Sequence[bool] = (True, True),
        api: str = "chat",
    ) -> None:
        self.model = model
        self.api = api
        self.named = EndpointChoice(*named)
        self.endpoint = find_endpoint(base_url, key_variable, named=self.named)
        self.concurrency = concurrency
        self.timeout = timeout
        self.max_retries = max_retries
        self.requests_per_minute = requests_per_minute
        self.grace = grace
        self.answered = False
        self.pace = Pace(concurrency, requests_per_minute)

    def settings(self) -> dict[str, Any]:
        """Return model, address and limits, without secrets."""
        return {
            "backend": "openai",
            "model": self.model,
            "base_url": self.endpoint.base_url,
            "key_variable": self.endpoint.key_variable,
            "concurrency": self.concurrency,
            "timeout": self.timeout,
            "max_retries": self.max_retries,
            "requests_per_minute": self.requests_per_minute,
            "client": CLIENT,
            **({} if self.api == "chat" else {"api": self.api}),
            **server_version(self.endpoint),
        }

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer the requests; see :class:`conjury.inference.backends.base.Backend`."""
        run = _Run(self, requests, recorder)
        run_to_end(run.run(), run.interrupt)


class _Run:
    """One run: workers that take a request each, until none is left or it is time to stop."""

    def __init__(self, backend: OpenAIBackend, requests: Iterator[Request], recorder: Recorder) -> None:
        self.backend = backend
        self.requests = requests
        self.recorder = recorder
        self.pace = backend.pace
        self.error: Exception | None = None
        self.interrupted = False
        self.reached = False
        self.failed_in_a_row = 0

    def interrupt(self) -> None:
        """End as soon as possible."""
        self.interrupted = True

    async def run(self) -> None:
        """Ask until nothing is left or it is time to stop."""
        backend = self.backend
        self.pace.open()
        transport = Transport(
            backend.endpoint,
            self.pace,
            model=backend.model,
            timeout=backend.timeout,
            max_retries=backend.max_retries,
            capped=self.recorder.capped,
        )
        async with transport as client:
            workers = [asyncio.create_task(self._work(client)) for _ in range(backend.concurrency)]
            try:
                await self._until_done(workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        if self.error is not None:
            raise self.error

    async def _until_done(self, workers: list[asyncio.Task[None]]) -> None:
        deadline = noted = 0.0
        while (await asyncio.wait(workers, timeout=POLL))[1]:
            if self.interrupted or (deadline and time.monotonic() > deadline):
                return
            if self.pace.waiting:
                self.error = self.error or self._long_wait()
                if self.pace.wait >= NOTE and time.monotonic() >= noted + NOTE:
                    noted = time.monotonic()
                    self.recorder.note_wait(self.pace.wait)
            if not deadline and self._stopping():
                deadline = time.monotonic() + self.backend.grace
                self.pace.close()

    def _stopping(self) -> bool:
        return self.error is not None or self.recorder.stopping()

    async def _work(self, client: Transport) -> None:
        try:
            while not self._stopping():
                if self.recorder.full():
                    await asyncio.sleep(WAIT)
                    continue
                request = next(self.requests, None)
                if request is None:
                    return
                await self._ask(client, request)
        except Exception as error:
            self.error = self.error or error

    async def _ask(self, client: Transport, request: Request) -> None:
        attempts: list[Attempt] = []
        try:
            outcome = await self._outcome(client, request, attempts)
        except CollectionStopped:
            outcome = _cancelled_outcome(request, attempts)
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.recorder.record(_cancelled_outcome(request, attempts, sent=True))
            raise
        self.recorder.record(outcome)
        self.backend.answered |= outcome.body is not None
        if outcome.kind:
            self.error = self.error or self._long_wait()
        self._keep_patience(outcome)

    async def _outcome(self, client: Transport, request: Request, attempts: list[Attempt]) -> Outcome:
        path, body = route_request(self.backend.api, resolve(request.body, self.recorder.media))
        try:
            answer = await client.post(path, body, attempts)
        except NoServerAnswer as end:
            return self._unreachable(request, attempts, end)
        self.reached = True
        failure = answer.reply.failure
        fatal = None if failure is None else self._common_error(failure)
        if fatal is not None:
            if any(attempt.billed for attempt in attempts):
                self.recorder.record(_cancelled_outcome(request, attempts))
            raise fatal
        return answer.reply.outcome(request.key, answer.content, attempts=attempts, seconds=answer.seconds)

    @property
    def _endpoint(self) -> Endpoint:
        return self.backend.endpoint

    def _common_error(self, failure: Failure) -> InputError | None:
        return common_error(
            failure,
            model=self.backend.model,
            base_url=self._endpoint.base_url,
            key_variable=self._endpoint.key_variable if self._endpoint.key else "",
            answered=self.backend.answered,
        )

    def _unreachable(self, request: Request, attempts: list[Attempt], failure: NoServerAnswer) -> Outcome:
        error = attempts[-1].error
        if not self.reached and not failure.sent:
            raise InputError(
                f"{self._endpoint.base_url} cannot be reached ({error}); check the address and the server."
            ) from None
        return _failed_outcome(request, attempts, failure.kind, error)

    def _long_wait(self) -> InputError | None:
        wait = self.pace.wait
        if wait <= PATIENT:
            return None
        until = datetime.now().astimezone() + timedelta(seconds=wait)
        return InputError(
            f"{self._endpoint.base_url} asks to wait for {wait / 60:,.0f} minutes, until "
            f"{until:%Y-%m-%d %H:%M %Z}; run the same command again then to resume."
        )

    def _keep_patience(self, outcome: Outcome) -> None:
        self.failed_in_a_row = self.failed_in_a_row + 1 if outcome.kind else 0
        if self.failed_in_a_row >= max(PATIENCE, 2 * self.backend.concurrency):
            remedy = "check the server, then run the same command again"
            remedy = SETTLED if outcome.kind in FINAL else remedy
            raise InputError(
                f"The last {self.failed_in_a_row} requests to {self._endpoint.base_url} all failed "
                f"({outcome.error}); {remedy}."
            )


def _failed_outcome(
    request: Request, attempts: list[Attempt], kind: str, error: str, refused_body: bytes | None = None
) -> Outcome:
    seconds = attempts[-1].seconds if attempts else 0.0
    return Outcome(
        request.key,
        kind=kind,
        error=error,
        seconds=seconds,
        attempts=tuple(attempts),
        refused_body=refused_body,
    )


def _cancelled_outcome(request: Request, attempts: list[Attempt], sent: bool = False) -> Outcome:
    error = "stopped before an answer arrived"
    ended = [*attempts, Attempt(0, error, 0.0, billed=True)] if sent else attempts
    return _failed_outcome(request, ended, "cancelled", error)
