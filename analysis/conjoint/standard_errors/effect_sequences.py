"""Confidence sequences of effects and means: intervals valid at every look at the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...frames.cells import without_repeats
from ...frames.sequences import KIND, TARGET, looks_at
from ...frames.stored import read_rows
from ...frames.variables import Formula, numeric_column, parse, require_column, unit_codes
from ...numerics.intervals.confidence_sequences import FEWEST_EVENTS
from ...numerics.types import Codes, Floats
from ...results import Result
from ..estimates import Estimates
from ..rows import Data

FEWEST_OF_LEVEL = 30  # clusters that contain a level; with fewer its estimates are unbounded


@any_frame
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
    repeatedly, and collection stops at an interesting look, it covers less often. A confidence sequence
    covers the estimand at all looks together with this probability, whatever the rule of stopping.

    Parameters
    ----------
    estimator : function
        `amce`, `mm`, `amce_diffs` or `mm_diffs`.
    data : DataFrame or path
        Rows in the order in which they came in; clusters in the order of their first row, which has to be
        random. Rows without an answer are excluded.
    formula
        As for the estimator.
    id : str
        Column of independent clusters: pairs of a model, people of a panel.
    looks : sequence of int, optional
        Numbers of clusters at which estimates are made; by default 20 from 100 clusters to all.
    target : int
        Number of clusters at which the sequence is narrowest; it must not be chosen from the data.
    alpha : float
        One minus the probability of covering at all looks.
    **options
        As for the estimator.

    Returns
    -------
    Result
        Kind "confidence_sequence": the rows of the estimator for each look, with ``n_units`` (clusters so
        far). ``lower, upper`` and ``p`` are always valid; the interval is unbounded and p is 1 below 100
        clusters, and where a level or the reference it is compared with occurs in fewer than 30, or of
        an outcome with two values the rarer one in fewer than 20, since the guarantee is asymptotic.
        ``fixed_lower, fixed_upper`` are ordinary intervals, for comparison.

    Raises
    ------
    InputError
        For looks that are not increasing numbers of clusters, or all beyond the data; for a target below 1;
        where no row has an answer.

    Notes
    -----
    Coverage is asymptotic. In simulations of shares that are looked at after every unit from the 100th on, a
    95% sequence misses a share of 0.5 in 4% of runs, and shares of 0.05, 0.02 and 0.01 in 3, 2 and 1%. They
    are that low because the sequence begins at 20 units with the rarer outcome; from the 100th unit on it
    would miss them in 11, 22 and 41%. Skewed outcomes with more values have no such rule: means of
    log-normal ones (SD of the logarithm 1) are missed in 9% of runs, or 5% with looks from 300 units on.

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
    >>> path = sequential(amce, data, "chosen ~ tone", id="pair", looks=[120, 240]).frame
    >>> path.loc[path["level"] == "rude", ["n_units", "estimate", "lower"]].round(2).values.tolist()
    [[120.0, 0.5, 0.24], [240.0, 0.5, 0.33]]
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    rows, outcome = read_rows(data, parsed.features), parsed.outcome
    require_column(rows, outcome)
    rows = without_repeats(rows, [outcome, id])
    rows = rows[~np.isnan(numeric_column(rows, outcome))]
    if rows.empty:
        raise InputError(f"Column {outcome!r} has no answer; a sequence needs answers.")
    order = pd.factorize(unit_codes(rows, id)[0])[0]
    planned = looks_at(int(order.max()) + 1, looks, target, alpha)

    def at(mask: NDArray[np.bool_]) -> tuple[pd.DataFrame, Floats, float]:
        fit = estimator(rows[mask], formula, id=id, alpha=alpha, **options)
        return fit.frame, units_behind(fit.frame, rows[mask], order[mask], outcome), fit.provenance.null

    settings: dict[str, Any] = {"verb": estimator.__name__, "formula": str(formula), "id": id}
    settings |= {"alpha": alpha, "target": target, "unit": id}
    return Result(planned.path(order, at), KIND, planned.notes, settings)


def units_behind(frame: pd.DataFrame, rows: pd.DataFrame, order: Codes, outcome: str) -> Floats:
    """Units behind each estimate: all, or none where a level, its reference or an outcome is in too few."""
    values = numeric_column(rows, outcome)
    ends = np.unique(values)
    enough = np.array(
        [
            _is_enough(
                (rows[feature].astype("string") == str(level)).fillna(False).to_numpy(bool),
                order,
                values,
                ends,
            )
            for feature, level in zip(frame["feature"], frame["level"], strict=True)
        ]
    )
    if (frame["statistic"] == "amce").all():
        reference = pd.Series(enough).groupby(frame["feature"].to_numpy()).transform("first")
        enough = enough & reference.to_numpy()
    return np.where(enough, float(order.max()) + 1, 0.0)


def _is_enough(inside: NDArray[np.bool_], order: Codes, values: Floats, ends: Floats) -> bool:
    """Whether enough units contain a level, flagged in rows (n,), and the rarer of two outcomes with it."""
    if len(np.unique(order[inside])) < FEWEST_OF_LEVEL:
        return False
    if len(ends) != 2:
        return True
    return min(len(np.unique(order[inside & (values == end)])) for end in ends) >= FEWEST_EVENTS
