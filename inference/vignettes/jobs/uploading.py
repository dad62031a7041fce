"""Pictures copied to any storage that fsspec reaches, with their addresses in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, MissingDependency
from ...tables.contained_paths import require_inside
from .picture_manifest import JobFolder, file_sizes, read_manifest, rewrite
from .store import PICTURES

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


THREADS = 16  # files copied at a time
LOCAL = ("file", "local")  # storage whose folders must be created


@dataclass(frozen=True)
class Storage:
    """A folder in a file system of fsspec."""

    files: AbstractFileSystem
    folder: str
    target: str

    def sizes(self) -> dict[str, int]:
        """Return the size of each file in the folder, by its path inside."""
        try:
            self.files.invalidate_cache()
            files = self.files.find(self.folder, detail=True)
        except FileNotFoundError:
            return {}
        except Exception as error:
            raise _storage_error(self.target, error) from None
        start = len(self.folder.rstrip("/")) + 1
        return {path[start:]: int(facts["size"]) for path, facts in files.items()}

    def put(self, path: Path, name: str) -> None:
        """Copy a file."""
        self.files.put_file(str(path), f"{self.folder.rstrip('/')}/{name}")


def open_storage(target: str) -> Storage:
    """Open the storage of a URL such as ``s3://bucket/prefix``; credentials come from the environment."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingDependency(
            "Uploading pictures needs fsspec, which is not installed; install with `pip install "
            "'conjury[pictures]'`."
        ) from None
    if "://" not in target:
        raise InputError(f"--upload {target}: give a URL such as s3://bucket/prefix.")
    kind, _, location = target.partition("://")
    if "@" in location.partition("/")[0]:
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
        raise _storage_error(target, error) from None
    return Storage(files, folder, target)


def check_address(address: str) -> str:
    """Return the https address below which judges find pictures, without a slash at its end."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
        valid = valid and not parts.query and not parts.fragment
    except ValueError:  # such as a bracket that is not closed
        valid = False
    if not valid:
        safe = "..." if set(address) & set("@?#") else address
        raise InputError(
            f"--address {safe}: judges fetch pictures from an https address without a query "
            "or password; write one such as https://bucket.s3.amazonaws.com/prefix."
        )
    return address.rstrip("/")


def upload(
    folder: JobFolder, storage: Storage, address: str, progress: Callable[[int, int], None]
) -> tuple[int, int]:
    """Copy all pictures of a manifest that storage lacks, then write their addresses into the manifest.

    Parameters
    ----------
    folder : JobFolder
        Folder of the manifest.
    storage : Storage
        As from :func:`open_storage`.
    address : str
        Address of the storage's folder, such as ``https://pictures.example.org/audit``.
    progress : callable
        Takes the number of pictures in storage, and of all.

    Returns
    -------
    sent : int
        Pictures that were copied.
    total : int
        Pictures in storage, each counted once however many profiles it shows.

    Raises
    ------
    InputError
        A file is missing here, or the storage fails; copied pictures stay, and are not copied again.

    Examples
    --------
    >>> folder, storage = JobFolder(Path("nowhere"), "towns", "both"), open_storage("memory://audit")
    >>> upload(folder, storage, "https://pictures.example.org", print)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    conjury.inference.errors.InputError: nowhere: there are no pictures of towns with cues both; ...
    """
    read_manifest(folder.root, folder.study, folder.cues, ["profile_id"])  # refuses a missing manifest
    stored_sizes = storage.sizes()
    sizes = file_sizes(folder)
    missing = [file for file, size in sizes.items() if stored_sizes.get(_name(file)) != size]
    before = len(sizes) - len(missing)
    progress(before, len(sizes))
    for done, _ in enumerate(_copy_files(folder.root, storage, missing), before + 1):
        progress(done, len(sizes))
    with folder.writing():
        rewrite(folder, lambda rows: _with_addresses(rows, address, sizes))
    return len(missing), len(sizes)


def _copy_files(root: Path, storage: Storage, files: list[str]) -> Iterator[str]:
    """Copy files in parallel; yield each that is there."""

    def copy(file: str) -> str:
        path = require_inside(root / file, root / PICTURES, "the folder of the pictures")
        try:
            storage.put(path, _name(file))
        except Exception as error:
            if not (root / file).is_file():
                raise InputError(f"{root / file}: the picture is gone; draw it again, then upload.") from None
            raise _storage_error(storage.target, error) from None
        return file

    with ThreadPoolExecutor(THREADS) as threads:
        copies = [threads.submit(copy, file) for file in files]
        try:
            for finished in as_completed(copies):
                yield finished.result()
        finally:
            for waiting in copies:
                waiting.cancel()


def _with_addresses(rows: pa.Table, address: str, sizes: dict[str, int]) -> pa.Table:
    """Fill in the addresses of uploaded pictures."""
    files = rows["file"]
    urls = pc.replace_substring(files, PICTURES, address, max_replacements=1)
    urls = pc.if_else(pc.is_in(files, pa.array(list(sizes), pa.string())), urls, rows["url"])
    return rows.set_column(rows.schema.get_field_index("url"), rows.schema.field("url"), urls)


def _name(file: str) -> str:
    """Return the path of a picture in the storage's folder, such as ``ab/ab34ef.png``."""
    return file.removeprefix(f"{PICTURES}/")


def _storage_error(target: str, error: Exception) -> InputError:
    """Return an error that names the kind of a failure alone: its message may contain credentials."""
    return InputError(
        f"{target}: the storage cannot be used ({type(error).__name__}); check the address, your "
        "credentials in the environment and your connection, then run the same command again."
    )
