"""Samples of logs of Inspect as a table."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ...errors import InputError, MissingDependency, listed
from ...tables.limits import parse_json

NAME_OF_LOG = "2000-01-01T00-00-00-00-00_log_log.json"
SCORE, WHOLE = "score_", "whole_scores"
UNREAD = "Grade not found"  # how the explanation of a score begins whose grader gave none


def is_unread(score: Any) -> bool:
    """Whether a score stands for an answer of a grader without a grade, which was stored as a failing one."""
    return isinstance(score, Mapping) and str(score.get("explanation") or "").startswith(UNREAD)


def _columns() -> list[Any]:
    from inspect_ai.analysis import SampleColumn, SampleSummary

    return [*SampleSummary, SampleColumn(WHOLE, path="scores")]


def read_samples(path: Path) -> pd.DataFrame:
    """Read a row per sample, as Inspect lays them out: id, epoch, target, ``metadata_*`` and ``score_*``."""
    source = str(path)
    if not path.exists():
        raise InputError(f"{source}: there is no such log or folder; check the path.")
    frame = samples_of(path, source, _columns)
    parsed_scores = [parse_json(cell) if isinstance(cell, str) and cell else {} for cell in frame.pop(WHOLE)]
    for name in [str(name) for name in frame if str(name).startswith(SCORE)]:
        unread = [is_unread(scores.get(name.removeprefix(SCORE))) for scores in parsed_scores]
        frame[name] = frame[name].mask(pd.Series(unread, index=frame.index, dtype=bool), None)
    return pd.DataFrame({str(name): frame[name] for name in frame if not str(name).endswith("_id")})


@contextmanager
def _named_as_log(path: Path) -> Iterator[Path]:
    """A log of JSON under a name that Inspect takes for one: it reads no other, such as log.json."""
    if not path.is_file() or path.suffix.lower() != ".json":
        yield path
        return
    with TemporaryDirectory() as folder:
        yield Path(shutil.copyfile(path, Path(folder) / NAME_OF_LOG))


def _refuse_folder(path: Path, source: str) -> None:
    """Refuse a folder of other files than logs."""
    if path.is_dir():
        names = sorted(file.name for file in path.iterdir())
        raise InputError(
            f"{source}: the folder contains no log of Inspect ({listed(names, 4) or 'it is empty'}), and "
            "only logs are read as a folder; join other files into one table, and give this."
        )


def samples_of(path: Path, source: str, columns: Any) -> pd.DataFrame:
    """The samples of logs as a table, with these columns or the usual ones."""
    if not any(file.suffix.lower() in (".eval", ".json") for file in path.rglob("*")):
        _refuse_folder(path, source)
    try:
        from inspect_ai.analysis import samples_df
    except ImportError:
        raise MissingDependency(
            "Reading logs of Inspect needs inspect-ai, which is not installed; run pip install "
            "'conjury[inspect]'."
        ) from None
    chosen = {} if columns is None else {"columns": columns()}
    try:
        with _named_as_log(path) as place:
            frame = samples_df(str(place), quiet=True, **chosen)
    except Exception as error:  # the reader passes on whatever a damaged file makes its parsers raise
        reason = str(error).strip().splitlines()
        raise InputError(
            f"{source}: Inspect cannot read it ({reason[0] if reason else type(error).__name__}); name an "
            ".eval or .json log, or a folder of them."
        ) from None
    if not len(frame):
        _refuse_folder(path, source)
        raise InputError(
            f"{source}: the file contains no samples of an evaluation; give an .eval or .json log of "
            "Inspect, or a folder of them."
        )
    table: pd.DataFrame = frame.astype(object).where(frame.notna(), None).reset_index(drop=True)
    return table
