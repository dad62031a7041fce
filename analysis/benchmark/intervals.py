"""Intervals of benchmark numbers, adjusted p values, and the notes that tables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..frames.vocabulary import BASELINE
from ..numerics.bootstrap import cluster_weights, few_clusters, unequal_sizes
from ..numerics.intervals import SAME, check_alpha, check_draws, vary, wilson
from ..numerics.significance import adjusted
from ..numerics.types import Codes, Floats
from .data.scoring import Scored
from .data.units import BASE, CONDITION, filled_text

Multiplicity = Literal["holm", "bh", "none"]
ADJUSTMENTS = ("holm", "bh", "none")
ITEM = "item_id"
BOOTSTRAP, WILSON, NONE = "bootstrap", "wilson", "none"  # where an interval comes from


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
        """How often each of C clusters is drawn, shape (1 + B, C), the sample itself first."""
        # The same clusters get the same weights for every judge, so that differences of judges are paired.
        return _weights(n_clusters, self.draws, self.seed)


@dataclass(frozen=True)
class Bounds:
    """Interval of one statistic, and where it comes from: "bootstrap", "wilson" or "none"."""

    estimate: float
    std_error: float
    lower: float
    upper: float
    interval: str

    @classmethod
    def none(cls, estimate: float) -> Bounds:
        """An estimate without an interval."""
        return cls(estimate, np.nan, np.nan, np.nan, NONE)


@lru_cache(maxsize=4)
def _weights(n_clusters: int, draws: int, seed: int) -> Floats:
    drawn = cluster_weights(n_clusters, draws, seed)
    drawn.flags.writeable = False
    return drawn


def cluster_codes(frame: pd.DataFrame, cluster: str) -> tuple[Codes, int]:
    """Cluster of each row, shape (n,), numbered in the order of their names, and how many there are."""
    # Copies of an item are clustered with the item that they come from.
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


def weighted_means(values: Floats, cluster: Codes, weights: Floats) -> Floats:
    """Means of n values under weights of clusters, shape (1 + B, m) for values of shape (n, m)."""
    known = np.isfinite(values)
    sums = cluster_sums(np.hstack([np.where(known, values, 0.0), known]), cluster, weights.shape[1])
    total, n = np.split(weights @ sums, 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / n)


def bounds_of(drawn: Floats, alpha: float, *, share: bool, n_clusters: int) -> Bounds:
    """Bound a statistic of which ``drawn``, shape (1 + B,), contains the estimate and then the draws."""
    # A share of 0 or 1 is the same in every draw: its interval is Wilson's, with the clusters as trials,
    # since units of a cluster may be all alike.
    estimate, draws = float(drawn[0]), drawn[1:][np.isfinite(drawn[1:])]
    if n_clusters < 1:
        return Bounds.none(np.nan)
    if not np.isfinite(estimate) or len(drawn) == 1:
        return Bounds.none(estimate)
    if share and min(estimate, 1 - estimate) < 1e-12:
        lower, upper = wilson(np.array(estimate), np.array(float(n_clusters)), alpha)
        return Bounds(estimate, np.nan, float(lower), float(upper), WILSON)
    if n_clusters < 2 or len(draws) < 2 or 2 * len(draws) < len(drawn) - 1 or not vary(draws):
        return Bounds.none(estimate)
    ranks = np.array([alpha / 2, 1 - alpha / 2]) * (len(draws) - 1)
    lower, upper = np.interp(ranks, np.arange(len(draws)), np.sort(draws))
    if not upper - lower > SAME:  # some draws differ, but too few to move a percentile
        return Bounds.none(estimate)
    return Bounds(estimate, float(draws.std(ddof=1)), float(lower), float(upper), BOOTSTRAP)


def as_row(
    keys: Mapping[str, str], missing: str, name: str, bounds: Bounds, counts: Mapping[str, int], **more: int
) -> dict[str, Any]:
    """A row of a table of metrics."""
    return {**keys, "missing": missing, "metric": name, **more, **vars(bounds), **counts}


def pooled_notes(scored: Scored, by: Sequence[str]) -> list[str]:
    """State where a table takes items as they were and copies of them together."""
    perturbed = scored.is_perturbed
    if CONDITION in by or not perturbed.any() or perturbed.all():
        return []
    n = int(perturbed.sum())
    return [
        f"{n:,} answers to perturbed items are pooled with those to original items; name "
        f"'{CONDITION}' in by to separate them."
    ]


def check_adjust(adjust: str) -> None:
    """Refuse an adjustment that there is not."""
    if adjust not in ADJUSTMENTS:
        raise InputError(f"adjust is '{adjust}'; use {', '.join(ADJUSTMENTS[:-1])} or {ADJUSTMENTS[-1]}.")


def with_adjusted(frame: pd.DataFrame, family: Sequence[str], adjust: str) -> pd.DataFrame:
    """Put adjusted p values beside p."""
    result = frame["p"].astype(float)
    if adjust != "none":
        step: Any = adjust
        keys: Any = [frame[name] for name in family] or pd.Series(0, index=frame.index)
        result = result.groupby(keys, sort=False).transform(lambda p: adjusted(p.to_numpy(dtype=float), step))
    frame = frame.copy()
    frame.insert(list(frame.columns).index("p") + 1, "p_adjusted", result)
    return frame


def counts_of(frame: pd.DataFrame, kept: NDArray[np.bool_], cluster: Codes) -> dict[str, int]:
    """How much a number rests on: the rows of a frame that are kept, with the clusters of all its rows."""
    codes = (frame["unit"], frame["item_id"].cat.codes, cluster)
    n_units, n_items, n_clusters = (n_distinct(np.asarray(each, dtype=np.int64)[kept]) for each in codes)
    return {"n_answers": int(kept.sum()), "n_units": n_units, "n_items": n_items, "n_clusters": n_clusters}


def draws_of(draws: int, cluster: str) -> str:
    """What a bootstrap drew, as "1,000 draws of items"."""
    return f"{draws:,} draws of {'items' if cluster == 'item_id' else cluster}"


def interval_notes(frame: pd.DataFrame, plan: Plan, scored: Scored) -> list[str]:
    """State how the intervals of a table were made, and where they are weak or missing."""
    if not plan.draws:
        return ["No intervals: there were no draws."]
    drawn = draws_of(plan.draws, plan.cluster)
    notes = [f"Intervals are percentiles of {drawn}, with all answers to the units drawn."]
    if (frame["interval"] == WILSON).any():
        notes.append(
            "Shares of 0 and 1 are the same in every draw: their interval is Wilson's, with a trial for each "
            f"{'item' if plan.cluster == 'item_id' else 'cluster'}."
        )
    judged = frame["judge_kind"] != BASELINE if "judge_kind" in frame else pd.Series(True, index=frame.index)
    none = sorted(frame["metric"][judged & (frame["interval"] == NONE) & frame["estimate"].notna()].unique())
    if none:
        notes.append(f"No interval where all draws are equal: some rows of {listed(none)}.")
    sizes = scored.sizes_in_engine(plan.cluster)
    if sizes is None:
        sizes = np.bincount(cluster_codes(scored.frame, plan.cluster)[0])
    drawn_rows = frame["n_clusters"][frame["interval"] == BOOTSTRAP]
    return [*notes, *few_clusters(drawn_rows, plan.draws), *unequal_sizes(sizes)]
