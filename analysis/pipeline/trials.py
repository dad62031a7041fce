"""The results folder of a trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..results import Result
from .fitting import command
from .manifest import describe_run, entries_of
from .results_folder import FORMAT, ResultsFolder
from .run import Fitted, Named


def write_trial(
    folder: Path, name: str, result: Result, seconds: float, draw: Callable[[Path, str], list[str]]
) -> None:
    """Write the tables, figures and manifest of a trial; blocks of draws in the folder stay."""
    fitted = Fitted([Named("trial", str(result.settings["title"]), result, seconds)])
    labels = result.settings["labels"]
    manifest = {
        "format": FORMAT,
        "study": name,
        "title": result.settings["title"],
        "labels": {"features": {}, "levels": {**labels}},
        **describe_run(command()),
        "data": [],
        "results": entries_of(fitted.results),
        "notes": list(result.notes),
    }
    with ResultsFolder(folder).replaced() as draft:
        draft.write(fitted.tables, manifest)
        notes = draw(draft.path, "fit")
        if notes:
            manifest["notes"] = [*result.notes, *notes]
            draft.write({}, manifest)
