"""Bounds on the share of judges who prefer a level, from its AMCE."""

from __future__ import annotations

from numbers import Real

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...correction.bounds import covering_interval
from ...numerics.intervals import check_alpha
from ...results import Result
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan
from ..reliability.correction import SwapCorrectedEstimates
from .part_worths import PartWorths, part_worths

_HALF = 0.5  # above it a majority prefers the level


@any_frame
def share_preferring(fit: Estimates, *, equal: float | None = None, alpha: float = 0.05) -> Result:
    """Bound the share of judges who prefer each level to the reference.

    An AMCE averages over judges how much a level matters to each of them: a minority who cares much
    outweighs a majority who cares little. The AMCE therefore only bounds the share who prefer the level,
    and often both a minority and a majority are possible.

    Parameters
    ----------
    fit : Estimates
        AMCEs of choices between two profiles, from `amce` with all attributes that profiles vary in.
    equal : float, optional
        Probability that two profiles are equal in all other attributes; by default from the shares
        of levels of the other attributes in the formula, as if attributes were independent. 0 gives bounds
        that hold whatever else varies.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        Kind "share_preferring". One row per level, references excluded: ``feature, level, reference, amce``,
        ``bound_lower, bound_upper`` of the share who prefer the level, and ``lower, upper``, which cover
        the share with the stated confidence; ``majority``: "prefer", "do not" or "unclear", whether both
        limits are above or below one half.

    Raises
    ------
    InputError
        For other results than AMCEs on the probability scale, and for AMCEs outside what the assumptions
        allow.

    Notes
    -----
    Assumed: each judge has a strict order of all profiles, without errors, and prefers one of the two levels
    whatever the other attributes are; these are drawn independently of the attribute and alike for both
    profiles. With p the joint share of the two levels and e the probability ``equal``, the AMCE of a judge
    who prefers the level is at least m = p e / 2, where all else matters more, and at most M = 1 - p / 2,
    where nothing else does; of the others it is between -M and -m. So the share lies between
    (AMCE + m) / (M + m) and (AMCE + M) / (M + m). Errors of judges make AMCEs smaller, so that the bound
    on the side of the AMCE's sign is too near one half; give effects with ``correct="reliability"``.

    References
    ----------
    Abramson, S. F., Kocak, K., Magazinnik, A. (2022). What do we learn about voter preferences from
    conjoint experiments? American Journal of Political Science 66(4), 1008-1020. doi:10.1111/ajps.12714

    Imbens, G. W., Manski, C. F. (2004). Confidence intervals for partially identified parameters.
    Econometrica 72(6), 1845-1857. doi:10.1111/j.1468-0262.2004.00555.x

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 0, 1, 1, 0] * 40, "pair_id": np.repeat(range(160), 2),
    ...                      "tone": ["kind", "rude", "rude", "rude", "rude", "kind", "kind", "kind"] * 40,
    ...                      "topic": ["work"] * 160 + ["sport"] * 160})
    >>> found = share_preferring(amce(data, "chosen ~ tone + topic", id="pair_id")).frame
    >>> found.loc[:0, ["level", "amce", "bound_lower", "bound_upper"]].round(2).values.tolist()
    [['rude', -0.5, 0.0, 0.0]]
    """
    check_alpha(alpha)
    if equal is not None and (not isinstance(equal, Real) or not 0 <= equal <= 1):
        raise InputError(f"equal is {equal!r}; give a probability, or None to compute it.")
    worths = part_worths(fit, "share_preferring")
    observed = fit.uncorrected if isinstance(fit, SwapCorrectedEstimates) else fit
    if observed.fitted is None or fit.provenance.family != "gaussian":
        raise InputError("Bounds need AMCEs on the probability scale; fit with family='gaussian'.")
    shares = _level_shares(observed.fitted.plan)
    rows = []
    for feature, share in shares.items():
        squares = [float((values**2).sum()) for name, values in shares.items() if name != feature]
        same = float(np.prod(squares)) if equal is None else float(equal)
        inside = worths.of(feature)
        base = next(row for row in inside if worths.vcov[row, row] == 0)
        reference = worths.table["level"].iloc[base]
        for row in inside[inside != base]:
            level = worths.table["level"].iloc[row]
            p = share[level] + share[reference]
            rows.append((row, feature, level, reference, p * same / 2, 1 - p / 2))
    table = pd.DataFrame(rows, columns=["row", "feature", "level", "reference", "least", "most"])
    frame = _bounds(table, worths, alpha)
    settings = {"alpha": alpha, "equal": equal, "formula": fit.provenance.formula, "id": fit.provenance.id}
    return Result(frame, "share_preferring", fit.notes, settings)


def _level_shares(plan: EstimationPlan) -> dict[str, pd.Series[float]]:
    """Share of each level of each attribute among the answered profiles."""
    cells, shares = plan.cells, {}
    for name, levels in cells.levels.items():
        code = cells.code(name)
        counts = np.bincount(code[code >= 0], cells.cell_weight[code >= 0], len(levels))
        shares[plan.request.label(name)] = pd.Series(counts / counts.sum(), index=list(map(str, levels)))
    return shares


def _bounds(table: pd.DataFrame, worths: PartWorths, alpha: float) -> pd.DataFrame:
    """Bounds with covering intervals, from the least and the most that an AMCE of one judge can be."""
    rows = table.pop("row").to_numpy()
    amce, error = worths.estimate[rows], np.sqrt(np.diag(worths.vcov))[rows]
    least, most = table.pop("least").to_numpy(float), table.pop("most").to_numpy(float)
    low, high = (amce + least) / (most + least), (amce + most) / (most + least)
    errors = error / (most + least)
    df = None if np.isinf(worths.df) else np.full(len(rows), worths.df)
    lower, upper = covering_interval(low, high, errors, errors, alpha, df)
    beyond = (upper < 0) | (lower > 1)
    if beyond.any():
        row = table[beyond].iloc[0]
        raise InputError(
            f"The AMCE of {row['feature']}={row['level']} exceeds the maximum for judges with stable "
            "preferences among independently drawn profiles; check that attributes are drawn independently."
        )
    lower, upper, low, high = (np.clip(limit, 0.0, 1.0) for limit in (lower, upper, low, high))
    majority = np.where(lower > _HALF, "prefer", np.where(upper < _HALF, "do not", "unclear"))
    return table.assign(
        amce=amce, bound_lower=low, bound_upper=high, lower=lower, upper=upper, majority=majority
    )
