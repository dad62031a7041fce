"""Whose ratings are compared (people, models, people with each model), and the coefficients of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.errors import InputError

from ...frames.notes import Note, note_under
from ...frames.vocabulary import AGAIN, HUMAN
from ...numerics.intervals.bounded import BoundedEstimate
from ...numerics.metrics.agreement_measures import coefficients_of
from ...numerics.rating_panel import RatingPanel
from ...numerics.types import Codes, Floats
from ..ratings import Ratings
from . import coefficient_intervals, icc, rater_pairs
from .coefficient_intervals import PanelInterval, SidesInterval
from .icc import kendall_w
from .rater_pairs import SideShares


def panel_of(ratings: Ratings, cluster: Codes | None = None) -> RatingPanel:
    """The panel of ratings with one sample a judge; ``cluster`` has one entry an item, by default its own."""
    return RatingPanel(
        item=ratings.item,
        rater=ratings.judge,
        category=ratings.category,
        value=ratings.value if ratings.numeric else ratings.category.astype(float),
        n_items=len(ratings.items),
        n_raters=len(ratings.judges),
        categories=ratings.categories,
        numeric=ratings.numeric,
        raters=ratings.judges,
        cluster=np.arange(len(ratings.items)) if cluster is None else cluster,
    )


MODELS = "model"


@dataclass(frozen=True)
class RaterComparison:
    """The ratings of a group, or of two sides."""

    among: str  # the group, or the first side
    against: str | None  # the second side
    # of a group its ratings; of two sides those of the first, of the items that both rated
    panel: RatingPanel
    other: RatingPanel | None = None  # of the second side, the same items in the same order

    @property
    def sides(self) -> SideShares:
        """Shares of ratings in categories, of both sides."""
        assert self.other is not None
        return SideShares(self.panel.shares(), self.other.shares())

    @property
    def name(self) -> Note:
        """Whose ratings are compared, as a part of a note."""
        return name_raters(self.among, self.against)


def name_raters(among: str, against: str | None) -> Note:
    """A group, or two sides, as a part of a note."""
    if against is None:
        return Note.of("{judge}", judge=among)
    return Note.of("{judge} with {judge2}", judge=among, judge2=against)


def default_groups(ratings: Ratings) -> dict[str, list[str]]:
    """Every panel of people, and all models."""
    result: dict[str, list[str]] = {}
    for judge, kind, group in zip(ratings.judges, ratings.kinds, ratings.groups, strict=True):
        if kind == HUMAN and group == MODELS:
            raise InputError(f"judgments: a panel of people is called '{MODELS}' like the models; rename it.")
        result.setdefault(group if kind == HUMAN else MODELS, []).append(judge)
    return dict(sorted(result.items(), key=lambda entry: entry[0] == MODELS))


def default_between(ratings: Ratings, groups: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Every group of people with every model, and with every other group of people."""
    models = set(ratings.models)
    people = [name for name, judges in groups.items() if not models & set(judges)]
    human_pairs = [(first, second) for at, first in enumerate(people) for second in people[at + 1 :]]
    return [(group, model) for group in people for model in ratings.models] + human_pairs


def comparisons_of(
    ratings: Ratings,
    groups: Mapping[str, Sequence[str]] | None,
    between: Sequence[tuple[str, str]] | None,
    cluster: Codes,
) -> tuple[list[RaterComparison], list[str]]:
    """The comparisons that the ratings allow, and what does not come about, in words."""
    named = {name: list(judges) for name, judges in (groups or default_groups(ratings)).items()}
    for name, judges in named.items():
        if name in ratings.models and judges != [name]:
            raise InputError(
                f"judgments: a model is called '{name}' like a group of several judges; rename one."
            )
    pairs = default_between(ratings, named) if between is None else list(between)
    first = ratings.first_samples
    result: list[RaterComparison] = []
    notes: list[str] = []
    if not first.all():
        notes.append("For judges with several samples of an item, the first is used.")
    panel = panel_of(ratings, cluster)
    for name, judges in named.items():
        present = _positions(judges, ratings)
        if len(present) < 2:
            if name != MODELS or groups is not None:
                text = f"{len(present)} rater, so there is no agreement among them."
                notes.append(note_under({"judge": name}, text))
            continue
        result.append(RaterComparison(name, None, panel.rows(first & np.isin(ratings.judge, present))))
    for among, against in pairs:
        sides = [_positions(named.get(side, [side]), ratings) for side in (among, against)]
        compared = _comparison_of_sides(
            among, against, panel, [first & np.isin(ratings.judge, side) for side in sides]
        )
        if compared is None:
            text = "{raters}: no item was rated by both."
            notes.append(Note.of(text, raters=name_raters(among, against)))
        else:
            result.append(compared)
    if groups is None and between is None:
        result += [*_retest_comparisons(ratings, panel, named), *_comparisons_of_samples(ratings, panel)]
    return result, notes


def _positions(judges: Sequence[str], ratings: Ratings) -> list[int]:
    return [at for at, name in enumerate(ratings.judges) if name in set(judges)]


def _comparison_of_sides(
    among: str, against: str, panel: RatingPanel, masks: Sequence[NDArray[np.bool_]]
) -> RaterComparison | None:
    rated = [np.bincount(panel.item[mask], minlength=panel.n_items) > 0 for mask in masks]
    is_shared = rated[0] & rated[1]
    if not is_shared.any():
        return None
    panels = [panel.rows(mask & is_shared[panel.item]) for mask in masks]
    return RaterComparison(among, against, panels[0], panels[1])


def _retest_comparisons(
    ratings: Ratings, panel: RatingPanel, named: Mapping[str, Sequence[str]]
) -> list[RaterComparison]:
    """People with themselves: the first and second rating of an item, pooled over the people of a group."""
    sample = pd.Series(ratings.frame["sample"].to_numpy(dtype=np.int64))
    unit = ratings.item * len(ratings.judges) + ratings.judge
    turn = sample.groupby(unit).rank(method="first").to_numpy(dtype=np.int64) - 1
    twice = (sample.groupby(unit).transform("size") > 1).to_numpy() & (turn < 2) & ratings.is_human
    result = []
    for name, judges in named.items():
        mine = twice & np.isin(ratings.judge, _positions(judges, ratings))
        if not mine.any():
            continue
        units, number = np.unique(unit, return_inverse=True)
        as_items = replace(
            panel,
            item=number.astype(np.int64),
            n_items=len(units),
            cluster=panel.cluster[units // len(ratings.judges)],
            rater=turn,
            raters=("first", "second"),
            n_raters=2,
        )
        result.append(RaterComparison(name + AGAIN, None, as_items.rows(mine)))
    return result


def _comparisons_of_samples(ratings: Ratings, panel: RatingPanel) -> list[RaterComparison]:
    """Models with themselves, over the items they answered several times."""
    sample = ratings.frame["sample"].to_numpy(dtype=np.int64)
    result = []
    for model in ratings.models:
        mine = ratings.judge == ratings.judges.index(model)
        numbers = np.unique(sample[mine])
        if len(numbers) < 2:
            continue
        as_raters = replace(
            panel,
            rater=np.searchsorted(numbers, sample).clip(0, len(numbers) - 1),
            raters=tuple(f"sample {number}" for number in numbers),
            n_raters=len(numbers),
        )
        result.append(RaterComparison(model, None, as_raters.rows(mine)))
    return result


CATEGORICAL, ONE_WAY, TWO_WAY, GENERAL = (
    coefficients_of(family) for family in ("classes", "one-way", "two-way", "generalisability")
)
NUMERIC = coefficients_of("one-way", "two-way", "ranks", "generalisability")


BOTH_SIDES = rater_pairs.KINDS


VARIANCES = ("item", "rater", "residual")


FEW_SHARED = 10  # items that pairs of raters share, below which the mean of their kappas means little


@dataclass(frozen=True)
class Weighting:
    """Weights with their name."""

    name: str
    matrix: Floats  # shape (q, q)
    ranked: bool  # whether Krippendorff's alpha takes ranks instead

    def of(self, coefficient: str) -> Floats | None:
        """The matrix, or None for the alpha of ranks."""
        return None if self.ranked and coefficient == "krippendorff" else self.matrix


Pivots = Callable[[int, int], Floats]


@dataclass(frozen=True)
class CoefficientFamily:
    """m coefficients that are computed together."""

    # ``raters``: of how many the mean is meant, NaN where that is no matter
    keys: tuple[tuple[str, str, float], ...]
    # from how often items count, shape (b, I), to estimates, shape (b, m)
    statistics: Callable[[Floats], Floats]
    # of a single coefficient: its interval and standard error
    bounds: Callable[[], BoundedEstimate] | None = None
    # shape (m, 2), or None: where limits are analytical and there is no standard error
    limits: Floats | None = None
    draw: bool = True  # whether bootstrap samples mean anything
    # from the number of draws and a seed to generalised pivotal quantities, shape (draws, m), which then take
    # the place of bootstrap samples
    pivots: Pivots | None = None


def families(
    compared: RaterComparison, coefficients: Sequence[str], weightings: Sequence[Weighting], alpha: float
) -> Iterator[CoefficientFamily]:
    """The families of a comparison, as far as its ratings have them."""
    if compared.other is None:
        bounds = PanelInterval(compared.panel, alpha, [weighting.matrix for weighting in weightings])
        has_few = "cohen" in coefficients and few_shared(compared.panel) is not None
        for weighting, name in product(weightings, CATEGORICAL):
            if name in coefficients:
                family = _family_of_panel(compared.panel, name, weighting, bounds)
                yield replace(family, draw=not has_few) if name == "cohen" else family
    else:
        between = SidesInterval(compared.sides, compared.panel.cluster, alpha, compared.panel.categories)
        for weighting, name in product(weightings, CATEGORICAL):
            if name in coefficients and name in BOTH_SIDES:
                yield _family_of_sides(name, weighting, between)
    if compared.other is None and compared.panel.numeric:
        yield from _families_of_values(compared.panel, coefficients, alpha)


def _family_of_one(
    name: str,
    weighting: Weighting,
    statistic: Callable[[Floats], Floats],
    bounds: Callable[[], BoundedEstimate],
) -> CoefficientFamily:
    return CoefficientFamily(
        ((name, weighting.name, np.nan),), lambda item_weights: statistic(item_weights)[:, None], bounds
    )


def _family_of_sides(name: str, weighting: Weighting, bounds: SidesInterval) -> CoefficientFamily:
    weights = weighting.of(name)
    statistic = partial(rater_pairs.paired_coefficient, bounds.sides, weights, kind=name)
    return _family_of_one(name, weighting, statistic, partial(bounds.of, weights, name))


def _family_of_panel(
    panel: RatingPanel, name: str, weighting: Weighting, bounds: PanelInterval
) -> CoefficientFamily:
    weights = weighting.of(name)
    statistic = coefficient_intervals.statistic_of(panel, weights, name)
    return _family_of_one(name, weighting, statistic, partial(bounds.of, weights, name))


def few_shared(panel: RatingPanel) -> float | None:
    """Median of the items that pairs of raters share, where it is small."""
    if panel.is_complete or panel.n_raters < 3:
        return None
    shared = float(np.median(panel.shared_items)) if len(panel.shared_items) else 0.0
    return shared if shared < FEW_SHARED else None


def _families_of_values(
    panel: RatingPanel, coefficients: Sequence[str], alpha: float
) -> Iterator[CoefficientFamily]:
    k = panel.usual_raters
    icc_names = [name for name in (*ONE_WAY, *TWO_WAY) if name in coefficients]
    if panel.is_complete:
        if icc_names:
            yield _complete_icc(panel, icc_names, alpha)
        if "kendall_w" in coefficients:
            yield CoefficientFamily(
                (("kendall_w", "", np.nan),), lambda item_weights: kendall_w(panel, item_weights)[:, None]
            )
    else:
        one_way_names = [name for name in ONE_WAY if name in coefficients]
        if one_way_names:
            yield CoefficientFamily(
                _keys(one_way_names, k),
                lambda item_weights: _single_and_average(
                    {"1": icc.one_way_icc(panel, item_weights)}, one_way_names, k
                ),
                pivots=_unless_clustered(
                    panel,
                    lambda draws, seed: _single_and_average(
                        {"1": icc.one_way_pivots(panel, draws, seed)}, one_way_names, k
                    ),
                ),
            )
        if "kendall_w" in coefficients:
            yield CoefficientFamily((("kendall_w", "", np.nan),), _missing_values)
    named = [
        name
        for name in (*TWO_WAY, *GENERAL)
        if name in coefficients and not (panel.is_complete and name in TWO_WAY)
    ]
    if named:
        yield _variance_family(panel, named)


def _unless_clustered(panel: RatingPanel, pivots: Pivots) -> Pivots | None:
    """Pivotal quantities of independent items; None where items are in clusters, which are then drawn."""
    return pivots if panel.n_clusters == panel.n_items else None


def _missing_values(item_weights: Floats) -> Floats:
    return np.full((len(item_weights), 1), np.nan)


def _keys(names: Sequence[str], k: float) -> tuple[tuple[str, str, float], ...]:
    return tuple((name, "", k if name.endswith("k") or name in GENERAL else 1.0) for name in names)


def _single_and_average(single: Mapping[str, Floats], names: Sequence[str], k: float) -> Floats:
    """Single and average coefficients by name, shape (b, m), from single ones by their number."""
    columns = [
        icc.average_icc(single[name[3]], k) if name.endswith("k") else single[name[3]] for name in names
    ]
    return np.stack(columns, axis=1)


def _complete_icc(panel: RatingPanel, names: Sequence[str], alpha: float) -> CoefficientFamily:
    k = panel.usual_raters

    def of(item_weights: Floats) -> Floats:
        single = icc.icc_from_mean_squares(icc.mean_squares(panel, item_weights))
        return _single_and_average(dict(zip("123", single.T, strict=True)), names, k)

    limits = _single_and_average(
        dict(zip("123", coefficient_intervals.of_icc(panel, alpha), strict=True)), names, k
    )
    return CoefficientFamily(_keys(names, k), of, limits=limits.T)


def _variance_family(panel: RatingPanel, names: Sequence[str]) -> CoefficientFamily:
    """Coefficients of incomplete designs and generalisability, from variances; these come along as well."""
    k = panel.usual_raters
    crossed = icc.is_crossed(panel)

    def of(variances: Floats) -> Floats:
        columns = []
        for name in names:
            absolute = name in ("icc2", "icc2k", "g_absolute")
            raters = k if name.endswith("k") or name in GENERAL else 1.0
            coefficient = icc.generalisability(variances, raters)[:, 1 if absolute else 0]
            columns.append(coefficient if crossed or name in GENERAL else np.full(len(coefficient), np.nan))
        return np.concatenate([np.stack(columns, axis=1), variances], axis=1)

    extra = tuple((name, "variance", np.nan) for name in VARIANCES)
    return CoefficientFamily(
        (*_keys(names, k), *extra),
        lambda item_weights: of(icc.reml_variances(panel, item_weights, crossed=crossed)),
        pivots=_unless_clustered(panel, lambda draws, seed: of(icc.variance_pivots(panel, draws, seed)))
        if crossed
        else None,
    )
