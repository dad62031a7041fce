"""Requests and answers of a judge as Parquet files, at an address that all nodes of a cluster reach.

Requests come in waves. Below the address each wave is a folder: ``requests`` has partitions of some thousand
rows, written by the driver; ``answers`` has one file per finished block, written by the workers. A file
appears complete or not at all; one that cannot be read was never finished and is passed over.
"""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import InputError, MissingDependency
from ...ledger import Ledger
from ...ledger.exchanges import Outcome
from ...tables.writing import atomic_write
from ..vllm import failed_outcome

REQUESTS = pa.schema([("key", pa.string()), ("body", pa.string())])
ANSWERS = pa.schema(
    [*(pa.field(name, pa.string()) for name in ("key", "body", "kind", "error")), ("seconds", pa.float64())]
)
PARTITION = 4_000  # requests in a partition, at most
PARTITION_BYTES = 64_000_000  # from so many bytes on it is full, for instance of pictures
ENDING = ".parquet"
FOLDER = "cluster folder"  # fact of a run: its folder below the address, so that none reads another's answers


@dataclass(frozen=True)
class RequestBlock:
    """Requests that are handed out together: a row group of a partition."""

    partition: str
    group: int


@dataclass(frozen=True)
class Exchange:
    """The place of the requests and answers of one judge in a run; it can be sent to other nodes."""

    address: str  # A path, or an address of any file system that fsspec knows, such as s3://bucket/folder

    @classmethod
    def of_run(cls, address: str, ledger: Ledger, judge_id: str) -> Exchange:
        """Return the place of a judge of a run below an address, which other runs may share."""
        name = ledger.get(FOLDER)
        if name is None:
            name = secrets.token_hex(8)
            ledger.set(FOLDER, name)
        root = address if "://" in address else str(Path(address).absolute())
        return cls(f"{root.rstrip('/')}/{name}/{quote(judge_id, safe='')}")

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MissingDependency(
                "Files of a cluster need fsspec, which is not installed; install it with "
                "`pip install 'conjury[cluster]'`."
            ) from None
        try:
            location: tuple[Any, str] = url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise InputError(
                f"--cluster-dir: {self.address} cannot be reached ({error}); give a folder or an address "
                "that all nodes share."
            ) from None
        return location

    def __getstate__(self) -> dict[str, Any]:
        """Travel as the address alone; each process opens it for itself."""
        return {"address": self.address}

    def new_wave(self) -> str:
        """Return the name of a wave that nobody else has; later ones sort behind earlier ones."""
        return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"

    def write_requests(
        self, wave: str, rows: Iterable[tuple[str, str]], block: int
    ) -> Iterator[tuple[list[RequestBlock], list[str]]]:
        """Write keys and bodies as partitions of the wave; yield the blocks of each and its keys."""
        for number, part in enumerate(_partitions(rows)):
            name = f"{number:06d}{ENDING}"
            columns = [list(column) for column in zip(*part, strict=True)]
            self._write(f"{wave}/requests/{name}", pa.table(columns, schema=REQUESTS), block)
            yield [RequestBlock(name, group) for group in range(-(-len(part) // block))], columns[0]

    def read_requests(self, wave: str, block: RequestBlock) -> pa.Table:
        """Return keys and bodies of a block."""
        system, root = self._opened
        try:
            with system.open(f"{root}/{wave}/requests/{block.partition}", "rb") as file:
                return pq.ParquetFile(file).read_row_group(block.group)
        except FileNotFoundError:
            raise InputError(
                f"--cluster-dir: a node of the cluster cannot access {self.address}/{wave}; give a folder or "
                "an address that all nodes share."
            ) from None

    def write_answers(self, wave: str, rows: Sequence[Mapping[str, Any]]) -> str:
        """Write answers to the requests of a block, unless it was answered before; return the file's name."""
        keys = sorted(str(row["key"]) for row in rows)
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:32] + ENDING
        if self._read(wave, name) is None:
            self._write(f"{wave}/answers/{name}", pa.Table.from_pylist(list(rows), schema=ANSWERS))
        return name

    def waves(self) -> list[str]:
        """Return the names of all waves, oldest first."""
        return sorted(self._names(""))

    def answered(self, wave: str) -> list[str]:
        """Return the names of the files of answers of a wave."""
        return sorted(name for name in self._names(f"/{wave}/answers") if name.endswith(ENDING))

    def read_answers(self, wave: str, name: str) -> list[Outcome] | None:
        """Return what a file of answers contains; None for one that was never finished."""
        table = self._read(wave, name)
        if table is None:
            return None
        return [_outcome(row, f"{wave}/{name.removesuffix(ENDING)}") for row in table.to_pylist()]

    def _read(self, wave: str, name: str) -> pa.Table | None:
        system, root = self._opened
        path = f"{root}/{wave}/answers/{name}"
        system.invalidate_cache(f"{root}/{wave}/answers")
        try:
            with system.open(path, "rb") as file:
                return pq.read_table(io.BytesIO(file.read())).cast(ANSWERS)
        except (FileNotFoundError, pa.ArrowInvalid, ValueError):
            return None

    def _write(self, place: str, table: pa.Table, group: int | None = None) -> None:
        from fsspec.implementations.local import LocalFileSystem

        system, root = self._opened
        content = io.BytesIO()
        pq.write_table(table, content, row_group_size=group, compression="zstd")
        path = f"{root}/{place}"
        try:
            if isinstance(system, LocalFileSystem):
                with atomic_write(path) as file:
                    file.write(content.getvalue())
            else:
                system.pipe_file(path, content.getvalue())
        except OSError as error:
            raise InputError(
                f"--cluster-dir: {self.address} cannot be written ({error}); check the address, its "
                "space and its permissions."
            ) from None

    def _names(self, below: str) -> list[str]:
        system, root = self._opened
        system.invalidate_cache(root + below)
        try:
            paths = system.ls(root + below, detail=False)
        except FileNotFoundError:
            return []
        return [str(path).rstrip("/").rpartition("/")[2] for path in paths]


def _partitions(rows: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    part: list[tuple[str, str]] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(row[1])
        if len(part) == PARTITION or size >= PARTITION_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _outcome(row: Mapping[str, Any], batch: str) -> Outcome:
    if row["body"] is not None:
        return Outcome(row["key"], row["body"].encode(), seconds=row["seconds"] or 0.0, batch=batch)
    return replace(
        failed_outcome(row["key"], row["kind"] or "server", row["error"] or "no answer"), batch=batch
    )
