"""Boxes of confusion matrices: least and largest counts of many boxes at once, narrowed by sums and scores.

A box has a least and a largest number for the gold items and the hits of each label and for the answers of
each class. Bounds are floating-point numbers with a slack that is far above their errors: a box is dropped
only if no matrix in it can have the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....numerics.types import Floats
from ..numbers import Interval
from .gold_layout import GoldLayout
from .measures import Measure, by_class, share

SLACK = 1e-9  # of scores between 0 and 1
WHOLE = 1e-6  # of counts
ROUNDS = 3
HUGE = 1e12  # above all counts


@dataclass(frozen=True)
class Range:
    """Least and largest values, arrays of one shape."""

    low: Floats
    high: Floats

    def cut(self, low: Floats | float, high: Floats | float) -> Range:
        """The part between two bounds."""
        return Range(np.maximum(self.low, low), np.minimum(self.high, high))

    def sum(self) -> Range:
        """Of sums over the last axis."""
        return Range(self.low.sum(axis=-1), self.high.sum(axis=-1))

    def times(self, factor: Range) -> Range:
        """Of products of numbers of 0 or more."""
        return Range(self.low * factor.low, self.high * factor.high)

    def within_sum(self, total: Range) -> Range:
        """Terms narrowed by a total of the last axis."""
        sums = self.sum()
        low = total.low[:, None] - (sums.high[:, None] - self.high)
        return self.cut(low, total.high[:, None] - (sums.low[:, None] - self.low))


@dataclass(frozen=True)
class ScoreConstraint:
    """A score that lies between two numbers; of Matthews' correlation the signed square."""

    measure: Measure
    low: float
    high: float

    @classmethod
    def of(cls, measure: Measure, at: Interval) -> ScoreConstraint:
        """The closed interval with the slack of floating-point arithmetic."""
        return cls(measure, float(at.lower) - SLACK, float(at.upper) + SLACK)


@dataclass(frozen=True)
class Boxes:
    """Boxes of matrices: bounds of gold items and hits, shape (m, labels), and of answers by class."""

    gold: Range
    hits: Range
    given: Range

    @classmethod
    def whole(cls, layout: GoldLayout) -> Boxes:
        """The one box of all matrices."""
        least, most = np.array([layout.gold], dtype=float).transpose(2, 0, 1)
        answers = np.full((1, len(layout.classes)), float(layout.n[1]))
        return cls(
            Range(least, most), Range(np.zeros_like(most), most), Range(np.zeros_like(answers), answers)
        )

    def __len__(self) -> int:
        return len(self.gold.low)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """All least and all largest counts, shape (m, 2 labels + classes)."""
        parts = (self.gold, self.hits, self.given)
        return np.hstack([part.low for part in parts]), np.hstack([part.high for part in parts])

    @classmethod
    def from_ends(cls, low: Floats, high: Floats, layout: GoldLayout) -> Boxes:
        """The boxes with these least and largest counts."""
        r = len(layout.labels)
        return cls(*(Range(low[:, at], high[:, at]) for at in (np.s_[:r], np.s_[r : 2 * r], np.s_[2 * r :])))


@dataclass
class _BoxBounds:
    """Bounds of sums over labels, by class and in all, while boxes are narrowed."""

    layout: GoldLayout
    gold: Range
    hits: Range
    sizes: Range
    right: Range
    given: Range
    n: Range
    total: Range

    @property
    def classes(self) -> int:
        return len(self.layout.classes)


def narrow(boxes: Boxes, needs: Sequence[ScoreConstraint], layout: GoldLayout) -> Boxes:
    """Boxes without counts that sums and scores exclude; those that have none left are dropped."""
    low, high = boxes.ends
    for _ in range(ROUNDS):
        alive = np.ones(len(low), bool)
        state = _state(Boxes.from_ends(low, high, layout), layout)
        _narrow_by_sums(state)
        for need in needs:
            alive &= _narrow_by_score(state, need)
        label_boxes = _label_boxes(state)
        before = low, high
        low, high = label_boxes.ends
        low, high = np.ceil(low - WHOLE), np.floor(high + WHOLE)
        same = np.array_equal(low, before[0]) and np.array_equal(high, before[1])
        alive &= (low <= high).all(axis=1)
        low, high = low[alive], high[alive]
        if same or not len(low):
            break
    return Boxes.from_ends(low, high, layout)


def _state(boxes: Boxes, layout: GoldLayout) -> _BoxBounds:
    hits = boxes.hits.cut(0.0, boxes.gold.high)
    gold = boxes.gold.cut(hits.low, np.inf)
    sizes, right = (
        Range(by_class(counts.low, layout), by_class(counts.high, layout)) for counts in (gold, hits)
    )
    return _BoxBounds(layout, gold, hits, sizes, right, boxes.given, sizes.sum().cut(*layout.n), right.sum())


def _narrow_by_sums(s: _BoxBounds) -> None:
    """Narrow by the number of items and by the wrong items, none of which is on the diagonal."""
    missing = s.layout.missing
    if not s.layout.fixed:
        s.sizes = s.sizes.within_sum(s.n)
    s.given = s.given.within_sum(Range(s.n.low - missing[1], s.n.high - missing[0]))
    s.right = s.right.within_sum(s.total)
    # n_k + g_k + (hits of the other classes) <= n + t_k, and t_k <= g_k
    other_hits = s.total.low[:, None] - s.right.low
    s.given = s.given.cut(s.right.low, s.n.high[:, None] + s.right.high - s.sizes.low - other_hits)
    s.right = s.right.cut(s.sizes.low + s.given.low + other_hits - s.n.high[:, None], s.given.high)
    s.total = s.total.cut(*_ends(s.right.sum()))


def _ends(bounds: Range) -> tuple[Floats, Floats]:
    return bounds.low, bounds.high


def _label_boxes(s: _BoxBounds) -> Boxes:
    """Bounds of classes as bounds of their labels."""
    of = list(s.layout.of)
    if len(of) == s.classes:
        return Boxes(s.gold.cut(*_ends(s.sizes)), s.hits.cut(*_ends(s.right)), s.given)
    ranges = []
    for labels, classes in ((s.gold, s.sizes), (s.hits, s.right)):
        summed = Range(by_class(labels.low, s.layout)[:, of], by_class(labels.high, s.layout)[:, of])
        low = classes.low[:, of] - (summed.high - labels.high)
        ranges.append(labels.cut(low, classes.high[:, of] - (summed.low - labels.low)))
    return Boxes(ranges[0], ranges[1], s.given)


def _narrow_by_score(s: _BoxBounds, need: ScoreConstraint) -> np.ndarray:
    """Narrow by one score; returns which boxes can have it."""
    name, k = need.measure.name, need.measure.of
    if name == "label":
        low = need.low * s.gold.low[:, k]
        high = need.high * s.gold.high[:, k]
        s.hits.low[:, k] = np.maximum(s.hits.low[:, k], low)
        s.hits.high[:, k] = np.minimum(s.hits.high[:, k], high)
        return np.ones(len(low), bool)
    if name in ("accuracy", "micro_f1"):
        total = s.n
        if name == "micro_f1":
            answers = s.given.sum()
            total = Range((s.n.low + answers.low) / 2, (s.n.high + answers.high) / 2)
        _cut_total(s, need.low * total.low, need.high * total.high)
        return s.total.low <= s.total.high
    if name in ("kappa", "mcc"):
        return _narrow_by_chance(s, need)
    if name == "f1_of_averages":
        p, r = (
            Range(o.low.mean(axis=1), o.high.mean(axis=1))
            for o in (_ratio(s, "precision"), _ratio(s, "recall"))
        )
        least, most = (share(2 * x * y, x + y) for x, y in ((p.low, r.low), (p.high, r.high)))
        possible: np.ndarray = (most >= need.low) & (least <= need.high)
        return possible
    if need.measure.averaged is None:
        ends = np.full(s.given.low.shape, 0.0), np.full(s.given.low.shape, 1.0)
        ends[0][:, k], ends[1][:, k] = need.low, need.high
        _narrow_ratio(s, name, Range(*ends))
        ratios = _ratio(s, name)
        return (ratios.high[:, k] >= need.low) & (ratios.low[:, k] <= need.high)
    ratio, weighted = need.measure.averaged
    ratios = _ratio(s, ratio)
    if weighted:
        target, weights = Range(need.low * s.n.low, need.high * s.n.high), s.sizes
    else:
        unit = np.ones_like(s.sizes.low)
        size = np.full(len(unit), float(s.classes))
        target, weights = Range(need.low * size, need.high * size), Range(unit, unit)
        # each hit adds at least so much to a sum of ratios
        least = _least_gain_per_hit(s, ratio).min(axis=1)
        _cut_total(s, np.zeros_like(least), np.maximum(target.high, 0) / least)
    terms = ratios.times(weights)
    total = terms.sum()
    bounded_terms = terms.within_sum(target)
    least = share(bounded_terms.low, weights.high)
    most = np.where(weights.low > 0, share(bounded_terms.high, weights.low), 1.0)
    _narrow_ratio(s, ratio, Range(least, most))
    reached = (total.high >= target.low - SLACK) & (total.low <= target.high + SLACK)
    return reached & (s.total.low <= s.total.high)


def _cut_total(s: _BoxBounds, low: Floats, high: Floats) -> None:
    s.total = s.total.cut(np.ceil(low - WHOLE), np.floor(high + WHOLE))
    s.right = s.right.within_sum(s.total)


def _ratio(s: _BoxBounds, name: str) -> Range:
    """Bounds of recalls, precisions or F1s: each grows with the hits and falls with the items and answers."""
    t, n, g = s.right, s.sizes, s.given
    if name == "recall":
        return Range(share(t.low, n.high), share(t.high, np.maximum(n.low, t.high)))
    if name == "precision":
        return Range(share(t.low, g.high), share(t.high, np.maximum(g.low, t.high)))
    least = np.maximum(n.low, t.high) + np.maximum(g.low, t.high)
    return Range(share(2 * t.low, n.high + g.high), share(2 * t.high, least))


def _least_gain_per_hit(s: _BoxBounds, name: str) -> Floats:
    """The least that one hit can add to a ratio."""
    n, g = np.maximum(s.sizes.high, 1), np.maximum(s.given.high, 1)
    least: dict[str, Floats] = {"recall": 1 / n, "precision": 1 / g, "f1": 2 / (n + g)}
    return least[name]


def _narrow_ratio(s: _BoxBounds, name: str, at: Range) -> None:
    """Narrow hits, items and answers of classes by bounds of their ratios."""
    low, high = np.maximum(at.low - SLACK, 0.0), at.high + SLACK
    t, n, g = s.right, s.sizes, s.given

    def divided(part: Floats, by: Floats) -> Floats:
        ratios: Floats = np.divide(part, by, out=np.full(part.shape, HUGE), where=by > 0)
        return ratios

    if name == "recall":
        s.right = t.cut(low * n.low, high * n.high)
        if not s.layout.fixed:
            s.sizes = n.cut(np.where(t.low > 0, divided(t.low, high), 0), divided(t.high, low))
        return
    if name == "precision":
        s.right = t.cut(low * g.low, high * g.high)
        s.given = g.cut(np.where(t.low > 0, divided(t.low, high), 0), divided(t.high, low))
        return
    s.right = t.cut(low * (n.low + g.low) / 2, high * (n.high + g.high) / 2)
    least, most = np.where(t.low > 0, divided(2 * t.low, high), 0), divided(2 * t.high, low)
    s.given = g.cut(least - n.high, most - n.low)
    if not s.layout.fixed:
        s.sizes = n.cut(least - g.high, most - g.low)


def _narrow_by_chance(s: _BoxBounds, need: ScoreConstraint) -> np.ndarray:
    """Narrow by kappa or Matthews' correlation, which depend on the hits and on the sum of n_k g_k."""
    if not s.layout.fixed:
        return np.ones(len(s.n.low), bool)
    n, right, sizes = s.n.low, s.total, s.sizes.low
    product = _product_bounds(s)
    if need.measure.name == "kappa":
        low, high = need.low, need.high
        # kappa >= low: n right >= low n^2 + (1 - low) product, which falls in the product below 1
        total = Range(low * n + (1 - low) * product.low / n, np.full_like(n, np.inf))
        if high < 1:
            total = total.cut(-np.inf, high * n + (1 - high) * product.high / n)
            product = product.cut((n * right.low - high * n * n) / (1 - high), np.inf)
        if low < 1:
            product = product.cut(-np.inf, (n * right.high - low * n * n) / (1 - low))
    else:
        rows = n * n - (sizes**2).sum(axis=1)
        spread = Range(s.given.low**2, s.given.high**2).sum()
        columns = (
            np.maximum(n * n - spread.low, 0),
            np.maximum(n * n - spread.high - s.layout.missing[1] ** 2, 0),
        )
        root_low, root_high = (
            np.sign(need.low) * abs(need.low) ** 0.5,
            np.sign(need.high) * abs(need.high) ** 0.5,
        )
        most, least = np.sqrt(rows * columns[0]), np.sqrt(rows * columns[1])
        cross = Range(
            np.minimum(root_low * least, root_low * most), np.maximum(root_high * least, root_high * most)
        )
        eps = 1e-9 * n * n
        cross = Range(cross.low - eps, cross.high + eps)
        total = Range((cross.low + product.low) / n, (cross.high + product.high) / n)
        product = product.cut(n * right.low - cross.high, n * right.high - cross.low)
    _cut_total(s, total.low, total.high)
    terms = s.given.times(Range(sizes, sizes)).within_sum(Range(product.low - WHOLE, product.high + WHOLE))
    empty = sizes <= 0
    s.given = s.given.cut(
        np.where(empty, 0, share(terms.low, sizes)), np.where(empty, np.inf, share(terms.high, sizes))
    )
    return (product.low <= product.high + WHOLE) & (s.total.low <= s.total.high + WHOLE)


def _product_bounds(s: _BoxBounds) -> Range:
    """Bounds of the sum of n_k g_k, where the answers sum to the number of items less the missing ones."""
    sizes, (fewest, most) = s.sizes.low, s.layout.missing
    order = np.argsort(sizes[0])
    products = s.given.times(Range(sizes, sizes)).sum()
    low, high = products.low.copy(), products.high.copy()
    slack = s.n.low - most - s.given.low.sum(axis=1)
    for k in order:
        step = np.clip(slack, 0, s.given.high[:, k] - s.given.low[:, k])
        low, slack = low + step * sizes[:, k], slack - step
    excess = s.given.high.sum(axis=1) - (s.n.low - fewest)
    for k in order:
        step = np.clip(excess, 0, s.given.high[:, k] - s.given.low[:, k])
        high, excess = high - step * sizes[:, k], excess - step
    return Range(low, high)
