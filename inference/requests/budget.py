"""What the filling of one template may compute: passes, characters, numbers and time, counted as it runs."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..tables.limits import (
    TEMPLATE_BITS,
    TEMPLATE_CHARACTERS,
    TEMPLATE_SECONDS,
    TEMPLATE_STEPS,
    TEMPLATE_WORK,
)

ELEMENT = 16  # characters that an element of a list counts as
WIDEST = 10_000  # a whole number that goes into a function, such as the width of a field
CHARACTERS_TO_STRIP = 1_000
WIDE = "a format asks for a very wide field"
_DIGITS = re.compile(r"\d+")
_NESTED = re.compile(r"\{[^{}]*:[^{}]*\{")  # a width that is computed
_STAR = re.compile(r"%[-+ #0-9.]*\*")


class BudgetExceeded(Exception):
    """A template computes more than the limits allow."""


class _Budget:
    """What is left of the filling of one template."""

    def __init__(self) -> None:
        self.steps, self.work = TEMPLATE_STEPS, TEMPLATE_WORK
        self.until = time.thread_time() + TEMPLATE_SECONDS

    def look(self) -> None:
        if time.thread_time() > self.until:
            raise BudgetExceeded(f"{TEMPLATE_SECONDS:g} seconds of computing")


_budget: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def counted() -> Iterator[None]:
    """Begin to count what one template computes."""
    token = _budget.set(_Budget())
    try:
        yield
    finally:
        _budget.reset(token)


def pass_through(steps: int = 1) -> None:
    """Count passes through loops, macros, blocks and files."""
    budget = _budget.get()
    if budget is None:
        fits(steps)
        return
    budget.steps -= steps
    if budget.steps < 0:
        raise BudgetExceeded(f"{TEMPLATE_STEPS:,} passes through loops")
    budget.look()


def spend(size: int) -> None:
    """Count characters that are made."""
    fits(size)
    budget = _budget.get()
    if budget is None:
        return
    budget.work -= size
    if budget.work < 0:
        raise BudgetExceeded(f"{TEMPLATE_WORK:,} characters, those between included")
    budget.look()


def fits(size: int) -> None:
    """Refuse what would be longer than the limit, before it is made."""
    if size > TEMPLATE_CHARACTERS:
        raise BudgetExceeded(f"{TEMPLATE_CHARACTERS:,} characters")


def measured(value: Any) -> Any:
    """Return a value, once it is counted."""
    spend(weight(value))
    return value


def weight(value: Any) -> int:
    """Characters of a value as text, about: what is in a list twice counts twice."""
    if isinstance(value, str | bytes | range):
        return len(value)
    if isinstance(value, int):
        if value.bit_length() > TEMPLATE_BITS:
            raise BudgetExceeded(f"numbers of {TEMPLATE_BITS:,} bits")
        return 1
    if isinstance(value, list | tuple | dict | set | frozenset):
        return _weight(value, {})
    return 1


def _weight(value: Any, weights: dict[int, int]) -> int:
    """Weight of a container; what is in it several times is weighed once."""
    if not isinstance(value, list | tuple | dict | set | frozenset):
        return weight(value)
    if id(value) not in weights:
        fits(ELEMENT * len(value))
        parts = [part for pair in value.items() for part in pair] if isinstance(value, dict) else value
        total = ELEMENT * (1 + len(value))
        for part in parts:
            total += _weight(part, weights)
            fits(total)
        weights[id(value)] = total
    return weights[id(value)]


# ---- bounds of results, before they are computed ----


def check_operation(operator: str, first: Any, second: Any) -> None:
    """Refuse an operation whose result would be beyond the limits."""
    if operator == "%" and isinstance(first, str):
        _check_percent(first, second)
    if operator in ("*", "**"):
        for sequence, count in ((first, second), (second, first)):
            if isinstance(sequence, str | bytes | list | tuple) and isinstance(count, int):
                fits(weight(sequence) * max(count, 0))
    if isinstance(first, int) and isinstance(second, int):
        bits = {
            "*": first.bit_length() + second.bit_length(),
            "**": first.bit_length() * max(second, 0),
            "+": max(first.bit_length(), second.bit_length()),
        }.get(operator, 0)
        if bits > TEMPLATE_BITS and abs(first) > 1:
            raise BudgetExceeded(f"numbers of {TEMPLATE_BITS:,} bits")


def check_arguments(name: str, text: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Refuse a filter or method of a value whose result could be beyond the limits."""
    values = (*arguments, *keywords.values())
    numbers = [abs(value) for value in values if isinstance(value, int)]
    if name in _NUMBERED and any(number > _NUMBERED[name] for number in numbers):
        raise BudgetExceeded(f"{_NUMBERED[name]:,} as an argument of {name}")
    if name in _LISTING and isinstance(text, str):
        fits(ELEMENT * len(text))
    longest = max([len(value) for value in values if isinstance(value, str)], default=0)
    if name in ("strip", "lstrip", "rstrip", "trim") and longest > CHARACTERS_TO_STRIP:
        raise BudgetExceeded(f"{CHARACTERS_TO_STRIP:,} characters to strip")
    if name == "sum" and any(not isinstance(value, int | float | str) for value in values):
        raise BudgetExceeded("a sum of anything but numbers")
    if isinstance(text, str):
        lines = text.count("\n") + 1
        if name == "replace" and len(values) > 1:
            fits(len(text) + text.count(str(values[0])) * len(str(values[1])))
        elif name == "indent":
            fits(len(text) + lines * max([*numbers, longest], default=4))
        elif name == "wordwrap":
            fits(len(text) + (len(text) // max(min(numbers, default=79), 1) + lines) * max(longest, 1))
        elif name == "format":
            _check_percent(text, (*arguments, keywords))
        elif name == "join":
            fits(sum(len(text) + weight(part) for part in _first_collection(values)))
    elif name == "join":
        fits(weight(text) + longest * len(text) if isinstance(text, list | tuple) else 0)
    if name == "tojson":
        fits(weight(text) * (1 + max(numbers, default=0)))


def check_braces(text: str, arguments: Sequence[Any]) -> None:
    """Refuse a format in braces whose result could be beyond the limits."""
    if _NESTED.search(text):
        raise BudgetExceeded(WIDE)
    _check_format(text, "{", arguments)


def _check_percent(text: str, values: Any) -> None:
    if _STAR.search(text):
        raise BudgetExceeded(WIDE)
    _check_format(text, "%", values if isinstance(values, tuple) else (values,))


def _check_format(text: str, mark: str, values: Sequence[Any]) -> None:
    longest = max(map(weight, values), default=0)
    widths = sum(int(digits) if len(digits) < 9 else TEMPLATE_CHARACTERS for digits in _DIGITS.findall(text))
    if text.count(mark) * longest + widths + len(text) > TEMPLATE_CHARACTERS:
        raise BudgetExceeded(WIDE)


def _first_collection(values: Sequence[Any]) -> Collection[Any]:
    return values[0] if values and isinstance(values[0], list | tuple | dict | str) else ()


_LISTING = (  # filters that make a list of a text
    *("list", "sort", "unique", "groupby", "batch", "slice", "map", "select", "reject", "selectattr"),
    "rejectattr",
)
_NUMBERED = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "indent", "wordwrap", "batch", "slice"), WIDEST),
    **dict.fromkeys(("truncate", "range"), 10 * WIDEST),
    **dict.fromkeys(("round", "tojson"), 100),
}
