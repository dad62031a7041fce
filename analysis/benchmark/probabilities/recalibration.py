"""Numbers of calibration, on arrays: logistic recalibration, binned errors, isotonic curves.

Everywhere p are n probabilities of an event and y, 0 or 1, says whether it happened.

Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45, 562-565.
doi:10.1093/biomet/45.3-4.562

Ferro, C. A. T., Fricker, T. E. (2012). A bias-corrected decomposition of the Brier score. Quarterly Journal
of the Royal Meteorological Society 138, 1954-1960. doi:10.1002/qj.1924

Kumar, A., Liang, P., Ma, T. (2019). Verified uncertainty calibration. NeurIPS 32. arXiv:1909.10155

Dimitriadis, T., Gneiting, T., Jordan, A. I. (2021). Stable reliability diagrams for probabilistic
classifiers. PNAS 118(8), e2016191118. doi:10.1073/pnas.2016191118
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr

from ...correction.monotone_calibration import isotonic
from ...numerics.intervals import draw_limits
from ...numerics.types import Codes, Floats

STEPS, LONGEST, TOLERANCE = (
    100,
    3.0,
    1e-9,
)  # of Newton's method: at most, of a linear predictor, and at the end
MIXED = 1e-10  # variance of outcomes, or information, below which there is no fit


def logistic(x: Floats, offset: Floats, y: Floats, weights: Floats, start: Floats | None = None) -> Floats:
    """Maximum likelihood of logit P(y = 1) = offset + x b under B weightings, shape (B, K)."""
    # `x` is (n, K), `offset` (n,), `weights` (B, n) and `start` (K,), by default or where missing 0. NaN
    # where there is no finite maximum.
    n_weightings, k = len(weights), x.shape[1]
    b = np.tile(np.zeros(k) if start is None else np.nan_to_num(start), (n_weightings, 1))
    done = np.zeros(n_weightings, dtype=bool)
    largest = np.abs(x).max(axis=0)
    outer = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    for _ in range(STEPS):
        at = np.flatnonzero(~done)
        if not len(at):
            break
        p = expit(offset + b[at] @ x.T)
        w = weights[at]
        score = (w * (y - p)) @ x
        information = ((w * p * (1 - p)) @ outer).reshape(-1, k, k)
        scale = np.trace(information, axis1=1, axis2=2)
        flat = np.linalg.det(information) <= MIXED * np.maximum(scale, MIXED) ** k
        information[flat] = np.eye(k)
        step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
        step[flat] = np.nan
        length = np.abs(step) @ largest
        step *= np.minimum(1.0, LONGEST / np.maximum(length, 1e-300))[:, None]
        b[at] += step
        done[at] = ~(length > TOLERANCE)
    b[~done] = np.nan
    return b


def equal_bins(p: Floats, n_bins: int) -> Codes:
    """Bin of each probability, shape (n,): about as many in each, equal probabilities always together."""
    order = np.searchsorted(np.sort(p), p, side="left")
    _, codes = np.unique(order * n_bins // max(len(p), 1), return_inverse=True)
    return codes.astype(np.int64)


def binned(n: Floats, sum_p: Floats, sum_y: Floats) -> dict[str, Floats]:
    """Parts of the Brier score and calibration errors from counts and sums of bins, each of shape (B, M)."""
    # The parts are unbiased (Ferro and Fricker), so the first two may be below 0; `reliability` is also Kumar
    # and others' debiased squared calibration error; `ece_debiased` is net of noise.
    has_units = n > 0
    each = np.where(has_units, n, 1.0)
    total = n.sum(axis=1)
    share = n / total[:, None]
    p, y = sum_p / each, sum_y / each
    noise = np.where(has_units, y * (1 - y) / np.maximum(n - 1, 1.0), 0.0)
    mean = sum_y.sum(axis=1) / total
    spread = mean * (1 - mean)
    bias = (share * noise).sum(axis=1)
    correction = spread / np.maximum(total - 1, 1.0)
    distance = np.abs(p - y)
    ece = (share * distance).sum(axis=1)
    sd = np.sqrt(y * (1 - y) / each)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(sd > 0, distance / sd, np.inf)
        folded = sd * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + distance * (1 - 2 * ndtr(-ratio))
    expected = (share * np.where(sd > 0, folded, distance)).sum(axis=1)
    return {
        "reliability": (share * (p - y) ** 2).sum(axis=1) - bias,
        "resolution": (share * (y - mean[:, None]) ** 2).sum(axis=1) - bias + correction,
        "uncertainty": spread + correction,
        "ece": ece,
        "ece_debiased": np.maximum(2 * ece - expected, 0.0),
    }


def corp(p: Floats, y: Floats) -> tuple[float, float]:
    """Miscalibration and discrimination: Brier is the first less the second plus the uncertainty."""
    values, fitted = isotonic(p, y)
    predictions = fitted[np.searchsorted(values, p)]
    recalibrated, constant = np.mean((predictions - y) ** 2), np.mean(y) * (1 - np.mean(y))
    return float(np.mean((p - y) ** 2) - recalibrated), float(constant - recalibrated)


def consistency_band(p: Floats, unit: Codes, alpha: float, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Limits of the isotonic curve at the distinct probabilities if these were calibrated, each (m,)."""
    # Outcomes are drawn by the probabilities; answers about a unit share one uniform number, since they share
    # its outcome.
    rng = np.random.default_rng(seed)
    curves = [isotonic(p, (rng.random(unit.max() + 1)[unit] < p).astype(float))[1] for _ in range(draws)]
    lower, upper = draw_limits(curves, alpha)
    return lower, upper
