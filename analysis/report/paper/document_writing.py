"""Tables as LaTeX, Markdown, HTML and Word; and Markdown documents as LaTeX and Word, by pandoc."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjury.inference.errors import ConjuryError, InputError, MissingDependency, require_installed
from conjury.inference.tables.html_page import page as html_page
from conjury.inference.tables.writing import atomic_write, write_text

from ..document import Watch, watched
from ..table_format import BOLD
from .paper_tables import PaperTable

NEEDS_PANDOC = (
    "{what} needs pandoc, which is not installed; run `pip install 'conjury[pdf]'`, or choose another format."
)
NEEDS_BS4 = (
    "Tables as Markdown and Word need the package {missing}, which is not installed; "
    "run `pip install 'conjury[report]'`, or choose latex or html."
)
LATEX_LETTERS = {"\N{NO-BREAK SPACE}": "~", "\N{MINUS SIGN}": "$-$", "\N{LESS-THAN OR EQUAL TO}": r"$\le$"}
LATEX_LETTERS |= {
    "\N{GREEK SMALL LETTER KAPPA}": r"$\kappa$",
    "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
    "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
    "\N{GREEK SMALL LETTER TAU}": r"$\tau$",
    "\N{GREEK CAPITAL LETTER PHI}": r"$\Phi$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{EN DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    BOLD[0]: r"\textbf{",
    BOLD[1]: "}",
}
LATEX_ACTING = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}",
}  # fmt: skip
ENDINGS = {"latex": "tex", "markdown": "md", "html": "html", "word": "docx"}
FONT_SIZE = re.compile(r"\\fontsize\{[^}]*\}\{[^}]*\}\\selectfont\n*")
NOTES = re.compile(r"\\begin\{minipage\}\{\\linewidth\}\n(.*?)\\end\{minipage\}", re.DOTALL)
PRINTED_ROWS = 60  # of a table that is printed
PREAMBLE = "% needs \\usepackage{booktabs}\n"


@dataclass(frozen=True)
class TextTable:
    """A table as text."""

    heads: list[list[str]]  # rows of headings; what spans several columns stands above each
    rows: list[list[str]]  # cells; a row with one cell is the heading of a group
    right: list[bool]  # whether a column is aligned to the right
    notes: list[str]  # sentences below the table


def latex_escaped(text: str) -> str:
    """Text in LaTeX, whatever it contains."""
    return "".join(LATEX_LETTERS.get(char, LATEX_ACTING.get(char, char)) for char in text)


def to_latex(tables: Sequence[PaperTable]) -> str:
    """Tables in LaTeX with the package booktabs, each with its caption, label and notes."""
    return PREAMBLE + "\n".join(map(_latex, tables))


def _latex(table: PaperTable) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes in percent are those of pages; ours follow
        latex = str(table.gt.as_latex())
    latex = FONT_SIZE.sub("\\\\small\n", latex, count=1)
    latex = NOTES.sub(lambda match: _latex_notes(match[1]), latex)
    for letter, written in LATEX_LETTERS.items():
        latex = latex.replace(letter, written)
    label = re.sub(r"[^A-Za-z0-9-]+", "-", table.name)
    head = f"\\centering\n\\caption{{{latex_escaped(table.caption)}}}\n\\label{{tab:{label}}}\n"
    latex = re.sub(r"(\\begin\{table\}\[[^\]]*\])\n+", lambda match: f"{match[1]}\n{head}", latex, count=1)
    return latex.replace("\\[2.5pt] \n\\midrule\\addlinespace[2.5pt]\n", "\\[2.5pt]\n").strip() + "\n"


def _latex_notes(text: str) -> str:
    """Notes in small type below a table."""
    return f"\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\n\\footnotesize\n{text}\\end{{minipage}}"


def to_html(tables: Sequence[PaperTable]) -> str:
    """Tables as HTML, each below its caption."""
    return "\n".join(
        f'<figure style="margin: 0 0 2em 0">\n<figcaption>{html.escape(table.caption)}</figcaption>\n'
        f"{table.html}\n</figure>"
        for table in tables
    )


def _html_page(tables: Sequence[PaperTable]) -> str:
    return html_page(tables[0].caption, to_html(tables), base=False)


def to_markdown(tables: Sequence[PaperTable]) -> str:
    """Tables in Markdown (pipes), each with its caption and notes."""
    return "\n\n".join(map(_markdown, tables)) + "\n"


def _markdown(table: PaperTable) -> str:
    grid = grid_of(table.html)
    heads = [" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*grid.heads, strict=True)]
    lines = [_pipes(map(_cell, heads)), _pipes("---:" if right else ":---" for right in grid.right)]
    for row in grid.rows:
        cells = [f"**{_cell(row[0])}**"] + [""] * (len(heads) - 1) if len(row) == 1 else map(_cell, row)
        lines.append(_pipes(cells))
    notes = [_cell(note) for note in grid.notes]
    return "\n\n".join([f"**{_cell(table.caption)}**", "\n".join(lines), *notes])


def to_text(tables: Sequence[PaperTable]) -> str:
    """Tables in columns of plain text, each with its caption and notes; of long ones, the first rows."""
    return "\n\n".join(map(_plain_text, tables))


def _plain_text(table: PaperTable) -> str:
    grid = grid_of(table.html)
    rows, more = grid.rows[:PRINTED_ROWS], len(grid.rows) - PRINTED_ROWS
    heads = [" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*grid.heads, strict=True)]
    has_groups = any(len(row) == 1 < len(heads) for row in rows)
    cells = [[f"  {row[0]}" if has_groups else row[0], *row[1:]] for row in rows if len(row) == len(heads)]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    indented = iter(cells)
    lines = [
        row[0] if len(row) < len(heads) else _aligned(next(indented), widths, grid.right) for row in rows
    ]
    notes = [*([f"{more:,} more rows; all are in `.frame`."] if more > 0 else []), *grid.notes]
    return "\n".join([table.caption, "", _aligned(heads, widths, grid.right), *lines, "", *notes]).rstrip()


def _aligned(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = zip(cells, widths, right, strict=True)
    return "  ".join(
        cell.rjust(width) if is_right else cell.ljust(width) for cell, width, is_right in placed
    ).rstrip()


def _pipes(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Text in a cell of Markdown: what would act is escaped."""
    escaped = re.sub(r"([\\`*_{}\[\]<>|#$~^])", r"\\\1", " ".join(text.split(" ")))
    return escaped.replace("&", "&amp;").replace(BOLD[0], "**").replace(BOLD[1], "**")


def grid_of(markup: str) -> TextTable:
    """Read what a table shows from its HTML."""
    require_installed(("bs4",), NEEDS_BS4)
    from bs4 import BeautifulSoup

    table = BeautifulSoup(markup, "html.parser").find("table")
    assert table is not None
    body = [row.find_all(["td", "th"]) for row in table.select("tbody tr")]
    rows = [[_text(cell) for cell in cells] for cells in body]
    n = max((len(row) for row in rows), default=1)
    heads = _headings([row.find_all("th") for row in table.select("thead tr.gt_col_headings")], n)
    widest: list[Any] = next((list(cells) for cells in body if len(cells) == n), [])
    right = ["gt_right" in (cell.get("class") or []) for cell in widest] or [False] * n
    return TextTable(heads, rows, right, [_text(note) for note in table.select(".gt_sourcenote")])


def _headings(rows: list[Any], n: int) -> list[list[str]]:
    """Rows of headings, filled where one spans rows or columns."""
    heads = [[""] * n for _ in rows] or [[""] * n]
    is_filled = [[False] * n for _ in rows]
    for k, cells in enumerate(rows):
        place = 0
        for cell in cells:
            while place < n and is_filled[k][place]:
                place += 1
            for down in range(int(cell.get("rowspan") or 1)):
                for across in range(int(cell.get("colspan") or 1)):
                    if k + down < len(rows) and place + across < n:
                        is_filled[k + down][place + across] = True
                        heads[k + down][place + across] = _text(cell)
    return heads


def _text(cell: Any) -> str:
    for strong in cell.find_all("strong"):
        strong.replace_with(f"{BOLD[0]}{strong.get_text()}{BOLD[1]}")
    return " ".join(cell.get_text(" ").replace("\N{NO-BREAK SPACE}", "\N{WORD JOINER}").split()).replace(
        "\N{WORD JOINER}", "\N{NO-BREAK SPACE}"
    )


def write_word(tables: Sequence[PaperTable], path: str | Path) -> Path:
    """Write tables as a Word document, each with its caption and notes."""
    parts = []
    for table in tables:
        grid = grid_of(table.html)
        notes = "".join(f"<p><em>{html.escape(note)}</em></p>" for note in grid.notes)
        parts.append(f"<p><strong>{html.escape(table.caption)}</strong></p>\n{_plain_html(grid)}\n{notes}")
    return convert("\n".join(parts), "html", "docx", path, "A Word document")


def _plain_html(grid: TextTable) -> str:
    """A table as pandoc reads it: alignment in each cell, headings of groups in bold over all columns."""
    sides = ["right" if right else "left" for right in grid.right]

    def row(cells: Sequence[str], tag: str) -> str:
        if len(cells) == 1 < len(sides):
            return f'<tr><td colspan="{len(sides)}"><strong>{html.escape(cells[0])}</strong></td></tr>'
        aligned = zip(cells, sides, strict=True)
        marked = [f'<{tag} style="text-align: {side}">{_strong(cell)}</{tag}>' for cell, side in aligned]
        return f"<tr>{''.join(marked)}</tr>"

    heads = "".join(row(cells, "th") for cells in grid.heads)
    body = "".join(row(cells, "td") for cells in grid.rows)
    return f"<table><thead>{heads}</thead><tbody>{body}</tbody></table>"


def _strong(cell: str) -> str:
    """Text of a cell in HTML."""
    return html.escape(cell).replace(BOLD[0], "<strong>").replace(BOLD[1], "</strong>")


def _pandoc(what: str) -> str:
    """The pandoc of the extra pdf, or else that on the PATH."""
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path())
    except (ImportError, OSError) as error:
        program = shutil.which("pandoc")
        if program is None:
            raise MissingDependency(NEEDS_PANDOC.format(what=what)) from error
        return program


def _run(command: Sequence[str], content: bytes, what: str) -> bytes:
    """What a program prints; raise ConjuryError with what it says where it fails."""
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split())
        raise ConjuryError(f"{what} was not written; pandoc says: {reason}")
    return done.stdout


def _without_picture(node: dict[str, Any]) -> dict[str, Any]:
    """An element of a document; a picture becomes a link to it."""
    return {**node, "t": "Link"} if node.get("t") == "Image" else node


def convert(text: str, source: str, to: str, path: str | Path, what: str, bibliography: str = "") -> Path:
    """Convert text by pandoc into a file, whole or not at all; works are cited from BibTeX."""
    program = _pandoc(what)
    from tempfile import TemporaryDirectory

    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Text is read in a sandbox, and its pictures become links, so that what it names on this machine is never
    # opened; the document is written outside, since the templates of some pandocs are files.
    content = _run([program, f"--from={source}", "--to=json", "--sandbox"], text.encode(), what)
    content = json.dumps(json.loads(content, object_hook=_without_picture)).encode()
    with TemporaryDirectory(prefix="conjury-paper-") as folder:
        output = Path(folder) / f"made.{to}"
        options = ["--standalone", "--from=json", f"--to={to}", f"--output={output}"]
        if bibliography:
            works = Path(folder) / "works.bib"
            works.write_text(bibliography, encoding="utf-8")
            options += ["--citeproc", f"--bibliography={works}"]
        _run([program, *options], content, what)
        with atomic_write(target) as file:
            file.write(output.read_bytes())
    return target


def write_tables(
    tables: Sequence[PaperTable], to: str, folder: str | Path, watch: Watch | None = None
) -> list[Path]:
    """Write each table into a file of its own; Word gets one document with all."""
    # Returns: What was written.
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    if to == "word":
        return [write_word(tables, out / "tables.docx")]
    make = {"latex": to_latex, "markdown": to_markdown, "html": _html_page}[to]
    written = []
    for table in watched(tables, watch):
        path = out / f"{table.name}.{ENDINGS[to]}"
        write_text(path, make([table]), durable=False)
        written.append(path)
    return written


MARKDOWN = "markdown-raw_html-raw_tex-raw_attribute-tex_math_dollars-citations"


DOCUMENTS = {".md": "Markdown", ".docx": "Word", ".tex": "LaTeX"}


def check_ending(path: Path) -> None:
    """Refuse a file whose ending names no format of documents."""
    if path.suffix.lower() not in DOCUMENTS:
        formats = ", ".join(f"{ending} ({name})" for ending, name in DOCUMENTS.items())
        raise InputError(f"{path}: the ending names the format; use one of: {formats}.")


def write_document(text: str, path: str | Path, bibliography: str = "") -> Path:
    """Write a Markdown document as Markdown, Word or LaTeX, by the ending of its file."""
    # In Word and LaTeX citations of works in `bibliography` are set, with a list of these works.
    target = Path(path)
    ending = target.suffix.lower()
    if ending == ".md":
        write_text(target, text)
        return target
    to = {".docx": "docx", ".tex": "latex"}[ending]
    source = MARKDOWN.replace("-citations", "+citations") if bibliography else MARKDOWN
    what = "A Word document" if to == "docx" else "A LaTeX document"
    return convert(text, source, to, target, what, bibliography)
