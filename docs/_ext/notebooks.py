"""Tutorials as notebooks that run anywhere, Colab included: the text of a page, its commands and Python.

``python docs/_ext/notebooks.py FOLDER`` writes them into a folder. The site offers each on its page.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from site_pages import BLOCK, FENCED, NEEDS, commands

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")  # of the site, to pages that a notebook is not beside
TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")


def repository() -> str:
    """Address of the repository, "" until it is set."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["tool"]["conjury"]["repository"])


def install(address: str) -> str:
    """The first cell, which installs conjury where it is missing."""
    source = f"conjury[report] @ git+{address}" if address else "conjury[report]"
    condition = 'import importlib.util\n\nif importlib.util.find_spec("conjury") is None:'
    return f'{condition}\n    %pip install --quiet "{source}"'


def notebook(text: str, address: str) -> Mapping[str, Any]:
    """A page of Markdown as a notebook, in the format that Jupyter, VS Code and Colab read."""
    return {
        "cells": [_cell("code", install(address)), *_cells(text)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def _cells(text: str) -> Iterator[Mapping[str, Any]]:
    for part in FENCED.split(text):
        block = BLOCK.fullmatch(part)
        if block is not None and block[1] == "python":
            yield _cell("code", block[2])
        elif block is not None and not block[1] and NEEDS not in block[2]:
            yield _cell("code", "\n".join(f"!{line}" for line in commands(block[2])))
        elif part.strip() and not part.startswith("```{"):
            yield _cell("markdown", part if block else LINK.sub(r"\1", part))


def _cell(kind: str, source: str) -> Mapping[str, Any]:
    cell = {"cell_type": kind, "metadata": {}, "source": source.strip("\n")}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def named() -> Iterator[tuple[str, str]]:
    """Name and contents of the notebook of each tutorial."""
    address = repository()
    for path in TUTORIALS:
        book = notebook(path.read_text(encoding="utf-8"), address)
        yield f"{path.stem}.ipynb", json.dumps(book, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in named():
        (folder / name).write_text(contents, encoding="utf-8")
