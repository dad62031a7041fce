"""Sentences on what limits a finding: missing answers and what they could change, low coverage, scales."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import bdtr

from conjury.inference.errors import counted

from ...frames.rounding import percentage
from ...frames.sentences import agreeing, capitalised, out_of, sentence, together
from ...frames.vocabulary import HUMAN
from ..method_sentences import plain
from ..table_format import number, whole

MOST_NAMED = 4  # judges whose answers are counted in the text, groups and dimensions that are named
MANY = 0.05  # share of missing answers from which they limit a finding
RARE = 0.01  # probability of so few true values in all groups together, by chance
ABSOLUTE = "g_absolute"  # as raters differ from item to item
AT_AN_END = 0.75  # share of ratings at an end of the scale from which little is left to order
ONE = {"choices": "choice", "ratings": "rating", "labels": "label", "profiles": "profile"}


@dataclass(frozen=True)
class ResponseCounts:
    """Answers that were given of those asked for."""

    who: str
    answered: int
    asked: int


@dataclass(frozen=True)
class AnswerCounts:
    """Who gave how many answers: those that lack some, most lacking first, and how many there are in all."""

    lacking: tuple[ResponseCounts, ...]
    total: int  # judges, or series of answers
    one: ResponseCounts  # all answers
    noun: str  # what ``total`` counts
    counted: str  # what was asked for: choices, ratings, labels, profiles


def answered_by(
    who: pd.Series[str], n_answered: pd.Series[int], n_asked: pd.Series[int]
) -> list[ResponseCounts]:
    """Add up answers by who gave them, those that lack most of theirs first."""
    rows = pd.DataFrame({"who": who.astype(str), "answered": n_answered, "asked": n_asked})
    each = rows.groupby("who", sort=False)[["answered", "asked"]].sum()
    share = (each["answered"] / each["asked"].where(each["asked"] > 0)).fillna(1.0)
    ordered = each.loc[share.sort_values(kind="stable").index]
    return [ResponseCounts(str(name), int(n), int(of)) for name, n, of in ordered.itertuples(name=None)]


def answers_given(shares: list[ResponseCounts], noun: str, counted_: str) -> AnswerCounts:
    """Which of them lack answers."""
    lacking = tuple(share for share in shares if share.answered < share.asked)
    everything = ResponseCounts(
        "", sum(share.answered for share in shares), sum(share.asked for share in shares)
    )
    return AnswerCounts(lacking, len(shares), everything, noun, counted_)


def _share(share_given: ResponseCounts, noun: str) -> str:
    """Answered of asked, with the share: 28,463 of 30,000 choices (94.9%)."""
    share = f" ({percentage(share_given.answered / share_given.asked, 1)})" if share_given.asked else ""
    return f"{out_of(share_given.answered, share_given.asked, ONE.get(noun, noun), noun)}{share}"


@sentence
def answered_in_words(values: AnswerCounts) -> str:
    """How many answers were given: of one judge, or of those with the most missing."""
    if values.total == 1:
        was = agreeing(values.one.answered, "was", "were")
        return f"{capitalised(_share(values.one, values.counted))} {was} answered."
    n = len(values.lacking)
    if not n:
        return f"All {values.total} {values.noun} gave all {whole(values.one.asked)} answers."
    named = [
        f"{plain(judge.who)} gave {_share(judge, values.counted)}" for judge in values.lacking[:MOST_NAMED]
    ]
    more = " and so on" if n > MOST_NAMED else ""
    n_complete = values.total - n
    remainder = f"; the other{'s' * (n_complete > 1)} answered all" if n_complete else ""
    return (
        f"Of {values.total} {values.noun}, {n} {agreeing(n, 'lacks', 'lack')} answers: "
        f"{'; '.join(named)}{more}{remainder}."
    )


@dataclass(frozen=True)
class TippingCounts:
    """How many conclusions missing answers could change, and how few of them suffice."""

    null: str  # the value with which intervals are compared; empty where there is none
    tested: int  # intervals that exclude it
    turns: int
    tipping: float = np.nan  # the smallest share of missing answers that changes one
    where: str = ""


def count_turning(
    conclusion: pd.Series[str], tipping: pd.Series[float], null: str, where: pd.Series[str]
) -> TippingCounts:
    """Count conclusions that turn in the worst case."""
    turns = (conclusion == "turns").to_numpy()
    tested = int((conclusion != "none").sum())
    shares = np.where(turns, tipping.to_numpy(float), np.nan)
    if np.isnan(shares).all():
        return TippingCounts(null, tested, int(turns.sum()))
    at = int(np.nanargmin(shares))
    return TippingCounts(null, tested, int(turns.sum()), float(shares[at]), str(where.iloc[at]))


@sentence
def turning_in_words(values: TippingCounts) -> str:
    """Which conclusions turn in the worst case, and the smallest tipping share: up to two sentences."""
    n, null = values.tested, values.null
    if not n:
        return f"No interval from the answers given excludes {null}." if null else ""
    if not values.turns:
        what = "The interval that excludes" if n == 1 else f"All {n} intervals that exclude"
        return f"{what} {null} would do so whatever the missing answers would have been."
    exclude = agreeing(n, "interval that excludes", "intervals that exclude")
    text = f"Of {n} {exclude} {null}, {values.turns} would contain it in the worst case."
    if np.isnan(values.tipping):
        return text
    share = percentage(values.tipping, 1 if values.tipping < 0.0995 else 0)
    return (
        f"{text} The smallest tipping share is {share} (*{plain(values.where)}*): the interval reaches "
        f"{null} "
        "if that share of the missing answers has worst-case values and the others are like those given."
    )


@dataclass(frozen=True)
class UnansweredCounts:
    """How many answers have no valid choice."""

    without: int
    total: int


def count_unanswered(frame: pd.DataFrame) -> UnansweredCounts:
    """Count answers of every status, and those without a choice."""
    without = int(frame.loc[frame["status"].astype(str) != "ok", "n"].sum())
    return UnansweredCounts(without, int(frame["n"].sum()))


@sentence
def unanswered_in_words(values: UnansweredCounts) -> str:
    """How many answers have no valid choice."""
    if not values.total:
        return "There are no answers."
    if not values.without:
        return f"Every one of {counted(values.total, 'answer')} contains a valid choice."
    verb = agreeing(values.without, "contains", "contain")
    share = percentage(values.without / values.total, 1)
    return f"{out_of(values.without, values.total, 'answer')} ({share}) {verb} no valid choice."


@dataclass(frozen=True)
class LackingAnswers:
    """Answers without a valid one, and what they count as."""

    counts: UnansweredCounts
    wrong: bool  # whether they count as wrong; else they are excluded


@sentence
def lacking_in_words(values: LackingAnswers) -> str:
    """That many answers are missing; empty where few are."""
    share = values.counts.without / max(values.counts.total, 1)
    if share < MANY:
        return ""
    treated = "are excluded, and may differ from the others"
    if values.wrong:
        treated = "count as wrong: scores also measure whether a judge answers in the form asked for"
    return f"Answers without {'a label' if values.wrong else 'a valid one'} ({percentage(share)}) {treated}."


@dataclass(frozen=True)
class LowCoverage:
    """Groups of intervals that contain the true value more rarely than chance allows, the rarest first."""

    groups: tuple[tuple[str, int, int], ...]  # name, inside, intervals
    level: float


def find_low_coverage(groups: Iterable[tuple[str, int, int]], level: float) -> LowCoverage:
    """Find groups by their binomial probability, adjusted for how many there are."""
    chances = {group: float(bdtr(group[1], group[2], level)) for group in groups if group[2]}
    low = [group for group, chance in chances.items() if chance * len(chances) < RARE]
    return LowCoverage(tuple(sorted(low, key=chances.__getitem__)), level)


@sentence
def rarely_in_words(values: LowCoverage) -> str:
    """Which intervals are too short in this simulation; empty where none is."""
    shares = [
        f"{inside} of {n} intervals of {plain(name)} contain them ({percentage(inside / n)})"
        for name, inside, n in values.groups
    ]
    text = (
        "Some intervals contain the true values of this simulation more rarely than the "
        f"{percentage(values.level)} that they state, and are too short: {together(shares, MOST_NAMED)}."
    )
    return text if shares else ""


@dataclass(frozen=True)
class MeanReliability:
    """Reliability of the mean rating of some people on a dimension; NaN where it is not known."""

    dimension: str = ""
    raters: float = float("nan")
    reliability: float = float("nan")  # the absolute coefficient of generalisability


def find_mean_reliability(frame: pd.DataFrame, dimension: str, name: str) -> MeanReliability:
    """Find the reliability of people's mean on a dimension in a table of agreement."""
    is_asked = frame["dimension"].astype(str).eq(dimension) & frame["among"].astype(str).eq(HUMAN)
    rows = frame[is_asked & frame["coefficient"].astype(str).eq(ABSOLUTE)].dropna(subset="estimate")
    if rows.empty:
        return MeanReliability()
    return MeanReliability(name, float(rows["raters"].iloc[0]), float(rows["estimate"].iloc[0]))


@sentence
def attenuated_in_words(values: MeanReliability) -> str:
    """By how much the noise of people's mean ratings makes correlations with models smaller."""
    text = (
        "People's mean rating of an item is that of few people, whose noise makes correlations with models "
        "smaller than those with what people think on average"
    )
    if not values.reliability > 0:
        return f"{text}."
    factor = number(values.reliability**-0.5, 2)
    mean = f"the mean of {values.raters:g} people has a reliability of {number(values.reliability, 2)}"
    return (
        f"{text}: on {plain(values.dimension)}, {mean} (absolute generalisability), without whose noise "
        f"correlations would be {factor} times as large."
    )


@dataclass(frozen=True)
class EndShares:
    """Dimensions of which a model nearly always gives the same extreme rating."""

    shares: tuple[tuple[str, str, float], ...]  # dimension, model, share


def find_end_shares(frame: pd.DataFrame, name_of: Callable[[str, object], str]) -> EndShares:
    """Find the largest shares at the lowest or the highest rating given, of models."""
    is_end = frame["value"].isin([frame["value"].min(), frame["value"].max()])
    ends = frame[is_end & (frame["group"].astype(str) != HUMAN) & (frame["estimate"] >= AT_AN_END)]
    columns = zip(ends["dimension"].astype(str), ends["group"].astype(str), ends["estimate"], strict=True)
    return EndShares(tuple((name_of("dimension", a), name_of("judge", b), float(x)) for a, b, x in columns))


@sentence
def ends_in_words(values: EndShares) -> str:
    """Which models nearly always give the same extreme rating; empty where none does."""
    named = [f"{plain(judge)} on {plain(name)} ({percentage(share)})" for name, judge, share in values.shares]
    text = (
        f"Most ratings are at one end of the scale for {together(named, MOST_NAMED)}: what is said of these "
        "rests on the few others."
    )
    return text if named else ""
