"""The manifest of drawn pictures: one row per picture, merged from the parts of a run.

A run writes the rows of each finished chunk as a part, so that a killed run keeps them, and merges the parts
into the manifest before it begins and at its end. Only one process writes in the folder of a job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...errors import InputError, first_line
from ...tables.limits import read_json
from ...tables.parquet import DAMAGE, LEVELS_KEY, read_parquet
from ...tables.writing import Lock, LockHeld, atomic_write
from .store import is_stored

MADE_WITH = "made_with"  # of job.json: versions of programs, which may change
GROUP = 2000  # rows of the manifest in memory at a time
PICTURE = {  # columns of a picture: path inside the root, hash, media type, pixels, bytes, boxes (JSON)
    **dict.fromkeys(("file", "sha256", "media_type"), pa.string()),
    **dict.fromkeys(("width", "height", "bytes"), pa.int64()),
    "boxes": pa.string(),
}
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Folder of the manifest of a study's pictures, for one kind of cues, inside the root of the store.

    Parameters
    ----------
    root : Path
        The root of the store.
    study : str
        Name of the study.
    cues : str
        What the pictures show of an author's identity.

    Examples
    --------
    >>> JobFolder(Path("stimuli"), "towns", "both").manifest.as_posix()
    'stimuli/towns/both/profiles.parquet'
    """

    root: Path
    study: str
    cues: str

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.root / self.study / self.cues

    @property
    def manifest(self) -> Path:
        """The table of all pictures."""
        return self.path / "profiles.parquet"

    @property
    def job(self) -> Path:
        """What the pictures are drawn with."""
        return self.path / "job.json"

    def parts(self) -> list[Path]:
        """Parts that are not merged yet."""
        return sorted((self.path / "parts").glob("[!.]*.parquet"))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let no other process write in the folder; refuse if one does."""
        try:
            lock = Lock(self.path / ".lock")
        except LockHeld as other:
            raise InputError(
                f"{self.path}: {other} draws or uploads pictures here; wait until it has ended, or give "
                "another folder with --out."
            ) from None
        try:
            yield
        finally:
            lock.release()


def read_manifest(root: Path, study: str, cues: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read the manifest of a study's pictures.

    Parameters
    ----------
    root : Path
        The folder that ``conjury render`` was given with ``--out``.
    study : str
        Name of the study.
    cues : {"both", "name", "face", "none"}
        What the pictures show of an author's identity.
    columns : sequence of str, optional
        Read only these.

    Returns
    -------
    DataFrame
        One row per picture, by ``profile_id``: ``cues, layout, theme, file`` (inside the root), ``sha256,
        media_type, width, height, bytes, url`` (missing until uploaded), ``alt``, the levels and stimuli of
        the profile, the visible fields, and ``boxes`` (JSON: name, kind, cue, x, y, width, height).
        A level or stimulus whose column has the name of a field is called NAME_id.

    Raises
    ------
    InputError
        There are no pictures yet, or the table is damaged.

    Examples
    --------
    >>> read_manifest(Path("nowhere"), "towns", "both")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    conjury.inference.errors.InputError: nowhere: there are no pictures of towns with cues both; ...
    """
    path = JobFolder(root, study, cues).manifest
    if not path.is_file():
        raise InputError(
            f"{root}: there are no pictures of {study} with cues {cues}; draw them with `conjury render "
            f"{study} --cues {cues} --out {root}`."
        )
    return read_parquet(path, columns)


def job_hash(root: Path, study: str, cues: str) -> str:
    """Return the hash of what pictures were drawn with."""
    job = read_job(JobFolder(root, study, cues))
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def read_job(folder: JobFolder) -> dict[str, Any]:
    """Return what pictures were drawn with, without the versions of programs."""
    job = read_json(folder.job, "draw the pictures again with another --out")
    if not isinstance(job, dict):
        raise InputError(
            f"{folder.job}: the file should contain one mapping; draw the pictures again with another --out."
        )
    return {name: value for name, value in job.items() if name != MADE_WITH}


def picture_rows(
    profiles: pd.DataFrame,
    records: pd.DataFrame,
    pictures: Sequence[Mapping[str, object]],
    facts: Mapping[str, str],
) -> pa.Table:
    """Return the manifest rows of n pictures, whose profiles and records are in the same order."""
    fields = records.drop(columns=["profile_id", "alt"])
    levels = profiles.drop(columns=["profile_id", "probability"], errors="ignore")
    levels = levels.rename(columns={name: f"{name}_id" for name in levels if name in fields})
    picture_columns = {
        name: pa.array([picture[name] for picture in pictures], kind) for name, kind in PICTURE.items()
    }
    boxes = picture_columns.pop("boxes")
    columns = {
        "profile_id": pa.array(profiles["profile_id"], pa.int64()),
        **{name: pa.array([value] * len(pictures), pa.string()) for name, value in facts.items()},
        **picture_columns,
        "url": pa.nulls(len(pictures), pa.string()),
        "alt": _typed(records["alt"]),
        **{str(name): _typed(column) for table in (levels, fields) for name, column in table.items()},
        "boxes": boxes,
    }
    orders = {
        str(name): {"levels": column.cat.categories.tolist(), "ordered": False}
        for name, column in levels.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    }
    return pa.table(columns).replace_schema_metadata({LEVELS_KEY: json.dumps(orders).encode()})


def write_part(folder: JobFolder, rows: pa.Table) -> None:
    """Write the rows of a finished chunk, whole and durable, named by their first and last profile."""
    rows = rows.sort_by("profile_id")
    first, last = (rows["profile_id"][at].as_py() for at in (0, -1))
    path = folder.path / "parts" / f"{first:09d}-{last:09d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as draft:
        pq.write_table(rows, draft, compression="zstd")


def drawn_profiles(folder: JobFolder) -> Integers:
    """Return the profiles whose picture is in the manifest or a part, and in the store with its size."""
    profile_ids: list[int] = []
    for path in (folder.manifest, *folder.parts()):
        for batch in _batches(path, ["profile_id", "file", "bytes"]):
            profiles, files, sizes = (column.to_pylist() for column in batch.columns)
            stored = map(partial(is_stored, folder.root), files, sizes)
            profile_ids += [profile for profile, is_there in zip(profiles, stored, strict=True) if is_there]
    return np.unique(np.array(profile_ids, dtype=np.int64))


def file_sizes(folder: JobFolder) -> dict[str, int]:
    """Return the bytes of every file in the manifest, by its path inside the root."""
    sizes: dict[str, int] = {}
    for batch in _batches(folder.manifest, ["file", "bytes"]):
        sizes.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return sizes


def merge_parts(folder: JobFolder) -> None:
    """Merge all parts into the manifest by ``profile_id``; only one process may write there."""
    parts = folder.parts()
    if not parts:
        return
    sources = [folder.manifest, *parts] if folder.manifest.is_file() else parts
    ids = [
        np.concatenate([batch.column(0).to_numpy() for batch in _batches(path, ["profile_id"])])
        for path in sources
    ]
    profiles = np.unique(np.concatenate(ids))
    owner = np.zeros(len(profiles), dtype=np.int64)
    for number, profiles_of_source in enumerate(ids):
        owner[np.searchsorted(profiles, profiles_of_source)] = number
    schema = pq.read_schema(sources[0])
    with (
        atomic_write(folder.manifest) as draft,
        pq.ParquetWriter(draft, schema, compression="zstd") as writer,
    ):
        for start in range(0, len(profiles), GROUP):
            group, owners = profiles[start : start + GROUP], owner[start : start + GROUP]
            pieces = [_rows(sources[number], group[owners == number]) for number in np.unique(owners)]
            writer.write_table(pa.concat_tables(pieces).sort_by("profile_id").combine_chunks())
    for path in parts:
        path.unlink()
    with suppress(OSError):  # a draft of a killed run may be there
        parts[0].parent.rmdir()


def rewrite(folder: JobFolder, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the manifest some thousand rows at a time; it is replaced at once."""
    with (
        pq.ParquetFile(folder.manifest) as file,
        atomic_write(folder.manifest) as draft,
        pq.ParquetWriter(draft, file.schema_arrow, compression="zstd") as writer,
    ):
        for number in range(file.num_row_groups):
            writer.write_table(change(file.read_row_group(number)))


def _rows(path: Path, profiles: Integers) -> pa.Table:
    """Read the rows of sorted profiles from a sorted file, only the row groups that contain any."""
    with pq.ParquetFile(path) as file:
        groups = []
        for number in range(file.num_row_groups):
            bounds = file.metadata.row_group(number).column(0).statistics
            if bounds.min <= profiles[-1] and bounds.max >= profiles[0]:
                groups.append(number)
        table = file.read_row_groups(groups)
    return table.filter(pc.is_in(table["profile_id"], pa.array(profiles)))


def _batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(GROUP, columns=columns)
    except FileNotFoundError:
        return
    except DAMAGE as error:
        reason = first_line(error)
        raise InputError(
            f"{path}: the file is damaged ({reason}); delete it and run the same command again."
        ) from None


def _typed(column: pd.Series) -> pa.Array:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pa.array(column)
    return pa.array(column.astype("string"), pa.string())
