"""The order of levels that nobody stated: which of them comes first, and so is the reference."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ...tables.reading.cell_rules import number_of

# Levels that say that there is nothing: they come before all numbers and words.
_NOTHING = re.compile(
    r"(none|no|not|non|never|nothing|nobody|without|nil|zero|keine?r?|nicht|sans|aucune?|ning[uú]n[oa]?|sin)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+\u2212]?\d+(?:\.\d+)?|[-+\u2212]?\.\d+")
_UNITS = {"k": 1e3, "thousand": 1e3, "million": 1e6, "mn": 1e6, "mio": 1e6, "billion": 1e9, "bn": 1e9}
_BELOW = re.compile(
    r"^\W*(<|under|below|less|fewer|up to|at most|younger|unter|moins)\b|^\W*<", re.IGNORECASE
)
_ABOVE = re.compile(
    r"^\W*(>|over|above|more|at least|older|\u00fcber|plus)\b|^\W*>|(\+|or more|and more|or older|and over)\W*$",  # noqa: E501
    re.IGNORECASE,
)


def in_usual_order(labels: Sequence[str]) -> tuple[list[str], str]:
    """Labels from the one that is probably the reference, and the rule by which they are ordered."""
    nothing = sorted(label for label in labels if _NOTHING.match(label.strip()))
    further = [label for label in labels if label not in nothing]
    sizes = {label: _size_of(label) for label in further}
    by_number = bool(further) and None not in sizes.values() and len(set(sizes.values())) == len(further)
    if len(nothing) > 1 or not further:  # "not important" and "no opinion" are levels like others
        return sorted(labels, key=_natural), "by the alphabet"
    ordered = (
        sorted(further, key=lambda label: sizes[label] or (0.0, 0))
        if by_number
        else sorted(further, key=_natural)
    )
    rule = "by number" if by_number else "by the alphabet"
    if nothing:
        first = "'none'" if nothing[0].strip().casefold() == "none" else "'no ...'"
        return [*nothing, *ordered], f"{first} first, then {rule}"
    return ordered, rule


def _size_of(label: str) -> tuple[float, int] | None:
    """The first number of a label, and whether the label is below or above it; None without a number."""
    match = _NUMBER.search(label)
    if match is None:
        return None
    text = match[0]
    is_range = match.start() > 0 and text[0] in "-\u2212" and label[match.start() - 1].isalnum()
    value = number_of(text[1:] if is_range else text)
    if value is None:
        return None
    unit = re.match(r"\s*([a-z]+)\b", label[match.end() :].casefold())
    if unit and unit[1] in _UNITS:
        value *= _UNITS[unit[1]]
    if re.match(r"\W*(minus|decrease|decline|loss|cut)\b", label, re.IGNORECASE):
        value = -value
    return value, -1 if _BELOW.search(label) else int(bool(_ABOVE.search(label)))


def _natural(label: str) -> tuple[tuple[tuple[int, float, str], ...], str]:
    """A key by which words are in alphabetical order, and the numbers within them in that of numbers."""
    # A letter with an accent is sorted as the letter, not behind z.
    letters = unicodedata.normalize("NFKD", label.casefold())
    parts = re.split(r"(\d+)", "".join(letter for letter in letters if not unicodedata.combining(letter)))
    key = ((0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts if part)
    return tuple(key), label
