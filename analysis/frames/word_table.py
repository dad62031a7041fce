"""A table in words, which a terminal and a page write in the same way."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class WordTable:
    """Cells as texts; a row of one cell is a heading of the rows below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    # below the table
    note: str = ""
    # columns of words, which begin on the left and may take several lines; all others are numbers
    words: Container[int] = (0,)
    # the column that narrow terminals omit
    optional: int | None = None

    @property
    def has_groups(self) -> bool:
        """Whether rows stand below headings."""
        return any(self.is_heading(row) for row in self.rows)

    def is_heading(self, row: Sequence[str]) -> bool:
        """Whether a row is a heading of those below it."""
        return len(row) == 1 < len(self.head)

    def first(self, most: int, where: str) -> WordTable:
        """The first rows, with a note on how many more there are, and where."""
        if len(self.rows) <= most:
            return self
        note = f"  {len(self.rows) - most:,} more rows {where}"
        return replace(self, rows=self.rows[:most], note=note)
