"""Words of a text, and which part of an item may be changed: lines by gold label, characters, or all."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten

import numpy as np
import pandas as pd

from ..errors import InputError, did_you_mean, listed
from ..tables.columns import as_text, refuse
from ..tables.limits import parse_json
from ..tables.schema import require_columns

EMPTY_SPAN = "no words in the span"
_LETTER = r"[^\W\d_]"
_CURLY = "\u2019"  # apostrophe as printers set it
_LETTERS = rf"{_LETTER}(?:{_LETTER}|[\u0300-\u036f])*"
_CLIPPED = rf"(?<!\w)['{_CURLY}](?:cause|cuz|em|til|bout)\b"
WORD = re.compile(rf"{_CLIPPED}|{_LETTERS}(?:['{_CURLY}-]{_LETTERS})*", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.?!…]\s|[\n¿¡\u201c\u201d\"«\u2018(\[\u2013\u2014-])\s*$")


@dataclass(frozen=True)
class Span:
    """The segments of an item that may be changed, or why there are none."""

    segments: tuple[Segment, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Target:
    """What to change of every item: lines with one of the gold labels ``only``, by default the whole text."""

    # In place of `only`, `column` has a JSON list of [start, end] characters. `misaligned` items, whose
    # labels and lines differ in number, are changed nevertheless; `labels` are those of each line, from 1.

    only: tuple[str, ...] = ()
    column: str | None = None
    misaligned: bool = False
    labels: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


def read_target(
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
    names = sorted({label for lines in by_item.values() for label in lines.values()})
    if not names:
        raise InputError("labels: no label_set is line_1, line_2, ...; give labels of lines, or use --span.")
    for label in only:
        if label not in names:
            raise InputError(
                f"--only {label}: no line has that label{did_you_mean(label, names)}; "
                f"there are: {listed(names)}."
            )
    return Target(tuple(only), misaligned=misaligned, labels=by_item)


def span_of(item_id: str, text: str | None, cell: object, span_target: Target) -> Span:
    """Find the span of one item; ``cell`` is that of the span column, where there is one."""
    if text is None or not text.strip():
        return Span(problem="no text")
    if span_target.column is not None:
        ranges = _ranges(item_id, text, cell, span_target.column)
        return Span(tuple(line_segments(text, ranges))) if ranges else Span(problem=EMPTY_SPAN)
    segments = tuple(line_segments(text, [(0, len(text))]))
    if not span_target.only:
        return Span(segments)
    labels = span_target.labels.get(item_id)
    if labels is None:
        return Span(problem="no labels of lines")
    if max(labels) != text.count("\n") + 1 and not span_target.misaligned:
        return Span(problem="labels and lines differ in number")
    target_segments = tuple(segment for segment in segments if labels.get(segment.line) in span_target.only)
    return Span(target_segments) if target_segments else Span(problem="no line with the label")


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


@dataclass(frozen=True)
class Segment:
    """A part of a text that may be changed, within one line; see ``line_segments``.

    Parameters
    ----------
    line : int
        Number of the line, from 1.
    start, end : int
        Characters of the whole text, from 0, the end not included.

    Examples
    --------
    >>> Segment(line=1, start=0, end=4)
    Segment(line=1, start=0, end=4)
    """

    line: int
    start: int
    end: int


@dataclass(frozen=True)
class SpanWord:
    """A word of a text, with its segment and its characters."""

    segment: int
    line: int
    start: int
    end: int
    text: str


def words_of(text: str, segments: Sequence[Segment]) -> list[SpanWord]:
    """Words that are wholly inside the segments; a word that a segment cuts is not among them."""
    words = []
    lines = _line_bounds(text)
    for place, segment in enumerate(segments):
        start, end = lines[segment.line - 1]
        for match in WORD.finditer(text, start, end):
            if match.start() >= segment.start and match.end() <= segment.end:
                words.append(SpanWord(place, segment.line, match.start(), match.end(), match.group()))
    return words


def line_segments(text: str, ranges: Sequence[tuple[int, int]]) -> list[Segment]:
    r"""Cut ranges of characters at line breaks.

    Parameters
    ----------
    text : str
        Lines end with a line feed.
    ranges : sequence of (int, int)
        Start and end of each range, in characters from 0, the end not included.

    Returns
    -------
    list of Segment
        Lines count from 1.

    Examples
    --------
    >>> line_segments("One.\nTwo.", [(0, 9)])
    [Segment(line=1, start=0, end=4), Segment(line=2, start=5, end=9)]
    """
    return [
        Segment(number, max(start, first), min(end, last))
        for number, (start, end) in enumerate(_line_bounds(text), start=1)
        for first, last in ranges
        if max(start, first) < min(end, last)
    ]


def _line_bounds(text: str) -> list[tuple[int, int]]:
    bounds, start = [], 0
    for line in text.split("\n"):
        bounds.append((start, start + len(line)))
        start += len(line) + 1
    return bounds


def are_adjacent(text: str, first: SpanWord, second: SpanWord) -> bool:
    """Whether only blanks separate two words of one segment."""
    between = text[first.end : second.start]
    return first.segment == second.segment and between != "" and not between.strip(" \t\u00a0")


def key_of(word: str) -> str:
    """A word as lexicons write it: composed, lower case, straight apostrophes."""
    return unicodedata.normalize("NFC", word).replace(_CURLY, "'").casefold()


def with_capitals_of(old: str, new: str) -> str:
    """``new`` with the capitals of ``old``: none, first letter, first letter of every word, or all."""
    words = old.split()
    if old.upper() == old and sum(map(str.isalpha, old)) > 1:
        return new.upper()
    if len(words) > 1 and all(word[0].isupper() for word in words):
        return " ".join(map(capitalised, new.split()))
    return capitalised(new) if capitalised(old) == old and old not in ("I", "Y", "O", "A") else new


def capitalised(text: str) -> str:
    """The text with its first letter a capital, the rest unchanged."""
    place = next((at for at, letter in enumerate(text) if letter.isalpha()), len(text))
    return text[:place] + text[place : place + 1].upper() + text[place + 1 :]


def with_apostrophes_of(text: str, new: str) -> str:
    """``new`` with curly apostrophes where the text has such."""
    return new.replace("'", _CURLY) if _CURLY in text else new


def starts_sentence(text: str, start: int) -> bool:
    """Whether the character at ``start`` begins a sentence, a line or a quotation."""
    return _SENTENCE_START.search(text, max(start - 4, 0), start) is not None or start == 0
