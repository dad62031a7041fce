"""Gibbs sweeps of the multivariate ordered probit model, compiled by numba.

The latent rating r of item i by judge j is ``theta[i] + b[j] + e[r]`` in each of D dimensions; a rating falls
into category k where its latent lies between cut-points k - 1 and k. Residuals e have unit variance.
All sweeps are in one file, since numba's cache of compiled functions does not notice a change in another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from conjury.inference.errors import MissingDependency

from ....numerics.types import Codes

try:
    from numba import njit
except ImportError as error:  # pragma: no cover
    raise MissingDependency(
        "The model of dimensions needs numba; install it: pip install 'conjury[bayes]'."
    ) from error

Floats = NDArray[Any]  # of doubles; numpy.linalg says no more than "floating"
F = TypeVar("F", bound=Callable[..., Any])
TINY = 1e-300  # keeps the logarithm of a probability finite
WIDEST_LOG_GAP = 5.0  # 148 latent standard deviations between two thresholds
ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_PI = math.sqrt(2 * math.pi)


class RatingDesign(NamedTuple):
    """What is known of n ratings of I items on D dimensions."""

    y: Codes  # shape (D, n): -1 where missing
    item: Codes  # shape (n,)
    judge: Codes  # shape (n,)
    x: Floats  # shape (I, C)
    n_cuts: Codes  # shape (D,)
    # half_df, sd_scale, cut_sd, coefficient_sd, whether there are effects of items, and of judges
    settings: Floats


class State(NamedTuple):
    """All that is unknown."""

    cut: Floats  # shape (D, L)
    within: Floats  # shape (D, D): correlations of residuals
    e: Floats  # shape (n, D): residuals
    theta: Floats  # shape (I, D): item effects
    beta: Floats  # shape (C, D)
    between: Floats  # shape (D, D)
    between_aux: Floats  # shape (D,)
    severity: Floats  # shape (J, D)
    spread: Floats  # shape (D, D)
    spread_aux: Floats  # shape (D,)


def _compiled(function: F) -> F:
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))


@_compiled
def _normal_cdf(x: float) -> float:
    """Standard normal distribution function, accurate in the lower tail."""
    return 0.5 * math.erfc(-x * ROOT_HALF)


@_compiled
def _normal_density(x: float) -> float:
    return math.exp(-0.5 * x * x) / ROOT_TWO_PI


@_compiled
def normal_quantile(p: float) -> float:
    """Standard normal quantile by Wichura's rational approximations (doi:10.2307/2347330), to 16 digits."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * (
            ((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r
                + 4.5921953931549871457e4) * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r
                + 1.3314166789178437745e2) * r + 3.3871328727963666080
        ) / (
            ((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r
                + 2.1213794301586595867e4) * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r
                + 4.2313330701600911252e1) * r + 1.0
        )  # fmt: skip
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    if r <= 5.0:
        r -= 1.6
        x = (
            ((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1)
                * r + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.76949722146069140550) * r
                + 4.63033784615654529590) * r + 1.42343711074968357734
        ) / (
            ((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2)
                * r + 1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r
                + 1.67638483018380384940) * r + 2.05319162663775882187) * r + 1.0
        )  # fmt: skip
    else:
        r -= 5.0
        x = (
            ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3)
                * r + 2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r
                + 1.78482653991729133580) * r + 5.46378491116411436990) * r + 6.65790464350110377720
        ) / (
            ((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
                + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r
                + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
                + 5.99832206555887937690e-1) * r + 1.0
        )  # fmt: skip
    return -x if q < 0.0 else x


@_compiled
def _normal_between(low: float, high: float) -> float:
    """Standard normal probability between two points, accurate in both tails."""
    if low > 0.0:
        return _normal_cdf(-low) - (_normal_cdf(-high) if high < math.inf else 0.0)
    return (_normal_cdf(high) if high < math.inf else 1.0) - (_normal_cdf(low) if low > -math.inf else 0.0)


@_compiled
def probit_pass(
    y: Codes, offset: Floats, x: Floats, par: Floats, n_cuts: int, gradient: Floats, hessian: Floats
) -> float:
    """Log likelihood of an ordered probit regression with unit residual variance, with its derivatives."""
    # `par` contains L cut-points and P slopes, x has shape (P, n). Fills `gradient`, shape (L + P,), and
    # `hessian`, shape (L + P, L + P), with the gradient and the negative Hessian. y = -1 where missing.
    n_slopes, n = x.shape
    gradient[:] = 0.0
    hessian[:, :] = 0.0
    eta = offset + par[n_cuts:] @ x
    slope, weight, weighted = np.zeros(n), np.zeros(n), np.zeros((len(par), n))
    total = 0.0
    for r in range(n):
        k = y[r]
        if k < 0:
            continue
        low, high, f_low, f_high = -math.inf, math.inf, 0.0, 0.0
        has_low, has_high = k > 0, k < n_cuts
        if has_low:
            low = par[k - 1] - eta[r]
            f_low = _normal_density(low)
        if has_high:
            high = par[k] - eta[r]
            f_high = _normal_density(high)
        p = max(_normal_between(low, high), TINY)
        total += math.log(p)
        g_low, g_high = f_low / p, f_high / p
        cross = g_low * g_high
        h_low = g_low * (g_low - low) if has_low else 0.0
        h_high = g_high * (g_high + high) if has_high else 0.0
        if has_high:
            gradient[k] += g_high
            hessian[k, k] += h_high
            weighted[k, r] = cross - h_high
        if has_low:
            gradient[k - 1] -= g_low
            hessian[k - 1, k - 1] += h_low
            weighted[k - 1, r] = cross - h_low
        if has_low and has_high:
            hessian[k, k - 1] -= cross
            hessian[k - 1, k] -= cross
        slope[r] = g_low - g_high
        weight[r] = h_low + h_high - 2.0 * cross
    for m in range(n_slopes):
        weighted[n_cuts + m] = weight * x[m]
    gradient[n_cuts:] = x @ slope
    hessian[:, n_cuts:] = weighted @ x.T
    hessian[n_cuts:, :n_cuts] = hessian[:n_cuts, n_cuts:].T
    return total


@_compiled
def _log_proposal(to: Floats, start: Floats, gradient: Floats, hessian: Floats) -> float:
    """Log density, up to a constant, of a proposal around one step of Newton's method."""
    away = to - start - np.linalg.solve(hessian, gradient)
    root = np.linalg.cholesky(hessian)
    total: float = -0.5 * np.sum((root.T @ away) ** 2)
    for k in range(len(to)):
        total += math.log(root[k, k])
    return total


@_compiled
def draw_latents(
    rng: Any, y: Codes, offset: Floats, scale: float, cut: Floats, mean: Floats, e: Floats
) -> None:
    """Draw latents z of one dimension between its cut-points; fills residuals e = z - mean."""
    # In units of `scale`, z is normal around `offset`, and `cut` contains the cut-points.
    n_cuts = len(cut)
    for r in range(len(y)):
        k = y[r]
        if k < 0:
            x = rng.standard_normal()
        else:
            low = cut[k - 1] - offset[r] if k > 0 else -math.inf
            high = cut[k] - offset[r] if k < n_cuts else math.inf
            upper = low > 0.0
            if upper:
                low, high = -high, -low
            start = _normal_cdf(low) if low > -math.inf else 0.0
            end = _normal_cdf(high) if high < math.inf else 1.0
            x = normal_quantile(max(start + rng.random() * (end - start), TINY))
            x = min(max(x, low), high)
            if upper:
                x = -x
        e[r] = scale * (offset[r] + x) - mean[r]


@_compiled
def normal_draw(rng: Any, precision: Floats, shift: Floats) -> Floats:
    """Draw from N(precision^-1 shift, precision^-1)."""
    root = np.linalg.cholesky(precision)
    noise = np.empty(len(shift))
    for k in range(len(shift)):
        noise[k] = rng.standard_normal()
    half = np.linalg.solve(root, shift) + noise
    return np.linalg.solve(root.T.copy(), half)


@_compiled
def inverse_wishart(rng: Any, df: float, scale: Floats) -> Floats:
    """Draw a covariance matrix with density |S|^-((df + D + 1)/2) exp(-tr(scale S^-1) / 2)."""
    size = len(scale)
    lower = np.zeros((size, size))
    for k in range(size):
        lower[k, k] = math.sqrt(2.0 * rng.standard_gamma(0.5 * (df - k)))
        for m in range(k):
            lower[k, m] = rng.standard_normal()
    root = np.linalg.cholesky(scale)
    half = np.linalg.solve(lower, root.T.copy())
    return half.T @ half


@_compiled
def draw_levels(
    rng: Any, group: Codes, e: Floats, effect: Floats, prior_mean: Floats, prior: Floats, residual: Floats
) -> None:
    """Draw effects of levels (items, or judges) given residuals; changes ``effect`` and ``e``."""
    # `prior` and `residual` are precision matrices, shape (D, D); `prior_mean` has the shape of effect.
    n_levels, size = effect.shape
    count = np.zeros(n_levels, dtype=np.int64)
    total = np.zeros((n_levels, size))
    for r in range(len(group)):
        at = group[r]
        count[at] += 1
        for d in range(size):
            total[at, d] += e[r, d] + effect[at, d]
    most = count.max()
    root = np.zeros((most + 1, size, size))
    has_root = np.zeros(most + 1, dtype=np.bool_)
    before = effect.copy()
    shift, x = np.empty(size), np.empty(size)
    for i in range(n_levels):
        c = count[i]
        if not has_root[c]:
            root[c] = np.linalg.cholesky(prior + c * residual)
            has_root[c] = True
        for d in range(size):
            shift[d] = 0.0
            for m in range(size):
                shift[d] += residual[d, m] * total[i, m] + prior[d, m] * prior_mean[i, m]
        for d in range(size):
            for m in range(d):
                shift[d] -= root[c, d, m] * shift[m]
            shift[d] /= root[c, d, d]
        for d in range(size):
            x[d] = shift[d] + rng.standard_normal()
        for d in range(size - 1, -1, -1):
            for m in range(d + 1, size):
                x[d] -= root[c, m, d] * x[m]
            x[d] /= root[c, d, d]
            effect[i, d] = x[d]
    for r in range(len(group)):
        at = group[r]
        for d in range(size):
            e[r, d] += before[at, d] - effect[at, d]


@_compiled
def draw_scale(rng: Any, effect: Floats, cov: Floats, half_df: float, sd_scale: float, aux: Floats) -> None:
    """Draw the covariance of effects, shape (levels, D), under Huang and Wand's prior; changes ``cov``."""
    # Standard deviations are half-t with 2 half_df degrees of freedom and scale `sd_scale`; correlations have
    # density proportional to (1 - rho^2)^(half_df - 1).
    levels, size = effect.shape
    inverse = np.linalg.inv(cov)
    for d in range(size):
        rate = 2.0 * half_df * inverse[d, d] + 1.0 / sd_scale**2
        aux[d] = rate / rng.standard_gamma(half_df + 0.5 * size)
    scale = effect.T @ effect
    for d in range(size):
        scale[d, d] += 4.0 * half_df / aux[d]
    cov[:, :] = inverse_wishart(rng, 2.0 * half_df + size - 1.0 + levels, scale)


@_compiled
def _log_scale_prior(cov: Floats, half_df: float, aux: Floats, factor: Floats) -> float:
    """Log density of a covariance, multiplied by ``factor`` on both sides, in terms of the product."""
    size = len(cov)
    df = 2.0 * half_df + size - 1.0
    inverse = np.linalg.inv(cov)
    total = 0.0
    for d in range(size):
        total -= (df + size + 1.0) * math.log(factor[d])
        total -= 0.5 * (4.0 * half_df / aux[d]) * inverse[d, d] / factor[d] ** 2
    return total


@_compiled
def draw_coefficients(
    rng: Any, x: Floats, outcome: Floats, weight: Floats, precision: Floats, prior_sd: float, beta: Floats
) -> None:
    """Draw coefficients, shape (C, D), of level outcomes, summed over ``weight`` rows each, on ``x``."""
    n_terms, size = beta.shape
    cross = np.zeros((n_terms, n_terms))
    right = (x.T @ outcome) @ precision
    for i in range(len(x)):
        for c in range(n_terms):
            for m in range(n_terms):
                cross[c, m] += weight[i] * x[i, c] * x[i, m]
    full = np.kron(cross, precision)
    for k in range(n_terms * size):
        full[k, k] += 1.0 / prior_sd**2
    beta[:, :] = normal_draw(rng, full, right.copy().reshape(-1)).reshape(n_terms, size)


@_compiled
def shift_levels(
    rng: Any, effect: Floats, centre: Floats, precision: Floats, cut: Floats, n_cuts: Codes, cut_sd: float
) -> None:
    """Move effects and cut-points of a dimension together, which changes no probability of a rating."""
    levels, size = effect.shape
    full = levels * precision
    total = np.zeros(size)
    for i in range(levels):
        for d in range(size):
            total[d] -= effect[i, d] - centre[i, d]
    right = precision @ total
    for d in range(size):
        full[d, d] += n_cuts[d] / cut_sd**2
        right[d] -= np.sum(cut[d, : n_cuts[d]]) / cut_sd**2
    by = normal_draw(rng, full, right)
    for i in range(levels):
        for d in range(size):
            effect[i, d] += by[d]
    for d in range(size):
        cut[d, : n_cuts[d]] += by[d]


@_compiled
def _indices_without(size: int, d: int) -> Codes:
    indices = np.empty(size - 1, dtype=np.int64)
    for m in range(size - 1):
        indices[m] = m if m < d else m + 1
    return indices


@_compiled
def _regression(cov: Floats, d: int) -> Floats:
    """Slopes, shape (D - 1,), of component d on the others and, last, the standard deviation around them."""
    inverse = np.linalg.inv(cov)
    size = len(cov)
    coefficients = np.empty(size)
    for k, m in enumerate(_indices_without(size, d)):
        coefficients[k] = -inverse[d, m] / inverse[d, d]
    coefficients[size - 1] = 1.0 / math.sqrt(inverse[d, d])
    return coefficients


@_compiled
def _replace_row(cov: Floats, d: int, slopes: Floats, sd: float) -> None:
    """Make component d of a covariance a regression on the others."""
    predictors = _indices_without(len(cov), d)
    total = sd * sd
    for m in predictors:
        cov[m, d] = 0.0
        for q in range(len(predictors)):
            cov[m, d] += cov[m, predictors[q]] * slopes[q]
    for k, m in enumerate(predictors):
        cov[d, m] = cov[m, d]
        total += slopes[k] * cov[m, d]
    cov[d, d] = total


@_compiled
def _residual_sd(within: Floats, d: int, slopes: Floats) -> float:
    """Standard deviation s of residual d given the others, whose slopes are s times ``slopes``."""
    total = 1.0
    predictors = _indices_without(len(within), d)
    for k, m in enumerate(predictors):
        for q, j in enumerate(predictors):
            total += slopes[k] * slopes[q] * within[m, j]
    return 1.0 / math.sqrt(total)


@_compiled
def _standardised_effects(effect: Floats, fixed: Floats, d: int, regression: Floats) -> Floats:
    """Predictors that effects add to the regression of dimension d: the others' and its own remainder."""
    levels, size = effect.shape
    x = np.empty((levels, size))
    predictors = _indices_without(size, d)
    for i in range(levels):
        remainder = effect[i, d] - fixed[i, d]
        for k, m in enumerate(predictors):
            x[i, k] = effect[i, m] - fixed[i, m]
            remainder -= regression[k] * x[i, k]
        x[i, size - 1] = remainder / regression[size - 1]
    return x


@_compiled
def _log_residual_prior(slopes: Floats, inverse: Floats, df: float) -> float:
    total = 0.0
    for k in range(len(slopes)):
        total -= 0.5 * df * math.log(inverse[k, k] + slopes[k] ** 2)
    return total


@_compiled
def _log_effect_prior(slopes: Floats, s: float, d: int, half_df: float, aux: Floats) -> float:
    """Log prior density of the slopes of dimension d on standardised effects, the last its own."""
    size = len(slopes)
    df = size - 1.0 + 2.0 * half_df
    last_slope = slopes[size - 1]
    total: float = -(df + size) * math.log(abs(last_slope)) - df * math.log(s)
    total -= 2.0 * half_df / aux[d] / (last_slope * s) ** 2
    for k, m in enumerate(_indices_without(size, d)):
        total -= 2.0 * half_df / aux[m] * (slopes[k] / last_slope) ** 2
    return total


@_compiled
def _log_row_prior(
    par: Floats,
    d: int,
    n_cuts: int,
    settings: Floats,
    within: Floats,
    inverse: Floats,
    beta: Floats,
    by_judge: Floats,
    between_aux: Floats,
    spread_aux: Floats,
) -> float:
    """Log prior density of everything that ``draw_row`` moves; beta and by_judge are in units of s."""
    half_df, cut_sd, beta_sd = settings[0], settings[2], settings[3]
    size = len(within)
    slopes = par[n_cuts : n_cuts + size - 1]
    s = _residual_sd(within, d, slopes)
    total: float = _log_residual_prior(slopes, inverse, size - 1.0 + 2.0 * half_df)
    total += (n_cuts + len(beta)) * math.log(s)
    total -= 0.5 * s * s * (np.sum(par[:n_cuts] ** 2) / cut_sd**2 + np.sum(beta**2) / beta_sd**2)
    at = n_cuts + size - 1
    if settings[4] > 0.0:
        total += _log_effect_prior(par[at:], s, d, half_df, between_aux)
    if settings[5] > 0.0:
        total += _log_effect_prior(by_judge, s, d, half_df, spread_aux)
    return total


@_compiled
def _middle(y: Codes, n_cuts: int) -> int:
    """The cut-point that divides the ratings most evenly."""
    count = np.zeros(n_cuts + 1)
    for k in y:
        if k >= 0:
            count[k] += 1.0
    best, middle, below = math.inf, 0, 0.0
    for k in range(n_cuts):
        below += count[k]
        uneven = abs(2.0 * below - np.sum(count))
        if uneven < best:
            best, middle = uneven, k
    return middle


@_compiled
def _cuts_from(gaps: Floats, middle: int, jacobian: Floats) -> Floats:
    """Cut-points from the middle one and the logarithms of the gaps on either side; fills ``jacobian``."""
    cut = np.empty(len(gaps))
    cut[middle] = gaps[middle]
    jacobian[:, :] = 0.0
    jacobian[:, middle] = 1.0
    for k in range(middle + 1, len(gaps)):
        cut[k] = cut[k - 1] + math.exp(gaps[k])
        for m in range(k, len(gaps)):
            jacobian[m, k] = math.exp(gaps[k])
    for k in range(middle - 1, -1, -1):
        cut[k] = cut[k + 1] - math.exp(gaps[k])
        for m in range(k + 1):
            jacobian[m, k] = -math.exp(gaps[k])
    return cut


@_compiled
def _gaps_from(cut: Floats, middle: int) -> Floats:
    """Inverse of ``_cuts_from``."""
    gaps = np.empty(len(cut))
    gaps[middle] = cut[middle]
    for k in range(middle + 1, len(cut)):
        gaps[k] = math.log(cut[k] - cut[k - 1])
    for k in range(middle):
        gaps[k] = math.log(cut[k + 1] - cut[k])
    return gaps


@_compiled
def _newton_target(
    y: Codes,
    offset: Floats,
    x: Floats,
    par: Floats,
    n_cuts: int,
    middle: int,
    cut_sd: float,
    g: Floats,
    h: Floats,
) -> tuple[float, Floats]:
    """Log likelihood with the Jacobian of gaps, and the parameters with cut-points in place of gaps."""
    # Fills the gradient and an approximate negative Hessian, with those of a normal prior, for proposals
    # only.
    jacobian = np.empty((n_cuts, n_cuts))
    parameters = par.copy()
    parameters[:n_cuts] = _cuts_from(par[:n_cuts], middle, jacobian)
    total = probit_pass(y, offset, x, parameters, n_cuts, g, h)
    for k in range(len(par)):
        ridge = 1.0 / cut_sd**2 if k < n_cuts else 0.25
        g[k] -= parameters[k] * ridge
        h[k, k] += ridge
    g[:n_cuts] = jacobian.T @ g[:n_cuts]
    h[:n_cuts, :] = jacobian.T @ h[:n_cuts, :].copy()
    h[:, :n_cuts] = h[:, :n_cuts].copy() @ jacobian
    for k in range(n_cuts):
        if k != middle:
            total += par[k]
            g[k] += 1.0
            h[k, k] += 0.1
    return total, parameters


@_compiled
def draw_row(rng: Any, d: int, data: RatingDesign, state: State, fixed: Floats) -> bool:
    """Metropolis step for all parameters of dimension d with its latents integrated out, then its latents."""
    # Given the other dimensions, ratings of d follow an ordered probit regression. Cut-points and slopes are
    # proposed by one Newton step; what they imply for correlations, scales and effects of d changes in place.
    cuts, within, e, theta, beta, between, between_aux, severity, spread, spread_aux = state
    item, judge, settings, y, n_cuts = data.item, data.judge, data.settings, data.y[d], data.n_cuts[d]
    n, size = e.shape
    has_items = settings[4] > 0.0
    predictors = _indices_without(size, d)
    residual = _regression(within, d)
    s = residual[size - 1]
    by_item = _regression(between, d)
    item_x = _standardised_effects(theta, fixed, d, by_item)
    n_slopes = size - 1 + size * int(has_items)
    par = np.empty(n_cuts + n_slopes)
    par[:n_cuts] = cuts[d, :n_cuts] / s
    par[n_cuts : n_cuts + size - 1] = residual[: size - 1] / s
    if has_items:
        par[n_cuts + size - 1 :] = by_item / s
    x, offset = np.empty((n_slopes, n)), np.empty(n)
    for r in range(n):
        offset[r] = (fixed[item[r], d] + severity[judge[r], d]) / s
        for k in range(size - 1):
            x[k, r] = e[r, predictors[k]]
        if has_items:
            for k in range(size):
                x[size - 1 + k, r] = item_x[item[r], k]
    by_judge, scaled = _regression(spread, d) / s, beta[:, d] / s
    chosen, accepted = _draw_slopes(
        rng, y, offset, x, par, d, n_cuts, settings, within, scaled, by_judge, between_aux, spread_aux
    )
    if accepted:
        slopes = chosen[n_cuts:]
        factor = _residual_sd(within, d, slopes[: size - 1]) / s
        s *= factor
        _replace_row(within, d, slopes[: size - 1] * s, s)
        cuts[d, :n_cuts] = chosen[:n_cuts] * s
        beta[:, d] *= factor
        fixed[:, d] *= factor
        severity[:, d] *= factor
        spread[:, d] *= factor
        spread[d, :] *= factor
        theta[:, d] = fixed[:, d]
        if has_items:
            item_slopes = slopes[size - 1 :] * s
            _replace_row(between, d, item_slopes[: size - 1], abs(item_slopes[size - 1]))
            theta[:, d] += item_x @ item_slopes
    mean = np.empty(n)
    for r in range(n):
        mean[r] = theta[item[r], d] + severity[judge[r], d]
    offset += chosen[n_cuts:] @ x
    draw_latents(rng, y, offset, s, chosen[:n_cuts], mean, e[:, d])
    return accepted


@_compiled
def _is_positive_definite(matrix: Floats) -> bool:
    """Whether a Cholesky factor exists; it does not where probabilities of ratings underflow."""
    size = len(matrix)
    root = np.zeros((size, size))
    for k in range(size):
        for m in range(k + 1):
            remainder = matrix[k, m]
            for q in range(m):
                remainder -= root[k, q] * root[m, q]
            if m < k:
                root[k, m] = remainder / root[m, m]
            elif remainder > 1e-9 * abs(matrix[k, k]) and remainder < math.inf:
                root[k, k] = math.sqrt(remainder)
            else:
                return False
    return True


@_compiled
def _draw_slopes(
    rng: Any,
    y: Codes,
    offset: Floats,
    x: Floats,
    par: Floats,
    d: int,
    n_cuts: int,
    settings: Floats,
    within: Floats,
    beta: Floats,
    by_judge: Floats,
    between_aux: Floats,
    spread_aux: Floats,
) -> tuple[Floats, bool]:
    size = len(par)
    predictors = _indices_without(len(within), d)
    submatrix = np.empty((len(predictors), len(predictors)))
    for k, m in enumerate(predictors):
        for q, j in enumerate(predictors):
            submatrix[k, q] = within[m, j]
    inverse = np.linalg.inv(submatrix)
    old_g, old_h = np.zeros(size), np.zeros((size, size))
    new_g, new_h = np.zeros(size), np.zeros((size, size))
    middle = _middle(y, n_cuts)
    gaps = par.copy()
    gaps[:n_cuts] = _gaps_from(par[:n_cuts], middle)
    old_target, _ = _newton_target(y, offset, x, gaps, n_cuts, middle, settings[2], old_g, old_h)
    if not _is_positive_definite(old_h):
        return par, False
    noise = np.empty(size)
    for k in range(size):
        noise[k] = rng.standard_normal()
    root = np.linalg.cholesky(old_h)
    proposed = gaps + np.linalg.solve(old_h, old_g) + np.linalg.solve(root.T.copy(), noise)
    for k in range(n_cuts):
        if k != middle and (proposed[k] > WIDEST_LOG_GAP or proposed[k] < -20.0):
            return par, False
    new_target, new_par = _newton_target(y, offset, x, proposed, n_cuts, middle, settings[2], new_g, new_h)
    if not _is_positive_definite(new_h):
        return par, False
    new_target += _log_row_prior(
        new_par, d, n_cuts, settings, within, inverse, beta, by_judge, between_aux, spread_aux
    )
    old_target += _log_row_prior(
        par, d, n_cuts, settings, within, inverse, beta, by_judge, between_aux, spread_aux
    )
    back = _log_proposal(gaps, proposed, new_g, new_h)
    forth = _log_proposal(proposed, gaps, old_g, old_h)
    if math.log(rng.random()) < new_target - old_target + back - forth:
        return new_par, True
    return par, False


@_compiled
def sweep(rng: Any, data: RatingDesign, state: State, accepted: Floats) -> None:
    """One sweep over everything that is unknown: changes the state, and counts (D + 1), in place."""
    y, item, judge, x, n_cuts, settings = data
    cut, within, e, theta, beta, between, between_aux, severity, spread, spread_aux = state
    half_df, sd_scale, cut_sd, beta_sd = settings[0], settings[1], settings[2], settings[3]
    has_items, has_judges = settings[4] > 0.0, settings[5] > 0.0
    size, n = y.shape
    residual = np.linalg.inv(within)
    fixed = x @ beta
    for d in range(size):
        accepted[d] += draw_row(rng, d, data, state, fixed)
    residual = np.linalg.inv(within)
    shift_levels(rng, e, np.zeros(e.shape), residual, cut, n_cuts, cut_sd)
    if has_items:
        precision = np.linalg.inv(between)
        draw_levels(rng, item, e, theta, fixed, precision, residual)
        shift_levels(rng, theta, fixed, precision, cut, n_cuts, cut_sd)
        if len(beta):
            draw_coefficients(rng, x, theta, np.ones(len(x)), precision, beta_sd, beta)
            fixed = x @ beta
        draw_scale(rng, theta - fixed, between, half_df, sd_scale, between_aux)
    elif len(beta):
        count, total = np.zeros(len(x)), np.zeros((len(x), size))
        for r in range(n):
            count[item[r]] += 1.0
            for d in range(size):
                total[item[r], d] += e[r, d] + theta[item[r], d]
        draw_coefficients(rng, x, total, count, residual, beta_sd, beta)
        fixed = x @ beta
        for r in range(n):
            for d in range(size):
                e[r, d] += theta[item[r], d] - fixed[item[r], d]
        theta[:, :] = fixed
    if has_judges:
        precision = np.linalg.inv(spread)
        draw_levels(rng, judge, e, severity, np.zeros(severity.shape), precision, residual)
        shift_levels(rng, severity, np.zeros(severity.shape), precision, cut, n_cuts, cut_sd)
        draw_scale(rng, severity, spread, half_df, sd_scale, spread_aux)
    accepted[size] += draw_within(rng, data, state)


@_compiled
def draw_within(rng: Any, data: RatingDesign, state: State) -> bool:
    """Metropolis step for the residual correlations with the scales of all latents; changes all in place."""
    # The model is widened by residual variances that nothing informs; in the wider model the residual
    # covariance has an inverse Wishart proposal that all but the priors of the rescaled parameters accept.
    cut, within, e, theta, beta, between, between_aux, severity, spread, spread_aux = state
    n_cuts, settings = data.n_cuts, data.settings
    half_df, cut_sd, beta_sd = settings[0], settings[2], settings[3]
    has_items, has_judges = settings[4] > 0.0, settings[5] > 0.0
    n, size = e.shape
    df = size - 1.0 + 2.0 * half_df
    inverse = np.linalg.inv(within)
    old, new = np.empty(size), np.empty(size)
    for d in range(size):
        old[d] = math.sqrt(0.5 * inverse[d, d] / rng.standard_gamma(0.5 * df))
    squares = e.T @ e
    for d in range(size):
        for m in range(size):
            squares[d, m] *= old[d] * old[m]
        squares[d, d] += 1.0
    proposed = inverse_wishart(rng, df + n, squares)
    for d in range(size):
        new[d] = math.sqrt(proposed[d, d])
    factor = old / new
    ratio = 0.0
    for d in range(size):
        ratio += (n_cuts[d] + len(beta)) * math.log(factor[d])
        change = 1.0 - factor[d] ** 2
        ratio += 0.5 * change * np.sum(cut[d, : n_cuts[d]] ** 2) / cut_sd**2
        ratio += 0.5 * change * np.sum(beta[:, d] ** 2) / beta_sd**2
        ratio += (has_items + has_judges) * (size + 1.0) * math.log(factor[d])
    same = np.ones(size)
    if has_items:
        ratio += _log_scale_prior(between, half_df, between_aux, factor)
        ratio -= _log_scale_prior(between, half_df, between_aux, same)
    if has_judges:
        ratio += _log_scale_prior(spread, half_df, spread_aux, factor)
        ratio -= _log_scale_prior(spread, half_df, spread_aux, same)
    if math.log(rng.random()) >= ratio:
        return False
    for d in range(size):
        cut[d, : n_cuts[d]] *= factor[d]
        beta[:, d] *= factor[d]
        e[:, d] *= factor[d]
        theta[:, d] *= factor[d]
        severity[:, d] *= factor[d]
        for m in range(size):
            between[d, m] *= factor[d] * factor[m]
            spread[d, m] *= factor[d] * factor[m]
            within[d, m] = proposed[d, m] / (new[d] * new[m])
    for d in range(size):
        within[d, d] = 1.0
    return True
