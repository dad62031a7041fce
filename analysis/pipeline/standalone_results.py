"""Results that rest on no study, each a part of its folder: trials, and checks of published tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..results import Result
from .fitting import Draw, add_notes, command
from .manifest import describe_file, describe_run, entries_of
from .results_folder import FORMAT, ResultsFolder
from .runner import FittedResults, NamedResult

TABLES_PART = "published_numbers"  # of `conjury check-table`


def write_trial(folder: Path, name: str, result: Result, seconds: float, draw: Draw) -> None:
    """Write tables and figures of a trial; those of other trials, and blocks of draws, stay."""
    named = NamedResult(name, str(result.settings["title"]), result, seconds)
    _write(folder, named, {"study": "trials", "title": "Simulation studies of estimators"}, {}, draw)


def write_checked_tables(
    folder: Path, result: Result, files: Sequence[Path], seconds: float, draw: Draw
) -> None:
    """Write checks of published tables, in place of earlier ones of the folder."""
    named = NamedResult(TABLES_PART, "Published numbers checked against each other", result, seconds)
    rows = result.settings["rows"]
    data = [describe_file(file, rows[file.name], "", rows[file.name], "published table") for file in files]
    described = {"study": "published_tables", "title": "Published tables"}
    _write(folder, named, described, {"data": data}, draw)


def _write(
    folder: Path, named: NamedResult, described: Mapping[str, Any], record: Mapping[str, Any], draw: Draw
) -> None:
    """Write one result as a part of a folder, with its figures."""
    fitted = FittedResults([named])
    run = describe_run(command())
    part = {key: run[key] for key in ("created", "command", "packages", "r")}
    results = ResultsFolder(folder)
    base = results.manifest or {"format": FORMAT, **described, **run, "data": [], "results": []}
    manifest = {
        **base,
        "results": entries_of(fitted.results, named.name),
        "parts": {**base.get("parts", {}), named.name: {**part, **record, "notes": list(named.result.notes)}},
    }
    with results.extended(named.name) as draft:
        draft.write(fitted.tables, manifest)
        add_notes(draft, draw(draft.path, named.name), named.name)
