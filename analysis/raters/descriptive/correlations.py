"""Correlations between the mean human rating and each model, overall and within strata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import ndtr, stdtr

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.notes import Note, excluding
from ...frames.passport import coverage_notes, situation_of_ratings
from ...frames.vocabulary import CORRELATION_COEFFICIENTS as COEFFICIENTS
from ...frames.vocabulary import HUMAN
from ...numerics.bootstrap import FIXED_PEOPLE, few_clusters, intervals, notes_on_equal_draws
from ...numerics.significance import adjust_p_values, insert_adjusted_p_values
from ...numerics.types import Codes, Floats
from ...results import AnalysisStep, Result, analysis
from ..ratings import Judgments
from .mean_ratings import MeanRatings, columns_of, item_scores, one_of, stratum_names, with_categorical_keys

if TYPE_CHECKING:
    from ..rated_study import RatedStudy

CARRIED = 10  # items off the most frequent rating that an interval needs
FEWEST = 4  # pairs that a correlation with an interval needs
ATTENUATED = (
    "Means of people are over few raters: noise in these means attenuates every correlation; the "
    "hierarchical model corrects for it."
)


@any_frame
def correlations(
    judgments: Judgments,
    items: pd.DataFrame | None = None,
    *,
    by: str | Sequence[str] = (),
    coefficients: str | Sequence[str] = COEFFICIENTS,
    dimensions: str | Sequence[str] | None = None,
    cluster: str | None = None,
    scale: Sequence[float] | None = None,
    alpha: float = 0.05,
    draws: int = 1000,
    seed: int = 1,
) -> Result:
    """Correlate the mean rating by people with the rating by each model.

    Parameters
    ----------
    judgments, items
        As in :func:`means`.
    by : str or sequence of str
        Columns whose combinations of levels are strata, after the rows of all items.
    coefficients : str or sequence of str
        Any of "pearson", "spearman", "kendall" (tau-b).
    dimensions, cluster, scale, alpha, draws, seed
        As in :func:`means`.

    Returns
    -------
    Result
        ``dimension, judge, *by, coefficient, estimate, std_error, lower, upper, p_t, p, p_holm, p_bh,
        n_items, n_clusters, rests_on``. ``rests_on`` counts the items off the most frequent rating, on the
        side that has fewer: below 10 there is an estimate, but no error. ``p_t`` treats items as independent,
        as packages print it; ``p`` and the interval rest on the cluster bootstrap (clusters drawn with
        replacement, ranks taken anew in each draw, normal on Fisher's scale). ``p_holm`` and ``p_bh`` adjust
        ``p`` over all rows of the same
        coefficient. ``extra["differences"]`` (``dimension, left, right, estimate, std_error, lower, upper, p,
        p_adjusted``) compares each two models over all items, by the first coefficient: ``left`` minus
        ``right``, with the same draws for both, and p adjusted by Holm's procedure within a dimension.

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": ["ann"] * 5 + ["gpt"] * 5, "judge_kind": ["human"] * 5 + ["model"]
    ...     * 5, "item_id": list("abcde") * 2, "value": [0, 1, 2, 3, 4, 1, 0, 2, 4, 3]})
    >>> found = correlations(table, draws=50)
    >>> found.frame[["coefficient", "estimate"]].round(3).values.tolist()
    [['pearson', 0.8], ['spearman', 0.8], ['kendall', 0.6]]
    """
    by = names_of(by)
    kinds = [one_of(kind, COEFFICIENTS, "coefficient") for kind in names_of(coefficients)]
    scores = item_scores(
        judgments,
        items,
        by,
        dimensions=dimensions,
        cluster=cluster,
        scale=scale,
        resampling=(alpha, draws, seed),
    )
    weights = scores.weights(draws, seed)
    strata = scores.overall_and_cells(by)
    rows, replicates, quantities, n_excluded = [], [], [], 0
    overall: dict[str, dict[str, Floats]] = {dimension: {} for dimension in scores.dimensions}
    for dimension in scores.dimensions:
        for judge in scores.models:
            for level, inside in strata:
                people, model, mask = _pairs(scores, dimension, judge, inside)
                if len(people) < FEWEST:
                    n_excluded += 1
                    continue
                cells = cells_of(people, model, scores.cluster[mask], scores.n_clusters)
                situation = situation_of_ratings(model, scores.cluster[mask])
                for kind in kinds:
                    values = correlation(kind, cells, weights)
                    rows.append(
                        {"dimension": dimension, "judge": judge, **stratum_names(by, level)}
                        | {
                            "coefficient": kind,
                            "p_t": float(t_test(kind, values[0], np.array(len(people)), people, model)),
                            "n_items": len(people),
                            "n_clusters": scores.clusters_in(mask),
                            "rests_on": rests_on(people, model),
                        }
                    )
                    replicates.append(values)
                    if kind == kinds[0] and inside is strata[0][1]:
                        overall[dimension][judge] = values
                    quantities.append(
                        (
                            f"quality a {kind}",
                            Note.of("{metric} of {judge}", metric=kind, judge=judge),
                            situation,
                        )
                    )
    if not replicates:
        raise InputError(
            f"judgments: a correlation needs at least {FEWEST} items rated by people and by a model; collect "
            "more."
        )
    keys = ["dimension", "judge", *by, "coefficient"]
    columns = [*keys, "p_t", "n_items", "n_clusters", "rests_on"]
    frame = _table(pd.DataFrame(rows, columns=columns), replicates, keys, alpha)
    notes = [ATTENUATED, FIXED_PEOPLE, *scores.notes, *_undefined(frame), *_unsure(frame)]
    notes += few_clusters(frame["n_clusters"], draws, scores.cluster) + notes_on_equal_draws(
        frame.pop("alike") & (frame["rests_on"] >= CARRIED)
    )
    notes += coverage_notes("correlations", quantities, alpha) if draws else []
    if n_excluded:
        text = "{n:,} strata with fewer than {fewest} items rated by both are excluded."
        notes.append(excluding(text, n=n_excluded, fewest=FEWEST))
    settings = {
        "by": by, "coefficients": kinds, "cluster": cluster, "alpha": alpha, "draws": draws,
        "seed": seed, "family": "all rows of a coefficient",
    }  # fmt: skip
    extra = {"differences": _differences(overall, scores.n_clusters, alpha)}
    return Result(frame, "correlations", tuple(notes), settings, extra)


def _differences(values: Mapping[str, Mapping[str, Floats]], n_clusters: int, alpha: float) -> pd.DataFrame:
    """Differences of the correlations of each two models, whose estimate and draws are given by dimension."""
    parts = []
    for dimension, by_judge in values.items():
        pairs = list(combinations(by_judge, 2))
        if not pairs:
            continue
        draws = np.stack([by_judge[first] - by_judge[second] for first, second in pairs], axis=1)
        estimates = intervals(draws, alpha, clusters=n_clusters)
        p = np.asarray(estimates.p, dtype=float)
        p_adjusted = adjust_p_values(p, "holm")
        named = pd.DataFrame(pairs, columns=["left", "right"]).assign(dimension=dimension)
        parts.append(named.assign(**columns_of(estimates), p=p, p_adjusted=p_adjusted))
    columns = ["dimension", "left", "right", "estimate", "std_error", "lower", "upper", "p", "p_adjusted"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def rests_on(people: Floats, model: Floats) -> int:
    """How many of n items differ from the most frequent value, on the side where these are fewer."""
    return min(len(side) - int(np.unique(side, return_counts=True)[1].max()) for side in (people, model))


def _pairs(
    scores: MeanRatings, dimension: str, judge: str, inside: np.ndarray
) -> tuple[Floats, Floats, np.ndarray]:
    """Ratings by people and by a model of the items that both rated, and which items these are."""
    people, model = scores.of(dimension, HUMAN), scores.of(dimension, judge)
    mask = inside & np.isfinite(people) & np.isfinite(model)
    return people[mask], model[mask], mask


def _table(keys: pd.DataFrame, replicates: list[Floats], names: list[str], alpha: float) -> pd.DataFrame:
    n_clusters = keys["n_clusters"].to_numpy(dtype=np.int64)
    estimates = intervals(np.stack(replicates, axis=1), alpha, correlation=True, clusters=n_clusters)
    counts = ["n_items", "n_clusters", "rests_on"]
    frame = keys[names].assign(**columns_of(estimates), p_t=keys["p_t"], p=estimates.p, alike=estimates.alike)
    frame.loc[keys["rests_on"].to_numpy(dtype=float) < CARRIED, ["std_error", "lower", "upper", "p"]] = np.nan
    for method in ("bh", "holm"):
        frame = insert_adjusted_p_values(frame, ["coefficient"], method, f"p_{method}")
    frame[counts] = keys[counts]
    return with_categorical_keys(frame, names)


def _unsure(frame: pd.DataFrame) -> list[str]:
    unsure = int((frame["estimate"].notna() & (frame["rests_on"] < CARRIED)).sum())
    return (
        [
            f"{unsure:,} correlations have no interval: fewer than {CARRIED} items differ from the rating "
            "that is most frequent, too few for a bootstrap interval."
        ]
        if unsure
        else []
    )


def _undefined(frame: pd.DataFrame) -> list[str]:
    constant = int(frame["estimate"].isna().sum())
    return (
        [f"{constant:,} correlations are not defined, since one of the two variables is constant."]
        if constant
        else []
    )


@dataclass(frozen=True)
class ValuePairs:
    """n pairs in m cells of equal values, by cluster."""

    x: Floats  # shape (m,): values of a cell
    y: Floats  # shape (m,)
    counts: sparse.csr_array  # shape (C, m): pairs of each of C clusters in each cell


def cells_of(
    x: Floats, y: Floats, cluster: Codes, n_clusters: int, weight: Floats | None = None
) -> ValuePairs:
    """Gather pairs, shape (n,), of clusters numbered 0 to ``n_clusters`` - 1 into cells."""
    pairs, cell = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    entries = (np.ones(len(x)) if weight is None else weight, (cluster, cell.reshape(-1)))
    return ValuePairs(
        pairs[:, 0], pairs[:, 1], sparse.coo_array(entries, shape=(n_clusters, len(pairs))).tocsr()
    )


def correlation(kind: str, cells: ValuePairs, weights: Floats) -> Floats:
    """Correlate for each weighting of the clusters."""
    if kind == "kendall":
        return _kendall(cells, weights)
    mass = np.asarray(weights @ cells.counts)
    if kind == "spearman":
        return _pearson(_midranks(cells.x, mass), _midranks(cells.y, mass), mass)
    return _pearson(cells.x[None], cells.y[None], mass)


def t_test(kind: str, r: Floats, n: Floats, x: Floats | None = None, y: Floats | None = None) -> Floats:
    """P values of correlations of n independent pairs against zero, shape of ``r``."""
    # Kendall's tau has a normal approximation with ties, which needs the pairs.
    if kind == "kendall":
        if x is None or y is None:
            return np.full_like(r, np.nan)
        return _kendall_p(r, x, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = r * np.sqrt((n - 2) / (1 - r**2))
    return np.where(n > 2, 2 * stdtr(np.maximum(n - 2, 1), -np.abs(t)), np.nan)


def _kendall_p(tau: Floats, x: Floats, y: Floats) -> Floats:
    """P values of tau-b of n pairs with ties (Kendall 1970, Rank Correlation Methods), shape of ``tau``."""
    n = float(len(x))
    ordered = n * (n - 1)
    ties = [np.unique(values, return_counts=True)[1].astype(float) for values in (x, y)]
    tied, threes, fives = (
        [float((t * (t - 1) * factor(t)).sum()) for t in ties]
        for factor in (lambda _: 0.5, lambda t: t - 2, lambda t: 2 * t + 5)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (ordered * (2 * n + 5) - sum(fives)) / 18 + 2 * tied[0] * tied[1] / np.float64(ordered)
        variance += np.float64(threes[0] * threes[1]) / (9 * ordered * (n - 2))
        concordant = tau * np.sqrt((ordered / 2 - tied[0]) * (ordered / 2 - tied[1]))
        return np.asarray(2 * ndtr(-np.abs(concordant) / np.sqrt(variance)))


def _pearson(x: Floats, y: Floats, mass: Floats) -> Floats:
    total = mass.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        dx = x - (mass * x).sum(axis=1, keepdims=True) / total
        dy = y - (mass * y).sum(axis=1, keepdims=True) / total
        xx, yy = (mass * dx**2).sum(axis=1), (mass * dy**2).sum(axis=1)
        r = (mass * dx * dy).sum(axis=1) / np.sqrt(xx * yy)
    least = [(1e-10 * np.abs(values).max(axis=1, initial=0)) ** 2 * total[:, 0] for values in (x, y)]
    flat = (xx <= least[0]) | (yy <= least[1])
    return np.where(flat, np.nan, np.clip(r, -1, 1))


def _midranks(values: Floats, mass: Floats) -> Floats:
    """Mid-ranks of the cells, shape (B, m), when cell j stands for ``mass[:, j]`` items."""
    levels, level = np.unique(values, return_inverse=True)
    at = sparse.coo_array(
        (np.ones(len(values)), (np.arange(len(values)), level)), shape=(len(values), len(levels))
    )
    level_mass = np.asarray(mass @ at.tocsr())
    return (level_mass.cumsum(axis=1) - level_mass / 2)[:, level]


def _kendall(cells: ValuePairs, weights: Floats) -> Floats:
    sign_x = np.sign(np.subtract.outer(cells.x, cells.x))
    sign_y = np.sign(np.subtract.outer(cells.y, cells.y))
    concordant, apart_x, apart_y = (
        _quadratic(form, cells.counts, weights) for form in (sign_x * sign_y, sign_x**2, sign_y**2)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((apart_x > 0) & (apart_y > 0), concordant / np.sqrt(apart_x * apart_y), np.nan)


def _quadratic(form: Floats, counts: sparse.csr_array, weights: Floats) -> Floats:
    """Sums over all pairs of items of ``form`` of their cells, weighted, shape (B,)."""
    if form.shape[0] > counts.shape[0]:
        between = np.asarray(counts @ (counts @ form).T)
        return np.asarray(((weights @ between) * weights).sum(axis=1))
    mass = np.asarray(weights @ counts)
    return np.asarray(((mass @ form) * mass).sum(axis=1))


@analysis("raters", order=30, when=lambda rated: rated.has_scales and rated.has_both_kinds)
def _steps(rated: RatedStudy, options: Mapping[str, Any]) -> Iterator[AnalysisStep]:
    settings = {"by": rated.strata[:1], **rated.common_options, **options}
    call = partial(correlations, rated.coded, rated.items, **settings)
    yield AnalysisStep("correlations", "Correlation of each model with people", call)
