"""Who draws which chunk: claims of processes on a file beside the manifest, which end with their process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".lock"
WHOLE = 0  # the byte that stands for the folder; others stand for chunks


class Claims:
    """Claims of this process in a folder; each is a lock on one byte of a file that stays empty.

    Only one object a process may be open on a folder: closing it gives up all its claims there.

    Examples
    --------
    >>> import tempfile
    >>> with Claims.opened(Path(tempfile.mkdtemp())) as claims:
    ...     claims.take("3f")
    True
    """

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    @contextmanager
    def opened(cls, folder: Path) -> Iterator[Claims]:
        """Make the folder if it is missing, and give all claims up at the end."""
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            yield cls(file)
        finally:
            os.close(file)

    def take(self, name: str) -> bool:
        """Claim a chunk by its name, a hexadecimal number; False while another process has it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def release(self, name: str) -> None:
        """Give a chunk up."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Wait until no other process changes the folder's manifest or job, and keep them from it."""
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, WHOLE)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, WHOLE)


def _byte(name: str) -> int:
    return 1 + int(name[:15], 16)
