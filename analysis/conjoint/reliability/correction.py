"""Estimates corrected for answers that depart from a judge's own stable pick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...correction.correction_methods import SwappingErrors
from ...results import Result, row_labels, stack, tidy
from ..engines.solution import infer
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan
from ..request import EstimateRequest
from ..rows import Data, whole_table
from .reliability_estimate import Reliability
from .repeats import first_answers
from .swapping_errors import (
    BY_GROUP,
    Pieces,
    Taus,
    corrected_slopes,
    groups_for,
    joint_vcov,
    repeats_for,
    swapping_errors,
    table_of,
    taus_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SwapCorrectedEstimates(Estimates):
    """Estimates corrected for swapping errors."""

    # Errors contain those of the swapping errors and the covariance by common clusters. `fitted` is None, as
    # further contrasts would not be corrected: take them from `uncorrected`.

    # the same rows as observed, from first answers
    uncorrected: Estimates = field(kw_only=True)
    # the swapping errors: `group` ("all", a level as "feature=level", or a group), `tau`, `std_error`,
    # `agreement`, `net_bias`, `n_compared`, `n_units`
    tau: pd.DataFrame = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kind", "corrected")
        object.__setattr__(self, "extra", {"observed": self.uncorrected.frame, "tau": self.tau})

    @property
    def beside(self) -> pd.DataFrame:
        """Observed rows above corrected ones, with a first column ``source``."""
        tables = {"observed": self.uncorrected.frame, "corrected": self.frame}
        table = stack([frame.assign(source=name) for name, frame in tables.items()])
        return table[["source", *table.columns.drop("source")]]

    def plot(self, **options: Any) -> Figure:
        """Draw corrected beside observed estimates; options as in ``figures.draw``."""
        return Result(self.beside, "corrected", settings=self.settings, real_judges=self.real_judges).plot(
            **options
        )


def estimate_corrected(
    request: EstimateRequest,
    data: Data,
    method: SwappingErrors,
    estimate: Callable[[EstimateRequest, Data], Estimates],
) -> SwapCorrectedEstimates:
    """Estimate what a request asks for from first answers, and correct it for swapping errors."""
    # `estimate` is given, since its module imports this one.
    correct = method.tau
    if request.engine == "cregg" or request.family != "gaussian":
        raise InputError("correct= applies to shares and differences of shares; omit engine and family.")
    if request.strata:
        raise InputError("correct= does not support strata; omit strata.")
    refuse_verb(request, "correct")
    choices = whole_table(data)
    first = first_answers(choices)
    observed = estimate(request, first)
    if observed.fitted is None:
        raise InputError(f"Engine {request.engine!r} does not return regressions; use engine='native'.")
    plan = observed.fitted.plan
    if isinstance(correct, bool) or not isinstance(correct, Real | str | Reliability):
        raise InputError(f"correct is {correct!r}; give 'reliability', a tau, or a result of reliability.")
    if isinstance(correct, Real):
        pieces, taus = _correction_by_known_tau(plan, float(correct))
        table = _known_table(float(correct))
    else:
        pairs = repeats_for(choices, first, request, correct)
        names, masks, number = groups_for(correct, plan, pairs, choices)
        errors = swapping_errors(plan, first, pairs, names, masks)
        pieces = pieces_of(plan, number, split=correct == BY_GROUP)
        taus, table = taus_of(plan, errors), table_of(errors)
    return undone(observed, pieces, taus, table)


def refuse_verb(request: EstimateRequest, what: str) -> None:
    """Refuse verbs whose estimates are neither shares nor differences of two of them."""
    if request.verb not in ("amce", "mm", "amce_diffs", "mm_diffs"):
        raise InputError(f"{request.verb} takes no {what!r}; use amce, mm, amce_diffs or mm_diffs.")


def _correction_by_known_tau(plan: EstimationPlan, tau: float) -> tuple[Pieces, Taus]:
    if not 0 <= tau < 0.5:
        raise InputError(f"correct is {tau:g}; a swapping error lies between 0 and one half, 0.5 excluded.")
    k = plan.contrasts.shape[1]
    pieces = pieces_of(plan, np.zeros((1, len(plan.contrasts)), dtype=int), split=False)
    return pieces, Taus(np.array([tau]), np.zeros((1, 1)), np.zeros((k, 1)))


def _known_table(tau: float) -> pd.DataFrame:
    unknown = {"std_error": [0.0], "agreement": [(1 - tau) ** 2 + tau**2], "net_bias": [0.0]}
    return pd.DataFrame({"group": ["given"], "tau": [tau], **unknown, "n_compared": [0], "n_units": [0]})


def pieces_of(plan: EstimationPlan, number: np.ndarray, *, split: bool) -> Pieces:
    """A row is one piece, or one of each of its two groups where these have swapping errors of their own."""
    contrasts = np.nan_to_num(plan.contrasts)
    if not split:
        share = np.full(len(contrasts), float(plan.request.verb == "mm"))
        return Pieces(contrasts[None], share[None], number)
    groups = 1 + plan.keys[plan.request.by[0]].nunique()
    first = plan.slices[len(plan.blocks) // groups - 1].stop
    base, second = np.zeros_like(contrasts), contrasts.copy()
    base[:, :first], second[:, :first] = contrasts[:, :first], 0.0
    share = np.full(len(contrasts), float(plan.request.verb == "mm_diffs"))
    return Pieces(np.stack([base, second]), np.stack([-share, share]), number)


def undone(observed: Estimates, pieces: Pieces, taus: Taus, table: pd.DataFrame) -> SwapCorrectedEstimates:
    """Correct the rows of observed estimates by swapping errors, with the joint covariance."""
    fitted = observed.fitted
    assert fitted is not None
    plan, provenance = fitted.plan, observed.provenance
    tested = observed.frame["std_error"].notna().to_numpy()
    slopes = corrected_slopes(pieces, fitted.solution.coef, taus.value)
    estimate = np.where(observed.frame["estimate"].isna(), np.nan, slopes.estimate)
    scaled = infer(fitted, slopes.by_coef[tested])
    tested_slopes = replace(slopes, by_coef=slopes.by_coef[tested], by_tau=slopes.by_tau[tested])
    vcov = joint_vcov(scaled.vcov, tested_slopes, taus)
    std_error, df = np.full((2, len(tested)), np.nan)
    std_error[tested] = np.sqrt(np.clip(np.diag(vcov), 0, None))
    if scaled.df is not None:
        df[tested] = scaled.df
    reported_df = None if scaled.df is None else df
    frame = tidy(plan.keys, estimate, std_error, provenance.alpha, provenance.null, reported_df, plan.support)
    labels = row_labels(plan.keys[tested])
    value = (
        float(taus.value[0]) if len(taus.value) == 1 else dict(zip(table["group"], table["tau"], strict=True))
    )
    return SwapCorrectedEstimates(
        frame,
        pd.DataFrame(vcov, index=labels, columns=labels),
        replace(provenance, extra={**provenance.extra, "tau": value}),
        uncorrected=observed,
        tau=table,
    )
