"""Which part of an item may be changed: lines by their gold label, stated characters, or all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.columns import as_text, refuse
from ..tables.limits import parse_json
from ..tables.schema import require_columns
from .words import Segment, line_segments

EMPTY_SPAN = "no words in the span"


@dataclass(frozen=True)
class Span:
    """The segments of an item that may be changed, or why there are none."""

    segments: tuple[Segment, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Target:
    """What to change of every item.

    Attributes
    ----------
    only : tuple of str
        Gold labels: lines that have one of them are changed. Without any, the whole text is.
    column : str or None
        In place of ``only``: column of items with a JSON list of [start, end] characters of the text.
    misaligned : bool
        Whether items whose labels and lines differ in number are changed nevertheless.
    labels : dict of str to dict of int to str
        By item, the gold label of each line, from 1.
    """

    only: tuple[str, ...] = ()
    column: str | None = None
    misaligned: bool = False
    labels: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


def target(
    items: pd.DataFrame,
    labels: pd.DataFrame | None,
    only: Sequence[str],
    column: str | None,
    misaligned: bool,
) -> Target:
    """Check a request against the tables; InputError where a label or column of it does not exist."""
    if column is not None:
        if only:
            raise InputError("--only and --span both name what to change; use one of them.")
        require_columns(items, [column], "items")
        return Target(column=column)
    if not only:
        return Target()
    if labels is None:
        raise InputError(f"--only {only[0]}: the lines with a label are in gold labels; give --labels.")
    by_item = _lines_of_labels(labels)
    known = sorted({label for lines in by_item.values() for label in lines.values()})
    if not known:
        raise InputError("labels: no label_set is line_1, line_2, ...; give labels of lines, or use --span.")
    for label in only:
        if label not in known:
            raise InputError(
                f"--only {label}: no line has that label{did_you_mean(label, known)}; "
                f"there are: {listed(known)}."
            )
    return Target(tuple(only), misaligned=misaligned, labels=by_item)


def span_of(item_id: str, text: str | None, cell: object, wanted: Target) -> Span:
    """Find the span of one item; ``cell`` is that of the span column, where there is one."""
    if text is None or not text.strip():
        return Span(problem="no text")
    if wanted.column is not None:
        ranges = _ranges(item_id, text, cell, wanted.column)
        return Span(tuple(line_segments(text, ranges))) if ranges else Span(problem=EMPTY_SPAN)
    whole = tuple(line_segments(text, [(0, len(text))]))
    if not wanted.only:
        return Span(whole)
    labels = wanted.labels.get(item_id)
    if labels is None:
        return Span(problem="no labels of lines")
    if max(labels) != text.count("\n") + 1 and not wanted.misaligned:
        return Span(problem="labels and lines differ in number")
    kept = tuple(segment for segment in whole if labels.get(segment.line) in wanted.only)
    return Span(kept) if kept else Span(problem="no line with the label")


def texts_of(items: pd.DataFrame) -> list[str | None]:
    """The text of each item, from its lines where it has any; missing is None."""
    if "text" not in items and "lines" not in items:
        raise InputError("items: there is neither a column 'text' nor 'lines'; add one of the two.")
    texts: list[str | None] = [None] * len(items)
    if "text" in items:
        texts = [None if pd.isna(text) else str(text) for text in items["text"]]
    if "lines" not in items:
        return texts
    cells = [None if _is_missing(cell) else cell for cell in items["lines"]]
    wrong = np.array([cell is not None and not _is_lines(cell) for cell in cells], dtype=bool)
    if wrong.any():
        refuse(
            "items", "lines", wrong, "is no list of lines of text", "write a list with one string per line"
        )
    joined = [None if cell is None else "\n".join(cell) for cell in cells]
    pairs = list(zip(texts, joined, strict=True))
    differ = np.array([None not in pair and pair[0] != pair[1] for pair in pairs], dtype=bool)
    if differ.any():
        refuse("items", "lines", differ, "is not the text cut at line breaks", "drop one of the two columns")
    return [text if text is not None else lines for text, lines in pairs]


def _lines_of_labels(labels: pd.DataFrame) -> dict[str, dict[int, str]]:
    """The gold label of each line, from 1, by item."""
    numbers = as_text(labels["label_set"]).str.extract(r"^line_(\d+)$", expand=False)
    lines = pd.DataFrame(
        {"item_id": as_text(labels["item_id"]), "line": numbers, "label": as_text(labels["label"])}
    ).dropna()
    by_item: dict[str, dict[int, str]] = {}
    for item, line, label in lines.itertuples(index=False, name=None):
        by_item.setdefault(str(item), {})[int(line)] = str(label)
    return by_item


def _ranges(item_id: str, text: str, cell: object, column: str) -> list[tuple[int, int]]:
    if _is_missing(cell):
        return []
    where = f"items: column '{column}' of item '{item_id}'"
    try:
        pairs = parse_json(cell) if isinstance(cell, str) else np.asarray(cell).tolist()
        ranges = [(int(start), int(end)) for start, end in pairs]
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{where} contains {shorten(repr(cell), 60)}; write [[start, end], ...].") from None
    for start, end in ranges:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{where} contains [{start}, {end}], which is no part of its {len(text)} characters; count "
                "from 0, the end not included."
            )
    return ranges


def _is_missing(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell))


def _is_lines(cell: object) -> bool:
    return isinstance(cell, (list, tuple, np.ndarray)) and all(
        isinstance(line, str) and "\n" not in line for line in cell
    )
