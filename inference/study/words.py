"""What is wrong with a value of a file, in words that say what belongs there."""

from __future__ import annotations

from typing import Any

from pydantic_core import ErrorDetails

from .asking import DATE, KEY_VARIABLE
from .base import IDENTIFIER

PATTERNS = {
    IDENTIFIER: "a name starts with a small letter and goes on with small letters, digits and '_'",
    KEY_VARIABLE: "an environment variable has a name of capital letters, digits and '_', such as MY_API_KEY",
    DATE: "a date is written as 2025-01-31",
}
TYPES = {
    "string_type": "text belongs here",
    "string_too_short": "text belongs here",
    "int_type": "a whole number belongs here",
    "int_from_float": "a whole number belongs here",
    "float_type": "a number belongs here",
    "finite_number": "a finite number belongs here",
    "bool_type": "true or false belongs here",
    "list_type": "a list belongs here",
    "dict_type": "fields and their values belong here",
    "model_type": "fields and their values belong here",
    "model_attributes_type": "fields and their values belong here",
}
LIMITS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


def in_words(problem: ErrorDetails) -> str:
    """Say what belongs in a field, for one error of a validation."""
    kind = problem["type"]
    context: dict[str, Any] = problem.get("ctx", {})
    if kind == "string_pattern_mismatch" and context["pattern"] in PATTERNS:
        return PATTERNS[context["pattern"]]
    if kind == "literal_error":
        return f"use one of {_commas(context['expected'])}"
    if kind == "union_tag_invalid":
        return f"use one of {context['expected_tags']}"
    if kind == "union_tag_not_found":
        return f"the field {context['discriminator']} belongs here"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "too_long"):
        limit = context.get("min_length", context.get("max_length"))
        return f"{'at least' if kind == 'too_short' else 'at most'} {limit:,} entries belong here"
    for name, words in LIMITS.items():
        if name in context:
            return f"a number of {words} {context[name]:,} belongs here"
    return TYPES.get(kind, problem["msg"])


def _commas(expected: str) -> str:
    return expected.replace(" or ", ", ")
