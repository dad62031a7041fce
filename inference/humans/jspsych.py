"""Data of jsPsych: trials from JSON, JSON lines (results of JATOS) or CSV, and their ratings as judgments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, listed
from ..tables.limits import check_columns, parse_json
from ..tables.reading.containers import FileContent, open_content
from ..tables.reading.json_rows import parsed_json
from ..tables.reading.reading_rules import ReadingRules
from ..tables.row_numbers import of_rows
from .exclusion_rules import Rules
from .imported_ratings import Imported
from .rating_columns import Layout
from .text_tables import first_present, read_export_table, require_column
from .wide import WideExport, to_judgments, with_items

JSON = ("json", "jsonl")
SUFFIXES = (".json", ".jsonl", ".txt", ".csv")
JUDGES = ("visit", "subject_id", "subject", "participant_id", "participant", "PROLIFIC_PID", "run_id")
ITEMS = ("item_id", "item")
NULL = "null"
REMEDY = "save the data with jsPsych.data.get().json() or .csv(), or export the results of JATOS as text"


@dataclass(frozen=True)
class Trials:
    """Trials as text, one row for each; what is inside of an object has a column such as ``response.wit``."""

    source: str
    table: pd.DataFrame


def read_trials(path: str | Path | FileContent, rules: ReadingRules | None = None) -> Trials:
    """Read the trials of one file, or of all files of a folder."""
    source, rules = str(path), rules or ReadingRules()
    files: list[Path | FileContent] = [path if isinstance(path, FileContent) else Path(path)]
    if isinstance(path, str | Path) and Path(path).is_dir():
        path = Path(path)
        files = [
            file for file in sorted(path.rglob("*")) if file.suffix.lower() in SUFFIXES and file.is_file()
        ]
        if not files:
            raise InputError(f"{source}: there is no file with {listed(SUFFIXES)} in this folder; {REMEDY}.")
    rows = [row for file in files for row in _rows(file, rules)]
    if not rows:
        raise InputError(f"{source}: there are no trials; {REMEDY}.")
    table = pd.DataFrame(rows, dtype="string")
    check_columns(source, table.shape[1])
    return Trials(source, table.astype(object))


def read_jspsych(path: str | Path | FileContent, layout: Layout, rules: Rules | None = None) -> Imported:
    r"""Read ratings from data of jsPsych, one row per trial.

    Parameters
    ----------
    path : str or Path
        A file (.json, .jsonl, .txt, .csv) or a folder of such files.
    layout : Layout
        ``value`` or ``ratings`` (columns of ratings, such as ``response.wit`` where a form has several
        answers), ``item`` (by default ``item_id`` or ``item``), and ``judge`` (by default the first of visit,
        subject_id, subject, participant_id, participant, PROLIFIC_PID, run_id); rows without an item are no
        trials with ratings.
    rules : Rules, optional
        Anchors, checks and marks.

    Returns
    -------
    Imported
        Judgments, and what was assumed in reading them.

    Raises
    ------
    InputError
        The file contains no trials, or a named column is missing.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "data.json"
    >>> trial = {"subject": "p1", "item_id": "j1", "response": {"wit": 4}}
    >>> _ = file.write_text(json.dumps([{"trial_type": "preload", "subject": "p1"}, trial]))
    >>> ratings = read_jspsych(file, Layout(value={"wit": "response.wit"})).judgments
    >>> ratings[["judge_id", "item_id", "dimension", "value"]].to_numpy().tolist()
    [['p1', 'j1', 'wit', 4]]
    """
    trials = read_trials(path, None if rules is None else rules.reading)
    source, table = trials.source, trials.table
    if not layout.ratings and not layout.value:
        raise InputError(
            f"{source}: no option names the columns of ratings; name one with --value, such as --value "
            f"response (there are: {listed(table.columns)})."
        )
    judge = layout.judge or first_present(table, JUDGES)
    item = layout.item
    if item is None and not any("{item}" in pattern for pattern in layout.ratings):
        item = first_present(table, ITEMS)
    if judge is not None:
        require_column(table, judge, source, "--judge")
    if item is not None:
        table = with_items(table, item, source)
        require_column(table, item, source, "--item")
        is_rated = table[item].notna().to_numpy(dtype=bool)
        source = of_rows(source, is_rated, len(table))
        table = table[is_rated].reset_index(drop=True)
    nothing = pd.DataFrame(index=table.index)
    answers = WideExport(source, table, judge, nothing, nothing)
    return to_judgments(answers, replace(layout, item=item), rules or Rules())


def _rows(path: Path | FileContent, rules: ReadingRules) -> Iterator[dict[str, str]]:
    content = open_content(path)
    if content.form not in JSON:
        table = read_export_table(content, rules).table
        for row in table.to_dict("records"):
            cells = {str(name): cell for name, cell in row.items() if pd.notna(cell) and cell != NULL}
            yield _flat({name: _object(cell) for name, cell in cells.items()})
        return
    is_lines = content.form == "jsonl"
    parsed = parsed_json(content.data, is_lines, content.source, rules.encoding)
    for value in parsed if is_lines else [parsed]:  # a line of JATOS has all trials of a person
        for trial in value if isinstance(value, list) else [value]:
            if not isinstance(trial, dict):
                raise InputError(f"{path}: this is not a list of trials; {REMEDY}.")
            yield _flat(trial)


def _object(cell: str) -> Any:
    """A cell of a CSV; an object where it is one."""
    if not cell.startswith("{"):
        return cell
    try:
        return parse_json(cell)
    except ValueError:
        return cell


def _flat(trial: dict[str, Any]) -> dict[str, str]:
    """Values of a trial as text; those of an object under names such as ``response.wit``."""
    flat: dict[str, str] = {}
    for name, value in trial.items():
        parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else None
        for key, part in ({name: value} if parts is None else parts).items():
            if part is not None and part != "":
                flat[str(key)] = (
                    part.strip() if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
                )
    return flat
