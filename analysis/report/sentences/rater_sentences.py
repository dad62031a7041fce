"""Sentences on ratings: replacement tests, correlations with people, orders of tiers, predictive checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...figures.labels import level_at
from ...frames.rounding import percentage
from ...frames.sentences import agreeing, agreeing_with_part, capitalised, out_of, sentence
from ..method_sentences import plain
from ..table_format import interval, number, whole

MOST_PASSED = 8  # passed tests whose models are named


@dataclass(frozen=True)
class PassedTests:
    """Replacement tests that were passed, those that were made, and those that could not be made."""

    names: tuple[str, ...]  # models that pass, with the dimension where there are several
    tested: int
    untested: int


def count_passed_tests(frame: pd.DataFrame, names: Sequence[str]) -> PassedTests:
    """Count the tests of a result; ``names`` has one for each row."""
    tested = frame["winning_rate"].notna().to_numpy() & frame["passes"].notna().to_numpy()
    passes = tested & frame["passes"].fillna(False).astype(bool).to_numpy()
    return PassedTests(
        tuple(np.asarray(names, dtype=object)[passes]), int(tested.sum()), int((~tested).sum())
    )


@sentence
def passed_in_words(values: PassedTests) -> str:
    """How many tests are passed, and by which models where they are few."""
    n, untested = len(values.names), ""
    if values.untested:
        what = agreeing(values.untested, "model could not be tested", "models could not be tested")
        untested = f" {whole(values.untested)} {what}." if values.tested else ""
    if not values.tested:
        return "No model could be tested against people."
    if not n:
        tests = agreeing(values.tested, "replacement test", "replacement tests")
        return f"No model passes a replacement test ({whole(values.tested)} {tests} made).{untested}"
    verb = agreeing_with_part(n, values.tested, "is", "are")
    total = f"{out_of(n, values.tested, 'replacement test')} {verb} passed"
    if n > MOST_PASSED:
        return f"{total}.{untested}"
    return f"{total}: {', '.join(map(plain, values.names))}.{untested}"


@dataclass(frozen=True)
class PosteriorComparisons:
    """Comparisons of a model with a random person by the posterior."""

    ahead: int
    behind: int
    of: int
    dimensions: int


def count_models_ahead(part: pd.DataFrame, line: pd.Series[float]) -> PosteriorComparisons:
    """Count intervals above and below the line of no difference, among those that have limits."""
    bounded = (part["lower"].notna() & part["upper"].notna()).to_numpy()
    above, below = ((part["lower"] > line).to_numpy(), (part["upper"] < line).to_numpy())
    n_dimensions = part.loc[bounded, "dimension"].nunique()
    return PosteriorComparisons(
        int((bounded & above).sum()), int((bounded & below).sum()), int(bounded.sum()), n_dimensions
    )


@sentence
def ahead_in_words(values: PosteriorComparisons) -> str:
    """How many models the posterior puts ahead of a random person, behind, or neither."""
    if not values.of:
        return ""
    if values.of == 1:
        where = (
            "is ahead of"
            if values.ahead
            else "is behind"
            if values.behind
            else "cannot be distinguished from"
        )
        return f"By the interval of the posterior, the model {where} a random person."
    several = values.dimensions > 1
    total = (
        out_of(
            values.ahead,
            values.of,
            "comparison of a model within a dimension",
            "comparisons of a model within a dimension",
        )
        if several
        else out_of(values.ahead, values.of, "model")
    )
    undecided = values.of - values.ahead - values.behind
    if several:
        return (
            f"By intervals of the posterior, the model is ahead of a random person in {total}, behind in "
            f"{values.behind}, and cannot be distinguished from one in {undecided}."
        )
    return (
        f"By intervals of the posterior, {total} {agreeing(values.ahead, 'is', 'are')} ahead of a random "
        f"person, {values.behind} behind, and {undecided} cannot be distinguished from one."
    )


@dataclass(frozen=True)
class HighestCorrelation:
    """The highest correlation of a model with people over all items."""

    estimate: float
    lower: float
    upper: float
    coefficient: str
    judge: str
    dimension: str
    of: int  # correlations that are compared
    of_dimension: bool  # whether all of them are of this dimension
    level: str  # of the interval
    n: int  # items, 0 where they are not known


def find_highest_correlation(
    frame: pd.DataFrame, names: Sequence[tuple[str, str, str]], level: str = "95%"
) -> HighestCorrelation | None:
    """Find the highest correlation; ``names`` are coefficient, judge and dimension of each row."""
    values = frame["estimate"].to_numpy(float)
    if not len(values) or np.isnan(values).all():
        return None
    at = int(np.nanargmax(values))
    lower, upper = (
        float(frame[name].iloc[at]) if name in frame and pd.notna(frame[name].iloc[at]) else np.nan
        for name in ("lower", "upper")
    )
    is_known = np.isfinite(values)
    dimensions = {name[2] for name, flag in zip(names, is_known, strict=True) if flag}
    n = int(frame["n_items"].iloc[at]) if "n_items" in frame else 0
    return HighestCorrelation(
        float(values[at]), lower, upper, *names[at], int(is_known.sum()), len(dimensions) == 1, level, n
    )


@sentence
def closest_in_words(values: HighestCorrelation) -> str:
    """Name the highest correlation of a model with people."""
    limits = interval(values.lower, values.upper, 2)
    details = [values.coefficient, f"{values.level} interval {limits}" * bool(limits)]
    details += [f"{whole(values.n)} {agreeing(values.n, 'item', 'items')}" * bool(values.n)]
    text = f"correlation of a model with people is {number(values.estimate, 2)}"
    text += f" ({', '.join(filter(None, details))}), that of {plain(values.judge)}"
    about = f"{'for' if values.of_dimension else 'on'} {plain(values.dimension)}"
    if values.of == 1:
        return f"{capitalised(about)}, the {text.replace('of a model', 'of the model')}."
    if values.of_dimension:
        return f"{capitalised(about)}, the highest {text}."
    return f"The highest {text} {about}."


@dataclass(frozen=True)
class Orders:
    """How often each judge puts all tiers in order, and how often chance would."""

    shares: tuple[tuple[str, float], ...]
    least_chance: float
    most_chance: float
    n: int = 0  # topics, 0 where they are not known


def orders(names: Sequence[str], share: pd.Series[float], chance: pd.Series[float], n: int = 0) -> Orders:
    """Collect the shares that are known."""
    pairs = zip(names, share.to_numpy(float), strict=True)
    finite = tuple((str(name), float(value)) for name, value in pairs if np.isfinite(value))
    return Orders(finite, float(chance.min()), float(chance.max()), n)


@sentence
def orders_in_words(values: Orders) -> str:
    """How often each judge puts all tiers in order; empty without any."""
    if not values.shares:
        return ""
    texts = [f"{plain(name)} {percentage(share, 1)}" for name, share in values.shares]
    low, high = percentage(values.least_chance, 1), percentage(values.most_chance, 1)
    chance = low if low == high else f"{low} to {high}"
    topics = f"{whole(values.n)} topics" if values.n > 1 else "topics"
    what = f"Share of {topics} whose tiers are all put in order, ties counted in part"
    return f"{what}: {', '.join(texts)}; chance is {chance}."


@dataclass(frozen=True)
class StrongestCorrelate:
    """The strongest correlate of the main dimension in one group of raters."""

    group: str
    other: str
    estimate: float
    probability: float
    of: int  # correlates that are compared


def find_strongest_correlate(
    part: pd.DataFrame, group: str, names: Sequence[str]
) -> StrongestCorrelate | None:
    """Find the strongest correlate, of either sign; None where all are missing."""
    values = part["estimate"].to_numpy(float)
    if np.isnan(values).all():
        return None
    at = int(np.nanargmax(np.abs(values)))
    probability = float(part["probability"].iloc[at])
    return StrongestCorrelate(
        group, names[at], float(values[at]), probability, int(np.isfinite(values).sum())
    )


@sentence
def strongest_in_words(values: StrongestCorrelate) -> str:
    """The strongest correlate of one group of raters."""
    draws = (
        "" if np.isnan(values.probability) else f", strongest in {percentage(values.probability)} of draws"
    )
    return f"{plain(values.group)}: {plain(values.other)} ({number(values.estimate, 2)}{draws})"


@dataclass(frozen=True)
class PredictiveCoverage:
    """Observed shares within what a model predicts, after and before it saw the data."""

    inside: int
    n: int
    alpha: float
    prior_inside: int
    prior_n: int
    wide: float  # mean length of intervals of the priors over that of the fitted model


def count_predicted_shares(
    shares: pd.DataFrame, outside: pd.Series[bool], prior_outside: pd.Series[bool], alpha: float
) -> PredictiveCoverage:
    """Count observed shares inside their predictive intervals."""
    prior = shares[shares["prior_lower"].notna() & shares["prior_upper"].notna()]
    length = float((prior["upper"] - prior["lower"]).mean()) if len(prior) else 0.0
    wide = float((prior["prior_upper"] - prior["prior_lower"]).mean()) / length if length > 0 else np.nan
    return PredictiveCoverage(
        int((~outside).sum()), len(shares), alpha, int((~prior_outside).sum()), len(prior), wide
    )


@sentence
def predicted_in_words(values: PredictiveCoverage) -> str:
    """How many observed shares are inside what the model predicts."""
    share = agreeing(values.n, "observed share", "observed shares")
    text = (
        f"Of {whole(values.n)} {share}, {whole(values.inside)} {agreeing(values.inside, 'is', 'are')} within "
        f"what the fitted model predicts in {level_at(values.alpha)} of replications (by chance about "
        f"{number(values.alpha * values.n, 1)} would be outside)"
    )
    if not values.prior_n:
        return f"{text}."
    of = "" if values.prior_n == values.n else f" of {whole(values.prior_n)}"
    wide = ""
    if np.isfinite(values.wide):
        wide = f"; the intervals of the priors are on average {number(values.wide, 1)} times as wide"
    return f"{text}, and {whole(values.prior_inside)}{of} in what its priors alone predict{wide}."
