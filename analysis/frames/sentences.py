"""Sentences that state conditions: each is a function of a record of values, and is listed here.

A sentence that says "significant", "all", "most", "highest" or "N of M" is written by a function that sees
nothing but a small frozen record, which another function counts from a table. So a test can draw tables,
count for itself, and compare what the sentence says. A new sentence is listed by `sentence`, and the tests
fail until they have a case for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np

from conjury.inference.errors import counted

from ..numerics.types import Codes, Floats

Write = TypeVar("Write", bound=Callable[..., str])

SERIES = "series of answers (by judge and prompt)"
EQUAL = 1e-9  # numbers that a sentence ranks and that are closer than this are equal

SENTENCES: dict[str, Callable[..., str]] = {}


def sentence(write: Write) -> Write:
    """List a function from one frozen record to a sentence."""
    name = getattr(write, "__name__", "")
    if name in SENTENCES:
        raise ValueError(f"There are two sentences named {name}; give one another name.")
    SENTENCES[name] = write
    return write


def record_of(write: Callable[..., Any]) -> type:
    """The record that a sentence is a function of; TypeError where it is not one frozen dataclass."""
    hints = {name: hint for name, hint in get_type_hints(write).items() if name != "return"}
    (kind,) = hints.values()
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise TypeError(f"{write.__name__} is not a function of a dataclass.")
    if not getattr(kind, "__dataclass_params__").frozen:  # noqa: B009
        raise TypeError(f"{write.__name__} is not a function of a frozen dataclass.")
    return kind


def out_of(n: int, total: int, singular: str, plural: str = "") -> str:
    """A part of a total: "3 of 9 estimates", "none of 9 estimates", "no estimates"."""
    total_text = counted(total, singular, plural)
    if not total:
        return f"no{total_text.removeprefix('0')}"
    return f"{f'{n:,}' if n else 'none'} of {total_text}"


def capitalised(text: object) -> str:
    """The text with a capital first letter."""
    return str(text)[:1].upper() + str(text)[1:]


def headed(title: str, text: str) -> str:
    """A text behind its title; a title that asks keeps its mark, and has no colon."""
    return f"{title} {capitalised(text)}" if title.endswith("?") else f"{title.rstrip('.')}: {text}"


def agreeing(n: int, singular: str, plural: str) -> str:
    """The verb, or another word, that agrees with a number."""
    return singular if n == 1 else plural


def agreeing_with_part(n: int, total: int, singular: str, plural: str) -> str:
    """The verb after a part of a total as `out_of` writes it: singular after "1 of 3" and after "0 of 1"."""
    return singular if 1 in (n, total) else plural


def ties(values: Floats, place: int) -> Codes:
    """Places of the numbers that equal the one at a place, except for rounding."""
    return np.flatnonzero(np.abs(values - values[place]) <= EQUAL)


def together(names: Iterable[str], most: int = 3) -> str:
    """Names in a sentence, of many the first and how many more: "A, B and C", "A, B, C and 2 more"."""
    all_names = list(names)
    if len(all_names) > most + 1:
        return f"{', '.join(all_names[:most])} and {len(all_names) - most} more"
    *first, last = all_names or [""]
    return f"{', '.join(first)} and {last}" if first else last


def count_excluding_in_words(n: int, total: int, value: str) -> str:
    """How many of some intervals exclude a value."""
    if total == 1:
        return f"The interval {'excludes' if n else 'contains'} {value}."
    part, verb = out_of(n, total, "interval"), agreeing_with_part(n, total, "excludes", "exclude")
    return f"{capitalised(part)} {verb} {value}."
