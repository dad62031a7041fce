"""A desk that keeps outcomes in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conjury.inference.ledger.exchanges import Outcome, Request, request_key


class MemoryDesk:
    """Keep outcomes in order of arrival; ``until`` says when to stop, from the number of outcomes."""

    def __init__(
        self,
        until: Callable[[int], bool] = lambda _: False,
        media: dict[str, tuple[str, bytes]] | None = None,
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.until = until
        self.stored = media or {}

    def record(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def stopping(self) -> bool:
        return self.until(len(self.outcomes))

    capped = False

    def full(self) -> bool:
        return False

    def media(self, sha256: str) -> tuple[str, bytes]:
        return self.stored[sha256]


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
