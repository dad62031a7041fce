"""Agreement of a judge's labels with those of people, beside chance and beside people among themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...numerics.intervals.bounded import BoundedEstimate, difference
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from ..agreement import chance_corrected as corrected
from ..agreement.coefficient_differences import of_judge_and_people
from ..agreement.coefficient_intervals import (
    COHEN,
    CONGER,
    GWET,
    KRIPPENDORFF,
    PERCENT,
    PanelInterval,
    SidesInterval,
    influence_of,
    statistic_of,
)
from ..agreement.rater_pairs import SideShares, chance, paired_coefficient, paired_influence
from .coding import CodedRows, counts_of
from .validation_rows import AGREEMENT, PEOPLE, TestRows

ACCURACY, KAPPA, WEIGHTED, ALPHA, AC1 = "accuracy", "kappa", "weighted_kappa", "alpha", "ac1"
KINDS = {ACCURACY: PERCENT, KAPPA: COHEN, WEIGHTED: COHEN, ALPHA: KRIPPENDORFF, AC1: GWET}
AMONG = KINDS | {KAPPA: CONGER, WEIGHTED: CONGER}


@dataclass(frozen=True)
class CoefficientEstimate:
    """A coefficient of I items, with the influence of each, shape (I,)."""

    estimate: float
    # weights of agreement, (q, q); None for those of ranks
    weights: Floats | None
    influence: Floats
    # the coefficient with its interval, by the cluster of each item and one minus the level
    interval: Callable[[Codes, float], BoundedEstimate]

    def bounded(self, cluster: Codes, alpha: float) -> BoundedEstimate:
        """The coefficient with its interval."""
        return self.interval(cluster, alpha)


def measures_of(scale: str) -> tuple[str, ...]:
    """The coefficients of labels without and with an order."""
    return (ACCURACY, WEIGHTED, ALPHA) if scale == "ordinal" else (ACCURACY, KAPPA, ALPHA, AC1)


def headline_of(scale: str) -> str:
    """The coefficient that thresholds and numbers of labels are about."""
    return {"nominal": KAPPA, "ordinal": WEIGHTED, "interval": "icc"}[scale]


def weights_of(measure: str, coded: CodedRows) -> Floats:
    """Weights of agreement, shape (q, q): quadratic by value for an order, else one for the same class."""
    if coded.scale == "ordinal" and measure != ACCURACY:
        values = np.array(_values(coded))
        return corrected.weight_matrix("quadratic", values.tolist())
    return np.eye(coded.q)


def _values(coded: CodedRows) -> list[float]:
    codes = np.concatenate([coded.judges.ravel(), coded.people.ravel()])
    numbers = np.concatenate([coded.judged.ravel(), coded.rated.ravel()])
    values = np.arange(coded.q, dtype=float)
    is_label = codes >= 0
    values[codes[is_label]] = numbers[is_label]
    return [float(value) for value in values]


def with_people(
    measure: str, first: Floats, second: Floats, weights: Floats, classes: Sequence[str]
) -> CoefficientEstimate:
    """Agreement of two sides, (I, q) shares of classes each; krippendorff with an order is by ranks."""
    kind, sides = KINDS[measure], SideShares(first, second)
    ranked = measure == ALPHA and not np.array_equal(weights, np.eye(len(weights)))
    chosen = None if ranked else weights

    def interval(cluster: Codes, alpha: float) -> BoundedEstimate:
        return SidesInterval(sides, cluster, alpha, classes).of(chosen, kind)

    estimate = float(paired_coefficient(sides, chosen, np.ones((1, len(first))), kind)[0])
    return CoefficientEstimate(estimate, chosen, paired_influence(sides, chosen, kind), interval)


def among_people(measure: str, panel: RatingPanel, weights: Floats) -> CoefficientEstimate:
    """Agreement of the people of a panel of I items, all with two ratings or more."""
    ones, kind = np.ones((1, panel.n_items)), AMONG[measure]
    ranked = measure == ALPHA and not np.array_equal(weights, np.eye(len(weights)))
    chosen = None if ranked else weights

    def interval(cluster: Codes, alpha: float) -> BoundedEstimate:
        return PanelInterval(replace(panel, cluster=cluster), alpha).of(chosen, kind)

    estimate = float(statistic_of(panel, chosen, kind)(ones)[0])
    return CoefficientEstimate(estimate, chosen, influence_of(panel, chosen, kind), interval)


def panel_of(coded: CodedRows) -> RatingPanel:
    """The labels of people as a panel of the rows."""
    rater, item = np.nonzero(coded.people >= 0)
    codes = coded.people[rater, item]
    return RatingPanel(
        item=item.astype(np.int64),
        rater=rater.astype(np.int64),
        category=codes.astype(np.int64),
        value=np.array(_values(coded))[codes] if coded.q else codes.astype(float),
        n_items=coded.n,
        n_raters=len(coded.people),
        categories=coded.classes,
        numeric=coded.scale == "ordinal",
        raters=coded.people_names,
        cluster=coded.cluster,
    )


def add_agreement(rows: TestRows, coded: CodedRows) -> None:
    """Add agreement with people on all rows that both labelled, chance beside it."""
    counts = counts_of(coded.people, coded.q)
    subset = coded.rows((coded.judges[0] >= 0) & (counts.sum(axis=1) > 0))
    if not subset.n:
        return
    first, second = _sides(subset)
    for measure in measures_of(coded.scale):
        weights = weights_of(measure, coded)
        estimate = with_people(measure, first, second, weights, coded.classes).bounded(
            subset.cluster, rows.alpha
        )
        rows.add(AGREEMENT, measure, estimate, chance=_chance(measure, first, second, weights))
    rows.number(AGREEMENT, "always_most_frequent", float(second.mean(axis=0).max()), subset.n)


def with_missing(coded: CodedRows) -> float:
    """The headline coefficient where rows without an answer of the judge count as disagreement."""
    counts = counts_of(coded.people, coded.q)
    subset = coded.rows(counts.sum(axis=1) > 0)
    nothing = np.where(subset.judges[:1] < 0, coded.q, subset.judges[:1])  # a class that people never give
    measure, classes = headline_of(coded.scale), (*coded.classes, "")
    weights = np.pad(weights_of(measure, coded), (0, 1))
    first, second = _sides(replace(subset, judges=nothing, classes=classes))
    return with_people(measure, first, second, weights, classes).estimate


def _chance(measure: str, first: Floats, second: Floats, weights: Floats) -> float:
    """Agreement that is expected by chance: of the accuracy, from both sides' base rates."""
    kind = COHEN if measure == ACCURACY else KINDS[measure]
    return float(chance(first.mean(axis=0), second.mean(axis=0), weights, kind))


def _sides(coded: CodedRows) -> tuple[Floats, Floats]:
    """Shares of classes of the judge and of people, each of shape (n, q)."""
    counts = counts_of(coded.people, coded.q)
    return np.eye(coded.q)[coded.judges[0]], counts / counts.sum(axis=1, keepdims=True)


def add_people(rows: TestRows, coded: CodedRows) -> None:
    """Add agreement of people among themselves, and how far the judge's is from it on the same items."""
    several = (coded.people >= 0).sum(axis=0) > 1
    if not several.any():
        return
    people_rows = coded.rows(several)
    for measure in measures_of(coded.scale):
        estimate = among_people(measure, panel_of(people_rows), weights_of(measure, coded))
        rows.add(PEOPLE, f"people_{measure}", estimate.bounded(people_rows.cluster, rows.alpha))
    subset = people_rows.rows(people_rows.judges[0] >= 0)
    if not subset.n:
        return
    panel = panel_of(subset)
    first, second = _sides(subset)
    for measure in measures_of(coded.scale):
        weights = weights_of(measure, coded)
        judge_agreement = with_people(measure, first, second, weights, coded.classes)
        people_agreement = among_people(measure, panel, weights)
        influence = judge_agreement.influence - people_agreement.influence
        if measure == ACCURACY:
            gap = difference(
                judge_agreement.estimate - people_agreement.estimate, influence, subset.cluster, rows.alpha
            )
        else:
            kinds = KINDS[measure], AMONG[measure]
            gap = of_judge_and_people(
                subset.judges[0], panel, judge_agreement.weights, kinds, influence, rows.alpha
            )
        rows.add(PEOPLE, f"{measure}_difference", gap)
