"""Parts of an HTML page with results: texts, figures that follow the reader's theme, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from conjury.inference.tables.html_page import page
from conjury.inference.tables.safe_text import printable

from ..frames.word_table import WordTable
from .figure_layout import Drawable
from .figure_registry import alt, draw
from .inline import drawing_styles, inline_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PIXELS_PER_INCH = 96  # of CSS
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


def result_page(title: str, blocks: Iterable[str], style: str) -> str:
    """One HTML document that needs no other file, with a heading and blocks below it."""
    body = "\n".join([f"<h1>{escape(title)}</h1>", *filter(None, blocks)])
    return page(title, f"<main>\n{body}\n</main>", f"{STYLE}{style}{drawing_styles()}")


def inline_text(text: object) -> str:
    """A text from outside as HTML, with commands in the type of code."""
    lines = map(printable, str(text).split("\n"))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape("\n".join(lines))).replace("\n", "<br>")


def paragraphs(texts: Iterable[object], kind: str = "") -> list[str]:
    """A paragraph for each text, of one class."""
    return [f"<p{_class(kind)}>{inline_text(text)}</p>" for text in texts]


def bullets(texts: Iterable[object], kind: str) -> str:
    """A list of texts."""
    items = "\n".join(f"<li>{inline_text(text)}</li>" for text in texts)
    return f"<ul{_class(kind)}>\n{items}\n</ul>"


def figure_block(
    result: Drawable,
    name: str,
    caption: str,
    labels: Mapping[Any, str] | None = None,
    part: str | None = None,
) -> str:
    """A figure of a result with its caption, in the colours of `inline.drawing_styles`."""
    figure = draw(result, labels=labels, part=part)
    return drawn_block(figure, name, alt(result, labels=labels, part=part), caption)


def drawn_block(figure: Figure, name: str, alt_text: str, caption: str) -> str:
    """A figure that was drawn, with its caption."""
    width = figure.get_size_inches()[0] * PIXELS_PER_INCH
    svg = inline_figure(figure, name, alt_text)
    text = f"<figcaption>{inline_text(caption)}</figcaption>"
    return f'<figure style="max-width: {width:.0f}px">\n{svg}\n{text}\n</figure>'


def table_block(table: WordTable) -> str:
    """A table with its note; its title is for the caller to show."""
    kinds = [_class("" if column in table.words else "number") for column in range(len(table.head))]
    names = zip(table.head, kinds, strict=True)
    head = "".join(f'<th scope="col"{kind}>{inline_text(name)}</th>' for name, kind in names)
    rows = []
    for row in table.rows:
        if table.is_heading(row):
            rows.append(f'<tr><th scope="rowgroup" colspan="{len(kinds)}">{inline_text(row[0])}</th></tr>')
        else:
            cells = zip(row, kinds, strict=True)
            rows.append(
                f"<tr>{''.join(f'<td{kind}>{escape(printable(cell))}</td>' for cell, kind in cells)}</tr>"
            )
    body = "\n".join(rows)
    note = "\n".join(paragraphs([table.note] if table.note else [], "note"))
    if not rows:
        return note
    return (
        f'<div class="table"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n'
        f"{note}</div>"
    )


def _class(name: str) -> str:
    return f' class="{escape(name)}"' if name else ""
