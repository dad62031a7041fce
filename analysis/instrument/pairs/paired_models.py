"""Strengths of systems from verdicts on pairs: Bradley and Terry's model, and Davidson's with ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from conjury.inference.errors import InputError, listed, option_of

from ...numerics.types import Floats
from .verdict_reading import HALF, PairedVerdicts

HALVES, OUT, MODELLED = "half", "out", "modelled"
TIES = (HALVES, OUT, MODELLED)
STEPS, CLOSE = 200, 1e-10  # of Newton's method
LARGEST = 15.0  # log odds beyond which a parameter is on its way to infinity


@dataclass(frozen=True)
class StrengthFit:
    """Strengths of K systems, whose mean is 0, with the influence of n verdicts on each parameter."""

    # strength (K,), log odds that a system beats one of strength 0 in no order; order: log odds that being
    # shown first adds, NaN where orders are not known or do not vary; ties: the log of Davidson's nu, NaN
    # without it
    strength: Floats
    order: float
    ties: float
    influence: Floats  # (n, K + 2)

    @property
    def has_order(self) -> bool:
        """Whether an effect of the order was estimated."""
        return bool(np.isfinite(self.order))

    def win_rates(self) -> tuple[Floats, Floats]:
        """Expected points of systems against the mean of the others, (K,), and their influence, (n, K)."""
        gaps = self.strength[:, None] - self.strength
        nu = np.exp(self.ties) if np.isfinite(self.ties) else 0.0
        total = 2 * np.cosh(gaps / 2) + nu
        rate = (np.exp(gaps / 2) + nu / 2) / total
        # Derivatives of the points in the gap, and in the log of nu.
        of_gap = ((np.exp(gaps / 2) / 2) * total - (np.exp(gaps / 2) + nu / 2) * np.sinh(gaps / 2)) / total**2
        of_ties = nu * (total / 2 - (np.exp(gaps / 2) + nu / 2)) / total**2
        k = len(self.strength)
        off = 1 - np.eye(k)
        of_gap, of_ties = of_gap * off / (k - 1), of_ties * off / (k - 1)
        jacobian = np.diag(of_gap.sum(axis=1)) - of_gap
        influence = self.influence[:, :k] @ jacobian.T + np.outer(
            self.influence[:, k + 1], of_ties.sum(axis=1)
        )
        return (rate * off).sum(axis=1) / (k - 1), influence


def fit_strengths(verdicts: PairedVerdicts, ties: str) -> StrengthFit:
    """Maximum likelihood, with ties as half a win each (quasi-likelihood), excluded, or after Davidson."""
    points = np.where(verdicts.points == HALF, np.nan, verdicts.points) if ties == OUT else verdicts.points
    has_part = np.isfinite(points)
    y, order = points[has_part], verdicts.order[has_part]
    low, high = verdicts.low[has_part], verdicts.high[has_part]
    if (
        ties != HALVES
        and len(verdicts.points)
        and (verdicts.points[np.isfinite(verdicts.points)] == HALF).all()
    ):
        raise InputError(
            "All verdicts are ties, from which no strength follows; count them with --ties half."
        )
    k = len(verdicts.systems)
    refuse_unranked(verdicts.systems, low, high, y)
    # The strength of the last system is minus the sum of the others, so that the mean is 0.
    sides = np.zeros((len(y), k))
    rows = np.arange(len(y))
    sides[rows, low] = 1.0
    sides[rows, high] -= 1.0
    design = sides[:, :-1] - sides[:, -1:]
    has_order = bool((order > 0).any() and (order < 0).any())
    if has_order:
        design = np.column_stack([design, order])
    has_ties = ties == MODELLED and bool((y == HALF).any())
    theta, scores, information = _newton(design, y, verdicts.weights[has_part], has_ties)
    if theta is None or np.abs(theta).max() > LARGEST:
        raise InputError(
            "Strengths have no finite estimate: verdicts follow the order in which answers were shown, or a "
            "few pairs, entirely; add comparisons of the same systems in both orders."
        )
    influence = np.zeros((len(verdicts.points), design.shape[1] + has_ties))
    influence[has_part] = np.linalg.solve(information, scores.T).T
    free = influence[:, : k - 1]
    full = np.zeros((len(influence), k + 2))
    full[:, : k - 1], full[:, k - 1] = free, -free.sum(axis=1)
    if has_order:
        full[:, k] = influence[:, k - 1]
    if has_ties:
        full[:, k + 1] = influence[:, -1]
    return StrengthFit(
        np.append(theta[: k - 1], -theta[: k - 1].sum()),
        float(theta[k - 1]) if has_order else np.nan,
        float(theta[-1]) if has_ties else np.nan,
        full,
    )


def _newton(
    design: Floats, y: Floats, weight: Floats, has_ties: bool
) -> tuple[Floats | None, Floats, Floats]:
    """Estimates (None without convergence), scores of rows, (n, p), and the information, (p, p)."""
    n, columns = design.shape
    theta = np.zeros(columns + has_ties)
    scores, information = np.zeros((n, len(theta))), np.eye(len(theta))
    for _ in range(STEPS):
        loglik, scores, information = _likelihood(design, y, weight, theta, has_ties)
        if not np.isfinite(information).all() or np.linalg.cond(information) > 1 / CLOSE:
            return None, scores, information
        step = np.linalg.solve(information, scores.sum(axis=0))
        if np.abs(step).max() < CLOSE:
            return theta, scores, information
        size = 1.0
        while (
            size > CLOSE and _likelihood(design, y, weight, theta + size * step, has_ties)[0] < loglik - CLOSE
        ):
            size /= 2
        theta = theta + size * step
        if np.abs(theta).max() > 2 * LARGEST:
            return None, scores, information
    return None, scores, information


def _likelihood(
    design: Floats, y: Floats, weight: Floats, theta: Floats, has_ties: bool
) -> tuple[float, Floats, Floats]:
    """Weighted log likelihood, scores of rows and observed information."""
    if not has_ties:
        p = expit(design @ theta)
        loglik = float(
            weight @ (y * np.log(np.maximum(p, 1e-300)) + (1 - y) * np.log(np.maximum(1 - p, 1e-300)))
        )
        of_eta = weight * p * (1 - p)
        return loglik, design * (weight * (y - p))[:, None], (design * of_eta[:, None]).T @ design
    # Davidson (1970): wins, losses and ties are as exp(eta / 2), exp(-eta / 2) and nu.
    eta, nu = design @ theta[:-1], float(np.exp(theta[-1]))
    total = 2 * np.cosh(eta / 2) + nu
    win, tie = np.exp(eta / 2) / total, nu / total
    lose = 1 - win - tie
    is_tie = y == HALF
    chance = np.where(is_tie, tie, np.where(y > HALF, win, lose))
    mean = (win - lose) / 2  # derivative of the log of the total in eta
    direct = np.where(is_tie, 0.0, np.where(y > HALF, 0.5, -0.5))
    scores = weight[:, None] * np.column_stack([design * (direct - mean)[:, None], is_tie - tie])
    of_eta = weight * ((win + lose) / 4 - mean**2)
    cross, of_nu = -weight * mean * tie, weight * tie * (1 - tie)
    information = np.empty((len(theta), len(theta)))
    information[:-1, :-1] = (design * of_eta[:, None]).T @ design
    information[:-1, -1] = information[-1, :-1] = design.T @ cross
    information[-1, -1] = of_nu.sum()
    return float(weight @ np.log(np.maximum(chance, 1e-300))), scores, information


def refuse_unranked(systems: Sequence[str], low: np.ndarray, high: np.ndarray, points: Floats) -> None:
    """Refuse systems that no comparisons connect, and those that never lose or never win (Ford 1957)."""
    # An edge goes from each system to those that it took points from.
    k = len(systems)
    winner = np.concatenate([low[points > 0], high[points < 1]])
    loser = np.concatenate([high[points > 0], low[points < 1]])
    graph = coo_array((np.ones(len(winner)), (winner, loser)), shape=(k, k)).tocsr()
    n_parts, part = connected_components(graph, directed=False)
    if n_parts > 1:
        groups = [[systems[at] for at in np.flatnonzero(part == label)] for label in range(n_parts)]
        groups.sort(key=len)
        largest = option_of(groups[-1])
        raise InputError(
            f"No comparison connects {listed(map(repr, groups[0]), 4)} with "
            f"{listed(map(repr, groups[-1]), 4)}, so they have no common ranking; compare a "
            f"system of each with one of the others, or rank those of one group with --systems '{largest}'."
        )
    n_strong, strong = connected_components(graph, directed=True, connection="strong")
    if n_strong == 1:
        return
    loses_to = np.zeros((n_strong, n_strong), dtype=bool)
    loses_to[strong[loser], strong[winner]] = True
    np.fill_diagonal(loses_to, False)
    unbeaten = np.flatnonzero(~loses_to.any(axis=1))
    group = [systems[at] for at in np.flatnonzero(strong == unbeaten[0])]
    remainder = [name for name in systems if name not in group]
    verbs = ("loses to or ties", "lose to or tie"), ("wins against or ties", "win against or tie")
    is_best = len(group) <= len(remainder)
    if not is_best:  # the others are few, and took no point from these
        group, remainder = remainder, group
    verb = verbs[0 if is_best else 1][min(len(group), 2) - 1]
    of = "its strength has" if len(group) == 1 else "their strengths have"
    remedy = f", or rank the rest with --systems '{option_of(remainder)}'" if len(remainder) > 1 else ""
    raise InputError(
        f"{listed(map(repr, group), 4)} never {verb} with any other system, so {of} no finite estimate; add "
        f"comparisons{remedy}."
    )
