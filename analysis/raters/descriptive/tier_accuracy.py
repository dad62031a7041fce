"""Do ratings recover the order of tiers within a topic? Ties are counted, not hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note, excluding
from ...frames.vocabulary import HUMAN, ONE_PERSON, TIES
from ...frames.vocabulary import TIER_QUANTITIES as QUANTITIES
from ...numerics.bootstrap import FIXED_PEOPLE, few_clusters, intervals
from ...numerics.intervals import BootstrapInterval, wilson
from ...numerics.significance import insert_adjusted_p_values
from ...numerics.types import Codes, Floats
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments, Ratings
from ..scales import ranks
from .mean_ratings import MeanRatings, columns_of, item_scores, with_categorical_keys

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

PICKS = 200
NOTE = Note.of(
    "Ties are counted as wrong, split (as if broken at random) or correct. Chance is the expected score if "
    "the tiers of a topic were shuffled, and p is the share of such shuffles with a score at least as far "
    "from it. p is not adjusted for the number of rows; {column} is, over all rows with the same rule for "
    "ties.",
    column="p_holm",
)
SINGLE = (
    "Rows of 'one person' use single ratings, one per response; where people rated different responses "
    "of a topic, these are by different people."
)


@dataclass(frozen=True)
class TopicScores:
    """Scores of T topics, each for ties counted as wrong, split and right."""

    order: Floats  # (3, T): whether tiers are in order; split: how probably, ties broken at random
    order_chance: Floats  # its mean over all assignments of the topic's ratings to tiers
    pairs: Floats  # (3, T): the same for the share of its pairs of tiers
    pairs_chance: Floats
    tied: Floats  # (T,): share of pairs with equal ratings

    def of(self, quantity: str) -> tuple[Floats, Floats]:
        """Scores and chance of one of ``QUANTITIES``, shape (3, T) each."""
        if quantity == QUANTITIES[0]:
            return self.order, self.order_chance
        return self.pairs, self.pairs_chance


@any_frame
def tier_accuracy(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    levels: Sequence[str],
    column: str,
    within: str,
    dimension: str | None = None,
    dimensions: str | Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Score how often ratings put the tiers of a topic in their order.

    Parameters
    ----------
    judgments, items
        As in :func:`means`.
    levels : sequence of str
        Tiers, the best first.
    column : str
        Column of items that contains them.
    within : str
        Column of the topics, or whatever tiers are ordered within; intervals resample topics.
    dimension : str, optional
        One dimension; shorthand for ``dimensions=[dimension]``.
    dimensions, scale, alpha, draws, seed
        As in :func:`means`.

    Returns
    -------
    Result
        ``dimension, judge, quantity, ties, estimate, std_error, lower, upper, chance, excess, excess_lower,
        excess_upper, p, p_holm, tied, n_topics``. Judges are each model, ``human`` (the mean of the panel),
        and ``one person``: single ratings, one for each response, drawn from the first ratings by its raters
        200 times and averaged, by different people where these did not rate whole topics. ``quantity`` is
        ``complete_order`` or ``ordered_pairs``; ``tied`` is the share of pairs with equal ratings. Limits
        of a share are Wilson's with its bootstrap error; those of ``excess`` combine them with the limits of
        ``chance`` (Zou 2007). ``p`` tests the excess over ``chance`` by shuffling the tiers
        within topics 19,999 times (two-sided, unadjusted; of ordered pairs the same however ties count);
        ``p_holm`` is adjusted over all rows with the same ``ties``. Topics with a tier that a judge did not
        rate are excluded for that judge.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann"] * 3 + ["gpt"] * 3, "judge_kind": ["human"] * 3 +
    ...     ["model"] * 3, "item_id": list("abc") * 2, "value": [3, 2, 1, 3, 3, 1], "topic_id": "t",
    ...     "tier": ["high", "mid", "low"] * 2})
    >>> found = tier_accuracy(table, column="tier", within="topic_id", levels=["high", "mid", "low"],
    ...     draws=5).frame
    >>> found[found["judge"] == "gpt"][["quantity", "ties", "estimate"]].round(2).values.tolist()
    ... # doctest: +NORMALIZE_WHITESPACE
    [['complete_order', 'wrong', 0.0], ['complete_order', 'split', 0.5], ['complete_order', 'right', 1.0],
     ['ordered_pairs', 'wrong', 0.67], ['ordered_pairs', 'split', 0.83], ['ordered_pairs', 'right', 1.0]]
    """
    if len(set(levels)) < 2 or len(set(levels)) != len(levels):
        raise InputError(f"levels names {listed(levels) or 'nothing'}; give at least two tiers, each once.")
    chosen = [dimension] if dimension is not None else dimensions
    scores = item_scores(
        judgments,
        items,
        columns=[column, within],
        dimensions=chosen,
        cluster=within,
        scale=scale,
        people=False,
        resampling=(alpha, draws, seed),
    )
    place = tier_items(scores, column, levels)
    weights = scores.weights(draws, seed)
    rows, notes = [], [NOTE, SINGLE, FIXED_PEOPLE, *scores.notes]
    for d, name in enumerate(scores.dimensions):
        for g, group in enumerate(scores.groups):
            values = np.where(place >= 0, scores.mean[d, g][place], np.nan)
            rows += _rows({"dimension": name, "judge": group}, values[None], weights, alpha, seed)
            if group == HUMAN:
                picked = picked_ratings(scores.ratings[d], scores.row, len(scores.items), PICKS, seed)
                single = np.where(place >= 0, picked[:, place], np.nan)
                rows += _rows({"dimension": name, "judge": ONE_PERSON}, single, weights, alpha, seed)
    if not rows:
        raise InputError(
            f"judgments: no person rated every tier ({listed(levels)}) of one '{within}'; collect more, or "
            "give fewer levels."
        )
    lacking = int((place < 0).any(axis=1).sum())
    if lacking:
        text = "{n:,} of {of:,} topics lack a tier and are excluded."
        notes.append(excluding(text, n=lacking, of=len(place)))
    keys = ["dimension", "judge", "quantity", "ties"]
    frame = with_categorical_keys(pd.DataFrame(rows), keys)
    frame = insert_adjusted_p_values(frame, ["ties"], "holm", "p_holm")
    notes += few_clusters(frame["n_topics"], draws)
    settings = {
        "column": column, "levels": list(levels), "within": within, "alpha": alpha, "draws": draws,
        "seed": seed, "picks": PICKS,
    }  # fmt: skip
    return Result(frame, "tier_accuracy", tuple(notes), settings)


def tier_items(scores: MeanRatings, column: str, levels: Sequence[str]) -> Codes:
    """Position of the item of each topic and tier, shape (T, tiers); -1 where there is none."""
    tiers = as_text(scores.strata[column])
    place = np.full((scores.n_clusters, len(levels)), -1, dtype=np.int64)
    for k, level in enumerate(levels):
        at = np.flatnonzero((tiers == level).fillna(False).to_numpy(dtype=bool))
        if not len(at):
            raise InputError(
                f"items: no judged item has '{level}' in column '{column}'; there are "
                f"{listed(tiers.dropna().unique())}."
            )
        topic = scores.cluster[at]
        if len(np.unique(topic)) < len(topic):
            twice = topic[pd.Series(topic).duplicated().to_numpy(dtype=bool)][0]
            first, second = (scores.items[k] for k in at[topic == twice][:2])
            raise InputError(
                f"items: '{first}' and '{second}' are both '{level}' of the same topic; keep one of them."
            )
        place[topic, k] = at
    return place


def score_order(values: Floats) -> TopicScores:
    """Score ratings of the tiers of T topics, ``values`` of shape (R, T, tiers), averaged over R."""
    n_tiers = values.shape[2]
    weak = (np.diff(values, axis=2) <= 0).all(axis=2)
    strict = (np.diff(values, axis=2) < 0).all(axis=2)
    shared = _orders_of_ties(values)
    distinct = shared == 1
    orders = factorial(n_tiers)
    order = np.stack([strict, weak / shared, weak]).mean(axis=1)
    order_chance = np.stack([distinct / orders, np.full(shared.shape, 1 / orders), shared / orders])
    first, second = np.triu_indices(n_tiers, 1)
    gap = values[:, :, first] - values[:, :, second]
    won, tied = (gap > 0).mean(axis=2), (gap == 0).mean(axis=2)
    pairs = np.stack([won, won + tied / 2, won + tied]).mean(axis=1)
    pairs_chance = np.stack([(1 - tied) / 2, np.full(tied.shape, 0.5), (1 + tied) / 2])
    return TopicScores(order, order_chance.mean(axis=1), pairs, pairs_chance.mean(axis=1), tied.mean(axis=0))


def _orders_of_ties(values: Floats) -> Floats:
    """Number of orders that breaking the ties of each topic could give, shape (R, T)."""
    ranked = np.sort(values, axis=2)
    run = np.ones(values.shape[:2])
    product = np.ones(values.shape[:2])
    for k in range(1, values.shape[2]):
        run = np.where(ranked[:, :, k] == ranked[:, :, k - 1], run + 1, 1)
        product = product * run
    return product


def picked_ratings(ratings: Ratings, row: dict[str, int], n_items: int, picks: int, seed: int) -> Floats:
    """One human rating of each item, drawn ``picks`` times, shape (picks, n_items); NaN where none is."""
    # Draws depend on the names of items and people, not on the order of rows.
    human = ratings.is_human & ratings.first_samples
    at = np.array([row[name] for name in ratings.items])[ratings.item][human]
    order = np.lexsort((np.array(ratings.judges)[ratings.judge[human]], at))
    value, count = ratings.value[human][order], np.bincount(at, minlength=n_items)
    start = count.cumsum() - count
    rng = np.random.default_rng(seed)
    uniform = rng.random((picks, n_items))[:, ranks(list(row))]
    position = start + np.floor(uniform * count).astype(np.int64)
    return np.where(count > 0, value[np.minimum(position, len(value) - 1)], np.nan)


def _rows(
    keys: dict[str, object], values: Floats, weights: Floats, alpha: float, seed: int
) -> list[dict[str, object]]:
    """Rows of a judge, of the topics in which ``values``, shape (R, T, tiers), are all there."""
    is_complete = np.isfinite(values[0]).all(axis=1)
    if not is_complete.any():
        return []
    n_topics, w = int(is_complete.sum()), weights[:, is_complete]
    shuffled = [
        score_order(values[:, is_complete][:, :, order]) for order in orders_of(values.shape[2], seed)
    ]
    total = w.sum(axis=1)[:, None]
    rows: list[dict[str, object]] = []
    for quantity in QUANTITIES:
        p = shuffled_p(np.stack([result.of(quantity)[0] for result in shuffled]), seed)
        score, chance = shuffled[0].of(quantity)
        with np.errstate(divide="ignore", invalid="ignore"):
            replicates, null = w @ score.T / total, w @ chance.T / total
        estimates, by_chance, excess = (
            intervals(values_of, alpha, clusters=n_topics)
            for values_of in (replicates, null, replicates - null)
        )
        lower, upper = share_limits(estimates.estimate, error_of(estimates), n_topics, alpha)
        half = -ndtri(alpha / 2) * error_of(by_chance)
        least, most = difference_limits(
            (estimates.estimate, lower, upper),
            (null[0], np.maximum(null[0] - half, 0.0), np.minimum(null[0] + half, 1.0)),
            correlations_of(replicates[1:], null[1:]),
        )
        numbers = pd.DataFrame(columns_of(estimates)).assign(
            lower=lower,
            upper=upper,
            chance=null[0],
            excess=excess.estimate,
            excess_lower=least,
            excess_upper=most,
            p=p,
            tied=shuffled[0].tied.mean(),
        )
        rows += [
            {**keys, "quantity": quantity, "ties": ties}
            | {str(name): number for name, number in numbers.iloc[k].items()}
            | {"n_topics": n_topics}
            for k, ties in enumerate(TIES)
        ]
    return rows


SHUFFLES = 19_999  # with the observed order 20,000, so that p has round steps
MOST_ORDERS = 120  # 5!: all orders of up to five tiers
CLOSE = 1e-9  # sums of scores that differ by less are equal


def error_of(estimates: BootstrapInterval) -> Floats:
    """Bootstrap standard errors, shape (m,), 0 where every draw gives the same value."""
    return np.where(estimates.alike, 0.0, estimates.std_error)


def share_limits(share: Floats, error: Floats, n_topics: int, alpha: float) -> tuple[Floats, Floats]:
    """Wilson limits of shares with their standard errors, all of shape (m,)."""
    # The number of trials is the one at which a binomial share would have that error; of a share of 0 or 1,
    # whose error is zero, it is the number of topics.
    spread = share * (1 - share)
    varied = (error > CLOSE) & (spread > CLOSE)
    n = np.where(varied, spread / np.where(varied, error, 1.0) ** 2, float(n_topics))
    lower, upper = wilson(share, np.maximum(n, 1.0), alpha)
    is_defined = np.isfinite(error) & (n_topics > 1)
    return np.where(is_defined, np.minimum(lower, share), np.nan), np.where(
        is_defined, np.maximum(upper, share), np.nan
    )


Limited = tuple[Floats, Floats, Floats]  # estimates with lower and upper limits, (m,) each


def difference_limits(minuend: Limited, subtrahend: Limited, correlation: Floats) -> tuple[Floats, Floats]:
    """Limits of the first minus the second from the limits of each and their correlation (Zou 2007)."""
    (first, first_low, first_high), (second, second_low, second_high) = minuend, subtrahend

    def reach(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(a**2 - 2 * correlation * a * b + b**2, 0.0)))

    difference = first - second
    return (
        difference - reach(first - first_low, second_high - second),
        difference + reach(first_high - first, second - second_low),
    )


def _mean(draws: Floats) -> Floats:
    """Mean of each column over the draws that have a value; 0 where none has."""
    finite = np.isfinite(draws)
    return np.asarray(np.where(finite, draws, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1))


def correlations_of(x: Floats, y: Floats) -> Floats:
    """Correlations over draws, shape (m,), of statistics of shape (B, m); 0 where either is constant."""
    complete = np.isfinite(x) & np.isfinite(y)
    first, second = (np.where(complete, draws, np.nan) for draws in (x, y))
    first, second = (draws - _mean(draws) for draws in (first, second))
    products = np.nansum(first * second, axis=0)
    size = np.sqrt(np.nansum(first**2, axis=0) * np.nansum(second**2, axis=0))
    return np.asarray(np.divide(products, size, out=np.zeros(len(size)), where=size > CLOSE))


def shuffled_p(scores: Floats, seed: int) -> Floats:
    """Two-sided p values of sums over topics when each topic's labels are shuffled by themselves."""
    rng = np.random.default_rng(seed)
    n_orders, m = scores.shape[:2]
    sums = np.zeros((SHUFFLES, m))
    for of_topic in np.ascontiguousarray(np.moveaxis(scores, 2, 0)):
        sums += of_topic.take(rng.integers(n_orders, size=SHUFFLES), axis=0)
    real = scores[0].sum(axis=1)
    tails = np.stack([(sums >= real - CLOSE).sum(axis=0), (sums <= real + CLOSE).sum(axis=0)])
    p: Floats = 2 * (tails.min(axis=0) + 1) / (SHUFFLES + 1)
    return np.minimum(p, 1.0)


def orders_of(n: int, seed: int) -> list[list[int]]:
    """Orders of n labels, as they are first: all where these are up to 120, else 120 of them by chance."""
    if factorial(n) <= MOST_ORDERS:
        return [list(order) for order in permutations(range(n))]
    rng = np.random.default_rng(seed)
    return [list(range(n)), *(rng.permutation(n).tolist() for _ in range(MOST_ORDERS - 1))]


@analysis("raters", order=60, when=lambda rated: rated.has_scales and rated.study.tiers is not None)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    study, tiers = rated.study, rated.study.tiers
    if tiers is None or study.cluster is None:
        return
    settings: dict[str, Any] = {"levels": tiers.levels, "column": tiers.column, "within": study.cluster}
    settings |= {"dimension": study.main, "scale": rated.common_scale, **options}
    call = partial(tier_accuracy, rated.coded, rated.items, **settings)
    yield AnalysisStep("tiers", "Do ratings recover the order of the tiers?", call)
