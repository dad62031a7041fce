"""What reports print, as text: tables as rows of cells, figures as their descriptions; and stored texts.

``CONJURY_SNAPSHOTS=write`` stores the texts anew; look at the difference before you commit it.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from conjury.analysis.report import Report
from conjury.analysis.report import exhibited_results as printing
from conjury.analysis.report.document import assemble, execute, read_source, set_parameter
from conjury.inference.tables.files import QUARTO

FOLDER = Path(__file__).parents[1] / "fixtures" / "snapshots"
RAW = re.compile(r"```\{=html\}\n(.*?)\n```", re.DOTALL)


@contextmanager
def undrawn() -> Iterator[None]:
    """Figures are not drawn but described."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(printing, "draw", lambda *_, **__: None)
        patch.setattr(printing, "put_on_page", lambda figure, label: (None, label))
        patch.setattr(printing, "picture", lambda drawing, file, alt: f"[{alt}]")
        yield


def shown(report: Report, *kinds: str) -> str:
    """What a report prints of some kinds of results."""
    with undrawn(), redirect_stdout(printed := io.StringIO()):
        report.show(*kinds)
    return in_text(printed.getvalue())


def document(name: str, results: Path) -> str:
    """What a document prints of a results folder, with its prose."""
    _, cells = read_source(QUARTO / f"{name}.qmd")
    with undrawn():
        done = execute(set_parameter(cells, "results", str(results)), QUARTO, name)
    return in_text(assemble(done).replace(str(results), "RESULTS"))


def in_text(markdown: str) -> str:
    """Markdown with its tables as lines of cells."""
    text = RAW.sub(lambda found: _rows(found[1]), markdown)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _rows(html: str) -> str:
    rows = re.findall(r"<tr.*?</tr>", re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL), re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return "\n".join(
        " | ".join(" ".join(unescape(re.sub("<[^>]+>", "", cell)).split()) for cell in row) for row in cells
    )


def check(name: str, text: str) -> None:
    """Compare a text with the stored one of that name."""
    file = FOLDER / f"{name}.md"
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs; see tests/support/snapshots.py"


def stored(file: Path, name: str, found: Mapping[str, float]) -> dict[str, float]:
    """The numbers that a CSV file has under a name; with CONJURY_SNAPSHOTS=write those found are stored."""
    table = pd.read_csv(file, index_col=0) if file.exists() else pd.DataFrame()
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        row = pd.DataFrame({name: {part: float(f"{value:.6g}") for part, value in found.items()}}).T
        table = pd.concat([table.drop(index=name, errors="ignore"), row])
        table.to_csv(file)
    return dict(table.loc[name].dropna())
