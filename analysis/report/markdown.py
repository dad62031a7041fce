"""Blocks of Quarto Markdown: figures in both colours, tables, captions, references."""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..figures import save_variants

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

ACTING = frozenset("&<>{}[]\"'`\\@$#*_|~^")
PIXELS_PER_INCH = 96
COLUMN, COLUMN_HEIGHT = 6.6, 8.2  # inches of a printed page that a figure may take, beside its caption


def picture(name: str, figure: Figure, alt: str) -> str:
    """Write both colour variants of a figure and return the Markdown that shows the fitting one.

    Figures keep their own size, so that their type has one size on a page; on paper those that are larger
    than a page are made smaller.
    """
    width, height = (float(edge) for edge in figure.get_size_inches())
    on_paper = width * min(1.0, COLUMN / width, COLUMN_HEIGHT / height)
    saved = save_variants(figure, figure_folder() / slug(name))

    def image(theme: str, shown: str) -> str:
        return f'![]({saved[theme].as_posix()}){{width="{shown}" fig-alt="{in_attribute(alt)}"}}'

    on_screen = f"{width * PIXELS_PER_INCH:.0f}"
    return (
        '\n::: {.content-visible when-format="html"}\n\n'
        f"::: {{.light-content}}\n{image('light', on_screen)}\n:::\n\n"
        f"::: {{.dark-content}}\n{image('dark', on_screen)}\n:::\n\n:::\n\n"
        f'::: {{.content-visible unless-format="html"}}\n{image("light", f"{on_paper:.2f}in")}\n:::\n'
    )


def figure_folder() -> Path:
    """Folder that figures are written to: Quarto's own for such things in its projects, else a temporary one.

    Quarto's ``.quarto`` is ignored by git and by Quarto, and typst reads pictures below the project only.
    """
    in_project = "QUARTO_PROJECT_ROOT" in os.environ or Path("_quarto.yml").is_file()
    return Path(".quarto/conjury-figures") if in_project else Path(_temporary_folder().name)


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """One folder for this Python, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="conjury-figures-")


def in_attribute(text: str) -> str:
    """Write text from outside as the value of an attribute, with entities for all that could act."""
    return "".join(f"&#{ord(one)};" if one in ACTING else one for one in " ".join(text.split()))


def captioned(label: str, content: str, caption: str) -> str:
    """Put a figure or a table into a block with a label and a caption."""
    return f"\n::: {{#{label}}}\n\n{content}\n\n{caption}\n\n:::\n"


def table_blocks(name: str, tables: list[GT], caption: str) -> str:
    """Put each table into a block of its own: ``tbl-NAME``, ``tbl-NAME-2`` and so on."""
    parts = [f" Part {k} of {len(tables)}." if len(tables) > 1 else "" for k in range(1, len(tables) + 1)]
    return "\n".join(
        captioned(label, raw_block(table.with_id(f"gt-{label.removeprefix('tbl-')}")), caption + part)
        for label, table, part in zip(_labels(name, len(tables)), tables, parts, strict=True)
    )


def table_references(name: str, n_tables: int) -> str:
    """Refer to the blocks of ``table_blocks``."""
    *others, last = (f"@{label}" for label in _labels(name, n_tables))
    return f"{', '.join(others)} and {last}" if others else last


def raw_block(table: GT) -> str:
    """Write a table as a raw HTML block of a Quarto document, in the font of its page.

    A list of fonts would reach typst as it is, which knows neither ``sans-serif`` nor the fonts of a browser.
    """
    markup = re.sub(r"font-family:[^;]*;", "", table.as_raw_html(), count=1).replace("```", "&#96;&#96;&#96;")
    return f"\n```{{=html}}\n{markup}\n```\n"


def slug(name: str) -> str:
    """Turn the name of a table into what labels and files are named by."""
    return name.replace("_", "-")


def _labels(name: str, n_tables: int) -> list[str]:
    return [f"tbl-{slug(name)}" + (f"-{k}" if k > 1 else "") for k in range(1, n_tables + 1)]
