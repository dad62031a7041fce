"""The methods of results as text for a paper, with the works that were really used as BibTeX."""

from __future__ import annotations

import re
from pathlib import Path

from ...pipeline.manifest import rows_in_words
from ..method_sentences import code, plain
from ..results_report import Report
from .references import entries, software, works_of

OWN = "conjury"


def methods_of(path: str | Path) -> tuple[str, str]:
    """Methods of all results of a folder, in Markdown with citations, and the BibTeX of what is cited."""
    # Returns: In the text, `[@key]` cites an entry of the bibliography; every entry is cited.
    report = Report(path)
    parts = [_opening(report)]
    paragraphs: set[str] = set()
    for record in report.results:
        text, works = report.method(record), works_of([record])
        if not text and not works:
            continue
        cited = f" [{'; '.join(f'@{key}' for key in works)}]" if works else ""
        title = plain(record.title.rstrip(".") or record.name)
        paragraph = f"*{title}*{cited}. {text}".strip()
        if paragraph not in paragraphs:
            parts.append(paragraph)
            paragraphs.add(paragraph)
    named = set(re.findall(r"@([a-z]+[0-9]{4})", "\n".join(parts)))
    keys = [key for key in entries() if key in named]
    bibliography = "\n\n".join([software(), *(entries()[key] for key in keys)])
    return "\n\n".join(parts) + "\n", bibliography + "\n"


def _opening(report: Report) -> str:
    """Data, software and command, and that data are simulated where they are."""
    record = report.manifest
    data = f"The analyses rest on {rows}. " if (rows := rows_in_words(record.get("data") or [])) else ""
    simulated = "The data are simulated. " if report.simulated else ""
    packages = record.get("packages") or {}
    listed = ", ".join(f"{plain(name)} {plain(number)}" for name, number in packages.items())
    python = f"Python {plain(record['python'])}" if record.get("python") else "Python"
    with_r = "".join(
        f", {plain(name)} {plain(number)}" for name, number in (record.get("r") or {}).items() if number
    )
    run = f" They were computed by {code(record['command'])}." if record.get("command") else ""
    return (
        f"{simulated}{data}All analyses were run with conjury {plain(record.get('conjury') or '')} [@{OWN}] "
        f"({python}; {listed}{with_r}).{run}"
    )
