"""Joint tests of CR2 fits by Hotelling's T-squared, which hold their level with few clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...leverage import leverages, root_of
from ...wishart import Parts, Wishart, parts, standardising
from ..engines.native import regress
from ..plan import Plan


@dataclass(frozen=True)
class Reference:
    """Distribution that a Wald statistic of q contrasts is compared with.

    Attributes
    ----------
    standardise : ndarray, shape (rank, q)
        Turns the contrasts into as many as are linearly independent.
    eta : float
        Degrees of freedom of their covariance; NaN where these cannot be had, as the regressions
        are many and the clusters too.
    """

    standardise: np.ndarray
    eta: float


def references(plan: Plan, tests: Sequence[np.ndarray]) -> list[Reference]:
    """Reference distributions of joint tests in a CR2 fit, each of contrasts of shape (q, K)."""
    wanted = [np.nan_to_num(contrasts) for contrasts in tests]
    touched = [
        [i for i, columns in enumerate(plan.slices) if (contrasts[:, columns] != 0).any()]
        for contrasts in wanted
    ]
    means: list[np.ndarray | float] = [0.0] * len(tests)
    for number, found in _passing(plan, wanted, touched):
        means[number] = means[number] + found.mean()
    turn = [standardising(np.asarray(mean)) for mean in means]
    ranks = [sum(plan.slices[i].stop - plan.slices[i].start for i in own) for own in touched]
    sums = {
        number: Wishart(len(own), ranks[number], plan.cells.clusters.n)
        for number, own in enumerate(turn)
        if Wishart.is_feasible(len(own), ranks[number], plan.cells.clusters.n)
    }
    for number, found in _passing(plan, wanted, touched, list(sums)):
        sums[number].add(found.turned(turn[number]))
    return [Reference(own, sums[number].df if number in sums else np.nan) for number, own in enumerate(turn)]


def _passing(
    plan: Plan, tests: Sequence[np.ndarray], touched: Sequence[list[int]], chosen: Sequence[int] | None = None
) -> Iterator[tuple[int, Parts]]:
    """Pass through the clusters: the number of a test, and what some thousand of them add to it."""
    numbers = range(len(tests)) if chosen is None else chosen
    used = sorted({i for number in numbers for i in touched[number]})
    if not used:
        return
    cells = plan.cells
    entries = cells.entries()
    blocks = [plan.blocks[i] for i in used]
    fits = [regress(block, "gaussian", cells.cell_weight, cells.cell_total) for block in blocks]
    roots = [root_of(fit.bread) for fit in fits]
    inside = [entries.within(block.inside) for block in blocks]
    for found in leverages(inside, [block.design[block.inside] for block in blocks], roots):
        for number in numbers:
            places = [used.index(i) for i in touched[number]]
            own = [tests[number][:, plan.slices[i]] for i in touched[number]]
            yield number, parts([found[place] for place in places], own)
