"""Limits that a validation has to reach, for continuous integration: ``kappa.lower=0.6``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conjury.inference.errors import InputError, did_you_mean, listed

from ...results import Result

LIMITS = (
    "estimate", "lower", "upper", "std_error", "p", "p_adjusted", "p_equivalence", "detectable", "chance",
    "n", "clusters",
)  # fmt: skip


@dataclass(frozen=True)
class Gate:
    """A limit of an estimate, and the value that it has to reach or not to exceed."""

    text: str
    name: str
    limit: str
    bound: float
    least: bool  # whether the value has to be at least the bound, or at most


@dataclass(frozen=True)
class Outcome:
    """What became of a gate."""

    gate: Gate
    value: float
    passes: bool

    def __str__(self) -> str:
        verdict = "passes" if self.passes else "FAILS"
        value = "no value" if np.isnan(self.value) else f"{self.value:.4g}"
        sign = "at least" if self.gate.least else "at most"
        return (
            f"{verdict}: {self.gate.name}.{self.gate.limit} is {value}, has to be {sign} {self.gate.bound:g}"
        )


def gates_of(under: Sequence[str], over: Sequence[str]) -> list[Gate]:
    """Read ``NAME.LIMIT=VALUE``; without a limit the estimate is meant.

    Raises
    ------
    InputError
        For what is no such text.
    """
    return [
        _gate(text, option, least)
        for texts, option, least in ((under, "--fail-under", True), (over, "--fail-over", False))
        for text in texts
    ]


def _gate(text: str, option: str, least: bool) -> Gate:
    whole, equals, value = text.rpartition("=")
    whole = whole.strip()
    try:
        bound = float(value)
    except ValueError:
        bound = np.nan
    if not equals or not whole or not np.isfinite(bound):
        raise InputError(
            f"{option} {text!r} is not a limit; give NAME.LIMIT=NUMBER, such as kappa.lower=0.6."
        )
    name, dot, limit = whole.rpartition(".")
    if not dot or limit not in LIMITS:
        if dot and "[" not in limit and "]" not in limit:
            hint = did_you_mean(limit, LIMITS)
            raise InputError(f"{option} {text!r}: there is no limit '{limit}'{hint}; use {listed(LIMITS)}.")
        name, limit = whole, "estimate"
    return Gate(text, name, limit, bound, least)


def outcomes(result: Result, gates: Sequence[Gate]) -> list[Outcome]:
    """Compare gates with a result; an estimate without a value fails.

    Raises
    ------
    InputError
        For a name that the result does not have.
    """
    found = []
    for gate in gates:
        rows = result.frame[result.frame["name"] == gate.name]
        if rows.empty:
            names = [str(name) for name in result.frame["name"]]
            hint = did_you_mean(gate.name, names)
            raise InputError(
                f"{gate.text!r}: there is no estimate '{gate.name}'{hint}; there are {listed(names)}."
            )
        if gate.limit not in rows:
            raise InputError(
                f"{gate.text!r}: '{gate.name}' has no {gate.limit}; use its estimate or a limit."
            )
        value = float(rows[gate.limit].iloc[0])
        passes = bool(value >= gate.bound if gate.least else value <= gate.bound)
        found.append(Outcome(gate, value, passes))
    return found
