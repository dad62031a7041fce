"""Render a Quarto source without Quarto: run its cells, assemble one Markdown text, write one page."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import yaml

from conjury.inference.errors import ConjuryError

from .markup import to_html

CELL_TIMEOUT = 1800
CELL = re.compile(r"executing the following cell:\s*\n-{5,}\n(.*?)\n-{5,}\n", re.DOTALL)
OWN_ERRORS = ("InputError", "ConjuryError", "MissingDependency")
BANNER = (
    "This page was rendered without Quarto, in a simpler layout: the numbers, tables and figures are the "
    "same, but cross references, citations and call-outs are plain links and boxes."
)


def render_page(source: Path, results: Path) -> Path:
    """Render the ``.qmd`` file ``source`` with ``results`` as its parameter, beside the source."""
    front, notebook = read_source(source)
    set_parameter(notebook, "results", str(results))
    execute(notebook, source.parent, source.name)
    body = to_html(assemble(notebook), source.parent, str(front.get("bibliography", "references.bib")))
    page = source.with_suffix(".html")
    page.write_text(whole_page(front, body, source.parent), encoding="utf-8")
    return page


def read_source(source: Path) -> tuple[dict[str, Any], Any]:
    """Read a ``.qmd`` file, with the files that it includes, as its front matter and a notebook."""
    import jupytext

    text = read_text(source)
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    front = yaml.safe_load(found[1]) if found else {}
    return front or {}, jupytext.reads(text[found.end() :] if found else text, fmt="Rmd")


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
    style = (folder / "fallback.css").read_text(encoding="utf-8")
    title, subtitle = escape(str(front.get("title", "Report"))), escape(str(front.get("subtitle", "")))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
<p class="banner" role="note">{BANNER}</p>
<header>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
</header>
{body}
</main>
</body>
</html>
"""
