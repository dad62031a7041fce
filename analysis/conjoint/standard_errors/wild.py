"""The wild cluster bootstrap of a fit, for designs with few clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...frames.variables import warn_caller
from ...numerics.bootstrap import TestMoments, draw_weights, limits, moments, signs
from ...numerics.intervals import Support, check_draws, cut
from ...numerics.linear import Regression
from ..engines.few_clusters import REMEDY_CR2
from ..engines.native import regress
from ..estimates import Estimates, FittedPlan
from ..estimation_plan import EstimationPlan

Weights = Literal["rademacher", "webb", "mammen"]
KINDS = ("rademacher", "webb", "mammen")
# Signs of fewer than 12 clusters have at most 2,048 patterns, those of fewer than 8 at most 128.
_FEW, _ENOUGH_SIGNS = 12, 8


@dataclass(frozen=True)
class WildEstimates(Estimates):
    """Estimates whose p values and intervals come from the wild cluster bootstrap."""

    # p is the share of draws at least as extreme (the observed statistic counts as one where draws are
    # random); limits are the outermost null values with p above alpha, infinite for signs of few clusters.

    # shape (draws, m): what each draw has in place of `z`; NaN for reference levels
    ratios: np.ndarray = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class Ratios:
    """t statistics of m contrasts, in which the same weights are drawn for all."""

    statistic: np.ndarray  # (m,): in the data
    ratios: np.ndarray  # (B, m): of the draws, in which the null hypothesis of each contrast holds
    observed: int  # 1 if the data count as one more draw, 0 if they are among the draws


def draw_ratios(
    plan: EstimationPlan, contrasts: np.ndarray, distance: np.ndarray, draws: int, seed: int | None
) -> Ratios:
    """Draw t statistics of contrasts (m, K) at distances (m,) from their null values; one cluster column."""
    system = _system(plan, next(iter(plan.cells.clusterings)))
    n_clusters = len(system.scores)
    kind = "rademacher" if n_clusters >= _ENOUGH_SIGNS else "webb"
    weights, enumerated = _weights(kind, draws, n_clusters, seed)
    contrast_moments = [
        system.moments(contrast, weights, restricted=True, enumerated=enumerated) for contrast in contrasts
    ]
    pairs = list(zip(contrast_moments, distance.tolist(), strict=True))
    statistic = np.array([moment.ratio(offset) for moment, offset in pairs])
    ratios = np.array([moment.ratios(offset) for moment, offset in pairs]).T
    return Ratios(statistic, ratios.reshape(-1, len(contrasts)), int(not enumerated))


@any_frame
def wild(
    fit: Estimates,
    *,
    draws: int = 9999,
    weights: Weights | None = None,
    seed: int | None = None,
    restricted: bool = True,
    cluster: str | None = None,
) -> WildEstimates:
    """Test and bound every estimate of a fit by the wild cluster bootstrap.

    Errors clustered on a dozen posts or raters are too small on average, and tests with them reject too
    often. Here each draw multiplies the residuals of every cluster by one random weight, under the null
    hypothesis of that estimate, and its t statistic is compared with the observed one.

    Parameters
    ----------
    fit : Estimates
        A result of `amce`, `mm`, `amce_diffs`, `mm_diffs`, `amce_by_reference` or `cj`, with family
        "gaussian" and at least one cluster column.
    draws : int
        Draws, B; (B + 1) times alpha should be whole.
    weights : {"rademacher", "webb", "mammen"}, optional
        Distribution of the weights: signs; Webb's six points; Mammen's two points. Without it Webb's with
        fewer than 12 clusters, else Rademacher's. Where signs have no more than ``draws``
        combinations, each is used once and nothing is random.
    seed : int, optional
        Same seed, same numbers.
    restricted : bool
        Whether the null hypothesis is imposed on the draws, which holds the level better.
    cluster : str, optional
        Which of the fit's cluster columns, if it has several.

    Returns
    -------
    WildEstimates
        The estimates with wild bootstrap intervals and p values.

    Raises
    ------
    InputError
        The fit has no regressions, no clusters or several, is logistic, or an option is out of range.

    References
    ----------
    Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2008). Bootstrap-based improvements for inference with
    clustered errors. Review of Economics and Statistics 90(3), 414-427. doi:10.1162/rest.90.3.414

    Roodman, D., Nielsen, M. O., MacKinnon, J. G. and Webb, M. D. (2019). Fast and wild: bootstrap inference
    in Stata using boottest. Stata Journal 19(1), 4-60. doi:10.1177/1536867X19830877

    MacKinnon, J. G. (2023). Fast cluster bootstrap methods for linear regression models. Econometrics and
    Statistics 26, 52-71. doi:10.1016/j.ecosta.2021.11.009

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"chosen": [0, 1, 0, 1, 1, 0, 1, 1] * 4, "tone": ["kind", "rude"] * 16,
    ...                      "text": [f"text_{i // 4}" for i in range(32)]})
    >>> made = wild(amce(data, "chosen ~ tone", id="text"), weights="rademacher")
    >>> made.frame["p"].round(4).tolist()
    [nan, 0.5156]
    >>> made.provenance.extra["draws"]
    256
    """
    fitted = _checked(fit, draws, weights, seed)
    plan = fitted.plan
    name = _cluster_of(plan, cluster)
    system = _system(plan, name)
    n_clusters = len(system.scores)
    if n_clusters < 2:
        raise InputError(f"Column {name!r} contains a single cluster with outcomes; name another cluster.")
    kind = weights or ("webb" if n_clusters < _FEW else "rademacher")
    multipliers, enumerated = _weights(kind, draws, n_clusters, seed)
    tested = fit.frame["std_error"].notna().to_numpy()
    contrast_moments = [
        system.moments(contrast, multipliers, restricted, enumerated) for contrast in plan.contrasts[tested]
    ]
    frame = _frame(fit, tested, contrast_moments, n_clusters, plan.support)
    how = {
        "cluster": name,
        "clusters": {name: n_clusters},
        "draws": 2**n_clusters if enumerated else draws,
        "enumerated": enumerated,
        "multipliers": kind,
        "restricted": restricted,
        "seed": seed,
    }
    made_by = replace(fit.provenance, id=name, n_clusters=n_clusters, vcov="CR1", interval="wild", extra=how)
    ratios = np.full((len(multipliers), len(frame)), np.nan)
    distance = frame["estimate"].to_numpy(float)[tested] - fit.provenance.null
    scale = np.sqrt((n_clusters - 1) / n_clusters)
    for column, moment, offset in zip(
        np.flatnonzero(tested), contrast_moments, distance.tolist(), strict=True
    ):
        ratios[:, column] = scale * moment.ratios(offset)
    notes = tuple(note for note in fit.notes if REMEDY_CR2 not in note)  # others advise what this is
    return WildEstimates(frame, None, made_by, fitted=fitted, ratios=ratios, notes=notes)


def _weights(kind: str, draws: int, clusters: int, seed: int | None) -> tuple[np.ndarray, bool]:
    """Weights of the clusters, shape (draws, G), and whether they are all that there are."""
    if kind == "rademacher" and 2**clusters <= draws:
        return signs(clusters), True
    return draw_weights(kind, draws, clusters, np.random.default_rng(seed)), False


@dataclass(frozen=True)
class _System:
    """All regressions of a plan, K coefficients, and what each of G clusters put into them."""

    bread: np.ndarray
    scores: np.ndarray
    blocks: Sequence[tuple[slice, np.ndarray, Any]]

    def moments(
        self, contrast: np.ndarray, weights: np.ndarray, restricted: bool, enumerated: bool
    ) -> TestMoments:
        direction = self.bread @ contrast
        pull = np.zeros_like(self.scores)
        touched = np.zeros(len(contrast), dtype=bool)
        for columns, design, counts in self.blocks:
            touched[columns] = (contrast[columns] != 0).any()
            if touched[columns].any():
                pull[:, columns] = counts @ (design * (design @ direction[columns])[:, None])
        scores, bread = self.scores[:, touched], self.bread[np.ix_(touched, touched)]
        return moments(direction[touched], scores, pull[:, touched], bread, weights, restricted, enumerated)


def _system(plan: EstimationPlan, name: str) -> _System:
    cells = plan.cells
    clusters = cells.clusterings[name]
    weight, total = cells.entries(clusters.code, clusters.n).matrices()
    has_weight = np.asarray(weight.sum(axis=1)).ravel() > 0
    weight, total = weight[has_weight], total[has_weight]
    weight.sum_duplicates()
    fits: list[Regression] = []
    scores, blocks = [], []
    for block, columns in zip(plan.blocks, plan.slices, strict=True):
        fit = regress(block, "gaussian", cells.cell_weight, cells.cell_total)
        fits.append(fit)
        scores.append(total @ block.design - weight @ (block.design * fit.fitted[:, None]))
        blocks.append((columns, block.design[block.inside], weight[:, block.inside]))
    return _System(block_diag(*[fit.bread for fit in fits]), np.hstack(scores), blocks)


def _frame(
    fit: Estimates,
    tested: np.ndarray,
    contrast_moments: Sequence[TestMoments],
    n_clusters: int,
    support: Support,
) -> pd.DataFrame:
    """The fit's rows with the bootstrap's numbers."""
    record = fit.provenance
    estimate = fit.frame["estimate"].to_numpy(dtype=float)
    numbers = np.full((5, len(tested)), np.nan)
    scale = n_clusters / (n_clusters - 1)
    rows = []
    for value, moment in zip(estimate[tested], contrast_moments, strict=True):
        error = np.sqrt(scale * moment.variance)
        below, above = limits(moment, record.alpha)
        rows.append(
            (
                error,
                (value - record.null) / error,
                moment.p(value - record.null),
                value - below,
                value + above,
            )
        )
    numbers[:, tested] = np.array(rows).reshape(-1, 5).T
    if np.isinf(numbers).any():
        warn_caller(
            f"Some intervals are unbounded: draws of {n_clusters} clusters reject no value at alpha "
            f"{record.alpha:g}; use more draws, weights='webb', or a larger alpha.",
        )
    numbers[3:] = cut(numbers[3], numbers[4], estimate, support)
    keys = fit.frame.drop(columns=["std_error", "df", "z", "p", "lower", "upper"], errors="ignore")
    return keys.assign(**dict(zip(("std_error", "z", "p", "lower", "upper"), numbers, strict=True)))


def regressions_of(fit: Estimates) -> FittedPlan | None:
    """The regressions that a result's rows are contrasts of, None where there are no such ones."""
    if fit.fitted is None:
        return None
    estimates = fit.frame["estimate"].to_numpy(dtype=float)
    product = fit.fitted.plan.contrasts @ fit.fitted.solution.coef
    if len(estimates) != len(product):
        return None
    return (
        fit.fitted
        if np.allclose(np.where(np.isnan(estimates), product, estimates), product, equal_nan=True)
        else None
    )


def _checked(fit: Estimates, draws: int, weights: str | None, seed: int | None) -> FittedPlan:
    fitted = regressions_of(fit) if isinstance(fit, Estimates) else None
    if fitted is None:
        raise InputError(_reason_unavailable(fit))
    if fitted.plan.request.strata:
        raise InputError("The wild bootstrap does not support strata; omit strata.")
    if fitted.plan.request.family != "gaussian":
        raise InputError("The wild bootstrap requires a linear model; omit family='quasibinomial'.")
    if weights is not None and weights not in KINDS:
        raise InputError(f"There are no weights {weights!r}; there are {', '.join(KINDS)}.")
    check_draws(draws, seed, 2, "give at least 2, and 999 or more for a test at 5 percent")
    return fitted


def _cluster_of(plan: EstimationPlan, cluster: str | None) -> str:
    names = list(plan.cells.clusterings)
    if plan.cells.is_aggregated:
        raise InputError("The wild bootstrap draws clusters, which need rows in memory; read the table.")
    if not names:
        raise InputError("The wild bootstrap draws clusters; fit with id='text' or another cluster column.")
    if cluster is None and len(names) > 1:
        raise InputError(f"The fit has several clusters, {', '.join(names)}; name one with cluster=.")
    if cluster is not None and cluster not in names:
        raise InputError(f"The fit has no cluster {cluster!r}; it has {', '.join(names)}.")
    return cluster or names[0]


def _reason_unavailable(fit: object) -> str:
    """Why a result cannot be drawn, and what to give instead."""
    needed = "The wild bootstrap needs the regressions behind a result"
    if isinstance(fit, Estimates) and hasattr(fit, "uncorrected"):
        return f"{needed}, and corrected estimates have none; give their 'uncorrected', or bootstrap them."
    if isinstance(fit, Estimates) and hasattr(fit, "replicates"):
        return f"{needed}, and a bootstrap keeps none; give a result of amce or mm itself."
    if isinstance(fit, Estimates) and fit.provenance.engine == "cregg":
        return f"{needed}, and cregg keeps none; fit with engine='native'."
    return f"{needed}; give a result of amce, mm, cj, amce_diffs or mm_diffs, as it was fitted."
