"""Marginal means, differences between groups that may share clusters, and any estimate by groups (``cj``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from conjury.inference.errors import InputError

from ...frames.variables import Formula
from .. import run
from ..estimates import Estimates
from ..reliability.correction import Correct, estimate_corrected
from ..request import Family, LevelOrder, Vcov, make_request
from ..run import Data, estimate
from .amce import amce
from .frequencies import cj_freqs


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


Estimate = Literal["amce", "mm", "frequencies", "amce_differences", "mm_differences"]
_VERBS: dict[str, Callable[..., Estimates]] = {
    "amce": amce,
    "mm": mm,
    "frequencies": cj_freqs,
    "amce_differences": amce_diffs,
    "mm_differences": mm_diffs,
}


def cj(
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    estimate: Estimate = "amce",
    by: str | list[str] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate AMCEs, marginal means, frequencies or differences, in each group of ``by``.

    Parameters
    ----------
    data, formula, id, **options
        As in `amce`, `mm`, `cj_freqs`, `amce_diffs` and `mm_diffs`.
    estimate : {"amce", "mm", "frequencies", "amce_differences", "mm_differences"}
    by : str or list of str, optional
        Grouping columns. Levels of several are joined by "***", as cregg does.

    Returns
    -------
    Estimates
        With a first column ``by`` and one column for each grouping. Groups that share
        clusters keep their covariance in ``vcov``.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> cj(data, "y ~ a", estimate="mm", by="g").frame["estimate"].tolist()
    [0.5, 0.0, 1.0, 0.0]
    """
    verb = verb_of(estimate, by)
    if verb.startswith("cj_") and verb != "cj_freqs":
        return run.estimate(make_request(verb, formula, id=id, by=by, **options), data)
    grouping = {"by": by} if by else {}
    return _VERBS[estimate](data, formula, id=id, **grouping, **options)


def verb_of(estimate: str, by: str | Sequence[str] | None) -> str:
    """Name the verb behind a call of `cj`."""
    if estimate not in _VERBS:
        raise InputError(f"There is no estimate {estimate!r}; the estimates are {', '.join(_VERBS)}.")
    if estimate.endswith("_differences") and not isinstance(by, str):
        raise InputError(f"estimate={estimate!r} compares the levels of one column; give by='column'.")
    return f"cj_{estimate}" if by and estimate in ("amce", "mm") else _VERBS[estimate].__name__
