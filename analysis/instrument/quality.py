"""Length, position and own origin as effects on judgments, against people's judgments of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ..frames.notes import Note, note_under
from ..frames.variables import numeric_column, require_column
from ..numerics.intervals import check_alpha
from ..numerics.types import Floats
from ..results import Result
from .decision_rows import estimate_with_limits
from .decisions import CHOICE, LABEL, POSITION, Decisions, by_judge, decisions

UNADJUSTED, PEOPLE, BEYOND, MATCHED, ADJUSTED = "unadjusted", "people", "beyond people", "matched", "adjusted"
OWN = "own"
_DETERMINED = 1e-9  # share of a residual that is left where a fit goes through the row


@dataclass(frozen=True)
class _DecisionRegression:
    """Decisions of one judge as a regression: one row per choice or rating."""

    y: Floats  # (n,): a choice as 1 for the first profile less 1/2, or a rating
    people: Floats  # (n,): what people gave on the same scale; NaN where unknown
    x: Floats  # (n,): attribute, of choices the difference between first and second profile
    quality: Floats  # (n,): of choices the difference in people's judgments, else their rating
    stratum: np.ndarray  # (n,): rows of the same quality; -1 where a choice is between unequal ones
    cluster: pd.Series
    weight: Floats  # (n,)
    intercept: bool


@any_frame
def preferences_beyond_quality(
    data: pd.DataFrame,
    attribute: str,
    human: str,
    *,
    outcome: str | None = None,
    log: bool = False,
    margin: float = 0.0,
    object: str | None = None,
    cluster: str | None = None,
    weights: str | None = None,
    alpha: float = 0.05,
) -> Result:
    """Estimate how far an attribute that is no quality moves a judge, compared with people on the same rows.

    The effect is the slope of a linear regression of the judge's decision on the attribute: of choices, of
    the choice of the first profile on the difference between the two profiles, with an intercept for the
    position; of ratings, of the rating on the attribute. Standard errors are clustered.

    Parameters
    ----------
    data : DataFrame
        Choices (one row per profile) or ratings by one or more judges.
    attribute : str
        Column of numbers or truth values, such as the length of a text; "position", of choices, is the
        preference for the first position.
    human : str
        Column of what people gave the same row: of choices the share of people who chose the profile (or any
        rating of it), of ratings their mean rating. Rows without it are excluded.
    outcome : str, optional
        By default ``chosen`` of choices, and ``value``.
    log : bool
        Take the natural logarithm of the attribute, such as of lengths.
    margin : float
        Profiles are of the same quality where people's judgments of them differ by no more. Ratings
        are matched where people's are equal, or within bins of this width.
    object : str, optional
        Column of the objects of ratings, by default ``item_id``.
    cluster : str, optional
        Column of clusters instead of the pair or the object.
    weights : str, optional
        Column of weights of rows, such as one over the probability with which people were asked about them;
        of choices that of the first profile counts.
    alpha : float
        One minus the confidence level.

    Returns
    -------
    Result
        One row per ``judge, comparison``: ``estimate`` (per unit of the attribute), ``std_error, p, lower,
        upper`` with G-1 degrees of freedom, ``n, n_clusters``. Comparisons:

        - "unadjusted": the judge's slope; "people": that of people on the same rows.
        - "beyond people": the first minus the second. Random error in people's judgments does not bias it.
          Both are missing where ``human`` of choices are not shares between 0 and 1.
        - "matched": the judge's slope among pairs of the same quality, or within ratings of the same quality.
        - "adjusted": the judge's slope with people's judgment as a covariate. Where people's
          judgments are noisy, it and "matched" keep a part of what quality explains;
          `raters.biases` corrects ratings for that.

    Raises
    ------
    InputError
        For labels, for an attribute that does not vary, and where no row has a judgment by people.

    References
    ----------
    Dubois, Y., Galambosi, B., Liang, P., Hashimoto, T. B. (2024). Length-controlled AlpacaEval. COLM 2024.
    doi:10.48550/arXiv.2404.04475

    Panickssery, A., Bowman, S. R., Feng, S. (2024). LLM evaluators recognize and favor their own generations.
    NeurIPS 37. doi:10.48550/arXiv.2404.13076

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": list("abcdef"),
    ...     "words": [1, 2, 3, 1, 2, 3], "people": [1, 1, 1, 2, 2, 2], "value": [1, 2, 3, 2, 3, 4]})
    >>> found = preferences_beyond_quality(table, "words", "people").frame
    >>> found[["comparison", "estimate"]].round(2).values.tolist()[:3]
    [['unadjusted', 1.0], ['people', 0.0], ['beyond people', 1.0]]
    """
    check_alpha(alpha)
    data = data.reset_index(drop=True)
    require_column(data, human)
    answers = decisions(data, outcome, object=object, cluster=cluster)
    if answers.kind == LABEL:
        raise InputError("Labels have no slope on an attribute; give ratings or choices.")
    if attribute != POSITION or answers.kind != CHOICE:
        x = _attribute(data, attribute, log)
    else:
        x = np.zeros(len(data))
    quality = numeric_column(data, human)
    weight = np.ones(len(data)) if weights is None else _weights(data, weights)
    rows, notes = list[dict[str, Any]](), list[str]()
    for judge, judge_rows in by_judge(answers):
        scored = _scored(judge_rows, answers, x, quality, weight, attribute, margin)
        if len(scored.y) == 0:
            text = "no decision has both an answer and a judgment by people."
            notes.append(note_under({"judge": judge}, text))
            continue
        if np.ptp(scored.x) == 0 and scored.intercept:
            text = Note.of("{feature} does not vary.", feature=attribute)
            notes.append(note_under({"judge": judge}, text))
            continue
        rows += [{"judge": judge} | row for row in _rows(scored, alpha)]
    if not rows:
        raise InputError(" ".join(notes))
    settings = {"alpha": alpha, "attribute": attribute, "human": human, "log": log, "margin": margin}
    settings |= {"weights": weights} if weights is not None else {}
    settings |= {"outcome": outcome, "kind": answers.kind, "cluster": cluster}
    return Result(pd.DataFrame(rows), "beyond_quality", tuple(notes), settings)


@any_frame
def self_preference(
    data: pd.DataFrame, author: str, human: str, *, judge: str = "judge_id", **options: Any
) -> Result:
    """Estimate how far judges favour what they wrote themselves, compared with people on the same rows.

    Parameters
    ----------
    data
        As in `preferences_beyond_quality`.
    author : str
        Column of who wrote the text of a row.
    human
        As in `preferences_beyond_quality`.
    judge : str
        Column of names to compare authors with, such as that of the model behind a judge.
    **options
        As in `preferences_beyond_quality`.

    Returns
    -------
    Result
        As in `preferences_beyond_quality`, per text of the judge's own.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": list("abcd"),
    ...     "author": ["m", "m", "n", "n"], "people": [1, 2, 1, 2], "value": [2, 3, 1, 2]})
    >>> found = self_preference(table, "author", "people").frame
    >>> found.loc[found["comparison"] == "beyond people", "estimate"].round(2).tolist()
    [1.0]
    """
    for name in (author, judge):
        require_column(data, name)
    is_own = data[author].astype("string") == data[judge].astype("string")
    return preferences_beyond_quality(data.assign(own=is_own.astype("Float64")), OWN, human, **options)


def _weights(data: pd.DataFrame, name: str) -> Floats:
    values = numeric_column(data, name)
    bad = ~(values > 0) | np.isinf(values)
    if bad.any():
        row = int(bad.argmax()) + 1
        raise InputError(f"Weight {name!r} is {values[row - 1]:g} in row {row}; give numbers above 0.")
    return values


def _attribute(data: pd.DataFrame, name: str, log: bool) -> Floats:
    require_column(data, name)
    values = pd.to_numeric(data[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if np.isnan(values).all():
        raise InputError(f"Attribute {name!r} has no numbers; give a column of numbers or truth values.")
    if not log:
        return values
    if (values <= 0).any():
        row = int((values <= 0).argmax()) + 1
        raise InputError(f"Attribute {name!r} is {values[row - 1]:g} in row {row}, which has no logarithm.")
    return np.asarray(np.log(values))


def _scored(
    judge_rows: pd.DataFrame,
    answers: Decisions,
    x: Floats,
    quality: Floats,
    weight: Floats,
    attribute: str,
    margin: float,
) -> _DecisionRegression:
    """Rows of a judge that have an answer, the attribute and a judgment by people."""
    if answers.kind == CHOICE:
        a, b = judge_rows["row_a"].to_numpy(), judge_rows["row_b"].to_numpy()
        y, rows = judge_rows["first"].to_numpy(dtype=float) - 0.5, a
        difference = quality[a] - quality[b]
        finite_quality = quality[np.isfinite(quality)]
        shares = bool(((finite_quality >= 0) & (finite_quality <= 1)).all())
        people = difference / 2 if shares else np.full(len(y), np.nan)
        slope = np.ones(len(y)) if attribute == POSITION else x[a] - x[b]
        stratum = np.where(np.abs(difference) <= margin + 1e-12, 0, -1)
        intercept = attribute != POSITION
    else:
        rows = judge_rows["row"].to_numpy()
        y, difference, slope = judge_rows["value"].to_numpy(dtype=float), quality[rows], x[rows]
        people, intercept = difference, True
        binned = np.round(difference / margin) if margin else difference
        stratum = pd.factorize(pd.Series(binned))[0]
    is_complete = np.isfinite(y) & np.isfinite(difference) & np.isfinite(slope)
    return _DecisionRegression(
        y[is_complete],
        people[is_complete],
        slope[is_complete],
        difference[is_complete],
        stratum[is_complete],
        judge_rows["cluster"][is_complete].reset_index(drop=True),
        weight[rows][is_complete],
        intercept,
    )


def _rows(scored: _DecisionRegression, alpha: float) -> Iterator[dict[str, Any]]:
    """One row for each comparison that can be made."""
    every = np.ones(len(scored.y), dtype=bool)
    ones = every.astype(float)[:, None] if scored.intercept else np.empty((len(every), 0))
    yield {"comparison": UNADJUSTED} | _slope(scored, scored.y, ones, every, alpha)
    if np.isfinite(scored.people).all():
        yield {"comparison": PEOPLE} | _slope(scored, scored.people, ones, every, alpha)
        yield {"comparison": BEYOND} | _slope(scored, scored.y - scored.people, ones, every, alpha)
    matched = scored.stratum >= 0
    if matched.any():
        controls = ones if (scored.stratum[matched] == 0).all() else _stratum_indicators(scored.stratum)
        yield {"comparison": MATCHED} | _slope(scored, scored.y, controls, matched, alpha)
    with_quality = np.column_stack([ones, scored.quality])
    yield {"comparison": ADJUSTED} | _slope(scored, scored.y, with_quality, every, alpha)


def _stratum_indicators(stratum: np.ndarray) -> Floats:
    return np.asarray(np.eye(int(stratum.max()) + 1)[stratum])


def _slope(
    scored: _DecisionRegression, y: Floats, controls: Floats, mask: np.ndarray, alpha: float
) -> dict[str, Any]:
    """Slope of y on the attribute with controls, clustered; NaN where the attribute follows from them."""
    cluster = scored.cluster[mask]
    root = np.sqrt(scored.weight)
    y, x, controls = root * y, root * scored.x, root[:, None] * controls
    slope, influence = slope_of(y[mask], x[mask], controls[mask], float(x @ x))
    if not np.isfinite(slope):
        none = dict.fromkeys(("estimate", "std_error", "p", "lower", "upper"), np.nan)
        return none | {"n": int(mask.sum()), "n_clusters": cluster.nunique()}
    return estimate_with_limits(slope, influence, cluster, alpha, parameters=controls.shape[1] + 1)


def slope_of(y: Floats, x: Floats, controls: Floats, scale: float = 0.0) -> tuple[float, Floats]:
    """Slope of y on x with controls, and the influence of n rows on it, averaged; NaN where x follows."""
    if controls.shape[1]:
        coefficients = np.linalg.lstsq(controls, np.column_stack([x, y]), rcond=None)[0]
        x, y = (np.column_stack([x, y]) - controls @ coefficients).T
    spread = float(x @ x)
    if spread <= 1e-12 * max(1.0, scale):
        return np.nan, np.full(len(x), np.nan)
    slope = float(x @ y) / spread
    # Residuals are as those of a fit without their row, which few rows and many controls shrink.
    free = 1 - x**2 / spread - _leverage(controls)
    residual = np.divide(y - slope * x, free, out=np.zeros_like(y), where=free > _DETERMINED)
    return slope, np.asarray(len(x) * x * residual / spread)


def _leverage(controls: Floats) -> Floats:
    """Leverage of n rows in a fit on controls, shape (n,)."""
    if not controls.shape[1]:
        return np.zeros(len(controls))
    basis, size, _ = np.linalg.svd(controls, full_matrices=False)
    return np.asarray((basis[:, size > 1e-10 * size.max()] ** 2).sum(axis=1))
