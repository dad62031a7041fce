"""Which engine or server answered for a judge, and since when: kept in the ledger, never overwritten."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..ledger import Ledger


def remember_engine(ledger: Ledger, judge_id: str, settings: dict[str, Any]) -> None:
    """Note the settings that a judge is asked with from now on, if they are others than before."""
    known = engines(ledger, judge_id)
    if not known or known[-1]["settings"] != settings:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        ledger.set(f"engine:{judge_id}", [*known, {"since": since, "settings": settings}])


def engines(ledger: Ledger, judge_id: str) -> list[dict[str, Any]]:
    """Return all settings that a judge was asked with: ``since`` (UTC) and ``settings``, the newest last."""
    return list(ledger.get(f"engine:{judge_id}") or [])
