"""One table from any file with answers of a judge: what program wrote it, and how it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import InputError, counted
from ...tables.files import load_text
from ...tables.limits import parse_json, read_json, read_text, require_file
from . import lm_eval, promptfoo
from .inspect_samples import read_samples
from .judged_table import Judged, flat

LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
TABLES = (".csv", ".csv.gz", ".parquet")
ENDINGS = (*TABLES, *LINES, ".json", ".eval")


def read_judged(path: str | Path) -> Judged:
    r"""Read a CSV, Parquet or JSON lines table, an Inspect log, lm-eval samples or promptfoo's output.

    Parameters
    ----------
    path : a file that ends in .csv, .csv.gz, .parquet, .jsonl, .ndjson (plain or .gz), .json or .eval; or a
        A file that ends in .csv, .csv.gz, .parquet, .jsonl, .ndjson (plain or .gz), .json or .eval; or a
        folder of Inspect logs.

    Returns
    -------
    Judged
        One row per answer, and the columns that the format determines.

    Raises
    ------
    InputError
        The file is missing, damaged, or of no known kind.
    MissingDependency
        A log of Inspect, and inspect-ai is not installed.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "spam.csv"
    >>> _ = file.write_text("verdict,label\nspam,spam\nok,spam\n")
    >>> read_judged(file).frame["label"].tolist()
    ['spam', 'spam']
    """
    path = Path(path)
    name = path.name.lower()
    if path.is_dir() or name.endswith(".eval"):
        return _inspect(path)
    require_file(path)
    if not name.endswith(ENDINGS):
        raise InputError(f"{path}: files of judged items end in {', '.join(ENDINGS)}; convert or rename it.")
    if name.endswith(".parquet"):
        from ...tables.parquet import plain_cells, read_parquet

        return Judged(plain_cells(read_parquet(path)), str(path))
    if name.endswith((".csv", ".csv.gz")):
        return Judged(load_text(path), str(path))
    return _json(path, lines=name.endswith(LINES))


def _json(path: Path, lines: bool) -> Judged:
    content = _records_in_lines(path) if lines else _read_rows(path)
    if isinstance(content, dict) and {"eval", "samples"} <= content.keys():
        return _inspect(path)
    records: Sequence[Any] = content
    if isinstance(content, dict):
        records = promptfoo.results_of(content, str(path))
    if not records:
        raise InputError(f"{path}: the file has no rows; give another one.")
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: row {number:,} is not a JSON object; write one object per row.")
    if promptfoo.is_result(records[0]):
        return promptfoo.table_of(records, str(path))
    if lm_eval.is_sample(records[0]):
        return lm_eval.table_of(records, str(path))
    return Judged(pd.DataFrame([flat(record) for record in records]), str(path))


def _records_in_lines(path: Path) -> list[Any]:
    records = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                records.append(parse_json(line))
            except ValueError as error:
                raise InputError(
                    f"{path}: line {number:,} is not valid JSON ({error}); correct it."
                ) from None
    return records


def _read_rows(path: Path) -> Any:
    content = read_json(path, "correct it")
    if isinstance(content, list | dict):
        return content
    raise InputError(f"{path}: this is not a list of rows; write one JSON object per row.")


def _inspect(path: Path) -> Judged:
    """A row per sample of the logs of Inspect, with a column for each of its scores."""
    frame = read_samples(path)
    scores = [name for name in frame if str(name).startswith("score_")]
    graded = [name for name in scores if str(name).startswith("score_model_graded")] or scores
    note = f"{counted(len(frame), 'sample')} with {counted(len(scores), 'score')}."
    judge = str(graded[0]) if len(graded) == 1 else None
    return Judged(frame, str(path), "a log of Inspect", judge, id="id", notes=(note,))
