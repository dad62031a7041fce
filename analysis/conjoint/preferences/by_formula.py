"""Analyses of preferences as functions of rows and a formula, as study files list them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from ...results import Result
from ..estimates import EstimateProvenance, Estimates
from ..verbs.amce import amce
from .afcp import afcp
from .choice_level import choice_level
from .cycles import preference_cycles
from .importance import importance
from .share_preferring import share_preferring

ByFormula = Callable[..., Estimates]
RECORDED = {part.name for part in fields(EstimateProvenance)} - {"verb", "extra"}


def _with_formula(function: Callable[..., Result]) -> ByFormula:
    """A function of effects as one of rows and the formula of these effects."""

    def estimated(rows: pd.DataFrame, formula: str, *, alpha: float, **arguments: Any) -> Estimates:
        fit = amce(rows, formula, alpha=alpha, **arguments)
        result = function(fit, alpha=alpha)
        return _estimates(result, {**fit.settings, **result.settings})

    return estimated


def _cycles(rows: pd.DataFrame, formula: str, **arguments: Any) -> Estimates:
    result = preference_cycles(rows, formula, **arguments)
    return _estimates(result, result.settings)


def _estimates(result: Result, settings: Mapping[str, Any]) -> Estimates:
    """A result with its settings as a provenance."""
    further = {name: value for name, value in settings.items() if name not in RECORDED}
    recorded = {name: value for name, value in settings.items() if name in RECORDED}
    provenance = EstimateProvenance(result.kind, **recorded, extra=further)
    return Estimates(result.frame, None, provenance, notes=result.notes, extra=result.extra)


PREFERENCES: Mapping[str, ByFormula] = {
    "choice_level": choice_level,
    "afcp": afcp,
    "preference_cycles": _cycles,
    "importance": _with_formula(importance),
    "share_preferring": _with_formula(share_preferring),
}
