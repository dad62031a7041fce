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
from ...frames.vocabulary import FEWEST_GOLD
from ..method_sentences import plain
from ..table_format import number, whole

HALF = 0.5
MOST_NAMED = 5  # judges that a sentence names


@dataclass(frozen=True)
class Baseline:
    """How many judges are right less often, and more often, than the most frequent label would be."""

    below: int
    above: int
    compared: int  # judges with an interval
    noun: tuple[str, str]  # what is counted, one and several
    always: str  # the most frequent label, and of what
    share: float = np.nan  # of correct answers that it would have

    @property
    def counted(self) -> str:
        """The number compared, with its noun."""
        return f"{self.compared:,} {agreeing(self.compared, *self.noun)}"


def baseline(over: pd.DataFrame, always: str, share: float = np.nan) -> Baseline:
    """Count judges by their difference from the most frequent label; prompts of a judge are counted apart."""
    bounded = over[over["lower"].notna() & over["upper"].notna()]
    several = len(bounded) > bounded["judge"].nunique()
    noun = (SERIES, SERIES) if several else ("judge", "judges")
    below, above = int((bounded["upper"] < 0).sum()), int((bounded["lower"] > 0).sum())
    return Baseline(below, above, len(bounded), noun, always, share)


@dataclass(frozen=True)
class BestJudges:
    """The judges with the highest share of correct answers in one place."""

    place: str
    names: tuple[str, ...]  # one, or several that are equal
    cell: str  # the share with its interval
    judges: int  # judges with a score there
    baseline: Baseline | None
    later: bool = False  # whether a sentence about another place comes before
    n: int = 0  # answers of the best judges, 0 where they are not known
    items: int = 0  # that they are to, 0 where they are not known
    second: tuple[str, ...] = ()  # the next best judges, several where they are equal
    second_share: float = np.nan


def find_best_judges(
    judges: pd.DataFrame, cells: Sequence[str], place: str, over: Baseline | None, later: bool
) -> BestJudges | None:
    """Find the best of the judges of a place (``_who, estimate``); None where none has a score."""
    share = judges["estimate"].to_numpy(float)
    if not len(share) or np.isnan(share).all():
        return None
    at = int(np.nanargmax(share))
    names = tuple(judges["_who"].iloc[ties(share, at)].astype(str))
    n, items = (int(judges[name].iloc[at]) if name in judges else 0 for name in ("n_answers", "n_items"))
    n_judges = int(np.isfinite(share).sum())
    below = np.where(np.isin(np.arange(len(share)), ties(share, at)), np.nan, share)
    if np.isnan(below).all():
        return BestJudges(place, names, cells[at], n_judges, over, later, n, items)
    runner_up = int(np.nanargmax(below))
    second = tuple(judges["_who"].iloc[ties(below, runner_up)].astype(str))
    return BestJudges(
        place, names, cells[at], n_judges, over, later, n, items, second, float(below[runner_up])
    )


@sentence
def best_in_words(values: BestJudges) -> str:
    """The best judge of a place, and how many judges are below and above the constant answer."""
    names = [plain(name) for name in values.names]
    to_items = f" to {whole(values.items)} {agreeing(values.items, 'item', 'items')}" * (
        0 < values.items < values.n
    )
    answers = f"{whole(values.n)} {agreeing(values.n, 'answer', 'answers')}{to_items}"
    cell = f"{values.cell}, {answers}" * bool(values.n)
    cell = cell or values.cell
    if values.judges == 1:
        text = f"the share of correct answers of {names[0]} is {cell}"
    elif len(names) == values.judges:
        text = f"all {len(names)} judges have the same share of correct answers ({cell})"
    else:
        runner_up = f"{together(map(plain, values.second))} ({number(values.second_share, 2)})"
        text = (
            f"the highest share of correct answers is that of {together(names)} ({cell}), before {runner_up}"
        )
    where = f"{plain(values.place)}: " if values.place else ""
    return (
        f"{capitalised(where + text)}{_beside_baseline(values.baseline, values.judges == 1, values.later)}."
    )


def _beside_baseline(values: Baseline | None, single: bool, later: bool) -> str:
    if values is None or not values.compared:
        return ""
    below, above = values.below, values.above
    share = "" if np.isnan(values.share) else f" ({number(values.share, 2)})"
    if single and values.compared == 1:
        if not below and not above:
            return f"; the interval of its difference from always answering {values.always}{share} contains 0"
        how = "less often than" if below else "more often than"
        return f"; it is correct {how} always answering {values.always}{share}"
    which = f"{values.always if later else f'always answering {values.always}'}{share}"
    if not below and not above:
        return f"; of {values.counted}, none differs from {which} by an interval without 0"
    for n, how in ((below, "less"), (above, "more")):
        if n == values.compared > 1:
            return f"; all {values.counted} are correct {how} often than {which}"
    unclear = values.compared - below - above
    n_above, n_below = (whole(n) if n else "none" for n in (above, below))
    verb = agreeing(max(above, 1), "is", "are")
    in_doubt = f"; {whole(unclear)} could be either" if unclear else ""
    more_often = f"{n_above} {verb} correct more often than {which}"
    return f"; of {values.counted}, {more_often}, {n_below} less often{in_doubt}"


@dataclass(frozen=True)
class BaselineComparison:
    """How sentences about judges and the most frequent label compare them."""

    counts: bool  # whether one counts judges
    comparisons: int  # sentences that compare one judge
    level: str


def compare_with_baseline(best: Sequence[BestJudges], level: str) -> BaselineComparison:
    """Find what sentences about the best judges of places say about the most frequent label."""
    comparisons = [
        (series.baseline.compared, series.judges == series.baseline.compared == 1)
        for series in best
        if series.baseline
    ]
    counts = any(n and not single for n, single in comparisons)
    return BaselineComparison(counts, sum(single for _, single in comparisons), level)


@sentence
def compared_in_words(values: BaselineComparison) -> str:
    """Which differences are counted, or decide whether a judge is right more often; empty without any."""
    if values.counts:
        counted = f"differences on the same items whose {values.level} interval does not contain 0"
        return f"The counts are of {counted}; a figure's intervals are of single scores, not of differences."
    if not values.comparisons:
        return ""
    what = "comparison is" if values.comparisons == 1 else "comparisons are"
    return f"The {what} by the {values.level} interval of the difference on the same items."


@dataclass(frozen=True)
class FewestLabels:
    """Who has fewest answers with a label."""

    judges: tuple[str, ...]  # with their prompts: one, or several that are equal
    share: float
    of: int  # judges with their prompts
    below_half: int  # of these, those with fewer than half


def find_least_parsed(ok: pd.Series[int], n: pd.Series[int], names: Sequence[str]) -> FewestLabels:
    """Find the smallest share of answers with a label."""
    share = np.asarray((ok / n.where(n > 0)).fillna(0.0), dtype=float)
    at = int(share.argmin())
    below_half = int((share < HALF).sum())
    return FewestLabels(tuple(names[k] for k in ties(share, at)), float(share[at]), len(share), below_half)


@sentence
def parsed_in_words(values: FewestLabels) -> str:
    """Who leaves most answers without a label."""
    if values.share == 1:
        return "All answers have a label."
    share = percentage(values.share)
    if values.of == 1:
        return f"Answers with a label: {share}."
    if len(values.judges) == values.of:
        return f"Answers with a label: {share} for everyone."
    text = f"Fewest answers with a label: {together(values.judges)} ({share})"
    if not values.below_half:
        return f"{text}."
    half = out_of(values.below_half, values.of, SERIES, SERIES)
    return f"{text}; fewer than half of the answers have one in {half}."


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
    return OverusedLabels(top, rows["judge"].nunique(), frame["judge"].nunique(), bool(several), tested)


@sentence
def overused_in_words(values: OverusedLabels) -> str:
    """The label that each judge gives far too often."""
    among = (
        f"among labels that are gold in at least {FEWEST_GOLD} units and after adjustment for the number of "
        "labels and judges"
    )
    if not values.tested:
        return f"No label is gold in at least {FEWEST_GOLD} units, so none is tested for frequent use."
    if not values.top:
        return f"No judge gives a label too often, {among}."
    texts = [f"{plain(who)}, {plain(label)} ({number(r, 1)})" for who, label, r in values.top[:MOST_NAMED]]
    under = " under at least one prompt" if values.several else ""
    largest = (
        f"the {MOST_NAMED} largest ratios" if len(values.top) > MOST_NAMED else "the largest ratio of each"
    )
    return (
        f"{out_of(values.judges, values.of, 'judge')} {agreeing(values.judges, 'gives', 'give')} a label too "
        f"often{under}, {among}. Number of times a "
        f"label is given, divided by the number of times it is gold, {largest}: {'; '.join(texts)}."
    )


@dataclass(frozen=True)
class LongestItems:
    """In how many comparisons a judge is right less often, and more often, on the longest items."""

    task: str
    less: int
    more: int
    tested: int
    untested: int
    noun: tuple[str, str]


def count_length_differences(
    rows: pd.DataFrame, task: str, strata: Sequence[str], alpha: float
) -> LongestItems:
    """Count significant differences between the longest and the shortest items of a task."""
    tested = rows["p_adjusted"].notna()
    clear = rows["p_adjusted"] < alpha
    less, more = (int((clear & side).sum()) for side in (rows["estimate"] < 0, rows["estimate"] > 0))
    noun = ("judge", "judges") if len(rows) == rows["judge"].nunique() else (SERIES, SERIES)
    if strata:
        within = f"of a judge within a {' and '.join(strata)}"
        noun = (f"comparison {within}", f"comparisons {within}")
    return LongestItems(task, less, more, int(tested.sum()), int((~tested).sum()), noun)


@sentence
def longest_in_words(values: LongestItems) -> str:
    """How many judges are right less often and more often on the longest items."""
    start = f"{plain(values.task)}: " if values.task else ""
    if not values.tested:
        none = "no difference between the longest and the shortest items could be tested"
        return f"{capitalised(start + none)}."
    text = (
        f"right less often on the longest than on the shortest items in "
        f"{out_of(values.less, values.tested, *values.noun)}, more often in "
        f"{whole(values.more) if values.more else 'none'}, after adjustment for their number"
    )
    unknown = f"; {whole(values.untested)} cannot be computed" if values.untested else ""
    return f"{capitalised(start + text)}{unknown}."


@dataclass(frozen=True)
class PerturbationCounts:
    """How many differences between perturbed and original items are significant."""

    metric: str
    significant: int
    negative: int  # of the significant ones
    tested: int
    adjusted: bool


def count_perturbation_effects(frame: pd.DataFrame, metric: str, alpha: float) -> PerturbationCounts:
    """Count significant differences among those with a test."""
    adjusted = "p_adjusted" in frame
    p = frame["p_adjusted" if adjusted else "p"]
    clear = (p < alpha) & frame["estimate"].notna()
    negative = int((frame.loc[clear, "estimate"] < 0).sum())
    return PerturbationCounts(
        metric, int(clear.sum()), negative, int((p.notna() & frame["estimate"].notna()).sum()), adjusted
    )


@sentence
def perturbed_in_words(values: PerturbationCounts) -> str:
    """How many scores differ on perturbed items."""
    noun, nouns = f"difference in {values.metric}", f"differences in {values.metric}"
    if not values.tested:
        return f"No {noun} could be tested."
    n = values.significant
    after = " after adjustment for their number" if values.adjusted else ""
    if not n:
        return f"None of {whole(values.tested)} {agreeing(values.tested, noun, nouns)} is significant{after}."
    return (
        f"{out_of(n, values.tested, noun, nouns)} {agreeing(n, 'is', 'are')} significant{after}, "
        f"{whole(values.negative)} of them negative."
    )


@dataclass(frozen=True)
class SameItems:
    """In how many paired comparisons both sides answered the same items, and how p values are adjusted."""

    same: int
    comparisons: int
    known: bool  # whether the result has what one side answered alone
    adjusted: str  # the method, empty for none


def same_items(frame: pd.DataFrame, keys: Sequence[str], adjusted: str) -> SameItems:
    """Count comparisons without answers of one side alone; ``keys`` name a comparison."""
    columns = [name for name in ("n_left_only", "n_right_only") if name in frame]
    rows = (
        frame.groupby(list(keys), dropna=False, observed=True, sort=False)[columns].max()
        if columns
        else frame[[*keys]]
    )
    n = len(rows.drop_duplicates()) if not columns else len(rows)
    same = int((rows[columns] == 0).all(axis=1).sum()) if columns else 0
    return SameItems(same, n, len(columns) == 2, adjusted)


@sentence
def same_items_in_words(values: SameItems) -> str:
    """Whether comparisons are of the same items, and what p values are adjusted for."""
    texts = []
    n = values.comparisons
    if values.known and values.same == n:
        each = "the comparison" if n == 1 else f"all {whole(n)} comparisons"
        texts.append(f"In {each} both sides answered the same items.")
    elif values.known:
        texts.append(
            f"In {out_of(values.same, n, 'comparison')} both sides answered the same items; "
            f"{agreeing(n - values.same, 'the other uses', 'the others use')} the items that both answered."
        )
    if values.adjusted:
        texts.append(f"*p* values are adjusted for multiple comparisons ({values.adjusted}).")
    return " ".join(texts)
