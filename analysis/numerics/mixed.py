"""Mixed models: linear ones with crossed random intercepts, logistic ones with one. Arrays in, arrays out.

The data come as cross products, so that the cost depends on columns and levels, never on rows. The likelihood
is profiled over the relative standard deviations of the random intercepts (Bates et al. 2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logit, logsumexp

from .types import Floats

_START = 0.3  # relative standard deviations at the start
_SCORING_STEPS = 100
_HALVINGS = 30  # of a step that does not raise the likelihood
_ZERO = 1e-5  # relative standard deviations below which one is on the boundary
_REFINING_STEPS = 20  # 3 to 5 suffice
_PRECISE = 1e-11  # change of a variance, relative to the largest, at which a fit ends


@dataclass(frozen=True)
class CrossProducts:
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
    variance_vcov: np.ndarray | None = None  # None of a fit by lme4, as is ``pulls``
    pulls: np.ndarray | None = None  # (J + 1, k, k): derivative of ``vcov`` by each variance

    def df(self, contrasts: np.ndarray) -> np.ndarray:
        """Satterthwaite's degrees of freedom of contrasts (m, k), as in Giesbrecht and Burns (1985)."""
        assert self.pulls is not None
        assert self.variance_vcov is not None
        variance = np.einsum("mi,ij,mj->m", contrasts, self.vcov, contrasts)
        slopes = np.einsum("mi,vij,mj->mv", contrasts, self.pulls, contrasts)
        return np.asarray(2 * variance**2 / np.einsum("mv,vw,mw->m", slopes, self.variance_vcov, slopes))


@dataclass(frozen=True)
class _ModelState:
    """The profiled model at given relative standard deviations, shape (J,)."""

    theta: np.ndarray
    factor: tuple[np.ndarray, bool]
    solved: np.ndarray
    gram: np.ndarray
    coef: np.ndarray
    modes: np.ndarray
    residual: float
    criterion: float

    @property
    def variance(self) -> np.ndarray:
        """Variances of the factors and the residual, (J + 1,)."""
        return self.residual * np.append(self.theta**2, 1.0)


def fit(products: CrossProducts) -> MixedFit:
    """Fit by restricted maximum likelihood (Bates et al. 2015), by scoring steps."""
    state = _state_at(products, np.full(len(products.factors), _START))
    for _ in range(_SCORING_STEPS):
        before, state = state, _scoring_step(products, state)
        if before.criterion - state.criterion < 1e-9:
            break
    return _fit_from_state(products, _refine(products, np.where(state.theta > _ZERO, state.theta, 0.0)))


def _scoring_step(products: CrossProducts, state: _ModelState) -> _ModelState:
    """Move variances by score over information while the criterion falls; zeros only where it gains."""
    change = _scoring_change(products, state, zeros_grow=True)
    for _ in range(_HALVINGS):
        moved = np.maximum(state.variance + change, 0.0)
        if moved[-1] > 0:
            proposed = _state_at(products, np.sqrt(moved[:-1] / moved[-1]))
            if proposed.criterion <= state.criterion:
                return proposed
        change /= 2
    return state


def _refine(products: CrossProducts, theta: np.ndarray) -> _ModelState:
    """Bring positive values to full precision, which the criterion does not show."""
    state = _state_at(products, theta)
    for _ in range(_REFINING_STEPS):
        change = _scoring_change(products, state, zeros_grow=False)
        moved = state.variance + change
        if (moved[state.variance > 0] <= 0).any() or np.abs(change).max() < _PRECISE * moved.max():
            break
        state = _state_at(products, np.sqrt(moved[:-1] / moved[-1]))
    return state


def _scoring_change(products: CrossProducts, state: _ModelState, zeros_grow: bool) -> np.ndarray:
    """Score over expected information, (J + 1,), by each variance, the residual's last."""
    hat = _projected(products, state)
    information = _information(products, state.theta**2, hat) / (2 * state.residual**2)
    score = _score(products, state, hat)
    free = (state.variance > 0) | (zeros_grow & (score > 0))
    change = np.zeros_like(score)
    change[free] = np.linalg.lstsq(information[np.ix_(free, free)], score[free])[0]
    return change


def _score(products: CrossProducts, state: _ModelState, hat: np.ndarray) -> np.ndarray:
    """Derivative of the restricted log likelihood by each variance, the residual's last, shape (J + 1,)."""
    z_residuals = products.zy - products.xz.T @ state.coef
    z_residuals -= products.zz @ (products.spread(state.theta) * state.modes)
    squares, traces = products.sums(z_residuals**2), products.sums(np.diag(hat))
    ratio, residual = state.theta**2, state.residual
    squares = np.append(squares, products.residual_df * residual - ratio @ squares)
    traces = np.append(traces, products.residual_df - ratio @ traces)
    return np.asarray((squares / residual - traces) / (2 * residual))


def _state_at(products: CrossProducts, theta: np.ndarray) -> _ModelState:
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
    rss = products.yy - right[:, -1] @ solved[:, -1] - coef @ moment
    residual = rss / products.residual_df
    determinants = 2 * np.log(np.diag(factor[0])).sum() + np.linalg.slogdet(gram)[1]
    criterion = determinants + products.residual_df * (1 + np.log(2 * np.pi * residual))
    return _ModelState(theta, factor, solved[:, :-1], gram, coef, modes, float(residual), float(criterion))


def _fit_from_state(products: CrossProducts, state: _ModelState) -> MixedFit:
    inverse = np.linalg.inv(state.gram)
    ratio = state.theta**2
    hat = _projected(products, state)
    information = _information(products, ratio, hat) / (2 * state.residual**2)
    mask = np.append(state.theta > 0, True)
    variance_vcov = np.zeros_like(information)
    variance_vcov[np.ix_(mask, mask)] = np.linalg.inv(information[np.ix_(mask, mask)])
    reached = products.xz.T - products.zz @ (products.spread(state.theta)[:, None] * state.solved)
    pulled = np.array([reached[part].T @ reached[part] for part in products.factors])
    remainder = state.gram - np.tensordot(ratio, pulled, axes=1)
    pulls = np.array([inverse @ matrix @ inverse for matrix in [*pulled, remainder]])
    return MixedFit(
        state.coef,
        state.residual * inverse,
        state.residual * ratio,
        state.residual,
        state.criterion,
        variance_vcov,
        pulls,
    )


def _projected(products: CrossProducts, state: _ModelState) -> np.ndarray:
    """Z'PZ at unit residual variance, P the projection that restricts the likelihood, shape (q, q)."""
    scale = products.spread(state.theta)
    scaled = products.zz * scale
    within = products.zz - scaled @ cho_solve(state.factor, scaled.T, check_finite=False)
    reached = products.xz.T - scaled @ state.solved
    return np.asarray(within - reached @ np.linalg.solve(state.gram, reached.T))


def _information(products: CrossProducts, ratio: np.ndarray, hat: np.ndarray) -> np.ndarray:
    """Traces of PV_iPV_j for all variances, the residual's last, shape (J + 1, J + 1)."""
    squares = products.sums(products.sums(hat**2).T)
    traces = products.sums(np.diag(hat))
    count = len(ratio)
    information = np.empty((count + 1, count + 1))
    information[:count, :count] = squares
    information[:count, count] = information[count, :count] = traces - squares @ ratio
    residual_trace = products.residual_df - ratio @ traces
    information[count, count] = residual_trace - ratio @ information[:count, count]
    return information


QUADRATURE = 25  # nodes around the mode of each item's intercept
NEWTON = 50  # at most, to the mode of each item's intercept
STEP = 1e-4  # of the numerical derivative of the gradient
BOUNDARY = 1e-6  # log likelihood that a positive variance must gain
FLAT = 1e-3  # gradient, per answer, that counts as none
LARGEST = 25.0  # log-odds and standard deviations beyond which nothing is estimated


@dataclass(frozen=True)
class MixedLogit:
    """A fitted model of K sides."""

    log_odds: Floats  # shape (K,): of a right answer of each side to an item with intercept zero
    # shape (K, K): as the model has it: the answers to an item are independent, given its intercept
    vcov: Floats
    robust: Floats  # shape (K, K): from the scores of the items: whatever else the answers to an item share
    sd: float  # standard deviation of the items' intercepts
    log_likelihood: float  # of the answers as Bernoulli trials
    converged: bool


def fit_mixed_logit(right: Floats, trials: Floats, quadrature: int = QUADRATURE) -> MixedLogit:
    """Fit log-odds of K sides and the variance of items by maximum likelihood."""
    patterns, times = np.unique(np.hstack([right, trials]), axis=0, return_counts=True)
    n_sides = right.shape[1]
    data = (patterns[:, :n_sides], patterns[:, n_sides:], times.astype(float), *_nodes(quadrature))
    share = right.sum(axis=0) / trials.sum(axis=0)
    start = np.append(1.2 * logit(share), 1.0)
    from scipy.optimize import minimize  # slow to import

    optimum = minimize(_objective, start, args=data, jac=True, method="BFGS", options={"gtol": 1e-7})
    parameters = np.append(optimum.x[:-1], abs(optimum.x[-1]))
    fixed_fit = _fixed_logit(right, trials, share)
    if -optimum.fun <= fixed_fit.log_likelihood + BOUNDARY:
        return fixed_fit
    _, gradient = _objective(parameters, *data)
    information = _logit_information(parameters, data)
    settled = bool(np.abs(gradient).max() < FLAT * np.sqrt(trials.sum()))
    positive = bool(np.linalg.eigvalsh(information).min() > 0)
    small = bool(np.abs(parameters).max() < LARGEST)
    vcov = np.asarray(np.linalg.pinv(information), dtype=np.float64)
    _, scores = _by_item(parameters, data[0], data[1], *data[3:])
    robust = vcov @ _meat(scores, data[2]) @ vcov
    return MixedLogit(
        parameters[:-1],
        vcov[:n_sides, :n_sides],
        robust[:n_sides, :n_sides],
        float(parameters[-1]),
        -float(optimum.fun),
        settled and positive and small,
    )


def _nodes(quadrature: int) -> tuple[Floats, Floats]:
    """Nodes and log weights for integrals over the real line, shape (Q,)."""
    nodes, weights = np.polynomial.hermite.hermgauss(quadrature)
    return nodes, np.log(weights) + nodes**2


def _fixed_logit(right: Floats, trials: Floats, share: Floats) -> MixedLogit:
    """Logistic regression without a variance of items."""
    p = np.broadcast_to(share, right.shape)
    likelihood = float((right * np.log(p) + (trials - right) * np.log1p(-p)).sum())
    vcov = np.diag(1 / (trials * p * (1 - p)).sum(axis=0))
    meat = _meat(right - trials * p, np.ones(len(right)))
    return MixedLogit(logit(share), vcov, vcov @ meat @ vcov, 0.0, likelihood, converged=True)


def _meat(scores: Floats, times: Floats) -> Floats:
    """Variance of the sum of the items' scores, shape (m, m), from scores of shape (I, m)."""
    n = times.sum()
    return np.asarray((scores * times[:, None]).T @ scores * n / (n - 1))


def _objective(
    parameters: Floats, right: Floats, trials: Floats, times: Floats, nodes: Floats, log_weights: Floats
) -> tuple[float, Floats]:
    """Negative log likelihood and its gradient, shape (K + 1,): exact as the nodes grow in number."""
    each, scores = _by_item(parameters, right, trials, nodes, log_weights)
    return -float(times @ each), -(times @ scores)


def _by_item(
    parameters: Floats, right: Floats, trials: Floats, nodes: Floats, log_weights: Floats
) -> tuple[Floats, Floats]:
    """Log likelihood of each item, shape (I,), and its derivatives, shape (I, K + 1)."""
    log_odds, sd = parameters[:-1], parameters[-1]
    mode, spread = _modes(log_odds, sd, right, trials)
    z = mode[:, None] + np.sqrt(2) * spread[:, None] * nodes  # (I, Q)
    eta = log_odds[:, None] + sd * z[:, None, :]  # (I, K, Q)
    each = (right[..., None] * eta - trials[..., None] * _softplus(eta)).sum(axis=1)
    terms = each - z**2 / 2 - np.log(2 * np.pi) / 2 + log_weights
    log_likelihood = logsumexp(terms, axis=1)
    posterior = np.exp(terms - log_likelihood[:, None])  # (I, Q)
    residual = right[..., None] - trials[..., None] * expit(eta)
    by_log_odds = np.einsum("ikq,iq->ik", residual, posterior)
    by_sd = (residual.sum(axis=1) * z * posterior).sum(axis=1)
    return log_likelihood + np.log(np.sqrt(2) * spread), np.column_stack([by_log_odds, by_sd])


def _modes(log_odds: Floats, sd: float, right: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """Mode and spread of each item's intercept given its answers, by Newton's method, shape (I,)."""
    z = np.zeros(len(right))
    for _ in range(NEWTON):
        p = expit(log_odds + sd * z[:, None])
        slope = sd * (right - trials * p).sum(axis=1) - z
        curvature = 1 + sd**2 * (trials * p * (1 - p)).sum(axis=1)
        step = np.clip(slope / curvature, -2, 2)
        z = z + step
        if np.abs(step).max() < 1e-10:
            break
    p = expit(log_odds + sd * z[:, None])
    return z, 1 / np.sqrt(1 + sd**2 * (trials * p * (1 - p)).sum(axis=1))


def _softplus(eta: Floats) -> Floats:
    return np.asarray(np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))))


def _logit_information(parameters: Floats, data: tuple[Floats, ...]) -> Floats:
    """Observed information, shape (K + 1, K + 1), by central differences of the gradient."""
    rows = []
    for place in range(len(parameters)):
        step = np.zeros(len(parameters))
        step[place] = STEP * max(1.0, abs(parameters[place]))
        up, down = (_objective(parameters + sign * step, *data)[1] for sign in (1, -1))
        rows.append((up - down) / (2 * step[place]))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
