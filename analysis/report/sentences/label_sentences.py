"""Sentences on labels compared with gold labels: scores, mistakes, lengths, perturbed items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.rounding import percentage
from ...frames.sentences import (
    SERIES,
    agreeing,
    capitalised,
    out_of,
    sentence,
    ties,
    together,
)
from ...frames.vocabulary import BASELINE, FEWEST_GOLD, RANDOM
from ..method_sentences import plain
from ..table_format import number, whole
from .ranking_sentences import Leader, leader_in_words

HALF = 0.5
BALANCED = "balanced accuracy, in which all labels weigh the same"
RECALL, PASS_AT, MAJORITY_OF = "recall", "pass_at_k", "majority_of_k"
MOST_NAMED = 3  # judges that a sentence names
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


@sentence
def best_in_words(values: BestJudges) -> str:
    """The best judge of a place, and which judges are below and above the constant answer."""
    where = f"{plain(values.place)}: " if values.place else ""
    beside = _beside_baseline(values.baseline, values.leader.of == 1, values.later)
    return f"{capitalised(where + leader_in_words(values.leader))}{beside}."


def _beside_baseline(values: Baseline | None, single: bool, later: bool) -> str:
    if values is None or not values.compared:
        return ""
    below, above, unclear = values.below, values.above, values.unclear
    share = "" if np.isnan(values.share) else f" ({number(values.share, 2)})"
    balanced = ""
    if len(values.above_balanced) > len(above):
        who = _named(values.above_balanced, values.compared, "it" if values.compared == 1 else "all")
        verb = agreeing(len(values.above_balanced), "is", "are")
        balanced = f"; by {BALANCED}, {who} {verb} above this rule ({number(values.balanced, 2)})"
    if single and values.compared == 1:
        text = (
            f"it is correct {'less' if below else 'more'} often than always answering {values.always}{share}"
        )
        if unclear:
            text = f"the interval of its difference from always answering {values.always}{share} contains 0"
        return f"; {text}{balanced}"
    which = f"{values.always if later else f'always answering {values.always}'}{share}"
    counted = f"{values.compared:,} {agreeing(values.compared, *values.noun)}"
    if not below and not above:
        return f"; of {counted}, none differs from {which} by an interval without 0{balanced}"
    for group, how in ((below, "less"), (above, "more")):
        if len(group) == values.compared > 1:
            return f"; all {counted} are correct {how} often than {which}{balanced}"
    more = f"{_named(above, 0)} {agreeing(len(above), 'is', 'are')}" if above else "none is"
    less = _named(below, 0) if below else "none"
    in_doubt = f"; {_named(unclear, 0)} could be either" if unclear else ""
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
class KindsOfGold:
    """How much of each kind of gold label judges find: the best one, and whoever finds most."""

    who: str
    shares: tuple[tuple[str, str], ...]  # kinds of gold label, with what they mean, and its share of each
    least: str  # the kind that judges find least, by the median of their shares
    most: float  # the highest share of that kind
    whose: tuple[str, ...]  # who has it
    negatives: tuple[str, float] | None  # what the first of them gets right without that label, and how much
    of: int  # judges


def find_kinds_of_gold(rows: pd.DataFrame, who: str) -> KindsOfGold | None:
    """What the best judge finds, of ``_who, _kind, _label, _cell, estimate``; None without recalls."""
    recalls = rows[(rows["_kind"] == RECALL) & rows["estimate"].notna()]
    shares = recalls[recalls["_who"] == who]
    if shares.empty:
        return None
    medians = recalls.groupby("_label", sort=False)["estimate"].median()
    of_least = recalls[recalls["_label"] == medians.idxmin()].reset_index(drop=True)
    most = ties(of_least["estimate"].to_numpy(float), int(of_least["estimate"].to_numpy().argmax()))
    whose = of_least.loc[most, "_who"].astype(str)
    negatives = rows[(rows["_kind"] != RECALL) & (rows["_who"] == whose.iloc[0]) & rows["estimate"].notna()]
    kinds = shares["_label"].astype(str) + shares.get("_meaning", "")
    pairs = zip(kinds, shares["_cell"].astype(str), strict=True)
    return KindsOfGold(
        who, tuple(pairs), str(medians.idxmin()), float(of_least["estimate"].max()), tuple(whose),
        (str(negatives["_label"].iloc[0]), float(negatives["estimate"].iloc[0])) if len(negatives) else None,
        recalls["_who"].nunique(),
    )  # fmt: skip


@sentence
def kinds_in_words(values: KindsOfGold) -> str:
    """How much of each kind of gold label is found, and how much of the kind that is found least."""
    shares = [f"{cell} of the items labelled {plain(kind)}" for kind, cell in values.shares]
    text = f"{plain(values.who)} finds {together(shares, len(shares))}"
    if values.of == 1 or values.who in values.whose:
        return f"{text}."
    who = together(map(plain, values.whose))
    if values.negatives is not None:
        who += f" ({plain(values.negatives[0])}: {number(values.negatives[1], 2)})"
    most = f"the most that a judge finds of those labelled {plain(values.least)}"
    return f"{text}; {most} is {number(values.most, 2)}, by {who}."


@dataclass(frozen=True)
class Attempts:
    """The judge of whose several answers most often at least one is right, beside as many guesses."""

    place: str
    k: int
    who: str
    cell: str
    single: float  # share of single answers that are right
    majority: float  # share of items whose most frequent answer is right
    guesses: float
    above: tuple[str, ...]  # judges above the guesses by their intervals
    of: int  # judges


def find_best_attempts(rows: pd.DataFrame, place: str) -> Attempts | None:
    """Find the best judge of the scores (``_who, _cell``) of one and of most answers; None without any."""
    k = int(rows["k"].max())
    passed = rows[(rows["metric"] == PASS_AT) & (rows["k"] == k)]
    judges = passed[passed["judge_kind"] != BASELINE]
    if judges.empty:
        return None
    best = judges.iloc[int(judges["estimate"].to_numpy().argmax())]
    of_best = rows[(rows["_who"] == best["_who"]) & (rows["judge_kind"] != BASELINE)]
    parts = (
        of_best[(of_best["metric"] == PASS_AT) & (of_best["k"] == 1)],
        of_best[(of_best["metric"] == MAJORITY_OF) & (of_best["k"] == k)],
        passed[passed["judge"].astype(str) == RANDOM],
    )
    single, majority, guesses = (float(part["estimate"].iloc[0]) if len(part) else np.nan for part in parts)
    above = judges.loc[judges["lower"] > guesses, "_who"].astype(str)
    return Attempts(
        place, k, str(best["_who"]), str(best["_cell"]), single, majority, guesses, tuple(above), len(judges)
    )  # fmt: skip


@sentence
def attempts_in_words(values: Attempts) -> str:
    """How often at least one of several answers is right, beside one, the most frequent, and guesses."""
    where = f"{plain(values.place)}: " if values.place else ""
    shares = {"a single answer": values.single, f"the most frequent of {values.k}": values.majority}
    beside = [f"{what} {number(share, 2)}" for what, share in shares.items() if not np.isnan(share)]
    highest = "the highest share" if values.of > 1 else "the share"
    text = (
        f"{where}{highest} with at least one of {values.k} answers right (pass@{values.k}) is {values.cell}"
    )
    text = capitalised(f"{text} ({'; '.join([plain(values.who), *beside])})")
    if np.isnan(values.guesses):
        return f"{text}."
    guesses = f"above {values.k} random guesses ({number(values.guesses, 2)})"
    if not values.above:
        return f"{text}, not clearly {guesses}{'; nor is any other judge' * (values.of > 1)}."
    who = _named(values.above, values.of, "it" if values.of == 1 else f"all {values.of} judges")
    return f"{text}; {who} {agreeing(len(values.above), 'is', 'are')} clearly {guesses}."


@dataclass(frozen=True)
class FewestLabels:
    """Who has most answers without a label."""

    judges: tuple[str, ...]  # with their prompts: one, or several that are equal
    share: float  # of answers without a label
    of: int  # judges with their prompts
    above_half: int  # of these, those with more than half


def find_least_parsed(ok: pd.Series[int], n: pd.Series[int], names: Sequence[str]) -> FewestLabels:
    """Find the largest share of answers without a label."""
    share = np.asarray(((n - ok) / n.where(n > 0)).fillna(1.0), dtype=float)
    at = int(share.argmax())
    above_half = int((share > HALF).sum())
    return FewestLabels(tuple(names[k] for k in ties(share, at)), float(share[at]), len(share), above_half)


@sentence
def parsed_in_words(values: FewestLabels) -> str:
    """Who leaves most answers without a label."""
    if not values.share:
        return "All answers have a label."
    share = percentage(values.share)
    if values.of == 1:
        return f"Answers without a label: {share}."
    if len(values.judges) == values.of:
        return f"Answers without a label: {share} for everyone."
    text = f"Most answers without a label: {together(values.judges)} ({share})"
    if not values.above_half:
        return f"{text}."
    half = out_of(values.above_half, values.of, SERIES, SERIES)
    return f"{text}; more than half of the answers have none in {half}."


@dataclass(frozen=True)
class RuleDifferences:
    """Judgments by which of two parsing rules gives them a label."""

    total: int
    lenient_only: int
    strict_only: int
    different: int


@sentence
def rules_in_words(values: RuleDifferences) -> str:
    """What the lenient rule adds."""
    total = values.total
    if not total:
        return ""
    lenient, strict, conflicts = (
        percentage(n / total, 1) for n in (values.lenient_only, values.strict_only, values.different)
    )
    return (
        f"Of {whole(total)} {agreeing(total, 'judgment', 'judgments')} {lenient} have a label by the lenient "
        f"rule only, {strict} by the strict rule only, and {conflicts} a different one."
    )


@dataclass(frozen=True)
class Copies:
    """Cells of several runs, and those in which at least two runs are the same."""

    copied: int
    cells: int


@sentence
def copies_in_words(values: Copies) -> str:
    """Whether repeated answers are copies of each other; empty where none are."""
    if not values.copied:
        return ""
    return (
        f"**Some answers are copies of each other**: in {whole(values.copied)} of {whole(values.cells)} "
        f"{agreeing(values.cells, 'cell', 'cells')} at least two runs are the same, answer by answer, in all "
        "items or in those of a stratum. More answers add less there than they seem to; @sec-notes lists "
        "them."
    )


@dataclass(frozen=True)
class OverusedLabels:
    """Judges that give a label too often, with the largest ratio of each."""

    top: tuple[tuple[str, str, float], ...]  # judge (with a prompt), label, ratio; the largest first
    judges: int  # different judges that give one too often
    of: int  # different judges
    several: bool  # whether a judge has several prompts
    tested: int  # labels of judges with enough gold units
    by_label: tuple[tuple[str, int], ...] = ()  # of two labels: how many series give each too often
    series: int = 0  # judges with their prompts


def find_overused_labels(frame: pd.DataFrame, often: np.ndarray) -> OverusedLabels:
    """Find the labels that are given too often (``often``) of ``judge, _who, _label, ratio, n_gold``."""
    rows = frame[often].sort_values("ratio", ascending=False, kind="stable")
    first = rows.drop_duplicates("_who")
    top = tuple(
        (str(w), str(t), float(r))
        for w, t, r in zip(first["_who"], first["_label"], first["ratio"], strict=True)
    )
    several = frame["_who"].nunique() > frame["judge"].nunique()
    tested = int((frame["n_gold"] >= FEWEST_GOLD).sum())
    counts = rows.groupby("_label", sort=False)["_who"].nunique()
    by_label = tuple(zip(counts.index.astype(str), map(int, counts), strict=True))
    by_label = by_label if frame["_label"].nunique() == 2 else ()
    judges = (rows["judge"].nunique(), frame["judge"].nunique())
    return OverusedLabels(top, *judges, bool(several), tested, by_label, frame["_who"].nunique())


@sentence
def overused_in_words(values: OverusedLabels) -> str:
    """The label that each judge gives far too often."""
    among = f"among labels that are gold in at least {FEWEST_GOLD} units, after adjustment for their number"
    if not values.tested:
        return f"No label is gold in at least {FEWEST_GOLD} units, so none is tested for frequent use."
    if not values.top:
        return f"No judge gives a label too often, {among}."
    texts = [f"{plain(who)}, {plain(label)} ({number(r, 1)})" for who, label, r in values.top[:MOST_NAMED]]
    under = " under at least one prompt" if values.several else ""
    largest = f"the {MOST_NAMED} largest" if len(values.top) > MOST_NAMED else "the largest of each"
    who = f"{out_of(values.judges, values.of, 'judge')} {agreeing(values.judges, 'gives', 'give')}"
    text = f"{'The judge gives' if values.of == 1 else who} a label too often{under}"
    if values.by_label and values.series > 1:
        noun = (SERIES, SERIES) if values.several else ("judge", "judges")
        (label, n), *further = values.by_label
        counts = [f"{plain(label)} by {out_of(n, values.series, *noun)}"]
        text = "Given too often: " + ", ".join([*counts, *(f"{plain(name)} by {k}" for name, k in further)])
    ratio = "How often it is given, divided by how often it is gold"
    return f"{text}, {among}. {ratio}, {largest}: {'; '.join(texts)}."
