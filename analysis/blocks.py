"""Blocks of Quarto Markdown: figures in both colours, tables, captions, references."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .display import raw_block
from .figures import save_variants

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

FIGURE_FOLDER = "conjury-figures"
ACTING = frozenset("&<>{}[]\"'`\\@$#*_|~^")


def picture(name: str, figure: Figure, alt: str) -> str:
    """Write both colour variants of a figure and return the Markdown that shows the fitting one."""
    paths = {
        theme: f'![]({path.as_posix()}){{width="100%" fig-alt="{in_attribute(alt)}"}}'
        for theme, path in save_variants(figure, Path(FIGURE_FOLDER) / slug(name)).items()
    }
    return (
        f'\n::: {{.content-visible when-format="html"}}\n\n::: {{.light-content}}\n{paths["light"]}\n:::\n\n'
        f"::: {{.dark-content}}\n{paths['dark']}\n:::\n\n:::\n\n"
        f'::: {{.content-visible unless-format="html"}}\n{paths["light"]}\n:::\n'
    )


def in_attribute(text: str) -> str:
    """Write text from outside as the value of an attribute of a block, with entities for all that could act.

    Examples
    --------
    >>> in_attribute('{{< include "x" >}}')
    '&#123;&#123;&#60; include &#34;x&#34; &#62;&#125;&#125;'
    """
    return "".join(f"&#{ord(one)};" if one in ACTING else one for one in " ".join(text.split()))


def captioned(label: str, content: str, caption: str) -> str:
    """Put a figure or a table into a block with a label and a caption."""
    return f"\n::: {{#{label}}}\n\n{content}\n\n{caption}\n\n:::\n"


def table_blocks(name: str, tables: list[GT], caption: str) -> str:
    """Put each table into a block of its own: ``tbl-NAME``, ``tbl-NAME-2`` and so on."""
    parts = [f" Part {k} of {len(tables)}." if len(tables) > 1 else "" for k in range(1, len(tables) + 1)]
    return "\n".join(
        captioned(label, raw_block(table), caption + part)
        for label, table, part in zip(_labels(name, len(tables)), tables, parts, strict=True)
    )


def table_references(name: str, n_tables: int) -> str:
    """Refer to the blocks of ``table_blocks``.

    Examples
    --------
    >>> table_references("amce_slur", 2)
    '@tbl-amce-slur and @tbl-amce-slur-2'
    """
    *others, last = (f"@{label}" for label in _labels(name, n_tables))
    return f"{', '.join(others)} and {last}" if others else last


def slug(name: str) -> str:
    """Turn the name of a table into what labels and files are named by."""
    return name.replace("_", "-")


def _labels(name: str, n_tables: int) -> list[str]:
    return [f"tbl-{slug(name)}" + (f"-{k}" if k > 1 else "") for k in range(1, n_tables + 1)]
