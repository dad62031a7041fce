"""The truth of simulated ratings: parameters, exact moments that follow from them, the people drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from ...study.models import ItemStudy
from ..truth_table import Floats
from .rating_draws import Rater, RaterTraits, RatingTruth

QUALITY, REST, DISCRIMINATION = 31, 21, 5  # nodes: moments are exact to 1e-4 or better


@dataclass(frozen=True)
class RatingCurve:
    """What a judge's rating is expected to be, given the quality of the item."""

    weight: Floats  # shape (Q,): of each of Q points of quality
    # mean, variance: shape (C, Q): Of one rating, counted from 0, in each of C cells (modality by type) at
    # each point.
    mean: Floats
    variance: Floats

    def overall(self, raters: int = 1) -> tuple[Floats, Floats]:
        """Mean and variance over items, each of shape (C,), of the mean rating of so many raters."""
        mean = self.mean @ self.weight
        between = (self.mean - mean[:, None]) ** 2 @ self.weight
        return mean, between + (self.variance @ self.weight) / raters


def cell_means(rater: Rater, dimension: int) -> Floats:
    """Mean latent values by cell, shape (M * T,), types varying fastest."""
    return np.asarray((rater.shift[dimension][:, None] + rater.mean[dimension][None]).reshape(-1))


def expected_curve(rater: Rater, panel: Rater, dimension: int) -> RatingCurve:
    """Ratings of a panel's person, or of a model, on one dimension, as a function of quality."""
    point, weight = _normal_quadrature(QUALITY)
    residual, residual_weight = _normal_quadrature(REST)
    mean = cell_means(rater, dimension)
    modalities = len(mean) // rater.mean.shape[1]
    if rater.kind == "human":
        scale, scale_weight = _normal_quadrature(DISCRIMINATION)
        factor = np.exp(rater.discrimination_sd * scale)
        slope = np.tile(rater.item_sd[dimension], modalities)
        residual_sd = np.hypot(rater.halo_sd, rater.severity_sd[dimension])
    else:
        factor, scale_weight = np.ones(1), np.ones(1)
        slope = np.tile(rater.slope(panel)[dimension] * panel.item_sd[dimension], modalities)
        residual_sd = rater.own_sd[dimension]
    centre = mean[:, None] + slope[:, None] * point[None]
    value = centre[:, :, None, None] * factor[:, None] + residual_sd * residual
    above = np.stack([expit(value - cut) for cut in rater.threshold[dimension]])
    chance = np.einsum("kcqar,a,r->kcq", above, scale_weight, residual_weight)
    times = 2 * np.arange(1, len(chance) + 1) - 1
    first, second = chance.sum(axis=0), np.einsum("k,kcq->cq", times, chance)
    return RatingCurve(weight, first, np.maximum(second - first**2, 0.0))


def mixed_moments(weight: Floats, mean: Floats, variance: Floats) -> tuple[float, float]:
    """Mean and variance over cells with weights, from those of each cell; all of shape (C,)."""
    centre = float(weight @ mean)
    return centre, float(weight @ (variance + (mean - centre) ** 2))


def raw_correlation(people: RatingCurve, model: RatingCurve, weight: Floats, raters: int) -> float:
    """Pearson correlation over items of the mean rating of so many people with a model's rating."""
    # `weight` contains the share of items in each cell, shape (C,).
    human_mean, human_variance = people.overall(raters)
    model_mean, model_variance = model.overall()
    joint = (people.mean * model.mean) @ people.weight
    centre, spread = mixed_moments(weight, human_mean, human_variance)
    model_centre, model_spread = mixed_moments(weight, model_mean, model_variance)
    covariance = float(weight @ joint) - centre * model_centre
    scale = float(np.sqrt(spread * model_spread))
    return covariance / scale if scale > 0 else float("nan")


def _normal_quadrature(nodes: int) -> tuple[Floats, Floats]:
    """Points and weights of a standard normal distribution."""
    point, weight = np.polynomial.hermite_e.hermegauss(nodes)
    return point, weight / weight.sum()


Row = tuple[str, str, str, str, str, float]

COLUMNS = ["quantity", "judge", "dimension", "other", "response_type", "value"]
LOGISTIC = np.pi**2 / 3  # variance of the noise of one rating


def true_ratings(
    study: ItemStudy,
    truth: RatingTruth,
    judges: Sequence[str],
    share: Floats,
    people: tuple[Sequence[str], RaterTraits] | None = None,
) -> pd.DataFrame:
    """Compute what analyses of simulated ratings should find.

    Latent values are on the logit scale of one rating. "Quality" is the latent value that people agree
    on, their consensus.

    Parameters
    ----------
    study : ItemStudy
        A study of items with scales and an assignment.
    truth : RatingTruth
        The truth table, from `read_rating_truth`.
    judges : sequence of str
        Judges in the table.
    share : ndarray, shape (M, T)
        Share of items in each modality and type.
    people : tuple of (sequence of str, RaterTraits), optional
        Names and parameters of the people drawn.

    Returns
    -------
    DataFrame
        ``quantity, judge, dimension, other, response_type, value``; ``response_type`` is empty for all items.

        Of everybody: ``mean`` (latent, by type), ``modality_shift`` (``other``: the modality), ``threshold``
        (``other``: the rating that begins there), ``item_sd`` (latent, within types, by type),
        ``topic_share``, ``expected_rating`` and ``rating_sd`` (of the mean rating of an item by the people
        who share it, of one rating for a model; by type, and of all items), ``dimension_correlation`` and
        ``dimension_correlation_within`` (latent, ``other``: the second dimension; of all items, and within
        type and modality), ``latent_correlation_rating`` and ``latent_correlation_rating_within`` (of
        quality with what stands behind one rating, noise included, by a model or by a person of average
        discrimination, whose halo is noise; of all items, and pooled within types and modalities).

        Of the panel: ``severity_sd``, ``severity_correlation``, ``discrimination_sd``, ``halo_sd``,
        ``reliability`` (of the mean rating of an item by its people: share of its variance that is due to
        quality; by type, and of all items); of each person ``severity`` and ``discrimination``.

        Of models: ``slope`` on quality, ``own_sd`` (of its errors, which quality does not explain),
        ``error_correlation`` (of these with another model's, ``other``, on the same item),
        ``latent_correlation`` with quality (of all items, and by type) and ``latent_correlation_within``
        (pooled over types and modalities), ``type_effect`` (what a type gains beyond its quality, against
        the mean over types), ``own_preference`` and ``model_preference`` (type effect of the model's own
        responses, and the mean of those of other models, against the tiers), ``unrelated_effect`` (that of
        unrelated responses against the tiers), ``positivity`` (expected rating minus that of people; by type,
        and of all items), and ``raw_correlation`` (Pearson, of its rating with the mean rating of the people
        who share an item; by type, and of all items).

    Examples
    --------
    >>> from conjury.inference.simulation.ratings import read_rating_truth
    >>> from conjury.inference.study import load_any_study
    >>> study = load_any_study("oogiri")
    >>> truth = read_rating_truth(study.folder / "truth.csv", study)
    >>> share = np.ones((len(truth.modalities), len(truth.types)))
    >>> found = true_ratings(study, truth, ["human", "gpt_4_1"], share / share.sum())
    >>> of_all = found.query("quantity == 'positivity' and dimension == 'clarity' and response_type == ''")
    >>> of_all["value"].round(2).tolist()
    [1.45]
    """
    assert study.assignment is not None
    raters = study.assignment.raters
    rows: list[Row] = []
    selected_raters = [rater for rater in (truth.panel, *truth.models) if rater.judge in judges]
    for rater in selected_raters:
        rows += _parameter_rows(truth, rater)
        rows += _dimension_rows(truth, rater, share)
        rows += _quality_rows(truth, rater, share)
        if rater.kind == "model":
            rows += _latent_rows(study, truth, rater, selected_raters)
    for number, dimension in enumerate(truth.dimensions):
        panel = expected_curve(truth.panel, truth.panel, number)
        for rater in selected_raters:
            curve = panel if rater.kind == "human" else expected_curve(rater, truth.panel, number)
            rows += _observed_rows(truth, rater, dimension, curve, panel, share, raters)
    if people is not None:
        rows += _person_rows(truth, *people)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.astype(dict.fromkeys(COLUMNS[:-1], "string"))


def latent_covariance(truth: RatingTruth, rater: Rater) -> tuple[Floats, Floats]:
    """Covariance of latent values of T types over dimensions, shape (T, D, D), and with quality, (T, D)."""
    panel = truth.panel
    spread = panel.item_sd.T
    quality = spread[:, :, None] * panel.correlation * spread[:, None, :]
    if rater.kind == "human":
        return quality, spread**2
    slope, own_sd = rater.slope(panel), rater.own_sd
    within = slope[:, None] * quality * slope + own_sd[:, None] * rater.correlation * own_sd
    return within, slope * spread**2


def _parameter_rows(truth: RatingTruth, rater: Rater) -> Iterator[Row]:
    judge = rater.judge
    within, _ = latent_covariance(truth, rater)
    yield "topic_share", judge, "", "", "", rater.topic_share
    for d, dimension in enumerate(truth.dimensions):
        for t, kind in enumerate(truth.types):
            yield "mean", judge, dimension, "", kind, rater.mean[d, t]
            yield "item_sd", judge, dimension, "", kind, float(np.sqrt(within[t, d, d]))
        for modality, shift in zip(truth.modalities, rater.shift[d], strict=True):
            yield "modality_shift", judge, dimension, modality, "", shift
        for number, cut in enumerate(rater.threshold[d], start=1):
            yield "threshold", judge, dimension, str(number), "", cut
        if rater.kind == "human":
            yield "severity_sd", judge, dimension, "", "", rater.severity_sd[d]
    if rater.kind == "human":
        yield "severity_correlation", judge, "", "", "", rater.severity_correlation
        yield "discrimination_sd", judge, "", "", "", rater.discrimination_sd
        yield "halo_sd", judge, "", "", "", rater.halo_sd


def _dimension_rows(truth: RatingTruth, rater: Rater, share: Floats) -> Iterator[Row]:
    within, _ = latent_covariance(truth, rater)
    pooled = np.einsum("mt,tde->de", share, within)
    centres = np.stack([cell_means(rater, d) for d in range(len(truth.dimensions))], axis=1)
    total = pooled + _between(centres, centres, share)
    for name, covariance in (("dimension_correlation_within", pooled), ("dimension_correlation", total)):
        scale = np.sqrt(np.diag(covariance))
        for d, dimension in enumerate(truth.dimensions):
            for e, second in enumerate(truth.dimensions):
                if d != e:
                    yield name, rater.judge, dimension, second, "", covariance[d, e] / (scale[d] * scale[e])


def _quality_rows(truth: RatingTruth, rater: Rater, share: Floats) -> Iterator[Row]:
    """Correlations of latent values with quality: lasting ones of models, and of single ratings."""
    within, joint = latent_covariance(truth, rater)
    quality, _ = latent_covariance(truth, truth.panel)
    model = rater.kind == "model"
    for d, dimension in enumerate(truth.dimensions):
        pooled = np.einsum("mt,st->s", share, np.stack([joint[:, d], within[:, d, d], quality[:, d, d]]))
        ours, theirs = cell_means(rater, d)[:, None], cell_means(truth.panel, d)[:, None]
        between = [_between(*pair, share)[0, 0] for pair in ((ours, theirs), (ours, ours), (theirs, theirs))]
        for name, (covariance, variance, quality_variance) in (("", pooled + between), ("_within", pooled)):
            if model:
                lasting = covariance / np.sqrt(variance * quality_variance)
                yield f"latent_correlation{name}", rater.judge, dimension, "", "", lasting
            single = covariance / np.sqrt((variance + LOGISTIC + rater.halo_sd**2) * quality_variance)
            yield f"latent_correlation_rating{name}", rater.judge, dimension, "", "", single
        if model:
            by_type = joint[:, d] / np.sqrt(within[:, d, d] * quality[:, d, d])
            for kind, value in zip(truth.types, by_type, strict=True):
                yield "latent_correlation", rater.judge, dimension, "", kind, value


def _latent_rows(
    study: ItemStudy, truth: RatingTruth, model: Rater, raters: Sequence[Rater]
) -> Iterator[Row]:
    slope = model.slope(truth.panel)
    peers = [peer for peer in raters if peer.kind == "model" and peer is not model]
    for d, dimension in enumerate(truth.dimensions):
        yield "slope", model.judge, dimension, "", "", slope[d]
        yield "own_sd", model.judge, dimension, "", "", model.own_sd[d]
        for peer in peers:
            yield "error_correlation", model.judge, dimension, peer.judge, "", _shared(model, peer)[d]
        gain = model.mean[d] - slope[d] * truth.panel.mean[d]
        yield from _effect_rows(study, truth, model, dimension, gain)


def _shared(model: Rater, peer: Rater) -> Floats:
    """Correlation of two models' errors on the same item, shape (D,)."""
    model_share, peer_share = model.topic_share, peer.topic_share
    along = np.sqrt(model_share * peer_share) + np.sqrt((1 - model_share) * (1 - peer_share))
    return np.asarray(np.sqrt(model.model_shared * peer.model_shared) * along)


def _effect_rows(
    study: ItemStudy, truth: RatingTruth, model: Rater, dimension: str, gain: Floats
) -> Iterator[Row]:
    """What types gain beyond their quality; ``gain`` has shape (T,)."""
    effect = dict(zip(truth.types, gain - gain.mean(), strict=True))
    for kind, value in effect.items():
        yield "type_effect", model.judge, dimension, "", kind, value
    if study.tiers is None:
        return
    tiers = float(np.mean([effect[tier] for tier in study.tiers.levels]))
    if model.judge in effect:
        yield "own_preference", model.judge, dimension, "", "", effect[model.judge] - tiers
    peer_effects = [effect[peer.judge] for peer in truth.models if peer is not model and peer.judge in effect]
    if peer_effects:
        yield "model_preference", model.judge, dimension, "", "", float(np.mean(peer_effects)) - tiers
    if study.unrelated is not None:
        yield "unrelated_effect", model.judge, dimension, "", "", effect[study.unrelated.level] - tiers


def _observed_rows(
    truth: RatingTruth,
    rater: Rater,
    dimension: str,
    curve: RatingCurve,
    panel: RatingCurve,
    share: Floats,
    raters: int,
) -> Iterator[Row]:
    size = raters if rater.kind == "human" else 1
    mean, variance = curve.overall(size)
    human_mean, _ = panel.overall(raters)
    between = curve.overall(10**9)[1]
    for kind, weight in _groups(truth, share):
        centre, spread = mixed_moments(weight, mean, variance)
        yield "expected_rating", rater.judge, dimension, "", kind, centre
        yield "rating_sd", rater.judge, dimension, "", kind, float(np.sqrt(spread))
        if rater.kind == "human":
            due = mixed_moments(weight, mean, between)[1]
            yield "reliability", rater.judge, dimension, "", kind, due / spread
        else:
            yield "positivity", rater.judge, dimension, "", kind, centre - float(weight @ human_mean)
            correlation = raw_correlation(panel, curve, weight, raters)
            yield "raw_correlation", rater.judge, dimension, "", kind, correlation


def _groups(truth: RatingTruth, share: Floats) -> Iterator[tuple[str, Floats]]:
    """All items and each type, with the share of every cell in it, shape (M * T,)."""
    yield "", share.reshape(-1)
    for number, kind in enumerate(truth.types):
        only = np.zeros_like(share)
        only[:, number] = share[:, number]
        if only.sum() > 0:
            yield kind, (only / only.sum()).reshape(-1)


def _person_rows(truth: RatingTruth, names: Sequence[str], people: RaterTraits) -> Iterator[Row]:
    for number, name in enumerate(names):
        yield "discrimination", name, "", "", "", float(people.discrimination[number])
        for dimension, severity in zip(truth.dimensions, people.severity[number], strict=True):
            yield "severity", name, dimension, "", "", float(severity)


def _between(first: Floats, second: Floats, share: Floats) -> Floats:
    """Covariance over cells of their means, shapes (C, D) and (C, E), as shape (D, E)."""
    weight = share.reshape(-1)
    return np.asarray(((first - weight @ first) * weight[:, None]).T @ (second - weight @ second))
