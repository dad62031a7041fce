"""Limits of shares that stay between none and all, and p values by shuffling labels within topics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ...numerics.cluster_draws import (
    FIXED_PEOPLE,
    Interval,
    draw_clusters,
    few_clusters,
    intervals,
    without_spread,
)
from ...numerics.intervals import UNBOUNDED, check_alpha, check_draws
from ...numerics.types import Codes, Floats
from ...results import Result
from ..items import names_of
from ..ratings import HUMAN
from .scores import item_scores, ordered, stratum_names

SHUFFLES = 19_999
MOST_ORDERS = 120
CLOSE = 1e-9  # sums of scores that differ by less are equal


def share_limits(share: Floats, error: Floats, n_topics: int, alpha: float) -> tuple[Floats, Floats]:
    """Wilson limits of shares with given standard errors, all of shape (m,)."""
    # The number of trials is the one at which a binomial share would have that error; at a share of 0 or 1,
    # where the error is zero, it is the number of topics.
    z2 = float(ndtri(1 - alpha / 2)) ** 2
    varied = error > CLOSE
    n = np.where(varied, share * (1 - share) / np.where(varied, error, 1.0) ** 2, float(n_topics))
    n = np.maximum(n, 1.0)
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * share * (1 - share) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    known = np.isfinite(error) & (n_topics > 1)
    lower, upper = np.clip(middle - half, 0, share), np.clip(middle + half, share, 1)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def shuffled_p(scores: Floats, seed: int) -> Floats:
    """Two-sided p values of sums over topics when each topic's labels are shuffled by themselves."""
    rng = np.random.default_rng(seed)
    n_orders, m, n_topics = scores.shape
    sums = np.zeros((SHUFFLES, m))
    for topic in range(n_topics):
        sums += scores[rng.integers(n_orders, size=SHUFFLES), :, topic]
    real = scores[0].sum(axis=1)
    tails = np.stack([(sums >= real - CLOSE).sum(axis=0), (sums <= real + CLOSE).sum(axis=0)])
    p: Floats = 2 * (tails.min(axis=0) + 1) / (SHUFFLES + 1)
    return np.minimum(p, 1.0)


def orders_of(n: int, seed: int) -> list[list[int]]:
    """Orders of n labels, as they are first: all where these are up to 120, else 120 of them by chance."""
    if factorial(n) <= MOST_ORDERS:
        return [list(order) for order in permutations(range(n))]
    rng = np.random.default_rng(seed)
    return [list(range(n)), *(rng.permutation(n).tolist() for _ in range(MOST_ORDERS - 1))]


SD_OF = "Standard deviations are those of item means (people averaged first), not of single ratings."


def means(
    judgments: pd.DataFrame,
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
    judgments : DataFrame
        ``judge_id, judge_kind, item_id, value`` and, where there are several, ``dimension``.
    items : DataFrame, optional
        ``item_id``, the columns of ``by`` and ``cluster``.
    by : str or sequence of str
        Columns whose combinations of levels are the strata, as in ``("modality", "generator")``; by default
        all items together.
    dimensions : str or sequence of str, optional
        Which, in this order.
    cluster : str, optional
        Column that says which items belong together, such as ``"topic_id"``; by default items stand alone.
    scale : sequence of float, optional
        Ratings that are allowed.
    overall : bool
        Whether to add rows of all items together.
    alpha, draws, seed
        One minus the confidence level, bootstrap draws (0 for none: no errors and intervals), seed of the
        generator.

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
    check_alpha(alpha)
    check_draws(draws, seed)
    by = names_of(by)
    made = item_scores(
        judgments, items, columns=by, dimensions=dimensions, cluster=cluster, scale=scale, people=False
    )
    weights = draw_clusters(made.n_clusters, draws, seed)
    strata = list(made.cells(by))
    if overall and by:
        strata.insert(0, ((), np.ones(len(made.items), dtype=bool)))
    rows, sums = [], []
    for d, dimension in enumerate(made.dimensions):
        for g, group in enumerate(made.groups):
            for level, inside in strata:
                used = inside & np.isfinite(made.mean[d, g])
                if not used.any():
                    continue
                values, cluster_of = made.mean[d, g, used], made.cluster[used]
                sums.append(cluster_sums(values, cluster_of, made.n_clusters))
                rows.append(
                    {"dimension": dimension, "group": group, **stratum_names(by, level)}
                    | {
                        "n_items": int(used.sum()),
                        "n_clusters": len(np.unique(cluster_of)),
                        "n_ratings": int(made.n_ratings[d, g, used].sum()),
                    }
                )
    mean, sd = moments(np.stack(sums), weights)
    counts = pd.DataFrame(rows)
    n_clusters = counts["n_clusters"].to_numpy(dtype=np.int64)
    ends = (float(min(scale)), float(max(scale))) if scale is not None and len(scale) else UNBOUNDED
    bounds = intervals(mean, alpha, clusters=n_clusters, support=ends)
    spread = intervals(sd, alpha, clusters=n_clusters, support=(0.0, np.inf))
    keys = ["dimension", "group", *by]
    numbers = {
        **columns_of(bounds),
        "sd": spread.estimate,
        "sd_lower": spread.lower,
        "sd_upper": spread.upper,
    }
    frame = pd.concat([counts[keys], pd.DataFrame(numbers), counts.drop(columns=keys)], axis=1)
    settings = {"by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed}
    notes = (
        SD_OF, FIXED_PEOPLE, *made.notes, *few_clusters(n_clusters, draws), *without_spread(bounds.alike),
    )  # fmt: skip
    return Result(ordered(frame, keys), "means", notes, settings)


def distributions(
    judgments: pd.DataFrame,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
) -> Result:
    """Count single ratings by value, repeated ones included, for people together and for each model.

    Returns
    -------
    Result
        ``dimension, group, *by, value, estimate`` (share of the ratings of that group), ``n_ratings``;
        every value of the scale has a row.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"], "judge_kind": ["human", "human", "model"],
    ...     "item_id": "a", "value": [1, 2, 2]})
    >>> distributions(table).frame[["group", "value", "estimate"]].values.tolist()
    [['human', 1.0, 0.5], ['human', 2.0, 0.5], ['gpt', 1.0, 0.0], ['gpt', 2.0, 1.0]]
    """
    by = names_of(by)
    made = item_scores(judgments, items, columns=by, dimensions=dimensions, scale=scale, people=False)
    rows = []
    for dimension, ratings in zip(made.dimensions, made.ratings, strict=True):
        item = np.array([made.row[name] for name in ratings.items])[ratings.item]
        group = np.array(ratings.groups)[ratings.judge]
        for name in made.groups:
            of_group = ratings.is_human if name == HUMAN else group == name
            for level, inside in made.cells(by):
                here = of_group & inside[item]
                counts = np.bincount(ratings.category[here], minlength=len(ratings.categories))
                if counts.sum():
                    rows += [
                        {"dimension": dimension, "group": name, **stratum_names(by, level), "value": value,
                         "estimate": n / counts.sum(), "n_ratings": int(n)}
                        for value, n in zip(ratings.categories, counts, strict=True)
                    ]  # fmt: skip
    frame = ordered(pd.DataFrame(rows), ["dimension", "group", *by])
    return Result(frame, "distributions", made.notes, {"by": by})


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


def columns_of(bounds: Interval) -> dict[str, Floats]:
    """Estimate, error and interval as columns."""
    return {
        "estimate": bounds.estimate,
        "std_error": bounds.std_error,
        "lower": bounds.lower,
        "upper": bounds.upper,
    }
