"""Differences of AMCEs and of marginal means between groups that may share clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...frames.formula import Formula
from ..estimates import Estimates
from ..reliability.correction import Correct, estimate_corrected
from ..request import make_request
from ..run import Data, estimate


def amce_diffs(
    data: Data,
    formula: str | Formula,
    by: str,
    id: str | Sequence[str] | None = None,
    *,
    correct: Correct | None = None,
    **options: Any,
) -> Estimates:
    """Estimate differences of AMCEs: each group of ``by`` minus the first.

    With an attribute as ``by`` this is the difference that the moderation study
    reports: how the effect of a slur changes with the identity of the author.

    Parameters
    ----------
    data, formula, id, **options
        As in `amce`. ``by`` may also stand in the formula; it is left out there.
    by : str
        Column of groups: an attribute, a trait of respondents, a prompt, a judge. Its
        first level is the one that others are compared with. Rows where it is missing are
        excluded, and a warning says how many.
    correct : float, str or Reliability, optional
        As in `amce`; "by_group" gives each group a swapping error of its own, as groups of
        judges need it.

    Returns
    -------
    Estimates
        Statistic "amce_difference", first column ``by`` ("second - first") and a column
        named after the grouping. Reference levels have no row. Errors keep the
        covariance between groups that share clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> amce_diffs(data, "y ~ a", by="g").frame["by"].tolist()
    ['m - f']
    """
    request = make_request("amce_diffs", formula, by=by, id=id, **options)
    return estimate(request, data) if correct is None else estimate_corrected(request, data, correct)


def mm_diffs(
    data: Data,
    formula: str | Formula,
    by: str,
    id: str | Sequence[str] | None = None,
    *,
    correct: Correct | None = None,
    **options: Any,
) -> Estimates:
    """Estimate differences of marginal means: each group of ``by`` minus the first.

    Parameters
    ----------
    data, formula, by, id, correct, **options
        As in `amce_diffs` and `mm`; the null hypothesis is that a difference is 0.

    Returns
    -------
    Estimates
        Statistic "mm_difference", a row for every level. Errors keep the covariance
        between groups that share clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> mm_diffs(data, "y ~ a", by="g").frame["estimate"].tolist()
    [0.5, 0.0]
    """
    request = make_request("mm_diffs", formula, by=by, id=id, **options)
    return estimate(request, data) if correct is None else estimate_corrected(request, data, correct)
