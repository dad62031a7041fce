"""The results folder of trials: each trial is a part of it."""

from __future__ import annotations

from pathlib import Path

from ..results import Result
from .fitting import Draw, add_notes, command
from .manifest import describe_run, entries_of
from .results_folder import FORMAT, ResultsFolder
from .run import Fitted, Named


def write_trial(folder: Path, name: str, result: Result, seconds: float, draw: Draw) -> None:
    """Write tables and figures of a trial; those of other trials, and blocks of draws, stay."""
    fitted = Fitted([Named(name, str(result.settings["title"]), result, seconds)])
    run = describe_run(command())
    record = {key: run[key] for key in ("created", "command", "packages", "r")}
    results = ResultsFolder(folder)
    empty = {"format": FORMAT, "study": "trials", "title": "Simulation studies of estimators", **run}
    base = results.manifest or {**empty, "data": [], "results": []}
    manifest = {
        **base,
        "results": entries_of(fitted.results, name),
        "parts": {**base.get("parts", {}), name: {**record, "notes": list(result.notes)}},
    }
    with results.extended(name) as draft:
        draft.write(fitted.tables, manifest)
        add_notes(draft, draw(draft.path, name), name)
