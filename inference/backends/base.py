"""What every backend is: something that takes requests and hands back outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from ..ledger.exchanges import Outcome, Request


class Recorder(Protocol):
    """What a backend is given besides requests."""

    def record(self, outcome: Outcome) -> None:
        """Take the end of a request; it is written soon after, from any thread; waits where many queue up."""

    def stopping(self) -> bool:
        """Whether no further requests should be sent, because of the user or the budget."""

    def full(self) -> bool:
        """Whether the next request has to wait until others have ended, so that a limit on costs is kept."""

    @property
    def capped(self) -> bool:
        """Whether there is a limit on costs: what may have been billed is not repeated unasked."""

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Media type and content of a stored image."""


class Backend(Protocol):
    """Asks one model; ``run`` returns when ``requests`` is exhausted or ``recorder.stopping()``.

    Every request that ``run`` took from the iterator and sent ends in exactly one ``recorder.record``.
    Requests are taken lazily, not many more than can be in flight. What concerns all requests, such as a
    wrong key or an unknown model, is raised as InputError instead of being recorded 10,000 times.
    """

    def settings(self) -> dict[str, Any]:
        """Description of the model and its engine, without secrets; kept with the run."""

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer the requests."""
