"""Agreement of two runs with people over all pairs, where labels were drawn with known probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conjury.inference.tables.schema import SAMPLING

from ....numerics.intervals.bounded import BoundedEstimate, n_clusters, share, share_of_influence
from ....numerics.intervals.weighted_items import items_of, limits, patterns_of, weights_of
from ....numerics.types import Codes, Floats
from ...agreement.coefficient_intervals import cells_of
from ...agreement.rater_pairs import SideShares, paired_coefficient
from ..label_agreement import KINDS

WEIGHTED = (
    f"Labels were drawn with known probabilities: agreement with people is weighted by '{SAMPLING}', and "
    "holds for all pairs."
)


def weighted_share(values: Floats, weight: Floats | None, cluster: Codes, alpha: float) -> BoundedEstimate:
    """A mean of n numbers from 0 to 1; a weighted one has Wilson's interval at its effective trials."""
    if weight is None:
        return share(values, cluster, alpha)
    relative = weight / weight.mean()
    estimate = float((relative * values).mean())
    return share_of_influence(estimate, relative * (values - estimate), cluster, alpha)


@dataclass(frozen=True)
class WeightedSides:
    """Labels of n rows by people, and how many rows each stands for."""

    # Limits are those of coefficients without weights: of a Bayesian bootstrap of items, each with its
    # weight, to which one item of mean weight is added that speaks against agreement, or for it.

    people: Floats  # (n, q): shares of their labels
    weight: Floats  # (n,)
    cluster: Codes  # (n,)
    measure: str
    weights: Floats | None  # of agreement, (q, q); None for ranks
    alpha: float

    def coefficient(self, judge: Codes) -> BoundedEstimate:
        """The agreement of a judge, with classes (n,), with people."""
        first, second, against, favour = self._cells([judge])
        cells = np.column_stack([first, self._eye[second]])
        result = self._bounded([judge], (cells, against), (cells, favour))
        if not np.isfinite(result.lower):
            return result
        return result.within(result.lower, result.upper, self.alpha)

    def difference(self, judges: Sequence[Codes]) -> BoundedEstimate:
        """The agreement of the second of two judges less that of the first."""
        first, second, against, _ = self._cells(judges)
        right = np.column_stack([first, second, self._eye[first]])
        wrong = np.column_stack([second, first, self._eye[first]])
        result = self._bounded(judges, (right, against), (wrong, against))
        return result.tested(self.alpha) if np.isfinite(result.lower) else result

    @property
    def _eye(self) -> Floats:
        return np.eye(self.people.shape[1])

    def _cells(self, judges: Sequence[Codes]) -> tuple[Codes, Codes, Floats, Floats]:
        counts = np.bincount(np.concatenate(judges), minlength=self.people.shape[1])
        return cells_of(counts + self.people.sum(axis=0) > 0)

    def _bounded(
        self, judges: Sequence[Codes], low: tuple[Floats, Floats], high: tuple[Floats, Floats]
    ) -> BoundedEstimate:
        """The last judge's coefficient, less that of the first of two, with limits by added items."""
        relative = self.weight / self.weight.mean()
        rows = np.column_stack([*judges, self.people, relative])
        first, code = patterns_of(rows)
        added = np.vstack([cells for cells, _ in (low, high)])
        distinct = np.vstack([rows[first], np.column_stack([added, np.ones(len(added))])])
        count = len(judges)
        sides = [
            SideShares(self._eye[distinct[:, at].astype(np.int64)], distinct[:, count:-1])
            for at in range(count)
        ]
        zeros = [np.zeros(len(part)) for part in (first, low[1], high[1])]
        prior = np.concatenate([zeros[0], low[1], zeros[2]]), np.concatenate([zeros[0], zeros[1], high[1]])

        def statistic(weights: Floats) -> Floats:
            of_pattern = weights * distinct[:, -1]
            # Alpha depends on the number of items, which stays that of the rows.
            of_pattern *= weights.sum(axis=1, keepdims=True) / of_pattern.sum(axis=1, keepdims=True)
            values = [
                paired_coefficient(side, self.weights, of_pattern, KINDS[self.measure]) for side in sides
            ]
            return np.asarray(values[-1] - values[0] if count == 2 else values[0])[:, None]

        clusters = n_clusters(self.cluster)
        observed = np.bincount(code, minlength=len(distinct)).astype(float)
        estimate, df = float(statistic(observed[None])[0, 0]), max(clusters - 1.0, 1.0)
        if not np.isfinite(estimate) or clusters < 2:
            return BoundedEstimate(estimate, np.nan, np.nan, np.nan, len(rows), clusters, df=df)
        draws = weights_of(items_of(code, len(distinct), self.cluster), *prior, self.alpha)
        lower, upper = limits(statistic, draws, np.array([estimate]))
        error = float(np.nanstd(statistic(draws.plain), ddof=1))
        return BoundedEstimate(
            estimate, error or np.nan, float(lower[0]), float(upper[0]), len(rows), clusters, df=df
        )
