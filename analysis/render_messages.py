"""What a renderer printed, in a sentence: the cell that failed, and what it warned of."""

from __future__ import annotations

import re
from collections import Counter

COLOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CELL = re.compile(r"executing the following cell:\s*\n-{5,}\n(.*?)\n-{5,}\n", re.DOTALL)
ERROR = re.compile(r"^(?:\w+(?:\.|Error:))*([A-Z]\w*(?:Error|Exception|Dependency): .*\S)\s*$", re.MULTILINE)
WARNING = re.compile(r"\bWARN(?:ING)?\b|\(E\)|\bwarning:")
OWN_ERRORS = ("InputError", "ConjuryError", "MissingDependency")


def plain_text(printed: str) -> str:
    """Printed text without the codes of a terminal's colours."""
    return COLOR.sub("", printed)


def failure(document: str, printed: str) -> str:
    """Why a document could not be rendered, from all that was printed: one line."""
    text = plain_text(printed)
    errors = ERROR.findall(text)
    if cell := CELL.search(text):
        return failed_cell(document, cell[1], errors[-1] if errors else "an error that was not named")
    tail = " | ".join(text.strip().splitlines()[-15:])
    return f"Quarto could not render {document}: {errors[-1] if errors else tail}"


def failed_cell(document: str, code: str, error: str) -> str:
    """Say which cell of a document failed and what to do.

    Examples
    --------
    >>> failed_cell("raters.qmd", "report.show('agreement')", "InputError: There is no table.")
    "The cell `report.show('agreement')` of raters.qmd failed. InputError: There is no table."
    """
    lines = [line.strip() for line in code.splitlines() if line.strip() and not line.startswith("#|")]
    told = f"The cell `{lines[-1] if lines else ''}` of {document} failed. {' '.join(error.split())}"
    if error.startswith(OWN_ERRORS):
        return told
    return (
        f"{told.rstrip('.')}. Compute the results again with this version of conjury; if the error stays, "
        "report it with this line."
    )


def warnings_in(printed: str) -> list[str]:
    r"""Lines that warn of something, each once, with how often it was printed.

    Examples
    --------
    >>> warnings_in("warning: unknown font\n[1/2] moderation.qmd\nwarning: unknown font\nWARN: a\n")
    ['warning: unknown font (2 times)', 'WARN: a']
    """
    lines = [line.strip() for line in plain_text(printed).splitlines()]
    counts = Counter(line for line in lines if WARNING.search(line))
    return [line + (f" ({n} times)" if n > 1 else "") for line, n in counts.items()]
