"""From comparisons to a verdict: tests of every annotator, false discoveries bounded, rates over epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import stdtr

from conjury.inference.errors import InputError, check_share, not_percent
from conjury.inference.tables.frames import any_frame, value_in_words

from ...frames.notes import Note, excluding
from ...frames.vocabulary import HUMAN, PASSING
from ...numerics.bootstrap import drawn_counts
from ...numerics.intervals import check_alpha, check_draws, draw_limits, vary, varying_limits
from ...numerics.significance import adjust_p_values
from ...numerics.types import Floats
from ...results import Result
from ..ratings import Ratings
from .annotator_panel import MANY, AnnotatorPanel, AnnotatorUnits, Mask, Scoring, weighted_sums

Multiplicity = Literal["by", "bh", "holm", "none"]
Samples = Literal["each", "first"]
Resample = Literal["items", "both"]
AT_ONCE = 100  # draws held in memory together
NO_SPREAD = 1e-9  # a standard error below it is rounding
KEYS = ["dimension", "scoring", "model"]
LEAST, STEPS = 0.3, 60  # a curve reaches at least so far, in so many steps
COUNTED = ("n_items", "n_clusters", "rho_model", "rho_human", "difference", "std_error")  # as in Evidence


@dataclass(frozen=True)
class Evidence:
    """What the comparisons with each of J annotators say; every array has shape (..., J)."""

    n: Floats  # Comparisons, and clusters of items that they come from
    clusters: Floats
    rho_model: Floats  # share of items where the model's (the person's) score is at least the other's
    rho_human: Floats
    difference: Floats  # ``rho_human - rho_model``
    std_error: Floats  # of the difference, robust to clusters; NaN with fewer than two clusters


def evidence(sums: Floats) -> Evidence:
    """Means and standard errors from the sums of `weighted_sums`, shape (..., J, 7)."""
    n, wins, differences, differences_squared, differences_n, n_squared, clusters = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference, rho = differences / n, wins / n
        squares = differences_squared - 2 * difference * differences_n + difference**2 * n_squared
        variance = np.maximum(squares, 0.0) * (clusters / (clusters - 1)) / n**2
    std_error = np.where(clusters > 1, np.sqrt(variance), np.nan)
    return Evidence(n, clusters, rho, rho + difference, difference, std_error)


def p_values(estimates: Evidence, epsilon: float) -> Floats:
    """Test, annotator by annotator, that the person is ahead by ``epsilon`` or more; one-sided t test."""
    # Without spread in the differences, p is 0 where they are below epsilon, else 1.
    distance = estimates.difference - epsilon
    spread = estimates.std_error > NO_SPREAD
    with np.errstate(divide="ignore", invalid="ignore"):
        t = distance / estimates.std_error
        p = np.where(spread, stdtr(estimates.clusters - 1, t), (distance > -NO_SPREAD).astype(float))
    return np.where(np.isfinite(estimates.std_error), p, np.nan)


def adjust(p: Floats, multiplicity: Multiplicity) -> Floats:
    """Adjust p values, shape (..., J), for the J tests of the last axis, as `adjust_p_values` does."""
    return p if multiplicity == "none" else adjust_p_values(p, multiplicity)


def check_multiplicity(multiplicity: str) -> None:
    """Refuse a correction that there is not."""
    methods = get_args(Multiplicity)
    if multiplicity not in methods:
        raise InputError(f"multiplicity is {multiplicity!r}; use one of {', '.join(methods)}.")


@dataclass(frozen=True)
class ReplacementVerdict:
    """Tests of J annotators and what follows; p values (..., J), the rest (...)."""

    p: Floats
    p_adjusted: Floats
    wins: Mask
    winning_rate: Floats


def verdict(
    estimates: Evidence, epsilon: float, q_fdr: float, multiplicity: Multiplicity
) -> ReplacementVerdict:
    """Count the annotators against whom the model wins; NaN where no annotator can be tested."""
    p = p_values(estimates, epsilon)
    p_adjusted = adjust(p, multiplicity)
    wins = p_adjusted <= q_fdr
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = wins.sum(axis=-1) / np.isfinite(p).sum(axis=-1)
    return ReplacementVerdict(p, p_adjusted, wins, rate)


def smallest_epsilon(estimates: Evidence, q_fdr: float, multiplicity: Multiplicity) -> Floats:
    """Smallest epsilon with which the model passes, by bisection; NaN where it needs more than 1."""
    # A negative one means that the model would pass even if it had to be ahead of people.
    low = np.full(estimates.difference.shape[:-1], -1.0)
    high = np.full_like(low, 1.0)
    reachable = passes_at(estimates, high, q_fdr, multiplicity)
    for _ in range(34):
        middle = (low + high) / 2
        passed = passes_at(estimates, middle, q_fdr, multiplicity)
        high = np.where(passed, middle, high)
        low = np.where(passed, low, middle)
    return np.where(reachable, high, np.nan)


def passes_at(estimates: Evidence, epsilon: Floats, q_fdr: float, multiplicity: Multiplicity) -> Mask:
    """Whether each of (...) models passes with its epsilon."""
    shifted = replace(estimates, difference=estimates.difference - epsilon[..., None])
    return np.asarray(verdict(shifted, 0.0, q_fdr, multiplicity).winning_rate >= PASSING)


def mask_annotators(estimates: Evidence, mask: Mask) -> Evidence:
    """Evidence without the annotators that are not ``mask``, shape (..., J)."""
    names = ("rho_model", "rho_human", "difference", "std_error")
    return replace(estimates, **{name: np.where(mask, getattr(estimates, name), np.nan) for name in names})


FEW_ANNOTATORS, FEW_INSTANCES = 3, 30  # what the authors advise at least


def notes_on_weak_tests(
    panel: AnnotatorPanel, estimates: Evidence, mask: Mask, min_instances: int
) -> list[str]:
    """State what makes these tests weak: few annotators, few items, people excluded, no spread."""
    notes: list[str] = []
    missed = [name for name, row in zip(panel.models, mask, strict=True) if not row.any()]
    if missed:
        text = "{judges:6}: no annotator has {n} items with it, so no test."
        notes.append(Note.of(text, judges=missed, n=min_instances))
    for ever in np.unique(mask[mask.any(axis=1)].sum(axis=1)):
        if ever < FEW_ANNOTATORS:
            notes.append(
                f"{ever} annotator{'s are' if ever > 1 else ' is'} tested; the authors advise at least "
                f"{FEW_ANNOTATORS}, since with fewer the result depends strongly on single persons."
            )
    is_excluded = ~mask[mask.any(axis=1)]
    out = [name for at, name in enumerate(panel.people) if is_excluded[:, at].any()]
    if out:
        notes.append(
            excluding(
                "{n} of {total} annotators have fewer than {few} items with some model and are excluded "
                "there ({judges:6}); others are still compared with them.",
                n=len(out),
                total=len(panel.people),
                few=min_instances,
                judges=out,
            )
        )
    if (estimates.clusters[mask] < FEW_INSTANCES).any():
        what = "items" if len(panel.cluster) == panel.n_clusters else "clusters of items"
        notes.append(
            f"Some annotators have fewer than {FEW_INSTANCES} {what}; the t test is unreliable for them."
        )
    flat = int((mask & (estimates.std_error <= NO_SPREAD)).sum())
    if flat:
        notes.append(
            f"{flat} comparison{'s have' if flat > 1 else ' has'} the same difference on every item: the "
            "model wins if it is below epsilon, without a t test."
        )
    return notes


def notes_on_unequal_items(frame: pd.DataFrame) -> list[str]:
    """State that models are compared on different items."""
    most, fewest = int(frame["n_items"].max()), int(frame["n_items"].min())
    if most == fewest:
        return []
    return [
        f"Models are compared on different items (from {fewest:,} to {most:,}), those that each answered; a "
        "model that does not answer difficult items has an advantage."
    ]


def notes_on_missing_models(ratings: Ratings) -> list[str]:
    """Name the models without a usable rating."""
    names = [name for name, kind in ratings.unused.items() if kind != HUMAN]
    return [Note.of("{judges:6}: no rating that can be used, so no test.", judges=names)] if names else []


def notes_on_repeats(panel: AnnotatorPanel, samples: str) -> list[str]:
    """State what becomes of repeated ratings and of several samples."""
    notes: list[str] = []
    if panel.repeats:
        text = "{n:,} repeated ratings by people are excluded; the first is used."
        notes.append(excluding(text, n=panel.repeats))
    if panel.answers.shape[1] > 1 and samples == "each":
        notes.append("Models with several samples of an item: each is compared, the comparisons averaged.")
    return notes


def notes_on_scoring(scoring: Scoring | Sequence[Scoring] | None, ratings: Ratings) -> list[str]:
    """State by what answers are scored where nobody said it."""
    if scoring is not None:
        return []
    if ratings.numeric:
        text = "by their distance (neg_rmse), not by exact matches (accuracy), since they have an order"
    else:
        text = "by exact matches (accuracy), since they are labels; numbers would be scored by their distance"
    return [f"The replacement test scores answers {text}."]


def notes_on_exact_matches(scoring: Scoring, ratings: Ratings) -> list[str]:
    """State that exact agreement is rare among many different numbers."""
    if scoring == "accuracy" and ratings.numeric and len(ratings.categories) > MANY:
        return [
            f"Accuracy counts exact matches, which are rare among {len(ratings.categories)} different "
            "numbers; neg_rmse or neg_mae is more informative."
        ]
    return []


@dataclass(frozen=True)
class ReplacementPlan:
    """How to test and to draw; attributes as the arguments of `alt_test`."""

    epsilon: float
    q_fdr: float
    min_humans: int
    min_instances: int
    multiplicity: Multiplicity
    samples: Samples
    cluster: str | None
    draws: int
    resample: Resample
    alpha: float
    seed: int

    def __post_init__(self) -> None:
        for name, example in (("epsilon", 0.1), ("q_fdr", 0.05)):
            if not isinstance(getattr(self, name), Real):
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number, such as {example}.")
        for name in ("min_humans", "min_instances"):
            if not isinstance(getattr(self, name), Integral):
                raise InputError(f"{name} is {getattr(self, name)!r}; give a whole number.")
        if not -1 <= self.epsilon <= 1:
            raise InputError(
                f"epsilon is {self.epsilon!r}{not_percent(self.epsilon)}; "
                "give a difference of shares, such as 0.1."
            )
        check_share("q_fdr is", self.q_fdr, "give a number between 0 and 1, such as 0.05")
        if self.min_humans < 2:
            raise InputError(f"min_humans is {self.min_humans!r}; an item needs at least 2 people.")
        if self.min_instances < 2:
            raise InputError(
                f"min_instances is {self.min_instances!r}; a test needs at least 2 items, preferably 30."
            )
        if self.samples not in get_args(Samples):
            raise InputError(f"samples is {self.samples!r}; use each or first.")
        if self.resample not in get_args(Resample):
            raise InputError(f"resample is {self.resample!r}; use items or both.")
        check_multiplicity(self.multiplicity)
        check_alpha(self.alpha)
        check_draws(self.draws, self.seed)


@dataclass(frozen=True)
class DecisionDraws:
    """B bootstrap draws of M models: winning rates and advantage probabilities, both shape (B, M)."""

    winning_rate: Floats
    advantage: Floats


def draw(
    units: AnnotatorUnits,
    mask: Mask,
    epsilon: float,
    q_fdr: float,
    multiplicity: Multiplicity,
    draws: int,
    resample: Resample,
    seed: int,
) -> DecisionDraws:
    """Draw clusters of items with replacement and test anew, the annotators of each model fixed or drawn."""
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, draws, AT_ONCE):
        size = min(AT_ONCE, draws - start)
        weights = drawn_counts(np.ones(units.n_clusters), size, rng).astype(float)
        estimates = mask_annotators(evidence(weighted_sums(units, weights)), mask)
        parts.append(
            _rates(estimates, mask, epsilon, q_fdr, multiplicity, rng if resample == "both" else None)
        )
    return DecisionDraws(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _rates(
    estimates: Evidence,
    mask: Mask,
    epsilon: float,
    q_fdr: float,
    multiplicity: Multiplicity,
    rng: np.random.Generator | None,
) -> tuple[Floats, Floats]:
    p = p_values(estimates, epsilon)
    n_draws, n_models, _ = p.shape
    rate, advantage = np.full((n_draws, n_models), np.nan), np.full((n_draws, n_models), np.nan)
    for model in range(n_models):
        annotators = np.flatnonzero(mask[model])
        if not len(annotators):
            continue
        tested, rho = p[:, model, annotators], estimates.rho_model[:, model, annotators]
        if rng is not None:
            index = rng.integers(0, len(annotators), size=tested.shape)
            tested, rho = np.take_along_axis(tested, index, 1), np.take_along_axis(rho, index, 1)
        is_finite = np.isfinite(tested)
        n_tested = np.maximum(is_finite.sum(axis=1), 1)
        wins = (adjust(tested, multiplicity) <= q_fdr).sum(axis=1)
        some = is_finite.any(axis=1)
        rate[:, model] = np.where(some, wins / n_tested, np.nan)
        advantage[:, model] = np.where(some, np.where(is_finite, rho, 0.0).sum(axis=1) / n_tested, np.nan)
    return rate, advantage


@dataclass(frozen=True)
class PercentileLimits:
    """Percentile intervals of M models, every array shape (M,); NaN where none has a width."""

    rate_lower: Floats
    rate_upper: Floats
    advantage_error: Floats
    advantage_lower: Floats
    advantage_upper: Floats
    pass_share: Floats


def bounds(draws: DecisionDraws | None, n_models: int, alpha: float) -> PercentileLimits:
    """Percentile intervals from draws."""
    if draws is None:
        return PercentileLimits(*np.full((6, n_models), np.nan))
    result = np.full((6, n_models), np.nan)
    for model in range(n_models):
        columns = (draws.winning_rate[:, model], draws.advantage[:, model])
        rate, advantage = (values[np.isfinite(values)] for values in columns)
        result[:2, model] = varying_limits(rate, alpha)
        if vary(advantage):
            result[2:5, model] = advantage.std(ddof=1), *draw_limits(advantage, alpha)
        if len(rate) > 1:
            result[5, model] = (rate >= PASSING).mean()
    return PercentileLimits(*result)


@any_frame
def epsilon_curve(result: Result, epsilons: Sequence[float] | None = None) -> Result:
    """Test again with other values of epsilon, from the table of annotators alone.

    Parameters
    ----------
    result : Result
        As from `alt_test`.
    epsilons : sequence of float, optional
        By default 0, 0.005, ..., 0.3.

    Returns
    -------
    Result
        ``frame``: ``dimension, scoring, model, epsilon, winning_rate, passes``;
        ``extra["smallest"]``: ``dimension, scoring, model, smallest_epsilon``, with which the model passes.

    Raises
    ------
    InputError
        For a result of another analysis, or an epsilon that is not between -1 and 1.

    Examples
    --------
    >>> from conjury.analysis.raters import alt_test
    >>> rows = [(name, "model" if name == "gpt" else "human", item, item % 5)
    ...         for name in ("ann", "bob", "cy", "gpt") for item in range(40)]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> epsilon_curve(alt_test(table), [0.0, 0.1]).frame["winning_rate"].tolist()
    [0.0, 1.0]
    """
    if not isinstance(result, Result) or result.kind != "alt_test":
        description = value_in_words(getattr(result, "kind", result))
        raise InputError(
            f"An epsilon curve needs a result of alt_test; this one is {description}: run alt_test."
        )
    grid = np.array(np.arange(61) / 200 if epsilons is None else list(epsilons), dtype=float)
    if not len(grid) or not (np.abs(grid) <= 1).all():
        raise InputError("epsilons are differences of shares; give one or more between -1 and 1.")
    q_fdr, multiplicity = result.settings["q_fdr"], result.settings["multiplicity"]
    parts = []
    for keys, annotators in result.extra["annotators"].groupby(KEYS, sort=False):
        tested = annotators[annotators["left_out"].isna()]
        estimates = Evidence(*(tested[name].to_numpy(dtype=float) for name in COUNTED))
        rates = [float(verdict(estimates, float(value), q_fdr, multiplicity).winning_rate) for value in grid]
        part = pd.DataFrame({"epsilon": grid, "winning_rate": rates})
        for at, (name, value) in enumerate(zip(KEYS, keys, strict=True)):
            part.insert(at, name, str(value))
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    passes = (frame["winning_rate"] >= PASSING).astype("boolean").mask(frame["winning_rate"].isna())
    settings = {name: result.settings[name] for name in ("q_fdr", "multiplicity", "epsilon")}
    smallest = result.frame[[*KEYS, "smallest_epsilon"]].copy()
    return Result(
        frame.assign(passes=passes), "epsilon_curve", tuple(result.notes), settings, {"smallest": smallest}
    )


def epsilons(result: Result) -> list[float]:
    """Values of epsilon from 0 until every model that can pass does: up to 0.3, 0.6, 0.9 or 1."""
    smallest = result.frame["smallest_epsilon"].to_numpy(dtype=float)
    top = float(np.max(np.append(smallest[np.isfinite(smallest)], LEAST)))
    end = min(float(np.ceil(round(top / LEAST, 6))) * LEAST, 1.0)
    return [round(end * k / STEPS, 6) for k in range(STEPS + 1)]


def with_curve(result: Result) -> Result:
    """Add the curve over `epsilons` to a result of `alt_test`, as the further table ``epsilon``."""
    return replace(result, extra={**result.extra, "epsilon": epsilon_curve(result, epsilons(result)).frame})
