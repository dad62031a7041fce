"""Blocks of Quarto Markdown: figures, tables, captions, and the labels that refer to them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..frames.sentences import capitalised, together

if TYPE_CHECKING:
    from great_tables import GT

ACTING = frozenset("&<>{}[]\"'`\\@$#*_|~^")
MOST_LINES = 42  # lines of a table that is shown without a click
COLUMN, COLUMN_HEIGHT = 6.6, 8.2  # inches of a printed page that a figure may take, beside its caption


def figure_folder() -> Path:
    """Folder that figures are written to: Quarto's own in its projects, else a temporary one."""
    # Quarto's `.quarto` is ignored by git and by Quarto, and typst reads pictures below the project only.
    in_project = "QUARTO_PROJECT_ROOT" in os.environ or Path("_quarto.yml").is_file()
    return Path(".quarto/conjury-figures") if in_project else Path(_temporary_folder().name)


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """One folder for this Python, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="conjury-figures-")


def in_attribute(text: str) -> str:
    """Write text from outside as the value of an attribute, with entities for all that could act."""
    return "".join(f"&#{ord(char)};" if char in ACTING else char for char in " ".join(text.split()))


def captioned(label: str, content: str, caption: str) -> str:
    """Put a figure or a table into a block with a label and a caption."""
    return f"\n::: {{#{label}}}\n\n{content}\n\n{caption}\n\n:::\n"


def table_blocks(
    name: str, tables: Mapping[str, GT] | Sequence[GT], caption: str, only: slice = slice(None)
) -> str:
    """Put each table, or some of them, into a block of its own: ``tbl-NAME``, ``tbl-NAME-2`` and so on."""
    # Several tables are called parts, by their names (Markdown) where they have some. On a screen long tables
    # are folded.
    names = list(tables) if isinstance(tables, Mapping) else [""] * len(tables)
    gt_tables = list(tables.values()) if isinstance(tables, Mapping) else list(tables)
    several, blocks = len(gt_tables) > 1, []
    numbered = list(enumerate(zip(_labels(name, len(gt_tables)), names, gt_tables, strict=True), 1))
    for k, (label, part, table) in numbered[only]:
        called = f" Part {k} of {len(gt_tables)}{': ' if part else ''}{part}." if several else ""
        if several and only != slice(None) and k == 1:
            remainder = together(table_references(name, len(gt_tables))[1:])
            called = f" {capitalised(f'{part}; ' * bool(part) + f'continued in {remainder}')}."
        markup = raw_block(_markup(table, label))
        block, n_rows = captioned(label, markup, caption + called), markup.count("<tr")
        blocks.append(folded(block, f"Table of {n_rows} lines") if n_rows > MOST_LINES else block)
    return "\n".join(blocks)


def folded(block: str, summary: str) -> str:
    """Fold a block on a screen, below a summary that opens it; on paper it is shown."""
    return f"{raw_block(f'<details><summary>{summary}</summary>')}{block}{raw_block('</details>')}"


def table_references(name: str, n_tables: int) -> list[str]:
    """References to the blocks of ``table_blocks``."""
    return [f"@{label}" for label in _labels(name, n_tables)]


def raw_block(markup: str) -> str:
    """Write HTML as a raw block, which nothing inside can end and in which braces before a tag are text."""
    markup = markup.replace("```", "&#96;&#96;&#96;").replace("{{<", "&#123;&#123;<")
    return "\n```{=html}\n" + markup + "\n```\n"


def _markup(table: GT, label: str) -> str:
    """The HTML of a table in the font of its page."""
    # A list of fonts would reach typst as it is, which knows neither `sans-serif` nor the fonts of a browser.
    markup = table.with_id(f"gt-{label.removeprefix('tbl-')}").as_raw_html()
    return re.sub(r"font-family:[^;]*;", "", markup, count=1)


def slug(name: str) -> str:
    """Turn the name of a table into what labels and files are named by."""
    return name.replace("_", "-")


def _labels(name: str, n_tables: int) -> list[str]:
    return [f"tbl-{slug(name)}" + (f"-{k}" if k > 1 else "") for k in range(1, n_tables + 1)]
