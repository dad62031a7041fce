"""Marginal rates of substitution between a numeric attribute and the levels of others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note
from ...numerics.intervals import check_alpha
from ...results import Result
from ..estimates import Estimates
from .part_worths import PartWorths, critical, part_worths


@any_frame
def substitution(fit: Estimates, feature: str, values: Mapping[str, float], *, alpha: float = 0.05) -> Result:
    """Estimate how much of a numeric attribute offsets a level of another attribute.

    With the slope b of part-worths on the values of the numeric attribute, and the effect a of a level
    against its reference, the marginal rate of substitution is -a / b: the change of the numeric attribute
    that makes up for the level. For a price it is the willingness to pay.

    Parameters
    ----------
    fit : Estimates
        From `amce`.
    feature : str
        The attribute with numeric levels.
    values : mapping of str to float
        Mapping from its levels to numbers.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        Kind "substitution". One row per level of the other attributes, references excluded: ``feature, level,
        estimate`` in units of ``values``, ``std_error`` and ``delta_lower, delta_upper`` by the delta
        method, ``lower, upper`` by Fieller's theorem, and its ``shape``: "bounded"; "two rays", where
        the values between two numbers are excluded, and "unbounded", where none are, both with infinite
        limits. ``extra["slope"]`` has the slope, its standard error and p value; ``extra["levels"]`` the
        part-worths of the numeric attribute with those of the line.

    Raises
    ------
    InputError
        For levels without a number, equal numbers, and other results than effects of one fit.

    Notes
    -----
    The slope is that of ordinary least squares through the part-worths of the levels, each counted once. The
    rate has no mean and the delta method fails where the slope is not clearly different from zero; Fieller's
    set covers in any case, and is then unbounded.

    References
    ----------
    Fieller, E. C. (1954). Some problems in interval estimation. Journal of the Royal Statistical Society B
    16(2), 175-185. doi:10.1111/j.2517-6161.1954.tb00159.x

    Hole, A. R. (2007). A comparison of approaches to estimating confidence intervals for willingness to pay
    measures. Health Economics 16(8), 827-840. doi:10.1002/hec.1197

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"chosen": [1, 0, 0, 1, 1, 0, 1, 0, 1, 0] * 20,
    ...                      "pair_id": np.repeat(range(100), 2),
    ...                      "rent": ["5", "7", "9", "5", "7", "9", "5", "5", "5", "5"] * 20,
    ...                      "noise": ["high", "high", "high", "low", "high", "low", "high", "low"] * 25})
    >>> fit = amce(data, "chosen ~ rent + noise", id="pair_id")
    >>> found = substitution(fit, "rent", {"5": 500, "7": 700, "9": 900}).frame
    >>> found[["level", "shape"]].values.tolist()
    [['low', 'bounded']]
    """
    check_alpha(alpha)
    worths = part_worths(fit, "substitution")
    rows = worths.of(feature)
    weights, at = _slope_weights(worths, rows, feature, values)
    other_rows = np.flatnonzero((worths.table["feature"] != feature) & (np.diag(worths.vcov) > 0))
    if not len(other_rows):
        raise InputError(f"The fit has no attribute besides {feature!r}; name another in the formula.")
    slope = float(weights @ worths.estimate)
    numbers = _rates(worths, other_rows, weights, critical(worths.df, alpha))
    frame = worths.table.loc[other_rows].reset_index(drop=True).assign(**numbers)
    error = float(np.sqrt(weights @ worths.vcov @ weights))
    line = worths.estimate[rows].mean() + slope * (at - at.mean())
    extra = {
        "slope": pd.DataFrame({"feature": [feature], "estimate": [slope], "std_error": [error]}),
        "levels": worths.table.loc[rows]
        .reset_index(drop=True)
        .assign(value=at, estimate=worths.estimate[rows], line=line),
    }
    unclear = int((frame["shape"] != "bounded").sum())
    notes = (
        (
            Note.of(
                "The slope of {feature} is not significantly different from zero, so {n} of {total} "
                "intervals have no finite limits.",
                feature=feature,
                n=unclear,
                total=len(frame),
            ),
        )
        if unclear
        else ()
    )
    settings = {"alpha": alpha, "formula": fit.provenance.formula, "numeric": feature}
    return Result(frame, "substitution", (*fit.notes, *notes), settings, extra)


def _slope_weights(
    worths: PartWorths, rows: np.ndarray, feature: str, values: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (m,) of part-worths in the slope, and the value of each level of the attribute."""
    levels = list(worths.table["level"].iloc[rows])
    values_by_level = {str(level): value for level, value in values.items()}
    missing = [level for level in levels if level not in values_by_level]
    if missing:
        raise InputError(
            f"values has no number for {listed(map(repr, missing))} of {feature!r}; name all its levels."
        )
    at = np.array([values_by_level[level] for level in levels], dtype=float)
    if not np.isfinite(at).all() or np.ptp(at) == 0:
        raise InputError(f"values of {feature!r} are {at.tolist()}; give finite numbers that differ.")
    weights = np.zeros(len(worths.estimate))
    weights[rows] = (at - at.mean()) / ((at - at.mean()) ** 2).sum()
    return weights, at


def _rates(
    worths: PartWorths, rows: np.ndarray, weights: np.ndarray, quantile: np.ndarray
) -> dict[str, np.ndarray | list[str]]:
    """Rates, delta errors, and limits by both methods of r levels, each of shape (r,)."""
    a, b = -worths.estimate[rows], float(weights @ worths.estimate)
    v_aa, v_bb = np.diag(worths.vcov)[rows], float(weights @ worths.vcov @ weights)
    v_ab = -(worths.vcov @ weights)[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = a / b
        error = np.sqrt(v_aa - 2 * rate * v_ab + rate**2 * v_bb) / abs(b)
    squared = quantile**2
    lead = b**2 - squared * v_bb
    middle, last = a * b - squared * v_ab, a**2 - squared * v_aa
    inside = middle**2 - lead * last
    bounded = np.full(len(a), lead > 0)
    root = np.sqrt(np.maximum(inside, 0.0))
    shape = np.where(bounded, "bounded", np.where(inside > 0, "two rays", "unbounded"))
    return {
        "estimate": rate,
        "std_error": error,
        "lower": np.where(bounded, (middle - root) / lead, -np.inf),
        "upper": np.where(bounded, (middle + root) / lead, np.inf),
        "delta_lower": rate - quantile * error,
        "delta_upper": rate + quantile * error,
        "shape": list(shape),
    }
