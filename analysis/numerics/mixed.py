"""Linear mixed models with crossed random intercepts, by restricted likelihood. Arrays in, arrays out.

The data come as cross products, so that the cost depends on columns and levels, never on rows. The likelihood
is profiled over the relative standard deviations of the random intercepts (Bates et al. 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

_START = 0.3
_SCORING_STEPS = 100
_HALVINGS = 30
_ZERO = 1e-5
_DIFFERENCE = 1e-4
_NEWTON_STEPS = 8


@dataclass(frozen=True)
class Products:
    """Cross products of n rows: k independent fixed columns, q levels of J grouping factors, the outcome."""

    xx: np.ndarray  # (k, k)
    xz: np.ndarray  # (k, q)
    zz: np.ndarray  # (q, q)
    xy: np.ndarray  # (k,)
    zy: np.ndarray  # (q,)
    yy: float
    n: int
    factors: tuple[slice, ...]  # levels of each grouping factor among all q

    @property
    def residual_df(self) -> int:
        """Rows minus fixed columns."""
        return self.n - len(self.xx)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Give every level the value of its factor, shape (q,)."""
        return np.repeat(values, [part.stop - part.start for part in self.factors])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum values of levels, (q, ...), over each factor, shape (J, ...)."""
        return np.array([values[part].sum(axis=0) for part in self.factors])


@dataclass(frozen=True)
class MixedFit:
    """A fitted linear mixed model."""

    coef: np.ndarray  # (k,)
    vcov: np.ndarray  # (k, k)
    # (J,): variance of each factor's intercepts, 0 where the likelihood is largest on the boundary
    variance: np.ndarray
    residual: float  # residual variance
    criterion: float  # -2 log of the restricted likelihood
    # (J + 1, J + 1): covariance of the variances, the residual's last, by the expected information; 0 on the
    # boundary
    variance_vcov: np.ndarray
    pulls: np.ndarray  # (J + 1, k, k): derivative of ``vcov`` by each variance

    def df(self, contrasts: np.ndarray) -> np.ndarray:
        """Satterthwaite's degrees of freedom of contrasts (m, k), as in Giesbrecht and Burns (1985)."""
        variance = np.einsum("mi,ij,mj->m", contrasts, self.vcov, contrasts)
        slopes = np.einsum("mi,vij,mj->mv", contrasts, self.pulls, contrasts)
        return np.asarray(2 * variance**2 / np.einsum("mv,vw,mw->m", slopes, self.variance_vcov, slopes))


@dataclass(frozen=True)
class _State:
    """The profiled model at given relative standard deviations, shape (J,)."""

    theta: np.ndarray
    factor: tuple[np.ndarray, bool]
    solved: np.ndarray
    gram: np.ndarray
    coef: np.ndarray
    modes: np.ndarray
    residual: float
    criterion: float


def fit(products: Products) -> MixedFit:
    """Fit by restricted maximum likelihood (Bates et al. 2015): scoring steps, then Newton steps."""
    state = _at(products, np.full(len(products.factors), _START))
    for _ in range(_SCORING_STEPS):
        before, state = state, _scoring_step(products, state)
        if before.criterion - state.criterion < 1e-9:
            break
    return _finish(products, _at(products, _polish(products, state.theta)))


def _scoring_step(products: Products, state: _State) -> _State:
    """Move the variances by the inverse information times the score, as far as the criterion falls.

    A variance of zero moves only if the likelihood rises with it.
    """
    variance = state.residual * np.append(state.theta**2, 1.0)
    hat = _projected(products, state)
    information = _information(products, state.theta**2, hat) / (2 * state.residual**2)
    score = _score(products, state, hat)
    free = (variance > 0) | (score > 0)
    change = np.zeros_like(variance)
    change[free] = np.linalg.lstsq(information[np.ix_(free, free)], score[free])[0]
    for _ in range(_HALVINGS):
        moved = np.maximum(variance + change, 0.0)
        if moved[-1] > 0:
            proposed = _at(products, np.sqrt(moved[:-1] / moved[-1]))
            if proposed.criterion <= state.criterion:
                return proposed
        change /= 2
    return state


def _score(products: Products, state: _State, hat: np.ndarray) -> np.ndarray:
    """Derivative of the restricted log likelihood by each variance, the residual's last, shape (J + 1,)."""
    left = products.zy - products.xz.T @ state.coef
    left -= products.zz @ (products.spread(state.theta) * state.modes)
    squares, traces = products.sums(left**2), products.sums(np.diag(hat))
    ratio, residual = state.theta**2, state.residual
    squares = np.append(squares, products.residual_df * residual - ratio @ squares)
    traces = np.append(traces, products.residual_df - ratio @ traces)
    return np.asarray((squares / residual - traces) / (2 * residual))


def _at(products: Products, theta: np.ndarray) -> _State:
    scale = products.spread(theta)
    system = scale[:, None] * products.zz * scale
    system[np.diag_indices_from(system)] += 1.0
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    right = scale[:, None] * np.column_stack([products.xz.T, products.zy])
    solved = cho_solve(factor, right, check_finite=False)
    gram = products.xx - right[:, :-1].T @ solved[:, :-1]
    moment = products.xy - right[:, :-1].T @ solved[:, -1]
    coef = np.linalg.solve(gram, moment)
    modes = solved[:, -1] - solved[:, :-1] @ coef
    left = products.yy - right[:, -1] @ solved[:, -1] - coef @ moment
    residual = left / products.residual_df
    determinants = 2 * np.log(np.diag(factor[0])).sum() + np.linalg.slogdet(gram)[1]
    criterion = determinants + products.residual_df * (1 + np.log(2 * np.pi * residual))
    return _State(theta, factor, solved[:, :-1], gram, coef, modes, float(residual), float(criterion))


def _inverse(state: _State) -> np.ndarray:
    """Inverse of the random part of the system once the fixed part is swept out, shape (q, q)."""
    inverse, _ = lapack.dpotri(state.factor[0], lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return np.asarray(inverse + state.solved @ np.linalg.solve(state.gram, state.solved.T))


def _slopes(products: Products, state: _State) -> np.ndarray:
    """Derivative of the criterion by theta, shape (J,); 0 where theta is."""
    shrunk = products.sums(1 - np.diag(_inverse(state))) - products.sums(state.modes**2) / state.residual
    return np.asarray(np.divide(2 * shrunk, state.theta, out=np.zeros_like(shrunk), where=state.theta > 0))


def _polish(products: Products, theta: np.ndarray) -> np.ndarray:
    """Put tiny values on the boundary, and bring the others to full precision by Newton steps."""
    theta = np.where(theta > _ZERO, theta, 0.0)
    inside = np.flatnonzero(theta)
    if len(inside) == 0:
        return theta
    for _ in range(_NEWTON_STEPS):
        slope = _slopes(products, _at(products, theta))[inside]
        curvature = np.empty((len(inside), len(inside)))
        for column, place in enumerate(inside):
            step = _DIFFERENCE * theta[place]
            moved = np.array([theta, theta])
            moved[:, place] += [step, -step]
            above, below = (_slopes(products, _at(products, one))[inside] for one in moved)
            curvature[:, column] = (above - below) / (2 * step)
        change = np.linalg.solve((curvature + curvature.T) / 2, slope)
        proposed = theta.copy()
        proposed[inside] -= change
        if (proposed[inside] <= 0).any() or not np.isfinite(proposed).all():
            break
        theta = proposed
        if np.abs(change).max() < 1e-10 * theta.max():
            break
    return theta


def _finish(products: Products, state: _State) -> MixedFit:
    inverse = np.linalg.inv(state.gram)
    ratio = state.theta**2
    hat = _projected(products, state)
    information = _information(products, ratio, hat) / (2 * state.residual**2)
    used = np.append(state.theta > 0, True)
    variance_vcov = np.zeros_like(information)
    variance_vcov[np.ix_(used, used)] = np.linalg.inv(information[np.ix_(used, used)])
    reached = products.xz.T - products.zz @ (products.spread(state.theta)[:, None] * state.solved)
    pulled = np.array([reached[part].T @ reached[part] for part in products.factors])
    rest = state.gram - np.tensordot(ratio, pulled, axes=1)
    pulls = np.array([inverse @ one @ inverse for one in [*pulled, rest]])
    return MixedFit(
        state.coef,
        state.residual * inverse,
        state.residual * ratio,
        state.residual,
        state.criterion,
        variance_vcov,
        pulls,
    )


def _projected(products: Products, state: _State) -> np.ndarray:
    """Z'PZ at unit residual variance, P the projection that restricts the likelihood, shape (q, q)."""
    scale = products.spread(state.theta)
    scaled = products.zz * scale
    within = products.zz - scaled @ cho_solve(state.factor, scaled.T, check_finite=False)
    reached = products.xz.T - scaled @ state.solved
    return np.asarray(within - reached @ np.linalg.solve(state.gram, reached.T))


def _information(products: Products, ratio: np.ndarray, hat: np.ndarray) -> np.ndarray:
    """Traces of PV_iPV_j for all variances, the residual's last, shape (J + 1, J + 1)."""
    squares = products.sums(products.sums(hat**2).T)
    traces = products.sums(np.diag(hat))
    count = len(ratio)
    information = np.empty((count + 1, count + 1))
    information[:count, :count] = squares
    information[:count, count] = information[count, :count] = traces - squares @ ratio
    whole = products.residual_df - ratio @ traces
    information[count, count] = whole - ratio @ information[:count, count]
    return information
