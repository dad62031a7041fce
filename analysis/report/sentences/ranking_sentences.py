"""Sentences that rank: who is highest, who is level with them, and the largest of tested differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...frames.sentences import agreeing_with_part, capitalised, out_of, sentence, ties, together
from ...numerics.types import Floats
from ..method_sentences import ADJUSTED_BY, plain
from ..table_format import number

SIGNS = ("positive", "negative", "the largest")
Differ = Callable[[int, int], tuple[bool, str] | None]  # whether two differ clearly, and by how much


@dataclass(frozen=True)
class Leader:
    """Who has the highest number, who does not differ clearly from them, and who comes next."""

    what: tuple[str, str]  # what the number is of one, and of several
    names: tuple[str, ...]  # one, or several that are equal
    cell: str  # their number, with what it rests on
    of: int  # those with a number
    level: tuple[tuple[str, str, str], ...]  # names, numbers, differences if known; the highest first
    following: tuple[tuple[str, str, str], ...]  # the next where none is level; several where they are equal


def find_leader(
    what: tuple[str, str],
    names: Sequence[str],
    values: pd.Series[float],
    cells: Sequence[str],
    differ: Differ = lambda *_: None,
) -> Leader | None:
    """Find the highest of some values; ``differ`` compares two places, None where they are not compared."""
    numbers: Floats = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).any():
        return None
    at = int(np.nanargmax(numbers))
    first = ties(numbers, at)
    order = [int(k) for k in np.argsort(-numbers, kind="stable") if np.isfinite(numbers[k])]
    rivals = [k for k in order if k not in first]
    tests = {k: test for k in rivals if (test := differ(at, k)) is not None}
    level = [k for k in tests if not tests[k][0]]
    following = [] if level else [k for k in rivals if k in ties(numbers, rivals[0])]
    sizes = {k: f"; difference {size}" for k, (_, size) in tests.items() if size}
    rows = [
        tuple((str(names[k]), number(numbers[k], 2), sizes.get(k, "")) for k in places)
        for places in (level, following)
    ]
    return Leader(what, tuple(str(names[k]) for k in first), cells[at], len(order), rows[0], rows[1])


def overlap_of(frame: pd.DataFrame) -> Differ:
    """Two of a table differ where their intervals do not overlap, for numbers without a test."""
    lower, upper = (frame[name].to_numpy(dtype=float) for name in ("lower", "upper"))

    def differ(first: int, second: int) -> tuple[bool, str] | None:
        ends = lower[first], upper[second]
        return (bool(ends[0] > ends[1]), "") if np.isfinite(ends).all() else None

    return differ


@sentence
def leader_in_words(values: Leader) -> str:
    """Who is highest and who is level with them, or comes next: the start of a sentence, without its end."""
    what, several = values.what
    names = [plain(name) for name in values.names]
    if values.of == 1:
        return f"the {what} of {names[0]} is {values.cell}"
    if len(names) == values.of:
        return f"{together(names)} have the same {what} ({values.cell})"
    if values.level:
        tested = all(size for *_, size in values.level)
        level = "do not differ clearly" if tested else "their intervals overlap"
        first = f"{together(names)} ({values.cell}{' each' * (len(names) > 1)})"
        leading = [first, *(f"{plain(name)} ({share}{size})" for name, share, size in values.level)]
        return f"the {several} of {together(leading)} are the highest, and {level}"
    after = f"{together(plain(row[0]) for row in values.following)} ({''.join(values.following[0][1:])})"
    return f"the highest {what} is that of {together(names)} ({values.cell}), before {after}"


def clear_rule(alpha: float, method: str = "holm") -> str:
    """What makes a difference clear, after sentences that call some so beside intervals."""
    adjusted = f", adjusted by {ADJUSTED_BY[method]}," if method in ADJUSTED_BY else " (not adjusted)"
    return f"A difference is clear where its p{adjusted} is below {alpha:g}; intervals are not adjusted."


class ClearGroup(NamedTuple):
    """Estimates of a judge: how many are clear, on which side of the null value, and the farthest from it."""

    judge: str  # empty where judges are counted together
    n: int
    below: int  # of the clear ones, those below the null value
    total: int
    largest: str  # of the clear ones or, without any, of all
    opposite: str = ""  # the farthest of the clear ones on the other side of the null value
    untested: str = ""  # one that lies farther than the largest and has neither interval nor test


@dataclass(frozen=True)
class ClearEstimates:
    """How many effects, differences or means are clear, on which side of none, and the largest."""

    groups: tuple[ClearGroup, ...]
    noun: tuple[str, str]  # what is counted, one and several; empty for a short sentence
    rule: str  # what clear ones have
    signs: tuple[str, str, str]  # words for those above and below, if any, and for the largest


def find_clear_estimates(
    frame: pd.DataFrame,
    texts: Sequence[str],
    is_clear: pd.Series[Any],
    noun: tuple[str, str],
    rule: str,
    *,
    null: float = 0.0,
    signs: tuple[str, str, str] = SIGNS,
    by_judge: bool = False,
) -> ClearEstimates:
    """Count clear estimates, of up to two judges ``by_judge``, and find the largest."""
    # `texts` has each row in words, and `is_clear` whether its interval or test excludes the null value,
    # missing where there is neither.
    judges = frame["judge"].astype(str).tolist() if by_judge and "judge" in frame else ""
    table = frame[["estimate"]].reset_index(drop=True)
    table = table.assign(text=list(texts), clear=is_clear.to_numpy(), judge=judges)
    table = table.dropna(subset="estimate")
    if table["judge"][table["clear"].notna()].nunique() > 2:
        table = table.assign(text=table["text"] + " for " + table["judge"], judge="")
    groups = []
    for judge, estimates in table.groupby("judge", sort=False):
        rows = estimates.dropna(subset="clear")
        if rows.empty:
            continue
        distance, clear = rows["estimate"] - null, rows["clear"].astype(bool)
        candidates = distance[clear] if clear.any() else distance
        at = candidates.index[int(candidates.abs().argmax())]
        opposed = distance[clear & (distance * distance[at] < 0)]
        across = rows.loc[opposed.index[int(opposed.abs().argmax())], "text"] if len(opposed) else ""
        n, below = int(clear.sum()), int((distance[clear] < 0).sum())
        text = str(rows.loc[at, "text"])
        without_test = estimates[estimates["clear"].isna()]
        farther = (without_test["estimate"] - null).abs().nlargest(1)
        farther = farther[farther > abs(distance[at])]
        untested = "".join(without_test.loc[farther.index, "text"])
        groups.append(ClearGroup(str(judge), n, below, len(rows), text, str(across), untested))
    return ClearEstimates(tuple(groups), noun, rule, signs)


@sentence
def clear_estimates_in_words(values: ClearEstimates) -> str:
    """How many estimates are clear, judge by judge, and the largest of each; empty where none is tested."""
    above, under, extreme = values.signs
    texts: list[str] = []
    for group in values.groups:
        n, sides, across = group.n, "", f", on the other side: {group.opposite}"
        across *= bool(group.opposite and above)
        across += f" (farther, but without a test: {group.untested})" * bool(group.untested)
        if n > 1 and above:
            mixed = f"{group.below} of them {under}" if group.below else f"all {above}"
            sides = f", {f'all {under}' if group.below == n else mixed}"
        if not values.noun[0]:
            largest = f"; {extreme}: {group.largest}{across}" if n else ""
            text = f"{n or 'none'} of {group.total}{sides}{largest}"
            only = f"{group.largest}{across}" if n else "none"
            return f"{text if group.total > 1 else only}."
        who = f" of {plain(group.judge)}" if group.judge else ""
        is_single = group.total == 1
        part = f"{f'the {values.noun[0]}' if is_single else out_of(n, group.total, *values.noun)}{who}"
        verb = agreeing_with_part(n, group.total, "has", "have")
        rule = f" {'does not have' if is_single and not n else verb} {values.rule}"
        is_said = not is_single and any(values.rule in text for text in texts)
        largest = f", {extreme}" if n != 1 and not is_single else ""
        texts.append(f"{part}{rule * (not is_said)}{sides}{largest}: {group.largest}{across}")
    return f"{capitalised('; '.join(texts))}." if texts else ""
