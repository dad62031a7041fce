"""Exchanges with a provider over plain HTTP, for interfaces without a client of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...tables.safe_text import redact
from ..endpoints import Endpoint
from ..openai.client import http
from ..openai.failures import parse
from ..openai.waits import CONNECT, PATIENT, asked_wait
from .service import (
    ProviderUnreachable,
    Waits,
    download_whole,
    gone,
    no_answer,
    no_json,
    refusal,
    store_lines,
)

Content = Callable[[], Iterable[bytes]]
NOTE = 1.0  # seconds between notes of a wait


class Exchanges:
    """Exchanges with one provider, repeated with growing waits where that is safe."""

    # Addresses are paths below that of the endpoint; no redirection is followed, so the key in `headers` goes
    # nowhere else.

    def __init__(self, endpoint: Endpoint, model: str, headers: Mapping[str, str], waits: Waits) -> None:
        self.endpoint, self.model, self.waits = endpoint, model, waits
        self.note: Callable[[float], object] = float  # told of seconds until the next attempt
        timeout = http.Timeout(waits.timeout, connect=min(waits.timeout, CONNECT))
        self.client = http.Client(headers=dict(headers), timeout=timeout, trust_env=not endpoint.direct)

    def ask(
        self,
        method: str,
        url: str,
        what: str,
        *,
        content: Content | None = None,
        retry: bool = True,
        **options: Any,
    ) -> Any:
        """Return the response to a request; ``content`` is called for each attempt."""
        attempts = 1 + self.waits.max_retries * retry
        for attempt in range(attempts):
            body = {} if content is None else {"content": content()}
            problem, wait = self._attempt(method, url, what, {**options, **body})
            if not isinstance(problem, InputError):
                return problem
            if not isinstance(problem, ProviderUnreachable) or attempt == attempts - 1:
                raise problem
            self._pause(min(max(wait, self.waits.pause * 2**attempt), PATIENT))
        raise AssertionError

    def _pause(self, seconds: float) -> None:
        """Wait, and tell each second how long it still takes until the next attempt."""
        end = time.monotonic() + seconds
        while (remainder := end - time.monotonic()) > 0:
            self.note(remainder)
            time.sleep(min(remainder, NOTE))
        self.note(0.0)

    def read(self, method: str, url: str, what: str, **options: Any) -> dict[str, Any]:
        """Return the JSON object that a request is answered with."""
        parsed = parse(self.ask(method, url, what, **options).content)
        if not isinstance(parsed, dict):
            raise no_json(self.endpoint, what)
        return parsed

    def download(self, url: str, path: Path, what: str, batch_id: str, lines: int) -> None:
        """Store a file of results compressed; it is whole if it has so many lines."""

        def store() -> tuple[int, int]:
            try:
                with self.client.stream("GET", url) as response:
                    if response.status_code == 404:
                        raise gone(self.endpoint, what, batch_id)
                    if response.status_code >= 300:
                        response.read()
                        raise self._refused(response, f"the file {what}")
                    return store_lines(response.iter_bytes(1 << 20), path, self.endpoint.secrets)
            except http.HTTPError as error:
                raise self._silent(error, f"the file {what}") from None

        download_whole(self.endpoint, store, f"the file {what}", lines=lines)

    def _attempt(self, method: str, url: str, what: str, options: dict[str, Any]) -> tuple[Any, float]:
        """Return a response, or the error that came in its place with the seconds to wait."""
        try:
            response = self.client.request(method, url, **options)
        except http.HTTPError as error:
            return self._silent(error, what), 0.0
        if response.status_code < 300:
            return response, 0.0
        return self._refused(response, what), asked_wait(
            response.status_code, response.headers, parse(response.content)
        )

    def _refused(self, response: Any, what: str) -> InputError:
        return refusal(self.endpoint, self.model, response.status_code, response.content, what)

    def _silent(self, error: Exception, what: str) -> ProviderUnreachable:
        reason = redact(str(error) or type(error).__name__, self.endpoint.secrets)
        return no_answer(self.endpoint, what, reason)
