"""Gaps between groups of items: differences of a statistic, tested, with clusters drawn for both groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note
from ...numerics.bootstrap import FIXED_PEOPLE, few_clusters, intervals, notes_on_equal_draws
from ...numerics.intervals import BootstrapInterval
from ...numerics.significance import Step, adjust_p_values
from ...numerics.types import Codes, Floats
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments
from ..scales import names_of
from .mean_ratings import columns_of, item_scores, levels_of, stratum_names, with_categorical_keys
from .means import power_sums, weighted_means_and_sds
from .tier_accuracy import correlations_of, difference_limits

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

ADJUSTMENTS = ("holm", "bh", "none")
MOST_LEVELS = 20  # whose pairs are tested
NOTE_ON_GAPS = (
    "Clusters that both groups share are drawn for both together, so that gaps within a cluster are paired."
)


@dataclass(frozen=True)
class GroupStatistic:
    """A statistic of one group of units, and the clusters of C that it rests on."""

    level: str
    values: Floats  # shape (1 + B,): in the sample, then in each draw of clusters
    clusters: Codes  # their codes, each once
    limits: tuple[float, float] | None = None  # of its own interval; by default the normal one of its draws


@dataclass(frozen=True)
class GapsBetweenGroups:
    """Gaps of every two groups in several places: a row of keys and the draws of each."""

    keys: list[dict[str, Any]]
    sides: list[tuple[GroupStatistic, GroupStatistic]]

    def add(self, keys: Mapping[str, Any], groups: Sequence[GroupStatistic]) -> None:
        """Add the gaps of every two groups of a place."""
        for first, second in combinations(groups, 2):
            sides = {"left_estimate": first.values[0], "right_estimate": second.values[0]}
            n_shared = len(np.intersect1d(first.clusters, second.clusters))
            counts = {"n_left": len(first.clusters), "n_right": len(second.clusters), "n_shared": n_shared}
            self.keys.append({**keys, "left": first.level, "right": second.level, **sides, **counts})
            self.sides.append((first, second))

    def result(
        self, family: Sequence[str], adjust: str, settings: Mapping[str, Any], notes: Sequence[str]
    ) -> Result:
        """Test all gaps; p values are adjusted within each value of the columns of ``family``."""
        if adjust not in ADJUSTMENTS:
            raise InputError(f"adjust is '{adjust}'; use {', '.join(ADJUSTMENTS[:-1])} or {ADJUSTMENTS[-1]}.")
        if not self.keys:
            raise InputError(
                f"No judge has two groups of '{settings['between']}' to compare; name a column with levels."
            )
        rows = pd.DataFrame(self.keys)
        fewest = rows[["n_left", "n_right"]].min(axis=1).to_numpy(dtype=np.int64)
        bounds = bounds_of_gaps(self.sides, float(settings["alpha"]), fewest)
        sides = ["left_estimate", "right_estimate", "n_left", "n_right", "n_shared"]
        frame = rows.drop(columns=sides).assign(**columns_of(bounds), p=bounds.p)
        frame["p_adjusted"] = frame["p"]
        if adjust != "none":
            step: Step = "holm" if adjust == "holm" else "bh"
            frame["p_adjusted"] = frame.groupby(list(family), sort=False, observed=True)["p"].transform(
                lambda p: adjust_p_values(p.to_numpy(dtype=float), step)
            )
        frame = frame.join(rows[sides])
        keys = [str(name) for name in rows if name not in sides]
        extra_notes = [NOTE_ON_GAPS] if (rows["n_shared"] > 0).any() else []
        extra_notes += [
            *few_clusters(fewest, int(settings["draws"])),
            *(notes_on_equal_draws(bounds.alike) if settings["draws"] else ()),
        ]
        if adjust != "none":
            text = "p values are adjusted ({adjust}) over all gaps of one {family}."
            extra_notes.append(Note.of(text, adjust=adjust.capitalize(), family=" and ".join(family)))
        return Result(
            with_categorical_keys(frame, keys),
            "gaps",
            (*notes, *extra_notes),
            {**settings, "adjust": adjust},
        )


def bounds_of_gaps(
    sides: Sequence[tuple[GroupStatistic, GroupStatistic]], alpha: float, fewest: Codes
) -> BootstrapInterval:
    """Bound and test the first minus the second of m pairs by the limits of each and their correlation."""
    # A share of 0 or 1 is the same in every draw, which a bootstrap of the difference would take for certain;
    # its own limits (Wilson's) are not. p is of the limit that lies towards 0, so that both say the same.
    replicates = [np.stack([pair[k].values for pair in sides], axis=1) for k in (0, 1)]
    normal = intervals(replicates[0] - replicates[1], alpha, clusters=fewest)
    limits_of_sides = []
    for k, values in enumerate(replicates):
        of_side = intervals(values, alpha, clusters=fewest)
        limits = [pair[k].limits for pair in sides]
        lower, upper = (
            np.array(
                [
                    normal_limit if limit is None else limit[end]
                    for limit, normal_limit in zip(limits, side, strict=True)
                ]
            )
            for end, side in enumerate((of_side.lower, of_side.upper))
        )
        limits_of_sides.append((values[0], lower, upper))
    correlation = (
        correlations_of(replicates[0][1:], replicates[1][1:])
        if len(replicates[0]) > 1
        else np.zeros(len(sides))
    )
    lower, upper = difference_limits(limits_of_sides[0], limits_of_sides[1], correlation)
    lower, upper = (np.where(fewest > 1, limit, np.nan) for limit in (lower, upper))
    reach = np.where(normal.estimate > 0, normal.estimate - lower, upper - normal.estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * ndtr(ndtri(alpha / 2) * np.abs(normal.estimate) / reach)
    return replace(normal, lower=lower, upper=upper, p=p, alike=np.isnan(lower) & (fewest > 1))


def check_levels(between: str, n_levels: int) -> None:
    """Refuse a column with so many levels that their pairs say nothing."""
    if n_levels > MOST_LEVELS:
        raise InputError(
            f"items: column '{between}' has {n_levels} levels, and every two of at most {MOST_LEVELS} are "
            "compared; keep the items of fewer levels."
        )


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
        level and of both). Intervals are normal with bootstrap standard errors.

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
    gaps = GapsBetweenGroups([], [])
    for d, dimension in enumerate(scores.dimensions):
        for g, group in enumerate(scores.groups):
            for place, inside in scores.overall_and_cells(by):
                groups = []
                for level, here in levels:
                    mask = inside & here & np.isfinite(scores.mean[d, g])
                    if mask.any():
                        cluster_of = scores.cluster[mask]
                        sums = power_sums(scores.mean[d, g, mask], cluster_of, scores.n_clusters)
                        values, _ = weighted_means_and_sds(sums[None], weights)
                        groups.append(GroupStatistic(level, values[:, 0], np.unique(cluster_of)))
                gaps.add({"dimension": dimension, "judge": group, **stratum_names(by, place)}, groups)
    settings = {
        "between": between, "by": by, "cluster": cluster, "alpha": alpha, "draws": draws, "seed": seed,
    }  # fmt: skip
    return gaps.result(["dimension"], adjust, settings, [FIXED_PEOPLE, *scores.notes])


@analysis("raters", order=25, when=lambda rated: rated.has_scales)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {**rated.common_options, **options}
    for name in rated.strata:
        call = partial(rating_gaps, rated.judgments, rated.items, between=name, by=rated.strata[:1])
        title = f"Gaps of ratings by {rated.study.feature_labels[name].lower()}"
        yield AnalysisStep(f"gaps_{name}", title, partial(call, **settings))
