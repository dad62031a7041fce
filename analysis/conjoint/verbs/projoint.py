"""Marginal means and AMCEs by the conventions of the R package projoint, for comparison with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...frames.cells import with_used_rows
from ...frames.rounding import percentage
from ...frames.variables import Formula
from ...numerics.intervals import SHARE, UNBOUNDED
from ...results import stack, tidy
from ..estimates import Estimates
from ..reliability.agreeing_repeats import Swapping, swapping
from ..reliability.correction import SwapCorrectedEstimates
from ..reliability.repeats import find_repeats, first_answers, presentations
from ..request import make_request
from .amce import amce
from .cj import mm

_AGREE = "_agree"


@any_frame
def projoint(
    choices: pd.DataFrame,
    formula: str | Formula,
    id: str = "judge_id",
    *,
    estimand: Literal["mm", "amce"] = "amce",
    alpha: float = 0.05,
) -> SwapCorrectedEstimates:
    """Estimate profile-level effects, corrected for swapping errors, as projoint 1.1.3 does.

    Five conventions set it apart from `amce` with ``correct="reliability"``. Each attribute is
    estimated alone, from pairs whose profiles differ in it. Errors are CR2 with Satterthwaite
    degrees of freedom, for corrected estimates too. One repeat of each respondent counts. The
    covariance of tau with a mean is that of choice and agreement over the repeated task's
    rows, divided by the number of respondents, without regard to how few of the rows of an
    estimate those are. A preference for a side counts as noise.

    Parameters
    ----------
    choices : DataFrame
        As in `reliability`.
    formula : str
        ``outcome ~ a + b``, without restrictions.
    id : str
        Column of respondents.
    estimand : {"mm", "amce"}
        Marginal means or average marginal component effects.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    SwapCorrectedEstimates
        Without ``vcov``.

    Raises
    ------
    InputError
        Without repeats, or if they agree no better than by chance.

    References
    ----------
    Clayton, K., Horiuchi, Y., Kaufman, A. R., King, G., Komisarchik, M. (2025). Correcting
    measurement error bias in conjoint survey experiments. American Journal of Political Science.
    https://gking.harvard.edu/conjointE

    Examples
    --------
    >>> first = pd.DataFrame({"judge_id": np.repeat(["r1", "r2", "r3", "r4"], 2),
    ...     "pair_id": np.repeat([1, 2, 3, 4], 2), "position": list("ABABABAB"), "repeat": False,
    ...     "tone": pd.Categorical(["rude", "kind"] * 4), "chosen": [1, 0, 1, 0, 0, 1, 1, 0]})
    >>> again = first.assign(pair_id=first["pair_id"] + 4, position=list("BABABABA"), repeat=True)
    >>> again["chosen"] = [1, 0, 1, 0, 1, 0, 1, 0]
    >>> found = projoint(pd.concat([first, again], ignore_index=True), "chosen ~ tone", estimand="mm")
    >>> found.beside[["source", "level", "estimate"]].round(3).values.tolist()
    [['observed', 'kind', 0.25], ['observed', 'rude', 0.75], ['corrected', 'kind', 0.146],
     ['corrected', 'rude', 0.854]]
    """
    if estimand not in ("mm", "amce"):
        raise InputError(f"estimand is {estimand!r}; give 'mm' or 'amce'.")
    request = make_request(estimand, formula, id=id, alpha=alpha)
    outcome = request.formula.outcome
    choices = with_used_rows(choices)
    pairs = find_repeats(choices, outcome=outcome).pairs.drop_duplicates("judge_id")
    agree = np.full(len(choices), np.nan)
    agree[pairs["row_a"]] = agree[pairs["row_b"]] = pairs["same"]
    error = swapping(pairs["same"].to_numpy(), np.ones(len(pairs), dtype=bool), np.arange(len(pairs)))
    if not error.stable.estimate > 0.5 or error.n_units < 2:
        raise InputError(
            f"{error.n_units} repeats agree in {percentage(error.agreement.estimate, 1)} of cases; a "
            "correction needs several, and agreement above one half."
        )
    first = first_answers(choices.assign(**{_AGREE: agree}))
    fits = []
    cross: list[float] = []
    for feature in request.features:
        untied = _rows_of_unequal_pairs(first, feature, outcome)
        verb = mm if estimand == "mm" else amce
        fits.append(verb(untied, f"{outcome} ~ {feature}", id=id, vcov="CR2", alpha=alpha))
        cross += _covariances(untied, feature, outcome, fits[-1].frame, error)
    observed = _stack_fits(fits, str(request.formula))
    return _corrected(observed, error, np.array(cross))


def _rows_of_unequal_pairs(first: pd.DataFrame, feature: str, outcome: str) -> pd.DataFrame:
    """Rows of pairs whose profiles differ in a feature."""
    pairs = presentations(first, outcome, [feature])
    differs = (pairs["key_a"] != pairs["key_b"]).to_numpy()
    rows = pairs.loc[differs, ["row_a", "row_b"]].to_numpy().ravel()
    return first.iloc[np.sort(rows)]


def _covariances(
    untied: pd.DataFrame, feature: str, outcome: str, frame: pd.DataFrame, error: Swapping
) -> list[float]:
    """Covariance with tau of each row: of a level's mean, or of its difference from the first level's."""
    rows = untied[untied[_AGREE].notna() & untied[outcome].notna()]
    by_level = {}
    for level in frame["level"].astype(str):
        level_rows = rows[rows[feature].astype(str) == level]
        chosen, agree = level_rows[outcome].to_numpy(float), level_rows[_AGREE].to_numpy()
        by_level[level] = np.cov(chosen, agree)[0, 1] / error.n_compared if len(level_rows) > 1 else 0.0
    slope = -0.5 / np.sqrt(2 * error.stable.estimate - 1)
    base = by_level[str(frame["level"].iloc[0])] if (frame["statistic"] == "amce").all() else 0.0
    return [float(slope * (value - base)) for value in by_level.values()]


def _stack_fits(fits: list[Estimates], formula: str) -> Estimates:
    records = [fit.provenance for fit in fits]
    rows, n_used = max(record.n_rows for record in records), max(record.n_used for record in records)
    provenance = replace(records[0], formula=formula, n_rows=rows, n_used=n_used)
    return Estimates(stack([fit.frame for fit in fits]), None, provenance)


def _corrected(observed: Estimates, error: Swapping, cross: np.ndarray) -> SwapCorrectedEstimates:
    frame, tau = observed.frame, error.tau
    share = float((frame["statistic"] == "mm").all())
    estimate, std_error, df = (frame[name].to_numpy(float) for name in ("estimate", "std_error", "df"))
    by_estimate = 1 / (1 - 2 * tau)
    by_tau = (2 * estimate - share) / (1 - 2 * tau) ** 2
    variance = (
        by_estimate**2 * std_error**2 + by_tau**2 * error.std_error**2 + 2 * by_estimate * by_tau * cross
    )
    keys = frame[["outcome", "statistic", "feature", "level"]]
    corrected = tidy(
        keys,
        (estimate - share * tau) * by_estimate,
        np.sqrt(np.maximum(variance, 0.0)),
        observed.provenance.alpha,
        observed.provenance.null or 0.0,
        df,
        support=SHARE if share else UNBOUNDED,
    )
    table = {"group": "all", "tau": tau, "std_error": error.std_error, "agreement": error.agreement.estimate}
    counts = {"net_bias": error.net_bias, "n_compared": error.n_compared, "n_units": error.n_units}
    return SwapCorrectedEstimates(
        corrected,
        None,
        replace(observed.provenance, extra={**observed.provenance.extra, "tau": tau}),
        uncorrected=observed,
        tau=pd.DataFrame([table | counts]),
    )
