"""Confidence sequences of effects and means: intervals that stay valid however often the data are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...frames.variables import Formula, require_column
from ...numerics.confidence_sequences import FEWEST, half_widths, p_values
from ...numerics.intervals import check_alpha
from ...results import Result
from ..estimates import Estimates

LOOKS = 20  # by default
TARGET = 500  # units at which a sequence is narrowest, by default


def sequential(
    estimator: Callable[..., Estimates],
    data: Data,
    formula: str | Formula,
    id: str,
    *,
    looks: Sequence[int] | None = None,
    target: int = TARGET,
    alpha: float = 0.05,
    **options: Any,
) -> Result:
    """Estimate effects or means as clusters come in, with confidence sequences.

    An ordinary 95% interval covers in 95% of studies if it is computed once. Where the data are looked at
    repeatedly, and collection stops at an interesting look, it covers less often. A confidence sequence covers
    the estimand at all looks together with this probability, whatever the rule of stopping.

    Parameters
    ----------
    estimator : function
        `amce`, `mm`, `amce_diffs` or `mm_diffs`.
    data : DataFrame or path
        Rows in the order in which they came in; clusters in the order of their first row, which has to be
        random.
    formula, **options
        As for the estimator.
    id : str
        Column of independent clusters: pairs of a model, people of a panel.
    looks : sequence of int, optional
        Numbers of clusters at which estimates are made; by default 20 from 30 clusters to all.
    target : int
        Number of clusters at which the sequence is narrowest; it must not be chosen from the data.
    alpha : float
        One minus the probability of covering at all looks.

    Returns
    -------
    Result
        Kind "confidence_sequence": the rows of the estimator for each look, with ``n_units`` (clusters so
        far). ``lower, upper`` and ``p`` are always valid; below 30 clusters the interval is unbounded and p
        is 1, since the guarantee is asymptotic. ``fixed_lower, fixed_upper`` are ordinary intervals, for
        comparison.

    Raises
    ------
    InputError
        For looks that are not increasing numbers of clusters.

    References
    ----------
    Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. H., Ramdas, A. (2024). Time-uniform central limit
    theory and asymptotic confidence sequences. Annals of Statistics 52(6). doi:10.1214/24-AOS2408

    Lindon, M., Ham, D. W., Tingley, M., Bojinov, I. (2022). Anytime-valid linear models and regression
    adjusted causal inference in randomized experiments. arXiv:2210.08589

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 0, 1, 1, 0] * 60, "pair": np.repeat(range(240), 2),
    ...                      "tone": ["rude", "kind"] * 240})
    >>> path = sequential(amce, data, "chosen ~ tone", id="pair", looks=[60, 240]).frame
    >>> path.loc[path["level"] == "rude", ["n_units", "estimate", "lower"]].round(2).values.tolist()
    [[60.0, 0.47, -0.08], [240.0, 0.5, 0.28]]
    """
    check_alpha(alpha)
    frame = frame_of_rows(data)
    code, units = pd.factorize(require_column(frame, id, "id"))
    wanted = default_looks(len(units)) if looks is None else [int(one) for one in looks]
    if any(late <= early for early, late in zip(wanted, wanted[1:], strict=False)) or wanted[0] < 2:
        raise InputError(f"looks are {wanted}; give increasing numbers of clusters of at least 2.")
    if target < 1:
        raise InputError(f"target is {target}; give a number of clusters above 0.")
    tables = []
    for size in [one for one in wanted if one <= len(units)] or [len(units)]:
        found = estimator(frame[(code < size) & (code >= 0)], formula, id=id, alpha=alpha, **options)
        tables.append(with_sequence(found.frame, size, alpha, target, found.provenance.null))
    path = pd.concat(tables, ignore_index=True)
    notes = (f"Sequences are unbounded below {FEWEST} clusters: their guarantee is asymptotic.",)
    settings = {
        "verb": estimator.__name__,
        "formula": str(formula),
        "id": id,
        "alpha": alpha,
        "target": target,
    }
    return Result(path, "confidence_sequence", notes, settings)


def frame_of_rows(data: Data) -> pd.DataFrame:
    """The table in memory, in the order of its rows."""
    from conjury.inference.tables.files import read_table

    return data if isinstance(data, pd.DataFrame) else read_table(data)


def default_looks(units: int) -> list[int]:
    """Twenty looks from the fewest clusters that have a sequence to all."""
    if units <= FEWEST:
        return [units]
    return sorted({int(one) for one in np.linspace(FEWEST, units, LOOKS).round()})


def with_sequence(
    frame: pd.DataFrame, units: int, alpha: float, target: float, null: float = 0.0
) -> pd.DataFrame:
    """A table of estimates from a number of clusters with always-valid limits and p values."""
    estimate, error = frame["estimate"].to_numpy(float), frame["std_error"].to_numpy(float)
    variance = units * error**2
    half = half_widths(variance, np.asarray(units), alpha, target)
    p = p_values(estimate - null, variance, np.asarray(units), target, alpha)
    known = np.isfinite(error)
    return frame.assign(
        n_units=units,
        lower=np.where(known, estimate - half, np.nan),
        upper=np.where(known, estimate + half, np.nan),
        p=np.where(known, p, np.nan),
        fixed_lower=frame["lower"],
        fixed_upper=frame["upper"],
    )
