"""How least squares weights the profiles of a design whose cells have known probabilities.

A contrast of coefficients is a weighted mean of outcomes: with cell probabilities ``pi``, design rows ``x``
and a contrast ``c``, the outcome of a profile has the weight ``g = c' E[x x']^-1 x``. Regressions and
contrasts are those of `conjury.analysis.conjoint.verbs.amce`, so that what is planned is what it reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.cells import Cells, build_cells
from ...numerics.linear import invert_in_order
from ..plan import Block, level_contrast, make_block

PROBABILITY = "probability"
Solved = tuple[Block, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Group:
    """The profiles with one level, by its code, of the other feature of an interaction."""

    by: str
    level: int


@dataclass(frozen=True)
class Regressions:
    """The regressions that estimate AMCEs in a design of C cells."""

    cells: Cells  # the attributes, and the cells that occur
    probability: np.ndarray  # (C,): sums to one
    # features whose effects depend on each other in the regression
    restrictions: tuple[tuple[str, str], ...] = ()
    _solved: dict[tuple[tuple[str, ...], Group | None], Solved] = field(default_factory=dict, repr=False)

    def partner(self, feature: str, group: Group | None = None) -> str | None:
        """The feature that restricts another one; within a group of it there is none."""
        both = (pair for one, two in self.restrictions for pair in ((one, two), (two, one)))
        found = dict(both).get(feature)
        return None if group is not None and found == group.by else found

    def inside(self, group: Group | None) -> np.ndarray:
        """Flag the cells of a group, shape (C,)."""
        if group is None:
            return np.ones(self.cells.n_cells, dtype=bool)
        flags: np.ndarray = self.cells.code(group.by) == group.level
        return flags

    def meeting(self, feature: str, partner: str, group: Group | None = None) -> np.ndarray:
        """Flag the combinations of two features that occur, shape (levels, levels of the partner)."""
        met = np.zeros((len(self.cells.levels[feature]), len(self.cells.levels[partner])), dtype=bool)
        inside = self.inside(group)
        met[self.cells.code(feature)[inside], self.cells.code(partner)[inside]] = True
        return met

    @cached_property
    def nested(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a fine feature and a coarser one that follows from it."""
        found = []
        for one, two in combinations(self.cells.levels, 2):
            met = self.meeting(one, two)
            sizes = met.any(axis=1).sum(), met.any(axis=0).sum()
            if sizes[0] > sizes[1] and (met.sum(axis=1) <= 1).all():
                found.append((one, two))
            elif sizes[1] > sizes[0] and (met.sum(axis=0) <= 1).all():
                found.append((two, one))
        return tuple(found)

    def weights(self, feature: str, level: int, base: int, group: Group | None = None) -> np.ndarray | None:
        """Weight of the outcomes of each cell in an AMCE, shape (C,); None where it is not identified."""
        block, bread, null = self._solve(feature, group)
        contrast = level_contrast(self.cells, block, feature, level, base, self.partner(feature, group))
        if np.isnan(contrast).any() or np.abs(contrast @ null).max(initial=0.0) > 1e-8:
            return None
        found: np.ndarray = block.design @ (bread @ contrast)
        return found

    def _solve(self, feature: str, group: Group | None) -> Solved:
        """The regression with a feature, its inverse cross products, and what these leave undetermined.

        A feature that follows from another one stays out of its regressions, unless they are joined.
        """
        apart = {name for pair in self.nested if feature in pair for name in pair}
        apart -= {feature, self.partner(feature)}
        if group is not None:
            apart |= {group.by}
        names = tuple(name for name in self.cells.levels if name not in apart)
        if (names, group) not in self._solved:
            joined = [pair for pair in self.restrictions if set(names).issuperset(pair)]
            block = make_block(self.cells, names, joined, inside=self.inside(group))
            gram = block.design.T @ (block.design * self.probability[:, None])
            self._solved[names, group] = (block, *invert_in_order(gram))
        return self._solved[names, group]


def regressions(design: pd.DataFrame, restrictions: Sequence[tuple[str, str]] = ()) -> Regressions:
    """Read a table of cells or profiles."""
    names = [str(name) for name in design.columns if name != PROBABILITY]
    if not names:
        raise InputError("The design has no attributes; give a table with a column for each.")
    for name in names:
        if design[name].isna().any():
            raise InputError(f"Column '{name}' of the design has a missing level; fill it or drop its row.")
    given = PROBABILITY if PROBABILITY in design else None
    if given is not None:
        design = design[~(design[given] == 0)]
    cells = build_cells(design, None, names, weights=given)
    return Regressions(cells, cells.cell_weight / cells.cell_weight.sum(), tuple(restrictions))
