"""Render a report: with Quarto where it is installed, else with our own page of its executed cells."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from conjury.inference.errors import ConjuryError, InputError, require_installed, unknown_name
from conjury.inference.study.load import list_studies
from conjury.inference.tables.files import QUARTO
from conjury.inference.tables.html_page import page as html_page
from conjury.inference.tables.writing import note_written

from ..figures.inline import drawing_styles
from ..pipeline.manifest import FIT, results_of
from .document import (
    Document,
    Watch,
    assemble,
    execute,
    in_one,
    in_two,
    on_screen,
    read_source,
    set_parameter,
)
from .markup import to_html
from .method_sentences import plain
from .pdf import require, typeset

FOOT = "Rendered without Quarto, in a simpler layout; numbers, tables and figures are the same."
PACKAGES = ("markdown_it", "great_tables")
NEEDED = "Reports need the package {missing}, which is not installed; run `pip install 'conjury[report]'`."
BIBLIOGRAPHY = "references.bib"


def render_page(document: Document, folder: Path) -> Path:
    """Write a document as a page of our own in a folder."""
    body = to_html(document.text, folder, BIBLIOGRAPHY, document.prefix)
    page = folder / f"{document.name}.html"
    page.write_text(whole_page(document.front, body, folder), encoding="utf-8")
    return page


def render_pdf(document: Document, folder: Path, contents: bool) -> Path:
    """Set a document as a PDF in a folder."""
    return typeset(
        folder,
        document.text,
        title=str(document.front.get("title", "Report")),
        subtitle=str(document.front.get("subtitle", "")),
        bibliography=BIBLIOGRAPHY,
        prefix=document.prefix,
        contents=contents,
    ).rename(folder / f"{document.name}.pdf")


def whole_page(front: Mapping[str, Any], body: str, folder: Path) -> str:
    """The body of a report as a whole page, with its title and style."""
    style = f"{(folder / 'fallback.css').read_text(encoding='utf-8')}{drawing_styles()}"
    title, subtitle = escape(str(front.get("title", "Report"))), escape(str(front.get("subtitle", "")))
    content = f"""<main>
<header>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
</header>
{body}
<footer>{FOOT}</footer>
</main>"""
    return html_page(str(front.get("title", "Report")), content, style, base=False)


QUARTO_TIMEOUT = 1800
ANY_STUDY, ANY_RATINGS, ANY_BENCHMARK = "conjoint", "raters", "benchmark"
FORMATS = {"html": "html", "pdf": "typst"}
BY = {"html": "a simpler layout of our own", "pdf": "pandoc and typst"}  # without Quarto


@dataclass(frozen=True)
class RenderedReport:
    """A report on disk."""

    path: Path  # the file of its main part, in the first format
    files: tuple[Path, ...]  # all files that were written
    renderer: str  # `"quarto"`, or what did it without Quarto
    message: str  # one sentence for the person who asked for it
    # what Quarto warned of
    warnings: tuple[str, ...] = ()


def reports() -> list[str]:
    """List the names of the reports that ship."""
    return sorted(path.stem for path in QUARTO.glob("[!_]*.qmd"))


def formats_of(to: str) -> list[str]:
    """The formats that a text such as ``html,pdf`` names."""
    return list(dict.fromkeys(name.strip() for name in to.split(",")))


def renderable(report: str, results: str | Path, to: str) -> Path:
    """Refuse what cannot be rendered, before anything is written; return the results folder."""
    if report not in reports():
        raise unknown_name("report", report, reports())
    if not set(formats_of(to)) <= set(FORMATS):
        raise InputError(f"Reports cannot be rendered to {to!r}; use html, pdf or html,pdf.")
    folder = Path(results).expanduser().resolve()
    if not (folder / "manifest.json").is_file():
        raise InputError(
            f"{results} contains no results (manifest.json is missing); run `conjury fit` first, or give "
            "another folder by --results."
        )
    if report in list_studies():
        _refuse_another_study(report, folder, shlex.quote(str(results)))
    require_installed(PACKAGES, NEEDED)
    if "pdf" in formats_of(to) and shutil.which("quarto") is None:
        require()
    return folder


def render(
    report: str,
    results: str | Path,
    out: str | Path = "reports",
    to: str = "html",
    full: bool = False,
    watch: Watch | None = None,
) -> RenderedReport:
    """Render a report from a results folder; each page appears whole or not at all."""
    # One calculation gives all files: the main part and its supplement, or both in one, in every format.
    folder, formats, quarto = renderable(report, results, to), formats_of(to), shutil.which("quarto")
    place = quote(os.path.relpath(folder, Path(out).expanduser().resolve()))
    warnings: list[str] = []
    with tempfile.TemporaryDirectory(prefix="conjury-report-") as scratch:
        source = Path(scratch) / "quarto"
        shutil.copytree(QUARTO, source, ignore=shutil.ignore_patterns("__pycache__", ".quarto", "*_files"))
        _open(source / f"{report}.qmd", folder)
        document = computed(report, folder, source, watch)
        files = []
        for ending in formats:
            other_formats = [name for name in formats if name != ending]
            document_of_format = on_screen(document) if ending == "html" else document
            parts = (
                [in_one(document_of_format, place)]
                if full
                else in_two(document_of_format, ending, place, other_formats)
            )
            for part in parts:
                contents = full or part is not parts[0] or len(parts) == 1
                if quarto is not None:
                    page, lines = _with_quarto(quarto, part, source, ending, contents)
                    warnings += lines
                else:
                    page = (
                        render_pdf(part, source, contents) if ending == "pdf" else render_page(part, source)
                    )
                files.append(page)
        targets = tuple(_publish(page, Path(out).expanduser(), page.name) for page in files)
    if full:  # a supplement of an earlier run would be of other numbers
        for ending in formats:
            (Path(out).expanduser() / f"{report}-supplement.{ending}").unlink(missing_ok=True)
    written = " and ".join(map(str, targets))
    if quarto is None:
        by = " and ".join(BY[ending] for ending in formats)
        verb = "was" if len(targets) == 1 else "were"
        message = f"Quarto is not on the PATH, so {written} {verb} rendered with {by}."
        return RenderedReport(targets[0], targets, by, message)
    return RenderedReport(
        targets[0], targets, "quarto", f"Quarto rendered {written}.", tuple(dict.fromkeys(warnings))
    )


def computed(report: str, results: Path, source: Path, watch: Watch | None = None) -> Document:
    """A report whose cells have run, in a copy of the folder of sources."""
    front, cells = read_source(source / f"{report}.qmd")
    if report in (ANY_STUDY, ANY_BENCHMARK):
        from .report_data import ReportData

        title = str(ReportData(results).manifest.get("title") or "").strip()
        front |= {"title": title} if title else {}
    done = execute(set_parameter(cells, "results", str(results)), source, f"{report}.qmd", watch)
    return Document(front, assemble(done), report)


def _open(source: Path, results: Path) -> None:
    """Open results as a document does, so that those that do not fit are refused before rendering."""
    from .results_report import Report

    loading = r'^report = load\(results(?:, about="(\w+)")?\)$'
    if opened := re.search(loading, source.read_text(encoding="utf-8"), re.M):
        Report(results, opened[1] or FIT)


def _refuse_another_study(name: str, results: Path, quoted: str) -> None:
    from .report_data import ReportData

    manifest = ReportData(results).manifest
    study = manifest.get("study")
    if study != name:
        instead = f"conjury report {_general_report(manifest)} --results {quoted}"
        raise InputError(
            f"The report {name!r} is about the study of that name only, and these results are of the study "
            f"{study!r}; run `{instead}`."
        )


def _general_report(manifest: Mapping[str, Any]) -> str:
    """The report for any study of the kind of a manifest's results."""
    kinds = {entry.kind for entry in results_of(manifest)}
    if kinds & {"readings", "scores"}:
        return ANY_BENCHMARK
    return ANY_RATINGS if kinds & {"coverage", "distributions", "means"} else ANY_STUDY


def _with_quarto(
    quarto: str, document: Document, folder: Path, to: str, contents: bool
) -> tuple[Path, list[str]]:
    """Render a document with Quarto, which computes nothing; return the page and what it warned of."""
    source = folder / f"{document.name}.qmd"
    front = {name: plain(text) if name == "title" else text for name, text in document.front.items()}
    front |= {"engine": "markdown"}
    if document.prefix:
        kinds = {"fig": "Figure", "tbl": "Table"}
        front["crossref"] = {
            f"{kind}-{what}": f"{document.prefix} {name}"
            for kind, name in kinds.items()
            for what in ("title", "prefix")
        }
    if not contents and to == "pdf":
        front["format"] = {FORMATS[to]: {"toc": False}}
    source.write_text(
        f"---\n{yaml.safe_dump(front, allow_unicode=True)}---\n\n{document.text}\n", encoding="utf-8"
    )
    try:
        done = subprocess.run(
            [quarto, "render", source.name, "--to", FORMATS[to]],
            cwd=folder,
            env=os.environ | {"QUARTO_PYTHON": sys.executable, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=QUARTO_TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise ConjuryError(
            f"Quarto did not finish {source.name} within {QUARTO_TIMEOUT:,} seconds."
        ) from error
    printed = f"{done.stdout}\n{done.stderr}"
    page = folder.parent / "reports" / f"{source.stem}.{to}"
    if done.returncode != 0:
        raise ConjuryError(failure(source.name, printed))
    if not page.is_file():
        tail = " | ".join(plain_text(printed).strip().splitlines()[-15:])
        raise ConjuryError(f"Quarto ended without writing {page.name}: {tail}")
    return page, warnings_in(printed)


def _publish(document: Path, out: Path, name: str) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    target = out / name
    handle, temporary = tempfile.mkstemp(dir=out, prefix=f".{name}-")
    os.close(handle)
    try:
        shutil.copyfile(document, temporary)
        Path(temporary).chmod(0o644)
        os.replace(temporary, target)
        note_written([target])
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


COLOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ERROR = re.compile(r"^(?:\w+(?:\.|Error:))*([A-Z]\w*(?:Error|Exception|Dependency): .*\S)\s*$", re.MULTILINE)
WARNING = re.compile(r"\bWARN(?:ING)?\b|\(E\)|\bwarning:")


def plain_text(printed: str) -> str:
    """Printed text without the codes of a terminal's colours."""
    return COLOR.sub("", printed)


def failure(document: str, printed: str) -> str:
    """Why a document could not be rendered, from all that was printed: one line."""
    text = plain_text(printed)
    errors = ERROR.findall(text)
    tail = " | ".join(text.strip().splitlines()[-15:])
    return f"Quarto could not render {document}: {errors[-1] if errors else tail}"


def warnings_in(printed: str) -> list[str]:
    r"""Lines that warn of something, each once, with how often it was printed."""
    lines = [line.strip() for line in plain_text(printed).splitlines()]
    counts = Counter(line for line in lines if WARNING.search(line))
    return [line + (f" ({n} times)" if n > 1 else "") for line, n in counts.items()]
