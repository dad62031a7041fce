"""A document whose results are not there yet: one sentence that says how to make them, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError

from .methods import code, plain

if TYPE_CHECKING:
    from .data import ReportData

THEN = {
    "DiagnosticsReport": "conjury diagnose STUDY --results {folder}",
    "EngineReport": "conjury compare STUDY --results {folder}",
}


class MissingReport:
    """Stands in for a report without results: it opens with why, and prints nothing else."""

    def __init__(self, why: str) -> None:
        self.why = why

    def opening(self) -> str:
        """Say why there are no results and how to make them."""
        return self.why

    def section(self, heading: str) -> AbstractContextManager[Any]:
        """Print nothing of a section."""
        return redirect_stdout(StringIO())

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *args, **kwargs: ""


def load(kind: type[ReportData], results: str) -> Any:
    """Open the results of a document; without them, what stands in says how to make them.

    Parameters
    ----------
    kind : type
        The class of the report.
    results : str
        The folder of results that the document names.

    Returns
    -------
    ReportData or MissingReport
        The latter only where Quarto renders a document by itself; ``conjury report`` opens results first.

    Examples
    --------
    >>> from conjury.analysis.report.data import ReportData
    >>> load(ReportData, "../results/none").opening()[:59]
    'There are no results in `../results/none` yet; make them wi'
    """
    try:
        return kind(results)
    except InputError as error:
        return MissingReport(_how_to_make(kind, results, str(error)))


def _how_to_make(kind: type[ReportData], results: str, error: str) -> str:
    document = os.environ.get("QUARTO_DOCUMENT_FILE") or "FILE.qmd"
    other = f"To show other results, run {code(f'quarto render {document} -P results:FOLDER')}."
    if (Path(results).expanduser() / "manifest.json").is_file():
        return f"{plain(error.replace(str(Path(results).expanduser().resolve()), results))} {other}"
    commands = [f"conjury fit STUDY --data FILE --out {results}"]
    commands += [THEN[kind.__name__].format(folder=results)] if kind.__name__ in THEN else []
    run = " and then ".join(code(command) for command in commands)
    return f"There are no results in {code(results)} yet; make them with {run}. {other}"
