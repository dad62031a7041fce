"""Log likelihood and gradient of the ordinal rater model, item qualities summed out; compiled by numba.

Ratings that one judge gave to one item form a cell, which items share where judge and ratings are alike (and
the stratum, for models, which may have biases). For each cell the probability is tabulated at the nodes of
one grid of qualities (and, for a judge with own effects of items, integrated over these at each node); each
item multiplies the rows of its cells, over the nodes around its stratum's mean quality. So exponentials are
taken once per judge and node, and items cost multiplications only. The nodes do not move with the parameters.
Functions of inner loops are inlined by numba: if called, they take half as long again for repeated ratings.

Quality is what people agree on: an item's contribution is the probability of the ratings by people, times,
for each model by itself, that of its rating given those by people. What models share with each other and not
with people therefore moves nothing (their ratings taken together would make a quality of their own of it).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ....numerics.types import Codes, Floats

_FAST = {"contract", "reassoc", "nsz", "arcp"}
# The square root of 1/2, and the normal density at 0.
_ROOT_HALF, _NORMAL = 0.7071067811865476, 0.3989422804014327
_TINY, _SMALL = 1e-300, 1e-7  # a product of both still differs from 0
_RESCALE = 8  # cells of an item between rescalings


@njit(cache=True, fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _tabulate(
    base: float, slope: float, nodes: Floats, cut: Floats, probit: bool, prob: Floats, density: Floats
) -> None:
    """Fill ``prob``, (K, Q), with categories' probabilities and ``density``, (K - 1, Q), with the link's."""
    # The nodes are evenly spaced, so a logistic link needs two exponentials for all of them.
    n_cut, n_nodes = len(cut), len(nodes)
    if probit:
        for k in range(n_cut):
            for q in range(n_nodes):
                x = cut[k] - base - slope * nodes[q]
                prob[k, q] = 0.5 * math.erfc(-x * _ROOT_HALF)
                density[k, q] = _NORMAL * math.exp(-0.5 * x * x)
        for q in range(n_nodes):
            prob[n_cut, q] = 0.5 * math.erfc((cut[n_cut - 1] - base - slope * nodes[q]) * _ROOT_HALF)
        for k in range(n_cut - 1, 0, -1):
            for q in range(n_nodes):
                if prob[k - 1, q] < 0.5:
                    prob[k, q] -= prob[k - 1, q]
                else:
                    above = 0.5 * math.erfc((cut[k - 1] - base - slope * nodes[q]) * _ROOT_HALF)
                    beyond = 0.5 * math.erfc((cut[k] - base - slope * nodes[q]) * _ROOT_HALF)
                    prob[k, q] = above - beyond
        return
    step = math.exp(_clipped(slope * (nodes[1] - nodes[0]) if n_nodes > 1 else 0.0, 12.0))
    rising = prob[n_cut]
    rising[0] = math.exp(_clipped(base + slope * nodes[0], 300.0))
    for q in range(1, n_nodes):
        rising[q] = rising[q - 1] * step
    for k in range(n_cut):
        falling = math.exp(-_clipped(cut[k], 100.0))
        for q in range(n_nodes):
            prob[k, q] = 1.0 / (1.0 + rising[q] * falling)
            density[k, q] = prob[k, q] * (rising[q] * falling * prob[k, q])
    lowest = math.exp(-_clipped(cut[n_cut - 1], 100.0))
    for k in range(n_cut - 1, 0, -1):
        gap = math.exp(-_clipped(cut[k - 1], 100.0)) - math.exp(-_clipped(cut[k], 100.0))
        for q in range(n_nodes):
            prob[k, q] *= (rising[q] * gap) * prob[k - 1, q]
    for q in range(n_nodes):
        rising[q] *= lowest
        rising[q] /= 1.0 + rising[q]


@njit(cache=True)  # type: ignore[untyped-decorator]
def _copy(source: Floats, target: Floats) -> None:
    for k in range(source.shape[0]):
        for q in range(source.shape[1]):
            target[k, q] = source[k, q]


@njit(cache=True)  # type: ignore[untyped-decorator]
def _clipped(value: float, most: float) -> float:
    return min(max(value, -most), most)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _middle(b: int, n_bumps: int) -> float:
    """Centre of a bump of the log density of qualities."""
    return -3.0 + 6.0 * b / (n_bumps - 1)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _bump(away: float, b: int, n_bumps: int) -> float:
    distance = away - _middle(b, n_bumps)
    return math.exp(-0.5 * distance * distance)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _log_weight(away: float, shape: Floats) -> float:
    """Log density of qualities, but for a constant."""
    value = -0.5 * away * away
    for b in range(len(shape)):
        value += shape[b] * _bump(away, b, len(shape))
    return value


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _log_likelihood_of_items(
    chance: Floats,
    mass: Floats,
    weights: Floats,
    begin: Codes,
    n_nodes: int,
    items: Floats,
    item_start: Codes,
    item_models: Codes,
    item_cell: Codes,
    item_weight: Floats,
    item_stratum: Codes,
) -> float:
    """Log likelihood of all items; ``mass``, flat as ``chance``, gets each cell's share of the nodes."""
    # `items`, shape (S, n_window), gets the expected items of each stratum at the nodes. Nothing but unsigned
    # offsets into flat arrays lets the compiler make vectors of the inner loops.
    width, n_window = np.uint64(n_nodes), np.uint64(weights.shape[1])
    post, share = np.empty(n_window), np.empty(n_window)
    value = 0.0
    for i in range(len(item_start) - 1):
        first, models, last = item_start[i], item_models[i], item_start[i + 1]
        stratum, weight = item_stratum[i], item_weight[i]
        offset = np.uint64(begin[stratum])
        prior = weights[stratum]
        at = first
        if (models - first) % 2 == 1:
            row = np.uint64(item_cell[at]) * width + offset
            for q in range(n_window):
                post[q] = prior[q] * chance[row + q]
            at += 1
        else:
            for q in range(n_window):
                post[q] = prior[q]
        while at < models:
            row = np.uint64(item_cell[at]) * width + offset
            second_row = np.uint64(item_cell[at + 1]) * width + offset
            for q in range(n_window):
                post[q] *= chance[row + q] * chance[second_row + q]
            at += 2
            if (at - first) % _RESCALE < 2:
                largest = _TINY
                for q in range(n_window):
                    largest = max(largest, post[q])
                value += weight * math.log(largest)
                for q in range(n_window):
                    post[q] /= largest
        total = 0.0
        for q in range(n_window):
            total += post[q]
        total = max(total, _TINY)
        likelihood_of_all = total
        by_people = weight * (1 - (last - models))
        for q in range(n_window):
            post[q] /= total
            share[q] = by_people * post[q]
        for at in range(models, last):
            row = np.uint64(item_cell[at]) * width + offset
            likelihood = 0.0
            for q in range(n_window):
                likelihood += post[q] * chance[row + q]
            likelihood = max(likelihood, _TINY)
            if likelihood_of_all < _SMALL:
                value += weight * math.log(likelihood_of_all)
                likelihood_of_all = 1.0
            likelihood_of_all *= likelihood
            factor = weight / likelihood
            for q in range(n_window):
                each = factor * post[q] * chance[row + q]
                share[q] += each
                mass[row + q] += each
        value += weight * math.log(likelihood_of_all)
        here = items[stratum]
        for q in range(n_window):
            here[q] += share[q]
        for at in range(first, models):
            row = np.uint64(item_cell[at]) * width + offset
            for q in range(n_window):
                mass[row + q] += share[q]
    return value


@njit(cache=True, fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _windows(centre: Floats, shape: Floats, step: float, n_window: int) -> tuple[Codes, Floats, Floats]:
    """First node of each stratum, (S,), all nodes, (Q,), and weights of strata at theirs, (S, n_window)."""
    begin = np.empty(len(centre), dtype=np.int64)
    least, most = np.int64(1 << 30), np.int64(-(1 << 30))
    for s in range(len(centre)):
        begin[s] = round(_clipped(centre[s], 20.0) / step) - n_window // 2
        least, most = min(least, begin[s]), max(most, begin[s])
    n_nodes = most - least + n_window
    nodes = np.empty(n_nodes)
    for q in range(n_nodes):
        nodes[q] = (q + least) * step
    weights = np.empty((len(centre), n_window))
    for s in range(len(centre)):
        begin[s] -= least
        for q in range(n_window):
            away = nodes[begin[s] + q] - centre[s]
            weights[s, q] = step * _NORMAL * math.exp(_log_weight(away, shape))
    return begin, nodes, weights


@njit(cache=True, fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _normalise(
    centre: Floats,
    shape: Floats,
    step: float,
    n_items: float,
    begin: Codes,
    nodes: Floats,
    expected_items: Floats,
) -> tuple[float, Floats, Floats]:
    """Log normaliser of qualities, of all items, and the slopes of the log likelihood by centre and shape."""
    n_bumps, n_window = len(shape), expected_items.shape[1]
    d_centre, d_shape = np.zeros_like(centre), np.zeros_like(shape)
    total, expected = 0.0, np.zeros(n_bumps)
    for q in range(n_window):
        away = (q - n_window // 2) * step
        here = step * _NORMAL * math.exp(_log_weight(away, shape))
        total += here
        for b in range(n_bumps):
            expected[b] += here * _bump(away, b, n_bumps)
    for b in range(n_bumps):
        d_shape[b] = -n_items * expected[b] / total
    for s in range(len(centre)):
        for q in range(n_window):
            away = nodes[begin[s] + q] - centre[s]
            d_centre[s] += expected_items[s, q] * away
            for b in range(n_bumps):
                bump = _bump(away, b, n_bumps)
                d_shape[b] += expected_items[s, q] * bump
                d_centre[s] += expected_items[s, q] * shape[b] * bump * (away - _middle(b, n_bumps))
    return n_items * math.log(total), d_centre, d_shape


@njit(cache=True)  # type: ignore[untyped-decorator]
def _inner(r: int, inner_nodes: Floats, inner_weights: Floats, wide: float) -> tuple[float, float]:
    """Node and weight of the integral over own effects of items; one node at 0 for a judge without."""
    return (inner_nodes[r], inner_weights[r]) if wide != 0.0 else (0.0, 1.0)


@njit(cache=True, inline="always", fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _add_chances(
    prob: Floats, first: int, last: int, rating_start: Codes, rating: Codes, weight: float, chance: Floats
) -> None:
    """Add the probability of the ratings of cells ``first`` to ``last``, times a weight, to ``chance``."""
    product = np.empty(prob.shape[1])
    for c in range(first, last):
        for q in range(len(product)):
            product[q] = weight
        for at in range(rating_start[c], rating_start[c + 1]):
            row = prob[rating[at]]
            for q in range(len(product)):
                product[q] *= row[q]
        sums = chance[c]
        for q in range(len(product)):
            sums[q] += product[q]


@njit(cache=True, inline="always", fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _slope_at_threshold(
    part: Floats, density: Floats, prob: Floats, is_simple: bool, sign: float, d_eta: Floats
) -> float:
    """Slope of the log likelihood by a threshold of a rating; ``d_eta``, (Q,), gets that by the predictor."""
    total = 0.0
    for q in range(len(part)):
        each = part[q] * density[q]
        if not is_simple:
            each /= max(prob[q], _TINY)
        total += each
        d_eta[q] += sign * each
    return total


@njit(cache=True, inline="always", fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def _add_slopes_by_thresholds(
    part: Floats,
    ratings: Codes,
    density: Floats,
    prob: Floats,
    is_simple: bool,
    d_cut: Floats,
    d_eta: Floats,
) -> float:
    """Add the slopes of a cell's ratings to ``d_cut``, (K - 1,), and ``d_eta``; return that by the base."""
    steep = 0.0
    for k in ratings:
        if k < len(density):
            total = _slope_at_threshold(part, density[k], prob[k], is_simple, -1.0, d_eta)
            d_cut[k] += total
            steep -= total
        if k > 0:
            total = _slope_at_threshold(part, density[k - 1], prob[k], is_simple, 1.0, d_eta)
            d_cut[k - 1] -= total
            steep += total
    return steep


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")  # type: ignore[untyped-decorator]
def log_likelihood(
    slope: Floats,
    shift: Floats,
    own_sd: Floats,
    cut: Floats,
    centre: Floats,
    shape: Floats,
    inner_nodes: Floats,
    inner_weights: Floats,
    pair_judge: Codes,
    pair_stratum: Codes,
    pair_group: Codes,
    cell_start: Codes,
    rating_start: Codes,
    rating: Codes,
    item_start: Codes,
    item_models: Codes,
    item_cell: Codes,
    item_weight: Floats,
    item_stratum: Codes,
    step: float,
    n_window: int,
    probit: bool,
) -> tuple[Any, Floats, Floats, Floats, Floats, Floats, Floats]:
    """Log likelihood of all ratings and its gradient."""
    begin, nodes, weights = _windows(centre, shape, step, n_window)
    n_pairs, n_cut, n_cells, n_nodes = len(pair_judge), cut.shape[1], len(rating_start) - 1, len(nodes)
    chance, mass = np.zeros((n_cells, n_nodes)), np.zeros((n_cells, n_nodes))
    prob, density = np.empty((n_cut + 1, n_nodes)), np.empty((n_cut, n_nodes))
    densities = np.empty((n_pairs, n_cut, n_nodes))
    for p in range(n_pairs):
        judge, group = pair_judge[p], pair_group[p]
        base, wide = shift[judge, pair_stratum[p]], own_sd[group]
        for r in range(len(inner_nodes) if wide != 0.0 else 1):
            u, w = _inner(r, inner_nodes, inner_weights, wide)
            _tabulate(base + wide * u, slope[judge], nodes, cut[group], probit, prob, density)
            _add_chances(prob, cell_start[p], cell_start[p + 1], rating_start, rating, w, chance)
        _copy(density, densities[p])

    expected_items = np.zeros((len(centre), n_window))
    value = _log_likelihood_of_items(
        chance.ravel(), mass.ravel(), weights, begin, n_nodes, expected_items,
        item_start, item_models, item_cell, item_weight, item_stratum,
    )  # fmt: skip
    log_total, d_centre, d_shape = _normalise(
        centre, shape, step, item_weight.sum(), begin, nodes, expected_items
    )

    d_slope, d_shift = np.zeros_like(slope), np.zeros_like(shift)
    d_own_sd, d_cut = np.zeros_like(own_sd), np.zeros_like(cut)
    d_eta, part = np.empty(n_nodes), np.empty(n_nodes)
    for p in range(n_pairs):
        judge, group, stratum = pair_judge[p], pair_group[p], pair_stratum[p]
        wide, first, last = own_sd[group], cell_start[p], cell_start[p + 1]
        is_simple = wide == 0.0 and rating_start[last] - rating_start[first] == last - first
        for q in range(n_nodes):
            d_eta[q] = 0.0
        for r in range(len(inner_nodes) if wide != 0.0 else 1):
            u, w = _inner(r, inner_nodes, inner_weights, wide)
            if not is_simple:
                base = shift[judge, stratum] + wide * u
                _tabulate(base, slope[judge], nodes, cut[group], probit, prob, density)
                _copy(density, densities[p])
            for c in range(first, last):
                ratings = rating[rating_start[c] : rating_start[c + 1]]
                for q in range(n_nodes):
                    part[q] = mass[c, q] / max(chance[c, q], _TINY)
                if not is_simple:
                    for q in range(n_nodes):
                        part[q] *= w
                    for k in ratings:
                        row = prob[k]
                        for q in range(n_nodes):
                            part[q] *= row[q]
                steep = _add_slopes_by_thresholds(
                    part, ratings, densities[p], prob, is_simple, d_cut[group], d_eta
                )
                d_own_sd[group] += steep * u
        for q in range(n_nodes):
            d_slope[judge] += d_eta[q] * nodes[q]
            d_shift[judge, stratum] += d_eta[q]
    return value - log_total, d_slope, d_shift, d_own_sd, d_cut, d_centre, d_shape
