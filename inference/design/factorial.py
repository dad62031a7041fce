"""The combinations of facets under which a study asks, and balanced fractions of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ..study.asking import Choice, Label, LineLabels, Ratings
from ..study.models import AnyStudy
from ..tables.columns import stream

Integers = NDArray[np.int64]
STARTS, WORK = 100, 20_000  # random fractions from which the best is sought, fewer where there are many rows
MAIN = 10  # weight of levels against pairs of levels


@dataclass(frozen=True, slots=True)
class FactorialCell:
    """One combination of facets; those that an answer's form does not have are empty."""

    prompt: str
    option_order: str
    option_labels: str
    scale_direction: str
    sample: int

    @property
    def facets(self) -> dict[str, str]:
        """The facets besides prompt and sample that the answer has, by the columns of answers."""
        levels = {
            "option_order": self.option_order,
            "option_labels": self.option_labels,
            "scale_direction": self.scale_direction,
        }
        return {name: level for name, level in levels.items() if level}


def asked_cells(study: AnyStudy, samples: int) -> list[FactorialCell]:
    """Return the combinations that a study asks, samples varying fastest, ``samples`` for each other one."""
    # Without a section `instrument` they are prompts by samples. The fraction depends on the study alone, not
    # on the judge, so that all judges answer the same combinations.
    numbers = range(1, samples + 1)
    if study.instrument is None:
        return [
            FactorialCell(prompt.id, "", "", "", number) for prompt in study.prompts for number in numbers
        ]
    facets, prompts = study.instrument.facets, study.instrument_prompts
    response = (prompts[0].response if prompts else None) or study.response
    levels = (
        [prompt.id for prompt in prompts],
        facets.option_order if isinstance(response, Choice | Label | LineLabels) else [""],
        facets.option_labels if isinstance(response, Choice) else [""],
        facets.scale_direction if isinstance(response, Ratings) else [""],
        list(numbers),
    )
    cells = [FactorialCell(*combination) for combination in product(*levels)]
    n = round(study.instrument.fraction * len(cells))
    if n == len(cells):
        return cells
    return [cells[row] for row in _fraction(tuple(map(len, levels)), n, study.collect.seed)]


@cache
def _fraction(sizes: tuple[int, ...], n: int, seed: int) -> tuple[int, ...]:
    codes = np.array(list(product(*map(range, sizes))), dtype=np.int64)
    return tuple(balanced_fraction(codes, n, stream(seed, "instrument")).tolist())


def balanced_fraction(codes: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Choose rows of a factorial such that levels, and pairs of two factors' levels, are balanced."""
    # Random fractions are improved by exchanges of rows; unequal levels cost 100 times as much as unequal
    # pairs of levels. Xu (2002), Technometrics 44(4), doi:10.1198/004017002188618554
    margins = _margins(codes)
    products = margins @ margins.T
    fractions = (
        _improve_by_exchange(margins, products, n, rng) for _ in range(min(STARTS, WORK // len(codes) + 1))
    )
    return min(fractions, key=lambda chosen: _imbalance(margins, chosen))


def _margins(codes: Integers) -> Integers:
    """Return indicators of levels and of pairs of levels, shape (N, indicators); levels weigh ``MAIN``."""
    columns = [
        np.where(codes[:, factor] == level, MAIN, 0)
        for factor in range(codes.shape[1])
        for level in np.unique(codes[:, factor])
    ]
    for first, second in combinations(range(codes.shape[1]), 2):
        joint = codes[:, first] * (codes[:, second].max() + 1) + codes[:, second]
        columns += [(joint == level).astype(np.int64) for level in np.unique(joint)]
    return np.column_stack(columns).astype(np.int64)


def _imbalance(margins: Integers, chosen: Integers) -> int:
    """Squared distance from perfect balance, times N squared, so that it is a whole number."""
    excess = len(margins) * margins[chosen].sum(axis=0) - len(chosen) * margins.sum(axis=0)
    return int((excess**2).sum())


def _improve_by_exchange(margins: Integers, products: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Improve a random fraction by exchanges of one row."""
    total, diagonal = len(margins), np.diag(products)
    inside = np.isin(np.arange(total), rng.permutation(total)[:n])
    while True:
        excess = total * margins[inside].sum(axis=0) - n * margins.sum(axis=0)
        slope = margins @ excess
        out, into = np.flatnonzero(inside), np.flatnonzero(~inside)
        change = total * (diagonal[out][:, None] + diagonal[into] - 2 * products[np.ix_(out, into)])
        change = change + 2 * (slope[into] - slope[out][:, None])
        best = np.unravel_index(int(change.argmin()), change.shape)
        if change[best] >= 0:
            return out
        inside[out[best[0]]], inside[into[best[1]]] = False, True
