"""A recorder that keeps outcomes in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome, Request, request_key


class MemoryRecorder:
    """Keep outcomes in order of arrival; ``until`` says when to stop, from the number of outcomes."""

    def __init__(
        self,
        until: Callable[[int], bool] = lambda _: False,
        media: dict[str, tuple[str, bytes]] | None = None,
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.until = until
        self.stored = media or {}
        self.waits: list[float] = []

    def record(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def stopping(self) -> bool:
        return self.until(len(self.outcomes))

    capped = False

    def note_wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def full(self) -> bool:
        return False

    def media(self, sha256: str) -> tuple[str, bytes]:
        return self.stored[sha256]


class LedgerRecorder(MemoryRecorder):
    """Hands outcomes on to a ledger and keeps them; ``stop`` makes it ask for an end."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger, self.stop = ledger, False

    def record(self, outcome: Outcome) -> None:
        super().record(outcome)
        self.ledger.record(outcome)

    def stopping(self) -> bool:
        return self.stop

    def kinds(self) -> dict[int, str]:
        """Kind of each outcome by the number of its subject; no request has two outcomes."""
        subjects = {one.key: int(one.subject_id) for part in self.ledger.answers() for one in part}
        kinds = {subjects[outcome.key]: outcome.kind for outcome in self.outcomes}
        assert len(kinds) == len(self.outcomes)
        return dict(sorted(kinds.items()))


def made_up_requests(n: int, **settings: Any) -> list[Request]:
    """Return ``n`` requests for one letter each, with different posts."""
    requests = []
    for number in range(n):
        body = {
            "model": "tiny",
            "messages": [{"role": "user", "content": f"Which post breaks the rule, A or B? Post {number}."}],
            "max_tokens": 1,
            **settings,
        }
        key = request_key("tiny", "rule", f"task_{number}", 1, body)
        requests.append(Request(key, "tiny", "rule", f"task_{number}", 1, body))
    return requests
