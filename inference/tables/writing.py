"""Files that appear complete or not at all, and locks of one process at a time."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from ..errors import InputError
from .limits import EXPORT_BYTES, read_content

_held: set[int] = set()
_written: ContextVar[list[Path] | None] = ContextVar("written", default=None)


class LockHeld(Exception):
    """Another process has the lock; the message names it."""


class Lock:
    """Locks ``path`` until ``release``; the file names the process that locked it."""

    # The file stays, or is removed on release where it is `passing`.

    def __init__(self, path: Path, *, passing: bool = False) -> None:
        self._path, self._passing = path, passing
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            self._file = open_itself(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _holder(self._file)
                os.close(self._file)
                raise LockHeld(holder) from None
            except OSError:
                os.close(self._file)
                raise
            if self._is_there():
                break
            os.close(self._file)  # whoever had it before removed it in between
        _held.add(self._file)
        holder = json.dumps(
            {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "start": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, holder.encode(), 0)

    def release(self) -> None:
        """Let others write."""
        if self._passing and self._is_there():
            self._path.unlink()
        _held.discard(self._file)
        os.close(self._file)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            return False


def _holder(file: int) -> str:
    try:
        record = json.loads(os.pread(file, 4096, 0))
        return f"process {record['pid']} on {record['host']} (since {record['start']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _close_locks() -> None:
    """Close what a fork inherited, so that a lock ends with the process that took it."""
    for file in _held:
        os.close(file)
    _held.clear()


os.register_at_fork(after_in_child=_close_locks)


def open_itself(path: str | Path, flags: int, mode: int = 0o666) -> int:
    """Open a file to be written; InputError where it is a link, by which another file would be changed."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, mode)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise InputError(f"{path}: this is a link, and is not written to; remove it.") from None


@contextmanager
def atomic_write(path: str | Path, *, durable: bool = True, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file to be written that appears complete under its name, or not at all; folders are made."""
    # What cannot write to an open file writes to its `name`. A durable file survives a loss of power. A
    # private file, and its folder where that is made, is for its owner alone.
    path = Path(path)
    path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(draft, "xb", opener=_open_private if private else None) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
        note_written([path])
    finally:
        with suppress(OSError):
            draft.unlink()


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file, all of it or nothing, and return when it is on disk."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = open_itself(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    before = os.fstat(descriptor).st_size
    try:
        if os.write(descriptor, line) < len(line):
            os.ftruncate(descriptor, before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def complete_lines(path: Path) -> list[str]:
    """The lines of a file to which lines are added; one that was cut off when a process ended is removed."""
    if not path.is_file():
        return []
    content = read_content(path, EXPORT_BYTES)
    complete = content[: content.rfind(b"\n") + 1]
    if len(complete) < len(content):
        os.truncate(path, len(complete))
    return complete.decode("utf-8", "replace").splitlines()


def write_text(path: str | Path, text: str, *, durable: bool = True) -> None:
    """Write a text as UTF-8, whole or not at all."""
    with atomic_write(path, durable=durable) as file:
        file.write(text.encode("utf-8"))


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def is_private(path: str | Path) -> bool:
    """Whether a file is for its owner alone, so that what is made of it should be, too."""
    with suppress(OSError):
        return not stat.S_IMODE(os.stat(path).st_mode) & 0o077
    return False


@contextmanager
def files_written() -> Iterator[list[Path]]:
    """List the files that appear under their names while the block runs, in order."""
    # A block around another one gets its files, too.
    files: list[Path] = []
    outer = _written.get()
    before = _written.set(files)
    try:
        yield files
    finally:
        _written.reset(before)
        if outer is not None:
            outer.extend(files)


def note_written(files: Iterable[Path]) -> None:
    """Add files that are there now to the list of `files_written`, where one is kept."""
    paths = _written.get()
    if paths is not None:
        paths.extend(files)
