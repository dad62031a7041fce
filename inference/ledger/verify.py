"""Damage in a ledger, found by reading all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .schema import connect_reader


def find_problems(path: Path, progress: Callable[[int, int], None] | None) -> list[str]:
    """Say what is damaged, one sentence each."""
    db = connect_reader(path)
    try:
        rows = db.execute("PRAGMA integrity_check").fetchall()
    finally:
        db.close()
    return [f"{path}: {row[0]}" for row in rows if row[0] != "ok"]
