"""Which part of an item may be changed: lines by their gold label, stated characters, or all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

import numpy as np
import pandas as pd

from ..errors import InputError
from ..tables.bounded import parse_json
from ..tables.columns import as_text, did_you_mean, listed, refuse
from ..tables.schema import require_columns
from .words import Segment, line_segments

NO_TEXT = "no text"
NO_SPAN = "no line with the label"
NO_LABELS = "no labels of lines"
MISALIGNED = "labels and lines differ in number"
EMPTY_SPAN = "no words in the span"
_LINE = re.compile(r"line_(\d+)")


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
        Whether items whose labels and lines differ in number are changed all the same.
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
    """Check what was asked for against the tables.

    Raises
    ------
    InputError
        Both ways to name a span are used, labels are missing, none is of a line, or a label never occurs.
    """
    if column is not None:
        if only:
            raise InputError("--only and --span both name what to change; use one of them.")
        require_columns(items, [column], "items")
        return Target(column=column)
    if not only:
        return Target()
    if labels is None:
        raise InputError(f"--only {only[0]}: which lines those are stands in gold labels; give --labels.")
    held = lines_of_labels(labels)
    known = sorted({label for lines in held.values() for label in lines.values()})
    if not known:
        raise InputError("labels: no label_set is line_1, line_2, ...; give labels of lines, or use --span.")
    for label in only:
        if label not in known:
            raise InputError(
                f"--only {label}: no line has that label{did_you_mean(label, known)}; "
                f"there are: {listed(known)}."
            )
    return Target(tuple(only), misaligned=misaligned, labels=held)


def lines_of_labels(labels: pd.DataFrame) -> dict[str, dict[int, str]]:
    """Return the gold label of each line, from 1, by item."""
    numbers = as_text(labels["label_set"]).str.extract(f"^{_LINE.pattern}$", expand=False)
    lines = pd.DataFrame(
        {"item_id": as_text(labels["item_id"]), "line": numbers, "label": as_text(labels["label"])}
    ).dropna()
    found: dict[str, dict[int, str]] = {}
    for item, line, label in lines.itertuples(index=False, name=None):
        found.setdefault(str(item), {})[int(line)] = str(label)
    return found


def span_of(item_id: str, text: str | None, cell: object, wanted: Target) -> Span:
    """Find the span of one item.

    Parameters
    ----------
    item_id : str
    text : str or None
    cell : object
        What the span column holds, where there is one.
    wanted : Target
    """
    if text is None or not text.strip():
        return Span(problem=NO_TEXT)
    if wanted.column is not None:
        ranges = _ranges(item_id, text, cell, wanted.column)
        return Span(tuple(line_segments(text, ranges))) if ranges else Span(problem=EMPTY_SPAN)
    whole = tuple(line_segments(text, [(0, len(text))]))
    if not wanted.only:
        return Span(whole)
    labels = wanted.labels.get(item_id)
    if labels is None:
        return Span(problem=NO_LABELS)
    if max(labels) != text.count("\n") + 1 and not wanted.misaligned:
        return Span(problem=MISALIGNED)
    kept = tuple(segment for segment in whole if labels.get(segment.line) in wanted.only)
    return Span(kept) if kept else Span(problem=NO_SPAN)


def _ranges(item_id: str, text: str, cell: object, column: str) -> list[tuple[int, int]]:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell)):
        return []
    try:
        pairs = parse_json(cell) if isinstance(cell, str) else np.asarray(cell).tolist()
        ranges = [(int(start), int(end)) for start, end in pairs]
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"items: column '{column}' of item '{item_id}' holds {shorten(repr(cell), 60)}; write [[start, "
            "end], ...]."
        ) from None
    for start, end in ranges:
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"items: column '{column}' of item '{item_id}' holds [{start}, {end}], which is no part of "
                f"its {len(text)} characters; count from 0, the end not included."
            )
    return ranges


def texts_of(items: pd.DataFrame) -> list[str | None]:
    """Return the text of each item, from its lines where it has any; missing is None.

    Raises
    ------
    InputError
        There is neither ``text`` nor ``lines``, the two differ, or a line holds a line break.
    """
    if "text" not in items and "lines" not in items:
        raise InputError("items: there is neither a column 'text' nor 'lines'; add one of the two.")
    texts: list[str | None] = [None] * len(items)
    if "text" in items:
        texts = [None if pd.isna(text) else str(text) for text in items["text"]]
    if "lines" not in items:
        return texts
    joined = [_joined(cell) for cell in items["lines"]]
    wrong = np.array([bad for _, bad in joined], dtype=bool)
    if wrong.any():
        refuse("items", "lines", wrong, "is no list of lines of text", "write a list with one string a line")
    both = [(text, lines) for text, (lines, _) in zip(texts, joined, strict=True)]
    differ = np.array([None not in pair and pair[0] != pair[1] for pair in both], dtype=bool)
    if differ.any():
        refuse("items", "lines", differ, "is not the text cut at line breaks", "drop one of the two columns")
    return [text if text is not None else lines for text, lines in both]


def _joined(cell: object) -> tuple[str | None, bool]:
    """Join the lines of a cell, missing where it is; and say whether it holds something else."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell)):
        return None, False
    lines = list(cell) if isinstance(cell, (list, tuple, np.ndarray)) else [None]
    texts = [line for line in lines if isinstance(line, str) and "\n" not in line]
    return "\n".join(texts), len(texts) < len(lines)
