"""Templates of pages: fields in words, how pairs are laid out, and files whose addresses change with them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ...tables.files import ROOT
from ..displayed_fields import SubjectDisplay

PANEL = ROOT / "data" / "panel"
STATIC = PANEL / "static"
LONG = 120  # characters of a field from which profiles are texts side by side and no rows of a table
MOMENT = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)$")  # a date with a time


def pair_layout(displays: Collection[SubjectDisplay]) -> str:
    """How all pairs of a study are shown: as pictures, posts, rows of a table, or texts side by side."""
    if any(display.media_name is not None for display in displays):
        return "pictures"
    if any(display.rows for display in displays):
        return "posts"
    names = {tuple(name for name, _ in display.fields) for display in displays}
    values = [value for display in displays for _, value in display.fields]
    short = all(len(value) <= LONG and "\n" not in value for value in values)
    return "table" if len(names) == 1 and short else "texts"


def field_label(name: str) -> str:
    """Name of a field in words: labels as they are, names of columns without underscores."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:] if name == name.lower() and " " not in name else name


@cache
def templates() -> Environment:
    """Templates of the pages."""
    environment = environment_of(PANEL / "templates")
    environment.globals["static"] = static_address
    environment.globals["medium"] = medium_address
    return environment


def environment_of(*folders: Path) -> Environment:
    """Templates of folders, the first of which counts; values are escaped unless they are Markup."""
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["field_label"] = field_label
    environment.filters["value"] = lambda text: MOMENT.sub(r"\1 \2", text)
    return environment


def medium_address(name: str) -> str:
    """Address of a picture or clip of the study."""
    return f"/media/{name}"


@cache
def static_address(name: str, below: str = "static", folder: Path = STATIC) -> str:
    """Address of a stylesheet or script, which changes with its content."""
    version = hashlib.sha256((folder / name).read_bytes()).hexdigest()[:12]
    return f"/{below}/{name}?{version}"
