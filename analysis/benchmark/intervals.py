"""Intervals of benchmark numbers, adjusted p values, and the notes that tables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.schema import require_columns

from ..frames.notes import Note
from ..frames.vocabulary import BASELINE
from ..numerics.bootstrap import ItemWeightings, cluster_weights, few_clusters, unequal_sizes
from ..numerics.intervals import SAME, check_alpha, check_draws, draw_limits, vary, wilson
from ..numerics.intervals.bounded import NOTHING, paired_difference, share
from ..numerics.intervals.weighted_items import items_of, limits, sums_of
from ..numerics.metrics.label_metrics import bounded_share, find_metric, metric_values, rests_on
from ..numerics.metrics.margins import LabelledAnswers, Margins, cluster_margins, margins_of
from ..numerics.types import Codes, Floats
from .data.scoring import Scored
from .data.units import BASE, CONDITION, ORIGIN, origins_of

Multiplicity = Literal["holm", "bh", "none"]
ITEM = "item_id"
EXACT = 2.0**24  # below it single precision has every whole number
# Where an interval comes from.
BOOTSTRAP: Literal["bootstrap"] = "bootstrap"
WILSON, BAYES, NONE = "wilson", "bayesian bootstrap", "none"


@dataclass(frozen=True)
class IntervalPlan:
    """How intervals are made: their level, what is clustered, and B draws where they are percentiles."""

    draws: int = 2_000
    seed: int = 1
    alpha: float = 0.05
    cluster: str = ITEM
    interval: Literal["bootstrap"] | None = None  # the interval of each metric, or percentiles for all

    def __post_init__(self) -> None:
        check_draws(self.draws, self.seed)
        check_alpha(self.alpha)
        if self.interval not in (None, BOOTSTRAP):
            raise InputError(f"interval is {self.interval!r}; use '{BOOTSTRAP}', or omit it.")

    @property
    def resamples(self) -> bool:
        """Whether all intervals are percentiles of draws."""
        return self.interval == BOOTSTRAP

    def weights(self, n_clusters: int, dtype: str = "float64") -> NDArray[Any]:
        """How often each of C clusters is drawn, shape (1 + B, C), the sample itself first."""
        # The same clusters get the same weights for every judge, so that differences of judges are paired.
        return _weights(n_clusters, self.draws, self.seed, dtype)

    def margins(self, sums: Floats, class_of: Codes) -> Margins:
        """Margins in the sample and in each draw, of those of C clusters, shape (C, 3 L + K + 1)."""
        # Single precision takes half the time, and is exact: a draw has C clusters, so sums are below C max.
        is_exact = len(sums) * sums.max(initial=0.0) < EXACT and bool((sums == np.rint(sums)).all())
        weights = self.weights(len(sums), "float32" if is_exact else "float64")
        return margins_of((weights @ sums.astype(weights.dtype)).astype(float), class_of)


@dataclass(frozen=True)
class StatisticInterval:
    """Interval of one statistic, and where it comes from."""

    estimate: float
    std_error: float
    lower: float
    upper: float
    interval: str

    @classmethod
    def none(cls, estimate: float) -> StatisticInterval:
        """An estimate without an interval."""
        return cls(estimate, np.nan, np.nan, np.nan, NONE)


@lru_cache(maxsize=4)
def _weights(n_clusters: int, draws: int, seed: int, dtype: str) -> NDArray[Any]:
    weights = _counts(n_clusters, draws, seed).astype(dtype)
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=32)
def _counts(n_clusters: int, draws: int, seed: int) -> NDArray[np.uint16]:
    """The same in a quarter of the room: judges answered different numbers of items."""
    return cluster_weights(n_clusters, draws, seed, np.uint16)


def cluster_codes(frame: pd.DataFrame, cluster: str) -> tuple[Codes, int]:
    """Cluster of each row, shape (n,), numbered in the order of their names, and how many there are."""
    # Copies of an item are clustered with the item that they come from.
    require_columns(frame, [cluster], "scored judgments")
    if cluster == ITEM and BASE in frame:
        origins = frame[ORIGIN].to_numpy(np.int64) if ORIGIN in frame else origins_of(frame)
        numbers, of_row = np.unique(origins, return_inverse=True)
        return of_row, len(numbers)
    names = frame[cluster]
    if not isinstance(names.dtype, pd.CategoricalDtype):
        names = as_text(names)
    codes, levels = pd.factorize(names, sort=True, use_na_sentinel=False)
    return codes.astype(np.int64), len(levels)


def n_distinct(codes: Codes) -> int:
    """How many codes occur."""
    return int(np.count_nonzero(np.bincount(codes)))


def bounds_of(replicates: Floats, alpha: float, *, is_share: bool, n_clusters: int) -> StatisticInterval:
    """Bound a statistic of which ``replicates``, shape (1 + B,), contains the estimate and then the draws."""
    # A share of 0 or 1 is the same in every draw: its interval is Wilson's, with the clusters as trials,
    # since units of a cluster may be all alike.
    estimate, draws = float(replicates[0]), replicates[1:][np.isfinite(replicates[1:])]
    if n_clusters < 1:
        return StatisticInterval.none(np.nan)
    if not np.isfinite(estimate) or len(replicates) == 1:
        return StatisticInterval.none(estimate)
    if is_share and min(estimate, 1 - estimate) < 1e-12:
        lower, upper = wilson(np.array(estimate), np.array(float(n_clusters)), alpha)
        return StatisticInterval(estimate, np.nan, float(lower), float(upper), WILSON)
    if n_clusters < 2 or len(draws) < 2 or 2 * len(draws) < len(replicates) - 1 or not vary(draws):
        return StatisticInterval.none(estimate)
    lower, upper = draw_limits(draws, alpha)
    if not upper - lower > SAME:  # some draws differ, but too few to move a percentile
        return StatisticInterval.none(estimate)
    return StatisticInterval(estimate, float(draws.std(ddof=1)), float(lower), float(upper), BOOTSTRAP)


def bounds_of_metrics(
    names: Sequence[str], answers: LabelledAnswers, alpha: float
) -> dict[str, StatisticInterval]:
    """Bound metrics of labels: shares by `share`, F1 of a class by `f1`, others by weights of answers."""
    metrics = {name: find_metric(name, answers.classes, answers.levels)[0] for name in names}
    non_shares = [name for name, metric in metrics.items() if metric.counted is None]
    result = _bayesian_bounds(non_shares, answers, alpha) if non_shares else {}
    for name in [name for name in metrics if name not in non_shares]:
        bounds = bounded_share(name, answers, alpha) if rests_on(name, answers).any() else NOTHING
        source = WILSON if np.isfinite(bounds.lower) else NONE
        result[name] = StatisticInterval(
            bounds.estimate, bounds.std_error, bounds.lower, bounds.upper, source
        )
    return result


def _bayesian_bounds(names: Sequence[str], of: LabelledAnswers, alpha: float) -> dict[str, StatisticInterval]:
    """Bound metrics that are no shares by a Bayesian bootstrap of answers."""
    n_classes, n_levels = len(of.classes), len(of.class_of)
    width = n_classes + 2
    cells, code = np.unique(of.level * width + of.predicted + 1, return_inverse=True)
    level, answer = (
        grid.ravel() for grid in np.meshgrid(np.arange(n_levels), np.arange(n_classes), indexing="ij")
    )
    right = of.class_of[level] == answer
    levels, answers = np.concatenate([cells // width, level]), np.concatenate([cells % width - 1, answer])
    parts = cluster_margins(levels, answers, of.class_of, n_classes, np.arange(len(levels)), len(levels))

    def statistics(sums: Floats) -> Floats:
        margins = margins_of(sums, of.class_of)
        return np.stack([metric_values(name, margins, of.classes, of.levels) for name in names], axis=1)

    none = np.zeros(len(cells))
    sample = np.concatenate([np.bincount(code, minlength=len(cells)).astype(float), np.zeros(len(level))])
    estimate = statistics(sample[None] @ parts)[0]
    items = items_of(code.reshape(-1).astype(np.int64), len(levels), of.cluster)
    if items.clusters < 2 or not len(code):
        return {
            name: StatisticInterval.none(float(value)) for name, value in zip(names, estimate, strict=True)
        }
    against = np.concatenate([none, ~right / max(int((~right).sum()), 1)])
    favour = np.concatenate([none, right / right.sum()])
    sums = sums_of(parts, items, against, favour, alpha)
    low, high = limits(statistics, sums, estimate)
    errors = statistics(sums.seen).std(axis=0, ddof=1)
    return {
        name: StatisticInterval(
            float(estimate[k]), float(errors[k]) if errors[k] > SAME else np.nan, float(low[k]),
            float(high[k]), BAYES if np.isfinite(low[k]) else NONE,
        )
        for k, name in enumerate(names)
    }  # fmt: skip


def bounds_by_plan(
    names: Sequence[str], of: LabelledAnswers, plan: IntervalPlan
) -> dict[str, StatisticInterval]:
    """Bound metrics of labels as a plan has it: each by its own interval, or all by percentiles."""
    if plan.draws and not plan.resamples:
        return bounds_of_metrics(names, of, plan.alpha)
    parts = (of.level, of.predicted, of.class_of, len(of.classes))
    sums = cluster_margins(*parts, of.cluster, of.n_clusters)
    margins = plan.margins(sums, of.class_of)
    result = {}
    for name in names:
        metric, _ = find_metric(name, of.classes, of.levels)
        replicates = metric_values(name, margins, of.classes, of.levels)
        n = n_distinct(of.cluster[rests_on(name, of)])
        result[name] = bounds_of(replicates, plan.alpha, is_share=metric.is_share, n_clusters=n)
    return result


def gain_bounds(
    first: Floats, second: Floats, cluster: Codes, n_clusters: int, plan: IntervalPlan
) -> StatisticInterval:
    """Bound the second of two shares of the same n units minus the first."""
    if plan.draws and not plan.resamples:
        interval, _ = paired_difference(first, second, cluster, plan.alpha)
        kind = WILSON if np.isfinite(interval.lower) else NONE
        return StatisticInterval(interval.estimate, interval.std_error, interval.lower, interval.upper, kind)
    replicates = ItemWeightings(plan.weights(n_clusters), cluster).mean(second - first)
    return bounds_of(replicates, plan.alpha, is_share=False, n_clusters=n_distinct(cluster))


def mean_bounds(values: Floats, cluster: Codes, alpha: float) -> StatisticInterval:
    """Bound the mean of numbers from 0 to 1, NaN excluded."""
    is_finite = np.isfinite(values)
    interval = share(values[is_finite], cluster[is_finite], alpha)
    kind = WILSON if np.isfinite(interval.lower) else NONE
    return StatisticInterval(interval.estimate, interval.std_error, interval.lower, interval.upper, kind)


def metric_row(
    keys: Mapping[str, str],
    missing_policy: str,
    name: str,
    bounds: StatisticInterval,
    counts: Mapping[str, int],
    **more: int,
) -> dict[str, Any]:
    """A row of a table of metrics."""
    return {**keys, "missing": missing_policy, "metric": name, **more, **vars(bounds), **counts}


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


def counts_of(frame: pd.DataFrame, mask: NDArray[np.bool_], cluster: Codes) -> dict[str, int]:
    """How much a number rests on: the rows of a frame that are kept, with the clusters of all its rows."""
    codes = (frame["unit"], frame["item_id"].cat.codes, cluster)
    n_units, n_items, n_clusters = (n_distinct(np.asarray(each, dtype=np.int64)[mask]) for each in codes)
    return {"n_answers": int(mask.sum()), "n_units": n_units, "n_items": n_items, "n_clusters": n_clusters}


def describe_draws(draws: int, cluster: str) -> Note:
    """What a bootstrap drew, as "1,000 draws of items"."""
    return Note.of("{n:,} draws of {column}", n=draws, column="items" if cluster == "item_id" else cluster)


def interval_notes(frame: pd.DataFrame, plan: IntervalPlan, scored: Scored) -> list[str]:
    """State how the intervals of a table were made, and where they are weak or missing."""
    if not plan.draws:
        return ["No intervals: there were no draws."]
    notes: list[str] = []
    of = frame["interval"]
    unit = "item" if plan.cluster == ITEM else "cluster"
    if (of == WILSON).any() and not plan.resamples:
        notes.append(
            Note.of(
                "Shares have Wilson's interval, with as many trials as give their standard error "
                "(clustered by {column}).",
                column="item" if plan.cluster == ITEM else plan.cluster,
            )
        )
    if (of == BAYES).any():
        notes.append(
            "Metrics that are no shares have the interval of a Bayesian bootstrap: the lower limit adds one "
            f"{unit} that is wrong, the upper limit one that is right."
        )
    if (of == BOOTSTRAP).any():
        template = "Intervals are percentiles of {draws}, with all answers to the units drawn."
        notes.append(Note.of(template, draws=describe_draws(plan.draws, plan.cluster)))
    if (of == WILSON).any() and plan.resamples:
        notes.append(
            "Shares of 0 and 1 are the same in every draw: their interval is Wilson's, with a trial for each "
            f"{unit}."
        )
    judged = frame["judge_kind"] != BASELINE if "judge_kind" in frame else pd.Series(True, index=frame.index)
    without, single = judged & (of == NONE) & frame["estimate"].notna(), frame["n_clusters"] < 2
    reasons = {f"there is one {unit}": without & single, "draws do not differ enough": without & ~single}
    for reason, rows in reasons.items():
        if rows.any():
            metrics = sorted(frame["metric"][rows].unique())
            template = "No interval where {reason}: some rows of {metrics}."
            notes.append(Note.of(template, reason=reason, metrics=metrics))
    drawn_rows = frame["n_clusters"][of == BOOTSTRAP]
    return [*notes, *few_clusters(drawn_rows, plan.draws), *notes_of_sizes(scored, plan)]


def notes_of_sizes(scored: Scored, plan: IntervalPlan) -> list[str]:
    """State that few of many clusters have most units."""
    sizes = scored.sizes_in_engine(plan.cluster)
    if sizes is None:
        sizes = np.bincount(cluster_codes(scored.frame, plan.cluster)[0])
    return unequal_sizes(sizes)
