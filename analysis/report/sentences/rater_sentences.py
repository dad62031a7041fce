"""Sentences on ratings: replacement tests, correlations with people, orders of tiers, predictive checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...figures.labels import level_at
from ...frames.rounding import percentage
from ...frames.sentences import agreeing, agreeing_with_part, out_of, sentence, together
from ..method_sentences import plain
from ..table_format import number, whole
from .ranking_sentences import Leader, clear_rule, leader_in_words

MOST_PASSED = 8  # passed tests whose models are named
SURE = 0.95  # share of bootstrap samples in which the strongest correlate is the strongest


@dataclass(frozen=True)
class PassedTests:
    """Replacement tests that were passed, those that were made, and those that could not be made."""

    names: tuple[str, ...]  # models that pass, with the dimension where there are several
    tested: int
    untested: int
    epsilon: float  # advantage that people must have


def count_passed_tests(frame: pd.DataFrame, names: Sequence[str], epsilon: float) -> PassedTests:
    """Count the tests of a result; ``names`` has one for each row."""
    tested = frame["winning_rate"].notna().to_numpy() & frame["passes"].notna().to_numpy()
    passes = tested & frame["passes"].fillna(False).astype(bool).to_numpy()
    return PassedTests(
        tuple(np.asarray(names, dtype=object)[passes]), int(tested.sum()), int((~tested).sum()), epsilon
    )


@sentence
def passed_in_words(values: PassedTests) -> str:
    """How many tests are passed, and by which models where they are few."""
    n, untested, margin = len(values.names), "", f"with epsilon {values.epsilon:g}"
    if values.untested:
        what = agreeing(values.untested, "model could not be tested", "models could not be tested")
        untested = f" {whole(values.untested)} {what}." if values.tested else ""
    if not values.tested:
        return "No model could be tested against people."
    if not n:
        tests = agreeing(values.tested, "replacement test", "replacement tests")
        return f"No model passes a replacement test {margin} ({whole(values.tested)} {tests} made).{untested}"
    verb = agreeing_with_part(n, values.tested, "is", "are")
    total = f"{out_of(n, values.tested, 'replacement test')} {margin} {verb} passed"
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
class ClosestModels:
    """Which models follow people most closely on a dimension, and which ones on the others."""

    dimension: str
    leader: Leader
    elsewhere: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]  # models that are level, and dimensions
    alpha: float


@sentence
def closest_in_words(values: ClosestModels) -> str:
    """Who has the highest correlation on a dimension, and who on the others."""
    text, elsewhere = f"On {plain(values.dimension)}, {leader_in_words(values.leader)}.", values.elsewhere
    parts = [f"{together(map(plain, who))} on {together(map(plain, on), len(on))}" for who, on in elsewhere]
    if values.leader.of == 1 or not parts:
        return text
    text += f" The highest on other dimensions: {'; '.join(parts)}."
    several = values.leader.level or any(len(who) > 1 for who, _ in elsewhere)
    return (
        f"{text} Those named together do not differ clearly. {clear_rule(values.alpha)}" if several else text
    )


@dataclass(frozen=True)
class Orders:
    """How often each judge puts all tiers in order, and how often chance would."""

    shares: tuple[tuple[str, str], ...]  # with their intervals
    least_chance: float
    most_chance: float
    n: int = 0  # topics, 0 where they are not known
    tiers: tuple[str, ...] = ()  # the best first, with what they mean


def orders(
    names: Sequence[str], frame: pd.DataFrame, cells: Sequence[str], n: int = 0, tiers: Sequence[str] = ()
) -> Orders:
    """Collect the shares that are known (``estimate, chance``), with their cells."""
    is_known = np.isfinite(frame["estimate"].to_numpy(float))
    shares = [(str(name), cell) for name, cell, flag in zip(names, cells, is_known, strict=True) if flag]
    return Orders(tuple(shares), float(frame["chance"].min()), float(frame["chance"].max()), n, tuple(tiers))


@sentence
def orders_in_words(values: Orders) -> str:
    """How often each judge puts all tiers in order; empty without any."""
    if not values.shares:
        return ""
    texts = [f"{plain(name)} {cell}" for name, cell in values.shares]
    low, high = percentage(values.least_chance, 1), percentage(values.most_chance, 1)
    chance = low if low == high else f"{low} to {high}"
    topics = f"{whole(values.n)} topics" if values.n > 1 else "topics"
    order = f"the order {', '.join(map(plain, values.tiers))}" if values.tiers else "the order of their tiers"
    return (
        f"Share of {topics} in which ratings are in {order}, ties broken at random: {'; '.join(texts)}; by "
        f"chance {chance}."
    )


@dataclass(frozen=True)
class StrongestCorrelates:
    """What is most strongly correlated with a dimension, by group of raters."""

    main: str
    coefficient: str
    # raters, the strongest correlate or those of which any may be, and their correlations
    groups: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]


def find_strongest_correlates(
    part: pd.DataFrame, names: Sequence[str], cells: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the strongest correlate, of either sign, of one group, and those that may be as strong."""
    size = part["estimate"].abs().to_numpy(float)
    if np.isnan(size).all():
        return (), ()
    chance = part["probability"].to_numpy(float)
    order = [int(k) for k in np.argsort(-size, kind="stable") if np.isfinite(size[k])]
    places = order[:1]
    if chance[order[0]] < SURE:
        places += [k for k in order[1:] if chance[k] >= 1 - SURE]
    return tuple(names[k] for k in places), tuple(cells[k] for k in places)


@sentence
def strongest_in_words(values: StrongestCorrelates) -> str:
    """The strongest correlates by group of raters, groups with the same ones together."""
    together_of: dict[tuple[str, ...], list[str]] = {}
    for group, correlates, cells in values.groups:
        if correlates:
            together_of.setdefault(correlates, []).append(f"{plain(group)} ({' or '.join(cells)})")
    if not together_of:
        return ""
    texts = [
        f"with {' or '.join(map(plain, correlates))} for {together(groups, len(groups))}"
        for correlates, groups in together_of.items()
    ]
    called = f" ({values.coefficient})" * bool(values.coefficient)
    text = f"{plain(values.main)} is most strongly correlated{called} {', and '.join(texts)}."
    unsure = " Of those joined by “or”, none is the strongest in 95% of bootstrap samples."
    return text + unsure * any(len(correlates) > 1 for correlates in together_of)


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
