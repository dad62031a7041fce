"""The results folder: tables, the data behind them, figures, and a manifest of how they came about."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.files import read_table, write_table
from conjury.inference.paths import ROOT

PARTS = ("data", "tables", "figures", "manifest.json")
PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "statsmodels", "linearmodels", "matplotlib", "rpy2")


class ResultsFolder:
    """A folder that ``conjury fit`` and ``conjury compare`` write and reports read.

    Parameters
    ----------
    path : str or Path
        Made when something is first written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; give a folder for results.")

    @contextmanager
    def replaced(self) -> Iterator[ResultsFolder]:
        """Hand out an empty draft that takes the place of data, tables, figures and manifest at the end.

        When the block fails or is interrupted the folder stays as it was. Other files in it are kept.
        """
        new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(dir=self.path, prefix=".draft-"))
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}); choose another folder for results."
            ) from None
        try:
            yield ResultsFolder(draft)
            self._take(draft)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            if new:
                with suppress(OSError):
                    self.path.rmdir()

    def _take(self, draft: Path) -> None:
        """Move the parts of a draft here; what they replace is put back if that fails."""
        moves = []
        try:
            for part in PARTS:
                for source, target in (
                    (self.path / part, draft / f"old-{part}"),
                    (draft / part, self.path / part),
                ):
                    if source.exists():
                        moves.append((source, target))
                        source.rename(target)
        except BaseException:
            for source, target in reversed(moves):
                with suppress(OSError):
                    target.rename(source)
            raise

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest, empty where there is none yet."""
        file = self.path / "manifest.json"
        if not file.is_file():
            return {}
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InputError(f"{file} is not readable as JSON ({error}); run `conjury fit` again.") from error
        return found

    def data_file(self, variant: str) -> Path:
        """Where the choices of a variant are kept as they were analysed."""
        return self.path / "data" / f"choices{'.' + variant if variant else ''}.parquet"

    def choices(self) -> pd.DataFrame:
        """The main choices that the results rest on."""
        file = self.data_file("")
        if not file.is_file():
            raise InputError(f"{self.path} holds no choices; run `conjury fit` first or give --data.")
        return read_table(file)

    def write(
        self,
        tables: Mapping[str, pd.DataFrame],
        manifest: Mapping[str, Any],
        data: Mapping[str, pd.DataFrame] | None = None,
    ) -> None:
        """Write data and tables (Parquet and CSV), then the manifest, each file whole or not at all."""
        for variant, choices in (data or {}).items():
            write_table(choices, self.data_file(variant))
        for name, table in tables.items():
            for ending in ("parquet", "csv"):
                write_table(table, self.path / "tables" / f"{name}.{ending}")
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        self.path.mkdir(parents=True, exist_ok=True)
        draft = self.path / f".manifest.{os.getpid()}.tmp"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.path / "manifest.json")


def describe_run(command: Iterable[str], r: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Say when, with what software and by which command something was made."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "conjury": version("conjury"),
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "r": dict(r) if r else None,
        "command": shlex.join(map(without_folder, command)),
    }


def without_folder(argument: str) -> str:
    """Shorten an argument that is an absolute path, or a pair with one, to the name of the file.

    Examples
    --------
    >>> [without_folder(text) for text in ("--data", "/data/choices.csv", "other=/data/b.csv")]
    ['--data', 'choices.csv', 'other=b.csv']
    """
    name, equals, value = argument.rpartition("=")
    path = Path(value)
    return f"{name}{equals}{path.name}" if path.is_absolute() and path.name else argument


def describe_file(path: str | Path, rows: int, variant: str) -> dict[str, Any]:
    """Name a data file with its checksum; the folder it lay in is left out."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {
        "name": "choices",
        "file": Path(path).name,
        "sha256": digest.hexdigest(),
        "rows": rows,
        "variant": variant,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Commit of a checkout; None for an installed package."""
    if not (ROOT / ".git").exists():
        return None
    try:
        made = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return made.stdout.strip() or None
