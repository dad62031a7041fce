"""Tables as rows of cells that may span columns and rows, laid out as named columns of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from conjury.inference.errors import InputError
from conjury.inference.tables.limits import PUBLISHED_CELLS, check_columns

from .cell_text import parts_of

SECTION = "section"


@dataclass(frozen=True)
class TableCell:
    """The text of a cell, and how many columns and rows it spans."""

    text: str
    across: int = 1
    down: int = 1


@dataclass
class TableRow:
    """Cells of one row, and whether it belongs to the head."""

    cells: list[TableCell]
    is_head: bool = False
    has_placeholders: bool = False  # an empty cell stands below a cell that spans rows, as in LaTeX


@dataclass
class TableGrid:
    """A table as it was published: its name, and its rows."""

    name: str
    rows: list[TableRow] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    """A published table as text.

    Parameters
    ----------
    name : str
        Caption, or which of the tables of a file it is; empty for the only one.
    columns : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        Cells as published, one for each column.
    lines : tuple of int
        Where rows stand: lines of a CSV file, otherwise rows of the table below its head, from 1.

    Examples
    --------
    >>> table = Table("Table 2", ("judge", "mean"), (("gpt", "2.63"), ("people", "2.41")), (2, 3))
    >>> dict(zip(table.columns, table.rows[0], strict=True))
    {'judge': 'gpt', 'mean': '2.63'}
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]


def table_of_grid(grid: TableGrid, source: object) -> Table | None:
    """A table with named columns; None without a row below the head."""
    # Names of several head rows are joined by a colon. Rows that contain one text only name a section, which
    # becomes the first column; rows of parentheses alone belong to the numbers above them.
    texts = _cell_texts(grid.rows, source)
    heads = max(sum(row.is_head for row in grid.rows), 1)
    if heads == 1:
        heads = _heads(texts)
        texts[: heads - 1] = map(_fill_right, texts[: heads - 1])
    if heads >= len(texts):
        return None
    columns = _names(texts[:heads])
    rows, sections, lines = _body(texts[heads:], grid.rows[heads:])
    if not rows:
        return None
    if any(sections):
        columns = [SECTION, *columns]
        rows = [[section, *row] for section, row in zip(sections, rows, strict=True)]
    return Table(grid.name, tuple(unique(columns)), tuple(map(tuple, rows)), tuple(lines))


def unique(columns: Sequence[str]) -> Iterator[str]:
    """Names of columns: empty ones get their position, repeated ones a number."""
    counts: dict[str, int] = {}
    for position, column in enumerate(columns, 1):
        name = column or f"column {position}"
        counts[name] = counts.get(name, 0) + 1
        yield name if counts[name] == 1 else f"{name} ({counts[name]})"


def _cell_texts(rows: Sequence[TableRow], source: object) -> list[list[str]]:
    """Texts of all cells; a cell that spans several is repeated."""
    texts: dict[tuple[int, int], str] = {}
    width = 0
    for at, row in enumerate(rows):
        column = 0
        for cell in row.cells:
            is_placeholder = row.has_placeholders and cell.text == ""
            while (at, column) in texts and not is_placeholder:
                column += 1
            down = min(cell.down, len(rows) - at)
            if len(texts) + down * cell.across > PUBLISHED_CELLS:
                raise InputError(
                    f"{source}: a table has more than {PUBLISHED_CELLS:,} cells, the limit; split it."
                )
            for i in range(down):
                for j in range(cell.across):
                    texts.setdefault((at + i, column + j), cell.text)
            column += cell.across
            width = max(width, column)
    check_columns(source, width)
    if width * len(rows) > PUBLISHED_CELLS:
        raise InputError(f"{source}: a table has more than {PUBLISHED_CELLS:,} cells, the limit; split it.")
    return [[texts.get((at, column), "") for column in range(width)] for at in range(len(rows))]


def _heads(texts: Sequence[Sequence[str]]) -> int:
    """How many rows the head has where one is marked: also the next, if they only name columns."""
    heads = 1
    for row in texts[1:]:
        if row[0] or sum(map(bool, row)) < 2 or any(map(parts_of, row)):
            break
        heads += 1
    return heads


def _fill_right(row: Sequence[str]) -> list[str]:
    """A row of a head in which an empty cell belongs to the name on its left."""
    filled = [row[0]]
    for position, text in enumerate(row[1:], 1):
        filled.append(text or (filled[-1] if position > 1 else ""))
    return filled


def _names(head: Sequence[Sequence[str]]) -> list[str]:
    return [": ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*head, strict=True)]


def _body(
    body: Sequence[Sequence[str]], spans: Sequence[TableRow]
) -> tuple[list[list[str]], list[str], list[int]]:
    rows: list[list[str]] = []
    sections: list[str] = []
    lines: list[int] = []
    section = ""
    for line, (texts, row) in enumerate(zip(body, spans, strict=True), 1):
        filled = [text for text in texts if text]
        if not filled:
            continue
        alone = len(texts) > 1 and bool(texts[0]) and (len(filled) == 1 or row.cells[0].across == len(texts))
        if alone and not parts_of(texts[0]):
            section = texts[0]
        elif rows and (joined := _join_rows(rows[-1], texts)):
            rows[-1] = joined
        else:
            rows.append(list(texts))
            sections.append(section)
            lines.append(line)
    return rows, sections, lines


def _join_rows(above: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Two rows as one, if the second has only parentheses or intervals of the numbers above; else nothing."""
    if texts[0] or any("value" in parts_of(text) or not parts_of(text) for text in texts if text):
        return []
    joined = [f"{first} {second}".strip() for first, second in zip(above, texts, strict=True)]
    return joined if all(parts_of(cell) for cell, text in zip(joined, texts, strict=True) if text) else []
