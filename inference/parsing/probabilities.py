"""Probabilities of the values of an answer, from the log-probabilities of one of its tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from .completion import Answer
from .names import is_blank
from .spec import Mass

Value = TypeVar("Value", bound=Hashable)


def first_token(answer: Answer) -> Mapping[str, Any] | None:
    """First token of an answer that is not blank; None where no log-probabilities came."""
    for token in answer.tokens:
        name = token.get("token") if isinstance(token, dict) else None
        if isinstance(name, str) and not is_blank(name):
            return token
    return None


def token_at(answer: Answer, key: str) -> Mapping[str, Any] | None:
    """Token that starts the value of ``key`` in a JSON answer that holds the key once; else None."""
    if not answer.tokens:
        return None
    places = list(re.finditer(rf'"{re.escape(key)}"\s{{0,20}}:[\s"]{{0,20}}', answer.text))
    names = [token.get("token") if isinstance(token, dict) else None for token in answer.tokens]
    if len(places) != 1 or not all(isinstance(name, str) for name in names):
        return None
    written = "".join(map(str, names))
    shift = written.find(answer.text)
    if shift < 0:
        return None
    position = 0
    for token, name in zip(answer.tokens, map(str, names), strict=True):
        end = position + len(name)
        if end > places[0].end() + shift:
            lead = len(name) - len(name.lstrip(' "\n\t:'))
            return token if position + lead == places[0].end() + shift else None
        position = end
    return None


def masses(token: Mapping[str, Any], name: Callable[[str], Value | None]) -> dict[Value, float]:
    """Sum the probabilities of the listed tokens by the value that each names.

    Tokens that differ in case or in a leading space name the same value.
    """
    top = token.get("top_logprobs")
    found: dict[Value, float] = {}
    seen = set()
    for entry in [*top, token] if isinstance(top, list) else [token]:
        word = entry.get("token") if isinstance(entry, dict) else None
        value = name(word) if isinstance(word, str) else None
        if value is not None and word not in seen:
            seen.add(word)
            logprob = entry.get("logprob")
            if isinstance(logprob, int | float) and logprob == logprob:
                found[value] = found.get(value, 0.0) + math.exp(min(logprob, 0.0))
    return found


def share(mass: Mapping[Value, float], value: Value) -> Mass:
    """Probability of ``value`` among all values, and the mass outside of them."""
    total = sum(mass.values())
    if total <= 0:
        return Mass(None, 1.0)
    return Mass(mass.get(value, 0.0) / total, max(0.0, 1.0 - total))
