"""A report as PDF without Quarto: its Markdown set by pandoc and typst, from their wheels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from conjury.inference.errors import ConjuryError, require_installed
from conjury.inference.tables.files import QUARTO

FILTER = "fallback.lua"
TEMPLATE = """
#let horizontalrule = line(start: (25%%,0%%), end: (75%%,0%%))
%(header)s
#set page(paper: "%(paper)s", margin: (%(margin)s), numbering: "1")
#set par(justify: true, leading: 0.65em)
#set text(lang: "en", region: "US", size: 11pt)
#set heading(numbering: "1.1.a")
#set table(stroke: (_, y) => if y == 0 { (bottom: 0.6pt) } else { (bottom: 0.3pt + luma(200)) })
%(title)s
%(body)s
"""
NEEDED = (
    "PDF reports need Quarto, or pandoc and typst as Python packages; run `pip install 'conjury[pdf]'`, "
    "install Quarto from quarto.org, or render to html."
)


def require() -> None:
    """Refuse to begin without pandoc and typst."""
    require_installed(("pypandoc", "typst"), NEEDED)


def typeset(
    folder: Path,
    markdown: str,
    *,
    title: str = "",
    subtitle: str = "",
    bibliography: str = "",
    header: bool = True,
    prefix: str = "",
    contents: bool = True,
) -> Path:
    """Set Markdown whose figures are below ``folder`` as a PDF in it."""
    # `header` is whether what the project file of Quarto puts into the header is there; `contents` whether a
    # table of contents follows the title; a `prefix` comes before the numbers of figures and tables.
    import pypandoc
    import typst

    options = [f"--lua-filter={QUARTO / FILTER}", "--wrap=none", "--shift-heading-level-by=-1"]
    options += [f"--metadata=prefix:{prefix}"] if prefix else []
    if bibliography:
        options += ["--citeproc", f"--bibliography={folder / bibliography}", "--metadata=link-citations:true"]
    body = pypandoc.convert_text(markdown, "typst-citations", format="markdown", extra_args=options)
    settings: Mapping[str, Any] = yaml.safe_load((QUARTO / "_quarto.yml").read_text(encoding="utf-8"))[
        "format"
    ]["typst"]
    included = "\n".join(part["text"] for part in settings["include-in-header"]) if header else ""
    margin = ", ".join(f"{side}: {width}" for side, width in settings["margin"].items())
    text = TEMPLATE % {
        "header": included,
        "paper": settings["papersize"],
        "margin": margin,
        "title": _title(title, subtitle, contents) if title else "",
        "body": body,
    }
    source, target = folder / "pages.typ", folder / "pages.pdf"
    source.write_text(text, encoding="utf-8")
    try:
        _, noticed = typst.compile_with_warnings(str(source), output=str(target), root=str(folder))
    except RuntimeError as error:
        raise ConjuryError(f"typst could not set the report: {' '.join(str(error).split())}") from error
    for warning in noticed:
        warnings.warn(f"typst: {warning}", stacklevel=2)
    return target


def _title(title: str, subtitle: str, contents: bool) -> str:
    """The head of a document, as text that typst cannot take for commands, and its contents."""
    lines = [f'#align(center)[#text(size: 1.5em, weight: "bold", {_string(title)})]']
    if subtitle:
        lines.append(f"#align(center)[#text(size: 1.1em, {_string(subtitle)})]")
    return "\n".join([*lines, "#v(1em)", *(["#outline(depth: 2)"] if contents else [])])


def _string(text: str) -> str:
    """A string of typst."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'
