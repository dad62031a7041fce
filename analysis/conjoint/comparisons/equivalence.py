"""Equivalence tests, which ask whether an effect is smaller than what would matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed

from ...numerics.intervals import check_alpha
from ...numerics.significance import two_one_sided
from ..estimates import Estimates

EQUIVALENT, DIFFERENT = "equivalent", "different"
TOO_SMALL, UNDECIDED = "different, too small to matter", "undecided"
Fit = TypeVar("Fit", Estimates, pd.DataFrame)
VERDICTS = (DIFFERENT, TOO_SMALL, EQUIVALENT, UNDECIDED)


def equivalence(fit: Fit, bound: float | Sequence[float], *, alpha: float | None = None) -> Fit:
    """Test whether estimates are smaller than a stated bound, by two one-sided tests.

    An estimate that does not differ from zero may still be large; this asks the other
    question. With the test against zero there are four verdicts: "different",
    "equivalent", "different, too small to matter" where both tests reject, and
    "undecided" where neither does.

    Parameters
    ----------
    fit : Estimates or DataFrame
        Any result with standard errors, or a table of them.
    bound : float or pair of float
        Smallest effect that would matter, in either direction, or the two bounds. They
        are counted from the fit's null value (``h0``), which is 0 unless set, and for marginal means
        of forced choices one in so many options, 0.5 for pairs.
    alpha : float, optional
        Level of each test, by default the fit's, 0.05 for a table.

    Returns
    -------
    Estimates or DataFrame
        As given, with the columns ``equivalence_lower, equivalence_upper`` (interval of
        level 1 - 2 alpha, which lies within the bounds exactly where the test
        rejects), ``bound_lower, bound_upper, p_equivalence, verdict``.

    Raises
    ------
    InputError
        For bounds that do not enclose 0, a table without estimates and errors, or a result of `wild`.

    Notes
    -----
    Tests use the degrees of freedom in the column ``df``, where there is one, else the
    normal distribution, for a `Bootstrap` with its standard errors.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the
    power approach. Journal of Pharmacokinetics and Biopharmaceutics 15(6), 657-680.
    doi:10.1007/BF01068419

    Examples
    --------
    >>> table = pd.DataFrame({"estimate": [0.001, 0.1, 0.008, 0.03], "std_error": [0.004, 0.01, 0.002, 0.03],
    ...                       "p": [0.8, 0.0, 0.0001, 0.3]})
    >>> equivalence(table, 0.02)["verdict"].tolist()
    ['equivalent', 'different', 'different, too small to matter', 'undecided']
    """
    if not isinstance(fit, pd.DataFrame) and fit.provenance.interval == "wild":
        raise InputError(
            "Equivalence tests need standard errors, which the wild bootstrap does not give; give the fit "
            "itself, with vcov='CR2' where clusters are few."
        )
    frame = fit if isinstance(fit, pd.DataFrame) else fit.frame
    missing = next((name for name in ("estimate", "std_error", "p") if name not in frame), None)
    if missing is not None:
        raise InputError(
            f"The table has no column {missing!r}; the columns are {listed(map(repr, frame.columns))}."
        )
    provenance = None if isinstance(fit, pd.DataFrame) else fit.provenance
    level = check_alpha((provenance.alpha if provenance else 0.05) if alpha is None else alpha)
    if level >= 0.5:
        raise InputError(f"alpha is {level:g}; each of the two tests needs a level below 0.5.")
    null = provenance.null if provenance else 0.0
    low, high = _bounds(bound)
    numbers = {name: frame[name].to_numpy(float, na_value=np.nan) for name in ("estimate", "std_error", "p")}
    df = frame["df"].to_numpy(float, na_value=np.nan) if "df" in frame else np.full(len(frame), np.inf)
    test = two_one_sided(numbers["estimate"], numbers["std_error"], df, (null + low, null + high), level)
    added = frame.assign(
        equivalence_lower=test.lower,
        equivalence_upper=test.upper,
        bound_lower=null + low,
        bound_upper=null + high,
        p_equivalence=test.p,
        verdict=verdicts(numbers["p"], test.p, level),
    )
    if provenance is None or isinstance(fit, pd.DataFrame):
        return added
    extra = provenance.extra | {"equivalence": {"bound": [low, high], "alpha": level}}
    return replace(fit, frame=added, provenance=replace(provenance, extra=extra))


def verdicts(p: np.ndarray, p_equivalence: np.ndarray, alpha: float) -> pd.Categorical[Any]:
    """Put both tests of m estimates into words, missing where an estimate is not tested."""
    words = np.where(
        p < alpha,
        np.where(p_equivalence < alpha, TOO_SMALL, DIFFERENT),
        np.where(p_equivalence < alpha, EQUIVALENT, UNDECIDED),
    )
    is_tested = ~(np.isnan(p) | np.isnan(p_equivalence))
    labels = [str(word) if has_verdict else None for word, has_verdict in zip(words, is_tested, strict=True)]
    return pd.Categorical(labels, list(VERDICTS))


def _bounds(bound: float | Sequence[float]) -> tuple[float, float]:
    pair = list(bound) if isinstance(bound, Sequence) else [-bound, bound]
    if len(pair) != 2 or not np.isfinite(pair).all() or not pair[0] < 0 < pair[1]:
        raise InputError(
            f"bound is {bound!r}; give the smallest relevant effect, such as 0.02, or two bounds with 0 "
            "between them."
        )
    return float(pair[0]), float(pair[1])
