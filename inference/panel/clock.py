"""The time of a panel, which does not go back where the clock of the system does."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from threading import Lock

SLACK = 1.0  # seconds by which a clock may be put right without being taken for set back


class PanelClock:
    """The system's clock; where that is set back, a monotonic one goes on until it has caught up."""

    # `last` is the last moment that is stored: that of a process before, or minus infinity.

    def __init__(
        self,
        now: Callable[[], datetime],
        last: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now, self._monotonic = now, monotonic
        self._last, self._tick = last, monotonic()
        self._lock = Lock()

    def __call__(self) -> float:
        """Return the seconds since 1970 (UTC), never fewer than at any call before."""
        with self._lock:
            moment, tick = self._now().timestamp(), self._monotonic()
            steady = self._last + tick - self._tick
            moment = max(moment if moment >= steady - SLACK else steady, self._last)
            self._last, self._tick = moment, tick
            return moment
