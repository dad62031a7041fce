"""Files of a folder: a path that leads out of it, by a link or upwards, is refused."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from .limits import require_file


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, with links followed, leads to a place in a folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a link to itself, or a NUL
        return False


def require_inside(path: Path, folder: Path, what: str = "the folder of the study") -> Path:
    """Return a path; InputError where it leads to no place in a folder."""
    if not is_inside(path, folder):
        raise _outside_error(path, what)
    return path


def read_inside(path: Path, folder: Path, limit: int) -> bytes:
    """Content of a regular file in a folder; a link that is put in its place meanwhile is not followed."""
    require_file(require_inside(path, folder))
    root = folder.resolve()
    try:
        descriptor = _open(root, path.resolve().relative_to(root).parts)
    except (RuntimeError, ValueError):
        raise _outside_error(path) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):  # a link where there was none a moment ago
            raise _outside_error(path) from None
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions.") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _outside_error(path)
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"{path}: the file has more than {limit:,} bytes, the limit for it; shorten it.")
    return content


def _open(root: Path, parts: Sequence[str]) -> int:
    """Open a file by the names on its way from ``root``, none of which may be a link."""
    last = len(parts) - 1
    place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for number, name in enumerate(parts):
        kind = os.O_NONBLOCK if number == last else os.O_DIRECTORY
        try:
            following = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=place)
        finally:
            os.close(place)
        place = following
    return place


def _outside_error(path: Path, what: str = "the folder of the study") -> InputError:
    return InputError(f"{path}: this leads out of {what}, by a link or upwards; put the file itself there.")
