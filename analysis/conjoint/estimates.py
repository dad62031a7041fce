"""Tidy estimates of a conjoint with the regressions behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..results import Result
from .estimation_plan import EstimationPlan


@dataclass(frozen=True)
class EstimateProvenance:
    """What was really run, for the methods paragraph and the manifest."""

    verb: str
    formula: str
    engine: str = "native"
    id: str | None = None
    weights: str | None = None
    by: tuple[str, ...] = ()
    family: str = "gaussian"
    vcov: str = "survey"
    alpha: float = 0.05
    null: float = 0.0
    n_rows: int = 0
    n_used: int = 0
    n_clusters: int | None = None
    interval: str = "normal"
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimates(Result):
    """Tidy estimates with what is needed to check, plot and repeat them."""

    # `frame`: `outcome, statistic, feature, level, [by], estimate, std_error, [df], z, p, lower, upper`.
    # References have estimate 0 and no standard error; levels that never occur have no estimate.

    # kind, settings: The verb, and the provenance without it.
    kind: str = field(init=False)
    settings: Mapping[str, Any] = field(init=False, repr=False)
    # notes, extra: As in `Result`.
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    extra: Mapping[str, pd.DataFrame] = field(default_factory=dict, kw_only=True)
    # covariance of the rows of `frame` that have a standard error, labelled by their group, if there are any,
    # feature and level; None from the engine cregg
    vcov: pd.DataFrame | None
    provenance: EstimateProvenance  # verb, formula, engine, clusters, counts
    # the regressions behind the rows, from which further contrasts follow; None from the engine cregg, and
    # for counts and tests
    fitted: FittedPlan | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        settings = dict(vars(self.provenance))
        object.__setattr__(self, "kind", settings.pop("verb"))
        object.__setattr__(self, "settings", settings.pop("extra") | settings)

    def __repr__(self) -> str:
        spec = self.provenance
        return f"Estimates({spec.verb}, engine={spec.engine!r}, {spec.formula})\n{self.frame.to_string()}"


@dataclass(frozen=True)
class Solution:
    """Solved regressions of a plan with K coefficients."""

    coef: np.ndarray  # shape (K,): 0 for columns that are linear combinations of earlier ones
    # shape (K, K): cluster-robust covariance; NaN between regressions that the engine fits one by one
    vcov: np.ndarray
    # degrees of freedom, shape (m,), of contrasts of shape (m, K); None for the normal distribution
    df: Callable[[np.ndarray], np.ndarray] | None = None
    # shape (m, 2), or None: effective numbers of clusters of what the plan reports, of errors within clusters
    # that are independent and that are equal
    effective: np.ndarray | None = None


@dataclass(frozen=True)
class FittedPlan:
    """A plan and its solution: all that is needed for any further contrast of its coefficients."""

    plan: EstimationPlan
    solution: Solution
