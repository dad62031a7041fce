"""Shares and means of decisions with clustered intervals, as parts of the rows of results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..conjoint.reliability.agreeing_repeats import clustered_share
from ..numerics.bootstrap import clustered_errors
from ..numerics.intervals import SAME, UNBOUNDED, Support, inference
from ..numerics.types import Floats


def share_of(hits: pd.Series, clusters: pd.Series, alpha: float) -> dict[str, Any]:
    """A share with Wilson's limits at the effective number of trials; missing values are excluded."""
    has_answer = hits.notna().to_numpy()
    cluster = pd.factorize(clusters.to_numpy()[has_answer])[0]
    counts = np.bincount(cluster)
    share = clustered_share(np.bincount(cluster, hits.to_numpy(dtype=float)[has_answer]), counts, alpha)
    return {
        "estimate": share.estimate,
        "std_error": share.std_error,
        "lower": share.lower,
        "upper": share.upper,
        "n": int(has_answer.sum()),
        "n_clusters": len(counts),
    }


def mean_of(
    values: Floats, clusters: pd.Series, alpha: float, support: Support = UNBOUNDED
) -> dict[str, Any]:
    """A mean with limits from cluster sums."""
    return estimate_with_limits(float(values.mean()), values - values.mean(), clusters, alpha, support)


def estimate_with_limits(
    estimate: float,
    influence: Floats,
    clusters: pd.Series,
    alpha: float,
    support: Support = UNBOUNDED,
    parameters: int = 1,
) -> dict[str, Any]:
    """An estimate with limits from the influence of n rows on it, which is averaged."""
    # Degrees of freedom are G-1, and at most n less the number of parameters of the fit.
    error, n_clusters = clustered_errors(influence[:, None], pd.factorize(clusters)[0])
    scale = np.nanmax(np.abs(influence), initial=abs(estimate))  # of what rounding is small against
    std_error = np.where(error > SAME * scale, error, np.nan)
    df = np.array([max(min(n_clusters - 1, int(np.isfinite(influence).sum()) - parameters), 1)])
    interval = inference(np.array([estimate]), std_error, alpha, df=df, support=support)
    return {
        "estimate": estimate,
        "std_error": float(std_error[0]),
        "p": float(interval.p[0]),
        "lower": float(interval.lower[0]),
        "upper": float(interval.upper[0]),
        "n": len(influence),
        "n_clusters": n_clusters,
    }
