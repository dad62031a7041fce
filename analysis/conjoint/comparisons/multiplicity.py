"""p values adjusted for testing many effects: Holm, Benjamini-Hochberg, Romano-Wolf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...adjustment import adjusted
from ...results import Estimates
from ...variables import listed
from .stepdown import Draws, draws_of, romano_wolf

Method = Literal["holm", "bh", "romano_wolf"]
METHODS = ("holm", "bh", "romano_wolf")


@overload
def adjust(
    fit: Estimates,
    method: Method = ...,
    family: str | Sequence[str] | None = ...,
    *,
    draws: int = ...,
    seed: int | None = ...,
) -> Estimates: ...
@overload
def adjust(
    fit: pd.DataFrame,
    method: Method = ...,
    family: str | Sequence[str] | None = ...,
    *,
    draws: int = ...,
    seed: int | None = ...,
) -> pd.DataFrame: ...
def adjust(
    fit: Estimates | pd.DataFrame,
    method: Method = "holm",
    family: str | Sequence[str] | None = None,
    *,
    draws: int = 2000,
    seed: int | None = None,
) -> Estimates | pd.DataFrame:
    """Adjust p values for the number of effects that are tested together.

    Holm bounds the probability of any false rejection in a family under every
    dependence; Benjamini-Hochberg bounds the expected share of false rejections;
    Romano-Wolf bounds the same probability as Holm, and gains power from the
    correlation between estimates, which it takes from resampling.

    Parameters
    ----------
    fit : Estimates or DataFrame
        A result with p values; "romano_wolf" needs the result itself, not its table.
    method : {"holm", "bh", "romano_wolf"}
    family : str or sequence of str, optional
        Columns that set families apart: "feature", "judge", or several; by default
        all rows are one family.
    draws : int
        Draws of "romano_wolf". A `Bootstrap` or `Wild` brings its own, which are used instead;
        where signs have no more combinations, each is used once.
    seed : int, optional
        Same seed, same draws.

    Returns
    -------
    Estimates or DataFrame
        As given, with a column ``p_adjusted`` after ``p``; missing where ``p`` is.

    Raises
    ------
    InputError
        For an unknown method or column, a table without p values, and where
        "romano_wolf" has nothing to resample.

    Warns
    -----
    UserWarning
        Where "romano_wolf" must take normal draws with fewer than 40 clusters.

    Notes
    -----
    "romano_wolf" steps down through the largest absolute t ratios, and never goes below ``p``. Its
    draws are, on record in ``provenance.extra["adjusted"]["drawn"]``:

    - "wild", for linear fits with one cluster column of fewer than 100 clusters: restricted wild
      draws, whose t ratios have errors of their own, with a factor G/(G-1), whatever the fit's
      errors. Weights are signs, or Webb's six points with fewer than 8 clusters. A `Wild` brings its own.
    - "scores", for fits with more clusters or none: sums of the clusters' influence with
      random signs, over the root of its sum of squares, which is the same in every draw.
    - "replicates" of a `Bootstrap`, centred and over their standard deviation.
    - "normal", for any other fit: normal draws with the correlation of its estimates.

    For "scores" and "normal", t ratios with degrees of freedom are put on the normal scale by their p.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure.
    Scandinavian Journal of Statistics 6(2), 65-70.

    Benjamini, Y., Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B
    57(1), 289-300. doi:10.1111/j.2517-6161.1995.tb02031.x

    Romano, J. P., Wolf, M. (2016). Efficient computation of adjusted p-values for
    resampling-based stepdown multiple testing. Statistics & Probability Letters 113,
    38-40. doi:10.1016/j.spl.2016.02.012

    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2008). Bootstrap-based improvements for inference
    with clustered errors. Review of Economics and Statistics 90(3), 414-427.
    doi:10.1162/rest.90.3.414

    Examples
    --------
    >>> table = pd.DataFrame({"feature": ["slur", "slur", "topic"], "p": [0.01, 0.04, 0.03]})
    >>> adjust(table)["p_adjusted"].tolist(), adjust(table, family="feature")["p_adjusted"].tolist()
    ([0.03, 0.06, 0.06], [0.02, 0.04, 0.03])
    """
    if method not in METHODS:
        raise InputError(f"There is no method {method!r}; the methods are {', '.join(METHODS)}.")
    frame = fit if isinstance(fit, pd.DataFrame) else fit.frame
    if "p" not in frame:
        raise InputError("The table has no column 'p'; give a result that tests its estimates.")
    families = list(_families(frame, family))
    made_by: Draws | None = None
    corrected = np.full(len(frame), np.nan)
    p = frame["p"].to_numpy(float, na_value=np.nan)
    if method == "romano_wolf":
        if isinstance(fit, pd.DataFrame):
            raise InputError("A table alone has no correlations; give romano_wolf the result it came from.")
        if "z" not in frame:
            raise InputError("romano_wolf resamples estimates, and a joint test has none; use method='holm'.")
        tested = ~np.isnan(p)
        made_by = draws_of(fit, tested, draws, seed)
        column = np.cumsum(tested) - 1
        for rows in families:
            rows = rows[tested[rows]]
            own = column[rows]
            stepped = romano_wolf(made_by.statistic[own], made_by.ratios[:, own], made_by.observed)
            corrected[rows] = np.maximum(stepped, p[rows])
    else:
        correct = holm if method == "holm" else benjamini_hochberg
        for rows in families:
            rows = rows[~np.isnan(p[rows])]
            corrected[rows] = correct(p[rows])
    made = _with_column(frame, corrected)
    if isinstance(fit, pd.DataFrame):
        return made
    record: dict[str, Any] = {"method": method, "family": _names(family)}
    if made_by is not None:
        record |= {"draws": len(made_by.ratios), "drawn": made_by.kind, "seed": seed}
    extra = fit.provenance.extra | {"adjusted": record}
    return replace(fit, frame=made, provenance=replace(fit.provenance, extra=extra))


def holm(p: np.ndarray) -> np.ndarray:
    """Adjust m p values by Holm's step-down, shape (m,)."""
    return adjusted(p, "holm")


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Adjust m p values by the step-up of Benjamini and Hochberg, shape (m,)."""
    return adjusted(p, "bh")


def _families(frame: pd.DataFrame, family: str | Sequence[str] | None) -> Iterator[np.ndarray]:
    names = _names(family)
    for name in names:
        if name not in frame:
            raise InputError(f"family names {name!r}; the columns are {listed(list(frame.columns))}.")
    if not names:
        yield np.arange(len(frame))
        return
    keys = frame[names].astype("string").fillna("")
    codes = keys.groupby(names, sort=False).ngroup().to_numpy()
    yield from (np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1))


def _names(family: str | Sequence[str] | None) -> list[str]:
    return [family] if isinstance(family, str) else list(family or ())


def _with_column(frame: pd.DataFrame, adjusted: np.ndarray) -> pd.DataFrame:
    made = frame.drop(columns="p_adjusted", errors="ignore")
    made.insert(list(made.columns).index("p") + 1, "p_adjusted", adjusted)
    return made
