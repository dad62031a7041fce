"""Estimators of the rates of classes, on codes: naive, human, Rogan-Gladen, efficient, maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import listed

from ..figures.labels import p_text
from ..numerics.bootstrap import unequal_clusters
from ..numerics.intervals import SAME, SHARE, cut, inference, jeffreys, level_of_t
from ..numerics.rating_panel import RowClusters
from ..numerics.types import Codes, Floats
from .selection import SELECTED, selection_p

_STEPS, _CHANGE = 20_000, 1e-10  # of the EM algorithm
_FEW = 5  # labelled units of a class, below which Rogan-Gladen rates are unreliable
# Singular value of the contrasts between classes, below which the judge does not distinguish them.
_SINGULAR = 1e-8
_OUTSIDE = 1e-9  # rates below 0 by less are rounding


@dataclass(frozen=True)
class RateUnits:
    """n units of one group, with K classes, of which m are labelled, and the J categories of a judge."""

    labels: Floats  # (n, K): share of a unit's labels by people in each class, 0 where they gave none
    judged: Codes  # (n,): category of the judge
    cluster: RowClusters  # of units
    classes: tuple[str, ...]
    categories: tuple[str, ...]  # the classes first

    @property
    def labelled(self) -> np.ndarray:
        """Whether people labelled each unit, shape (n,)."""
        return np.asarray(self.labels.any(axis=1))

    @property
    def counts(self) -> Floats:
        """Labelled units by category of the judge and class, shape (J, K)."""
        return np.asarray(self.given(self.labelled).T @ self.labels[self.labelled])

    @property
    def shares(self) -> Floats:
        """Share of all units in each category of the judge, shape (J,)."""
        return np.asarray(np.bincount(self.judged, minlength=len(self.categories)) / len(self.judged))

    def given(self, rows: np.ndarray) -> Floats:
        """Indicators of the judge's categories for some units, shape (rows, J)."""
        return np.asarray(np.eye(len(self.categories))[self.judged[rows]])

    def clusters_in(self, rows: np.ndarray) -> int:
        """Clusters of some units, given as flags (n,)."""
        return len(np.unique(self.cluster.code[rows]))

    def level(self, rows: np.ndarray, alpha: float) -> float:
        """The alpha of normal limits that are as wide as Student's t between the clusters of some rows."""
        return alpha if self.cluster.is_rows else float(level_of_t(self.clusters_in(rows) - 1.0, alpha))

    def inflation(self, influence: Floats, rows: np.ndarray) -> Floats:
        """How many times the variance of independent units the clusters have, at least 1, shape (K,)."""
        # Where no unit has any influence, all units of a cluster are taken as one.
        alike = rows.sum() / self.clusters_in(rows)
        independent = (influence**2).sum(axis=0)
        ratio = np.full(influence.shape[1], alike)
        np.divide(self.error(influence) ** 2, independent, out=ratio, where=independent > SAME**2)
        return np.asarray(np.maximum(ratio, 1.0))

    def error(self, influence: Floats) -> Floats:
        """Standard errors, shape (K,), from the influence of each unit, shape (n, K)."""
        if self.cluster.is_rows:
            return np.asarray(np.sqrt((influence**2).sum(axis=0)))
        return self.cluster.errors(influence)


@dataclass(frozen=True)
class Rates:
    """Rates of K classes."""

    # estimate, std_error, lower, upper: (K,)
    estimate: Floats
    std_error: Floats
    lower: Floats
    upper: Floats


def all_rates(units: RateUnits, alpha: float) -> tuple[dict[str, Rates], pd.DataFrame, list[str]]:
    """Rates by every method, with the informedness of the judge, and what to note."""
    unlabelled, size = ~units.labelled, len(units.classes)
    judge_labels = units.given(unlabelled)[:, :size]
    human_labels = units.labels[units.labelled]
    informedness, notes = _informedness(units, alpha)
    corrected, more = _rogan_gladen(units, alpha)
    rates = {
        "naive": _share(units, judge_labels, unlabelled, alpha),
        "human": _share(units, human_labels, units.labelled, alpha),
        "rogan_gladen": corrected,
        "efficient": _efficient(units, alpha),
    }
    rates["mle"], lacking = _double_sampling(units, alpha)
    if not units.cluster.is_rows and units.clusters_in(units.labelled) < 2:
        notes.append("All labelled units are in one cluster, so corrected rates have no interval.")
    notes += unequal_clusters(units.cluster.code[units.labelled], "Labelled units: ")
    return rates, informedness, [*notes, *more, *lacking, *_selection_notes(units)]


def _selection_notes(units: RateUnits) -> list[str]:
    """A note where the judge labels units with a human label otherwise than others."""
    p = selection_p(units.given(np.ones(len(units.judged), dtype=bool)), units.labelled, units.cluster)
    if p >= SELECTED:
        return []
    return [
        f"The judge's labels differ between units with and without a human label (p {p_text(p)}), so "
        "labelled units are no random sample of all: human and efficient rates are biased. Maximum "
        "likelihood rates hold if labels are random among units to which the judge gives the same label, and "
        "Rogan-Gladen rates if they are random among units of the same class (label shift)."
    ]


def confusion(units: RateUnits) -> pd.DataFrame:
    """Labelled units by class and the judge's category, and their shares of the class."""
    counts = units.counts
    with np.errstate(invalid="ignore"):
        share = counts / counts.sum(axis=0)
    return pd.DataFrame(
        {
            "gold": np.repeat(units.classes, len(units.categories)),
            "judged": np.tile(units.categories, len(units.classes)),
            "n": counts.T.ravel() if (counts % 1).any() else counts.T.ravel().astype(int),
            "share": share.T.ravel(),
        }
    )


def _informedness(units: RateUnits, alpha: float) -> tuple[pd.DataFrame, list[str]]:
    """Sensitivity plus specificity minus 1 of each class, and a note where it is hardly above 0."""
    counts, size = units.counts, len(units.classes)
    of_class = counts.sum(axis=0)
    hits, total = np.diag(counts[:size]), counts.sum()
    false = counts[:size].sum(axis=1) - hits
    with np.errstate(divide="ignore", invalid="ignore"):
        true_rate, false_rate = hits / of_class, false / (total - of_class)
        error = np.sqrt(
            true_rate * (1 - true_rate) / of_class + false_rate * (1 - false_rate) / (total - of_class)
        )
    estimate = true_rate - false_rate
    table = pd.DataFrame({"class": units.classes, "estimate": estimate, "std_error": _missing_if_zero(error)})
    least, most = jeffreys(hits, of_class, alpha)[0], jeffreys(false, total - of_class, alpha)[1]
    weak = estimate - np.hypot(true_rate - least, most - false_rate) <= 0
    if not weak.any():
        return table, []
    named = ", ".join(
        f"{name} {value:.2f}"
        for name, value in zip(np.array(units.classes)[weak], estimate[weak], strict=True)
    )
    return table, [
        f"Sensitivity plus specificity minus 1 is not clearly above 0 ({named}): the judge is hardly better "
        "than chance, so Rogan-Gladen rates are unstable. Use the other rates, or label more units."
    ]


def _share(units: RateUnits, indicators: Floats, rows: np.ndarray, alpha: float) -> Rates:
    """Shares of indicators, shape (rows, K), with Jeffreys' intervals for the effective number of units."""
    estimate = indicators.mean(axis=0)
    influence = np.zeros((len(rows), indicators.shape[1]))
    influence[rows] = (indicators - estimate) / rows.sum()
    trials = rows.sum() / units.inflation(influence, rows)
    lower, upper = jeffreys(estimate * trials, trials, units.level(rows, alpha))
    return Rates(estimate, _missing_if_zero(units.error(influence)), lower, upper)


def _missing_if_zero(error: Floats) -> Floats:
    """Standard errors, missing where units show no variation: a plug-in value of 0 is no precision."""
    return np.where(error > SAME, error, np.nan)


def _stratified_rates(
    units: RateUnits, counts: Floats, share: Floats, estimate: Floats, influence: Floats, alpha: float
) -> Rates:
    """Rates with limits from the labelled units in each category of the judge."""
    # Limits are at the root of the summed squared distances of Jeffreys' limits of each category's share
    # (Zou, Huang & Zhang 2009, doi:10.1016/j.csda.2008.09.033), so that unseen events remain possible.
    level, inflation = units.level(units.labelled, alpha), units.inflation(influence, units.labelled)
    trials = np.repeat(counts.sum(axis=1)[:, None], counts.shape[1], axis=1)
    within = np.divide(counts, trials, out=np.full_like(counts, 0.5), where=trials > 0)
    low, high = jeffreys(counts / inflation, trials / inflation, level)
    likely = (counts + 0.5) / (trials + 1.0)
    spread = share @ likely**2 - (share @ likely) ** 2  # between categories, whose shares are estimated, too
    between = float(ndtri(level / 2)) ** 2 * inflation * np.maximum(spread, 0.0) / len(units.judged)
    down = np.sqrt(share**2 @ (within - low) ** 2 + between)
    up = np.sqrt(share**2 @ (high - within) ** 2 + between)
    lower, upper = cut(estimate - down, estimate + up, estimate, SHARE)
    return Rates(estimate, _missing_if_zero(units.error(influence)), lower, upper)


def _rogan_gladen(units: RateUnits, alpha: float) -> tuple[Rates, list[str]]:
    """Rates that solve p = C pi, by least squares where the judge has more categories than classes."""
    counts, size = units.counts, len(units.classes)
    of_class, unlabelled = counts.sum(axis=0), ~units.labelled
    none = np.full(size, np.nan)
    if (of_class == 0).any():
        lacking = listed(np.array(units.classes)[of_class == 0].tolist())
        note = (
            f"People gave no unit the label {lacking}, so Rogan-Gladen rates are missing; label such units."
        )
        return Rates(none, none, none, none), [note]
    notes = [
        f"People gave the label {units.classes[place]} to {of_class[place]:.3g} units. Rogan-Gladen "
        f"intervals with fewer than {_FEW} such units covered 88 to 98% in simulations of 95% intervals; "
        "label more."
        for place in np.flatnonzero(of_class < _FEW)
    ]
    rate = counts / of_class
    judge_shares = units.given(unlabelled).mean(axis=0)
    contrast = rate[:, :-1] - rate[:, -1:]
    spread = np.linalg.svd(contrast, compute_uv=False)
    if spread[-1] < _SINGULAR:
        note = "The judge's labels do not distinguish the classes, so Rogan-Gladen rates are missing."
        return Rates(none, none, none, none), [note]
    weight = 1 / np.maximum(judge_shares + rate.mean(axis=1), 1 / len(unlabelled))
    solver = np.linalg.solve(contrast.T @ (contrast * weight[:, None]), contrast.T * weight)
    first = solver @ (judge_shares - rate[:, -1])
    estimate = np.append(first, 1 - first.sum())
    transform = np.vstack([solver, -solver.sum(axis=0)])
    labelled = units.labelled
    deviation = np.zeros((len(unlabelled), len(units.categories)))
    deviation[unlabelled] = (units.given(unlabelled) - judge_shares) / unlabelled.sum()
    scaled = units.labels[labelled] * (estimate / of_class)
    deviation[labelled] = scaled @ rate.T - units.given(labelled) * scaled.sum(axis=1, keepdims=True)
    influence = deviation @ transform.T
    error = units.error(influence)
    smooth = _smoothed_variance(counts, judge_shares, int(unlabelled.sum()), transform, estimate, alpha)
    spread_out = np.sqrt(np.maximum(error**2, smooth * units.inflation(influence, labelled)))
    df = None if units.cluster.is_rows else np.full(size, units.clusters_in(labelled) - 1.0)
    interval = inference(estimate, spread_out, alpha, df=df)
    lower, upper = np.clip(interval.lower, 0, 1), np.clip(interval.upper, 0, 1)
    if size == 2 and len(units.categories) == 2 and units.cluster.is_rows:
        limits = lee_interval(
            judge_shares[0], rate[1, 1], rate[0, 0], int(unlabelled.sum()), *of_class[::-1], alpha=alpha
        )
        lower, upper = np.array([limits[0], 1 - limits[1]]), np.array([limits[1], 1 - limits[0]])
    if (estimate > -_OUTSIDE).all():
        return Rates(np.clip(estimate, 0, 1), _missing_if_zero(error), lower, upper), notes
    inside = _maximum_likelihood_rates(counts, units.given(unlabelled).sum(axis=0))
    named = ", ".join(f"{name} {value:.3f}" for name, value in zip(units.classes, estimate, strict=True))
    note = (
        f"Rogan-Gladen rates leave 0 to 1 ({named}); they are replaced by those of maximum likelihood within "
        "these limits, and their intervals are those of the Rogan-Gladen rates, truncated at 0 and 1."
    )
    return Rates(inside, _missing_if_zero(error), np.minimum(lower, inside), np.maximum(upper, inside)), [
        *notes,
        note,
    ]


def _smoothed_variance(
    counts: Floats, rates: Floats, n: int, solver: Floats, rate: Floats, alpha: float
) -> Floats:
    """Variances (K,) of Rogan-Gladen rates with pseudo-counts as in `lee_interval`, for any K classes."""
    pseudo, categories = float(ndtri(alpha / 2)) ** 2, len(counts)

    def of_share(share: Floats, trials: float) -> Floats:
        return np.asarray((solver**2 @ share - (solver @ share) ** 2) / trials)

    total = of_share((n * rates + pseudo / categories) / (n + pseudo), n + pseudo)
    for column, of_class, weight in zip(counts.T, counts.sum(axis=0), rate, strict=True):
        total = total + weight**2 * of_share((column + 2 / categories) / (of_class + 2), of_class + 2)
    return total


def lee_interval(
    judged: float, specificity: float, sensitivity: float, n: int, n_negative: float, n_positive: float,
    *, alpha: float = 0.05,
) -> tuple[float, float]:  # fmt: skip
    """Limits of a Rogan-Gladen rate by Lee et al. (2025): pseudo-counts, and a shift of the centre."""
    z = float(ndtri(1 - alpha / 2))
    p = (n * judged + z**2 / 2) / (n + z**2)
    q0 = (n_negative * specificity + 1) / (n_negative + 2)
    q1 = (n_positive * sensitivity + 1) / (n_positive + 2)
    n0, n1 = n_negative + 2, n_positive + 2
    rate = (p + q0 - 1) / (q0 + q1 - 1)
    of_negative, of_positive = q0 * (1 - q0) / n0, q1 * (1 - q1) / n1
    shift = 2 * z**2 * (rate * of_positive - (1 - rate) * of_negative)
    variance = p * (1 - p) / (n + z**2) + (1 - rate) ** 2 * of_negative + rate**2 * of_positive
    half = z * sqrt(variance) / abs(q0 + q1 - 1)
    return min(max(rate + shift - half, 0.0), 1.0), min(max(rate + shift + half, 0.0), 1.0)


def _maximum_likelihood_rates(counts: Floats, unlabelled_counts: Floats) -> Floats:
    """Maximum likelihood rates (K,) of unlabelled units, from labelled counts (J, K) and others, by EM."""
    rate, share = counts / counts.sum(axis=0), np.full(counts.shape[1], 1 / counts.shape[1])
    for _ in range(_STEPS):
        joint = rate * share
        total = joint.sum(axis=1, keepdims=True)
        expected = (
            np.divide(joint, total, out=np.zeros_like(joint), where=total > 0) * unlabelled_counts[:, None]
        )
        before, share = share, expected.sum(axis=0) / expected.sum()
        rate = (counts + expected) / (counts + expected).sum(axis=0)
        if np.abs(share - before).max() < _CHANGE:
            break
    return share


def _efficient(units: RateUnits, alpha: float) -> Rates:
    """Human rates, corrected by the judge's labels with the weights of least variance."""
    # The judge's labels spread as among all units, unless a rate then leaves 0 to 1 (as where labelled units
    # contain most of a rare class): then as among labelled ones, which makes every rate an average of shares.
    labelled, unlabelled = units.labelled, ~units.labelled
    human_labels, judge_labels = units.labels[labelled], units.given(np.ones_like(unlabelled))
    on_labelled, on_unlabelled = judge_labels[labelled], judge_labels[unlabelled]
    covariance = (
        (human_labels - human_labels.mean(axis=0)).T
        @ (on_labelled - on_labelled.mean(axis=0))
        / labelled.sum()
    )
    for spread in (np.cov(judge_labels.T), np.cov(on_labelled.T, ddof=0)):
        weight = covariance @ np.linalg.pinv(spread, hermitian=True) * unlabelled.mean()
        estimate = human_labels.mean(axis=0) + weight @ (
            on_unlabelled.mean(axis=0) - on_labelled.mean(axis=0)
        )
        if (estimate >= -SAME).all() and (estimate <= 1 + SAME).all():
            break
    influence = np.zeros((len(unlabelled), len(units.classes)))
    influence[labelled] = (
        human_labels - human_labels.mean(axis=0) - (on_labelled - on_labelled.mean(axis=0)) @ weight.T
    ) / labelled.sum()
    influence[unlabelled] = (on_unlabelled - on_unlabelled.mean(axis=0)) @ weight.T / unlabelled.sum()
    counts, share = units.counts, units.shares
    lacks_labels = (counts.sum(axis=1) == 0) & (share > 0)
    if lacks_labels.any():  # labelled units are a random sample of any union of categories
        share[counts.sum(axis=1).argmax()] += share[lacks_labels].sum()
    return _stratified_rates(units, counts[~lacks_labels], share[~lacks_labels], estimate, influence, alpha)


def _double_sampling(units: RateUnits, alpha: float) -> tuple[Rates, list[str]]:
    """Maximum likelihood rates where labelled units are a random sample within each category of the judge."""
    counts, size = units.counts, len(units.classes)
    of_category = counts.sum(axis=1)
    share = units.shares
    if (lacks_labels := (of_category == 0) & (share > 0)).any():
        none, named = np.full(size, np.nan), listed(np.array(units.categories)[lacks_labels].tolist())
        note = (
            f"No unit that the judge labels {named} has a human label, so maximum likelihood rates are "
            "missing; label such units."
        )
        return Rates(none, none, none, none), [note]
    truth = np.divide(counts, of_category[:, None], out=np.zeros_like(counts), where=of_category[:, None] > 0)
    estimate = share @ truth
    influence = (truth[units.judged] - estimate) / len(units.judged)
    mine = units.judged[units.labelled]
    scale = (share / np.maximum(of_category, 1))[mine]
    influence[units.labelled] += (units.labels[units.labelled] - truth[mine]) * scale[:, None]
    return _stratified_rates(units, counts, share, estimate, influence, alpha), []
