"""Limits that a validation has to reach, for continuous integration: ``kappa.lower=0.6``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed, not_percent

from ...figures.labels import true_minus
from ...numerics.metrics.agreement_measures import measure_of
from ...results import Result

LIMITS = (
    "estimate", "lower", "upper", "std_error", "p", "p_adjusted", "p_equivalence", "detectable", "chance",
    "n", "clusters",
)  # fmt: skip


OF_INTERVALS = ("lower", "upper", "std_error")  # every estimate has them, unless its rows are too few


def range_of(measure: str, limit: str = "estimate") -> tuple[float, float]:
    """The least and the largest value that a limit of a measure can have; infinite where there is none."""
    if limit in ("n", "clusters"):
        return 0.0, np.inf
    if limit in ("p", "p_adjusted", "p_equivalence", "chance"):
        return (-1.0 if limit == "chance" else 0.0), 1.0
    low, high = measure_of(measure).least, measure_of(measure).most
    if re.sub(r"(_a|_b|_between)$", "", measure).endswith("_difference"):
        low, high = low - high, high - low
    return (0.0, high - low) if limit in ("std_error", "detectable") else (low, high)


def refuse_outside(what: str, value: float, measure: str, limit: str = "estimate") -> None:
    """Refuse a value that a limit of a measure cannot have, such as a percentage for a share."""
    low, high = range_of(measure, limit)
    if not low <= value <= high:
        where = f"between {low:g} and {high:g}" if np.isfinite(high) else f"of {low:g} or more"
        name = f"{measure}.{limit}" if limit != "estimate" else measure
        hint = not_percent(value) if np.isfinite(high) else ""
        raise InputError(f"{what} is {value:g}{hint}; {name} is {true_minus(where)}.")


@dataclass(frozen=True)
class Gate:
    """A limit of an estimate, and the value that it has to reach or not to exceed."""

    text: str
    name: str
    limit: str
    bound: float
    least: bool  # whether the value has to be at least the bound, or at most


@dataclass(frozen=True)
class GateOutcome:
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
    """Read ``NAME.LIMIT=VALUE``; without a limit the estimate is meant."""
    return [
        _gate(text, option, least)
        for texts, option, least in ((under, "--fail-under", True), (over, "--fail-over", False))
        for text in texts
    ]


def _gate(text: str, option: str, least: bool) -> Gate:
    target, equals, value = text.rpartition("=")
    target = target.strip()
    try:
        bound = float(value)
    except ValueError:
        bound = np.nan
    if not equals or not target or not np.isfinite(bound):
        raise InputError(
            f"{option} {text!r} is not a limit; give NAME.LIMIT=NUMBER, such as kappa.lower=0.6."
        )
    name, dot, limit = target.rpartition(".")
    if not dot or limit not in LIMITS:
        if dot and "[" not in limit and "]" not in limit:
            hint = did_you_mean(limit, LIMITS)
            raise InputError(f"{option} {text!r}: there is no limit '{limit}'{hint}; use {listed(LIMITS)}.")
        name, limit = target, "estimate"
    refuse_outside(f"The limit of {option} {text!r}", bound, name.partition("[")[0], limit)
    return Gate(text, name, limit, bound, least)


def outcomes(result: Result, gates: Sequence[Gate]) -> list[GateOutcome]:
    """Compare gates with a result; an estimate or an interval without a value fails."""
    results = []
    for gate in gates:
        rows = result.frame[result.frame["name"] == gate.name]
        if rows.empty:
            names = [str(name) for name in result.frame["name"]]
            hint = did_you_mean(gate.name, names)
            raise InputError(
                f"{gate.text!r}: there is no estimate '{gate.name}'{hint}; there are {listed(names)}."
            )
        row = rows.iloc[0]
        limits = [limit for limit in LIMITS if limit in row and pd.notna(row[limit])]
        unmeasured = "estimate" in limits and gate.limit not in (*limits, *OF_INTERVALS)
        if gate.limit not in row or unmeasured:
            raise InputError(
                f"{gate.text!r}: '{gate.name}' has no {gate.limit}; use "
                f"{listed(limits) or 'another estimate'}."
            )
        value = float(row[gate.limit])
        passes = bool(value >= gate.bound if gate.least else value <= gate.bound)
        results.append(GateOutcome(gate, value, passes))
    return results
