"""Files of pictures named by what is in them: written whole, once, by however many processes."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PICTURES = "pictures"
STALE = 3600  # seconds after which an unfinished file is no longer being written


@dataclass(frozen=True, slots=True)
class Stored:
    """A picture in the store: its path inside the root, the SHA-256 of its bytes, and how many they are."""

    file: str
    sha256: str
    size: int


def place(sha256: str, kind: str) -> str:
    """Return the path of a picture inside the root, in one of 256 folders.

    Examples
    --------
    >>> place("ab34ef", "png")
    'pictures/ab/ab34ef.png'
    """
    return f"{PICTURES}/{sha256[:2]}/{sha256}.{kind}"


def keep(root: Path, content: bytes, kind: str) -> Stored:
    """Write a picture unless it is there already; it appears whole under its name or not at all.

    Raises
    ------
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / keep(root, b"picture", "png").file).read_bytes()
    b'picture'
    """
    sha256 = hashlib.sha256(content).hexdigest()
    stored = Stored(place(sha256, kind), sha256, len(content))
    if not is_there(root, stored.file, stored.size):
        path = root / stored.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path, durable=False) as file:
            file.write(content)
    return stored


def is_there(root: Path, file: str, size: int) -> bool:
    """Whether a file of this size is in the store."""
    try:
        return os.stat(root / file).st_size == size
    except OSError:
        return False


@contextmanager
def replaced(path: Path, durable: bool = True) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all; a durable one outlives a loss of power."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with draft.open("wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()


def problems(root: Path, files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Read pictures again and name those that are missing or no longer what they were.

    Parameters
    ----------
    root : Path
    files : iterable of (str, str)
        Path inside the root and SHA-256 of each picture.

    Yields
    ------
    str
        A phrase for each picture that is not as it was written.
    """
    for file, sha256 in files:
        try:
            content = (root / file).read_bytes()
        except FileNotFoundError:
            yield f"{file} is missing"
            continue
        except OSError as error:
            yield f"{file} cannot be read ({error.strerror})"
            continue
        if hashlib.sha256(content).hexdigest() != sha256:
            yield f"{file} is damaged"


def sweep(root: Path) -> int:
    """Remove what processes that were killed had begun to write; return how many files that was."""
    before, removed = time.time() - STALE, 0
    for draft in (root / PICTURES).glob("??/.*.tmp"):
        with suppress(OSError):
            if draft.stat().st_mtime < before:
                draft.unlink()
                removed += 1
    return removed
