"""Several judges of the same answers: how alike they err, and what all of them add to the best one.

With judges whose errors have the correlations R, the mean of J has the error variance of J^2 / sum(R)
independent judges: their effective number. An error is a score minus what its judge gives on average to
answers with that label (isotonic regression on the labels of other folds): judges who err independently
about equally good answers have uncorrelated errors, however noisy they are. People's own noise is in the
errors of all judges, so that correlations are rather too high, and the effective number rather too low.

References
----------
Clemen, R. T., Winkler, R. L. (1985). Limits for the precision and value of information from dependent
sources. Operations Research 33(2), 427-442. doi:10.1287/opre.33.2.427
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...correction.debias import assign_folds
from ...correction.monotone_calibration import cross_fit
from ...numerics.intervals import SAME
from ...numerics.intervals.bounded import BoundedEstimate, Flags, n_clusters
from ...numerics.rating_panel import RowClusters
from ...numerics.types import Codes, Floats
from ..validation.validation_rows import JUDGES, TestRows
from .borrowed_levels import GROUPS, jackknife
from .system_estimates import CalibratedRows, correct_contrast

FEWEST_PROMPTS = 10  # labelled, below which correlations of errors say nothing
MOST_CONTRASTS = 15  # over which the gain is averaged


@dataclass(frozen=True)
class JudgeErrors:
    """Errors of J judges on n labelled answers that all of them scored."""

    error: Floats  # (J, n)
    weight: Floats  # (n,)
    prompt: Codes  # (n,)

    @classmethod
    def of(cls, data: CalibratedRows) -> JudgeErrors:
        """Scores minus what each judge gives to answers with the same label."""
        rows, labelled = data.rows, data.rows.labelled
        scored = rows.answered[:, labelled].all(axis=0)
        label, weight = (values[labelled][scored] for values in (rows.label, rows.label_weight))
        fold = data.fold[scored]
        scores = rows.score[:, labelled][:, scored]
        if len(np.unique(fold)) < 2:
            return cls(scores, weight, rows.prompt[labelled][scored])
        errors = [score - cross_fit(label, score, weight, label[:1], fold).labelled for score in scores]
        return cls(np.stack(errors), weight, rows.prompt[labelled][scored])

    def moments(self, inside: Flags) -> Floats:
        """Weighted covariances of errors, (J, J)."""
        return np.atleast_2d(np.cov(self.error[:, inside], aweights=self.weight[inside]))

    def correlations(self, inside: Flags) -> Floats:
        """Correlations of errors, (J, J); NaN for a judge without errors."""
        moments = self.moments(inside)
        spread = np.sqrt(np.diag(moments))
        spread = np.where(spread > SAME, spread, np.nan)
        return np.asarray(moments / np.outer(spread, spread))


def effective_judges(correlations: Floats) -> float:
    """The number of independent judges whose mean would err as much as that of all of them."""
    total = float(correlations.sum())
    return len(correlations) ** 2 / total if total > SAME else np.nan


def add_judges(
    table: TestRows, data: CalibratedRows, contrasts: Sequence[Floats], seed: int, **keys: str
) -> pd.DataFrame:
    """Add what several judges have in common, and what they add; a row per judge."""
    names, errors = data.rows.judges, JudgeErrors.of(data)
    prompts = n_clusters(errors.prompt) if errors.error.size else 0
    if prompts < FEWEST_PROMPTS:
        return pd.DataFrame()
    clusters = RowClusters.numbered(errors.prompt)
    group = assign_folds(clusters.n, min(GROUPS, clusters.n), seed)[clusters.code]
    bound = _Bounds(errors, group, table.alpha)
    everything = np.ones(len(group), dtype=bool)
    correlations = errors.correlations(everything)
    # Judges who err in opposite directions are worth more than as many independent ones.
    most = float(len(names)) if not effective_judges(correlations) > len(names) else np.inf
    effective = bound.of(lambda inside: effective_judges(errors.correlations(inside)), 1.0, most)
    table.add(JUDGES, "effective_judges", effective, p=np.nan, **keys)
    for j, k in combinations(range(len(names)), 2):
        result = bound.of(lambda inside, j=j, k=k: float(errors.correlations(inside)[j, k]), -1.0, 1.0)
        table.add(JUDGES, "error_correlation", result, label=f"{names[j]}, {names[k]}", p=np.nan, **keys)
    gains = np.array([list(_gains(data, contrast, table.alpha)) for contrast in contrasts[:MOST_CONTRASTS]])
    together, *alone = np.nanmean(gains, axis=0) if len(gains) else np.full(len(names) + 1, np.nan)
    best = int(np.nanargmax(alone)) if np.isfinite(alone).any() else -1
    if best >= 0 and np.isfinite(together):
        n = len(errors.prompt)
        table.number(JUDGES, "gain_over_best", together / alone[best], n, p=np.nan, **keys)
    with_others = (correlations.sum(axis=1) - 1) / (len(names) - 1)
    rows = [
        {
            "judge": name,
            "error_sd": float(np.sqrt(moment)),
            "error_correlation": float(shared),
            "gain_alone": float(gain),
            "best": place == best,
        }
        for place, (name, moment, shared, gain) in enumerate(
            zip(names, np.diag(errors.moments(everything)), with_others, alone, strict=True)
        )
    ]
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Bounds:
    """Jackknife intervals of statistics of the errors."""

    errors: JudgeErrors
    group: Codes
    alpha: float

    def of(self, statistic: Any, least: float, most: float) -> BoundedEstimate:
        """A statistic of flagged rows, cut at its possible values."""
        n = n_clusters(self.errors.prompt)
        result = jackknife(statistic, self.group, self.errors.prompt, n, self.alpha)
        return replace(result, lower=max(result.lower, least), upper=min(result.upper, most))


def _gains(data: CalibratedRows, contrast: Floats, alpha: float) -> Iterator[float]:
    """Variance of people alone over that by all judges, and by each of them alone."""
    everywhere = np.ones(len(data.rows.system), dtype=bool)
    yield correct_contrast(data, contrast, everywhere, alpha).gain
    for place in range(len(data.rows.judges)):
        yield correct_contrast(data.of_judge(place), contrast, everywhere, alpha).gain
