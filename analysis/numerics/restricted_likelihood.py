"""The restricted likelihood of items x raters, both random. Arrays in, arrays out.

One rating a cell of items x raters, any cells missing: ``y = mean + item + rater + residual``, all random.
Items are eliminated in closed form, so that one evaluation costs a factorisation of raters x raters, and a
bootstrap sample enters through sums over items only.

References
----------
Patterson, H. D., & Thompson, R. (1971). Recovery of inter-block information when block sizes are unequal.
Biometrika 58(3), 545-554. doi:10.1093/biomet/58.3.545
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_array

from .types import Codes, Floats

LARGEST = 100.0  # relative standard deviation beyond which a likelihood is flat
ZERO = 1e-4  # relative standard deviation taken as none
NEAR_ZERO = 0.05  # below it Newton steps are not to be trusted
DIFFERENCE = 1e-4  # step of central differences of the slope
NEWTON_STEPS = 8  # all with one curvature; where they do not suffice, the fit descends instead
ENOUGH = 1e-3  # of deviance
BLOCK = 2_000_000  # sums of samples held at once
SPARSE = 0.1  # share of all cells of items x raters below which pairs of ratings are listed


@dataclass(frozen=True)
class LikelihoodSums:
    """What the likelihood needs of a sample of items rated by J raters."""

    size: Floats  # (s,): the numbers of ratings of an item that occur
    items: Floats  # (s,): items with each number of ratings
    item_squares: Floats  # (s,): sum over these items of the squared sum of their ratings
    item_sums: Floats  # (s,): sum of their ratings
    together: Floats  # (s, J, J): how often two raters rated one of these items
    # (s, J): of each rater, the sums of all ratings of the items that he or she rated
    rater_item_sums: Floats
    rater_sums: Floats  # (J,): sums of ratings of each rater
    squares: float  # sum of squared ratings

    @cached_property
    def rater_counts(self) -> Floats:
        """Ratings of each rater, by how many ratings their items have, shape (s, J)."""
        return np.diagonal(self.together, axis1=1, axis2=2).copy()


@dataclass(frozen=True)
class PanelRatings:
    """The ratings of a panel, arranged for `sums_of`."""

    sizes: Floats  # (s,): the numbers of ratings of an item that occur
    n_raters: int
    # (sums, I): what an item adds to each sum, those of `LikelihoodSums` from ``items`` to ``squares``, then
    # pairs of raters of one item of a class
    linear: csr_array
    # (P,): positions among class x rater x rater of these pairs and of the same ones turned; empty where
    # ``rated`` is not
    pairs: tuple[Codes, Codes]
    # Who rated each item, (I, J), items by class; and where each class starts, (s + 1,). Where few raters
    # rate an item, empty.
    rated: Floats
    by_class: Codes  # (I,): the items in that order
    starts: Codes


def cells_of(item: Codes, rater: Codes, value: Floats, shape: tuple[int, int], crossed: bool) -> PanelRatings:
    """Arrange n ratings of I items by J raters, ``shape``; without ``crossed`` raters count as one."""
    n_items, j = shape[0], shape[1] if crossed else 1
    rater = rater if crossed else np.zeros_like(rater)
    value = (value - value.mean()) / (value.std() or 1.0)
    total = np.bincount(item, value, minlength=n_items)
    per_item = np.bincount(item, minlength=n_items)
    sizes, class_of = np.unique(per_item, return_inverse=True)
    by_class = np.argsort(class_of, kind="stable")
    s = len(sizes)
    rated = np.zeros((0, j))
    first = second = item[:0]
    if crossed and len(item) > SPARSE * n_items * j:
        rated = np.zeros((n_items, j))
        rated[np.argsort(by_class)[item], rater] = 1.0
    elif crossed:
        first, second = _ordered_pairs(item, per_item)
        upward = rater[first] <= rater[second]
        first, second = first[upward], second[upward]
    codes = (class_of[item[first]] * j + rater[first]) * j + rater[second]
    pairs, pair = np.unique(codes, return_inverse=True)
    every, mine = np.arange(n_items), class_of[item]
    terms = (  # of each sum: its number, the item, and what that adds
        (class_of, every, np.ones(n_items)),
        (s + class_of, every, total**2),
        (2 * s + class_of, every, total),
        (3 * s + mine * j + rater, item, total[item]),
        (3 * s + s * j + rater, item, value),
        (np.full(len(item), 3 * s + s * j + j), item, value**2),
        (3 * s + s * j + j + 1 + pair, item[first], np.ones(len(first))),
    )
    row, column, added = (np.concatenate(part) for part in zip(*terms, strict=True))
    n_sums = 3 * s + s * j + j + 1 + len(pairs)
    return PanelRatings(
        sizes=sizes.astype(float),
        n_raters=j,
        linear=csr_array((added, (row, column)), shape=(n_sums, n_items)),
        pairs=(pairs, (pairs // (j * j) * j + pairs % j) * j + pairs // j % j),
        rated=rated,
        by_class=by_class.astype(np.int64),
        starts=np.searchsorted(class_of[by_class], np.arange(s + 1)),
    )


def _ordered_pairs(item: Codes, counts: Codes) -> tuple[Codes, Codes]:
    """Positions of two ratings of one item: every ordered pair, each rating with itself too."""
    order = np.argsort(item, kind="stable")
    start = np.cumsum(counts) - counts
    sizes = counts[item[order]]
    first = np.repeat(order, sizes)
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    return first, order[np.repeat(start[item[order]], sizes) + within]


def sums_of(cells: PanelRatings, weights: Floats) -> Iterator[LikelihoodSums]:
    """Sums over each of b samples, from how often items count in them, shape (b, I)."""
    s, j = len(cells.sizes), cells.n_raters
    ends = np.cumsum([s, s, s, s * j, j, 1])
    size = max(1, BLOCK // cells.linear.shape[0])
    for part in np.array_split(weights, range(size, len(weights), size)):
        totals = np.ascontiguousarray((cells.linear @ np.ascontiguousarray(part.T, dtype=float)).T)
        for counts, sums in zip(part, totals, strict=True):
            items, item_squares, item_sums, of_raters, rater_sums, squares, pairs = np.split(sums, ends)
            yield LikelihoodSums(
                size=cells.sizes,
                items=items,
                item_squares=item_squares,
                item_sums=item_sums,
                together=_together(cells, counts, pairs),
                rater_item_sums=of_raters.reshape(s, j),
                rater_sums=rater_sums,
                squares=float(squares[0]),
            )


def _together(cells: PanelRatings, weights: Floats, pairs: Floats) -> Floats:
    """How often two raters rated one item of each class, shape (s, J, J), from weights or counted pairs."""
    s, j = len(cells.sizes), cells.n_raters
    result = np.zeros((s, j, j))
    if not len(cells.rated):
        for code in cells.pairs:
            result.reshape(-1)[code] = pairs
        return result
    ordered = weights[cells.by_class][:, None]
    for number, (start, end) in enumerate(pairwise(cells.starts)):
        rated = cells.rated[start:end]
        np.matmul((rated * ordered[start:end]).T, rated, out=result[number])
    return result


@dataclass(frozen=True)
class Likelihood:
    """Restricted deviance, its slopes in the variances of items and raters, and residual variance."""

    deviance: float
    slopes: tuple[float, float]
    residual: float


@dataclass(frozen=True)
class _WithoutItems:
    """What is left of a sample once items are eliminated, and of raters ``A = I + rater Z'H^-1 Z``."""

    # With `V` the covariance of ratings over the residual variance and `H` its part without raters, all
    # follows from `A` and from products with the columns of ones and ratings.
    shrink: Floats  # (s,): of the items with each number of ratings
    products: Floats  # (2, 2, s): sums over these items of products of both columns
    form: Floats  # (2, 2): both columns by V^-1
    lower: Floats  # (J, J): the Cholesky factor of A; (0, 0) where raters do not vary
    solved: Floats  # (J, 2): A^-1 Z'H^-1 by both columns

    @staticmethod
    def of(sums: LikelihoodSums, item: float, rater: float) -> _WithoutItems:
        """Eliminate items whose variance, and that of raters, are relative to the residual one."""
        shrink = 1 / (1 + sums.size * item)
        part = item * shrink
        products = np.array([[sums.items * sums.size**2, sums.item_sums * sums.size], [sums.item_sums *
                             sums.size, sums.item_squares]])  # fmt: skip
        total = sums.item_sums.sum()
        form = np.array([[sums.items @ sums.size, total], [total, sums.squares]]) - products @ part
        if not rater > 0:
            return _WithoutItems(shrink, products, form, np.zeros((0, 0)), np.zeros((0, 2)))
        s, j = sums.rater_item_sums.shape
        design = (part @ sums.together.reshape(s, j * j)).reshape(j, j)
        design *= -rater
        design.reshape(-1)[:: j + 1] += 1 + rater * sums.rater_counts.sum(axis=0)
        lower, _ = lapack.dpotrf(design.T, lower=1, overwrite_a=1)  # symmetric
        sides = np.stack([shrink @ sums.rater_counts, sums.rater_sums - part @ sums.rater_item_sums], axis=1)
        solved, _ = lapack.dpotrs(lower, sides, lower=1)
        return _WithoutItems(shrink, products, form - rater * sides.T @ solved, lower, solved)

    @property
    def mean(self) -> float:
        """The mean rating, by generalised least squares."""
        return float(self.form[0, 1] / self.form[0, 0])

    def residual(self, n: float) -> float:
        """The residual variance of a sample of n ratings."""
        return max(float(self.form[1, 1] - self.mean * self.form[0, 1]) / (n - 1), 1e-300)


def likelihood(sums: LikelihoodSums, item: float, rater: float) -> Likelihood:
    """The likelihood where items and raters have these variances, relative to the residual one."""
    n = float(sums.items @ sums.size)
    reduced = _WithoutItems.of(sums, item, rater)
    shrink, form, lower, solved = reduced.shrink, reduced.form, reduced.lower, reduced.solved
    mean, residual = reduced.mean, reduced.residual(n)
    determinant = float(sums.items @ np.log1p(sums.size * item))
    by_item = float((sums.items * sums.size) @ shrink)
    by_rater = 0.0
    squares = reduced.products @ shrink**2  # sums over items of products of what V^-1 makes of both columns
    if rater > 0:
        s, j = sums.rater_item_sums.shape
        determinant += 2 * float(np.log(np.diagonal(lower)).sum())
        half = lapack.dpotri(lower, lower=1)[0].T.reshape(-1)  # of the inverse of A; the rest is zero
        diagonal = half[:: j + 1]
        common = shrink**2 @ sums.together.reshape(s, j * j)
        item_sides = np.stack(
            [(shrink**2 * sums.size) @ sums.rater_counts, shrink**2 @ sums.rater_item_sums], axis=1
        )
        cross = rater * solved.T @ item_sides
        squares = squares - cross - cross.T + rater**2 * solved.T @ common.reshape(j, j) @ solved
        by_item -= rater * float(2 * half @ common - diagonal @ common[:: j + 1])
        by_rater = (j - float(diagonal.sum())) / rater
    rater_squares = solved.T @ solved

    def slope(of_determinant: float, moved: Floats) -> float:
        weighted_squares = moved[1, 1] - 2 * mean * moved[0, 1] + mean**2 * moved[0, 0]
        return float(of_determinant - moved[0, 0] / form[0, 0] - weighted_squares / residual)

    deviance = (n - 1) * float(np.log(residual)) + determinant + float(np.log(form[0, 0]))
    return Likelihood(deviance, (slope(by_item, squares), slope(by_rater, rater_squares)), residual)


def _loss(sums: LikelihoodSums, theta: Floats) -> tuple[float, Floats]:
    """Deviance and its gradient at relative standard deviations of items and, if there are two, raters."""
    result = likelihood(sums, theta[0] ** 2, theta[1] ** 2 if len(theta) > 1 else 0.0)
    return result.deviance, 2 * theta * np.array(result.slopes)[: len(theta)]


def fit(sums: LikelihoodSums, crossed: bool, start: Floats | None = None) -> Floats:
    """Relative standard deviations at the greatest restricted likelihood, shape (1,) or (2,)."""
    # Those of items and, where they are `crossed` with items, of raters. With a `start`, such as the fit of a
    # similar sample, they are right up to a small part of their standard errors.
    precise = start is None
    first = np.array([1.0, 0.2]) if start is None else np.maximum(start, NEAR_ZERO)
    alone = _descend(sums, first[:1], precise)
    if not crossed:
        return alone
    without = likelihood(sums, float(alone[0] ** 2), ZERO**2)
    if without.slopes[1] >= 0 and alone[0] > 0:
        return np.append(alone, 0.0)
    return _descend(sums, np.array([max(alone[0], NEAR_ZERO), first[1]]), precise)


def _descend(sums: LikelihoodSums, start: Floats, precise: bool) -> Floats:
    """Go down from a start; where a value ends at zero, where there is no slope, from a small one too."""
    optimum = _minimum(sums, start, precise)
    if (optimum.x < ZERO).any():
        restart = _minimum(sums, np.where(optimum.x < ZERO, 0.1, optimum.x), precise)
        optimum = min(optimum, restart, key=lambda solution: float(solution.fun))
    return np.where(optimum.x < ZERO, 0.0, optimum.x)


def _minimum(sums: LikelihoodSums, start: Floats, precise: bool) -> Any:
    options: Any = {"ftol": 1e-14, "gtol": 1e-6} if precise else {"ftol": 1e-8, "gtol": 0.1}
    loss: Any = partial(_loss, sums)
    bounds = [(0.0, LARGEST)] * len(start)
    from scipy.optimize import minimize  # slow to import, and most coefficients need none

    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


@dataclass(frozen=True)
class Refit:
    """How samples like one that was fitted are fitted fast: Newton steps with its curvature."""

    theta: Floats  # (1,): relative standard deviations in the sample itself
    inverse: Floats  # (1, 1): inverse of the second derivatives of the deviance there

    @staticmethod
    def at(sums: LikelihoodSums, theta: Floats) -> Refit:
        """Measure the curvature of the deviance at its least value."""
        steps = DIFFERENCE * np.eye(len(theta))
        slopes = [(_loss(sums, theta + step)[1] - _loss(sums, theta - step)[1]) for step in steps]
        curvature = np.array(slopes) / (2 * DIFFERENCE)
        return Refit(theta, np.asarray(np.linalg.pinv((curvature + curvature.T) / 2)))

    def __call__(self, sums: LikelihoodSums) -> Floats:
        """Fit a sample up to a small part of its standard errors; by descent where steps do not get there."""
        theta = self.theta.copy()
        if (theta > NEAR_ZERO).all():
            for _ in range(NEWTON_STEPS):
                slope = _loss(sums, theta)[1]
                step = self.inverse @ slope
                if abs(slope @ step) < ENOUGH:
                    return theta - step
                theta = theta - step
                if not ((theta > NEAR_ZERO) & (theta < LARGEST)).all():
                    break
        return fit(sums, len(theta) > 1, self.theta)


def variances_at(sums: LikelihoodSums, theta: Floats) -> Floats:
    """Variances of items, raters and residual, shape (3,), at relative standard deviations."""
    item, rater = float(theta[0] ** 2), float(theta[1] ** 2) if len(theta) > 1 else 0.0
    residual = _WithoutItems.of(sums, item, rater).residual(float(sums.items @ sums.size))
    return np.array([item, rater, 1.0]) * residual
