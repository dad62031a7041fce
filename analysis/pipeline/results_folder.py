"""The results folder: tables, the data behind them, figures, and a manifest of how they came about."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.files import read_table, write_table
from conjury.inference.tables.limits import read_json
from conjury.inference.tables.manifest_fields import MANIFEST, read_manifest
from conjury.inference.tables.writing import Lock, LockHeld, note_written, write_text

from ..frames.notes import record_notes

FORMAT = 2  # of the manifest
PARTS = ("data", "tables", "figures", "models", MANIFEST)
DRAFT = ".draft-"  # begins the names of folders of results that are being made
PATIENCE = 600.0  # seconds to wait for another process that writes to the folder
RUN = ("created", "command", "data")  # what distinguishes the runs of a manifest
SWAP = "swap.json"  # in such a folder: which files of it take the place of which of ours


class ResultsFolder:
    """A folder that ``conjury fit`` and ``conjury compare`` write and reports read."""

    # Its manifest lists the files that were written here; no other file is ever replaced or removed.

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; give a folder for results.")

    @contextmanager
    def replaced(self, inputs: Iterable[Path] = ()) -> Iterator[ResultsFolder]:
        """Hand out an empty draft that takes the place of the files of an earlier run at the end."""
        # When the block fails or is interrupted the folder stays as it was. Files of others are kept.
        self._refuse_foreign_parts()
        self._refuse_own(inputs)
        with self._draft() as draft:
            self._refuse_foreign_parts()
            yield draft
            written = _files_below(draft.path)
            self._refuse_foreign(written)
            draft._write_manifest(draft.manifest, written)
            self._take(draft.path, written, self._owned() or [])

    @contextmanager
    def extended(self, part: str) -> Iterator[ResultsFolder]:
        """Hand out an empty draft whose files join those of the folder at the end."""
        # Waits for another process that writes here, so that nothing computed is lost. If the block fails, or
        # the results that it extends were replaced, the folder stays as it was.
        self.refuse_old_format()
        with self._draft(PATIENCE) as draft:
            yield draft
            drafted, now, owned = draft.manifest, self.manifest, self._owned() or []
            added, parts = drafted["parts"][part], dict(now.get("parts") or {})
            begun_here = drafted.get("created") == added.get("created")
            if now and any(drafted.get(key) != now.get(key) for key in (("data",) if begun_here else RUN)):
                raise InputError(
                    f"The results in {self.path} were replaced while this was computed; run the same command "
                    "again."
                )
            earlier = [name for name in parts.get(part, {}).get("files", []) if name in owned]
            written = [name for name in _files_below(draft.path) if name != MANIFEST]
            self._refuse_foreign([MANIFEST, *written])
            other_results = [entry for entry in now.get("results") or [] if entry.get("part") != part]
            part_results = [entry for entry in drafted.get("results") or [] if entry.get("part") == part]
            manifest = {
                **drafted,
                **now,
                "results": [*other_results, *part_results],
                "parts": {**parts, part: {**added, "files": written}},
            }
            draft._write_manifest(manifest, [*(name for name in owned if name not in earlier), *written])
            self._take(draft.path, [*written, MANIFEST], [MANIFEST, *earlier])

    @contextmanager
    def _draft(self, patience: float = 0.0) -> Iterator[ResultsFolder]:
        """A folder within the results that is gone in the end; until then nobody else writes to them."""
        new = not self.path.exists()
        try:
            with self._locked(patience):
                self._finish_swaps()
                draft = ResultsFolder(tempfile.mkdtemp(dir=self.path, prefix=DRAFT))
                try:
                    yield draft
                finally:
                    shutil.rmtree(draft.path, ignore_errors=True)
        finally:
            if new:
                with suppress(OSError):
                    self.path.rmdir()

    @contextmanager
    def _locked(self, patience: float = 0.0) -> Iterator[None]:
        """Keep other processes from writing to the folder; the lock ends with this process."""
        until = time.monotonic() + patience
        try:
            while True:
                try:
                    self.path.mkdir(parents=True, exist_ok=True)
                    lock = Lock(self.path / ".lock", passing=True)
                    break
                except LockHeld:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.2)
        except LockHeld as holder:
            holds = f", which still contains those {self.origin}" if self.origin else ""
            raise InputError(
                f"{self.path}: {holder} is writing results to this folder{holds}; wait until it is done, or "
                "choose another folder."
            ) from None
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}); choose another folder for results."
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _finish_swaps(self) -> None:
        """Put in place what a process left whole that was ended on the way, and remove what is not whole."""
        for draft in sorted(self.path.glob(f"{DRAFT}*")):
            swap = draft / SWAP
            if swap.is_file():
                self._move(draft, *self._read_swap(swap))
            shutil.rmtree(draft, ignore_errors=True)

    def _read_swap(self, path: Path) -> tuple[list[str], list[str]]:
        """Read which files were to be moved; one that would leave the folder is refused, whoever wrote it."""
        remedy = f"remove the folder {path.parent}"
        swap = read_json(path, remedy)
        names = [swap.get(key) for key in ("written", "replaced")] if isinstance(swap, dict) else [None]
        if not all(
            isinstance(group, list) and all(isinstance(name, str) for name in group) for group in names
        ):
            raise InputError(f"{path}: the file should name files 'written' and 'replaced'; {remedy}.")
        folder = self.path.resolve()
        for name in [*swap["written"], *swap["replaced"]]:
            parent = (self.path / name).parent.resolve()
            if not _ours(PurePosixPath(name)) or not parent.is_relative_to(folder):
                raise InputError(f"{path}: {name!r} is no file of these results; {remedy}.")
        return swap["written"], swap["replaced"]

    def _refuse_foreign_parts(self) -> None:
        """Refuse a folder without a manifest of ours that contains something where results would go."""
        if self._owned() is not None:
            return
        for part in PARTS:
            path = self.path / part
            if path.is_file() or (path.is_dir() and any(path.iterdir())):
                raise InputError(
                    f"{path} already exists and was not written by conjury (no manifest.json); choose "
                    "another folder for results or move it away."
                )

    def _refuse_own(self, inputs: Iterable[Path]) -> None:
        own_files = {(self.path / name).resolve() for name in self._owned() or ()}
        for file in inputs:
            if Path(file).expanduser().resolve() in own_files:
                raise InputError(
                    f"{file} belongs to the results in {self.path}, which would be replaced; choose another "
                    "folder for results or copy that file."
                )

    def _refuse_foreign(self, names: Iterable[str]) -> None:
        """Refuse to write over files that are not ours."""
        owned = self._owned() or []
        for name in names:
            if name not in owned and (self.path / name).exists():
                raise InputError(
                    f"{self.path / name} was not written by conjury; choose another folder for results or "
                    "move that file away."
                )

    def refuse_old_format(self) -> None:
        """Refuse to add to results that an earlier version of conjury wrote."""
        manifest = self.manifest
        if manifest and manifest.get("format") != FORMAT:
            raise InputError(
                f"The results in {self.path} were written by another version of conjury, with another "
                "list of results; run `conjury fit` again, or name another folder with --results."
            )

    def _owned(self) -> list[str] | None:
        """List files, relative to the folder, that its manifest names as ours; None without a manifest."""
        manifest = self.manifest
        files = manifest.get("files")
        if "conjury" not in manifest or not isinstance(files, list):
            return None
        paths = [PurePosixPath(str(name)) for name in files]
        return [str(path) for path in paths if _ours(path)]

    def _take(self, draft: Path, written: Iterable[str], replaced: Iterable[str]) -> None:
        """Put the files of a draft in place of some of ours, which are put back if that fails."""
        # What is to be moved is written down before, so that the next one who writes or reads here completes
        # what a process that was ended leaves undone. The manifest goes first and comes last.
        swap = {"written": _manifest_last(written), "replaced": _manifest_last(replaced)[::-1]}
        part = draft / f"{SWAP}.part"
        part.write_text(json.dumps(swap), encoding="utf-8")
        part.replace(draft / SWAP)
        done: list[tuple[Path, Path]] = []
        try:
            self._move(draft, **swap, done=done)
            note_written(self.path / name for name in swap["written"])
        except BaseException:
            _put_back(done)
            (draft / SWAP).unlink()
            raise
        finally:
            for name in PARTS:
                with suppress(OSError):
                    (self.path / name).rmdir()

    def _move(
        self,
        draft: Path,
        written: list[str],
        replaced: list[str],
        done: list[tuple[Path, Path]] | None = None,
    ) -> None:
        """Move ours into the draft and its files into their place, whatever of that was done before."""
        # Each move is added to `done`.
        waiting = {name for name in written if (draft / name).exists()}
        moves = [
            (self.path / name, draft / "old" / name)
            for name in replaced
            if name in waiting or name not in written
        ]
        moves += [(draft / name, self.path / name) for name in written]
        for source, target in moves:
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                if done is not None:
                    done.append((source, target))
                source.rename(target)

    def _complete(self) -> None:
        """Complete what a process that was ended left undone, unless another one is at work."""
        swaps = list(self.path.glob(f"{DRAFT}*/{SWAP}"))
        for swap in swaps:
            self._read_swap(swap)  # refuses what was not written here, even while another process writes
        if swaps:
            with suppress(InputError), self._locked():
                self._finish_swaps()

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest, empty where there is none yet."""
        file = self.path / MANIFEST
        if not file.is_file():
            self._complete()
        if not file.is_file():
            return {}
        return read_manifest(file)

    @property
    def origin(self) -> str:
        """Which run wrote the results; empty where there are none."""
        manifest = self.manifest
        return f"of {manifest['created']} (`{manifest.get('command')}`)" if "created" in manifest else ""

    def data_file(self, variant: str) -> Path:
        """Where the choices of a variant are kept as they were analysed."""
        return self.path / "data" / f"choices{'.' + variant if variant else ''}.parquet"

    def choices(self) -> pd.DataFrame:
        """The main choices that the results rest on."""
        file = self.data_file("")
        if not file.is_file():
            raise InputError(
                f"{self.path} contains no choices; run `conjury fit` first, name its folder with "
                "--results, or give --data."
            )
        return read_table(file)

    def held(self, name: str) -> pd.DataFrame | None:
        """Judgments or items that the results rest on; None where there are none."""
        file = self.path / "data" / f"{name}.parquet"
        return read_table(file) if file.is_file() else None

    def write(
        self,
        tables: Mapping[str, pd.DataFrame],
        manifest: Mapping[str, Any],
        data: Mapping[str, pd.DataFrame] | None = None,
        other_tables: Mapping[str, pd.DataFrame] | None = None,
    ) -> None:
        """Write data and tables (Parquet and CSV), then the manifest, each file whole or not at all."""
        # `data` are choices by variant, `other_tables` other tables that the results rest on, by name.
        files = {self.data_file(variant): choices for variant, choices in (data or {}).items()}
        files |= {
            self.path / "data" / f"{name}.parquet": table for name, table in (other_tables or {}).items()
        }
        for name, table in tables.items():
            files |= {self.path / "tables" / f"{name}.{ending}": table for ending in ("parquet", "csv")}
        names = [file.relative_to(self.path).as_posix() for file in files]
        owned = self._owned() or []
        self._refuse_foreign([MANIFEST, *names])
        for file, table in files.items():
            write_table(table, file)
        self._write_manifest(manifest, {*owned, *names})

    def _write_manifest(self, manifest: Mapping[str, Any], files: Iterable[str]) -> None:
        listed = {"files": sorted({*files, MANIFEST})}
        text = json.dumps(record_notes({**manifest, **listed}), indent=2, ensure_ascii=False) + "\n"
        write_text(self.path / MANIFEST, text)


def _put_back(done: list[tuple[Path, Path]]) -> None:
    """Undo moves, the last one first."""
    for source, target in reversed(done):
        with suppress(OSError):
            target.rename(source)


def _manifest_last(names: Iterable[str]) -> list[str]:
    return sorted(names, key=MANIFEST.__eq__)


def _files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _ours(path: PurePosixPath) -> bool:
    """Whether a path, relative to the folder, is one where results go."""
    return path.parts[:1] != () and path.parts[0] in PARTS and ".." not in path.parts
