"""Agreement that the ordinal rater model expects: of people with their consensus, and of models with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ....numerics.types import Floats
from .density import CARELESS_SD
from .ordinal_data import OrdinalData
from .ordinal_draws import INNER, ParameterDraws, category_chances, grid, standardised_nodes

PEOPLE, CARELESS = 32, 8  # new people that stand for a panel, and careless ones
COARSE = 0.9  # distance of the nodes of qualities
_GOLDEN = np.array([0.7548776662466927, 0.5698402909980532])  # evenly spread points of the unit square


@dataclass(frozen=True)
class Agreement:
    """Expected agreement, for each of D draws and G groups; of panels, that of a new person."""

    # The consensus on an item is the mean rating that all people would give it.

    same: Floats  # (D, G); probability of the same rating as a random person
    distance: Floats  # (D, G); expected distance of a rating from the consensus, in points of the scale
    correlation: Floats  # (D, G); correlation of single ratings with the consensus over items
    # (D, G); share of people whose ratings correlate less with the consensus; missing for panels
    better: Floats
    # (D, G); probability that on a random item the rating is closer to the consensus than that of a random
    # person, ties by half; missing for panels
    closer: Floats
    strict: Floats  # (D, J); points of the scale by which a judge rates lower than people do on average
    tilt: Floats  # (D, G, S); points by which a bias raises the ratings of a stratum; 0 for panels


def expected_agreement(draws: ParameterDraws, data: OrdinalData) -> Agreement:
    """Expected agreement over the strata of the items and qualities within them, draw by draw."""
    parts = [_agreement_of_draw(draws, data, d) for d in range(len(draws.slope))]
    names = Agreement.__dataclass_fields__
    return Agreement(**{name: np.stack([part[name] for part in parts]) for name in names})


def _agreement_of_draw(draws: ParameterDraws, data: OrdinalData, d: int) -> dict[str, Floats]:
    at = grid(COARSE, INNER)
    values = np.array(data.categories)
    n_panels, n_groups = data.n_panels, len(data.groups)
    nodes, weights = standardised_nodes(draws.shape[d], at.nodes)
    quality = (draws.quality[d][:, None] + nodes).reshape(-1)
    weight = (data.share[:, None] * weights).reshape(-1)
    stratum = np.repeat(np.arange(len(data.share)), len(at.nodes))

    people, member_weight = [], []
    for g in range(n_panels):
        slopes, severities, mass = _new_people(draws, data, d, g)
        eta = slopes[:, None] * quality - severities[:, None]
        people.append(_marginal_chances(eta, draws, d, g, at.inner))
        member_weight.append(mass * data.size[g] / len(data.people))
    chances, share = np.concatenate(people), np.concatenate(member_weight)
    average = np.tensordot(share, chances, axes=1)
    consensus = average @ values
    away = np.abs(values - consensus[:, None])
    of_people = _correlations(chances, consensus, values, weight)

    rows = []
    for g in range(n_groups):
        if g < n_panels:
            own_share = member_weight[g] / member_weight[g].sum()
            rows.append(np.tensordot(own_share, people[g], axes=1))
        else:
            eta = draws.of_group[d, g] * quality + draws.bias[d, g][stratum]
            rows.append(_marginal_chances(eta, draws, d, g, at.inner))
    of_group = np.stack(rows)
    better, closer = np.full(n_groups, np.nan), np.full(n_groups, np.nan)
    tilt = np.zeros((n_groups, len(data.share)))
    distance = (of_group * away).sum(axis=2) @ weight
    correlation = _correlations(of_group, consensus, values, weight)
    nearer = (away[:, :, None] < away[:, None, :]) + 0.5 * (away[:, :, None] == away[:, None, :])
    for g in range(n_panels, n_groups):
        better[g] = share @ (correlation[g] > of_people)
        closer[g] = weight @ np.einsum("pk,pl,pkl->p", of_group[g], average, nearer)
        if data.levels:
            straight = _marginal_chances(draws.of_group[d, g] * quality, draws, d, g, at.inner)
            moved = (of_group[g] - straight) @ values
            tilt[g] = moved.reshape(len(data.share), -1) @ weights
    return {
        "same": (of_group * average).sum(axis=2) @ weight,
        "distance": distance,
        "correlation": correlation,
        "better": better,
        "closer": closer,
        "strict": _strictness(draws, data, d, quality, weight, values, at.inner, of_group, consensus),
        "tilt": tilt,
    }


def _new_people(draws: ParameterDraws, data: OrdinalData, d: int, g: int) -> tuple[Floats, Floats, Floats]:
    """Discriminations, severities and masses of people of a panel whom nobody has seen."""
    if data.size[g] == 1:
        return draws.of_group[d, g : g + 1], np.zeros(1), np.ones(1)
    spread = float(np.sqrt(1 + 1 / int(data.size[g])))  # deviations are from the mean of those who were seen
    even: Floats = (0.5 + np.arange(1, PEOPLE + CARELESS + 1)[:, None] * _GOLDEN) % np.float64(1.0)
    first, second = np.asarray(ndtri(even), dtype=float).T
    careless = np.arange(PEOPLE + CARELESS) >= PEOPLE
    share = draws.careless[d, g]
    slopes = draws.of_group[d, g] * np.exp(np.where(careless, CARELESS_SD, draws.slope_sd[d, g]) * first)
    mass = np.where(careless, share / CARELESS, (1 - share) / PEOPLE)
    return slopes, draws.severity_sd[d, g] * spread * second, mass


def _marginal_chances(
    eta: Floats, draws: ParameterDraws, d: int, g: int, inner: tuple[Floats, Floats]
) -> Floats:
    """Probabilities of the categories, own effects of items averaged out."""
    if draws.own[d, g] == 0:
        return category_chances(eta, draws.cut[d, g], draws.link)
    nodes, weights = inner
    parts = [
        w * category_chances(eta + draws.own[d, g] * u, draws.cut[d, g], draws.link)
        for u, w in zip(nodes, weights, strict=True)
    ]
    return np.asarray(np.sum(parts, axis=0))


def _correlations(chances: Floats, consensus: Floats, values: Floats, weight: Floats) -> Floats:
    """Correlations of single ratings with the consensus, one for each rater of ``chances``."""
    mean = chances @ values
    spread = (chances @ values**2) @ weight - (mean @ weight) ** 2
    wide = weight @ consensus**2 - (weight @ consensus) ** 2
    shared = (mean * consensus) @ weight - (mean @ weight) * (weight @ consensus)
    return np.asarray(shared / np.sqrt(np.maximum(spread * wide, 1e-300)))


def _strictness(
    draws: ParameterDraws,
    data: OrdinalData,
    d: int,
    quality: Floats,
    weight: Floats,
    values: Floats,
    inner: tuple[Floats, Floats],
    of_group: Floats,
    consensus: Floats,
) -> Floats:
    """Mean consensus minus mean rating of each judge, shape (J,)."""
    mean = weight @ consensus
    mean_ratings = weight @ (of_group @ values).T
    strict = (mean - mean_ratings)[data.group]
    for g in range(data.n_panels):
        members = np.flatnonzero(data.group == g)
        eta = draws.slope[d][members, None] * quality - draws.severity[d][members, None]
        strict[members] = mean - (_marginal_chances(eta, draws, d, g, inner) @ values) @ weight
    return np.asarray(strict)
