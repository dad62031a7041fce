"""How often each attribute cell is chosen, and stimuli that are chosen more often than their levels say.

Stimulus t of a stimulus factor (one post text, one author profile) adds ``sd * z_t`` to the utility of
every profile that shows it (an intercept), and ``sd_l * z_tl`` where the profile also contains level l of an
attribute (a slope, such as the effect of a slur that differs between texts). All z are independent
standard normal. They belong to the stimuli: all judges of a simulation meet the same z, each scaled by
the standard deviations of that judge.

A profile of cell i meets one of cell j with weight ``w_ij``, and is then chosen with probability

    P_ij = E_z[ (F(d_ij + s_ij z + b) + F(d_ij + s_ij z - b)) / 2 ],   F(x) = 1 / (1 + exp(-x)),

where ``d_ij`` is the difference of mean utilities, ``s_ij`` its standard deviation between respondents
and stimuli, ``b`` the position bias (half of the profiles are in position A) and z standard normal. A
share ``pi`` of inattentive respondents and flips with probability ``tau`` turn it into

    Q_ij = (1 - pi) (tau + (1 - 2 tau) P_ij) + pi / 2.

The marginal choice probability of cell i is the ``w_ij``-weighted mean of ``Q_ij``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from ...design.profiles import enumerate_profiles, stimulus_ids
from ...errors import InputError
from ...study.models import Study
from ...tables.columns import stream
from ...tables.limits import TRUE_CELLS
from ..truth_table import Floats, Integers
from .judges import RaterModel, attribute_codes, level_spread, utilities


@dataclass(frozen=True)
class StimulusTerm:
    """One random effect of a stimulus factor."""

    stimulus: str  # the stimulus factor, such as `text`
    feature: str  # the attribute whose effect varies between stimuli; empty for an intercept
    # shape (levels,), or (1,) for an intercept: standard deviation between stimuli on the utility scale
    sd: Floats

    def codes(self, study: Study, codes: Integers) -> Integers:
        """Entry of ``sd`` for each profile, shape (n,), from attribute codes of shape (n, attributes)."""
        if not self.feature:
            return np.zeros(len(codes), dtype=np.int64)
        return codes[:, [attribute.id for attribute in study.attributes].index(self.feature)]


def stimulus_terms(rater: RaterModel, study: Study) -> list[StimulusTerm]:
    """Random effects of stimuli that a rater responds to, in the order of its truth table."""
    # A slope without a level applies to all levels but the reference.
    terms: dict[tuple[str, str], Floats] = {}
    for (name, level), sd in rater.stimulus_sd.items():
        stimulus, _, feature = name.partition(":")
        levels = study.levels(feature) if feature else [""]
        values = terms.setdefault((stimulus, feature), np.zeros(len(levels)))
        if feature and not level:
            values[1:] = sd
        else:
            values[levels.index(level)] = sd
    return [StimulusTerm(*key, sd) for key, sd in terms.items()]


def stimulus_effects(study: Study, raters: Sequence[RaterModel], seed: int) -> pd.DataFrame:
    """Effects of the given stimuli on the utility scale."""
    rows = [
        (rater.judge, rater.prompt, term.stimulus, name, term.feature, level, float(effect))
        for rater in raters
        for term in stimulus_terms(rater, study)
        for name, effects in zip(
            _stimulus_names(study, term), _standard_effects(study, term, seed) * term.sd, strict=True
        )
        for level, effect in zip(
            study.levels(term.feature) if term.feature else [""], effects.tolist(), strict=True
        )
    ]
    columns = ["judge", "prompt", "stimulus", "id", "feature", "level", "effect"]
    text: dict[str, str] = dict.fromkeys(columns[:-1], "string")
    return pd.DataFrame(rows, columns=columns).astype({**text, "effect": "float64"})


def stimulus_utility(
    study: Study, rater: RaterModel, profiles: pd.DataFrame, codes: Integers, seed: int
) -> Floats:
    """Utility that the given stimuli add to each of n profiles, shape (n,)."""
    total = np.zeros(len(profiles))
    for term in stimulus_terms(rater, study):
        effects = _standard_effects(study, term, seed) * term.sd
        total += effects[profiles[term.stimulus].cat.codes.to_numpy(), term.codes(study, codes)]
    return total


def difference_variance(term: StimulusTerm, first: Integers, second: Integers, same: bool) -> Floats:
    """Variance between stimuli of the difference of two profiles' utilities, shape (r, c)."""
    variance: Floats = term.sd[first, None] ** 2 + term.sd[second] ** 2
    return variance * (first[:, None] != second) if same else variance


def _standard_effects(study: Study, term: StimulusTerm, seed: int) -> Floats:
    rng = stream(seed, "stimuli", term.stimulus, term.feature)
    return rng.standard_normal((len(_stimulus_names(study, term)), len(term.sd)))


def _stimulus_names(study: Study, term: StimulusTerm) -> list[str]:
    return stimulus_ids(study, next(part for part in study.stimuli if part.id == term.stimulus))


NODES = 20  # of Gauss-Hermite quadrature over part-worths and stimuli
GRID = 800
BLOCK = 128  # cells that are compared with all others at a time


@dataclass(frozen=True)
class CellChoice:
    """Choice probabilities over c attribute cells."""

    weight: Floats  # shape (c,): share of the cell among the rows of a choices table
    chosen: Floats  # shape (c,): probability that a profile of the cell is chosen
    first: float  # probability that the profile in position A is chosen
    reliability: float  # probability that the same profile is chosen when the positions are swapped


def cell_choice(study: Study, cells: pd.DataFrame, rater: RaterModel) -> CellChoice:
    """Choice probabilities of c cells against a random opponent, by enumeration of all c x c pairs."""
    if len(cells) > TRUE_CELLS:
        raise InputError(
            f"Study {study.name}: true values compare {len(cells):,} combinations of attributes, "
            f"and the limit is {TRUE_CELLS:,}; use fewer levels or attributes."
        )
    codes = attribute_codes(study, cells)
    probability = cells["probability"].to_numpy(dtype=float)
    utility = utilities(rater, study, codes)
    copies = int(np.prod([stimulus.count for stimulus in study.stimuli]))
    spread = enumerate(level_spread(rater, study))
    loading = [np.eye(len(sd))[codes[:, index]] * sd for index, sd in spread if sd.any()]
    loadings = np.column_stack([np.zeros((len(cells), 1)), *loading])
    variance = (loadings**2).sum(axis=1)
    terms = [(term, term.codes(study, codes)) for term in stimulus_terms(rater, study)]
    nodes, node_weights = hermegauss(NODES if loading or terms else 1)
    node_weights = node_weights / node_weights.sum()
    total, first, as_opponent = np.zeros(len(cells)), np.zeros(len(cells)), np.zeros(len(cells))
    split, bias = 0.0, rater.position_bias
    for start in range(0, len(cells), BLOCK):
        rows = slice(start, min(start + BLOCK, len(cells)))
        advantage = utility[rows, None] - utility
        taste = np.maximum(variance[rows, None] + variance - 2 * loadings[rows] @ loadings.T, 0)
        for share, same in _meetings(study, rater, codes, rows, copies):
            meet = probability[rows, None] * probability * share
            sd = np.sqrt(
                sum((difference_variance(t, at[rows], at, same[t.stimulus]) for t, at in terms), taste)
            )
            met = meet > 0
            wins, swapped = np.zeros_like(meet), np.zeros_like(meet)
            wins[met] = meet[met] * _logistic_normal(advantage[met] + bias, sd[met], nodes, node_weights)
            total[rows] += meet.sum(axis=1)
            first[rows] += wins.sum(axis=1)
            as_opponent += wins.sum(axis=0)
            if bias:
                swapped[met] = meet[met] * _logistic_normal(
                    advantage[met] - bias, sd[met], nodes, node_weights
                )
                split += float(abs(wins.sum() - swapped.sum()))
    return _observed(rater, total, (first + total - as_opponent) / (2 * total), first.sum(), split)


def choice_at_hand(study: Study, rater: RaterModel, seed: int) -> CellChoice | None:
    """Choice probabilities of c cells with the given stimuli, averaged over the profiles of each cell."""
    # The mean of `F(u - u_j)` over all opponents j is a smooth function of u, interpolated between GRID exact
    # values. Returns None for a panel with random part-worths, where it depends on more than u.
    from scipy.interpolate import CubicSpline  # here, since it imports most of scipy

    if any(sd.any() for sd in level_spread(rater, study)):
        return None
    profiles = enumerate_profiles(study)
    probability = profiles["probability"].to_numpy(dtype=float)
    codes, bias = attribute_codes(study, profiles), rater.position_bias
    utility = utilities(rater, study, codes) + stimulus_utility(study, rater, profiles, codes, seed)
    grid = np.linspace(utility.min() - abs(bias), utility.max() + abs(bias), GRID)
    against = CubicSpline(grid, [float(probability @ expit(point - utility)) for point in grid])
    in_a, in_b = (
        probability * (against(utility + side) - probability * expit(side)) for side in (bias, -bias)
    )
    total = probability * (1 - probability)
    sizes = [len(attribute.levels) for attribute in study.attributes]
    _, cell = np.unique(np.ravel_multi_index(tuple(codes.T), sizes), return_inverse=True)
    share, first, second = (np.bincount(cell, part).astype(float) for part in (total, in_a, in_b))
    split = float(abs(in_a.sum() - in_b.sum()))
    return _observed(rater, share, (first + second) / (2 * share), first.sum(), split)


def _meetings(
    study: Study, rater: RaterModel, codes: Integers, rows: slice, copies: int
) -> Iterator[tuple[Floats, dict[str, bool]]]:
    """Yield the ways in which two profiles share stimuli, and their probability, shape (rows, c)."""
    column = {attribute.id: index for index, attribute in enumerate(study.attributes)}
    factors = [
        part for part in study.stimuli if part.id in {name.split(":")[0] for name, _ in rater.stimulus_sd}
    ]
    row_numbers, numbers = np.arange(len(codes))[rows], np.arange(len(codes))
    for pattern in product((False, True), repeat=len(factors)):
        share = np.ones((len(row_numbers), len(codes)))
        for factor, same in zip(factors, pattern, strict=True):
            level = codes[:, column[factor.attribute]]
            shared = (level[rows, None] == level) / factor.count
            share *= shared if same else 1 - shared
        if all(pattern):
            share[row_numbers[:, None] == numbers] -= 1 / copies
        yield share, {factor.id: same for factor, same in zip(factors, pattern, strict=True)}


def _observed(rater: RaterModel, total: Floats, picked: Floats, first: float, split: float) -> CellChoice:
    """Add response error and inattention to stable picks; ``first`` and ``split`` are sums over all pairs."""
    tau, pi, pairs = rater.response_error, rater.inattention, total.sum()
    noisy = (1 - pi) * (tau + (1 - 2 * tau) * np.append(picked, first / pairs)) + pi / 2
    steady = rater.reliability if rater.kind == "human" else (1 - tau) ** 2 + tau**2
    reliability = steady - (1 - pi) * (1 - 2 * tau) ** 2 * split / pairs
    return CellChoice(total / pairs, noisy[:-1], float(noisy[-1]), float(reliability))


def _logistic_normal(mean: Floats, sd: Floats, nodes: Floats, weights: Floats) -> Floats:
    expected = np.zeros_like(mean)
    for node, weight in zip(nodes, weights, strict=True):
        odds_against = np.exp(-(mean + sd * node))
        expected += weight / (1 + odds_against)
    return expected
