"""Contrasts: any level against any level, any group against any group, from a fit that is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ...frames.variables import no_level, parse
from ...numerics.intervals import check_alpha
from ...results import row_labels, tidy
from ..engines.solution import assemble
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan, flag_levels, groups_of, level_contrast
from ..reliability.correction import SwapCorrectedEstimates

Level = str | bool
GroupName = str | Sequence[str]
Pair = tuple[int, int | None]
MEANS = ("mm", "cj_mm", "mm_diffs")
DIFFERENCES = ("amce_diffs", "mm_diffs")
EFFECTS = ("amce", "amce_by_reference", "cj_amce", "amce_diffs")


@dataclass(frozen=True)
class Space:
    """Levels of one feature in each group, as vectors of a fit's coefficients or of its table's rows."""

    feature: str
    levels: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]  # a level of every grouping column; without groups an empty one
    is_mean: bool  # whether a level has a mean of its own, and not only an effect against a base
    is_difference: bool  # whether all groups are compared with the first
    base: int  # the first level that occurs, or whose row is a reference
    plan: EstimationPlan | None  # where vectors are of coefficients
    vector: Callable[[int, int, int | None], np.ndarray]  # of a group, a level and the base, if there is one


@any_frame
def contrast(
    fit: Estimates,
    feature: str,
    level: Level | None = None,
    reference: Level | None = None,
    *,
    group: tuple[GroupName, GroupName] | Literal["all"] | None = None,
    alpha: float | None = None,
) -> Estimates:
    """Compare any levels of a feature, or any groups, without fitting again.

    Parameters
    ----------
    fit : Estimates
        From `amce`, `mm`, `cj` with ``by``, `amce_diffs`, `mm_diffs`, `pamce`, `pmm`,
        `target_sensitivity`, or a bootstrap of them; the engine cregg keeps no covariance
        and cannot be contrasted.
    feature : str
        The attribute that both levels belong to.
    level, reference : str, optional
        ``level`` minus ``reference``. With one of them, every other level takes the
        place of the other; with neither, all pairs of levels are compared.
    group : pair of str, or "all", optional
        First minus second group of a fit by groups (pairs of tuples where several columns
        define the groups), or all pairs. For AMCEs the reference is then the fit's own
        unless it is given; marginal means are compared level by level.
    alpha : float, optional
        One minus the confidence level, by default the fit's.

    Returns
    -------
    Estimates
        The tidy columns, with a first column ``reference`` where levels are compared, and
        ``by`` where there are groups. Statistic "amce" for effects, "mm_contrast" for
        differences of two marginal means; "amce_difference", "mm_difference" and
        "mm_contrast_difference" between groups; with a leading "p" where a target
        distribution was given. Covariances, also between groups that
        share clusters, are kept in ``vcov``.

    Raises
    ------
    InputError
        For unknown features, levels and groups, fits without covariance, wild bootstraps,
        interactions, and estimates corrected by several swapping errors.

    Notes
    -----
    Where features restrict each other, a contrast averages with equal weight over the
    partner's levels that occur with both levels, so that it equals `amce` with that
    reference. A bootstrap is contrasted by its covariance and normal intervals; estimates
    corrected by one swapping error by theirs, with the degrees of freedom of the contrast
    as observed.

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 1, 1, 1, 0], "tone": list("abcabcabc")})
    >>> fit = amce(data, "y ~ tone")
    >>> contrast(fit, "tone", "c", "b").frame["estimate"].round(3).tolist()
    [0.333]
    >>> contrast(fit, "tone").frame[["reference", "level"]].astype(str).agg(" to ".join, axis=1).tolist()
    ['a to b', 'a to c', 'b to c']
    """
    space = space_of(fit, feature)
    level_pairs = _level_pairs(space, level, reference, group is not None)
    group_pairs = _group_pairs(space, group)
    pairs = [(groups, levels) for groups in group_pairs for levels in level_pairs]
    contrasts = np.array([_combine(space, groups, levels) for groups, levels in pairs])
    keys = _keys(space, fit, pairs)
    size = fit.provenance.alpha if alpha is None else check_alpha(alpha)
    if space.plan is not None and fit.fitted is not None:
        request = replace(space.plan.request, alpha=size, h0=0.0)
        plan = replace(
            space.plan,
            contrasts=contrasts,
            keys=keys,
            is_reference=np.zeros(len(keys), bool),
            request=request,
        )
        return _with_contrast_provenance(assemble(plan, fit.fitted.solution), fit)
    estimate, vcov = _estimates_of_rows(fit, contrasts)
    df = _df_of_rows(fit, contrasts)
    frame = tidy(keys, estimate, np.sqrt(np.diag(vcov)), size, df=df)
    is_tested = frame["std_error"].notna().to_numpy()
    labels = row_labels(keys[is_tested])
    vcov_table = pd.DataFrame(vcov[np.ix_(is_tested, is_tested)], index=labels, columns=labels)
    provenance = replace(fit.provenance, alpha=size, null=0.0, interval="normal" if df is None else "t")
    return _with_contrast_provenance(Estimates(frame, vcov_table, provenance), fit)


def _with_contrast_provenance(estimates: Estimates, fit: Estimates) -> Estimates:
    extra = fit.provenance.extra | {"contrast_of": fit.provenance.verb}
    provenance = replace(estimates.provenance, verb="contrast", extra=extra)
    return replace(estimates, provenance=provenance, notes=(*fit.notes, *estimates.notes))


def _combine(space: Space, groups: Pair, levels: Pair) -> np.ndarray:
    """Contrast of a pair of levels in a group, or its difference between two groups, shape (K,)."""
    group, base_group = groups
    coefficients = space.vector(group, *levels)
    return coefficients if base_group is None else coefficients - space.vector(base_group, *levels)


def _level_pairs(
    space: Space, level: Level | None, reference: Level | None, between_groups: bool
) -> list[Pair]:
    everything = range(len(space.levels))
    level_index = None if level is None else _position(space, level, "level")
    base_index = None if reference is None else _position(space, reference, "reference")
    if level_index is not None and level_index == base_index:
        raise InputError(f"level and reference are both {level!r}; name two levels of {space.feature!r}.")
    if base_index is None and between_groups:
        base_index = None if space.is_mean else space.base
        chosen = [level_index] if level_index is not None else [i for i in everything if i != base_index]
        return [(i, base_index) for i in chosen if i != base_index] or _refuse_reference(space, level)
    if level_index is not None and base_index is not None:
        return [(level_index, base_index)]
    if level_index is not None:
        return [(level_index, i) for i in everything if i != level_index]
    if base_index is not None:
        return [(i, base_index) for i in everything if i != base_index]
    return [(later, earlier) for earlier, later in combinations(everything, 2)]


def _refuse_reference(space: Space, level: Level | None) -> list[Pair]:
    raise InputError(
        f"level {level!r} is the reference of {space.feature!r} in this fit, so it has no effect to compare; "
        "give another reference."
    )


def _position(space: Space, level: Level, option: str) -> int:
    names = list(space.levels)
    if str(level) not in names:
        raise no_level(level, space.feature, names, f"{option} ")
    return names.index(str(level))


def _group_pairs(space: Space, group: tuple[GroupName, GroupName] | Literal["all"] | None) -> list[Pair]:
    names = ["***".join(levels) for levels in space.groups]
    if group is None:
        return [(i, None) for i in range(int(space.is_difference), len(names))]
    if len(names) < 2:
        raise InputError("The fit has no groups to compare; fit with cj(..., by='column').")
    if isinstance(group, str):
        if group != "all":
            raise InputError(f"group is {group!r}; give two groups as a pair, or 'all'.")
        return [(later, earlier) for earlier, later in combinations(range(len(names)), 2)]
    if len(group) != 2:
        raise InputError(f"group is {group!r}; give two groups as a pair, or 'all'.")
    requested_names = [value if isinstance(value, str) else "***".join(map(str, value)) for value in group]
    stray = next((name for name in requested_names if name not in names), None)
    if stray is not None:
        raise InputError(f"group names {stray!r}; the groups of the fit are {listed(map(repr, names))}.")
    if requested_names[0] == requested_names[1]:
        raise InputError(f"group names {requested_names[0]!r} twice; give two different groups.")
    return [(names.index(requested_names[0]), names.index(requested_names[1]))]


def _keys(space: Space, fit: Estimates, pairs: Sequence[tuple[Pair, Pair]]) -> pd.DataFrame:
    """Name the rows of the contrasts."""
    first, levels = fit.frame.iloc[0], list(space.levels)
    grouped = space.groups != ((),)
    compared = space.is_difference or pairs[0][0][1] is not None
    against_level = pairs[0][1][1] is not None
    statistic_of_fit = str(first["statistic"])
    kind = ("mm_contrast" if against_level else "mm") if space.is_mean else "amce"
    kind = f"p{kind}" if statistic_of_fit.startswith(("pamce", "pmm")) else kind
    statistic = kind + "_difference" if compared or statistic_of_fit.endswith("_difference") else kind
    keys = pd.DataFrame(
        {
            "outcome": first["outcome"],
            "statistic": statistic,
            "feature": pd.Categorical([space.feature] * len(pairs), [space.feature]),
            "level": pd.Categorical.from_codes([level for _, (level, _) in pairs], pd.Index(levels)),
        }
    )
    if grouped:
        names = ["***".join(group_levels) for group_levels in space.groups]
        group_labels = [
            names[group] if not compared else f"{names[group]} - {names[0 if base is None else base]}"
            for (group, base), _ in pairs
        ]
        keys.insert(0, "by", group_labels)
        for position, column in enumerate(fit.provenance.by):
            keys[column] = [space.groups[group][position] for (group, _), _ in pairs]
    if against_level:
        keys.insert(0, "reference", [levels[base] for _, (_, base) in pairs if base is not None])
    return keys


def _estimates_of_rows(fit: Estimates, contrasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimates (r,) and covariance (r, r) of combinations of a table's m rows; NaN where one is missing."""
    if fit.vcov is None:
        raise InputError("The result has no covariance; give a fit of an engine other than cregg.")
    value = fit.frame["estimate"].to_numpy(float, na_value=np.nan)
    tested = fit.frame["std_error"].notna().to_numpy()
    full = np.zeros((len(value), len(value)))
    full[np.ix_(tested, tested)] = fit.vcov.to_numpy(float)
    vcov = contrasts @ full @ contrasts.T
    estimate = contrasts @ np.nan_to_num(value)
    is_missing = ((contrasts != 0) & ~tested).any(axis=1)
    estimate[is_missing] = np.nan
    vcov[is_missing, :] = vcov[:, is_missing] = np.nan
    return estimate, vcov


def _df_of_rows(fit: Estimates, contrasts: np.ndarray) -> np.ndarray | None:
    """Degrees of freedom, shape (r,), of combinations of a table's m rows; None if it has none."""
    if "df" not in fit.frame:
        return None
    if isinstance(fit, SwapCorrectedEstimates) and fit.uncorrected.fitted is not None:
        fitted = fit.uncorrected.fitted
        if fitted.solution.df is not None:
            return np.asarray(fitted.solution.df(contrasts @ np.nan_to_num(fitted.plan.contrasts)))
    df = fit.frame["df"].to_numpy(float, na_value=np.nan)
    return np.asarray(np.fmin.reduce(np.where(contrasts != 0, df, np.inf), axis=1))


def space_of(fit: Estimates, feature: str) -> Space:
    """The space of a feature in a fit, or InputError where the fit cannot be contrasted."""
    frame = fit.frame
    if fit.provenance.engine == "cregg":
        raise InputError(
            "The engine cregg provides no covariance for contrasts; fit with engine='native' or 'survey', or "
            "give cregg another reference."
        )
    _refuse_uncontrastable(fit)
    if "statistic" not in frame or "estimate" not in frame or "feature" not in frame or "reference" in frame:
        raise InputError("contrast needs a fit of amce, mm, cj, amce_diffs or mm_diffs.")
    named = list(dict.fromkeys(frame["feature"].astype(str)))
    plan = fit.fitted.plan if fit.fitted is not None else None
    by_plan = plan is not None and plan.request.verb in (*MEANS, *EFFECTS)
    names_by_label = {name: name for name in named}
    if plan is not None and by_plan:
        names = plan.request.formula.features
        names_by_label = {plan.request.label(name): name for name in names} | {name: name for name in names}
    if feature not in names_by_label:
        raise InputError(f"The fit has no feature {feature!r}; its features are {listed(map(repr, named))}.")
    return _plan_space(plan, names_by_label[feature]) if plan and by_plan else _row_space(fit, feature, plan)


def _refuse_uncontrastable(fit: Estimates) -> None:
    """Refuse results whose contrasts would be of something else than the result is."""
    if fit.provenance.interval == "wild":
        raise InputError("Contrasts of a wild bootstrap need their own draws; use wild(contrast(fit, ...)).")
    if isinstance(fit, SwapCorrectedEstimates) and len(fit.tau) > 1:
        raise InputError(
            "These estimates are corrected by several swapping errors, which a contrast cannot combine; "
            "correct again with reference={feature: level}, or by one swapping error."
        )
    if fit.provenance.verb in DIFFERENCES and len(fit.provenance.by) > 1:
        raise InputError("Differences of differences are contrasts already; fit again with other groups.")
    if "statistic" in fit.frame and fit.frame["statistic"].astype(str).isin(["acie", "amie"]).any():
        raise InputError(
            "Interactions are contrasts already; contrast the effects of conditional_amce, or name another "
            "reference in interaction."
        )


def _plan_space(plan: EstimationPlan, name: str) -> Space:
    groups = groups_of(plan.cells, plan.request.by) if plan.request.by else []
    names = tuple(tuple(map(str, group[0])) for group in groups) or ((),)
    inside = np.logical_or.reduce([block.inside for block in plan.blocks])
    is_mean, is_difference = (plan.request.verb in verbs for verbs in (MEANS, DIFFERENCES))
    within = partial(_coefficients, plan, name, len(plan.blocks) // len(names), is_mean)

    def vector(group: int, level: int, base: int | None) -> np.ndarray:
        coefficients = within(group, level, base)
        return coefficients - within(0, level, base) if is_difference else coefficients

    return Space(
        plan.request.label(name),
        tuple(map(str, plan.cells.levels[name])),
        names,
        is_mean,
        is_difference,
        int(flag_levels(plan.cells, name, inside).argmax()),
        plan,
        vector,
    )


def _coefficients(
    plan: EstimationPlan, name: str, size: int, is_mean: bool, group: int, level: int, base: int | None
) -> np.ndarray:
    """Vector of coefficients, shape (K,), within a group of ``size`` blocks."""
    vector = np.zeros(plan.contrasts.shape[1])
    for number in range(group * size, (group + 1) * size):
        block, columns = plan.blocks[number], plan.slices[number]
        if not is_mean:
            partners = {a: b for pair in plan.request.formula.restrictions for a, b in (pair, pair[::-1])}
            assert base is not None
            vector[columns] = level_contrast(plan.cells, block, name, level, base, partners.get(name))
        elif block.terms[0][0][0] == name:
            vector[columns][level] = 1.0
            if base is not None:
                vector[columns][base] = -1.0
    return vector


def _row_space(fit: Estimates, feature: str, plan: EstimationPlan | None) -> Space:
    provenance = fit.provenance
    if any(feature in pair for pair in parse(provenance.formula).restrictions):
        raise InputError(
            f"Feature {feature!r} is restricted by another, so its contrasts do not follow from the table; "
            "contrast a fit, or bootstrap amce with that reference."
        )
    kinds = set(fit.frame["statistic"].astype(str))
    is_difference = "by" in fit.frame and all(kind.endswith("_difference") for kind in kinds)
    columns = ["feature", "level", *(name for name in (*provenance.by, "by") if name in fit.frame)]
    rows = fit.frame.assign(**{name: fit.frame[name].astype(str) for name in columns})
    feature_rows = rows[rows["feature"] == feature]
    by = tuple(name for name in provenance.by if name in rows)
    groups: list[tuple[str, ...]] = [()]
    if by:
        groups = list(dict.fromkeys(feature_rows[list(by)].itertuples(index=False, name=None)))
    levels = list(dict.fromkeys(feature_rows["level"]))
    if is_difference:
        groups.insert(0, (str(feature_rows["by"].iloc[0]).removeprefix(f"{groups[0][0]} - "),))
    is_mean = all(kind.startswith(("mm", "pmm")) for kind in kinds)
    if not is_mean and plan is not None:
        levels_by_label = {plan.request.label(name): values for name, values in plan.cells.levels.items()}
        levels = [str(level) for level in levels_by_label[feature]]
    elif not is_mean and is_difference:
        levels.insert(0, "(reference)")
    tested_levels = set(feature_rows.loc[feature_rows["std_error"].notna(), "level"])
    base = next((i for i, name in enumerate(levels) if name not in tested_levels), 0)
    is_reference = (rows["estimate"] == 0) & rows["std_error"].isna()

    def row(group: int, level: int) -> np.ndarray:
        mask = (rows["feature"] == feature) & (rows["level"] == levels[level]) & ~is_reference
        for name, value in zip(by, groups[group], strict=True):
            mask &= rows[name] == value
        return np.asarray(mask, dtype=float)

    def vector(group: int, level: int, base: int | None) -> np.ndarray:
        coefficients = row(group, level) if base is None else row(group, level) - row(group, base)
        return coefficients if plan is None else coefficients @ plan.contrasts

    return Space(feature, tuple(levels), tuple(groups), is_mean, is_difference, base, plan, vector)
