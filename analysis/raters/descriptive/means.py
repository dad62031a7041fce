"""Means and standard deviations of ratings within strata of items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...numerics.bootstrap import FIXED_PEOPLE, few_clusters, intervals, without_spread
from ...numerics.intervals import UNBOUNDED
from ...numerics.types import Codes, Floats
from ...results import Result
from ..items import names_of
from ..ratings import Judgments
from .scores import Scores, columns_of, item_scores, ordered, stratum_names

SD_OF = "Standard deviations are those of item means (people averaged first), not of single ratings."


def means(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    overall: bool = False,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Average ratings within strata of items, for people together and for each model.

    Ratings of an item are averaged over the samples of a judge, then over judges: who rated an item twice
    counts once. Means and standard deviations are those of the item means. Intervals resample clusters of
    items with replacement.

    Parameters
    ----------
    judgments : DataFrame, Ratings or sequence of Ratings
        ``judge_id, judge_kind, item_id, value`` and, where there are several, ``dimension``; or the same
        already coded by :func:`conjury.analysis.raters.read_dimensions`.
    items : DataFrame, optional
        ``item_id``, the columns of ``by`` and ``cluster``.
    by : str or sequence of str
        Columns whose combinations of levels are the strata, as in ``("modality", "generator")``; by default
        all items together.
    dimensions : str or sequence of str, optional
        Which, in this order.
    cluster : str, optional
        Column that says which items belong together, such as ``"topic_id"``; by default every item is its
        own cluster.
    scale : sequence of float, optional
        Ratings that are allowed.
    overall : bool
        Whether to add rows of all items together.
    alpha, draws, seed
        One minus the confidence level, bootstrap draws (0 for none: no standard errors and intervals), seed
        of the generator.

    Returns
    -------
    Result
        ``dimension, group, *by, estimate, std_error, lower, upper, sd, sd_lower, sd_upper, n_items,
        n_clusters, n_ratings``.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"] * 2, "judge_kind": ["human", "human", "model"]
    ...     * 2, "item_id": list("aaabbb"), "value": [1, 2, 3, 3, 4, 4]})
    >>> means(table, draws=20).frame[["group", "estimate"]].values.tolist()
    [['human', 2.5], ['gpt', 3.5]]
    """
    by = names_of(by)
    scores = item_scores(
        judgments,
        items,
        by,
        dimensions=dimensions,
        cluster=cluster,
        scale=scale,
        people=False,
        drawn=(alpha, draws, seed),
    )
    strata = scores.overall_and_cells(by) if overall else list(scores.cells(by))
    rows, sums = [], []
    for d, dimension in enumerate(scores.dimensions):
        for g, group in enumerate(scores.groups):
            for level, inside in strata:
                used = inside & np.isfinite(scores.mean[d, g])
                if not used.any():
                    continue
                sums.append(cluster_sums(scores.mean[d, g, used], scores.cluster[used], scores.n_clusters))
                rows.append(
                    {"dimension": dimension, "group": group, **stratum_names(by, level)}
                    | {
                        "n_items": int(used.sum()),
                        "n_clusters": scores.clusters_in(used),
                        "n_ratings": int(scores.n_ratings[d, g, used].sum()),
                    }
                )
    mean, sd = moments(np.stack(sums), scores.weights(draws, seed))
    counts = pd.DataFrame(rows)
    n_clusters = counts["n_clusters"].to_numpy(dtype=np.int64)
    bounds = intervals(mean, alpha, clusters=n_clusters, support=_ends(scores, scale))
    spread = intervals(sd, alpha, clusters=n_clusters, support=(0.0, np.inf))
    keys = ["dimension", "group", *by]
    of_sd = {"sd": spread.estimate, "sd_lower": spread.lower, "sd_upper": spread.upper}
    frame = pd.concat(
        [counts[keys], pd.DataFrame(columns_of(bounds) | of_sd), counts.drop(columns=keys)], axis=1
    )
    settings = {"by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed}
    notes = (SD_OF, FIXED_PEOPLE, *scores.notes, *few_clusters(n_clusters, draws))
    return Result(ordered(frame, keys), "means", (*notes, *without_spread(bounds.alike)), settings)


def _ends(scores: Scores, scale: Sequence[float] | None) -> tuple[float, float]:
    """Least and largest possible mean: the ends of the scale, where one is stated for all dimensions."""
    stated = {one.scale for one in scores.ratings}
    known = scale if scale is not None and len(scale) else stated.pop() if len(stated) == 1 else None
    return UNBOUNDED if known is None else (float(min(known)), float(max(known)))


def cluster_sums(values: Floats, cluster: Codes, n_clusters: int) -> Floats:
    """Count, sum and sum of squares of n values by cluster, shape (3, C)."""
    powers = (np.ones_like(values), values, values**2)
    return np.stack([np.bincount(cluster, weights=power, minlength=n_clusters) for power in powers])


def moments(sums: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations (n - 1) of m sets of items for each weighting of the clusters."""
    n, total, squares = (weights @ sums[:, k].T for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        sd = np.sqrt(np.maximum(squares - n * mean**2, 0) / (n - 1))
    return mean, np.where(n > 1, sd, np.nan)
