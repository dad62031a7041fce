"""Shares of answers of a judge and labels of people among all judged rows, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from ....numerics.intervals import draw_limits, level_of_t
from ....numerics.intervals.bounded import BoundedEstimate, n_clusters
from ....numerics.rating_panel import RowClusters
from ....numerics.types import Codes, Floats
from ...agreement.rater_pairs import SideShares, chance, paired_coefficient
from ..coding import CodedRows
from ..label_agreement import ACCURACY, ALPHA, KINDS, weights_of
from .answer_strata import Strata

MOST, LEAST, CELLS = 2000, 500, 2_000_000  # draws, and cells of all drawn tables
Statistic = Callable[[Floats], Floats]  # of tables (B, q, q), judge in rows: (B,)


@dataclass(frozen=True)
class WeightedTables:
    """Shares of q answers and q labels among all judged rows, with draws that show their uncertainty."""

    # Draws are Dirichlet with one further row, against the estimate for the lower limit and with it for the
    # upper, as in a share's exact interval, so that the unseen stays possible; clusters reduce counts.

    shares: Floats  # (q, q): the estimate
    counts: Floats  # (q, q): labels of each answer
    answers: Floats  # (B, q): drawn shares of answers
    n: int  # labelled rows
    clusters: int
    df: float  # of the clusters; infinite of independent rows
    alpha: float
    seed: int

    def drawn(self, further: Floats) -> Floats:
        """Tables with one further row for each answer, spread over the labels as ``further``, (q, q)."""
        rng, tables = np.random.default_rng(self.seed), np.zeros((len(self.answers), *self.shares.shape))
        for place in np.flatnonzero(self.counts.any(axis=1)):
            parts = rng.standard_gamma(self.counts[place] + further[place], (len(tables), len(further)))
            tables[:, place] = self.answers[:, [place]] * parts / parts.sum(axis=1, keepdims=True)
        return tables

    @property
    def right(self) -> Floats:
        """Further rows that agree with the judge."""
        return np.eye(len(self.shares))

    def of_class(self, place: int) -> Floats:
        """Further rows of one class."""
        return np.repeat(np.eye(len(self.shares))[[place]], len(self.shares), axis=0)

    def bounded(self, statistic: Statistic, towards: Floats, scale: float = 1.0) -> BoundedEstimate:
        """A statistic that rises with rows as in ``towards``, (q, q)."""
        # `scale` is 1 for shares, 2 for coefficients, and 0 for differences.
        against = (1 - towards) / max(len(towards) - 1, 1)
        sides = [statistic(self.drawn(further)) for further in (against, towards)]
        return self.limited(float(statistic(self.shares[None])[0]), sides, scale)

    def limited(self, estimate: float, sides: Sequence[Floats], scale: float) -> BoundedEstimate:
        """An estimate with percentiles of draws, those for the lower limit first."""
        none = BoundedEstimate(estimate, np.nan, np.nan, np.nan, self.n, self.clusters)
        finite = [draws[np.isfinite(draws)] for draws in sides]
        enough = all(2 * len(values) >= len(draws) for values, draws in zip(finite, sides, strict=True))
        if not np.isfinite(estimate) or self.clusters < 2 or not enough:
            return none
        level = self.alpha if np.isinf(self.df) else float(level_of_t(self.df, self.alpha))
        lower = min(float(draw_limits(finite[0], level)[0]), estimate)
        upper = max(float(draw_limits(finite[1], level)[1]), estimate)
        error = max(float(values.std(ddof=1)) for values in finite)
        result = replace(none, std_error=error, lower=lower, upper=upper)
        if scale:
            return result.within(lower, upper, self.alpha, scale)
        beyond = finite[0] <= 0 if estimate > 0 else finite[1] >= 0
        z = ndtri(min(max(float(beyond.mean()), 1 / len(beyond)), 0.5))
        return replace(result, p=float(2 * (ndtr(z) if np.isinf(self.df) else stdtr(self.df, z))))


def tables_of(coded: CodedRows, strata: Strata, labels: Floats, alpha: float, seed: int) -> WeightedTables:
    """Tables from the shares of labels of each row, shape (n, q), 0 without labels."""
    q, answer = coded.q, coded.judges[0]
    judged, labelled = strata.code >= 0, (strata.code >= 0) & labels.any(axis=1)
    counts, rows = np.zeros((q, q)), np.bincount(answer[judged], minlength=q).astype(float)
    np.add.at(counts, answer[labelled], labels[labelled] * _row_weights(strata, answer, labelled)[:, None])
    many = counts.sum(axis=1)
    rows[many == 0] = 0.0
    share = rows / rows.sum()
    inflation = _inflation(coded, labels, labelled, share)
    clusters, n = n_clusters(coded.cluster[labelled]), int(labelled.sum())
    answers = np.random.default_rng([seed, 1]).standard_gamma(
        rows / inflation, (int(np.clip(CELLS // q**2, LEAST, MOST)), q)
    )
    within = np.divide(counts, many[:, None], out=np.zeros_like(counts), where=many[:, None] > 0)
    return WeightedTables(
        shares=share[:, None] * within,
        counts=counts / inflation,
        answers=answers / answers.sum(axis=1, keepdims=True),
        n=n,
        clusters=clusters,
        df=np.inf if clusters in (1, n) else clusters - 1.0,
        alpha=alpha,
        seed=seed,
    )


def _row_weights(strata: Strata, answer: Codes, labelled: np.ndarray) -> Floats:
    """Weights of labelled rows, which sum to what those with the same answer of the judge are worth."""
    # That is the number of rows of equal weight with the same variance (Kish 1965).
    if strata.represented is None:
        return np.ones(int(labelled.sum()))
    weight, code = strata.represented[labelled], answer[labelled]
    total, squares = (np.bincount(code, values, int(code.max()) + 1) for values in (weight, weight**2))
    scale = np.divide(total, squares, out=np.zeros(len(total)), where=squares > 0)
    return np.asarray(weight * scale[code])


def _inflation(coded: CodedRows, labels: Floats, labelled: np.ndarray, share: Floats) -> float:
    """How many times the variance of independent rows clusters have, at least 1: the largest of classes."""
    answer, cluster = coded.judges[0][labelled], coded.cluster[labelled]
    if n_clusters(cluster) == len(cluster):
        return 1.0
    values = np.column_stack([labels[labelled], labels[labelled][np.arange(len(answer)), answer]])
    influence = np.zeros_like(values)
    for place in np.unique(answer):
        mine = answer == place
        influence[mine] = (values[mine] - values[mine].mean(axis=0)) * share[place] / mine.sum()
    clusters = RowClusters.numbered(cluster)
    independent = (influence**2).sum(axis=0)
    mean_size = len(cluster) / n_clusters(cluster)
    ratio = np.full(len(independent), mean_size)
    np.divide((clusters.sums(influence) ** 2).sum(axis=0), independent, out=ratio, where=independent > 0)
    return float(np.clip(ratio.max(), 1.0, np.bincount(clusters.code).max()))


def coefficient(measure: str, coded: CodedRows, n: int) -> Statistic:
    """A coefficient of agreement as a function of tables of n rows."""
    weights, kind, sides = weights_of(measure, coded), KINDS[measure], _cells(coded.q)
    ranked = measure == ALPHA and not np.array_equal(weights, np.eye(coded.q))

    def of(shares: Floats) -> Floats:
        items = shares.reshape(len(shares), -1) * n
        return np.asarray(paired_coefficient(sides, None if ranked else weights, items, kind))

    return of


def by_chance(measure: str, coded: CodedRows, shares: Floats) -> float:
    """Agreement expected by chance from the margins of one table."""
    kind = KINDS["kappa"] if measure == ACCURACY else KINDS[measure]
    return float(chance(shares.sum(axis=1), shares.sum(axis=0), weights_of(measure, coded), kind))


def _cells(q: int) -> SideShares:
    place: Codes = np.arange(q * q)
    return SideShares(np.eye(q)[place // q], np.eye(q)[place % q])
