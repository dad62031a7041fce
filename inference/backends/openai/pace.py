"""When the next exchange with a provider may start: how many in flight, how many a minute, which waits."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Sequence

from .waits import LONGEST, Allowance

TOKENS = re.compile(rb'"total_tokens"\s*:\s*(\d{1,15})')
SMOOTHING = 0.05  # weight of an answer in the average of tokens
LATE = 0.1  # seconds of a late timer that are made up for


class CollectionStopped(Exception):
    """No further request may start."""


class Pace:
    """A gate before each exchange with a provider that adapts to what the provider bears."""

    # Once as many exchanges ended as the limit allows, the share s turned away makes it (1 - s / 2) * limit,
    # or one more where s = 0, as in Data Center TCP: a stray refusal costs little.
    # What a provider states to be left of its requests or tokens is spread over the time until the reset.
    # Where the allowance is filled steadily, this settles at half of it, and all that flows in is used.

    def __init__(self, most: int, per_minute: float | None = None) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._opens = 0.0
        self._asked = 0.0
        self._last = 0.0  # start of the latest exchange
        self._started = 0
        self._stated_gap = 0.0
        self._stated_until = 0.0
        self._tokens = 0.0  # of an exchange, on average
        self._ended = 0
        self._refused = 0
        self._closed = False
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Let exchanges of a new event loop in; what the provider bears, and its wait, stay as they are."""
        self.in_flight = 0
        self._closed = False
        self._waiting.clear()
        self._timer = None

    async def turn(self) -> int:
        """Wait until one more exchange may start, and return its number; ``done`` must follow."""
        if self._closed:
            raise CollectionStopped
        if not self._waiting and self._is_free():
            self._start()
            return self._started
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._let_in()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._leave()
            raise

    def done(self, refused: bool) -> None:
        """Note the end of an exchange, and whether the provider refused it as too much."""
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

    def spread(self, allowances: Sequence[Allowance], content: bytes, number: int) -> None:
        """Spread what the answer to exchange ``number`` states to be left over the time until the reset."""
        since = self._started - number  # exchanges that the provider had not counted when it answered
        gap = until = 0.0
        for allowance in allowances:
            each = 1.0 if allowance.what == "requests" else self._mean_tokens(content)
            balance = allowance.remaining - since * each
            if each and allowance.seconds * each / max(balance, each) > gap:
                gap, until = allowance.seconds * each / max(balance, each), allowance.seconds
        if gap or self._stated_gap:
            self._stated_gap, self._stated_until = gap, time.monotonic() + until
            self._let_in()

    def _mean_tokens(self, content: bytes) -> float:
        """Return the mean of tokens of an exchange, this answer included; 0 where none are stated."""
        usage = TOKENS.search(content)
        if usage:
            weight = SMOOTHING if self._tokens else 1.0
            self._tokens += (int(usage[1]) - self._tokens) * weight
        return self._tokens

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
                place.set_exception(CollectionStopped())

    def _opening(self) -> float:
        """Return the moment from which the next exchange may start."""
        if not self._stated_gap or not self._started:
            return self._opens
        return max(self._opens, min(self._last + self._stated_gap, self._stated_until))

    def _is_free(self) -> bool:
        return self.in_flight < int(self.limit) and time.monotonic() >= self._opening()

    def _start(self) -> None:
        self.in_flight += 1
        self._started += 1
        moment = time.monotonic()
        self._last = min(max(self._last + self._stated_gap, moment - LATE), moment)
        if self._gap:
            self._opens = max(self._opens, moment) + self._gap

    def _leave(self) -> None:
        self.in_flight -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._is_free():
            place = self._waiting.popleft()
            if not place.done():
                self._start()
                place.set_result(self._started)
        if self._waiting and self.in_flight < int(self.limit):
            loop = asyncio.get_running_loop()
            wait = max(self._opening() - time.monotonic(), 0.0)
            if self._timer is not None and self._timer.when() <= loop.time() + wait:
                return
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(wait, self._reopen)

    def _reopen(self) -> None:
        self._timer = None
        self._let_in()


def next_limit(limit: float, refused: float, most: int) -> float:
    """Return the limit after one round in which the share ``refused`` was turned away."""
    return max(1.0, (1 - refused / 2) * limit) if refused else min(most, limit + 1)
