"""Log posterior density of the ordinal rater model with its gradient: what lies around the likelihood.

``unpack_parameters`` makes the parameters of ``kernel.log_likelihood`` from a vector of unconstrained
numbers, ``density_from`` adds the priors to its value and carries its gradient back to the vector. The
density is that of ``graph.rater_graph`` on the same scale, up to a constant. All three are compiled one by
one and release the lock of the interpreter, so that chains run side by side. Loops in place of array
expressions halve the time that compiling takes. All stands in one file, since the cache of numba does not
notice a change in another one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ....numerics.types import Codes, Floats
from .ordinal_draws import EDGE, LEAST_SHARE, LINK_SD

_LOGISTIC_SD = LINK_SD["logit"]
_HALF_NORMAL, _EXPONENTIAL = 0, 1  # else log-normal

Arranged = tuple[Codes, Codes, Floats, Codes, Codes, Codes, Codes, Codes, Floats, float]  # as in `Density`


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def unpack_parameters(vector: Floats, arranged: Arranged) -> tuple[Floats, ...]:
    """Parameters of the likelihood at ``vector``, shape (D,), and what they are made of."""
    places, panels, centring_weight, members, repeated, covariates, level, group, share, sd = arranged
    n_groups, n_panels, n_categories, models_at, own_at, shape_at, n_bumps = places
    n_models, n_strata, n_judges = n_groups - n_panels, len(share), len(group)
    n_cut = n_categories - 1
    shape = vector[shape_at : shape_at + n_bumps].copy()
    mean, spread, _, _ = _moments(shape)
    shares, cumulative, quantile = _shares(vector, n_groups, n_cut)
    of_group, own_sd = np.empty(n_groups), np.zeros(n_groups)
    for g in range(n_panels):
        of_group[g] = math.exp(vector[n_groups * n_cut + g])
    for m in range(n_models):
        of_group[n_panels + m] = vector[models_at + m]
    for r in range(len(repeated)):
        own_sd[repeated[r]] = math.exp(vector[own_at + r])
    quality, bias = np.zeros(n_strata), np.zeros((n_groups, n_strata))
    for c in range(len(covariates)):
        n_levels, quality_at, bias_at = covariates[c]
        effect = _expand_to_zero_sum(vector, quality_at, n_levels)
        for s in range(n_strata):
            quality[s] += effect[level[c, s]]
        for m in range(n_models):
            tilt = _expand_to_zero_sum(vector, bias_at + m * (n_levels - 1), n_levels)
            for s in range(n_strata):
                bias[n_panels + m, s] += tilt[level[c, s]]
    slope, shift = np.empty(n_judges), np.empty((n_judges, n_strata))
    for j in range(n_judges):
        slope[j] = sd * of_group[group[j]]
        for s in range(n_strata):
            shift[j, s] = sd * bias[group[j], s]
    for p in range(len(panels)):
        what, sd_at, raw_at, first, last = panels[p, :5]
        unit = math.exp((1 - centring_weight[p]) * vector[sd_at])
        raw = _expand_to_zero_sum(vector, raw_at, last - first)
        for at in range(first, last):
            j = members[at]
            if what == 1:
                slope[j] *= math.exp(unit * raw[at - first])
            else:
                for s in range(n_strata):
                    shift[j, s] -= sd * unit * raw[at - first]
    variance = 1.0
    for s in range(n_strata):
        variance += share[s] * quality[s] ** 2
    scale, cut = np.empty(n_groups), np.empty((n_groups, n_cut))
    for g in range(n_groups):
        scale[g] = math.sqrt(1 + of_group[g] ** 2 * variance + own_sd[g] ** 2)
        own_sd[g] *= sd
        for k in range(n_cut):
            cut[g, k] = sd * scale[g] * quantile[g, k]
    centre = np.empty(n_strata)
    for s in range(n_strata):
        centre[s] = spread * quality[s] - mean
    for j in range(n_judges):
        slope[j] /= spread
    return slope, shift, own_sd, cut, centre, shape, shares, cumulative, quantile, of_group, scale, quality


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def density_from(
    vector: Floats,
    gradient: Floats,
    arranged: Arranged,
    priors: Floats,
    at: tuple[Floats, ...],
    likelihood: float,
    by: tuple[Floats, ...],
) -> float:
    """Log density at ``vector``; its gradient is written to ``gradient``, both of shape (D,)."""
    places, panels, _, _, repeated, _, _, group, share, sd = arranged
    n_groups, n_panels, n_categories, models_at, own_at, shape_at, n_bumps = places
    n_models, n_strata, n_judges = n_groups - n_panels, len(share), len(group)
    n_cut = n_categories - 1
    slope, _, own_sd, _, _, shape, shares, cumulative, _, of_group, scale, quality = at
    d_slope, d_shift, _, d_cut, d_centre, d_shape = by
    _, spread, of_mean, of_spread = _moments(shape)
    d_mean, d_spread = 0.0, 0.0
    for s in range(n_strata):
        d_mean -= d_centre[s]
        d_spread += d_centre[s] * quality[s]
    for j in range(n_judges):
        d_spread -= d_slope[j] * slope[j] / spread
    d_group, d_own, d_quality, d_deviation = _slopes_by_parameters(arranged, at, by, spread)

    value = likelihood + _share_part(gradient, shares, cumulative, d_cut, scale, sd, priors[0, 1])
    for g in range(n_panels):
        gradient[n_groups * n_cut + g] = d_group[g] * of_group[g]
    for m in range(n_models):
        away = (of_group[n_panels + m] - priors[2, 1]) / priors[2, 2]
        gradient[models_at + m] = d_group[n_panels + m] - away / priors[2, 2]
        value -= 0.5 * away**2
    value = _add_panels(value, vector, gradient, arranged, priors, d_deviation)
    is_alone = np.ones(n_panels, dtype=np.bool_)
    for p in range(len(panels)):
        is_alone[panels[p, 5]] = False
    for g in range(n_panels):
        if is_alone[g]:
            log_prior, slope_of = _log_prior(priors[1], of_group[g])
            value += log_prior
            gradient[n_groups * n_cut + g] += slope_of
    for r in range(len(repeated)):
        g = repeated[r]
        value += _log_scale_part(gradient, own_at + r, priors[5], own_sd[g] / sd, d_own[g])
    for b in range(n_bumps):
        gradient[shape_at + b] = (
            d_shape[b] + d_mean * of_mean[b] + d_spread * of_spread[b] - shape[b] / priors[9, 2] ** 2
        )
        value -= 0.5 * (shape[b] / priors[9, 2]) ** 2
    return float(_add_covariates(value, vector, gradient, arranged, priors, d_quality, d_shift))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _slopes_by_parameters(
    arranged: Arranged, at: tuple[Floats, ...], by: tuple[Floats, ...], spread: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Slopes by discrimination and own effects of groups, by qualities, and by deviations of judges."""
    places, group, share, sd = arranged[0], arranged[7], arranged[8], arranged[9]
    n_groups, n_panels, n_cut = places[0], places[1], places[2] - 1
    n_strata, n_judges = len(share), len(group)
    slope, _, own_sd, _, _, _, _, _, quantile, of_group, scale, quality = at
    d_slope, d_shift, d_own_sd, d_cut, d_centre, _ = by
    d_quality, d_group, d_own = np.empty(n_strata), np.zeros(n_groups), np.empty(n_groups)
    variance, pull = 1.0, 0.0
    for s in range(n_strata):
        d_quality[s] = spread * d_centre[s]
        variance += share[s] * quality[s] ** 2
    d_deviation = np.zeros((2, n_judges))
    for j in range(n_judges):
        d_deviation[1, j] = d_slope[j] * slope[j]
        g = group[j]
        d_group[g] += d_slope[j] * (slope[j] / of_group[g] if g < n_panels else sd / spread)
        for s in range(n_strata):
            d_deviation[0, j] -= sd * d_shift[j, s]
    for g in range(n_groups):
        d_scale = 0.0
        for k in range(n_cut):
            d_scale += sd * d_cut[g, k] * quantile[g, k]
        d_group[g] += d_scale * of_group[g] * variance / scale[g]
        d_own[g] = sd * d_own_sd[g] + d_scale * own_sd[g] / sd / scale[g]
        pull += d_scale * of_group[g] ** 2 / scale[g]
    for s in range(n_strata):
        d_quality[s] += share[s] * quality[s] * pull
    return d_group, d_own, d_quality, d_deviation


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _add_panels(
    value: float, vector: Floats, gradient: Floats, arranged: Arranged, priors: Floats, d_deviation: Floats
) -> float:
    """Add to ``value`` the log prior of severities and discriminations of people in panels of several."""
    places, panels, centring_weight, members = arranged[:4]
    for p in range(len(panels)):
        what, sd_at, raw_at, first, last, g, careless_at, shift_at = panels[p]
        part = np.empty(last - first)
        for j in range(last - first):
            part[j] = d_deviation[what, members[first + j]]
        if what == 0:
            value += _log_normal_panel(vector, gradient, sd_at, raw_at, part, centring_weight[p], priors[4])
            continue
        seen_at = places[0] * (places[2] - 1) + g
        panel_places = (sd_at, raw_at, careless_at, shift_at, seen_at)
        value += _log_mixed_panel(vector, gradient, panel_places, part, centring_weight[p], priors)
    return value


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _add_covariates(
    value: float,
    vector: Floats,
    gradient: Floats,
    arranged: Arranged,
    priors: Floats,
    d_quality: Floats,
    d_shift: Floats,
) -> float:
    """Add to ``value`` the log prior of the effects of covariates on quality and of models' biases."""
    places, covariates, level, group, sd = arranged[0], arranged[5], arranged[6], arranged[7], arranged[9]
    n_panels = places[1]
    for c in range(len(covariates)):
        n_levels, quality_at, bias_at = covariates[c]
        part = np.zeros(n_levels)
        for s in range(len(d_quality)):
            part[level[c, s]] += d_quality[s]
        value += _effects(vector, gradient, quality_at, part, priors[6, 2])
        for m in range(places[0] - n_panels):
            part = np.zeros(n_levels)
            for j in range(len(group)):
                if group[j] == n_panels + m:
                    for s in range(len(d_quality)):
                        part[level[c, s]] += sd * d_shift[j, s]
            value += _effects(vector, gradient, bias_at + m * (n_levels - 1), part, priors[7, 2])
    return value


@njit(cache=True)  # type: ignore[untyped-decorator]
def _moments(shape: Floats) -> tuple[float, float, Floats, Floats]:
    """Mean and standard deviation of the raw variable behind qualities, and their slopes by its shape."""
    n_bumps, n_nodes = len(shape), 97
    bumps, mass = np.empty((n_nodes, n_bumps)), np.empty(n_nodes)
    for q in range(n_nodes):
        x = -6.0 + 0.125 * q
        value = -0.5 * x * x
        for b in range(n_bumps):
            distance = x + 3.0 - 6.0 * b / (n_bumps - 1)
            bumps[q, b] = math.exp(-0.5 * distance * distance)
            value += shape[b] * bumps[q, b]
        mass[q] = value
    mass = np.exp(mass - mass.max())
    mass /= mass.sum()
    mean, square = 0.0, 0.0
    for q in range(n_nodes):
        x = -6.0 + 0.125 * q
        mean += mass[q] * x
        square += mass[q] * x * x
    spread = math.sqrt(square - mean * mean)
    of_mean, of_spread = np.zeros(n_bumps), np.zeros(n_bumps)
    for q in range(n_nodes):
        away = -6.0 + 0.125 * q - mean
        for b in range(n_bumps):
            of_mean[b] += mass[q] * away * bumps[q, b]
            of_spread[b] += mass[q] * (away * away - spread * spread) * bumps[q, b] / (2 * spread)
    return mean, spread, of_mean, of_spread


@njit(cache=True)  # type: ignore[untyped-decorator]
def _expand_to_zero_sum(vector: Floats, start: int, size: int) -> Floats:
    """Numbers that sum to zero, shape (size,), from ``size - 1`` free ones (``zero_sum_basis``)."""
    total = 0.0
    for j in range(size - 1):
        total += vector[start + j]
    root = math.sqrt(size)
    values = np.empty(size)
    for j in range(size - 1):
        values[j] = vector[start + j] - total / (root + size)
    values[size - 1] = -total / root
    return values


@njit(cache=True)  # type: ignore[untyped-decorator]
def _contract_gradient(part: Floats, out: Floats, start: int) -> None:
    """Gradient by the free numbers, from that by those that sum to zero."""
    size = len(part)
    root = math.sqrt(size)
    total = 0.0
    for j in range(size - 1):
        total += part[j]
    for j in range(size - 1):
        out[start + j] = part[j] - total / (root + size) - part[size - 1] / root


@njit(cache=True)  # type: ignore[untyped-decorator]
def _shares(vector: Floats, n_groups: int, n_cut: int) -> tuple[Floats, Floats, Floats]:
    """Shares of categories (G, K), cumulative ones and their standard logistic quantiles (G, K - 1)."""
    shares = np.empty((n_groups, n_cut + 1))
    cumulative, quantile = np.empty((n_groups, n_cut)), np.empty((n_groups, n_cut))
    for g in range(n_groups):
        last = 0.0
        for k in range(n_cut):
            shares[g, k] = vector[g * n_cut + k]
            last -= shares[g, k]
        shares[g, n_cut] = last
        most = last
        for k in range(n_cut):
            most = max(most, shares[g, k])
        total = 0.0
        for k in range(n_cut + 1):
            shares[g, k] = math.exp(shares[g, k] - most)
            total += shares[g, k]
        so_far = 0.0
        for k in range(n_cut + 1):
            shares[g, k] = max(shares[g, k] / total, LEAST_SHARE)
            so_far += shares[g, k]
            if k < n_cut:
                inside = min(max(so_far, EDGE), 1 - EDGE)
                cumulative[g, k] = inside
                quantile[g, k] = math.log(inside / (1 - inside)) / _LOGISTIC_SD
    return shares, cumulative, quantile


@njit(cache=True)  # type: ignore[untyped-decorator]
def _share_part(
    gradient: Floats,
    shares: Floats,
    cumulative: Floats,
    d_cut: Floats,
    scale: Floats,
    sd: float,
    weight: float,
) -> float:
    """Dirichlet prior of the shares, and the gradient by their centred logarithms."""
    n_groups, n_categories = shares.shape
    n_cut = n_categories - 1
    value = 0.0
    towards = np.empty(n_categories)
    for g in range(n_groups):
        slope, middle = 0.0, 0.0
        towards[n_cut] = 0.0
        for k in range(n_cut - 1, -1, -1):
            inside = cumulative[g, k]
            slope += sd * d_cut[g, k] * scale[g] / (inside * (1 - inside)) / _LOGISTIC_SD
            towards[k] = slope
            middle += slope * shares[g, k]
        for k in range(n_categories):
            value += weight * math.log(shares[g, k])
            towards[k] = shares[g, k] * (towards[k] - middle) + weight * (1 - n_categories * shares[g, k])
        for k in range(n_cut):
            gradient[g * n_cut + k] = towards[k] - towards[n_cut]
    return value


@njit(cache=True)  # type: ignore[untyped-decorator]
def _log_prior(prior: Floats, at: float) -> tuple[float, float]:
    """Log prior density of a positive parameter on the scale of its logarithm, and its slope there."""
    if prior[0] == _HALF_NORMAL:
        return -0.5 * (at / prior[1]) ** 2 + math.log(at), 1 - (at / prior[1]) ** 2
    if prior[0] == _EXPONENTIAL:
        return -at / prior[1] + math.log(at), 1 - at / prior[1]
    away = math.log(at / prior[1]) / prior[2]
    return -0.5 * away**2, -away / prior[2]


@njit(cache=True)  # type: ignore[untyped-decorator]
def _log_scale_part(gradient: Floats, place: int, prior: Floats, at: float, d_at: float) -> float:
    """Log prior density of a positive parameter by its logarithm; its whole gradient goes to its place."""
    value, slope = _log_prior(prior, at)
    gradient[place] = d_at * at + slope
    return float(value)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _log_normal_panel(
    vector: Floats,
    gradient: Floats,
    sd_at: int,
    raw_at: int,
    part: Floats,
    centring_weight: float,
    prior: Floats,
) -> float:
    """Deviations of a panel's members, normal with a standard deviation of their own."""
    size, log_sd = len(part), vector[sd_at]
    unit, precision = math.exp((1 - centring_weight) * log_sd), math.exp(-2 * centring_weight * log_sd)
    raw = _expand_to_zero_sum(vector, raw_at, size)
    squares, pull = 0.0, 0.0
    for j in range(size):
        squares += raw[j] ** 2 * precision
        pull += part[j] * raw[j] * unit
        part[j] = part[j] * unit - raw[j] * precision
    _contract_gradient(part, gradient, raw_at)
    value, slope = _log_prior(prior, math.exp(log_sd))
    gradient[sd_at] = slope + (1 - centring_weight) * pull + centring_weight * (squares - (size - 1))
    return float(value - 0.5 * squares - centring_weight * (size - 1) * log_sd)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _log_mixed_panel(
    vector: Floats,
    gradient: Floats,
    places: tuple[int, int, int, int, int],
    part: Floats,
    centring_weight: float,
    priors: Floats,
) -> float:
    """Log discriminations of a panel's members: normal about a typical person's, or careless, much wider."""
    # They are sampled about their mean, which ratings identify; the typical person's lies `shift` standard
    # deviations from it. A single person who does not follow the others moves it little.
    sd_at, raw_at, careless_at, shift_at, seen_at = places
    size, log_sd, shift = len(part), vector[sd_at], vector[shift_at]
    sd, unit = math.exp(log_sd), math.exp((1 - centring_weight) * log_sd)
    far_sd = priors[8, 3]
    careless = 1 / (1 + math.exp(-min(max(vector[careless_at], -30.0), 30.0)))
    raw = _expand_to_zero_sum(vector, raw_at, size)
    value, d_shift, d_careless, d_log_sd = 0.0, 0.0, 0.0, (1 - centring_weight) * (size - 1) + 1
    for j in range(size):
        deviation = unit * raw[j]
        away = deviation - sd * shift
        near = math.log1p(-careless) - 0.5 * (away / sd) ** 2 - log_sd
        far = math.log(careless) - 0.5 * (away / far_sd) ** 2 - math.log(far_sd)
        most = max(near, far)
        log_sum = most + math.log(math.exp(near - most) + math.exp(far - most))
        of_careless = math.exp(far - log_sum)
        slope = -(1 - of_careless) * away / sd**2 - of_careless * away / far_sd**2
        value += log_sum
        d_log_sd += (1 - of_careless) * ((away / sd) ** 2 - 1)
        d_log_sd += (
            slope * ((1 - centring_weight) * deviation - sd * shift)
            + (1 - centring_weight) * part[j] * deviation
        )
        d_shift -= slope * sd
        d_careless += of_careless - careless
        part[j] = (part[j] + slope) * unit
    _contract_gradient(part, gradient, raw_at)
    typical, d_typical = _log_prior(priors[1], math.exp(vector[seen_at] + sd * shift))
    spread, d_spread = _log_prior(priors[3], sd)
    first, second = priors[8, 1], priors[8, 2]
    value += first * math.log(careless) + second * math.log1p(-careless)
    gradient[seen_at] += d_typical
    gradient[shift_at] = d_shift + d_typical * sd
    gradient[sd_at] = d_log_sd + d_spread + d_typical * sd * shift
    gradient[careless_at] = d_careless + first * (1 - careless) - second * careless
    return float(value + typical + spread + ((1 - centring_weight) * (size - 1) + 1) * log_sd)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _effects(vector: Floats, gradient: Floats, place: int, part: Floats, sd: float) -> float:
    """Effects of a covariate's levels, normal and summing to zero."""
    _contract_gradient(part, gradient, place)
    value = 0.0
    for j in range(len(part) - 1):
        at = vector[place + j]
        gradient[place + j] -= at / sd**2
        value -= 0.5 * (at / sd) ** 2
    return value
