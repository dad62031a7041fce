"""Gaps between groups of items: differences of a statistic, tested, with clusters drawn for both groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from conjury.inference.errors import InputError

from ...frames.notes import Note
from ...numerics.bootstrap import few_clusters, intervals, notes_on_equal_draws
from ...numerics.intervals import BootstrapInterval
from ...numerics.significance import check_adjust, insert_adjusted_p_values
from ...numerics.types import Codes, Floats
from ...results import Result
from .mean_ratings import columns_of, with_categorical_keys
from .tier_accuracy import correlations_of, difference_limits

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
        check_adjust(adjust)
        if not self.keys:
            raise InputError(
                f"No judge has two groups of '{settings['between']}' to compare; name a column with levels."
            )
        rows = pd.DataFrame(self.keys)
        fewest = rows[["n_left", "n_right"]].min(axis=1).to_numpy(dtype=np.int64)
        bounds = bounds_of_gaps(self.sides, float(settings["alpha"]), fewest)
        sides = ["left_estimate", "right_estimate", "n_left", "n_right", "n_shared"]
        frame = rows.drop(columns=sides).assign(**columns_of(bounds), p=bounds.p)
        frame = insert_adjusted_p_values(frame, family, adjust).join(rows[sides])
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
