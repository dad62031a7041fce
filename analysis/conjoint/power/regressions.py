"""How least squares weights the profiles of a design whose cells have known probabilities.

A contrast of coefficients is a weighted mean of outcomes: with cell probabilities ``pi``, design rows ``x``
and a contrast ``c``, the outcome of a profile has the weight ``g = c' E[x x']^-1 x``. Regressions and
contrasts are those of `conjury.analysis.conjoint.verbs.amce`, so that what is planned is what it reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.cells import AttributeCells, build_cells
from ...numerics.linear import invert_in_order
from ..estimation_plan import RegressionBlock, base_level, level_contrast, make_block
from .design_levels import Shares, categories_in_order, unknown_attribute

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

PROBABILITY = "probability"
Solved = tuple[RegressionBlock, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class InteractionGroup:
    """The profiles with one level, by its code, of the other feature of an interaction."""

    by: str
    level: int


@dataclass(frozen=True)
class Regressions:
    """The regressions that estimate AMCEs in a design of C cells."""

    cells: AttributeCells  # the attributes, and the cells that occur
    probability: np.ndarray  # (C,): sums to one
    # features whose effects depend on each other in the regression
    restrictions: tuple[tuple[str, str], ...] = ()
    _solved: dict[tuple[tuple[str, ...], InteractionGroup | None], Solved] = field(
        default_factory=dict, repr=False
    )

    def partner(self, feature: str, group: InteractionGroup | None = None) -> str | None:
        """The feature that restricts another one; within a group of it there is none."""
        pairs = (pair for first, second in self.restrictions for pair in ((first, second), (second, first)))
        name = dict(pairs).get(feature)
        return None if group is not None and name == group.by else name

    def inside(self, group: InteractionGroup | None) -> np.ndarray:
        """Flag the cells of a group, shape (C,)."""
        if group is None:
            return np.ones(self.cells.n_cells, dtype=bool)
        return np.asarray(self.cells.code(group.by) == group.level)

    def meeting(self, feature: str, partner: str, group: InteractionGroup | None = None) -> np.ndarray:
        """Flag the combinations of two features that occur, shape (levels, levels of the partner)."""
        met = np.zeros((len(self.cells.levels[feature]), len(self.cells.levels[partner])), dtype=bool)
        inside = self.inside(group)
        met[self.cells.code(feature)[inside], self.cells.code(partner)[inside]] = True
        return met

    @cached_property
    def nested(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a fine feature and a coarser one that follows from it."""
        pairs = []
        for first, second in combinations(self.cells.levels, 2):
            met = self.meeting(first, second)
            sizes = met.any(axis=1).sum(), met.any(axis=0).sum()
            if sizes[0] > sizes[1] and (met.sum(axis=1) <= 1).all():
                pairs.append((first, second))
            elif sizes[1] > sizes[0] and (met.sum(axis=0) <= 1).all():
                pairs.append((second, first))
        return tuple(pairs)

    def weights(
        self, feature: str, level: int, base: int, group: InteractionGroup | None = None
    ) -> np.ndarray | None:
        """Weight of the outcomes of each cell in an AMCE, shape (C,); None where it is not identified."""
        block, bread, null = self._solve(feature, group)
        contrast = level_contrast(self.cells, block, feature, level, base, self.partner(feature, group))
        if np.isnan(contrast).any() or np.abs(contrast @ null).max(initial=0.0) > 1e-8:
            return None
        return np.asarray(block.design @ (bread @ contrast))

    def _solve(self, feature: str, group: InteractionGroup | None) -> Solved:
        """The regression of a feature without those nested with it, its inverse, what is undetermined."""
        exclusions = {name for pair in self.nested if feature in pair for name in pair}
        exclusions -= {feature, self.partner(feature)}
        if group is not None:
            exclusions |= {group.by}
        names = tuple(name for name in self.cells.levels if name not in exclusions)
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
    weights_name = PROBABILITY if PROBABILITY in design else None
    if weights_name is not None:
        design = design[~(design[weights_name] == 0)]
    cells = build_cells(design, None, names, weights=weights_name)
    return Regressions(cells, cells.cell_weight / cells.cell_weight.sum(), tuple(restrictions))


Compared = tuple[InteractionGroup | None, ...]


def is_restricted(design: object) -> bool:
    """Whether a design is a study in which some levels never meet."""
    return hasattr(design, "attributes") and bool(design.design.restrictions)  # type: ignore[attr-defined]


def design_cells(design: object) -> pd.DataFrame:
    """The table of a design's cells: as it was given, or that of a study."""
    if isinstance(design, pd.DataFrame):
        return design
    if not hasattr(design, "attributes"):
        raise InputError(
            "restrictions require the combinations of levels that occur; give the design as a table of "
            "cells with a column for each attribute, or as a study."
        )
    from conjury.inference.design.profiles import attribute_cells

    study: Study = design  # type: ignore[assignment]
    return attribute_cells(study)


def cell_contrasts(
    design: pd.DataFrame,
    restrictions: Sequence[tuple[str, str]] = (),
    features: Sequence[str] | None = None,
    by: str | Shares | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One row for each level against its reference, with the weights that least squares gives to profiles."""
    fit = regressions(design, _check_restrictions(design, restrictions))
    levels = fit.cells.levels
    names = list(levels) if features is None else list(features)
    for name in names:
        if name not in levels:
            raise InputError(f"features: {unknown_attribute(name, levels)}")
    compared: list[Compared] = [(None,)]
    if by is not None:
        if not isinstance(by, str) or by not in levels:
            raise InputError(f"by: {unknown_attribute(str(by), levels)}")
        names = [name for name in names if name != by]
        first = InteractionGroup(by, _base(fit, by))
        compared = [(InteractionGroup(by, i), first) for i in range(len(levels[by])) if i != first.level]
    rows: list[dict[str, Any]] = []
    failures: dict[tuple[str, str], list[str]] = {}
    for name, level, groups in product(names, range(max(map(len, levels.values()))), compared):
        base = _base(fit, name)
        if level == base or level >= len(levels[name]):
            continue
        row = _contrast_row(fit, name, level, base, groups)
        if isinstance(row, str):
            failures.setdefault((name, row), []).append(str(levels[name][level]))
        else:
            rows.append(row)
    notes = tuple(
        f"No answer for {', '.join(dict.fromkeys(those))} of {name}: {why}."
        for (name, why), those in failures.items()
    )
    if not rows:
        raise InputError(notes[0] if notes else "No features remain for the plan; name another in features.")
    return categories_in_order(pd.DataFrame(rows)), (
        *notes,
        *_notes_on_averages(fit, names, by),
        *_notes_on_unrestricted(fit, names),
    )


def _check_restrictions(
    design: pd.DataFrame, restrictions: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(pair) for pair in restrictions if not isinstance(pair, str)]
    if len(pairs) != len(restrictions) or any(len(pair) != 2 for pair in pairs):
        raise InputError(f'restrictions is {restrictions!r}; give pairs of features, as [("school", "job")].')
    named = [name for pair in pairs for name in pair]
    for name in named:
        if name not in design:
            raise InputError(
                f"restrictions: {unknown_attribute(name, dict.fromkeys(map(str, design.columns)))}"
            )
        if named.count(name) > 1:
            raise InputError(
                f"restrictions name '{name}' twice; join the features that restrict it into one column."
            )
    return tuple((first, second) for first, second in pairs)


def _base(fit: Regressions, feature: str) -> int:
    return base_level(fit.cells, feature, fit.inside(None))


def _contrast_row(
    fit: Regressions, feature: str, level: int, base: int, groups: Compared
) -> dict[str, Any] | str:
    """The row of a level, in the first group against the second if there are two; or why it has none."""
    levels, code = fit.cells.levels, fit.cells.code(feature)
    weight = np.zeros(len(code))
    shares = {}
    for group, sign, prefix in zip(groups, (1, -1), ("", "other_"), strict=False):
        weights = fit.weights(feature, level, base, group)
        if weights is None:
            return _reason_unidentified(fit, feature, level, base, group)
        weight += sign * weights
        inside = fit.inside(group)
        shares[f"{prefix}share"] = float(fit.probability[inside & (code == level)].sum())
        shares[f"{prefix}reference_share"] = float(fit.probability[inside & (code == base)].sum())
    named = {"feature": feature, "level": levels[feature][level], "reference": levels[feature][base]}
    for group, key in zip(groups, ("by_level", "by_reference"), strict=False):
        if group is not None:
            named |= {"by": group.by, key: levels[group.by][group.level]}
    squares = fit.probability * weight**2
    raised = fit.inside(groups[0]) & (code == level)
    level_weight, rest_weight = float(squares[raised].sum()), float(squares[~raised].sum())
    texts = {key: str(value) for key, value in named.items()}
    return {**texts, **shares, "own_weight": level_weight, "rest_weight": rest_weight}


def _reason_unidentified(
    fit: Regressions, feature: str, level: int, base: int, group: InteractionGroup | None
) -> str:
    """Why an AMCE is not identified."""
    levels, partner = fit.cells.levels, fit.partner(feature, group)
    where = "" if group is None else f" where {group.by} is {levels[group.by][group.level]}"
    occurs = np.bincount(fit.cells.code(feature)[fit.inside(group)], minlength=len(levels[feature])) > 0
    for code in (level, base):
        if not occurs[code]:
            return f"{levels[feature][code]} never occurs{where}"
    if partner is not None:
        met = fit.meeting(feature, partner, group)
        if not (met[level] & met[base]).any():
            reference = levels[feature][base]
            return f"no level of {partner} occurs both with it and with the reference {reference}{where}"
    return f"its effect cannot be separated from those of other attributes{where}"


def _notes_on_averages(fit: Regressions, names: Sequence[str], by: object) -> list[str]:
    """Over which levels of a partner AMCEs are averaged, where these are not all."""
    notes = []
    for name in names:
        partner = fit.partner(name)
        if partner is None or partner == by:
            continue
        met, base = fit.meeting(name, partner), _base(fit, name)
        parts = [
            f"{fit.cells.levels[name][i]} over "
            + ", ".join(str(fit.cells.levels[partner][j]) for j in np.flatnonzero(mask))
            for i, mask in enumerate(met & met[base])
            if i != base and mask.any() and not mask.all()
        ]
        if parts:
            notes.append(
                f"AMCEs of {name} average over the levels of {partner} that meet both the level and its "
                f"reference: {'; '.join(parts)}."
            )
    return notes


def _notes_on_unrestricted(fit: Regressions, names: Sequence[str]) -> list[str]:
    """What a reader must know about features that no restriction joins."""
    joined = {frozenset(pair) for pair in fit.restrictions}
    nested = [pair for pair in fit.nested if frozenset(pair) not in joined]
    notes = [
        f"{coarse} follows from {fine}; each is planned without the other."
        for fine, coarse in nested
        if {fine, coarse} & set(names)
    ]
    dependent_pairs = joined | {frozenset(pair) for pair in nested}
    never = [
        f"{first} and {second}"
        for first, second in combinations(fit.cells.levels, 2)
        if frozenset((first, second)) not in dependent_pairs and not _is_crossed(fit.meeting(first, second))
    ]
    if never:
        notes.append(
            f"Some levels of {'; of '.join(never)} never meet, but no restriction joins them: their AMCEs "
            "take each effect to be the same at all levels of the other."
        )
    return notes


def _is_crossed(met: np.ndarray) -> bool:
    """Whether all levels that occur meet."""
    return bool(met[met.any(axis=1)][:, met.any(axis=0)].all())
