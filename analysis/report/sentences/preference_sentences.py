"""Sentences on preferences in choices: comparisons, cycles, importance, majorities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...frames.rounding import percentage
from ...frames.sentences import EQUAL, count_excluding_in_words, out_of, sentence, ties, together
from ..method_sentences import plain
from ..table_format import p_value

HALF = 0.5


@dataclass(frozen=True)
class Excluding:
    """How many of some intervals exclude one half."""

    n: int
    of: int


def excluding_half(frame: pd.DataFrame) -> Excluding:
    """Count intervals that exclude one half."""
    clear = (frame["lower"] > HALF) | (frame["upper"] < HALF)
    return Excluding(int(clear.sum()), int((frame["lower"].notna() & frame["upper"].notna()).sum()))


@sentence
def excluding_in_words(values: Excluding) -> str:
    """How many intervals exclude one half."""
    if not values.of:
        return "There are no intervals."
    return count_excluding_in_words(values.n, values.of, "one half")


@dataclass(frozen=True)
class ClearestPreference:
    """The preference that is furthest from indifference."""

    ahead: str
    behind: str
    share: float  # of tasks in which the first is chosen, above one half


def find_clearest_preference(
    frame: pd.DataFrame, levels: Sequence[str], references: Sequence[str]
) -> ClearestPreference | None:
    """Find the clearest preference; None where all shares are missing or one half."""
    distance = (frame["estimate"] - HALF).abs().to_numpy(float)
    if np.isnan(distance).all() or np.nanmax(distance) <= EQUAL:
        return None
    at = int(np.nanargmax(distance))
    share, names = float(frame["estimate"].iloc[at]), (levels[at], references[at])
    return ClearestPreference(*names, share) if share > HALF else ClearestPreference(*names[::-1], 1 - share)


@sentence
def clearest_in_words(values: ClearestPreference) -> str:
    """Name the clearest preference."""
    return (
        f"The clearest preference is for *{plain(values.ahead)}* over *{plain(values.behind)}*, in "
        f"{percentage(values.share, 1)} of these tasks."
    )


@dataclass(frozen=True)
class Cycles:
    """In how many triples direct and indirect preferences differ, with the joint test."""

    n: int
    of: int  # triples with a test
    p: float  # of the joint test, missing without one


def cycles(frame: pd.DataFrame, p: float, alpha: float) -> Cycles:
    """Count triples in which preferences differ after adjustment."""
    return Cycles(int((frame["p_holm"] < alpha).sum()), int(frame["p_holm"].notna().sum()), p)


@sentence
def cycles_in_words(values: Cycles) -> str:
    """In how many triples direct and indirect preferences differ."""
    joint = f" The joint test that all agree has p {p_value(values.p)}." if np.isfinite(values.p) else ""
    if not values.of:
        return f"No triple of levels could be tested.{joint}"
    triples = out_of(values.n, values.of, "triple of levels", "triples of levels")
    return f"Direct and indirect preferences differ in {triples}.{joint}"


@dataclass(frozen=True)
class MostImportant:
    """The attributes with the largest importance: one, or several that are equal."""

    names: tuple[str, ...]
    share: float
    bounds: str  # name and limits of the interval
    of: int  # attributes


def most_important(frame: pd.DataFrame, names: Sequence[str], bounds: Sequence[str]) -> MostImportant | None:
    """Find the most important attributes; None where no importance is known."""
    share = frame["estimate"].to_numpy(float)
    if np.isnan(share).all():
        return None
    at = int(np.nanargmax(share))
    equal = tuple(names[k] for k in ties(share, at))
    return MostImportant(equal, float(share[at]), bounds[at], int(np.isfinite(share).sum()))


@sentence
def most_important_in_words(values: MostImportant) -> str:
    """Name the most important attribute with its share."""
    share = percentage(values.share, 1)
    names = together([f"*{plain(name)}*" for name in values.names])
    if values.of == 1:
        return f"The only attribute is {names}."
    if len(values.names) == values.of:
        return f"All {values.of} attributes are equally important, with a share of {share} each."
    if len(values.names) > 1:
        return f"The most important attributes are {names}, with a share of {share} each."
    bounds = f" ({values.bounds})" if values.bounds else ""
    return f"The most important attribute is {names}, with a share of {share}{bounds}."


@dataclass(frozen=True)
class Majorities:
    """For how many levels the data show what the majority prefers."""

    known: int
    of: int


def majorities(frame: pd.DataFrame) -> Majorities:
    """Count levels whose majority is clear."""
    decided = frame["majority"].notna() & (frame["majority"].astype(str) != "unclear")
    return Majorities(int(decided.sum()), len(frame))


@sentence
def majorities_in_words(values: Majorities) -> str:
    """For how many levels the data show what the majority prefers."""
    return f"For {out_of(values.known, values.of, 'level')} the data show what the majority prefers."
