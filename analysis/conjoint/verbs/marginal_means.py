"""Marginal means (MMs)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...frames.variables import Formula
from ..estimates import Estimates
from ..reliability.correction import Correct, estimate_corrected
from ..request import Family, LevelOrder, Vcov, make_request
from ..run import Data, estimate


def mm(
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    weights: str | None = None,
    strata: str | None = None,
    engine: str = "native",
    family: Family = "gaussian",
    vcov: Vcov = "survey",
    alpha: float = 0.05,
    h0: float | None = None,
    feature_order: Sequence[str] | None = None,
    feature_labels: Mapping[str, str] | None = None,
    level_order: LevelOrder = "ascending",
    correct: Correct | None = None,
) -> Estimates:
    """Estimate marginal means.

    The marginal mean of a level is the mean outcome of profiles that show it,
    averaged over the distribution of all other attributes. In a forced choice
    between two profiles it is the share chosen, and 0.5 says that the level does not matter.

    Parameters
    ----------
    data, formula, id, weights, strata, engine, family, vcov, alpha
        As in `amce`; rows are dropped feature by feature where that feature is missing.
    feature_order, feature_labels, level_order
        As in `amce`.
    h0 : float, optional
        Value under the null hypothesis; it moves ``z`` and ``p``, not the interval. By default 1/k where
        exactly one of k profiles is chosen, so 0.5 for pairs, and 0 for any other outcome (ratings, and
        choices whose rows no column puts together). Rows belong to one choice where they agree in
        ``pair_id`` or ``pair`` (or in ``judge_id`` and ``task``, else in ``id``), and one of them is chosen
        where the outcomes of each complete choice sum to 1.
    correct : float, str or Reliability, optional
        As in `amce`; a mean m becomes ``(m - tau) / (1 - 2 tau)``.

    Returns
    -------
    Estimates
        Statistic "mm"; a row for every level.

    References
    ----------
    Leeper, T. J., Hobolt, S. B., Tilley, J. (2020). Measuring subgroup preferences in
    conjoint experiments. Political Analysis 28(2), 207-221. doi:10.1017/pan.2019.30

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 0, 1], "pair_id": [1, 1, 2, 2, 3, 3],
    ...                      "tone": ["rude", "kind", "rude", "kind", "rude", "kind"]})
    >>> means = mm(data, "chosen ~ tone", id="pair_id")
    >>> means.frame["estimate"].round(3).tolist(), means.provenance.null
    ([0.333, 0.667], 0.5)
    """
    request = make_request(
        "mm",
        formula,
        id=id,
        weights=weights,
        strata=strata,
        engine=engine,
        family=family,
        vcov=vcov,
        alpha=alpha,
        h0=h0,
        feature_order=feature_order,
        feature_labels=feature_labels,
        level_order=level_order,
    )
    return estimate(request, data) if correct is None else estimate_corrected(request, data, correct)
