"""The design card as one HTML file, with its drawings inside, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .words import Table, Told

WORDS = ("none", "reference")
STYLE = """
main { max-width: 56rem; }
ul.warnings { list-style: none; margin: 0; padding: 0; }
ul.warnings li { background: var(--notice); border-radius: 6px; margin: 0.5rem 0; padding: 0.6rem 0.9rem; }
figure svg { display: block; height: auto; margin: 0 auto; width: 100%; }
.table { margin: 1.25rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; min-width: 60%; }
th { border-bottom: 1px solid var(--muted); font-weight: 600; text-align: left; vertical-align: bottom; }
th, td { padding: 0.22rem 0.6rem; }
tbody tr { border-bottom: 1px solid var(--line); }
tbody th { background: var(--band); border-bottom: 0; }
.number { text-align: right; white-space: nowrap; }
.note { color: var(--muted); font-size: 0.92rem; margin: 0.5rem 0 0; }
"""


@dataclass(frozen=True)
class Drawing:
    """A figure as part of a page, its caption, and the width in rem that suits its letters.

    ``table`` is the title of the table above which it stands.
    """

    table: str
    svg: str
    caption: str
    width: float


def write_page(told: Told, drawings: Sequence[Drawing], style: str) -> str:
    """Write a design card as a page without anything external."""
    figures = {drawing.table: _figure(drawing) for drawing in drawings}
    warnings = "\n".join(f"<li>{_text(text)}</li>" for text in told.warnings)
    body = [
        *(f"<p>{_text(text)}</p>" for text in told.opening),
        _section("Warnings", f'<ul class="warnings">\n{warnings}\n</ul>') if told.warnings else "",
        *(_section(table.title, figures.get(table.title, "") + _table(table)) for table in told.tables),
        _section("Notes", "\n".join(f"<p>{_text(text)}</p>" for text in told.notes)) if told.notes else "",
        '<p class="note">All numbers are in card.csv next to this page.</p>',
    ]
    title = escape(told.title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Design card: {title}</title>
<style>
{style}
{STYLE.strip()}
</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p class="subtitle">Design card</p>
</header>
{"".join(f"{part}{chr(10)}" for part in body if part)}</main>
</body>
</html>
"""


def _text(text: str) -> str:
    """Escape a text, with commands in the type of code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>"


def _figure(drawing: Drawing) -> str:
    return (
        f'<figure style="max-width: {drawing.width:g}rem; margin-inline: auto">\n{drawing.svg}\n'
        f"<figcaption>{_text(drawing.caption)}</figcaption>\n</figure>\n"
    )


def _table(table: Table) -> str:
    numeric = [_is_numeric(table, column) for column in range(len(table.header))]
    kinds = [' class="number"' if number else "" for number in numeric]
    header = "".join(
        f'<th scope="col"{kind}>{_text(name)}</th>' for name, kind in zip(table.header, kinds, strict=True)
    )
    rows = []
    for row in table.rows:
        if len(row) == 1:
            rows.append(f'<tr><th scope="rowgroup" colspan="{len(table.header)}">{escape(row[0])}</th></tr>')
            continue
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        rows.append(f"<tr>{cells}</tr>")
    note = f'\n<p class="note">{_text(table.note)}</p>' if table.note else ""
    if not rows:
        return note.strip()
    return (
        f'<div class="table">\n<table>\n<thead><tr>{header}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + f"\n</tbody>\n</table>{note}\n</div>"
    )


def _is_numeric(table: Table, column: int) -> bool:
    """Whether a column holds numbers, or words that stand for one."""
    cells = [row[column] for row in table.rows if len(row) > 1]
    return column > 0 and all(not cell or cell[0].isdigit() or cell in WORDS for cell in cells)
