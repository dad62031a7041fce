"""Sentences on scores: the best judges, answers that are left out, several answers, copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.sentences import (
    SERIES,
    agreeing,
    agreeing_with_part,
    capitalised,
    out_of,
    sentence,
    ties,
    together,
)
from ...frames.vocabulary import BASELINE, RANDOM
from ..method_sentences import plain
from ..table_format import number, whole
from .ranking_sentences import Leader, leader_in_words

SAME_WEIGHT = "in which all labels weigh the same"
BALANCED = f"balanced accuracy, {SAME_WEIGHT}"
BEST, LEVEL, SAME = "best", "level", "same"  # what changes where answers without a label are left out
PASS_AT, MAJORITY_OF = "pass_at_k", "majority_of_k"
MOST_BESIDE = 4  # judges of a group beside the most frequent label, by name


@dataclass(frozen=True)
class Baseline:
    """Judges that are right less often, and more often, than the most frequent label would be."""

    below: tuple[str, ...]
    above: tuple[str, ...]
    unclear: tuple[str, ...]
    noun: tuple[str, str]  # what is counted, one and several
    always: str  # the most frequent label, and of what
    share: float = np.nan  # of correct answers that it would have
    above_balanced: tuple[str, ...] = ()  # judges with a balanced accuracy above its
    balanced: float = np.nan  # its balanced accuracy

    @property
    def compared(self) -> int:
        """Judges with an interval."""
        return len(self.below) + len(self.above) + len(self.unclear)

    @property
    def cell(self) -> str:
        """The share of correct answers, in brackets behind a blank."""
        return "" if np.isnan(self.share) else f" ({number(self.share, 2)})"


def baseline(
    over: pd.DataFrame,
    always: str,
    share: float = np.nan,
    above: Sequence[str] = (),
    balanced: float = np.nan,
) -> Baseline:
    """Sort judges by their difference from the most frequent label; prompts of a judge are counted apart."""
    bounded = over[over["lower"].notna() & over["upper"].notna()]
    several = len(bounded) > bounded["judge"].nunique()
    noun = (SERIES, SERIES) if several else ("judge", "judges")
    side = (bounded["lower"] > 0).astype(int) - (bounded["upper"] < 0)
    below, upper, unclear = (tuple(bounded.loc[side == sign, "_who"].astype(str)) for sign in (-1, 1, 0))
    return Baseline(below, upper, unclear, noun, always, share, tuple(above), balanced)


@dataclass(frozen=True)
class BestJudges:
    """The judges with the highest share of correct answers in one place, beside the constant answer."""

    place: str
    leader: Leader
    baseline: Baseline | None
    later: bool = False  # whether a sentence about another place comes before
    balanced: Leader | None = None  # by balanced accuracy, which ranks where no judge is above the baseline

    @property
    def is_below(self) -> bool:
        """Whether judges are compared with the constant answer and none is right more often."""
        return self.baseline is not None and bool(self.baseline.compared) and not self.baseline.above


@sentence
def best_in_words(values: BestJudges) -> str:
    """The best judge of a place, and which judges are below and above the constant answer."""
    where, over = f"{plain(values.place)}: " if values.place else "", values.baseline
    if over is None or not values.is_below:
        beside = _beside_baseline(over, values.leader.of == 1, values.later) if over and over.above else ""
        return f"{capitalised(where + leader_in_words(values.leader))}{beside}."
    text = f"{capitalised(where + _no_judge_above(over, values.leader))}."
    reached = "" if np.isnan(over.balanced) else f"; {_balanced(over)}"
    return f"{text} {capitalised(leader_in_words(values.balanced))}{reached}." if values.balanced else text


def _no_judge_above(values: Baseline, leader: Leader) -> str:
    """That no judge is right more often than the constant answer, and who is right most often."""
    which, who = f"always answering {values.always}{values.cell}", together(map(plain, leader.names))
    if values.compared == leader.of == 1:
        how = "less" if values.below else "not clearly more"
        return f"{who} is correct {how} often than {which}: {leader.cell}"
    best = f"the highest share is {leader.cell} ({who})" if leader.level else leader_in_words(leader)
    verb = agreeing_with_part(0, values.compared, "is", "are")
    counted = f"{out_of(0, values.compared, *values.noun)} {verb} correct"
    if len(values.below) == values.compared:
        return f"{counted} as often as {which}; {best}"
    less = f", {_named(values.below, 0)} less often" if values.below else ""
    return f"{counted} clearly more often than {which}{less}; {best}"


def _balanced(values: Baseline) -> str:
    """The judges whose balanced accuracy is above that of the constant answer."""
    who = _named(values.above_balanced, values.compared, "it" if values.compared == 1 else "all") or "none"
    verb = agreeing(max(len(values.above_balanced), 1), "is", "are")
    return f"{who} {verb} above what such an answer reaches ({number(values.balanced, 2)})"


def _beside_baseline(values: Baseline, single: bool, later: bool) -> str:
    """The judges that are right more often than the constant answer, where there are some."""
    above, n_compared = values.above, values.compared
    balanced = f"; by {BALANCED}, {_balanced(values)}" * (len(values.above_balanced) > len(above))
    if single and n_compared == 1:
        return f"; it is correct more often than always answering {values.always}{values.cell}{balanced}"
    which = f"{'' if later else 'always answering '}{values.always}{values.cell}"
    counted = f"{n_compared:,} {agreeing(n_compared, *values.noun)}"
    if len(above) == n_compared > 1:
        return f"; all {counted} are correct more often than {which}{balanced}"
    more = f"{_named(above, 0)} {agreeing(len(above), 'is', 'are')}"
    less = _named(values.below, 0) if values.below else "none"
    in_doubt = f"; {_named(values.unclear, 0)} could be either" if values.unclear else ""
    return f"; of {counted}, {more} correct more often than {which}, {less} less often{in_doubt}{balanced}"


@dataclass(frozen=True)
class ComparedPlaces:
    """The highest balanced accuracy in each of some places with the same labels in other shares."""

    places: tuple[str, ...]
    shares: tuple[float, ...]  # of the most frequent label of all in each place
    highest: tuple[tuple[str, str], ...]  # the score and whose it is


@sentence
def places_in_words(values: ComparedPlaces) -> str:
    """What compares places whose shares of labels differ; empty where these are the same in print."""
    shares = [number(share, 2) for share in values.shares]
    if len(set(shares)) < 2:
        return ""
    highest = [f"{cell} ({plain(who)})" for cell, who in values.highest]
    every = len(shares)
    return (
        f"Accuracies of {together(map(plain, values.places), every)} do not compare, since shares of labels "
        f"differ (of the most frequent one {together(shares, every)}); by {BALANCED}, the highest are "
        f"{together(highest, every)}."
    )


def _named(names: tuple[str, ...], total: int, each: str = "") -> str:
    """Judges by name where they are few, otherwise their number; all of them as a sentence calls them."""
    if len(names) == total:
        return each
    return together(map(plain, names), MOST_BESIDE) if len(names) <= MOST_BESIDE else whole(len(names))


@dataclass(frozen=True)
class LeftOut:
    """Whether the best judges change where answers without a label are left out, place by place."""

    changes: tuple[tuple[str, str], ...]  # places, and whether the best changes, or who is level with it


@sentence
def left_out_in_words(values: LeftOut) -> str:
    """Whether the best judges change without the answers that have no label; empty without a place."""
    same, changed, level = (
        [place for place, change in values.changes if change in kinds]
        for kinds in ((SAME, LEVEL), (BEST,), (LEVEL,))
    )
    n = len(values.changes)
    texts = [f"{verb}{_for(of, n)}" for of, verb in ((changed, "changes"), (same, "stays the same")) if of]
    among = f"; who is level with it changes{_for(level, 1 + n - len(level))}" if level else ""
    return f"Left out, the best judge {' and '.join(texts)}{among}." if texts else ""


def _for(places: list[str], total: int) -> str:
    return f" for {together(map(plain, places), len(places))}" if total > 1 else ""


@dataclass(frozen=True)
class Attempts:
    """The best judges of several answers: by the most frequent one, and by whether any is right."""

    place: str
    k: int
    majority: tuple[tuple[str, ...], str] | None  # who has the highest share, and the share
    single: float  # share of the first one's single answers that are right
    always: tuple[str, float]  # a constant answer, and the share that it gets right
    passed: tuple[tuple[str, ...], str]  # the same of at least one right answer
    guesses: float
    above: tuple[str, ...]  # judges above the guesses by their intervals
    below: tuple[str, ...]  # and below
    of: int  # judges


def find_best_attempts(rows: pd.DataFrame, place: str, always: tuple[str, float]) -> Attempts | None:
    """Find the best judges of the scores (``_who, _cell``) of one and of most answers; None without any."""
    k = int(rows["k"].max())
    judges = rows[(rows["judge_kind"] != BASELINE)]
    passed = judges[(judges["metric"] == PASS_AT) & (judges["k"] == k)].reset_index(drop=True)
    if passed.empty:
        return None
    majority = judges[(judges["metric"] == MAJORITY_OF) & (judges["k"] == k)].reset_index(drop=True)
    most = _highest(majority) if len(majority) else None
    ones = judges[(judges["metric"] == PASS_AT) & (judges["k"] == 1)].set_index("_who")["estimate"]
    random = rows[(rows["metric"] == PASS_AT) & (rows["k"] == k) & (rows["judge"].astype(str) == RANDOM)]
    guesses = float(random["estimate"].iloc[0]) if len(random) else np.nan
    return Attempts(
        place, k, most, float(ones.get(most[0][0], np.nan)) if most else np.nan, always, _highest(passed),
        guesses, tuple(passed.loc[passed["lower"] > guesses, "_who"].astype(str)),
        tuple(passed.loc[passed["upper"] < guesses, "_who"].astype(str)), len(passed),
    )  # fmt: skip


def _highest(rows: pd.DataFrame) -> tuple[tuple[str, ...], str]:
    """Who has the highest estimate, one or several that are equal, and its cell."""
    at = int(rows["estimate"].to_numpy().argmax())
    return tuple(rows.loc[ties(rows["estimate"].to_numpy(float), at), "_who"].astype(str)), rows["_cell"][at]


@sentence
def attempts_in_words(values: Attempts) -> str:
    """How often the most frequent of several answers, and at least one of them, is right."""
    where, texts = (f"{plain(values.place)}: " if values.place else ""), []
    often = "most often with " if values.of > 1 else "with "
    if values.majority is not None:
        who, cell = values.majority
        (always, share), single = values.always, number(values.single, 2)
        beside = [f"a single answer {single}"] * bool(single)
        beside += [f"always answering {always} {number(share, 2)}"] * (not np.isnan(share))
        text = f"the most frequent of {values.k} answers is right {often}{together(map(plain, who))}"
        texts.append(f"{text} ({'; '.join([cell, *beside])}).")
    who, cell = values.passed
    text = f"at least one of {values.k} answers is right (pass@{values.k}; somebody has to know which one)"
    texts.append(f"{text} {often}{together(map(plain, who))} ({cell}){_beside_guesses(values)}.")
    return f"{capitalised(where + texts[0])}{''.join(f' {capitalised(text)}' for text in texts[1:])}"


def _beside_guesses(values: Attempts) -> str:
    if np.isnan(values.guesses):
        return ""
    guesses = f"{values.k} random guesses ({number(values.guesses, 2)})"
    if values.above:
        who = _named(values.above, values.of, "it" if values.of == 1 else f"all {values.of} judges")
        return f"; {who} {agreeing(len(values.above), 'is', 'are')} clearly above {guesses}"
    if set(values.passed[0]) <= set(values.below):
        return f", which is below {guesses}{'; no judge is above them' * (values.of > 1)}"
    return f", not clearly above {guesses}{'; nor is any other judge' * (values.of > 1)}"


@dataclass(frozen=True)
class CopyScores:
    """How scores of perturbed copies differ from those of their originals, place by place."""

    metric: str
    averaged: bool  # over judges
    alpha: float
    rows: tuple[tuple[str, str, str, bool], ...]  # place, perturbation, difference, whether it is clear


@sentence
def copies_scored_in_words(values: CopyScores) -> str:
    """All differences of perturbed copies by kind, and which of them are clear; empty without any."""
    if not values.rows:
        return ""
    by_place: dict[str, list[str]] = {}
    for place, kind, cell, is_clear in values.rows:
        by_place.setdefault(place, []).append(f"{plain(kind)} {cell}{', clear' * is_clear}")
    places = [f"{plain(place)}: " * bool(place) + "; ".join(texts) for place, texts in by_place.items()]
    over = ", on average over judges" * values.averaged
    clear = "clear:" if any(row[3] for row in values.rows) else "none has an"
    return (
        f"{capitalised(values.metric)} of perturbed items minus that of the originals{over} "
        f"({clear} adjusted p below {values.alpha:g}). {'. '.join(places)}. Gold labels are those of the "
        "originals."
    )
