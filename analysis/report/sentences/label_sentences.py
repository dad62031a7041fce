"""Sentences on labels compared with gold labels: kinds of label, parsed answers, copies, overused labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.rounding import percentage
from ...frames.sentences import (
    SERIES,
    agreeing,
    out_of,
    sentence,
    ties,
    together,
)
from ...frames.vocabulary import FEWEST_GOLD
from ..method_sentences import plain
from ..table_format import number, whole

HALF = 0.5
RECALL = "recall"
MOST_NAMED = 3  # judges that a sentence names


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
