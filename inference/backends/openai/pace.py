"""How many requests may be in flight: as many as the provider bears, and none while it asks to wait."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

BUSY = (429, 503, 529)
LONGEST = 30 * 86400.0  # seconds of a wait that are believed
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Stopped(Exception):
    """No further request may start."""


class Pace:
    """A gate before each exchange with a provider that adapts to what the provider bears.

    The limit starts at ``most``. Once as many exchanges have ended as the limit allows at a time, the share
    s of them that the provider turned away makes it ``(1 - s / 2) * limit``, or one more where there were
    none: additive increase and a decrease in proportion to congestion, as in Data Center TCP [1]_. A stray
    refusal costs little, and a provider that turns everything away is asked half as often each time.
    """

    def __init__(self, most: int, per_minute: float | None = None) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._opens = 0.0
        self._asked = 0.0
        self._ended = 0
        self._refused = 0
        self._closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Let exchanges of a new event loop in; what the provider bears, and its wait, stay as they are."""
        self.in_flight = 0
        self._closed = False
        self._waiting.clear()
        self._timer = None

    async def turn(self) -> None:
        """Wait until one more exchange may start; ``done`` must follow.

        Raises
        ------
        Stopped
            After ``close``.
        """
        if self._closed:
            raise Stopped
        if not self._waiting and self._free():
            self._start()
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._let_in()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._leave()
            raise

    def done(self, refused: bool) -> None:
        """Tell that an exchange has ended, and whether the provider turned it away as too much."""
        self._ended += 1
        self._refused += refused
        if self._ended >= self.limit:
            self.limit = next_limit(self.limit, self._refused / self._ended, self.most)
            self._ended = self._refused = 0
        self._leave()

    def hold(self, seconds: float) -> None:
        """Start nothing for so long, as the provider asks."""
        self._asked = max(self._asked, time.monotonic() + min(seconds, LONGEST))
        self._opens = max(self._opens, self._asked)

    @property
    def wait(self) -> float:
        """Seconds of the wait that the provider asked for which are left."""
        return max(self._asked - time.monotonic(), 0.0)

    @property
    def waiting(self) -> bool:
        """Whether an exchange waits for its turn."""
        return any(not place.done() for place in self._waiting)

    def close(self) -> None:
        """Turn away all that wait and all that come."""
        self._closed = True
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_exception(Stopped())

    def _free(self) -> bool:
        return self.in_flight < int(self.limit) and time.monotonic() >= self._opens

    def _start(self) -> None:
        self.in_flight += 1
        if self._gap:
            self._opens = max(self._opens, time.monotonic()) + self._gap

    def _leave(self) -> None:
        self.in_flight -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._free():
            place = self._waiting.popleft()
            if not place.done():
                self._start()
                place.set_result(None)
        if self._waiting and self._timer is None and self.in_flight < int(self.limit):
            wait = max(self._opens - time.monotonic(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(wait, self._reopen)

    def _reopen(self) -> None:
        self._timer = None
        self._let_in()


def next_limit(limit: float, refused: float, most: int) -> float:
    """Return the limit after one round in which the share ``refused`` was turned away."""
    return max(1.0, (1 - refused / 2) * limit) if refused else min(most, limit + 1)


def asked_wait(status: int, headers: Mapping[str, str]) -> float:
    """Return how many seconds a provider asks to wait, by Retry-After or spent rate limits; 0 for none."""
    if status in BUSY:
        return _retry_after(headers)
    waits = [
        _duration(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max(waits, default=0.0)


def _retry_after(headers: Mapping[str, str]) -> float:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        told = headers.get(name, "")
        if re.fullmatch(r"\d+(\.\d+)?", told):
            return float(told) * unit
    try:
        return max(parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _duration(told: str) -> float:
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", told))
