"""The mean rating by people over all judged rows, where labels depend on the rating of the judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....numerics.intervals import inference
from ....numerics.intervals.bounded import BoundedEstimate, bounded, n_clusters
from ....numerics.types import Floats
from ..coding import CodedRows
from .answer_strata import Strata


def stratified_mean(coded: CodedRows, people: Floats, strata: Strata, alpha: float) -> BoundedEstimate:
    """Means by people in each stratum, moved along one slope on the judge, weighted by the judged rows."""
    # `people`, (n,), is NaN without a rating. The variance has a factor m / (m - 1) for m labelled rows of a
    # stratum; the degrees of freedom are Satterthwaite's, at most the labelled clusters less the strata.
    judge, is_judged = coded.judged[0], strata.code >= 0
    code, labelled = strata.code, is_judged & np.isfinite(people)
    share = strata.judged / strata.judged.sum()
    number = len(share)

    def means(values: Floats, rows: np.ndarray) -> Floats:
        total = np.bincount(code[rows], values[rows], minlength=number)
        return np.asarray(total / np.bincount(code[rows], minlength=number))

    y, x, full_x = means(people, labelled), means(judge, labelled), means(judge, is_judged)
    residuals = judge[labelled] - x[code[labelled]], people[labelled] - y[code[labelled]]
    many = strata.labelled
    weight = (share**2 / many**2 * many / np.maximum(many - 1, 1))[code[labelled]]
    spread = float((weight * residuals[0] ** 2).sum())
    slope = float((weight * residuals[0] * residuals[1]).sum()) / spread if spread > 0 else 0.0
    estimate = float(share @ (y + slope * (full_x - x)))
    influence = np.zeros(coded.n)
    influence[is_judged] = (
        y[code[is_judged]] + slope * (judge[is_judged] - x[code[is_judged]]) - estimate
    ) / is_judged.sum()
    influence[labelled] += np.sqrt(weight) * (residuals[1] - slope * residuals[0])
    result = bounded(estimate, influence[is_judged] * is_judged.sum(), coded.cluster[is_judged])
    parts = np.bincount(code[labelled], weight * (residuals[1] - slope * residuals[0]) ** 2, minlength=number)
    satterthwaite = parts.sum() ** 2 / max((parts**2 / np.maximum(many - 1, 1)).sum(), np.finfo(float).tiny)
    df = max(min(n_clusters(coded.cluster[labelled]) - number, satterthwaite), 1.0)
    limits = inference(np.array([estimate]), np.array([result.std_error]), alpha, df=np.array([df]))
    return replace(result, lower=float(limits.lower[0]), upper=float(limits.upper[0]), df=df)
