"""The largest share of verdicts whose error is bounded: fixed-sequence tests over thresholds of confidence.

References
----------
Angelopoulos, A. N., Bates, S., Candes, E. J., Jordan, M. I., Lei, L. (2025). Learn then test: Calibrating
predictive algorithms to achieve risk control. Annals of Applied Statistics 19(2), 1641-1662.
doi:10.1214/24-AOAS1998

Clopper, C. J., Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of the
binomial. Biometrika 26(4), 404-413. doi:10.1093/biomet/26.4.404
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from ...numerics.intervals.bounded import Flags
from ...numerics.types import Floats

SHARES = np.arange(1, 21) / 20  # of the judged rows, from the most confident ones on
STARTS = 4  # of sequences of tests


@dataclass(frozen=True)
class ConfidentShare:
    """The rows that a judge may decide alone at one error."""

    share: float  # of the judged rows; 0 where none can be
    threshold: float  # least confidence of these rows; NaN where there are none
    # labelled rows among them, errors among these, and the upper limit of the error of all of them
    labelled: int
    errors: int
    upper: float


def largest_share(
    confidence: Floats, labelled: Flags, wrong: Flags, error: float, alpha: float
) -> ConfidentShare:
    """Find the largest share of n rows whose error is at most ``error``, with confidence 1 - alpha."""
    # Thresholds come from the confidence of all rows, so that labels do not choose them. Sequences of tests
    # start at several of them, each sequence at its part of the level, and go on to larger shares until a
    # test fails: this holds the level over all of them, and one unlucky start costs little.
    order = np.sort(confidence)[::-1]
    places = np.unique(np.ceil(SHARES * len(order)).astype(int)) - 1
    thresholds = np.array(list(dict.fromkeys(order[places].tolist())))
    inside = confidence[None, :] >= thresholds[:, None]
    n, k = (inside & labelled).sum(axis=1), (inside & wrong).sum(axis=1)
    level = alpha / STARTS
    possible = np.flatnonzero((1 - error) ** n <= level)  # where labels without an error would be enough
    passes = binom.cdf(k, n, error) <= level
    best = max(
        (_last_passed(passes, int(part[0])) for part in np.array_split(possible, STARTS) if len(part)),
        default=-1,
    )
    if best < 0:
        return ConfidentShare(0.0, np.nan, 0, 0, np.nan)
    labels, errors = int(n[best]), int(k[best])
    return ConfidentShare(
        float(inside[best].mean()),
        float(thresholds[best]),
        labels,
        errors,
        upper_limit(errors, labels, level),
    )


def _last_passed(passes: Flags, start: int) -> int:
    """Place of the last test of a sequence that passes, as all before it from its start; -1 for none."""
    failures = np.flatnonzero(~passes[start:])
    length = int(failures[0]) if len(failures) else len(passes) - start
    return start + length - 1 if length else -1


def upper_limit(errors: int, n: int, alpha: float) -> float:
    """The exact one-sided upper limit of a share (Clopper and Pearson), at a part of the level."""
    return 1.0 if errors >= n else float(betaincinv(errors + 1, n - errors, 1 - alpha))
