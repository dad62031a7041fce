"""The insult lexicon: one word for each category, in the forms that texts ask for."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from ...errors import InputError
from ...study.problems import suggestion
from ...tables.bounded import EXPORT_BYTES, read_content
from .wording import FORMS

COLUMNS = ("category", *FORMS)


def load_insults(path: Path, categories: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read a lexicon of insults."""
    lexicon: dict[str, dict[str, str]] = {}
    lines: dict[str, int] = {}
    for line, row in _rows(path):
        category = row["category"]
        if category not in categories:
            raise InputError(f"{path}:{line}: category {suggestion(category, categories)}")
        if category in lines:
            raise InputError(
                f"{path}:{line}: category '{category}' is also on line {lines[category]}; keep one row."
            )
        for form in FORMS:
            if not row[form]:
                raise InputError(f"{path}:{line}: {category} has no {form} form; write one.")
        lines[category] = line
        lexicon[category] = {form: row[form] for form in FORMS}
    for category in categories:
        if category not in lexicon:
            raise InputError(f"{path}:1: category '{category}' is missing; add a row for it.")
    return lexicon


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = read_content(path, EXPORT_BYTES).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""))
        header = [name.strip() for name in next(reader, [])]
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except UnicodeDecodeError:
        raise InputError(f"{path}:1: the file is not UTF-8 text; save it as UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: cannot be read ({error}); correct that line.") from None
    if header != list(COLUMNS):
        raise InputError(f"{path}:1: the columns must be {', '.join(COLUMNS)}; correct the header.")
    for line, row in rows:
        if len(row) != len(COLUMNS):
            raise InputError(f"{path}:{line}: the row has {len(row)} cells; write {len(COLUMNS)}.")
    return [(line, dict(zip(COLUMNS, row, strict=True))) for line, row in rows]
