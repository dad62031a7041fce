"""Gaps of mean ratings between groups of items: high minus low, text minus image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note
from ...frames.passport import Situation, coverage_notes, situation_of_ratings
from ...frames.vocabulary import HUMAN
from ...numerics.bootstrap import FIXED_PEOPLE
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments
from .group_gaps import GapsBetweenGroups, GroupStatistic, check_levels
from .mean_ratings import item_scores, levels_of, stratum_names
from .means import power_sums, weighted_means_and_sds

if TYPE_CHECKING:
    from ..rated_study import RatedStudy


@any_frame
def rating_gaps(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    between: str,
    by: str | Sequence[str] = (),
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    adjust: str = "holm",
    alpha: float = 0.05,
    draws: int = 1_000,
    seed: int = 1,
) -> Result:
    """Test how far mean ratings of groups of items lie apart: high minus low, text minus image.

    The estimand is the mean, over the items of one level, of item means (people averaged first), minus that
    of another level. Both are drawn together by clusters: where topics have items of both levels, the gap is
    paired within topics.

    Parameters
    ----------
    judgments, items
        As in `means`.
    between : str
        Column of items whose levels are compared, every two of them, in display order.
    by : str or sequence of str
        Columns to compare within; all items together are compared, too.
    dimensions, cluster, scale
        As in `means`.
    adjust : {"holm", "bh", "none"}
        Adjustment of p values over all gaps of one dimension.
    alpha, draws, seed
        As in `means`.

    Returns
    -------
    Result
        Kind "gaps": ``dimension, judge, *by, left, right, estimate`` (left minus right), ``std_error, lower,
        upper, p, p_adjusted, left_estimate, right_estimate, n_left, n_right, n_shared`` (clusters of either
        level and of both). Limits combine those of both means with their correlation over the draws
        (Zou 2007); ``p`` is that of the limit towards 0.

    Raises
    ------
    InputError
        Where no group of raters rated items of two levels, and for an adjustment that there is not.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "gpt", "judge_kind": "model", "item_id": list("abcd"),
    ...     "value": [4, 1, 3, 1], "topic_id": list("ttuu"), "tier": ["high", "low"] * 2})
    >>> found = rating_gaps(table, between="tier", cluster="topic_id", draws=20).frame
    >>> found[["left", "right", "estimate", "n_shared"]].values.tolist()
    [['high', 'low', 2.5, 2]]
    """
    by = [name for name in names_of(by) if name != between]
    scores = item_scores(
        judgments,
        items,
        [between, *by],
        dimensions=dimensions,
        cluster=cluster,
        scale=scale,
        people=False,
        resampling=(alpha, draws, seed),
    )
    weights = scores.weights(draws, seed)
    names = levels_of(scores.strata[between])
    check_levels(between, len(names))
    levels = [(level, scores.at(between, level)) for level in names]
    gaps, quantities = GapsBetweenGroups([], []), list[tuple[str, str, Situation]]()
    for d, dimension in enumerate(scores.dimensions):
        for g, group in enumerate(scores.groups):
            for place, inside in scores.overall_and_cells(by):
                groups, has_mean = [], inside & np.isfinite(scores.mean[d, g])
                if has_mean.any():
                    situation = situation_of_ratings(scores.mean[d, g, has_mean], scores.cluster[has_mean])
                    of_judge = Note.of("gap of {judge}", judge=group)
                    named = HUMAN if group == HUMAN else "a"
                    quantities.append((f"gap of means of {named}", of_judge, situation))
                for level, here in levels:
                    mask = has_mean & here
                    if mask.any():
                        cluster_of = scores.cluster[mask]
                        sums = power_sums(scores.mean[d, g, mask], cluster_of, scores.n_clusters)
                        values, _ = weighted_means_and_sds(sums[None], weights)
                        groups.append(GroupStatistic(level, values[:, 0], np.unique(cluster_of)))
                gaps.add({"dimension": dimension, "judge": group, **stratum_names(by, place)}, groups)
    settings = {
        "between": between, "by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed,
    }  # fmt: skip
    notes = coverage_notes("gaps of ratings", quantities, alpha) if draws else ()
    return gaps.result(["dimension"], adjust, settings, [FIXED_PEOPLE, *scores.notes, *notes])


@analysis("raters", order=25, when=lambda rated: rated.has_scales)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {**rated.common_options, **options}
    for name in rated.strata:
        call = partial(rating_gaps, rated.coded, rated.items, between=name, by=rated.strata[:1])
        title = f"Gaps of ratings by {rated.study.feature_labels[name].lower()}"
        yield AnalysisStep(f"gaps_{name}", title, partial(call, **settings))
