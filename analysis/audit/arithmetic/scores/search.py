"""Search for a confusion matrix of K classes that has published scores: exact, with a bound on work.

A walk over matrices finds one quickly where there are many. Branch and bound on boxes of matrices then finds
one or proves that there is none; where the bound on work is reached before, nothing is claimed. Matrices are
accepted in exact fractions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ....numerics.types import Floats
from ..numbers import Interval
from .gold_layout import ConfusionMatrix, GoldLayout
from .matrix_boxes import SLACK, Boxes, ScoreConstraint, narrow
from .measures import Measure, by_class, exact, values

LIMIT = 8_000  # boxes of one search
AHEAD = 400  # boxes that are looked at before the first walk
WAVE = 400  # boxes that are split together
FEW = 64  # boxes below which all are split again before they are narrowed
SMALL = 100_000  # matrices below which boxes alone are quick
STEPS = 60  # of one walk
TRIES = 160  # matrices of one step of a walk


@dataclass(frozen=True)
class MatrixSearch:
    """Scores in intervals that one confusion matrix is to have."""

    layout: GoldLayout
    needs: tuple[tuple[Measure, Interval], ...]  # of Matthews' correlation the interval of its signed square

    def fits(self, matrix: ConfusionMatrix) -> bool:
        """Whether a matrix exists and has all scores, in exact arithmetic."""
        return matrix.exists(self.layout) and all(
            exact(measure, matrix, self.layout) in at for measure, at in self.needs
        )


@dataclass(frozen=True)
class Search:
    """A matrix, or certainty that there is none, or neither."""

    matrix: ConfusionMatrix | None = None
    exhausted: bool = False


def search(problem: MatrixSearch, limit: int = LIMIT, *, walks: bool = True) -> Search:
    """One confusion matrix with the scores, or whether there is certainly none."""
    layout, needs = problem.layout, bounds(problem)
    boxes = narrow(Boxes.whole(layout), needs, layout)
    if not len(boxes):
        return Search(exhausted=True)
    generator = np.random.default_rng(1)
    root = boxes
    start = candidates(boxes, layout)
    walks &= float(np.prod(1 + boxes.ends[1] - boxes.ends[0])) > SMALL
    if walks and search(problem, min(AHEAD, limit), walks=False).exhausted:
        return Search(exhausted=True)  # most scores that cannot be are excluded before a walk has begun
    matrix = _walk(problem, root, start[0], generator) if walks else _exact(problem, start)
    n_boxes = 0
    while matrix is None:
        low, high = boxes.ends
        if not len(low):
            return Search(exhausted=True)
        if n_boxes >= limit:
            return Search()
        chosen = np.arange(len(low)) < WAVE
        halves = _halves(low[chosen], high[chosen], layout)
        while len(halves[0]) < FEW:
            halves = _halves(*halves, layout)
        n_boxes += len(halves[0])
        fresh = narrow(Boxes.from_ends(*halves, layout), needs, layout)
        ends = list(fresh.ends)
        starts = candidates(fresh, layout)
        gaps = distances(problem, starts)
        matrix = _exact(problem, starts[gaps <= SLACK])
        if walks and matrix is None and len(starts) and n_boxes < limit:
            matrix = _walk(problem, root, starts[int(gaps.argmin())], generator, STEPS // 4)
        settled = (ends[0] == ends[1]).all(axis=1)  # a box of one matrix, which does not fit
        order = np.argsort(gaps[~settled], kind="stable")
        ends = [end[~settled][order] for end in ends]
        boxes = Boxes.from_ends(
            np.vstack([ends[0], low[~chosen]]), np.vstack([ends[1], high[~chosen]]), layout
        )
    return Search(matrix)


def bounds(problem: MatrixSearch) -> list[ScoreConstraint]:
    """The scores in floating point; shares of a known number of items as the whole counts that they allow."""
    layout, new_needs = problem.layout, []
    for measure, at in problem.needs:
        need = ScoreConstraint.of(measure, at)
        total = _items(measure, layout)
        if total:
            counts = (at * total).integers()
            low, high = Fraction(4 * counts.start - 1, 4 * total), Fraction(4 * counts.stop - 3, 4 * total)
            need = ScoreConstraint(measure, float(low), float(high))
        new_needs.append(need)
    return new_needs


def _items(measure: Measure, layout: GoldLayout) -> int:
    """The known number of items of which a score is a share of hits, or 0."""
    if not layout.fixed:
        return 0
    if measure.name == "label":
        return layout.gold[measure.of][0]
    if measure.name == "recall":
        return layout.sizes[measure.of]
    share_of_all = measure.name == "accuracy" or (measure.name == "micro_f1" and not layout.missing[1])
    return layout.n[0] if share_of_all else 0


def _halves(low: Floats, high: Floats, layout: GoldLayout) -> tuple[Floats, Floats]:
    """Both halves of each box, cut at the count with the widest bounds relative to its class."""
    labels = np.array([most for _, most in layout.gold], dtype=float)
    scale = np.concatenate([labels, labels, np.array(layout.sizes, dtype=float)])
    at = np.argmax((high - low) / np.maximum(scale, 1), axis=1)
    rows = np.arange(len(low))
    cut = np.floor((low[rows, at] + high[rows, at]) / 2)
    first, second = high.copy(), low.copy()
    first[rows, at], second[rows, at] = cut, cut + 1
    return np.vstack([low, second]), np.vstack([first, high])


def candidates(boxes: Boxes, layout: GoldLayout) -> Floats:
    """A matrix near the middle of each box, shape (m, 2 labels + classes), whose sums agree."""
    low, high = boxes.ends
    r = len(layout.labels)
    middle = np.floor((low + high) / 2)
    gold = middle[:, :r]
    if not layout.fixed:
        gold = _repair_sums(gold, low[:, :r], high[:, :r], *layout.n)
    hits = np.minimum(middle[:, r : 2 * r], gold)
    n = gold.sum(axis=1)
    least = np.maximum(low[:, 2 * r :], by_class(hits, layout))
    most = np.maximum(high[:, 2 * r :], least)
    answers = np.clip(middle[:, 2 * r :], least, most)
    answers = _repair_sums(answers, least, most, n - layout.missing[1], n - layout.missing[0])
    return np.hstack([gold, hits, answers])


def _repair_sums(
    counts: Floats, low: Floats, high: Floats, least: Floats | int, most: Floats | int
) -> Floats:
    """Counts moved within their bounds until their sum is between two others, where it can be."""
    counts = counts.copy()
    total = counts.sum(axis=1)
    lack = np.maximum(least - total, 0) + np.minimum(most - total, 0)
    for k in range(counts.shape[1]):
        step = np.clip(lack, low[:, k] - counts[:, k], high[:, k] - counts[:, k])
        counts[:, k] += step
        lack = lack - step
    return counts


def closest(problem: MatrixSearch) -> tuple[ConfusionMatrix, float] | None:
    """A matrix with scores near the middles of their intervals, and the largest distance in widths."""
    root = Boxes.whole(problem.layout)
    low, high = (end[0] for end in root.ends)
    generator = np.random.default_rng(1)
    best = candidates(root, problem.layout)[0]
    distance = float(from_middles(problem, best[None])[0])
    for _ in range(2 * STEPS):
        tried = np.clip(best + moves(problem.layout, generator, TRIES), low, high)
        gaps = from_middles(problem, tried)
        at = int(gaps.argmin())
        if gaps[at] < distance:
            best, distance = tried[at], float(gaps[at])
    matrix = _as_matrix(best, problem.layout)
    return (matrix, distance) if matrix.exists(problem.layout) else None


def from_middles(problem: MatrixSearch, matrices: Floats) -> Floats:
    """The largest distance of a score from the middle of its interval, in widths, and breaches of sums."""
    r = len(problem.layout.labels)
    parts = matrices[:, :r], matrices[:, r : 2 * r], matrices[:, 2 * r :]
    gaps = np.zeros(len(matrices))
    for measure, at in problem.needs:
        low, high = float(at.lower), float(at.upper)
        away = np.abs(values(measure, *parts, problem.layout) - (low + high) / 2) / max(high - low, 1e-9)
        gaps = np.maximum(gaps, away)
    return gaps + 1e6 * breaches(problem, matrices)


def distances(problem: MatrixSearch, matrices: Floats) -> Floats:
    """How far scores are outside their intervals, in widths, and by how many items sums are wrong."""
    layout, r = problem.layout, len(problem.layout.labels)
    gold, hits, answers = matrices[:, :r], matrices[:, r : 2 * r], matrices[:, 2 * r :]
    gaps = np.zeros(len(matrices))
    for measure, at in problem.needs:
        value = values(measure, gold, hits, answers, layout)
        low, high = float(at.lower), float(at.upper)
        gaps += np.maximum(np.maximum(low - value, value - high) - SLACK, 0) / max(high - low, 1e-6)
    return np.asarray(gaps + breaches(problem, matrices))


def breaches(problem: MatrixSearch, matrices: Floats) -> Floats:
    """By how many items sums of matrices, and the conditions of their existence, are wrong."""
    layout, r = problem.layout, len(problem.layout.labels)
    gold, hits, answers = matrices[:, :r], matrices[:, r : 2 * r], matrices[:, 2 * r :]
    sizes, right = by_class(gold, layout), by_class(hits, layout)
    n = gold.sum(axis=1)
    missing = n - answers.sum(axis=1)
    wrong = (n - right.sum(axis=1))[:, None]
    total = np.maximum(sizes + answers - 2 * right - wrong, 0) + np.maximum(right - answers, 0)
    total = total.sum(axis=1) + np.maximum(hits - gold, 0).sum(axis=1)
    for value, (least, most) in ((missing, layout.missing), (n, layout.n)):
        total += np.maximum(least - value, 0) + np.maximum(value - most, 0)
    return np.asarray(total)


def _exact(problem: MatrixSearch, matrices: Floats) -> ConfusionMatrix | None:
    """The first matrix that fits in exact arithmetic."""
    integer_matrices = (_as_matrix(row, problem.layout) for row in matrices)
    return next((matrix for matrix in integer_matrices if problem.fits(matrix)), None)


def _as_matrix(counts: Floats, layout: GoldLayout) -> ConfusionMatrix:
    r, integers = len(layout.labels), tuple(int(count) for count in counts)
    return ConfusionMatrix(integers[:r], integers[r : 2 * r], integers[2 * r :])


def _walk(
    problem: MatrixSearch, root: Boxes, start: Floats, generator: np.random.Generator, steps: int = STEPS
) -> ConfusionMatrix | None:
    """Move from a matrix to the best of random neighbours until one fits."""
    low, high = (end[0] for end in root.ends)
    best = np.clip(start, low, high)
    distance = float(distances(problem, best[None])[0])
    for _ in range(steps):
        if distance <= SLACK:
            return _exact(problem, best[None])
        tried = np.clip(best + moves(problem.layout, generator, TRIES), low, high)
        gaps = distances(problem, tried)
        at = int(gaps.argmin())
        if gaps[at] < distance:
            best, distance = tried[at], float(gaps[at])
    return _exact(problem, best[None]) if distance <= SLACK else None


def moves(layout: GoldLayout, generator: np.random.Generator, m: int) -> Floats:
    """Random changes of hits and of answers to other classes, shape (m, 2 labels + classes)."""
    r, k = len(layout.labels), len(layout.classes)
    rows = np.arange(m)
    change = np.zeros((m, 2 * r + k))
    largest = max(np.log2(max(max(layout.sizes), 2)) - 1, 1)

    def size() -> Floats:
        return np.asarray(np.floor(2 ** generator.uniform(0, largest, m)) * generator.choice([-1, 1], m))

    kind = generator.integers(0, 4, m)
    step = size() * (kind != 1)
    change[rows, r + generator.integers(0, r, m)] += step
    back = generator.integers(0, r, m)
    change[rows, r + back] -= np.where(generator.random(m) < 0.5, step, size()) * (kind >= 2)
    step = size() * (kind != 0)
    change[rows, 2 * r + generator.integers(0, k, m)] += step
    closed = layout.missing[1] == 0
    change[rows, 2 * r + generator.integers(0, k, m)] -= step * (closed | (generator.random(m) < 0.7))
    if not layout.fixed:
        step = size() * (generator.random(m) < 0.5)
        change[rows, generator.integers(0, r, m)] += step
        change[rows, generator.integers(0, r, m)] -= step * (generator.random(m) < 0.7)
    return change
