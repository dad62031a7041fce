"""The manifest of drawn pictures: one row a picture, gathered from parts that processes leave behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..errors import InputError
from ..tables.bounded import parse_json
from ..tables.parquet import DAMAGE, LEVELS_KEY, read_parquet
from .store import is_there, replaced

if TYPE_CHECKING:
    from .placing import Box

MADE_WITH = "made_with"  # of job.json: versions of programs, which may change
GROUP = 2000  # rows of the manifest that are held in memory at a time
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Where the manifest of a study's pictures lies, for one kind of cues, below the root of the store."""

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

    def part(self, chunk: str) -> Path:
        """The rows of a finished chunk, until they are gathered."""
        return self.path / "parts" / f"{chunk}.parquet"

    def parts(self) -> list[Path]:
        """All parts that wait to be gathered."""
        return sorted((self.path / "parts").glob("[!.]*.parquet"))


@dataclass(frozen=True, slots=True)
class Picture:
    """What the manifest says of a file: path inside the root, hash, media type, pixels, bytes; its boxes."""

    file: str
    sha256: str
    media_type: str
    width: int
    height: int
    bytes: int
    boxes: tuple[Box, ...]


def read_manifest(root: Path, study: str, cues: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read what was drawn of a study.

    Parameters
    ----------
    root : the folder that ``conjury render`` was given with ``--out``
    study : name of the study
    cues : "both", "name", "face" or "none"
    columns : read only these

    Returns
    -------
    DataFrame
        One row a picture, by ``profile_id``: ``cues, layout, theme, file`` (inside the root), ``sha256,
        media_type, width, height, bytes, url`` (missing until uploaded), ``alt``, the levels and stimuli of
        the profile, the fields that are shown, and ``boxes`` (JSON: name, kind, cue, x, y, width, height).
        A level or stimulus whose column has the name of a field is called NAME_id.

    Raises
    ------
    InputError
        Nothing was drawn yet, or the table is damaged.
    """
    path = JobFolder(root, study, cues).manifest
    if not path.is_file():
        raise InputError(
            f"{root}: there are no pictures of {study} with cues {cues}; draw them with `conjury render "
            f"{study} --cues {cues} --out {root}`."
        )
    return read_parquet(path, columns)


def job_hash(root: Path, study: str, cues: str) -> str:
    """Return the hash of what pictures were drawn with.

    Raises
    ------
    InputError
        It is not known.
    """
    return hashlib.sha256(
        json.dumps(read_job(JobFolder(root, study, cues)), sort_keys=True).encode()
    ).hexdigest()


def read_job(folder: JobFolder) -> dict[str, Any]:
    """Return what pictures were drawn with, less the versions of programs."""
    try:
        job = parse_json(folder.job.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"{folder.job}: the file is missing or damaged, so it is not known what the pictures were "
            "drawn with; draw them again with another --out."
        ) from None
    return {name: value for name, value in job.items() if name != MADE_WITH}


def rows_of(
    profiles: pd.DataFrame, records: pd.DataFrame, pictures: Sequence[Picture], facts: dict[str, str]
) -> pa.Table:
    """Put together the rows of n pictures.

    Parameters
    ----------
    profiles, records : DataFrame of n rows, in the same order
    pictures : n pictures
    facts : the cues, the layout and the theme
    """
    shown = records.drop(columns=["profile_id", "alt"])
    levels = profiles.drop(columns=["profile_id", "probability"], errors="ignore")
    levels = levels.rename(columns={name: f"{name}_id" for name in levels if name in shown})
    made: dict[str, pa.Array] = {"profile_id": pa.array(profiles["profile_id"], pa.int64())}
    made |= {name: pa.array([value] * len(pictures), pa.string()) for name, value in facts.items()}
    for name, kind in (("file", pa.string()), ("sha256", pa.string()), ("media_type", pa.string())):
        made[name] = pa.array([getattr(picture, name) for picture in pictures], kind)
    for name in ("width", "height", "bytes"):
        made[name] = pa.array([getattr(picture, name) for picture in pictures], pa.int64())
    made["url"] = pa.nulls(len(pictures), pa.string())
    made["alt"] = _typed(records["alt"])
    made |= {str(name): _typed(column) for table in (levels, shown) for name, column in table.items()}
    made["boxes"] = pa.array([_boxes(picture) for picture in pictures], pa.string())
    noted = {
        str(name): {"levels": column.cat.categories.tolist(), "ordered": False}
        for name, column in levels.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    }
    return pa.table(made).replace_schema_metadata({LEVELS_KEY: json.dumps(noted).encode()})


def write_part(folder: JobFolder, chunk: str, rows: pa.Table) -> None:
    """Leave the rows of a finished chunk, whole and on disk."""
    path = folder.part(chunk)
    path.parent.mkdir(exist_ok=True)
    with replaced(path) as draft:
        pq.write_table(rows.sort_by("profile_id"), draft, compression="zstd")


def held(folder: JobFolder, path: Path) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the profiles of a manifest or part, and whether the store has the picture of each.

    Returns
    -------
    profiles : ndarray of int, shape (n,)
    there : ndarray of bool, shape (n,)
        There is a file of the size that was written.
    """
    profiles: list[int] = []
    there: list[bool] = []
    for batch in _batches(path, ["profile_id", "file", "bytes"]):
        ids, files, sizes = (column.to_pylist() for column in batch.columns)
        profiles += ids
        there += map(partial(is_there, folder.root), files, sizes)
    return np.array(profiles, dtype=np.int64), np.array(there, dtype=bool)


def file_sizes(folder: JobFolder) -> dict[str, int]:
    """Return the bytes of every file in the manifest, by its path inside the root."""
    sizes: dict[str, int] = {}
    for batch in _batches(folder.manifest, ["file", "bytes"]):
        sizes.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return sizes


def gather(folder: JobFolder) -> int:
    """Merge all parts into the manifest, by ``profile_id``; return how many pictures it holds then.

    A part's row takes the place of the manifest's. Only some thousand rows are held at a time. The caller
    sees to it that no other process gathers.
    """
    parts = folder.parts()
    if parts:
        sources = [folder.manifest, *parts] if folder.manifest.is_file() else parts
        ids = [_ids(path) for path in sources]
        profiles = np.unique(np.concatenate(ids))
        owner = np.zeros(len(profiles), dtype=np.int64)
        for number, held in enumerate(ids):
            owner[np.searchsorted(profiles, held)] = number
        _write(folder, sources, profiles, owner)
        for path in parts:
            path.unlink()
        with suppress(OSError):  # another process leaves parts there
            folder.part("").parent.rmdir()
    return int(pq.read_metadata(folder.manifest).num_rows)


def rewrite(folder: JobFolder, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the manifest some thousand rows at a time; it is replaced at once."""
    with (
        pq.ParquetFile(folder.manifest) as file,
        replaced(folder.manifest) as draft,
        pq.ParquetWriter(draft, file.schema_arrow, compression="zstd") as writer,
    ):
        for number in range(file.num_row_groups):
            writer.write_table(change(file.read_row_group(number)))


def _write(folder: JobFolder, sources: Sequence[Path], profiles: Integers, owner: Integers) -> None:
    """Write the rows of sorted ``profiles``, each from the source of the number ``owner``."""
    schema = pq.read_schema(sources[0])
    with replaced(folder.manifest) as draft, pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        for start in range(0, len(profiles), GROUP):
            wanted, owners = profiles[start : start + GROUP], owner[start : start + GROUP]
            pieces = [_rows(sources[number], wanted[owners == number]) for number in np.unique(owners)]
            writer.write_table(pa.concat_tables(pieces).sort_by("profile_id").combine_chunks())


def _rows(path: Path, profiles: Integers) -> pa.Table:
    """Read the rows of sorted profiles from a file that is sorted, only the groups of rows that hold any."""
    with pq.ParquetFile(path) as file:
        held = []
        for number in range(file.num_row_groups):
            bounds = file.metadata.row_group(number).column(0).statistics
            if bounds.min <= profiles[-1] and bounds.max >= profiles[0]:
                held.append(number)
        table = file.read_row_groups(held)
    return table.filter(pc.is_in(table["profile_id"], pa.array(profiles)))


def _ids(path: Path) -> Integers:
    return np.concatenate([batch.column(0).to_numpy() for batch in _batches(path, ["profile_id"])])


def _batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(GROUP, columns=columns)
    except FileNotFoundError:
        return
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{path}: the file is damaged ({reason}); delete it and run the same command again."
        ) from None


def _typed(column: pd.Series) -> pa.Array:
    if pd.api.types.is_bool_dtype(column.dtype):
        return pa.array(column, pa.bool_())
    if pd.api.types.is_integer_dtype(column.dtype):
        return pa.array(column, pa.int64())
    if pd.api.types.is_float_dtype(column.dtype):
        return pa.array(column, pa.float64())
    return pa.array(column.astype("string"), pa.string())


def _boxes(picture: Picture) -> str:
    kept = ("name", "kind", "cue", "x", "y", "width", "height")
    return json.dumps([{name: getattr(box, name) for name in kept} for box in picture.boxes])
