"""A report as a document: its source, its cells, the text they print, and its main part with a supplement."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml

from conjury.inference.errors import ConjuryError

from .markup import CITATION, KINDS, RAW_BLOCK, REFERENCE, numbered_labels
from .table_format import NO_BREAK

CODE_CELL = re.compile(r"^```\{python\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PARAMETERS = "#| tags: [parameters]"
MOST_ROWS = 40  # of a table that stays on one page
RESULTS = "results-of-this-report"  # in links, the folder of results as a file of the report sees it
SUPPLEMENT = "<!-- supplement -->"  # the line of a source at which its supplement begins
REFERENCES = re.compile(r"\n## References \{\.unnumbered\}\n\s*::: \{#refs\}\n:::\s*")
OWN_ERRORS = ("InputError", "ConjuryError", "MissingDependency")
Part = TypeVar("Part")
Watch = Callable[[int, int], None]  # is told how many parts of a piece of work are done, and of how many


@dataclass(frozen=True)
class Cell:
    """A cell of a document: text as it is, or code with what it prints."""

    source: str
    is_code: bool
    printed: str = ""


@dataclass(frozen=True)
class Document:
    """A text with its front matter, as one file; those with another one refer to each other."""

    front: Mapping[str, Any]
    text: str
    name: str  # of the file, without its ending
    prefix: str = ""  # word before numbers of figures and tables: of a supplement


def read_source(source: Path) -> tuple[dict[str, Any], list[Cell]]:
    """Read a ``.qmd`` file, with the files that it includes, as its front matter and cells."""
    text = read_text(source)
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    front = yaml.safe_load(match[1]) if match else {}
    parts = CODE_CELL.split(text[match.end() :] if match else text)
    return front or {}, [Cell(part, k % 2 == 1) for k, part in enumerate(parts)]


def read_text(source: Path) -> str:
    """Read a ``.qmd`` file with the files of its ``{{< include FILE >}}`` lines in their place."""

    def included(line: re.Match[str]) -> str:
        return read_text(source.parent / line[1]).strip()

    return re.sub(
        r"^{{< include (\S+) >}}$", included, source.read_text(encoding="utf-8"), flags=re.MULTILINE
    )


def set_parameter(cells: Sequence[Cell], name: str, value: str) -> list[Cell]:
    """Assign a value at the end of the cell tagged ``parameters``."""
    if not any(PARAMETERS in cell.source for cell in cells):
        raise ConjuryError(
            "The report has no cell tagged `parameters`, so it cannot be given a results folder."
        )
    line = f"{name} = {value!r}\n"
    return [replace(cell, source=cell.source + line) if PARAMETERS in cell.source else cell for cell in cells]


def watched(parts: Sequence[Part], watch: Watch | None) -> Iterator[Part]:
    """Parts of a piece of work, of which each is reported when it begins."""
    for number, part in enumerate(parts):
        if watch is not None:
            watch(number, len(parts))
        yield part


def execute(
    cells: Sequence[Cell], folder: Path, document: str = "the report", watch: Watch | None = None
) -> list[Cell]:
    """Run the code of cells in a folder and keep what each prints."""
    names: dict[str, Any] = {}
    done = []
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in watched(cells, watch):
            printed = io.StringIO()
            if cell.is_code:
                try:
                    with contextlib.redirect_stdout(printed):
                        exec(compile(cell.source, document, "exec"), names)
                except Exception as error:
                    raise ConjuryError(
                        failed_cell(document, cell.source, f"{type(error).__name__}: {error}")
                    ) from error
            done.append(replace(cell, printed=printed.getvalue()))
    return done


def failed_cell(document: str, code: str, error: str) -> str:
    """Which cell of a document failed, why, and what to do."""
    lines = [line.strip() for line in code.splitlines() if line.strip() and not line.startswith("#|")]
    sentence = f"The cell `{lines[-1] if lines else ''}` of {document} failed. {' '.join(error.split())}"
    if error.startswith(OWN_ERRORS):
        return sentence
    return (
        f"{sentence.rstrip('.')}. Compute the results again with this version of conjury; if the error "
        "stays, report it with this line."
    )


def assemble(cells: Sequence[Cell]) -> str:
    """Join prose and printed output into one Markdown text."""
    return "\n\n".join(
        cell.printed.replace(SUPPLEMENT, "") if cell.is_code else cell.source for cell in cells
    )


def on_screen(document: Document) -> Document:
    """A document whose intervals may stand below their estimates, so that tables fit the column of a page."""
    return replace(document, text=document.text.replace(f"{NO_BREAK}[", " ["))


def in_one(document: Document, results: str) -> Document:
    """A document whose supplement follows its main part; it sees the folder of results as ``results``."""
    text = document.text.replace(SUPPLEMENT, "").replace(f"]({RESULTS}/", f"]({results}/")
    return replace(document, text=without_empty_references(text))


def in_two(
    document: Document, ending: str, results: str, other_formats: Sequence[str] = ()
) -> list[Document]:
    """The main part of a document and its supplement, which refer to each other as files with an ending."""
    # `results` is the folder of results as the documents see it; `other_formats` are endings.
    document = replace(document, text=document.text.replace(f"]({RESULTS}/", f"]({results}/"))
    main, has_supplement, remainder = document.text.partition(SUPPLEMENT)
    if not has_supplement:
        return [in_one(document, results)]
    formats = "".join(f"[this report as {to.upper()}]({document.name}.{to}), " for to in other_formats)
    files = (
        f"More: [all further results]({document.name}-supplement.{ending}), {formats}"
        f"[tables as CSV]({results}/tables), [figures]({results}/figures)."
    )
    main = f"{main.rstrip()}\n\n::: {{.files}}\n{files}\n:::\n"
    if (references := REFERENCES.search(remainder)) and not REFERENCES.search(main):
        main = f"{main.rstrip()}\n{references[0]}"
    title = str(document.front.get("title", "Report"))
    front = {
        **document.front,
        "title": f"Supplement: {title}",
        "subtitle": "All further results, and methods",
    }
    remainder = f"\n\nThis is the supplement to [*{title}*]({document.name}.{ending}).\n{remainder}"
    parts = [
        replace(document, text=in_place(main) + main if ending == "pdf" else main),
        Document(front, remainder, f"{document.name}-supplement", "Supplementary"),
    ]
    labels = [numbered_labels(part.text, part.prefix) for part in parts]
    return [
        replace(
            part,
            text=without_empty_references(_linked(part.text, labels[k], labels[1 - k], parts[1 - k], ending)),
        )
        for k, part in enumerate(parts)
    ]


def in_place(text: str) -> str:
    """What keeps figures on paper in their place, and a table that fits on a page whole."""
    rows = max([block.count("<tr") for block in RAW_BLOCK.findall(text)], default=0)
    lines = ['#show figure.where(kind: "quarto-float-fig"): set figure(placement: none)']
    if rows <= MOST_ROWS:
        lines.append('#show figure.where(kind: "quarto-float-tbl"): set block(breakable: false)')
    return "\n".join(["```{=typst}", *lines, "```", "", ""])


def _linked(
    text: str,
    labels_here: Mapping[str, str],
    labels_there: Mapping[str, str],
    counterpart: Document,
    ending: str,
) -> str:
    """A text whose references to another document are links to its file."""

    def link(match: re.Match[str]) -> str:
        label = match[1]
        if label in labels_here or label not in labels_there:
            return match[0]
        called, is_section = (
            labels_there[label].replace(" ", NO_BREAK),
            labels_there[label].startswith(KINDS["sec"]),
        )
        where = ("supplement" if counterpart.prefix else "report") if is_section else ""
        place = f"#{label}" if ending == "html" else ""
        return f"[{called}{f' of the {where}' * is_section}]({counterpart.name}.{ending}{place})"

    # Raw blocks hold texts from outside, in which nothing is a reference.
    blocks = RAW_BLOCK.findall(text)
    pieces = [REFERENCE.sub(link, piece) for piece in RAW_BLOCK.split(text)[::2]]
    return pieces[0] + "".join(
        f"```{{=html}}\n{block}\n```{piece}" for block, piece in zip(blocks, pieces[1:], strict=True)
    )


def without_empty_references(text: str) -> str:
    """A text without the section of references where it cites nothing."""
    return text if CITATION.search(text) else REFERENCES.sub("\n", text)
