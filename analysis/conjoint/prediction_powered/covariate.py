"""Models' answers as covariates in the regression of people's answers, from people's tasks alone.

A model's answer to a pair depends on the profile whose effect is estimated. Entered as it is, it takes a
part of the effect away, since it is affected by treatment. Its residual from the same regression on the
profile's attributes takes nothing away, but it is orthogonal to these in the sample, so that no
coefficient moves (Frisch, Waugh and Lovell). More generally, attributes are randomised with known
probabilities, and what a model answers beyond them has an unknown distribution: without its answers to
further tasks it cannot lower the variance bound of an effect (Tsiatis et al. 2008). That a model and people
react alike to a text helps only with further tasks, which is ``correct="ppi"``.

What helps is the part of the model's answer whose distribution the randomisation gives: its prediction for
the pair, averaged over the attributes of the profile. This leaves what it says of the *other* profile, to
which people react in a forced choice, too. Where profiles are drawn apart, it is independent of the profile.
An attribute of which no pair shows the same level twice has no part in it: its level in the other profile
depends on its level in this one, and an expectation given this level, were it estimated from people's tasks,
would leave a covariate that moves no coefficient and seems to lower its error. Designs in which other
attributes depend on each other are refused, where a test shows it.

It is centred and enters the regression of people's answers with a slope for each level (Lin 2013), so that
effects are those of the regression without it, with less variance in large samples or the same. Negi and
Wooldridge (2021) show when a common slope does as well; it is used with few rows, since many slopes then cost
more than they explain. With slopes s(x) the regression with covariate c has the coefficients of the
regression of y - c s(x) without it, by which means, groups and interactions are adjusted alike.

The gain is limited by what the attributes of the other profile explain of people's answers. People's
answers alone show that, too, once they are many; a model shows it without coefficients to estimate.

References
----------
Lin, W. (2013). Agnostic notes on regression adjustments to experimental data: Reexamining Freedman's
critique. Annals of Applied Statistics 7(1), 295-318. doi:10.1214/12-AOAS583

Negi, A., Wooldridge, J. M. (2021). Revisiting regression adjustment in experiments with heterogeneous
treatment effects. Econometric Reviews 40(5), 504-534. doi:10.1080/07474938.2020.1824732

Tsiatis, A. A., Davidian, M., Zhang, M., Lu, X. (2008). Covariate adjustment for two-sample treatment
comparisons in randomized clinical trials. Statistics in Medicine 27(23), 4658-4677. doi:10.1002/sim.3113
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from conjury.inference.errors import InputError, listed

from ...correction.debias import SourceEstimates, units_of
from ...numerics.linear import Regression, least_squares
from ...numerics.rating_panel import RowClusters
from ...numerics.sandwich import small_sample_scale
from ..engines.native import fits_of, influence, raw_influence
from ..request import EstimateRequest
from .correction_tasks import (
    PAIR,
    CorrectionTasks,
    MakePlan,
    Plans,
    coefficients_of,
    people_plan,
    stack_models,
    with_outcome,
)

BY_LEVEL, COMMON = "by level", "common"
ROWS_PER_COLUMN = 20  # people's rows for each column of the regression, below which the slope is common
FROM_OTHER_PROFILE = (
    "A covariate is what a model's answers predict from the other profile of a pair. Its gain is limited by "
    "the share of the variance of people's answers that the attributes of the other profile explain; further "
    "tasks of the model increase it only with correct='ppi'."
)
NEVER_SHARED = "No pair shows the same level of {} in both profiles, so that it is no part of the covariate."
_ROUNDING = 1e-9  # of a model's largest answer; what it predicts varies by no less
DEPENDENT = 1e-3  # chance of refusing a design whose profiles are drawn apart
_LEAST_CELL = 5.0  # expected pairs in a cell, below which the statistic is not distributed as chi-square
_NEVER = 7.0  # pairs of equal profiles that are expected, from which their absence is no chance


@dataclass(frozen=True)
class Adjustment:
    """What J covariates explain of people's answers, n rows."""

    covariate: np.ndarray  # (J, n): centred
    slope: np.ndarray  # (J, n): of each covariate, at the levels of the row
    rank: int  # slopes that were estimated
    slopes: str  # "by level" or "common"
    left_out: tuple[str, ...] = ()  # attributes that have no part in the covariates

    @property
    def explained(self) -> np.ndarray:
        """What is taken from people's answers, shape (n,)."""
        return np.asarray((self.covariate * self.slope).sum(axis=0))


def adjusted_plans(
    request: EstimateRequest, tasks: CorrectionTasks, make_plan: MakePlan
) -> tuple[Plans, Adjustment]:
    """The regression of people's answers, and the same of what the covariates explain of them."""
    plan, clusterings, weights = people_plan(request, tasks, make_plan)
    of_people = {
        name: RowClusters.numbered(clusters.code[: len(tasks.human)])
        for name, clusters in clusterings.items()
    }
    covariate, levels, left_out = covariates(request, tasks, plan.cells.weight)
    outcome = tasks.human[request.formula.outcome].to_numpy(dtype=float)
    adjustment = adjust(covariate, levels, outcome, plan.cells.weight)
    adjustment = replace(adjustment, left_out=left_out)
    return Plans(plan, (with_outcome(plan, adjustment.explained),), (), of_people, weights), adjustment


def adjusted_sources(
    tasks: CorrectionTasks, plans: Plans, fits: Sequence[Regression], adjustment: Adjustment
) -> SourceEstimates:
    """People's estimates and what is taken from them, with the influence of people's clusters."""
    # Covariates are centred in the sample; the influence of their means stands in the place of further tasks.
    human, kind = plans.human, plans.human.request.vcov
    (explained,) = plans.labelled
    of_explained = fits_of(explained)
    fold, clusterings = units_of(plans.clusterings, len(tasks.human), 1, 1)
    share = human.cells.weight / human.cells.weight.sum()
    of_slopes = np.array([coefficients_of(fits_of(with_outcome(human, slope))) for slope in adjustment.slope])
    # Two rows for each answer: the profiles of a pair
    answers = len(tasks.human) / 2
    scale = np.sqrt(answers / max(answers - adjustment.rank, 1.0))
    influences = []
    for clustering in clusterings:
        of_human = influence(human, list(fits), kind, clustering.units, clustering.labelled)
        correction = influence(explained, of_explained, kind, clustering.units, clustering.labelled)
        correction = of_human - scale * (of_human - correction)
        cluster = clustering.cluster[clustering.units.code]
        means = np.array([np.bincount(cluster, share * row, clustering.n) for row in adjustment.covariate])
        means *= float(small_sample_scale(np.array(float(clustering.labelled.n))))
        parts = clustering.influence(of_human, correction[:, None], np.zeros((0, 1, correction.shape[1])))
        influences.append(replace(parts, unlabelled=(means.T @ of_slopes)[:, None]))
    people, total = clusterings[0].labelled.n, coefficients_of(of_explained)[None]
    moved = stack_models([raw_influence(explained, of_explained, fold)])
    return SourceEstimates(
        coefficients_of(fits), total, np.zeros_like(total), influences, moved, people, people
    )


def adjust(covariate: np.ndarray, levels: np.ndarray, outcome: np.ndarray, weight: np.ndarray) -> Adjustment:
    """Regress people's outcome (n,) on dummies of levels (n, k) and on covariates (J, n), interacted."""
    n, k = levels.shape
    j = len(covariate)
    by_level = n >= ROWS_PER_COLUMN * (1 + j) * (1 + k)
    alone = np.column_stack([np.ones(n), levels])
    sloped = alone if by_level else alone[:, :1]
    added = [column[:, None] * sloped for column in covariate]
    fit = least_squares(np.hstack([alone, *added]), weight, weight * outcome)
    coef = fit.coef[1 + k :].reshape(j, sloped.shape[1])
    rank = int((np.diag(fit.bread)[1 + k :] > 0).sum())
    return Adjustment(covariate, coef @ sloped.T, rank, BY_LEVEL if by_level else COMMON)


@dataclass(frozen=True)
class _PairedProfiles:
    """Profiles of people's n rows and of models' rows, N in all, with k dummies of their levels."""

    design: np.ndarray  # (N, k): dummies of all levels but the first of each attribute
    kept: np.ndarray  # (k,): 1 for those of attributes of which some pair shows a level twice, else 0
    profile: np.ndarray  # (N,): number of the levels of these attributes together
    rival: np.ndarray  # (N,): a row that shows the other profile, -1 without one or where a level is missing
    first: np.ndarray  # rows that show each profile of each pair once

    def says(self, rows: np.ndarray, answers: np.ndarray) -> np.ndarray | None:
        """What answers to these rows imply about each pair's other profile, (N,), less its expectation."""
        # None stands for answers that say the same of all.
        rows, answers = rows[~np.isnan(answers)], answers[~np.isnan(answers)]
        pairs = np.column_stack([np.ones(len(rows)), self.design[rows], self.design[self.rival[rows]]])
        fit = least_squares(pairs, np.ones(len(rows)), answers)
        value = self.design @ (self.kept * fit.coef[1 + self.design.shape[1] :])
        if np.ptp(value) < _ROUNDING * max(np.abs(answers).max(initial=0.0), 1e-300):
            return None
        return np.asarray(value[self.rival] - _expectation(value, self.profile, self.rival, self.first))


def covariates(
    request: EstimateRequest, tasks: CorrectionTasks, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """What each model says of the other profile in the pair of each of people's rows, (J, n), centred."""
    # It is 0 where the table lacks the other profile, or a level of either. With it come the dummies of the
    # row's levels, (n, k), and the attributes that are left out: no pair of people shows a level twice.
    features, n = list(request.formula.features), len(tasks.human)
    key = np.concatenate([tasks.key_of_human, tasks.key_of_other])
    every = pd.concat([tasks.human, tasks.other])[features]
    profiles, left_out = _pair_profiles(every, key, len(key) if tasks.weight is not None else n)
    answered_rows = n + np.flatnonzero(profiles.rival[n:] >= 0)
    values = np.zeros((len(tasks.models), n))
    has_rival = profiles.rival[:n] >= 0
    for number, answers in enumerate(tasks.of_other[:, answered_rows - n]):
        predictions = profiles.says(answered_rows, answers)
        if predictions is not None:
            values[number, has_rival] = predictions[:n][has_rival]
    mean = values[:, has_rival] @ weight[has_rival] / max(weight[has_rival].sum(), 1e-300)
    return np.where(has_rival, values - mean[:, None], 0.0), profiles.design[:n], left_out


def _pair_profiles(
    features: pd.DataFrame, key: np.ndarray, n: int
) -> tuple[_PairedProfiles, tuple[str, ...]]:
    """Pair the profiles of rows, and name attributes that are left out."""
    # The first n rows were drawn as people's tasks: theirs, and all of which these are an unequal sample.
    codes = [pd.factorize(features[name].astype("string"), sort=True)[0] for name in features]
    complete = np.flatnonzero(np.logical_and.reduce([code >= 0 for code in codes]))  # no level is missing
    place = np.full(2 * (int(key.max()) // 2 + 1), -1, dtype=np.int64)
    place[key[complete[::-1]]] = complete[::-1]
    profile = _profiles(codes)
    if (profile[place[key[complete]]] != profile[complete]).any():
        raise InputError(
            f"Some values of {PAIR!r} name several pairs, so it is not known which profiles were shown "
            "together; add the respondent to it."
        )
    rival, first = np.full(len(key), -1, dtype=np.int64), np.unique(place[key[complete]])
    rival[complete] = place[key[complete] ^ 1]
    task_rows = first[(first < n) & (rival[first] >= 0)]
    equal = [code[task_rows] == code[rival[task_rows]] for code in codes]
    never = np.array([not flags.any() for flags in equal])
    shared = ~never & ~np.array([bool(flags.all()) for flags in equal])
    attributes = [str(name) for name in features]
    names = tuple(name for name, is_excluded in zip(attributes, never, strict=True) if is_excluded)
    if never.all() and min(_expected_equal(code[task_rows]) for code in codes) >= _NEVER:
        raise InputError(
            f"No pair shows the same level of {listed(map(repr, names))} in both profiles, so that the other "
            "profile depends on the first and a model's answers cannot be covariates; use correct='ppi', "
            "which compares the model's answers to people's tasks with those to further tasks."
        )
    columns = [(code[:, None] == np.arange(1, code.max() + 1)).astype(float) for code in codes]
    column_mask = np.repeat(shared.astype(float), [column.shape[1] for column in columns])
    profile = _profiles([codes[place] for place in np.flatnonzero(shared)] or codes)
    _refuse_dependence(attributes, codes, shared, profile, rival, task_rows[key[task_rows] % 2 == 0])
    return _PairedProfiles(np.hstack(columns), column_mask, profile, rival, first), names


def _profiles(codes: Sequence[np.ndarray]) -> np.ndarray:
    """Number the combinations of the levels of attributes, shape (N,)."""
    profile = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        profile = np.unique(profile * (int(code.max()) + 2) + code, return_inverse=True)[1]
    return profile


def _expected_equal(code: np.ndarray) -> float:
    """Pairs that would show a value twice if profiles were drawn apart, from the codes of both (2P,)."""
    share = np.unique(code, return_counts=True)[1] / max(len(code), 1)
    return float(len(code) / 2 * (share**2).sum())


def _expectation(value: np.ndarray, profile: np.ndarray, rival: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Expectation of the value of the other profile in the pair of each row, shape (N,)."""
    # Where a pair never shows equal profiles, it is the mean over those that differ from the row's. `rival`
    # is the row of the other profile, `first` are the rows that show each profile of each pair once.
    mean = float(value[first].mean())
    paired = first[rival[first] >= 0]
    if (profile[paired] == profile[rival[paired]]).any() or _expected_equal(profile[paired]) < _NEVER:
        return np.full(len(value), mean)
    share = (np.bincount(profile[first], minlength=int(profile.max()) + 1) / len(first))[profile]
    return np.asarray((mean - share * value) / (1 - share))


def _refuse_dependence(
    features: Sequence[str],
    codes: Sequence[np.ndarray],
    shared: np.ndarray,
    profile: np.ndarray,
    rival: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Refuse designs in which shared attributes of one profile depend on attributes of the other."""
    # Each is tested against each by chi-square, with one row for each pair. Where no pair shows equal
    # profiles, those that the design leaves out are counted as if they were shown.
    absent = np.zeros(len(rows))
    pair_profiles = profile[np.concatenate([rows, rival[rows]])]
    if not (profile[rows] == profile[rival[rows]]).any() and _expected_equal(pair_profiles) >= _NEVER:
        share = (np.bincount(pair_profiles) / len(pair_profiles))[pair_profiles]
        absent = share[: len(rows)] / (1 - share.mean())
    tests = []
    for a, code in enumerate(codes):
        for b in np.flatnonzero(shared):
            table = np.zeros((int(code.max()) + 1, int(codes[b].max()) + 1))
            np.add.at(table, (code[rows], codes[b][rival[rows]]), 1.0)
            np.add.at(table, (code[rows], codes[b][rows]), absent)
            tests.append((_dependence(table), features[a], features[b]))
    least, a_name, b_name = min(tests, default=(1.0, "", ""))
    if tests and least * len(tests) < DEPENDENT:
        raise InputError(
            f"The attributes of a profile depend on those of the other profile in its pair ({a_name!r} on "
            f"{b_name!r}), so that a model's answers cannot be covariates; use correct='ppi', which compares "
            "the model's answers to people's tasks with those to further tasks."
        )


def _dependence(table: np.ndarray) -> float:
    """P value of the chi-square test of a table of counts, among levels that are frequent enough for it."""
    enough = np.sqrt(_LEAST_CELL * table.sum())
    table = table[table.sum(axis=1) >= enough][:, table.sum(axis=0) >= enough]
    if min(table.shape) < 2 or not table.any():
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    df = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(chdtrc(df, ((table - expected) ** 2 / expected).sum()))
