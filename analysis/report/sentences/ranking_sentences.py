"""Sentences that rank: who is highest, who is level with them, and the largest of tested differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.sentences import agreeing_with_part, capitalised, out_of, sentence, ties, together
from ...numerics.types import Floats
from ..method_sentences import plain
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


def level_rule(alpha: float) -> str:
    """What makes two level, for the end of a paragraph that calls some so."""
    return f"Not clearly: p of the difference, adjusted unlike its interval, is not below {alpha:g}."


@dataclass(frozen=True)
class TestedDifferences:
    """How many differences are clear by their adjusted p, on which side of none, and the largest."""

    noun: tuple[str, str]  # what is counted, one and several; empty for a short sentence
    clear: int
    below: int  # of the clear ones, those below no difference
    tested: int
    alpha: float
    largest: str  # of the clear ones or, without any, of all: what it is of, and its size
    signs: tuple[str, str, str]  # words for those above and below, if any, and for the largest


def find_largest_difference(
    frame: pd.DataFrame,
    names: Sequence[str],
    cells: Sequence[str],
    noun: tuple[str, str],
    alpha: float,
    signs: tuple[str, str, str] = SIGNS,
) -> TestedDifferences:
    """Find the largest of differences (``estimate, p_adjusted``); names and cells are those of the rows."""
    estimate, p = (frame[name].to_numpy(dtype=float) for name in ("estimate", "p_adjusted"))
    tested = np.isfinite(estimate) & np.isfinite(p)
    clear = tested & (p < alpha)
    size = np.where(clear if clear.any() else tested, np.abs(estimate), -1.0)
    largest = f"{names[int(size.argmax())]} {cells[int(size.argmax())]}" if tested.any() else ""
    below = int((clear & (estimate < 0)).sum())
    return TestedDifferences(noun, int(clear.sum()), below, int(tested.sum()), alpha, largest, signs)


@sentence
def largest_in_words(values: TestedDifferences) -> str:
    """How many differences are clear, and the largest; empty where none was tested."""
    if not values.tested:
        return ""
    clear, rule = values.clear, f"adjusted p below {values.alpha:g}"
    below = ""
    above, under, extreme = values.signs
    if clear > 1 and above:
        mixed = f"{values.below} of them {under}" if values.below else f"all {above}"
        below = f", {f'all {under}' if values.below == clear else mixed}"
    if not values.noun[0]:
        largest = f"; {extreme}: {values.largest}" if clear else ""
        if values.tested == 1:
            return f"{values.largest if clear else 'none'}."
        return f"{clear or 'none'} of {values.tested}{below}{largest}."
    if values.tested == 1:
        how = f"clear ({rule})" if clear else f"not clear ({rule.replace('below', 'not below')})"
        return f"The {values.noun[0]} is {how}: {values.largest}."
    verb = agreeing_with_part(clear, values.tested, "is", "are")
    text = f"{capitalised(out_of(clear, values.tested, *values.noun))} {verb} clear ({rule}){below}"
    return f"{text}; {'it is' if clear == 1 else f'{extreme}:'} {values.largest}."
