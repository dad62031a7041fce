"""Logistic regression with a normal random intercept for each item, by adaptive Gauss-Hermite quadrature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from .types import Floats

QUADRATURE = 25
NEWTON = 50
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


def fit_mixed_logit(right: Floats, asked: Floats, quadrature: int = QUADRATURE) -> MixedLogit:
    """Fit log-odds of K sides and the variance of items by maximum likelihood."""
    patterns, times = np.unique(np.hstack([right, asked]), axis=0, return_counts=True)
    n_sides = right.shape[1]
    data = (patterns[:, :n_sides], patterns[:, n_sides:], times.astype(float), *_nodes(quadrature))
    share = right.sum(axis=0) / asked.sum(axis=0)
    start = np.append(1.2 * logit(share), 1.0)
    found = minimize(_objective, start, args=data, jac=True, method="BFGS", options={"gtol": 1e-7})
    parameters = np.append(found.x[:-1], abs(found.x[-1]))
    plain = _plain(right, asked, share)
    if -found.fun <= plain.log_likelihood + BOUNDARY:
        return plain
    _, gradient = _objective(parameters, *data)
    information = _information(parameters, data)
    settled = bool(np.abs(gradient).max() < FLAT * np.sqrt(asked.sum()))
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
        -float(found.fun),
        settled and positive and small,
    )


def _nodes(quadrature: int) -> tuple[Floats, Floats]:
    """Nodes and log weights for integrals over the real line, shape (Q,)."""
    nodes, weights = np.polynomial.hermite.hermgauss(quadrature)
    return nodes, np.log(weights) + nodes**2


def _plain(right: Floats, asked: Floats, share: Floats) -> MixedLogit:
    """Logistic regression without a variance of items."""
    p = np.broadcast_to(share, right.shape)
    likelihood = float((right * np.log(p) + (asked - right) * np.log1p(-p)).sum())
    vcov = np.diag(1 / (asked * p * (1 - p)).sum(axis=0))
    meat = _meat(right - asked * p, np.ones(len(right)))
    return MixedLogit(logit(share), vcov, vcov @ meat @ vcov, 0.0, likelihood, True)


def _meat(scores: Floats, times: Floats) -> Floats:
    """Variance of the sum of the items' scores, shape (m, m), from scores of shape (I, m)."""
    n = times.sum()
    return np.asarray((scores * times[:, None]).T @ scores * n / (n - 1))


def _objective(
    parameters: Floats, right: Floats, asked: Floats, times: Floats, nodes: Floats, log_weights: Floats
) -> tuple[float, Floats]:
    """Negative log likelihood and its gradient, shape (K + 1,): exact as the nodes grow in number."""
    each, scores = _by_item(parameters, right, asked, nodes, log_weights)
    return -float(times @ each), -(times @ scores)


def _by_item(
    parameters: Floats, right: Floats, asked: Floats, nodes: Floats, log_weights: Floats
) -> tuple[Floats, Floats]:
    """Log likelihood of each item, shape (I,), and its derivatives, shape (I, K + 1)."""
    log_odds, sd = parameters[:-1], parameters[-1]
    mode, spread = _modes(log_odds, sd, right, asked)
    z = mode[:, None] + np.sqrt(2) * spread[:, None] * nodes  # (I, Q)
    eta = log_odds[:, None] + sd * z[:, None, :]  # (I, K, Q)
    each = (right[..., None] * eta - asked[..., None] * _softplus(eta)).sum(axis=1)
    terms = each - z**2 / 2 - np.log(2 * np.pi) / 2 + log_weights
    whole = logsumexp(terms, axis=1)
    posterior = np.exp(terms - whole[:, None])  # (I, Q)
    residual = right[..., None] - asked[..., None] * expit(eta)
    by_log_odds = np.einsum("ikq,iq->ik", residual, posterior)
    by_sd = (residual.sum(axis=1) * z * posterior).sum(axis=1)
    return whole + np.log(np.sqrt(2) * spread), np.column_stack([by_log_odds, by_sd])


def _modes(log_odds: Floats, sd: float, right: Floats, asked: Floats) -> tuple[Floats, Floats]:
    """Mode and spread of each item's intercept given its answers, by Newton's method, shape (I,)."""
    z = np.zeros(len(right))
    for _ in range(NEWTON):
        p = expit(log_odds + sd * z[:, None])
        slope = sd * (right - asked * p).sum(axis=1) - z
        curvature = 1 + sd**2 * (asked * p * (1 - p)).sum(axis=1)
        step = np.clip(slope / curvature, -2, 2)
        z = z + step
        if np.abs(step).max() < 1e-10:
            break
    p = expit(log_odds + sd * z[:, None])
    return z, 1 / np.sqrt(1 + sd**2 * (asked * p * (1 - p)).sum(axis=1))


def _softplus(eta: Floats) -> Floats:
    return np.asarray(np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))))


def _information(parameters: Floats, data: tuple[Floats, ...]) -> Floats:
    """Observed information, shape (K + 1, K + 1), by central differences of the gradient."""
    rows = []
    for place in range(len(parameters)):
        step = np.zeros(len(parameters))
        step[place] = STEP * max(1.0, abs(parameters[place]))
        up, down = (_objective(parameters + sign * step, *data)[1] for sign in (1, -1))
        rows.append((up - down) / (2 * step[place]))
    made = np.array(rows)
    return np.asarray((made + made.T) / 2)
