"""Pictures put where judges fetch them: any storage that fsspec reaches, with addresses in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, MissingDependency
from .claims import Claims
from .manifest import JobFolder, file_sizes, rewrite
from .store import PICTURES

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

THREADS = 16  # files on their way at a time
LOCAL = ("file", "local")  # storage with folders, which are made


@dataclass(frozen=True)
class Storage:
    """A place for files, opened: a file system of fsspec, and a folder in it."""

    files: AbstractFileSystem
    folder: str
    target: str

    def held(self) -> dict[str, int]:
        """Return the size of each file in the folder, by its path inside."""
        try:
            self.files.invalidate_cache()
            found = self.files.find(self.folder, detail=True)
        except FileNotFoundError:
            return {}
        except Exception as error:
            raise _failed(self.target, error) from None
        start = len(self.folder.rstrip("/")) + 1
        return {path[start:]: int(facts["size"]) for path, facts in found.items()}

    def put(self, path: Path, name: str) -> None:
        """Copy a file."""
        self.files.put_file(str(path), f"{self.folder.rstrip('/')}/{name}")


def open_storage(target: str) -> Storage:
    """Open the place that a URL such as ``s3://bucket/prefix`` names; credentials come from the environment.

    Raises
    ------
    InputError
        The URL cannot be used, or holds credentials.
    MissingDependency
        fsspec, or the package for this kind of storage, is not installed.

    Examples
    --------
    >>> open_storage("memory://bucket/audit").folder
    '/bucket/audit'
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingDependency(
            "Uploading pictures needs fsspec, which is not installed; install with `pip install "
            "'conjury[pictures]'`."
        ) from None
    if "://" not in target:
        raise InputError(f"--upload {target}: give a URL such as s3://bucket/prefix.")
    kind, _, rest = target.partition("://")
    if "@" in rest.partition("/")[0]:
        raise InputError(
            f"--upload {kind}://...: a URL with a key or password in it; put it into the environment or the "
            "configuration of your storage instead."
        )
    try:
        files, folder = url_to_fs(target, **({"auto_mkdir": True} if kind in LOCAL else {}))
    except ImportError as error:
        raise MissingDependency(
            f"Uploading to {kind}:// needs a package that is not installed ({error}); install it with pip."
        ) from None
    except ValueError:
        raise InputError(
            f"--upload {target}: fsspec knows no storage called {kind}; write a URL such as s3://bucket/prefix."
        ) from None
    except Exception as error:
        raise _failed(target, error) from None
    return Storage(files, folder, target)


def check_address(address: str) -> str:
    """Return the https address below which judges find pictures, without a slash at its end.

    Raises
    ------
    InputError
        It is none.

    Examples
    --------
    >>> check_address("https://pictures.example.org/audit/")
    'https://pictures.example.org/audit'
    """
    try:
        parts = urlsplit(address)
        good = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
        good = good and not parts.query and not parts.fragment
    except ValueError:  # such as a bracket that is not closed
        good = False
    if not good:
        shown = "..." if set(address) & set("@?#") else address
        raise InputError(
            f"--address {shown}: judges fetch pictures from an https address without a query "
            "or password; write one such as https://bucket.s3.amazonaws.com/prefix."
        )
    return address.rstrip("/")


def upload(
    folder: JobFolder, storage: Storage, address: str, watch: Callable[[int, int], None]
) -> tuple[int, int]:
    """Copy all pictures of a manifest that are not there with their size, then note their addresses.

    Parameters
    ----------
    storage : Storage
    address : str
        Below which the storage's folder is found, such as ``https://pictures.example.org/audit``.
    watch : callable
        Told how many pictures are there, and of how many.

    Returns
    -------
    sent : int
        Pictures that were copied.
    total : int
        Pictures that are there now, each counted once however many profiles it shows.

    Raises
    ------
    InputError
        A file is missing here, or the storage refuses; what was copied stays, and is not copied again.
    """
    there = storage.held()
    wanted = file_sizes(folder)
    missing = [file for file, size in wanted.items() if there.get(_name(file)) != size]
    before = len(wanted) - len(missing)
    watch(before, len(wanted))
    for done, _ in enumerate(_copied(folder.root, storage, missing), before + 1):
        watch(done, len(wanted))
    with Claims.opened(folder.path) as claims, claims.whole():
        rewrite(folder, lambda rows: _addressed(rows, address, wanted))
    return len(missing), len(wanted)


def _copied(root: Path, storage: Storage, files: list[str]) -> Iterator[str]:
    """Copy files side by side; yield each that is there."""

    def copy(file: str) -> str:
        try:
            storage.put(root / file, _name(file))
        except Exception as error:
            if not (root / file).is_file():
                raise InputError(f"{root / file}: the picture is gone; draw it again, then upload.") from None
            raise _failed(storage.target, error) from None
        return file

    coming = iter(files)
    with ThreadPoolExecutor(THREADS) as threads:
        running: set[Future[str]] = set()
        try:
            while True:
                running |= {threads.submit(copy, file) for file in islice(coming, 2 * THREADS - len(running))}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


def _addressed(rows: pa.Table, address: str, known: dict[str, int]) -> pa.Table:
    """Fill in the addresses of pictures that were uploaded."""
    files = rows["file"]
    urls = pc.replace_substring(files, PICTURES, address, max_replacements=1)
    urls = pc.if_else(pc.is_in(files, pa.array(list(known), pa.string())), urls, rows["url"])
    return rows.set_column(rows.schema.get_field_index("url"), rows.schema.field("url"), urls)


def _name(file: str) -> str:
    """Return the path of a picture in the storage's folder, such as ``ab/ab34ef.png``."""
    return file.removeprefix(f"{PICTURES}/")


def _failed(target: str, error: Exception) -> InputError:
    """Say that storage refuses, by the kind of the error alone: its words may hold credentials."""
    return InputError(
        f"{target}: the storage cannot be used ({type(error).__name__}); check the address, your "
        "credentials in the environment and your connection, then run the same command again."
    )
