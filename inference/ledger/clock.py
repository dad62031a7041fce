"""Times as the ledger keeps them: microseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """Return the time of the system's clock, which may go back."""
    return time.time_ns() // 1000


def as_datetime(moment: int) -> datetime:
    """Return a stored time."""
    return _EPOCH + timedelta(microseconds=moment)
