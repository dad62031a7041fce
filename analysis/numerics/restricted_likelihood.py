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

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .types import Codes, Floats

LARGEST = 100.0  # relative standard deviation beyond which a likelihood is flat
ZERO = 1e-4  # relative standard deviation taken as none
NEAR_ZERO = 0.05  # below it Newton steps are not to be trusted
DIFFERENCE = 1e-4  # step of central differences of the slope
NEWTON_STEPS = 8  # all with one curvature; where they do not suffice, the fit descends instead
ENOUGH = 1e-3  # of deviance
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


@dataclass(frozen=True)
class PanelRatings:
    """The ratings of a panel, arranged for `sums_of`: centred values and pairs of ratings of one item."""

    # item, rater, value, total: (n,): of each rating; ``total`` is the sum of all ratings of its item
    item: Codes
    rater: Codes
    value: Floats
    total: Floats
    class_of: Codes  # (I,): position of an item's number of ratings in ``size``
    sizes: Floats  # (s,)
    # Who rated each item, (I, J), items by class; and where each class starts, (s + 1,). Where few raters
    # rate an item, empty.
    rated: Floats
    by_class: Codes  # (I,): the items in that order
    starts: Codes
    # pair_item, pair_code: (sum of squared numbers of ratings,): item, and position among class x rater x
    # rater, of each ordered pair of ratings of an item; empty where ``rated`` is not
    pair_item: Codes
    pair_code: Codes
    n_items: int
    n_raters: int


def _totals(code: Codes, weights: Floats, size: int) -> Floats:
    """Sum of weights by code, shape (size,)."""
    return np.asarray(np.bincount(code, weights, minlength=size), dtype=float)


def cells_of(item: Codes, rater: Codes, value: Floats, shape: tuple[int, int], crossed: bool) -> PanelRatings:
    """Arrange n ratings of I items by J raters, ``shape``; without ``crossed`` raters count as one."""
    n_items, n_raters = shape[0], shape[1] if crossed else 1
    rater = rater if crossed else np.zeros_like(rater)
    value = (value - value.mean()) / (value.std() or 1.0)
    total = _totals(item, value, n_items)
    per_item = np.bincount(item, minlength=n_items)
    sizes, class_of = np.unique(per_item, return_inverse=True)
    by_class = np.argsort(class_of, kind="stable")
    rated = np.zeros((0, n_raters))
    first = second = item[:0]
    if crossed and len(item) > SPARSE * n_items * n_raters:
        rated = np.zeros((n_items, n_raters))
        rated[np.argsort(by_class)[item], rater] = 1.0
    elif crossed:
        first, second = _ordered_pairs(item, per_item)
    code = (class_of[item[first]] * n_raters + rater[first]) * n_raters + rater[second]
    return PanelRatings(
        item=item,
        rater=rater,
        value=value,
        total=total[item],
        class_of=class_of.astype(np.int64),
        sizes=sizes.astype(float),
        rated=rated,
        by_class=by_class.astype(np.int64),
        starts=np.searchsorted(class_of[by_class], np.arange(len(sizes) + 1)),
        pair_item=item[first],
        pair_code=code,
        n_items=n_items,
        n_raters=n_raters,
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


def sums_of(cells: PanelRatings, weights: Floats) -> LikelihoodSums:
    """Sums over a sample, from how often each item counts in it, shape (I,)."""
    s, j = len(cells.sizes), cells.n_raters
    of_rating = weights[cells.item]
    sums = np.zeros(cells.n_items)
    sums[cells.item] = cells.total
    code = cells.class_of[cells.item] * j + cells.rater
    return LikelihoodSums(
        size=cells.sizes,
        items=_totals(cells.class_of, weights, s),
        item_squares=_totals(cells.class_of, weights * sums**2, s),
        item_sums=_totals(cells.class_of, weights * sums, s),
        together=_together(cells, weights),
        rater_item_sums=_totals(code, of_rating * cells.total, s * j).reshape(s, j),
        rater_sums=_totals(cells.rater, of_rating * cells.value, j),
        squares=float(of_rating @ cells.value**2),
    )


def _together(cells: PanelRatings, weights: Floats) -> Floats:
    """How often two raters rated one item of each class, shape (s, J, J)."""
    s, j = len(cells.sizes), cells.n_raters
    if not len(cells.rated):
        return _totals(cells.pair_code, weights[cells.pair_item], s * j * j).reshape(s, j, j)
    result = np.empty((s, j, j))
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


def likelihood(sums: LikelihoodSums, item: float, rater: float) -> Likelihood:
    """The likelihood where items and raters have these variances, relative to the residual one."""
    # With `V` the covariance of ratings over the residual variance, `H` its part without raters and `A = I +
    # rater Z'H^-1 Z`, all follows from `A` and from products with the columns of ones and ratings.
    n = float(sums.items @ sums.size)
    shrink = 1 / (1 + sums.size * item)
    part = item * shrink
    products = np.array([[sums.items * sums.size**2, sums.item_sums * sums.size], [sums.item_sums * sums.size,
                         sums.item_squares]])  # fmt: skip
    crude = np.array([[n, sums.item_sums.sum()], [sums.item_sums.sum(), sums.squares]])
    form = crude - products @ part
    determinant = float(sums.items @ np.log1p(sums.size * item))
    by_item = float((sums.items * sums.size) @ shrink)
    by_rater = 0.0
    squares = products @ shrink**2  # sums over items of products of what V^-1 makes of both columns
    if rater > 0:
        rater_counts = np.diagonal(sums.together, axis1=1, axis2=2)
        design = np.diag(rater_counts.sum(axis=0)) - np.tensordot(part, sums.together, axes=1)
        sides = np.stack([shrink @ rater_counts, sums.rater_sums - part @ sums.rater_item_sums], axis=1)
        lower, _ = lapack.dpotrf(np.eye(len(design)) + rater * design, lower=1)
        determinant += 2 * float(np.log(np.diag(lower)).sum())
        half, _ = lapack.dpotri(lower, lower=1)
        inverse = half + np.tril(half, -1).T
        solved = inverse @ sides
        form = form - rater * sides.T @ solved
        common = np.tensordot(shrink**2, sums.together, axes=1)
        item_sides = np.stack(
            [(shrink**2 * sums.size) @ rater_counts, shrink**2 @ sums.rater_item_sums], axis=1
        )
        cross = rater * solved.T @ item_sides
        squares = squares - cross - cross.T + rater**2 * solved.T @ common @ solved
        by_item -= rater * float((inverse * common).sum())
        by_rater = (len(design) - float(np.trace(inverse))) / rater
        rater_squares = solved.T @ solved
    else:
        rater_squares = np.zeros((2, 2))
    mean = form[0, 1] / form[0, 0]
    residual = max((form[1, 1] - mean * form[0, 1]) / (n - 1), 1e-300)

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
    return np.array([item, rater, 1.0]) * likelihood(sums, item, rater).residual
