"""The text of a published cell, taken apart: "0.43** (0.02) [0.39, 0.47]" has five numbers and stars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

CellPart = Literal["value", "parenthesis", "plus_minus", "lower", "upper", "stars", "below"]
NUMERIC: tuple[CellPart, ...] = ("value", "parenthesis", "plus_minus", "lower", "upper")
PARTS: tuple[CellPart, ...] = get_args(CellPart)
MISSING = frozenset(("", "-", "--", "---", "\u2013", "\u2014", "na", "n/a", "n.a.", "nan", "none", "."))
CELL_LENGTH = 200  # characters of a cell that is looked at for numbers; longer ones are texts

_NUMBER = r"[+\-\u2212]?\s?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)\s?%?"
_MARK = r"\^\{?[A-Za-z0-9,]{1,3}\}?|[\u2020\u2021\u00a7\u00b6#\u2016]+"
_PIECES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("below", re.compile(r"[<>=\u2264\u2265~]{1,2}(?=\s*[\d.])")),
    (
        "interval",
        re.compile(
            rf"[\[(]\s*(?:\d+%\s*CI:?\s*)?({_NUMBER})\s*(?:,|;|\bto\b|\u2013|\u2014|-)\s*({_NUMBER})\s*[\])]"
        ),
    ),
    ("parenthesis", re.compile(rf"\(\s*(?:[A-Za-z]+\s*=?\s*)?({_NUMBER})\s*(?:\*{{1,4}}|{_MARK})*\s*\)")),
    ("plus_minus", re.compile(rf"(?:\u00b1|\+/-)\s*({_NUMBER})")),
    ("stars", re.compile(r"\*{1,4}")),
    ("mark", re.compile(_MARK)),
    ("value", re.compile(rf"({_NUMBER})(?![A-Za-z0-9])")),
)


def parts_of(text: str) -> dict[CellPart, str]:
    """Numbers and stars of a cell by what they are; empty for text that is not a published number."""
    # `below` is the sign before a bound such as "<"; footnote marks are dropped.
    if len(text) > CELL_LENGTH:
        return {}
    parts: dict[CellPart, str] = {}
    for name, value in _pieces(text.strip()):
        if name in parts or not name:
            return {}
        parts |= {name: value}
    return parts if any(name in parts for name in NUMERIC) else {}


def is_missing(text: str) -> bool:
    """Whether a cell states that there is no number."""
    return text.strip().casefold() in MISSING


def _pieces(text: str) -> Iterator[tuple[CellPart, str]]:
    """Parts of a text in order; one of an empty name where something else is in it."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        matched = ((name, pattern.match(text, at)) for name, pattern in _PIECES)
        name, match = next(((name, hit) for name, hit in matched if hit is not None), ("", None))
        if match is None:
            yield "", ""  # type: ignore[misc]
            return
        at = match.end()
        if name == "interval":
            yield "lower", _digits(match[1])
            yield "upper", _digits(match[2])
        elif name != "mark":
            yield name, _digits(match[match.re.groups])  # type: ignore[misc]


def _digits(text: str) -> str:
    return "".join(text.split())
