"""Parts of an HTML page with results: a figure that follows the reader's theme, a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from conjury.inference.tables.safe_text import printable

from .fitting import Drawable
from .inline import inline_figure
from .registry import alt, draw

PIXELS_PER_INCH = 96
STYLE = """
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
.code, .note { color: var(--muted); }
.table { overflow-x: auto; }
figure { margin: 1rem 0; }
figure svg { display: block; height: auto; max-width: 44rem; width: 100%; }
figcaption { color: var(--muted); font-size: 0.9rem; }
td { vertical-align: top; }
td.number, th.number { text-align: right; }
"""


def figure_block(
    result: Drawable,
    name: str,
    caption: str,
    labels: Mapping[Any, str] | None = None,
    part: str | None = None,
) -> str:
    """A figure of a result with its caption, in the colours of `inline.color_variables`."""
    figure = draw(result, labels=labels, part=part)
    width = figure.get_size_inches()[0] * PIXELS_PER_INCH
    svg = inline_figure(figure, name, alt(result, labels=labels, part=part))
    text = f"<figcaption>{escape(printable(caption))}</figcaption>"
    return f'<figure style="max-width: {width:.0f}px">\n{svg}\n{text}\n</figure>'


def table_block(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = False) -> str:
    """A table of texts; with ``numbers`` all columns but the first are aligned at the right."""
    aligned = ' class="number"' if numbers else ""

    def line(cells: Sequence[str], tag: str) -> str:
        cell_tags = (f"<{tag}{aligned if at else ''}>{escape(text)}</{tag}>" for at, text in enumerate(cells))
        return f"<tr>{''.join(cell_tags)}</tr>"

    body = "\n".join([line(head, "th"), *(line(row, "td") for row in rows)])
    return f'<div class="table"><table>\n{body}\n</table></div>'
