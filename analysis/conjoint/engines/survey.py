"""Least squares by R's package survey (svydesign and svyglm), which is what cregg calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from ... import r


@dataclass(frozen=True)
class SurveyFit:
    """A model fitted by svyglm; k coefficients in the order of R's model matrix, intercept first.

    Attributes
    ----------
    coef : ndarray, shape (k,)
        Coefficients on the scale of the link; NaN where aliased.
    vcov : ndarray, shape (k, k)
        Linearised covariance; NaN in the rows and columns of aliased coefficients.
    aliased : ndarray of bool, shape (k,)
        Coefficients that the data cannot estimate.
    names : tuple of str, length k
        R's names, such as ``slurracism:identityblack_male``.
    cells : tuple of tuples of (feature, level), length k
        What each coefficient stands for, ``()`` for the intercept; free of R's pasted names.
    n_rows, n_used, n_clusters : int
        Rows handed over, rows without missing values, clusters among all rows handed over.
    """

    coef: np.ndarray
    vcov: np.ndarray
    aliased: np.ndarray
    names: tuple[str, ...]
    cells: tuple[tuple[tuple[str, str], ...], ...]
    n_rows: int
    n_used: int
    n_clusters: int


def fit_survey(
    data: pd.DataFrame,
    outcome: str,
    terms: Sequence[tuple[str, ...]],
    cluster: str | None = None,
    weights: str | None = None,
    family: str = "gaussian",
) -> SurveyFit:
    """Fit ``outcome`` on dummies of ``terms`` with design-based (cluster-robust) covariance.

    The covariance is ``G / (G - 1) * B M B`` with the bread ``B``, the meat ``M`` of scores summed by
    cluster, and ``G`` the number of clusters among all rows of ``data``, those with missing values included.

    Parameters
    ----------
    data : DataFrame
        Features as categoricals whose first level in use is the reference. Rows with a missing outcome or
        feature are left out of the fit.
    outcome : str
        Column of numbers.
    terms : sequence of tuples of str
        Main effects ``("a",)``, then two-way interactions ``("a", "b")`` of features with main effects.
    cluster, weights : str, optional
        Columns of clusters (default: every row is its own) and of sampling weights.
    family : {"gaussian", "quasibinomial"}
        Identity or logit link.

    Returns
    -------
    SurveyFit

    Raises
    ------
    RError
        R refuses, for instance because there is only one cluster.
    MissingDependency
        rpy2, R or the R package survey is absent.

    References
    ----------
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys.
    International Statistical Review, 51(3), 279-292. https://doi.org/10.2307/1402588

    Examples
    --------
    >>> choices = pd.DataFrame({"chosen": [1, 0, 1, 1], "tone": pd.Categorical(["calm", "rude"] * 2)})
    >>> fit_survey(choices, "chosen", [("tone",)]).coef  # doctest: +SKIP
    array([ 1. , -0.5])
    """
    r.require("survey")
    features = dict.fromkeys(feature for term in terms for feature in term)
    used = [outcome, *features, *(name for name in (cluster, weights) if name)]
    right = " + ".join(":".join(_quoted(feature) for feature in term) for term in terms) or "1"
    found = r.call(
        "fit_survey",
        data=data[list(dict.fromkeys(used))],
        formula=f"{_quoted(outcome)} ~ {right}",
        id=cluster,
        weights=weights,
        family=family,
    )
    levels = {name: [str(level) for level in found["xlevels"][name]] for name in features}
    return SurveyFit(
        coef=found["coef"],
        vcov=found["vcov"],
        aliased=found["aliased"],
        names=tuple(found["names"]),
        cells=_cells(terms, levels),
        n_rows=int(found["n_rows"][0]),
        n_used=int(found["n_used"][0]),
        n_clusters=int(found["n_clusters"][0]),
    )


def _cells(
    terms: Sequence[tuple[str, ...]], levels: dict[str, list[str]]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Levels behind each coefficient under treatment coding; the first feature of a term varies fastest."""
    cells: list[tuple[tuple[str, str], ...]] = [()]
    for term in terms:
        slowest_first = [[(feature, level) for level in levels[feature][1:]] for feature in reversed(term)]
        cells.extend(tuple(reversed(cell)) for cell in product(*slowest_first))
    return tuple(cells)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
