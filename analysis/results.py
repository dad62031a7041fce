"""The result type that every estimator returns, its tidy columns, and the one interval function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .conjoint.engines.solution import Fitted

KEY_COLUMNS = ("outcome", "statistic", "feature", "level")
NUMBER_COLUMNS = ("estimate", "std_error", "df", "z", "p", "lower", "upper")

Support = tuple[float, float]
SHARE: Support = (0.0, 1.0)
CORRELATION: Support = (-1.0, 1.0)
UNBOUNDED: Support = (-np.inf, np.inf)
SAME = 1e-12  # draws that differ by no more are equal up to rounding


@dataclass(frozen=True)
class Inference:
    """Normal-theory inference for m estimates; every array has shape (m,)."""

    z: np.ndarray
    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def check_alpha(alpha: float) -> float:
    """Return ``alpha`` if it lies strictly between 0 and 1, else raise InputError."""
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}; give a number between 0 and 1, such as 0.05.")
    return float(alpha)


def check_draws(draws: int, seed: int) -> None:
    """Refuse bootstrap draws and seeds that cannot be; 0 draws stand for no bootstrap."""
    if not isinstance(draws, Integral) or draws < 0 or draws == 1:
        raise InputError(f"draws is {draws!r}; give 0 for no bootstrap, or 2 and more, such as 1000.")
    if not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"seed is {seed!r}; give a whole number of 0 or more.")


def inference(
    estimate: np.ndarray,
    std_error: np.ndarray,
    alpha: float = 0.05,
    null: float = 0.0,
    df: np.ndarray | None = None,
    support: Support = UNBOUNDED,
) -> Inference:
    """Test ``estimate`` against ``null`` and bound it, by the normal or by Student's t distribution.

    Parameters
    ----------
    estimate, std_error : ndarray, shape (m,)
        Estimates and standard errors; NaN stays NaN.
    alpha : float
        One minus the confidence level.
    null : float
        Value under the null hypothesis; it moves ``z`` and ``p``, never the interval.
    df : ndarray, shape (m,), optional
        Degrees of freedom of Student's t; without them the distribution is normal.
    support : (float, float)
        Least and largest value that is possible, where limits end (`cut`).

    Returns
    -------
    Inference
    """
    check_alpha(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (estimate - null) / std_error
    if df is None:
        p, half_width = 2 * ndtr(-np.abs(z)), ndtri(1 - alpha / 2) * std_error
    else:
        p, half_width = 2 * stdtr(df, -np.abs(z)), stdtrit(df, 1 - alpha / 2) * std_error
    return Inference(z, p, *cut(estimate - half_width, estimate + half_width, estimate, support))


def cut(
    lower: np.ndarray, upper: np.ndarray, estimate: np.ndarray, support: Support
) -> tuple[np.ndarray, np.ndarray]:
    """End limits at the least and the largest possible value, but never short of the estimate.

    The true value is a possible one, so that an interval contains it as often after the cut as before.

    Examples
    --------
    >>> [limit.tolist() for limit in cut(np.array([-0.1]), np.array([0.3]), np.array([0.1]), SHARE)]
    [[0.0], [0.3]]
    """
    least, largest = support
    return np.maximum(lower, np.minimum(estimate, least)), np.minimum(upper, np.maximum(estimate, largest))


def vary(draws: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Flag statistics, shape (m,), that differ between bootstrap draws, shape (B, m), NaN where missing.

    Draws that all give one value say nothing about sampling error: there is no interval, rather than one of
    zero width. ``scale`` is the size of the statistics, against which rounding is judged.

    Examples
    --------
    >>> vary(np.array([[4.0, 0.2], [4.0, 0.3]])).tolist()
    [False, True]
    """
    known = np.isfinite(draws)
    highest = np.where(known, draws, -np.inf).max(axis=0, initial=-np.inf)
    lowest = np.where(known, draws, np.inf).min(axis=0, initial=np.inf)
    return np.asarray(highest - lowest > SAME * scale)


@dataclass(frozen=True)
class Provenance:
    """What was really run, for the methods paragraph and the manifest."""

    verb: str
    formula: str
    engine: str = "native"
    id: str | None = None
    weights: str | None = None
    by: tuple[str, ...] = ()
    family: str = "gaussian"
    vcov: str = "survey"
    alpha: float = 0.05
    null: float = 0.0
    n_rows: int = 0
    n_used: int = 0
    n_clusters: int | None = None
    interval: str = "normal"
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimates:
    """Tidy estimates with what is needed to check, plot and repeat them.

    Attributes
    ----------
    frame : DataFrame
        One row an estimate: ``outcome, statistic, feature, level, [by columns],
        estimate, std_error, [df], z, p, lower, upper``; ``df`` where ``z`` is a t statistic
        with so many degrees of freedom. Reference levels have estimate 0
        and missing errors; levels that never occur have a missing estimate.
    vcov : DataFrame or None
        Covariance of the rows of ``frame`` that have a standard error, labelled by
        their group, if there are any, feature and level; None from the engine cregg.
    provenance : Provenance
        Verb, formula, engine, clusters, counts.
    fitted : Fitted or None
        The regressions behind the rows, from which further contrasts follow; None from the
        engine cregg, and for counts and tests.
    """

    frame: pd.DataFrame
    vcov: pd.DataFrame | None
    provenance: Provenance
    fitted: Fitted | None = field(default=None, repr=False, kw_only=True)

    def plot(self, **options: Any) -> Figure:
        """Draw the figure that fits the estimates; options as in ``figures.figure_of``."""
        from .figures.conjoint.choose import figure_of

        return figure_of(self, **options)

    def __repr__(self) -> str:
        made = self.provenance
        return f"Estimates({made.verb}, engine={made.engine!r}, {made.formula})\n{self.frame.to_string()}"


def tidy(
    keys: pd.DataFrame,
    estimate: np.ndarray,
    std_error: np.ndarray,
    alpha: float,
    null: float = 0.0,
    df: np.ndarray | None = None,
    support: Support = UNBOUNDED,
) -> pd.DataFrame:
    """Bind key columns of m rows to their numbers, in the order that every table uses."""
    found = inference(estimate, std_error, alpha, null, df, support)
    errors = {"std_error": std_error} if df is None else {"std_error": std_error, "df": df}
    return keys.assign(
        estimate=estimate, **errors, z=found.z, p=found.p, lower=found.lower, upper=found.upper
    )


def row_labels(keys: pd.DataFrame) -> pd.MultiIndex:
    """Label rows by reference and group, where there are any, feature and level."""
    named = [name for name in keys.columns if name not in ("outcome", "statistic")]
    return pd.MultiIndex.from_frame(keys[named].astype("string"))


def stack(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tidy tables; categories keep the order in which they are first seen."""
    if not frames:
        raise InputError("There is no table to stack; give at least one result.")
    ordered = [str(name) for name, kind in frames[0].dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    levels = {
        name: list(dict.fromkeys(level for frame in frames for level in frame[name].cat.categories))
        for name in ordered
    }
    aligned = [
        frame.assign(**{name: frame[name].cat.set_categories(levels[name]) for name in ordered})
        for frame in frames
    ]
    return pd.concat(aligned, ignore_index=True)
