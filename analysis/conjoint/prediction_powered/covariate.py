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
from scipy.special import fdtrc

from conjury.inference.errors import InputError

from ...correction.debias import Sources, units_of
from ...correction.items import UNLIKE
from ...numerics.linear import Regression, least_squares
from ...numerics.panel import Clusters
from ...numerics.sandwich import small_sample_scale
from ..engines.native import fits_of, influence, raw_influence
from ..plan import Plan
from ..request import Request
from .tasks import (
    PAIR,
    MakePlan,
    Plans,
    Tasks,
    coefficients_of,
    people_plan,
    stacked,
    with_outcome,
)

COVARIATE = "covariate"
BY_LEVEL, COMMON = "by level", "common"
ROWS_PER_COLUMN = 20  # people's rows for each column of the regression, below which the slope is common
FROM_OTHER_PROFILE = (
    "A covariate is what a model's answers predict from the other profile of a pair. Its gain is limited by "
    "the share of the variance of people's answers that the attributes of the other profile explain; further "
    "tasks of the model add to it with correct='ppi' alone."
)
_ROUNDING = 1e-9  # of a model's largest answer; what it predicts varies by no less
_NEVER = 7.0  # pairs of equal profiles that are expected, from which their absence is no chance


@dataclass(frozen=True)
class Adjustment:
    """What J covariates explain of people's answers, n rows."""

    covariate: np.ndarray  # (J, n): centred
    slope: np.ndarray  # (J, n): of each covariate, at the levels of the row
    rank: int  # slopes that were estimated
    slopes: str  # "by level" or "common"

    @property
    def explained(self) -> np.ndarray:
        """What is taken from people's answers, shape (n,)."""
        return np.asarray((self.covariate * self.slope).sum(axis=0))


def adjusted_plans(request: Request, tasks: Tasks, make_plan: MakePlan) -> tuple[Plans, Adjustment]:
    """The regression of people's answers, and the same of what the covariates explain of them."""
    plan, clusterings, weights = people_plan(request, tasks, make_plan)
    of_people = {name: Clusters.numbered(one.code[: len(tasks.human)]) for name, one in clusterings.items()}
    covariate, levels = covariates(request, tasks, plan.cells.weight)
    for own in covariate:
        _refuse_dependence(tasks, with_outcome(plan, own))
    outcome = tasks.human[request.formula.outcome].to_numpy(dtype=float)
    made = adjust(covariate, levels, outcome, plan.cells.weight)
    return Plans(plan, (with_outcome(plan, made.explained),), (), of_people, weights), made


def adjusted_sources(tasks: Tasks, plans: Plans, fits: Sequence[Regression], made: Adjustment) -> Sources:
    """People's estimates and what is taken from them, with the influence of people's clusters.

    Covariates are centred in the sample; the influence of their means stands in the place of further tasks.
    """
    human, kind = plans.human, plans.human.request.vcov
    (explained,) = plans.labelled
    of_explained = fits_of(explained)
    fold, clusterings = units_of(plans.clusterings, len(tasks.human), 1, 1)
    share = human.cells.weight / human.cells.weight.sum()
    of_slopes = np.array([coefficients_of(fits_of(with_outcome(human, own))) for own in made.slope])
    # Two rows for each answer: the profiles of a pair
    answers = len(tasks.human) / 2
    scale = np.sqrt(answers / max(answers - made.rank, 1.0))
    influences = []
    for one in clusterings:
        of_human = influence(human, list(fits), kind, one.units, one.labelled)
        taken = influence(explained, of_explained, kind, one.units, one.labelled)
        taken = of_human - scale * (of_human - taken)
        cluster = one.cluster[one.units.code]
        means = np.array([np.bincount(cluster, share * own, one.n) for own in made.covariate])
        means *= float(small_sample_scale(np.array(float(one.labelled.n))))
        found = one.influence(of_human, taken[:, None], np.zeros((0, 1, taken.shape[1])))
        influences.append(replace(found, unlabelled=(means.T @ of_slopes)[:, None]))
    people, total = clusterings[0].labelled.n, coefficients_of(of_explained)[None]
    moved = stacked([raw_influence(explained, of_explained, fold)])
    return Sources(coefficients_of(fits), total, np.zeros_like(total), influences, moved, people, people)


def adjust(covariate: np.ndarray, levels: np.ndarray, outcome: np.ndarray, weight: np.ndarray) -> Adjustment:
    """Regress people's outcome (n,) on dummies of levels (n, k) and on covariates (J, n), interacted."""
    n, k = levels.shape
    j = len(covariate)
    by_level = n >= ROWS_PER_COLUMN * (1 + j) * (1 + k)
    alone = np.column_stack([np.ones(n), levels])
    sloped = alone if by_level else alone[:, :1]
    added = [own[:, None] * sloped for own in covariate]
    fit = least_squares(np.hstack([alone, *added]), weight, weight * outcome)
    coef = fit.coef[1 + k :].reshape(j, sloped.shape[1])
    rank = int((np.diag(fit.bread)[1 + k :] > 0).sum())
    return Adjustment(covariate, coef @ sloped.T, rank, BY_LEVEL if by_level else COMMON)


def covariates(request: Request, tasks: Tasks, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each model says of the other profile in the pair of each of people's rows, (J, n), centred.

    It is 0 where the table lacks the other profile. With it come the dummies of the row's levels, (n, k).
    """
    every = pd.concat([tasks.human, tasks.other])[list(request.formula.features)]
    key = np.concatenate([tasks.key_of_human, tasks.key_of_other])
    design, profile = _profiles(every)
    place = np.full(2 * (int(key.max()) // 2 + 1), -1, dtype=np.int64)
    place[key[::-1]] = np.arange(len(key))[::-1]
    if (profile[place[key]] != profile).any():
        raise InputError(
            f"Some values of {PAIR!r} name several pairs, so that it is not known which profiles were shown "
            "together; add the respondent to it."
        )
    other = place[key ^ 1]
    first, n = np.unique(place[key]), len(tasks.human)
    asked = np.flatnonzero(other[n:] >= 0)
    pairs = np.column_stack([np.ones(len(asked)), design[n + asked], design[other[n + asked]]])
    found = np.zeros((len(tasks.models), n))
    both = other[:n] >= 0
    for number, answers in enumerate(tasks.of_other[:, asked]):
        known = ~np.isnan(answers)
        fit = least_squares(pairs, known.astype(float), np.where(known, answers, 0.0))
        value = design @ fit.coef[1 + design.shape[1] :]
        if np.ptp(value) < _ROUNDING * max(np.abs(answers[known]).max(initial=0.0), 1e-300):
            continue
        own = value[other[:n]] - _expected(value, profile, other, first)[:n]
        found[number, both] = own[both]
    mean = found[:, both] @ weight[both] / max(weight[both].sum(), 1e-300)
    return np.where(both, found - mean[:, None], 0.0), design[:n]


def _profiles(features: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Dummies of all levels but the first of each feature, (n, k), and the number of each profile, (n,)."""
    columns, profile = [], np.zeros(len(features), dtype=np.int64)
    for name in features:
        codes, levels = pd.factorize(features[name].astype("string"), sort=True)
        columns.append((codes[:, None] == np.arange(1, len(levels))).astype(float))
        profile = np.unique(profile * (len(levels) + 1) + codes + 1, return_inverse=True)[1]
    return np.hstack(columns), profile


def _expected(value: np.ndarray, profile: np.ndarray, other: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Expectation of the value of the other profile in the pair of each row, shape (n,).

    It is the same for all where profiles are drawn apart. Where a pair never shows equal profiles, it is the
    mean over those that differ from the row's. ``other`` is the row of the other profile, ``first`` are the
    rows that show each profile of each pair once.
    """
    mean = float(value[first].mean())
    share = np.bincount(profile[first], minlength=int(profile.max()) + 1) / len(first)
    paired = first[other[first] >= 0]
    equal = profile[paired] == profile[other[paired]]
    if equal.any() or len(paired) / 2 * (share**2).sum() < _NEVER:
        return np.full(len(value), mean)
    own = share[profile]
    return np.asarray((mean - own * value) / (1 - own))


def _refuse_dependence(tasks: Tasks, plan: Plan) -> None:
    """Refuse designs in which a covariate, the outcome, depends on the profile, by Hotelling's test."""
    pairs = Clusters.numbered(tasks.key_of_human // 2)
    fits = fits_of(plan)
    moved, coef = raw_influence(plan, fits, pairs), coefficients_of(fits)
    vcov = moved.T @ moved
    scale = float(np.trace(vcov))
    rank = int(np.linalg.matrix_rank(vcov, tol=1e-9 * scale, hermitian=True)) if scale > 0 else 0
    left = pairs.n - rank
    if not rank or left <= rank:
        return
    statistic = coef @ np.linalg.pinv(vcov, rcond=1e-9, hermitian=True) @ coef
    if fdtrc(rank, left, statistic * left / (rank * (pairs.n - 1))) < UNLIKE:
        raise InputError(
            "The attributes of a profile depend on those of the other profile in its pair, so that a model's "
            "answers cannot be covariates; use correct='ppi', which compares the model's answers to people's "
            "tasks with those to further tasks."
        )
