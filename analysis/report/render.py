"""Render a report: with Quarto where it is installed, else with our own page of its executed cells."""

from __future__ import annotations

import json
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
from typing import Any, Literal

import yaml

from conjury.inference.errors import ConjuryError, InputError, require_installed
from conjury.inference.study.load import list_studies
from conjury.inference.tables.files import QUARTO
from conjury.inference.tables.html_page import page as html_page
from conjury.inference.tables.writing import note_written

from ..figures.inline import color_variables
from ..pipeline.manifest import FIT, results_of
from .markup import to_html
from .pdf import require, typeset

CELL_TIMEOUT = 1800  # half an hour for one cell
CELL = re.compile(r"executing the following cell:\s*\n-{5,}\n(.*?)\n-{5,}\n", re.DOTALL)
OWN_ERRORS = ("InputError", "ConjuryError", "MissingDependency")
BANNER = (
    "This page was rendered without Quarto, in a simpler layout: the numbers, tables and figures are the "
    "same, but cross references, citations and call-outs are plain links and boxes."
)


PACKAGES = ("jupytext", "nbclient", "markdown_it", "ipykernel")
NEEDED = "Reports need the package {missing}, which is not installed; run `pip install 'conjury[report]'`."


def render_page(source: Path, results: Path) -> Path:
    """Render the ``.qmd`` file ``source`` with ``results`` as its parameter, beside the source."""
    front, notebook = read_source(source)
    set_parameter(notebook, "results", str(results))
    execute(notebook, source.parent, source.name)
    body = to_html(assemble(notebook), source.parent, str(front.get("bibliography", "references.bib")))
    page = source.with_suffix(".html")
    page.write_text(whole_page(front, body, source.parent), encoding="utf-8")
    return page


def render_pdf(source: Path, results: Path) -> Path:
    """Set the ``.qmd`` file ``source`` with ``results`` as its parameter as a PDF, beside the source."""
    front, notebook = read_source(source)
    set_parameter(notebook, "results", str(results))
    execute(notebook, source.parent, source.name)
    return typeset(
        source.parent,
        assemble(notebook),
        title=str(front.get("title", "Report")),
        subtitle=str(front.get("subtitle", "")),
        bibliography=str(front.get("bibliography", "references.bib")),
    )


def read_source(source: Path) -> tuple[dict[str, Any], Any]:
    """Read a ``.qmd`` file, with the files that it includes, as its front matter and a notebook."""
    import jupytext

    text = read_text(source)
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    front = yaml.safe_load(match[1]) if match else {}
    return front or {}, jupytext.reads(text[match.end() :] if match else text, fmt="Rmd")


def read_text(source: Path) -> str:
    """Read a ``.qmd`` file with the files of its ``{{< include FILE >}}`` lines in their place."""

    def included(line: re.Match[str]) -> str:
        return read_text(source.parent / line[1]).strip()

    return re.sub(
        r"^{{< include (\S+) >}}$", included, source.read_text(encoding="utf-8"), flags=re.MULTILINE
    )


def cell_options(code: str) -> dict[str, Any]:
    """Read the ``#|`` lines at the top of a cell."""
    lines = [line[2:].removeprefix(" ") for line in code.splitlines() if line.startswith("#|")]
    return yaml.safe_load("\n".join(lines)) or {} if lines else {}


def set_parameter(notebook: Any, name: str, value: str) -> None:
    """Assign a value at the end of the cell tagged ``parameters``."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" in cell_options(cell.source).get("tags", []):
            cell.source += f"\n{name} = {value!r}"
            return
    raise ConjuryError("The report has no cell tagged `parameters`, so it cannot be given a results folder.")


def execute(notebook: Any, folder: Path, document: str = "the report") -> None:
    """Run the cells with this very Python, whether or not a kernel is registered for it."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    nbformat.validator.normalize(notebook)
    with tempfile.TemporaryDirectory(prefix="conjury-kernel-") as scratch:
        spec = Path(scratch) / "conjury" / "kernel.json"
        spec.parent.mkdir()
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec.write_text(json.dumps({"argv": command, "display_name": "conjury", "language": "python"}))
        finder = KernelSpecManager(kernel_dirs=[scratch], ensure_native_kernel=False)
        sockets = {"transport": "ipc", "ip": f"{scratch}/k"} if os.name == "posix" else {}
        manager = KernelManager(kernel_name="conjury", kernel_spec_manager=finder, **sockets)
        client = NotebookClient(
            notebook, km=manager, timeout=CELL_TIMEOUT, resources={"metadata": {"path": str(folder)}}
        )
        try:
            client.execute()
        except CellExecutionError as error:
            code = CELL.search(str(error))
            raise ConjuryError(
                failed_cell(document, code[1] if code else "", f"{error.ename}: {error.evalue}")
            ) from error
        except (RuntimeError, TimeoutError) as error:
            raise ConjuryError(f"The report could not be computed: {error}") from error
        finally:
            if manager.has_kernel:
                manager.shutdown_kernel(now=True)


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


def assemble(notebook: Any) -> str:
    """Join prose and printed output into one Markdown text; labelled output becomes a labelled block."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        options = cell_options(cell.source)
        printed = "".join(
            output.text
            for output in cell.outputs
            if output.output_type == "stream" and output.name == "stdout"
        )
        label = options.get("label")
        if label and printed:
            caption = options.get("tbl-cap") or options.get("fig-cap") or ""
            printed = f"::: {{#{label}}}\n\n{printed}\n\n{caption}\n\n:::"
        parts.append(printed)
    return "\n\n".join(parts)


def whole_page(front: dict[str, Any], body: str, folder: Path) -> str:
    """The body of a report as a whole page, with its title and style."""
    style = f"{(folder / 'fallback.css').read_text(encoding='utf-8')}{color_variables()}"
    title, subtitle = escape(str(front.get("title", "Report"))), escape(str(front.get("subtitle", "")))
    content = f"""<main>
<p class="banner" role="note">{BANNER}</p>
<header>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
</header>
{body}
</main>"""
    return html_page(str(front.get("title", "Report")), content, style, base=False)


QUARTO_TIMEOUT = 1800
ANY_STUDY, ANY_RATINGS, ANY_BENCHMARK = "conjoint", "raters", "benchmark"
FORMATS = {"html": "html", "pdf": "typst"}
BY = {"html": "Jupyter", "pdf": "pandoc and typst"}  # without Quarto


@dataclass(frozen=True)
class RenderedReport:
    """A report on disk."""

    path: Path  # the file that was written
    renderer: str  # `"quarto"`, `"Jupyter"` or `"pandoc and typst"`
    message: str  # one sentence for the person who asked for it
    # what Quarto warned of
    warnings: tuple[str, ...] = ()


def reports() -> list[str]:
    """List the names of the reports that ship."""
    return sorted(path.stem for path in QUARTO.glob("[!_]*.qmd"))


def renderable(report: str, results: str | Path, to: str) -> Path:
    """Refuse what cannot be rendered, before anything is written; return the results folder."""
    if report not in reports():
        raise InputError(f"There is no report {report!r}; use one of: {', '.join(reports())}.")
    if to not in FORMATS:
        raise InputError(f"Reports cannot be rendered to {to!r}; use html or pdf.")
    folder = Path(results).expanduser().resolve()
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} contains no results (manifest.json is missing); run `conjury fit` first.")
    if report in list_studies():
        _refuse_another_study(report, folder, shlex.quote(str(results)))
    require_installed(PACKAGES, NEEDED)  # Quarto runs the cells by the same packages
    if to == "pdf" and shutil.which("quarto") is None:
        require()
    return folder


def render(
    report: str, results: str | Path, out: str | Path = "reports", to: Literal["html", "pdf"] = "html"
) -> RenderedReport:
    """Render a report from a results folder; the page appears whole or not at all."""
    folder = renderable(report, results, to)
    quarto = shutil.which("quarto")
    warnings: tuple[str, ...] = ()
    with tempfile.TemporaryDirectory(prefix="conjury-report-") as scratch:
        source = Path(scratch) / "quarto"
        shutil.copytree(QUARTO, source, ignore=shutil.ignore_patterns("__pycache__", ".quarto", "*_files"))
        _open(source / f"{report}.qmd", folder)
        if report in (ANY_STUDY, ANY_BENCHMARK):
            _set_title(source / f"{report}.qmd", folder, escape=quarto is not None)
        if quarto is None:
            document = (render_pdf if to == "pdf" else render_page)(source / f"{report}.qmd", folder)
        else:
            document, warnings = _with_quarto(quarto, source / f"{report}.qmd", folder, to)
        target = _publish(document, Path(out).expanduser(), f"{report}.{to}")
    if quarto is None:
        return RenderedReport(
            target,
            BY[to],
            f"Quarto is not on the PATH, so {target} was rendered with {BY[to]}, in a simpler layout.",
        )
    return RenderedReport(target, "quarto", f"Quarto rendered {target}.", warnings)


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


def _set_title(source: Path, results: Path, escape: bool) -> None:
    """Put the title of the study of the results into the front matter of a source."""
    from .method_sentences import plain
    from .report_data import ReportData

    title = str(ReportData(results).manifest.get("title") or "").strip()
    if title:
        line = f"title: {json.dumps(plain(title) if escape else title)}"
        text = source.read_text(encoding="utf-8")
        source.write_text(re.sub(r"^title: .*$", lambda _: line, text, count=1, flags=re.M), encoding="utf-8")


def _with_quarto(quarto: str, source: Path, results: Path, to: str) -> tuple[Path, tuple[str, ...]]:
    """Render with Quarto; return the page and what Quarto warned of."""
    parameters = source.parent.parent / "parameters.yml"
    parameters.write_text(yaml.safe_dump({"results": str(results)}, allow_unicode=True), encoding="utf-8")
    command = [quarto, "render", source.name, "--to", FORMATS[to], "--execute-params", str(parameters)]
    environment = os.environ | {"QUARTO_PYTHON": sys.executable, "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=source.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=QUARTO_TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise ConjuryError(
            f"Quarto did not finish {source.name} within {QUARTO_TIMEOUT:,} seconds."
        ) from error
    printed = f"{done.stdout}\n{done.stderr}"
    document = source.parent.parent / "reports" / f"{source.stem}.{to}"
    if done.returncode != 0:
        raise ConjuryError(failure(source.name, printed))
    if not document.is_file():
        tail = " | ".join(plain_text(printed).strip().splitlines()[-15:])
        raise ConjuryError(f"Quarto ended without writing {document.name}: {tail}")
    return document, tuple(warnings_in(printed))


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
    if cell := CELL.search(text):
        return failed_cell(document, cell[1], errors[-1] if errors else "an error that was not named")
    tail = " | ".join(text.strip().splitlines()[-15:])
    return f"Quarto could not render {document}: {errors[-1] if errors else tail}"


def warnings_in(printed: str) -> list[str]:
    r"""Lines that warn of something, each once, with how often it was printed."""
    lines = [line.strip() for line in plain_text(printed).splitlines()]
    counts = Counter(line for line in lines if WARNING.search(line))
    return [line + (f" ({n} times)" if n > 1 else "") for line, n in counts.items()]
