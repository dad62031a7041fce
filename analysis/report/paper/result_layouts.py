"""A result as the tables of a paper, for the methods of `Result`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from great_tables import GT

from ...figures.labels import resolve_labels
from ...results import Result
from .document_writing import to_html, to_latex, to_markdown, to_text, write_word
from .paper_tables import table_of, tables_of_result
from .row_sentences import row_sentence

WRITERS = {"html": to_html, "latex": to_latex, "markdown": to_markdown, "text": to_text}


def table(result: Result, part: int, **options: Any) -> GT:
    """Lay out one table of a result, counted from 1."""
    laid_out: GT = table_of(tables_of_result(result, **options), part)
    return laid_out


def text(result: Result, form: str, **options: Any) -> str:
    """Write all tables of a result in one of WRITERS' forms."""
    return WRITERS[form](tables_of_result(result, **options))


def sentence(result: Result, row: int | None, columns: Mapping[str, object], labels: Any) -> str:
    """Write a row of a result as a sentence."""
    return row_sentence(result, row, columns, resolve_labels(labels))


def word(result: Result, path: str | Path, **options: Any) -> Path:
    """Write all tables of a result as a Word document."""
    return write_word(tables_of_result(result, **options), path)
