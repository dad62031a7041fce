"""The section ``reading``: how tables of answers to the study are read, as the options of commands."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..tables.reading.reading_rules import ReadingRules
from .study_yaml import Part, Text


def _as_cell(value: Any) -> Any:
    """A cell as text, where YAML takes it for a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Cell = Annotated[str, BeforeValidator(_as_cell)]


class ReadingSection(Part):
    """How tables of answers are read; options of commands come before it."""

    missing: list[Cell] = Field(default_factory=list)
    """Texts of cells that are no answer, such as -99."""
    levels: dict[str, list[Cell]] = Field(default_factory=dict)
    """Labels in their order, by column."""
    relabel: dict[Cell, Cell] = Field(default_factory=dict)
    """Labels by the texts that tables have instead."""
    where: dict[str, Cell] = Field(default_factory=dict)
    """Only rows with these cells, by column."""
    exclude: dict[str, Cell] = Field(default_factory=dict)
    """No rows with these cells, by column."""
    format: Text | None = None
    """Kind of file, such as csv or excel; else recognised."""
    encoding: Text | None = None
    """Encoding of a text file, such as cp932; else recognised."""
    delimiter: Text | None = None
    """Character between columns of a text file, or tab; else recognised."""
    decimal: Text | None = None
    """Decimal point of numbers in a text file, . or a comma; else recognised."""
    sheet: Text | None = None
    """Sheet of a workbook; else the first."""
    header_row: Annotated[int, Field(ge=0)] | None = None
    """Line with the names of columns, from 1, or 0 where there is none; else recognised."""
    strict: bool = False
    """Whether whatever would be guessed is refused."""

    def rules(self) -> ReadingRules:
        """As functions that read a table take them."""
        rules = self.model_dump()
        form, missing = rules.pop("format"), tuple(rules.pop("missing"))
        return ReadingRules(form=form, missing=missing, **rules)
