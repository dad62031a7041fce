"""Variance components of crossed random factors. Arrays in, arrays out.

A term is a set of factors, as a tuple of their positions; the last variance is that of the residual. With one
observation a cell, the interaction of all factors is part of the residual.

References
----------
Brennan, R. L. (2001). Generalizability Theory. Springer. doi:10.1007/978-1-4757-3456-0
Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical Association
88(423), 899-905. doi:10.1080/01621459.1993.10476355
Hamada, M., Weerahandi, S. (2000). Measurement system assessment via generalized inference. Journal of Quality
Technology 32(3), 241-253. doi:10.1080/00224065.2000.11980000
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .types import Codes, Floats

Term = tuple[int, ...]


def terms_of(n_factors: int, replicated: bool) -> list[Term]:
    """Main effects and interactions, by size; that of all factors only where cells are replicated."""
    most = n_factors if replicated else n_factors - 1
    return [term for size in range(1, most + 1) for term in combinations(range(n_factors), size)]


@dataclass(frozen=True)
class Anova:
    """Mean squares of a balanced crossed design, by term, the residual's last."""

    mean_square: Floats  # (T + 1,)
    df: Floats  # (T + 1,)


def is_balanced(codes: Codes, sizes: Sequence[int]) -> bool:
    """Whether every cell of n observations, codes (n, F), has the same number of observations."""
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T), tuple(sizes)), minlength=int(np.prod(sizes)))
    return bool((counts == counts[0]).all())


def anova(codes: Codes, sizes: Sequence[int], values: Floats) -> Anova:
    """Mean squares of a balanced design, from codes (n, F) and values (n,)."""
    n_factors, n = len(sizes), len(values)
    cell = np.ravel_multi_index(tuple(codes.T), tuple(sizes))
    replicates = n // int(np.prod(sizes))
    centred = values - values.mean()
    means = np.bincount(cell, centred, int(np.prod(sizes))).reshape(sizes) / replicates
    all_terms = terms_of(n_factors, replicated=True)
    raw: dict[Term, float] = {(): 0.0}
    for term in all_terms:
        axes = tuple(k for k in range(n_factors) if k not in term)
        margin = means.mean(axis=axes)
        raw[term] = float((margin**2).sum()) * n / margin.size
    squares = {
        term: sum(
            (-1) ** (len(term) - size) * raw[part]
            for size in range(len(term) + 1)
            for part in combinations(term, size)
        )
        for term in all_terms
    }
    df = {term: float(np.prod([sizes[k] - 1 for k in term])) for term in all_terms}
    terms = terms_of(n_factors, replicates > 1)
    if replicates > 1:
        residual, residual_df = float(centred @ centred) - raw[all_terms[-1]], float(n - means.size)
    else:
        residual, residual_df = squares[all_terms[-1]], df[all_terms[-1]]
    sums = np.array([*(squares[term] for term in terms), residual])
    freedom = np.array([*(df[term] for term in terms), residual_df])
    return Anova(np.maximum(sums, 0.0) / freedom, freedom)


def expected_mean_squares(terms: Sequence[Term], per_level: Sequence[float]) -> Floats:
    """Matrix (T + 1, T + 1) that turns variances of terms and residual into expected mean squares."""
    # `per_level` (T,) has the observations of a level of each term.
    matrix = np.zeros((len(terms) + 1, len(terms) + 1))
    matrix[:, -1] = 1.0
    for row, row_term in enumerate(terms):
        for column, column_term in enumerate(terms):
            if set(row_term) <= set(column_term):
                matrix[row, column] = per_level[column]
    return matrix


@dataclass(frozen=True)
class TermLayout:
    """How n observations lie on the levels of T terms."""

    per_level: Floats  # (T,): observations of a level; where levels differ, that of the analysis of variance
    df: Floats  # (T + 1,): degrees of freedom of terms and residual


def layout(codes: Codes, sizes: Sequence[int], terms: Sequence[Term]) -> TermLayout:
    """Observations of a level and degrees of freedom of terms, from codes (n, F); exact if balanced."""
    # The effective number is (n - sum n_i^2 / n) / (levels - 1), as in one unbalanced factor's analysis of
    # variance (Searle, Casella & McCulloch 1992, doi:10.1002/9780470316856).
    n, per_level, df = len(codes), [], dict[Term, float]()
    for term in terms:
        cell = np.ravel_multi_index(tuple(codes[:, list(term)].T), [sizes[k] for k in term])
        counts = np.bincount(cell)
        counts = counts[counts > 0].astype(float)
        smaller = sum(count for part, count in df.items() if set(part) < set(term))
        per_level.append((n - (counts**2).sum() / n) / (len(counts) - 1.0))
        df[term] = max(len(counts) - 1.0 - smaller, 1.0)
    residual = max(n - 1.0 - sum(df.values()), 1.0)
    return TermLayout(np.array(per_level), np.array([*df.values(), residual]))


def generalised_draws(mean_square: Floats, df: Floats, matrix: Floats, draws: int, seed: int) -> Floats:
    """Draw variances, (draws, T + 1), from the generalised pivotal quantities of mean squares."""
    chi2 = np.random.default_rng(seed).chisquare(df, size=(draws, len(df)))
    pivots = mean_square * df / chi2
    return np.asarray(np.maximum(np.linalg.solve(matrix, pivots.T).T, 0.0))


def is_replicated(codes: Codes, sizes: Sequence[int]) -> bool:
    """Whether some cell has several observations."""
    return bool(
        np.unique(np.ravel_multi_index(tuple(codes.T), tuple(sizes)), return_counts=True)[1].max() > 1
    )


@dataclass(frozen=True)
class _CellPattern:
    """Objects that were observed in the same k cells."""

    shared: Floats  # (terms with the object, k, k): whether two observations share an effect
    design: Floats  # (k, 1 + q): a column of ones, and the levels of the terms without the object
    n: int  # objects
    total: Floats  # (k,): sums over objects
    products: Floats  # (k, k): sums of products over objects


def separable_terms(codes: Codes, sizes: Sequence[int]) -> list[Term]:
    """Terms whose variances a design can tell apart: main effects, and interactions up to some size."""
    # Those of a size are left out, with all larger ones, where their covariances depend linearly on each
    # other, on smaller terms, or, of terms with the object, on independent residuals.
    all_terms = terms_of(len(sizes), is_replicated(codes, sizes))
    patterns, _ = _patterns(codes, sizes, np.zeros(len(codes)), all_terms)
    cells = np.unique(codes[:, 1:], axis=0)
    of_object = [term for term in all_terms if 0 in term]
    terms = list[Term]()
    for size in range(1, len(sizes) + 1):
        candidates = [term for term in all_terms if len(term) <= size]
        within = [
            np.concatenate([pattern.shared[of_object.index(term)].ravel() for pattern in patterns])
            for term in candidates
            if 0 in term
        ]
        within.append(np.concatenate([np.eye(len(pattern.total)).ravel() for pattern in patterns]))
        facets = [np.array(term) - 1 for term in candidates if 0 not in term]
        between = [np.all(cells[:, None, facet] == cells[None, :, facet], axis=2).ravel() for facet in facets]
        parts = [np.array(part, dtype=float) for part in (within, between) if part]
        if size > 1 and any(np.linalg.matrix_rank(part @ part.T) < len(part) for part in parts):
            break
        terms = candidates
    return terms


def restricted_variances(codes: Codes, sizes: Sequence[int], values: Floats, terms: Sequence[Term]) -> Floats:
    """Variances (T + 1,) of terms and residual of any crossed design by restricted maximum likelihood."""
    # Effects of the object, factor 0, are eliminated within objects, so that cost grows with the patterns of
    # cells observed; variances are 0 where the likelihood is largest on the boundary.
    scale = float(values.var())
    centred = (values - values.mean()) / np.sqrt(scale)
    patterns, owner = _patterns(codes, sizes, centred, terms)

    def loss(root: Floats) -> float:
        try:
            return _deviance(root**2, patterns, terms, owner)
        except np.linalg.LinAlgError:  # a step so long that the residual is lost to rounding
            return _FAR

    root = _descend(loss, np.full(len(terms) + 1, _START))
    return np.where(root < _ZERO, 0.0, root**2) * scale


# Relative standard deviations: at the start, least of the residual, and below which one is 0.
_START, _LEAST, _ZERO = 0.4, 1e-4, 1e-3
_SMALL = 0.03  # root of a variance in which the slope at zero is taken
_FALLS = 1e-7  # of deviance
_FAR = 1e10  # deviance of variances without a likelihood


def _descend(loss: Callable[[Floats], float], start: Floats) -> Floats:
    """Roots of variances of the least deviance."""
    # A root of zero has no slope, so that a descent that touches zero stays there. Variances at zero
    # therefore start again, above zero, as long as the deviance falls with one of them.
    best = _minimum(loss, start)
    for _ in range(2 * len(start)):
        zero = np.flatnonzero(best.x[:-1] < _SMALL)
        falls = [k for k in zero if _deviance_falls(loss, best.x, k)]
        if not falls:
            break
        second = _minimum(loss, np.where(np.isin(np.arange(len(start)), falls), 2 * _SMALL, best.x))
        if second.fun > best.fun - _FALLS:
            break
        best = second
    return np.asarray(best.x)


def _deviance_falls(loss: Callable[[Floats], float], root: Floats, k: int) -> bool:
    """Whether the deviance falls with variance k, at some small value."""
    value = loss(root)
    steps = np.array([_SMALL / 4, _SMALL / 2, _SMALL, 2 * _SMALL, 4 * _SMALL])
    moved = [loss(np.where(np.arange(len(root)) == k, step, root)) for step in steps]
    return min(moved) < value - _FALLS


def _minimum(loss: Callable[..., float], start: Floats) -> Any:
    bounds = [(0.0, None)] * (len(start) - 1) + [(_LEAST, None)]
    options: Any = {"ftol": 1e-12, "gtol": 1e-6, "maxiter": 500, "maxfun": 100_000}
    from scipy.optimize import minimize  # slow to import, and balanced designs need none

    return minimize(loss, start, jac="3-point", method="L-BFGS-B", bounds=bounds, options=options)


def _patterns(
    codes: Codes, sizes: Sequence[int], values: Floats, terms: Sequence[Term]
) -> tuple[list[_CellPattern], Codes]:
    """Objects by the cells in which they were observed; and the term of each column of the designs, (q,)."""
    facet_terms = [term for term in terms if 0 not in term]
    levels = [int(np.prod([sizes[k] for k in term])) for term in facet_terms]
    owner = np.repeat([terms.index(term) for term in facet_terms], levels).astype(np.int64)
    starts = np.cumsum([0, *levels])
    order = np.lexsort((*codes[:, :0:-1].T, codes[:, 0]))
    codes, values = codes[order], values[order]
    groups: dict[bytes, list[slice]] = {}
    ends = np.append(np.flatnonzero(np.diff(codes[:, 0])) + 1, len(codes))
    for first, last in zip(np.append(0, ends[:-1]), ends, strict=True):
        rows = slice(int(first), int(last))
        groups.setdefault(codes[rows, 1:].tobytes(), []).append(rows)
    result = []
    for members in groups.values():
        cells = codes[members[0]]
        responses = np.stack([values[rows] for rows in members])
        shared = [
            np.all(cells[:, None, term[1:]] == cells[None, :, term[1:]], axis=2)
            for term in terms
            if 0 in term
        ]
        design = np.zeros((len(cells), 1 + len(owner)))
        design[:, 0] = 1.0
        for start, term in zip(starts, facet_terms, strict=False):
            joint = np.ravel_multi_index(tuple(cells[:, list(term)].T), [sizes[k] for k in term])
            design[np.arange(len(cells)), 1 + start + joint] = 1.0
        result.append(
            _CellPattern(
                np.array(shared, dtype=float),
                design,
                len(responses),
                responses.sum(axis=0),
                responses.T @ responses,
            )
        )
    return result, owner


def _deviance(
    variance: Floats, patterns: Sequence[_CellPattern], terms: Sequence[Term], owner: Codes
) -> float:
    """-2 log of the restricted likelihood, up to a constant."""
    within = variance[[k for k, term in enumerate(terms) if 0 in term]]
    determinant, squares = 0.0, 0.0
    gram, moment = np.zeros((1 + len(owner),) * 2), np.zeros(1 + len(owner))
    for pattern in patterns:
        covariance = np.tensordot(within, pattern.shared, axes=1) + variance[-1] * np.eye(len(pattern.total))
        factor = cho_factor(covariance, lower=True, check_finite=False)
        determinant += 2 * pattern.n * float(np.log(np.diag(factor[0])).sum())
        solved = cho_solve(factor, np.column_stack([pattern.design, pattern.products]), check_finite=False)
        weighted, turned = solved[:, : len(moment)], solved[:, len(moment) :]
        gram += pattern.n * pattern.design.T @ weighted
        moment += weighted.T @ pattern.total
        squares += float(np.trace(turned))
    root = np.sqrt(variance[owner])
    system = np.eye(len(owner)) + root[:, None] * gram[1:, 1:] * root
    factor = cho_factor(system, lower=True, check_finite=False)
    sides = root[:, None] * np.column_stack([gram[1:, 0], moment[1:]])
    reduction = sides.T @ cho_solve(factor, sides, check_finite=False)
    information = gram[0, 0] - reduction[0, 0]
    mean = moment[0] - reduction[0, 1]
    determinant += 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.log(information))
    return determinant + squares - float(reduction[1, 1]) - float(mean**2 / information)


@dataclass(frozen=True)
class ScoreVariances:
    """Variance of universe scores, and the error variances of a mean over conditions, each of shape (b,)."""

    universe: Floats
    relative: Floats
    absolute: Floats

    @property
    def phi(self) -> Floats:
        """Dependability of absolute decisions."""
        return _ratio(self.universe, self.universe + self.absolute)

    @property
    def generalisability(self) -> Floats:
        """Generalisability of relative decisions."""
        return _ratio(self.universe, self.universe + self.relative)


def precision(
    variances: Floats, terms: Sequence[Term], counts: Sequence[float], universe: Sequence[float]
) -> ScoreVariances:
    """Precision of object means over ``counts`` levels of each facet and, last, repeats of each cell."""
    # `universe` (F - 1,) has the levels of each facet, infinite for random ones: facets whose levels are
    # exhausted add no error (Brennan 2001, chapters 3 and 4).
    score = np.zeros(len(variances))
    relative, absolute = score.copy(), score.copy()
    for term, variance in zip(terms, variances.T, strict=False):
        facets = [k - 1 for k in term if k]
        sample_weight = float(np.prod([1 / counts[k] for k in facets]))
        universe_weight = float(np.prod([1 / universe[k] for k in facets]))
        if 0 in term:
            score = score + universe_weight * variance
            relative = relative + (sample_weight - universe_weight) * variance
        absolute = absolute + (sample_weight - universe_weight) * variance * bool(facets)
    residual = variances[:, -1] / float(np.prod(counts))
    return ScoreVariances(score, relative + residual, absolute + residual)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))
