"""Published tables read from files as text: CSV, HTML, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import InputError, require_installed
from conjury.inference.tables.files import PUBLISHED
from conjury.inference.tables.html_page import markdown_reader
from conjury.inference.tables.limits import (
    CELL_CHARACTERS,
    PUBLISHED_BYTES,
    PUBLISHED_CELLS,
    PUBLISHED_TABLES,
    check_columns,
    decoded,
    read_content,
    reading,
)

from .latex import latex_grids, plain
from .table_grid import Table, TableCell, TableGrid, TableRow, table_of_grid, unique

if TYPE_CHECKING:
    from bs4 import Tag

_DELIMITER = re.compile(r"^ {0,3}\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?$", re.MULTILINE)
_PIPE = re.compile(r"(?<!\\)\|")
_TABLE = re.compile(r"<(/?)table\b", re.IGNORECASE)
NEEDED = (
    "Tables of HTML and Markdown are read with the package {missing}, which is not installed; "
    "run `pip install 'conjury[report]'`, or give the table as CSV."
)
NESTED = 100  # tables in tables; pages that are laid out by tables have about ten
_MATH = re.compile(r"\\\(.+?\\\)|\$[^$]+\$")


def locate(path: str | Path) -> Path:
    """Find a file of tables by its path, or one that ships by its name.

    Parameters
    ----------
    path : str or Path
        Such as ``"paper.tex"`` or ``"oogiri_means"``; where a file has that name, it comes first.

    Returns
    -------
    Path
        As given, if no table of that name ships.

    Examples
    --------
    >>> locate("oogiri_means").name
    'oogiri_means.csv'
    """
    ships = PUBLISHED / f"{path}.csv"
    return ships if not Path(path).exists() and ships.is_file() else Path(path)


def read_tables(path: str | Path) -> list[Table]:
    """Read the tables of a file as text: numbers keep their zeros, spanning cells are repeated.

    Parameters
    ----------
    path : str or Path
        A file whose name ends in .csv, .tsv, .html, .htm, .md, .qmd, .tex (or one of these and .gz).

    Returns
    -------
    list of Table
        At least one.

    Raises
    ------
    InputError
        For a file of another kind, one without a table, rows of different lengths, and files over the limits.

    Examples
    --------
    >>> from conjury.inference.tables.files import PUBLISHED
    >>> table, = read_tables(PUBLISHED / "oogiri_means.csv")
    >>> table.columns[-2:], table.rows[0][-2:]
    (('mean', 'sd'), ('2.630', '0.578'))
    """
    path = Path(path)
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind not in READERS:
        raise InputError(
            f"{path}: tables are read from files that end in {', '.join(f'.{name}' for name in READERS)}; "
            "save the table as one of these."
        )
    text = decoded(read_content(path, PUBLISHED_BYTES), path)
    with reading(path):
        tables = list(islice(READERS[kind](text, path), PUBLISHED_TABLES + 1))
    if len(tables) > PUBLISHED_TABLES:
        raise InputError(f"{path}: the file contains more than {PUBLISHED_TABLES:,} tables; split it.")
    if not tables:
        raise InputError(f"{path}: the file contains no table with a head and a row; check the file.")
    return tables


def _csv(text: str, path: Path) -> Iterator[Table]:
    """The table of a CSV file; a tab separates cells where the name ends in .tsv."""
    separator = "\t" if ".tsv" in path.name.lower() else ","
    csv.field_size_limit(CELL_CHARACTERS)
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: tuple[str, ...] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if columns is None:
                columns = tuple(unique([cell.strip() for cell in cells]))
                check_columns(path, len(columns))
                continue
            if len(cells) != len(columns):
                raise InputError(
                    f"{path}:{reader.line_num}: the row has {len(cells)} cells and the head {len(columns)}; "
                    "correct the row."
                )
            rows.append(tuple(cell.strip() for cell in cells))
            lines.append(reader.line_num)
            if len(rows) * len(columns) > PUBLISHED_CELLS:
                raise InputError(f"{path}: the table has more than {PUBLISHED_CELLS:,} cells; split it.")
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: the CSV is damaged ({error}); correct it.") from None
    if columns is not None and rows:
        yield Table("", columns, tuple(rows), tuple(lines))


def _html(text: str, path: Path) -> Iterator[Table]:
    yield from _tables_of_grids(_html_grids(text, path), path)


def _markdown(text: str, path: Path) -> Iterator[Table]:
    """Pipe tables of Markdown, and HTML tables in it."""
    require_installed(("markdown_it",), NEEDED)
    reader = markdown_reader(raw_html=True)
    tokens = reader.parse(text)
    _check_pipes(tokens, text, path)
    yield from _html(str(reader.renderer.render(tokens, reader.options, {})), path)


def _check_pipes(tokens: Sequence[Any], text: str, path: Path) -> None:
    """Refuse a row of more or fewer cells than the head, which readers of Markdown cut or fill."""
    lines = text.split("\n")
    n_columns, rules = 0, set()
    for token in tokens:
        if token.type == "thead_open":
            n_columns = _count_cells(lines[token.map[0]])
            rules.add(token.map[0] + 1)
        elif token.type == "tr_open" and (n_cells := _count_cells(lines[token.map[0]])) != n_columns:
            raise InputError(
                f"{path}:{token.map[0] + 1}: the row has {n_cells} cells and the head {n_columns}; "
                "give every row as many."
            )
    blocks = [token.map for token in tokens if token.type in ("fence", "code_block", "html_block")]
    for number, line in enumerate(lines):
        inside = any(first <= number < last for first, last in blocks)
        if _DELIMITER.match(line) and number not in rules and not inside:
            raise InputError(
                f"{path}:{number + 1}: this line begins a table, but the head above has more or fewer cells; "
                "give both as many."
            )


def _count_cells(line: str) -> int:
    """How many cells a row of pipes has; an escaped pipe is text."""
    row = line.strip(" >\t").removeprefix("|")
    return len(_PIPE.split(row[:-1] if row.endswith("|") and not row.endswith("\\|") else row))


def _latex(text: str, path: Path) -> Iterator[Table]:
    yield from _tables_of_grids(latex_grids(text, path), path)


def _tables_of_grids(grids: Iterator[TableGrid], path: Path) -> Iterator[Table]:
    for grid in grids:
        table = table_of_grid(grid, path)
        if table is not None:
            yield table


def _html_grids(text: str, path: Path) -> Iterator[TableGrid]:
    """Every table of an HTML text that contains no other table."""
    require_installed(("bs4", "lxml"), NEEDED)
    from bs4 import BeautifulSoup

    if _depth(text) > NESTED:
        raise InputError(
            f"{path}: tables are nested more than {NESTED} deep; save the table without those around it."
        )
    soup = BeautifulSoup(text, "lxml")
    for number, table in enumerate(soup.find_all("table"), 1):
        if table.find("table") is not None:
            continue
        caption = table.find("caption")
        name = " ".join(caption.get_text().split()) if caption is not None else ""
        grid = TableGrid(name or f"table {number}")
        for row in table.find_all("tr"):
            cells = row.find_all(["td", "th"])
            above = row.parent is not None and row.parent.name == "thead"
            head = above or (
                all(row.is_head for row in grid.rows) and all(cell.name == "th" for cell in cells)
            )
            if cells:
                grid.rows.append(TableRow([_html_cell(cell) for cell in cells], head))
        if grid.rows and not grid.rows[0].is_head:
            grid.rows[0].is_head = True
        yield grid


def _depth(text: str) -> int:
    """How deep tables are nested in HTML; the time to parse them grows with its square."""
    depth = deepest = 0
    for tag in _TABLE.finditer(text):
        depth = max(depth - 1, 0) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest


def _html_cell(cell: Tag) -> TableCell:
    for math in cell.find_all("math"):
        math.replace_with(plain(str(math.get("alttext") or math.get_text())))
    for part in cell.find_all("br"):
        part.replace_with(" ")
    for mark in cell.find_all("sup"):
        text = mark.get_text().strip()
        mark.replace_with(text if set(text) <= set("*\u2020\u2021\u00a7\u00b6#") else f"^{text}")
    text = " ".join(cell.get_text().split())
    text = _MATH.sub(lambda match: plain(match[0]), text)
    return TableCell(text, _span(cell, "colspan"), _span(cell, "rowspan"))


def _span(cell: Tag, name: str) -> int:
    text = str(cell.get(name) or "1").strip()
    return max(min(int(text), 10_000), 1) if text.isdecimal() and len(text) <= 5 else 1


Reader = Callable[[str, Path], Iterator[Table]]
READERS: dict[str, Reader] = {
    "csv": _csv,
    "tsv": _csv,
    "html": _html,
    "htm": _html,
    "md": _markdown,
    "markdown": _markdown,
    "qmd": _markdown,
    "tex": _latex,
}
