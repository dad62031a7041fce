"""Intervals of metrics: items, or clusters of them, drawn again with replacement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.columns import as_text
from conjury.inference.tables import require_columns

from ..raters.descriptive.resample import draw_clusters
from ..results import check_alpha, check_draws, vary
from .metrics import Codes, Floats
from .units import BASE, filled_text

ITEM = "item_id"
BOOTSTRAP, WILSON, NONE = "bootstrap", "wilson", "none"


@dataclass(frozen=True)
class Plan:
    """How intervals are made: B draws of the values of a column, percentiles at ``alpha`` / 2 and beyond."""

    draws: int = 2_000
    seed: int = 1
    alpha: float = 0.05
    cluster: str = ITEM

    def __post_init__(self) -> None:
        check_draws(self.draws, self.seed)
        check_alpha(self.alpha)

    def weights(self, n_clusters: int) -> Floats:
        """How often each of C clusters is drawn, shape (1 + B, C), the sample itself first.

        The same clusters get the same weights for every judge, so that differences of judges are paired.
        """
        return _weights(n_clusters, self.draws, self.seed)


@dataclass(frozen=True)
class Bounds:
    """Interval of one statistic, and where it comes from: "bootstrap", "wilson" or "none"."""

    estimate: float
    std_error: float
    lower: float
    upper: float
    interval: str


@lru_cache(maxsize=4)
def _weights(n_clusters: int, draws: int, seed: int) -> Floats:
    drawn = draw_clusters(n_clusters, draws, seed)
    drawn.flags.writeable = False
    return drawn


def cluster_codes(frame: pd.DataFrame, cluster: str) -> tuple[Codes, int]:
    """Cluster of each row, shape (n,), numbered in the order of their names, and how many there are.

    Copies of an item are clustered with the item that they come from.

    Examples
    --------
    >>> frame = pd.DataFrame({"item_id": ["j1", "j1x", "j2"], "base_item_id": ["j1", "j1", None]})
    >>> cluster_codes(frame, "item_id")
    (array([0, 0, 1]), 2)
    """
    require_columns(frame, [cluster], "scored judgments")
    names = frame[cluster]
    if cluster == ITEM and BASE in frame:
        own = filled_text(frame[BASE])
        names = own.fillna(as_text(names))
    if not isinstance(names.dtype, pd.CategoricalDtype):
        names = as_text(names)
    codes, found = pd.factorize(names, sort=True, use_na_sentinel=False)
    return codes.astype(np.int64), len(found)


def n_distinct(codes: Codes) -> int:
    """How many codes occur."""
    return int(np.count_nonzero(np.bincount(codes)))


def cluster_sums(parts: Floats, cluster: Codes, n_clusters: int) -> Floats:
    """Sums of parts, shape (n, m), by cluster, shape (C, m)."""
    order = np.argsort(cluster, kind="stable")
    sums = np.zeros((n_clusters, parts.shape[1]))
    if len(order):
        present, start = np.unique(cluster[order], return_index=True)
        sums[present] = np.add.reduceat(parts[order], start, axis=0)
    return sums


def bounds_of(drawn: Floats, alpha: float, *, share: bool, n_clusters: int) -> Bounds:
    """Bound a statistic of which ``drawn``, shape (1 + B,), holds the estimate and then the draws.

    The interval is that between percentiles of the draws. A share of 0 or 1 is the same in every draw: its
    interval is Wilson's, with the clusters as the number of trials, since units of a cluster may be all
    alike. Other statistics whose draws do not differ have none, nor has one on a single cluster. What rests
    on no cluster has no value.

    Parameters
    ----------
    drawn : ndarray, shape (1 + B,)
    alpha : float
    share : bool
        Whether it is a share of units.
    n_clusters : int
        Clusters that it rests on.

    Returns
    -------
    Bounds
    """
    estimate, draws = float(drawn[0]), drawn[1:][np.isfinite(drawn[1:])]
    if n_clusters < 1:
        return Bounds(np.nan, np.nan, np.nan, np.nan, NONE)
    if not np.isfinite(estimate) or len(drawn) == 1:
        return Bounds(estimate, np.nan, np.nan, np.nan, NONE)
    if share and min(estimate, 1 - estimate) < 1e-12:
        return Bounds(estimate, np.nan, *wilson(estimate, n_clusters, alpha), WILSON)
    if n_clusters < 2 or len(draws) < 2 or 2 * len(draws) < len(drawn) - 1 or not vary(draws):
        return Bounds(estimate, np.nan, np.nan, np.nan, NONE)
    ranks = np.array([alpha / 2, 1 - alpha / 2]) * (len(draws) - 1)
    lower, upper = np.interp(ranks, np.arange(len(draws)), np.sort(draws))
    return Bounds(estimate, float(draws.std(ddof=1)), float(lower), float(upper), BOOTSTRAP)


def wilson(share: float, n: int, alpha: float) -> tuple[float, float]:
    """Wilson's score interval of a share in n trials.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. *Journal of
    the American Statistical Association*, 22, 209-212. https://doi.org/10.1080/01621459.1927.10502953

    Examples
    --------
    >>> [round(limit, 3) for limit in wilson(0.0, 20, 0.05)]
    [0.0, 0.161]
    """
    squared = float(ndtri(1 - alpha / 2)) ** 2 / n
    middle = (share + squared / 2) / (1 + squared)
    half = np.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
