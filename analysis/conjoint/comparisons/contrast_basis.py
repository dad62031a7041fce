"""What contrasts are made of: a fit's coefficients, or, without them, the rows of its table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.variables import listed, parse
from ..estimates import Estimates
from ..plan import Plan, groups_of, level_contrast, occurring
from ..reliability.correction import Corrected

MEANS = ("mm", "cj_mm", "mm_diffs")
DIFFERENCES = ("amce_diffs", "mm_diffs")
EFFECTS = ("amce", "amce_by_reference", "cj_amce", "amce_diffs")


@dataclass(frozen=True)
class PlanSpace:
    """Levels of one feature in each group as vectors of coefficients.

    Groups have their level of every grouping column; without groups there is a single empty one.
    """

    fitted: Plan
    name: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def plan(self) -> Plan | None:
        """The plan."""
        return self.fitted

    @property
    def feature(self) -> str:
        """The feature's label."""
        return self.fitted.request.label(self.name)

    @property
    def levels(self) -> tuple[str, ...]:
        """Its levels, in order."""
        return tuple(map(str, self.fitted.cells.levels[self.name]))

    @property
    def is_mean(self) -> bool:
        """Whether a level has a mean of its own, and not only an effect against a base."""
        return self.fitted.request.verb in MEANS

    @property
    def is_difference(self) -> bool:
        """Whether all groups are compared with the first."""
        return self.fitted.request.verb in DIFFERENCES

    @property
    def base(self) -> int:
        """First level that occurs."""
        inside = np.logical_or.reduce([block.inside for block in self.fitted.blocks])
        return int(occurring(self.fitted.cells, self.name, inside).argmax())

    def vector(self, group: int, level: int, base: int | None) -> np.ndarray:
        """Vector of coefficients, shape (K,)."""
        found = self._within(group, level, base)
        return found - self._within(0, level, base) if self.is_difference else found

    def _within(self, group: int, level: int, base: int | None) -> np.ndarray:
        plan = self.fitted
        vector = np.zeros(plan.contrasts.shape[1])
        size = len(plan.blocks) // len(self.groups)
        for number in range(group * size, (group + 1) * size):
            block, columns = plan.blocks[number], plan.slices[number]
            if not self.is_mean:
                partners = {a: b for pair in plan.request.formula.restrictions for a, b in (pair, pair[::-1])}
                assert base is not None
                vector[columns] = level_contrast(
                    plan.cells, block, self.name, level, base, partners.get(self.name)
                )
            elif block.terms[0][0][0] == self.name:
                vector[columns][level] = 1.0
                if base is not None:
                    vector[columns][base] = -1.0
        return vector


@dataclass(frozen=True)
class RowSpace:
    """Vectors of the rows of a table, which hold every level's mean, or its effect against one base."""

    rows: pd.DataFrame
    feature: str
    levels: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    by: tuple[str, ...]
    is_mean: bool
    is_difference: bool
    plan: Plan | None

    @property
    def base(self) -> int:
        """The level without a row, or whose row is a reference."""
        shown = self.rows[(self.rows["feature"] == self.feature) & self.rows["std_error"].notna()]
        return next((i for i, name in enumerate(self.levels) if name not in set(shown["level"])), 0)

    def vector(self, group: int, level: int, base: int | None) -> np.ndarray:
        """Vector of rows, shape (m,), or of the coefficients behind them, shape (K,)."""
        vector = self._row(group, level)
        if base is not None:
            vector = vector - self._row(group, base)
        return vector if self.plan is None else vector @ self.plan.contrasts

    def _row(self, group: int, level: int) -> np.ndarray:
        rows = self.rows
        here = (rows["feature"] == self.feature) & (rows["level"] == self.levels[level])
        for name, value in zip(self.by, self.groups[group], strict=True):
            here &= rows[name] == value
        is_reference = (rows["estimate"] == 0) & rows["std_error"].isna()
        return (here & ~is_reference).to_numpy(float)


Space = PlanSpace | RowSpace


def space_of(fit: Estimates, feature: str) -> Space:
    """The space of a feature in a fit, or InputError where the fit cannot be contrasted."""
    frame = fit.frame
    if fit.provenance.engine == "cregg":
        raise InputError(
            "The engine cregg keeps no covariance to contrast with; fit with engine='native' or 'survey', or "
            "give cregg another reference."
        )
    _check(fit)
    if "statistic" not in frame or "estimate" not in frame or "feature" not in frame or "reference" in frame:
        raise InputError("contrast needs a fit of amce, mm, cj, amce_diffs or mm_diffs.")
    named = list(dict.fromkeys(frame["feature"].astype(str)))
    plan = fit.fitted.plan if fit.fitted is not None else None
    if plan is not None and plan.request.verb in (*MEANS, *EFFECTS):
        labels = {plan.request.label(name): name for name in plan.request.formula.features}
        known = labels | {name: name for name in plan.request.formula.features}
        if feature not in known:
            raise InputError(f"The fit has no feature {feature!r}; its features are {listed(named)}.")
        groups = groups_of(plan.cells, plan.request.by) if plan.request.by else []
        names = tuple(tuple(map(str, found[0])) for found in groups) or ((),)
        return PlanSpace(plan, known[feature], names)
    if feature not in named:
        raise InputError(f"The fit has no feature {feature!r}; its features are {listed(named)}.")
    return _row_space(fit, feature, plan)


def _check(fit: Estimates) -> None:
    """Refuse results whose contrasts would be of something else than the result is."""
    if fit.provenance.interval == "wild":
        raise InputError(
            "Contrasts of a wild bootstrap have draws of their own; give wild(contrast(fit, ...)) the fit."
        )
    if isinstance(fit, Corrected) and len(fit.tau) > 1:
        raise InputError(
            "These estimates are corrected by several swapping errors, which a contrast would mix; correct "
            "again with reference={feature: level}, or by one swapping error."
        )
    if "statistic" in fit.frame and fit.frame["statistic"].astype(str).isin(["acie", "amie"]).any():
        raise InputError(
            "Interactions are contrasts already; contrast the effects of conditional_amce, or name another "
            "reference in interaction."
        )


def _row_space(fit: Estimates, feature: str, plan: Plan | None) -> RowSpace:
    made = fit.provenance
    if any(feature in pair for pair in parse(made.formula).restrictions):
        raise InputError(
            f"Feature {feature!r} is restricted by another, so its contrasts do not follow from the table; "
            "contrast a fit, or bootstrap amce with that reference."
        )
    kinds = set(fit.frame["statistic"].astype(str))
    is_difference = "by" in fit.frame and all(kind.endswith("_difference") for kind in kinds)
    columns = ["feature", "level", *(name for name in (*made.by, "by") if name in fit.frame)]
    rows = fit.frame.assign(**{name: fit.frame[name].astype(str) for name in columns})
    own = rows[rows["feature"] == feature]
    by = tuple(name for name in made.by if name in rows)
    groups: list[tuple[str, ...]] = [()]
    if by:
        groups = list(dict.fromkeys(own[list(by)].itertuples(index=False, name=None)))
    levels = list(dict.fromkeys(own["level"]))
    if is_difference:
        groups.insert(0, (str(own["by"].iloc[0]).removeprefix(f"{groups[0][0]} - "),))
    is_mean = all(kind.startswith(("mm", "pmm")) for kind in kinds)
    if not is_mean and plan is not None:
        known = {plan.request.label(name): own for name, own in plan.cells.levels.items()}
        levels = [str(level) for level in known[feature]]
    elif not is_mean and is_difference:
        levels.insert(0, "(reference)")
    return RowSpace(rows, feature, tuple(levels), tuple(groups), by, is_mean, is_difference, plan)
