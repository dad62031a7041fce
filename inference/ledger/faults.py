"""Errors of SQLite and the disk, as one sentence each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the operating system about ``path`` into InputError."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: {_sentence(error)}") from error
    except OSError as error:
        raise InputError(
            f"{path}: the ledger cannot be opened here ({error.strerror}); check the folder and its "
            "permissions."
        ) from error


def _sentence(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return (
            "there is no space left for the ledger; free some, then run the same command again: what was "
            "written before is kept."
        )
    if name.startswith("SQLITE_IOERR"):
        return (
            f"the ledger cannot be read or written any further ({error}); check the disk, its space and "
            "your quota, then run the same command again: what was written before is kept."
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return (
            f"the ledger cannot be opened or written ({error}); check the permissions of the file and its "
            "folder."
        )
    if name.startswith("SQLITE_CORRUPT"):
        return (
            f"the ledger is damaged ({error}); see what `conjury ledger verify` finds, and put a copy of "
            "the file in its place."
        )
    if name.startswith("SQLITE_NOTADB"):
        return "this file is no ledger; name the folder of a run, or move the file away."
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"another program has locked the ledger ({error}); close it, then run the same command again."
    if name.startswith("SQLITE_TOOBIG"):
        return f"what is to be written is too large for the ledger ({error}); make it smaller."
    return (
        f"the ledger contains invalid data, or cannot be used in this way ({error}); see what "
        "`conjury ledger verify` finds."
    )
