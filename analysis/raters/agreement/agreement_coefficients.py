"""Agreement coefficients of ratings: the public function, its checks and its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.tables.columns import as_text, names_of
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note, note_under
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments, Ratings
from ..reading import read_dimensions
from .chance_corrected import OWN, canonical_weighting, custom_weights, weight_matrix
from .coefficient_rows import AgreementRequest, ResultRows, Weights, coefficients_named, compare, pair_tables
from .comparisons import CATEGORICAL, Weighting, comparisons_of

if TYPE_CHECKING:
    from ..rated_study import RatedStudy


@any_frame
def agreement(
    judgments: Judgments,
    coefficients: str | Sequence[str] | None = None,
    *,
    dimension: str | Sequence[str] | None = None,
    scale: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    weights: Weights = None,
    judges: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    between: Sequence[tuple[str, str]] | None = None,
    items: pd.DataFrame | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
    interval: Literal["bootstrap"] | None = None,
) -> Result:
    """Agreement coefficients with intervals, for any pattern of missing ratings.

    Parameters
    ----------
    judgments : DataFrame, path, or table of an engine
        As :func:`conjury.analysis.raters.reading.read_dimensions` takes it.
    coefficients : str or sequence of str, optional
        By default all that the ratings allow. For any values: ``percent`` (observed agreement), ``cohen``
        (mean of the kappas of all pairs of raters, weighted by the items they share: Light's where all rated
        all), ``conger`` (Cohen's kappa for many raters, from pooled tables), ``fleiss``, ``krippendorff``,
        ``gwet`` (AC1, with weights AC2), ``brennan_prediger``. For numbers: ``icc1, icc2, icc3`` (single
        ratings, Shrout and Fleiss), ``icc1k, icc2k, icc3k`` (means of k ratings), ``icc`` for all six,
        ``kendall_w``, ``g_relative``, ``g_absolute``.
    dimension : str or sequence of str, optional
        Which dimensions; by default all.
    scale : sequence of float, or mapping of dimensions to sequences, optional
        The ratings that are allowed; categories that nobody used count for ``gwet`` and
        ``brennan_prediger``.
    weights : str, sequence of str, or array (q, q), optional
        ``nominal`` (or ``identity``), ``linear``, ``ordinal``, ``quadratic`` (or ``interval``), ``ratio``, or
        an own symmetric matrix with 1 on the diagonal, categories in rising order. By default ``nominal`` for
        labels, and ``nominal, ordinal, quadratic`` for numbers. Alpha of ``ordinal`` weights is
        Krippendorff's ordinal alpha, of ``quadratic`` ones his interval alpha.
    judges : sequence of str, optional
        Which judges; by default all. Of a table with one column per rater these are the columns.
    groups : mapping, optional
        Name of a group to its judges, to be compared among themselves; by default every panel of people, and
        ``model`` for all models.
    between : sequence of (str, str), optional
        Pairs of groups or judges to be compared with each other; by default every group of people with every
        model and with every other group of people. An empty list compares none.
    items : DataFrame, optional
        Columns of items, by ``item_id``, for ``by`` and ``cluster``.
    by : str or sequence of str, optional
        Columns of items or judgments; every combination of their levels is analysed apart.
    cluster : str, optional
        Column that says which items belong together, such as ``topic_id``: its clusters are drawn, and errors
        are clustered by it; by default items stand alone.
    alpha : float
        One minus the confidence level.
    draws : int
        Draws of coefficients without an interval of their own (``kendall_w``, ICCs with missing ratings,
        generalisability), or of all; 0 for none.
    seed : int
        Seed of these draws.
    interval : {"bootstrap"}, optional
        Percentiles of bootstrap samples for all coefficients; by default each has its own interval.

    Returns
    -------
    Result
        ``frame``: the columns of ``by``; ``dimension, among`` (the group, or the first side), ``against``
        (the second side, missing within a group), ``coefficient, weights`` (empty where there are none),
        ``raters`` (how many are averaged), ``estimate, std_error`` (linearised), ``lower, upper``
        (of categorical coefficients those of `conjury.analysis.raters.validation.judge`; of complete ICCs F
        intervals, or those of a Bayesian bootstrap by ``cluster``; of incomplete ones, generalisability and
        variances generalised intervals, and by ``cluster`` percentiles), ``n_items`` (that take part),
        ``n_judges, n_ratings``. ``extra``: ``pairs`` (every pair of raters), ``variance_components``,
        and ``decision_study`` (relative and absolute coefficients of the mean of 1 to 20 raters).

    Raises
    ------
    InputError
        For unknown coefficients, weights, judges, groups or columns; for coefficients of numbers asked of
        labels; and where no two raters can be compared.

    Notes
    -----
    Items with one rating say nothing about agreement within a group; they count for the prevalence of
    categories (Gwet 2014), except in alpha, which discards them (Krippendorff). Between two sides, agreement
    is that of a random rating of one with a random rating of the other, over items that both rated (Schouten
    1982). Incomplete ``icc1`` is by unbalanced analysis of variance; incomplete ``icc2`` and ``icc3``, and
    the generalisability coefficients, are by restricted likelihood. The mean of k ratings takes for k the
    harmonic mean of the number of ratings of an item. A model that answered items several times is compared
    with itself, its samples as raters; people who rated items again are compared with themselves (``human,
    again``), the first rating of an item with the second, pooled over people, so that ``n_items`` counts
    pairs of person and item. Elsewhere the first rating of an item by a judge counts, person or model.

    Generalised intervals (Weerahandi 1993) count raters as drawn, as items are. Percentiles, which these
    coefficients have with ``cluster`` or ``interval="bootstrap"``, take raters as fixed: they are too short
    for conclusions about other raters where there are few.

    References
    ----------
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed. Advanced Analytics.
    Schouten, H. J. A. (1982). Biometrical Journal 24(5), 431-435. doi:10.1002/bimj.4710240502
    Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical Association
    88(423), 899-905. doi:10.1080/01621459.1993.10476355

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann", "bob", "gpt"] * 3,
    ...     "judge_kind": ["human", "human", "model"] * 3, "item_id": list("aaabbbccc"),
    ...     "value": [1, 1, 2, 3, 2, 3, 4, 4, 4]})
    >>> made = agreement(table, ["percent", "krippendorff"], weights="interval", draws=0)
    >>> made.frame.loc[1, ["among", "coefficient", "weights"]].tolist()
    ['human', 'krippendorff', 'quadratic']
    >>> float(made.frame["estimate"].round(3)[1])
    0.912
    """
    strata = tuple(names_of(by))
    chosen = coefficients_named(coefficients)
    request = AgreementRequest(
        chosen, weights, groups, between, judges, strata, cluster, draws, seed, alpha, interval
    )
    gathered = ResultRows()
    columns = [*strata, *names_of(cluster)]
    coded = read_dimensions(
        judgments, dimension, items=items, columns=columns, scale=scale, raters=judges or ()
    )
    _refuse_unknown(coded, request)
    for ratings in coded:
        gathered.notes += [ratings.note(note) for note in ratings.notes]
        if len(ratings.judges) == 1:
            text = Note.of("there is one judge, {judge}.", judge=ratings.judges[0])
            gathered.notes.append(ratings.note(text))
        for stratum, part in _strata(ratings, request.by):
            _gather(part, {**stratum, "dimension": ratings.dimension}, request, gathered)
    return _result(gathered, request)


def _refuse_unknown(coded: Sequence[Ratings], request: AgreementRequest) -> None:
    """Refuse judges and groups that are nowhere, and coefficients of numbers where there are labels."""
    judge_names = {
        name
        for ratings in coded
        for name in (*ratings.judges, *as_text(ratings.frame["judge_id"]).unique(), *ratings.unused)
    }
    named = [judge for judges in (request.groups or {}).values() for judge in judges]
    sides = [side for pair in request.between or () for side in pair]
    groups = {*(request.groups or {}), *(group for ratings in coded for group in ratings.groups), "model"}
    for judge in [*(request.judges or ()), *named, *(side for side in sides if side not in groups)]:
        if judge not in judge_names:
            present = listed(dict.fromkeys(name for ratings in coded for name in ratings.judges))
            raise InputError(
                f"There is no judge '{judge}'{did_you_mean(judge, judge_names)}; there are {present}."
            )
    for ratings in coded:
        if not ratings.numeric and not set(request.coefficients) & set(CATEGORICAL):
            raise InputError(
                f"{listed(request.coefficients)} need numbers, these judgments are labels "
                f"({listed(ratings.categories)}); choose one of {listed(CATEGORICAL)}."
            )


def _strata(ratings: Ratings, by: Sequence[str]) -> Iterator[tuple[dict[str, str], Ratings]]:
    if not by:
        yield {}, ratings
        return
    for key, rows in ratings.frame.groupby(list(by), sort=False, observed=True).indices.items():
        levels = key if isinstance(key, tuple) else (key,)
        mask = np.zeros(len(ratings.frame), dtype=bool)
        mask[rows] = True
        yield dict(zip(by, map(str, levels), strict=True)), ratings.where(mask)


def _gather(ratings: Ratings, keys: dict[str, str], request: AgreementRequest, into: ResultRows) -> None:
    """Analyse one dimension of one stratum."""
    if request.judges is not None:
        present = [name for name in ratings.judges if name in set(request.judges)]
        if len(present) < 2:
            text = f"{len(present)} of the requested judges rated items of this dimension."
            into.notes.append(note_under(keys, text))
            return
        ratings = ratings.of(present)
    cluster = ratings.clusters(request.cluster)
    weightings = _weightings(request.weights, ratings)
    compared, notes = comparisons_of(ratings, request.groups, request.between, cluster)
    into.notes += [note_under(keys, note) for note in notes]
    for comparison in compared:
        compare(comparison, weightings, keys, request, into)
    into.pairs += pair_tables(ratings, cluster, weightings, keys, request, into)


def _weightings(weights: Weights, ratings: Ratings) -> list[Weighting]:
    if isinstance(weights, np.ndarray):
        if not ratings.ordered:
            raise InputError(
                f"A matrix of weights needs the order of the labels ({listed(ratings.categories)}), which "
                "have none; give an ordered categorical column, or read_ratings(judgments, scale=[...]) with "
                "all labels from the lowest to the highest."
            )
        return [Weighting(OWN, custom_weights(weights, len(ratings.categories)), ranked=False)]
    scores = ratings.categories if ratings.numeric else range(len(ratings.categories))
    if weights is None:
        names = ["nominal", "ordinal", "quadratic"] if ratings.ordered else ["nominal"]
    else:
        names = list(
            dict.fromkeys(
                canonical_weighting(name) for name in ([weights] if isinstance(weights, str) else weights)
            )
        )
    return [
        Weighting(name, weight_matrix(name, scores, ratings.ordered), name == "ordinal") for name in names
    ]


def _result(gathered: ResultRows, request: AgreementRequest) -> Result:
    if not gathered.rows:
        why = " ".join(gathered.notes) or "the judgments contain too few judges."
        raise InputError(f"Two raters are needed for a comparison: {why}")
    keys = [*request.by, "dimension", "among", "against"]
    numbers = ["estimate", "std_error", "lower", "upper"]
    order = [*keys, "coefficient", "weights", "raters", *numbers, "n_items", "n_judges", "n_ratings"]
    extra = {}
    if gathered.pairs:
        extra["pairs"] = pd.concat(gathered.pairs, ignore_index=True)
    if gathered.variances:
        columns = [*keys, "component", "estimate", "lower", "upper", "share"]
        extra["variance_components"] = _table(gathered.variances, columns)
        extra["decision_study"] = _table(
            gathered.plans, [*keys, "coefficient", "raters", "estimate", "lower", "upper"]
        )
    settings = {
        "coefficients": list(request.coefficients),
        "by": list(request.by),
        "cluster": request.cluster,
        "draws": request.draws,
        "seed": request.seed,
        "alpha": request.alpha,
        "interval": request.interval,
    }
    return Result(
        _table(gathered.rows, order), "agreement", tuple(dict.fromkeys(gathered.notes)), settings, extra
    )


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    result = pd.DataFrame(list(rows), columns=list(columns))
    return result.assign(against=result["against"].astype("string"))


@analysis("raters", order=90)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {"items": rated.items, "cluster": rated.study.cluster, **options}
    title = "Agreement of people, and of people with each model"
    yield AnalysisStep("agreement", title, partial(agreement, rated.ratings, **settings))
