"""Contrasts: any level against any level, any group against any group, from a fit that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.variables import listed
from ...numerics.intervals import check_alpha
from ...results import row_labels, tidy
from ..engines.solution import assemble
from ..estimates import Estimates
from ..reliability.correction import Corrected
from .contrast_basis import Space, space_of

Level = str | bool
GroupName = str | Sequence[str]
Pair = tuple[int, int | None]


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
        return _on_record(assemble(plan, fit.fitted.solution), fit)
    estimate, vcov = _of_rows(fit, contrasts)
    df = _df_of_rows(fit, contrasts)
    frame = tidy(keys, estimate, np.sqrt(np.diag(vcov)), size, df=df)
    known = frame["std_error"].notna().to_numpy()
    labels = row_labels(keys[known])
    found = pd.DataFrame(vcov[np.ix_(known, known)], index=labels, columns=labels)
    made = replace(fit.provenance, alpha=size, null=0.0, interval="normal" if df is None else "t")
    return _on_record(Estimates(frame, found, made), fit)


def _on_record(found: Estimates, fit: Estimates) -> Estimates:
    extra = fit.provenance.extra | {"contrast_of": fit.provenance.verb}
    return replace(found, provenance=replace(found.provenance, verb="contrast", extra=extra))


def _combine(space: Space, groups: Pair, levels: Pair) -> np.ndarray:
    """Contrast of a pair of levels in a group, or its difference between two groups, shape (K,)."""
    one, other = groups
    found = space.vector(one, *levels)
    return found if other is None else found - space.vector(other, *levels)


def _level_pairs(
    space: Space, level: Level | None, reference: Level | None, between_groups: bool
) -> list[Pair]:
    everything = range(len(space.levels))
    own = None if level is None else _position(space, level, "level")
    base = None if reference is None else _position(space, reference, "reference")
    if own is not None and own == base:
        raise InputError(f"level and reference are both {level!r}; name two levels of {space.feature!r}.")
    if base is None and between_groups:
        base = None if space.is_mean else space.base
        chosen = [own] if own is not None else [i for i in everything if i != base]
        return [(i, base) for i in chosen if i != base] or _no_effect(space, level)
    if own is not None and base is not None:
        return [(own, base)]
    if own is not None:
        return [(own, i) for i in everything if i != own]
    if base is not None:
        return [(i, base) for i in everything if i != base]
    return [(later, earlier) for earlier, later in combinations(everything, 2)]


def _no_effect(space: Space, level: Level | None) -> list[Pair]:
    raise InputError(
        f"level {level!r} is the reference of {space.feature!r} in this fit, so it has no effect to compare; "
        "name another reference."
    )


def _position(space: Space, level: Level, option: str) -> int:
    names = list(space.levels)
    if str(level) not in names:
        raise InputError(
            f"{option} {level!r} is no level of {space.feature!r}; the levels are {listed(names)}."
        )
    return names.index(str(level))


def _group_pairs(space: Space, group: tuple[GroupName, GroupName] | Literal["all"] | None) -> list[Pair]:
    names = ["***".join(found) for found in space.groups]
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
    asked = [one if isinstance(one, str) else "***".join(map(str, one)) for one in group]
    stray = next((one for one in asked if one not in names), None)
    if stray is not None:
        raise InputError(f"group names {stray!r}; the groups of the fit are {listed(names)}.")
    if asked[0] == asked[1]:
        raise InputError(f"group names {asked[0]!r} twice; give two different groups.")
    return [(names.index(asked[0]), names.index(asked[1]))]


def _keys(space: Space, fit: Estimates, pairs: Sequence[tuple[Pair, Pair]]) -> pd.DataFrame:
    """Name the rows of the contrasts."""
    first, levels = fit.frame.iloc[0], list(space.levels)
    grouped = space.groups != ((),)
    compared = space.is_difference or pairs[0][0][1] is not None
    against_level = pairs[0][1][1] is not None
    given = str(first["statistic"])
    kind = ("mm_contrast" if against_level else "mm") if space.is_mean else "amce"
    kind = f"p{kind}" if given.startswith(("pamce", "pmm")) else kind
    statistic = kind + "_difference" if compared or given.endswith("_difference") else kind
    keys = pd.DataFrame(
        {
            "outcome": first["outcome"],
            "statistic": statistic,
            "feature": pd.Categorical([space.feature] * len(pairs), [space.feature]),
            "level": pd.Categorical.from_codes([one for _, (one, _) in pairs], pd.Index(levels)),
        }
    )
    if grouped:
        names = ["***".join(found) for found in space.groups]
        told = [
            names[one] if not compared else f"{names[one]} - {names[0 if other is None else other]}"
            for (one, other), _ in pairs
        ]
        keys.insert(0, "by", told)
        for position, column in enumerate(fit.provenance.by):
            keys[column] = [space.groups[one][position] for (one, _), _ in pairs]
    if against_level:
        keys.insert(0, "reference", [levels[base] for _, (_, base) in pairs if base is not None])
    return keys


def _of_rows(fit: Estimates, contrasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimates (r,) and covariance (r, r) of combinations of a table's m rows; NaN where one is missing."""
    if fit.vcov is None:
        raise InputError("The result has no covariance; give a fit of an engine other than cregg.")
    value = fit.frame["estimate"].to_numpy(float, na_value=np.nan)
    tested = fit.frame["std_error"].notna().to_numpy()
    full = np.zeros((len(value), len(value)))
    full[np.ix_(tested, tested)] = fit.vcov.to_numpy(float)
    vcov = contrasts @ full @ contrasts.T
    estimate = contrasts @ np.nan_to_num(value)
    lost = ((contrasts != 0) & ~tested).any(axis=1)
    estimate[lost] = np.nan
    vcov[lost, :] = vcov[:, lost] = np.nan
    return estimate, vcov


def _df_of_rows(fit: Estimates, contrasts: np.ndarray) -> np.ndarray | None:
    """Degrees of freedom, shape (r,), of combinations of a table's m rows; None if it has none."""
    if "df" not in fit.frame:
        return None
    if isinstance(fit, Corrected) and fit.uncorrected.fitted is not None:
        fitted = fit.uncorrected.fitted
        if fitted.solution.df is not None:
            return np.asarray(fitted.solution.df(contrasts @ np.nan_to_num(fitted.plan.contrasts)))
    df = fit.frame["df"].to_numpy(float, na_value=np.nan)
    return np.asarray(np.fmin.reduce(np.where(contrasts != 0, df, np.inf), axis=1))
