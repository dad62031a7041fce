"""Ratings by people against those by a model, item by item, with a regression line for each stratum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...numerics.bootstrap import FIXED_PEOPLE, few_clusters, intervals, without_spread
from ...numerics.types import Codes, Floats
from ...results import Result
from ...vocabulary import HUMAN
from ..items import names_of
from ..ratings import Judgments
from .scores import columns_of, item_scores, ordered, stratum_names

POINTS_OF_BAND = 25
FEWEST = 4


def rating_lines(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Regress the rating of each model on the mean rating by people, within strata.

    Parameters
    ----------
    judgments, items, by, dimensions, cluster, scale, alpha, draws, seed
        As in `means`.

    Returns
    -------
    Result
        ``dimension, judge, *by, estimate, std_error, lower, upper, p, intercept, n_items, n_clusters``, where
        estimates are slopes (1 and intercept 0: as people rate). ``extra["bands"]`` holds the lines with
        pointwise intervals over the range of the human means (``x``), ``extra["points"]`` the items
        (``item, human, model``).

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann"] * 4 + ["gpt"] * 4, "judge_kind": ["human"] * 4 + ["model"]
    ...     * 4, "item_id": list("abcd") * 2, "value": [0, 1, 2, 3, 2.0, 2.5, 3.0, 3.5]})
    >>> rating_lines(table, draws=20).frame[["estimate", "intercept"]].values.tolist()
    [[0.5, 2.0]]
    """
    by = names_of(by)
    scores = item_scores(
        judgments, items, by, dimensions=dimensions, cluster=cluster, scale=scale, drawn=(alpha, draws, seed)
    )
    weights = scores.weights(draws, seed)
    rows, slopes, bands, points = [], [], [], []
    for dimension in scores.dimensions:
        people = scores.of(dimension, HUMAN)
        for judge in scores.models:
            rated = np.isfinite(people) & np.isfinite(scores.of(dimension, judge))
            for level, inside in scores.cells(by):
                used = inside & rated
                x, y = people[used], scores.of(dimension, judge)[used]
                if not used.any():
                    continue
                keys = {"dimension": dimension, "judge": judge, **stratum_names(by, level)}
                names = [scores.items[k] for k in np.flatnonzero(used)]
                points.append(pd.DataFrame({**keys, "item": names, "human": x, "model": y}))
                if used.sum() < FEWEST or np.ptp(x) == 0:
                    continue
                slope, intercept = fitted(x, y, scores.cluster[used], weights)
                at = np.linspace(x.min(), x.max(), POINTS_OF_BAND)
                n_clusters = scores.clusters_in(used)
                found = intervals(intercept[:, None] + slope[:, None] * at, alpha, clusters=n_clusters)
                bands.append(pd.DataFrame({**keys, "x": at, **columns_of(found)}))
                slopes.append(slope)
                counts = {"n_items": int(used.sum()), "n_clusters": n_clusters}
                rows.append({**keys, "intercept": float(intercept[0]), **counts})
    if not slopes:
        raise InputError(
            f"judgments: nowhere are {FEWEST} items rated by people, not all alike, and by a model, as a "
            "line needs; collect more."
        )
    keys_of = ["dimension", "judge", *by]
    counts_of = ["intercept", "n_items", "n_clusters"]
    table = pd.DataFrame(rows, columns=[*keys_of, *counts_of])
    rest_on = table["n_clusters"].to_numpy(dtype=np.int64)
    found = intervals(np.stack(slopes, axis=1), alpha, clusters=rest_on)
    frame = table[keys_of].assign(**columns_of(found), p=found.p, **{c: table[c] for c in counts_of})
    extra = {
        "points": ordered(pd.concat(points, ignore_index=True), keys_of),
        "bands": ordered(pd.concat(bands, ignore_index=True), keys_of),
    }
    settings: dict[str, object] = {
        "by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed,
    }  # fmt: skip
    settings["categories"] = [float(value) for value in scores.ratings[0].categories]
    notes = (FIXED_PEOPLE, *scores.notes, *few_clusters(rest_on, draws), *without_spread(found.alike))
    return Result(ordered(frame, keys_of), "rating_lines", notes, settings, extra)


def fitted(x: Floats, y: Floats, cluster: Codes, weights: Floats) -> tuple[Floats, Floats]:
    """Least-squares slopes and intercepts of y on x, (n,), for each weighting of clusters, (B,)."""
    w = weights[:, cluster]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = w.sum(axis=1)
        mean_x, mean_y = w @ x / total, w @ y / total
        spread = w @ x**2 / total - mean_x**2
        slope = (w @ (x * y) / total - mean_x * mean_y) / np.where(spread > 1e-12, spread, np.nan)
    return slope, mean_y - slope * mean_x
