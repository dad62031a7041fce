"""Attribute importance: the range of an attribute's part-worths as a share of all ranges."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...numerics.bootstrap import percentile_limits
from ...numerics.intervals import SHARE, check_alpha, cut
from ...results import Result
from ..estimates import Estimates
from ..standard_errors.resample import Bootstrap
from .part_worths import PartWorths, critical, part_worths

_ZERO = 1e-12  # smaller effects come from rounding


@any_frame
def importance(fit: Estimates, *, alpha: float = 0.05) -> Result:
    """Estimate the relative importance of attributes from the effects of their levels.

    The range of an attribute is the difference between its largest and its smallest part-worth (the
    effects of its levels, with 0 for the reference); its importance is the share of its range in the sum of
    all ranges.

    Parameters
    ----------
    fit : Estimates
        From `amce`, or `bootstrap` of it.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        Kind "importance". One row per attribute: ``feature``, ``estimate`` (share of the sum of ranges) with
        ``std_error, lower, upper``, ``range`` with ``range_std_error, range_lower, range_upper``, and the
        levels with the largest and the smallest part-worth, ``best`` and ``worst``. Intervals are by the
        delta method, with the best and the worst level taken as known, and percentile intervals for a
        bootstrap, in which they may change.

    Raises
    ------
    InputError
        For other results than effects of one fit, and effects that are all zero.

    Notes
    -----
    Importance depends on which levels a study shows. A range is a maximum of noisy estimates, so it is too
    large on average: the more so the more levels an attribute has and the smaller its effects are. Its limits
    take the best and the worst level as known: with no effect of five levels, nominal 95% limits of the range
    include 0 in about 70% of studies, and those of the share in fewer. Test effects that may be 0 by `wald`.

    References
    ----------
    Orme, B. K. (2010). Getting started with conjoint analysis (2nd ed.). Research Publishers.

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 1, 0, 0, 1] * 20, "pair_id": np.repeat(range(80), 2),
    ...                      "tone": ["kind", "rude", "kind", "kind"] * 40,
    ...                      "topic": ["work", "sport", "sport", "work", "work"] * 32})
    >>> found = importance(amce(data, "chosen ~ tone + topic", id="pair_id")).frame
    >>> found[["feature", "best"]].values.tolist()
    [['tone', 'kind'], ['topic', 'sport']]
    """
    check_alpha(alpha)
    worths = part_worths(fit, "importance")
    features = list(dict.fromkeys(worths.table["feature"]))
    ends = np.array([_ends(worths.estimate, worths.of(name)) for name in features])
    ranges = worths.estimate[ends[:, 0]] - worths.estimate[ends[:, 1]]
    if not ranges.sum() > _ZERO:
        raise InputError("All effects are zero, so attributes have no relative importance.")
    shares = ranges / ranges.sum()
    if isinstance(fit, Bootstrap):
        columns = _by_replicates(fit.replicates, worths, features, ranges, shares, alpha)
    else:
        columns = _by_delta(worths, ends, ranges, shares, alpha)
    levels = worths.table["level"].to_numpy()
    frame = pd.DataFrame({"feature": features, "estimate": shares} | columns)
    frame = frame.assign(best=levels[ends[:, 0]], worst=levels[ends[:, 1]])
    settings = {"alpha": alpha, "formula": fit.provenance.formula, "id": fit.provenance.id}
    how = {"interval": "percentile" if isinstance(fit, Bootstrap) else "delta"}
    return Result(frame, "importance", fit.notes, settings | how)


def _ends(estimate: np.ndarray, rows: np.ndarray) -> tuple[int, int]:
    """Rows of the largest and of the smallest part-worth of an attribute."""
    return int(rows[estimate[rows].argmax()]), int(rows[estimate[rows].argmin()])


def _by_delta(
    worths: PartWorths, ends: np.ndarray, ranges: np.ndarray, shares: np.ndarray, alpha: float
) -> dict[str, np.ndarray]:
    """Standard errors and limits of F shares and ranges, from the gradients of both, each (F, m)."""
    unit = np.eye(len(worths.estimate))
    of_ranges = unit[ends[:, 0]] - unit[ends[:, 1]]
    of_shares = (of_ranges - shares[:, None] * of_ranges.sum(axis=0)) / ranges.sum()
    half = critical(worths.df, alpha)
    columns: dict[str, np.ndarray] = {}
    for prefix, gradient, value in (("", of_shares, shares), ("range_", of_ranges, ranges)):
        error = np.sqrt(np.einsum("fi,ij,fj->f", gradient, worths.vcov, gradient))
        support = SHARE if not prefix else (0.0, np.inf)
        limits = cut(value - half * error, value + half * error, value, support)
        columns |= dict(zip((f"{prefix}lower", f"{prefix}upper"), limits, strict=True))
        columns[f"{prefix}std_error"] = error
    return _ordered(columns, ranges)


def _by_replicates(
    replicates: np.ndarray,
    worths: PartWorths,
    features: list[str],
    ranges: np.ndarray,
    shares: np.ndarray,
    alpha: float,
) -> dict[str, np.ndarray]:
    """Standard deviations and percentiles of shares and ranges over draws, (draws, m)."""
    range_draws = np.column_stack([np.ptp(replicates[:, worths.of(name)], axis=1) for name in features])
    columns: dict[str, np.ndarray] = {}
    for prefix, draws, value in (
        ("", range_draws / range_draws.sum(axis=1, keepdims=True), shares),
        ("range_", range_draws, ranges),
    ):
        finite_draws = draws[~np.isnan(draws).any(axis=1)]
        limits = percentile_limits(value, finite_draws, alpha)
        columns |= dict(zip((f"{prefix}lower", f"{prefix}upper"), limits, strict=True))
        columns[f"{prefix}std_error"] = finite_draws.std(axis=0, ddof=1)
    return _ordered(columns, ranges)


def _ordered(columns: dict[str, np.ndarray], ranges: np.ndarray) -> dict[str, np.ndarray]:
    """Columns in the order of the table."""
    names = ("std_error", "lower", "upper")
    return {name: columns[name] for name in names} | {
        "range": ranges,
        **{f"range_{name}": columns[f"range_{name}"] for name in names},
    }
